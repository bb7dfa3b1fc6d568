//! An application beside a program that saves its data: rates of a volume, and latency with and without the saving.

use crate::ceilings::ceilings;
use crate::models::Model;
use crate::trial::{Going, PredictionError, Putting, predict_together};
use crate::volumes::VolumeUnknown;
use loadline_disk::InitialState;
use loadline_record::{CeilingSource, Histogram, Limit, TrialRecord};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, Distribution, GroupEnd, LoadSpec, Pattern};

/// Requests in flight: several threads read, and the kernel writes back what they wrote, many pieces at once.
const READ_DEPTH: u32 = 8;
const WRITE_DEPTH: u32 = 32;
/// Requests of the application that give its p99, and the time that this may take.
const REQUESTS: f64 = 60_000.0;
const TIME_MIN_S: f64 = 2.0;
const TIME_MAX_S: f64 = 20.0;
const WARM_UP: Duration = Duration::from_s(1);
/// Of the requests that an application offers, the share that must be served.
const SERVED: f64 = 0.95;

/// Reads or writes in a row, of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// What a volume does with transfers of one size, and which limit that is.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeRate {
    /// Transfers a second.
    pub requests_per_s: f64,
    /// The size of each.
    pub size: Bytes,
    /// The limit.
    pub limit: Limit,
    /// Where its figure comes from.
    pub source: CeilingSource,
}

/// The latency of an application's requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApplicationLatency {
    /// The 99th percentile.
    pub p99: Duration,
    /// The mean.
    pub mean: Duration,
    /// Whether nearly everything that was offered was served.
    pub keeps_up: bool,
}

/// A load of transfers in a row; at a rate, or as fast as the volume allows.
fn transfers(of: Transfer, size: Bytes, rate: Option<Iops>) -> LoadSpec {
    let queue_depth = if of == Transfer::Read { READ_DEPTH } else { WRITE_DEPTH };
    LoadSpec {
        pattern: Pattern::Sequential { stride: None },
        reads: if of == Transfer::Read { Ratio::ONE } else { Ratio::ZERO },
        blocks: vec![BlockShare { size, share: Ratio::ONE }],
        arrival: rate.map_or(Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::ZERO }, |rate| {
            Arrival::Constant { rate }
        }),
        warm_up: WARM_UP,
        ..LoadSpec::default()
    }
}

/// The lasting rate of transfers of this size, once credits of bursts are spent. `None`: nothing limits it.
///
/// # Errors
/// [`VolumeUnknown`].
pub fn transfer_rate(
    model: &Model,
    volume: &str,
    of: Transfer,
    size: Bytes,
) -> Result<Option<VolumeRate>, VolumeUnknown> {
    let found = ceilings(model, volume, &transfers(of, size, None), 0.0)?;
    let lowest = found.lasting().map(|lasting| lasting.ceiling).min_by(|one, other| one.iops.total_cmp(&other.iops));
    Ok(lowest.map(|ceiling| VolumeRate {
        requests_per_s: ceiling.iops,
        size,
        limit: ceiling.limit,
        source: ceiling.source.clone(),
    }))
}

/// An application's load: random requests that arrive as they please.
#[must_use]
pub fn application_load(rate: Iops, reads: Ratio, block: Bytes) -> LoadSpec {
    let seconds = (REQUESTS / rate.get() as f64).clamp(TIME_MIN_S, TIME_MAX_S);
    LoadSpec {
        pattern: Pattern::Random(Distribution::Uniform),
        reads,
        blocks: vec![BlockShare { size: block, share: Ratio::ONE }],
        arrival: Arrival::Poisson { rate },
        warm_up: WARM_UP,
        duration: Duration::from_ns((seconds * 1e9) as u64),
        ..LoadSpec::default()
    }
}

/// A program that copies from one volume to another beside the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copying<'a> {
    /// Transfers a second.
    pub rate: Iops,
    /// The size of each.
    pub size: Bytes,
    /// The volume that they are written to, if it is part of the model.
    pub to: Option<&'a str>,
}

/// What the application has to wait on `volume`, alone or beside a copy of its data.
///
/// # Errors
/// [`PredictionError`].
pub fn application_latency(
    model: &Model,
    volume: &str,
    application: &LoadSpec,
    copying: Option<Copying<'_>>,
    initial: InitialState,
    seed: u64,
) -> Result<Option<ApplicationLatency>, PredictionError> {
    let of_copy = |of: Transfer, copying: &Copying<'_>| LoadSpec {
        duration: application.duration,
        ..transfers(of, copying.size, Some(copying.rate))
    };
    let read = copying.as_ref().map(|copying| of_copy(Transfer::Read, copying));
    let write = copying.as_ref().map(|copying| of_copy(Transfer::Write, copying));
    let putting = |volume, load| Putting { model, volume, load, trial: 0, seed, initial, started_unix_s: 0 };
    let mut puttings = vec![putting(volume, application)];
    puttings.extend(read.iter().map(|load| putting(volume, load)));
    if let (Some(load), Some(to)) = (&write, copying.and_then(|copying| copying.to)) {
        puttings.push(putting(to, load));
    }
    let records = predict_together(&puttings, GroupEnd::First, &mut |_| Going::On)?;
    Ok(records.and_then(|records| records.first().and_then(latency_of)))
}

fn latency_of(record: &TrialRecord) -> Option<ApplicationLatency> {
    let mut all = Histogram::default();
    for of in record.operations.values() {
        all.merge(&of.latency);
    }
    let offered = record.offered_iops.unwrap_or(0.0);
    let keeps_up = record.missed == 0 && record.iops().is_some_and(|iops| iops >= SERVED * offered);
    let mean = Duration::from_ns(all.mean_ns()? as u64);
    Some(ApplicationLatency { p99: all.quantile(0.99)?, mean, keeps_up })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::most_plausible;
    use loadline_catalog::{Catalog, Environment};

    /// A fast disk and a slower one behind a network.
    fn model() -> Model {
        let text = "schema = 1\nname = \"two\"\n[volume.fast]\n[[volume.fast.disks]]\nsize = \"64 GiB\"\n\
                    limit = { iops = \"50000 IOPS\", throughput = \"500 MB/s\" }\nlatency.read = { median = \"100 us\", p99 = \"300 us\" }\n\
                    [volume.slow]\n[[volume.slow.disks]]\nsize = \"1 TiB\"\nlimit = { iops = \"5000 IOPS\", throughput = \"200 MB/s\" }\n\
                    latency.read = { median = \"2 ms\", p99 = \"6 ms\" }\nlatency.write = { median = \"3 ms\", p99 = \"8 ms\" }\n";
        most_plausible(&Environment::parse(text, "two", &Catalog::builtin()).unwrap())
    }

    fn wait(volume: &str, copying: Option<Copying<'_>>) -> ApplicationLatency {
        let load = application_load(Iops::per_second(3_000).unwrap(), Ratio::percent(70), Bytes::kib(8));
        application_latency(&model(), volume, &load, copying, InitialState::default(), 1).unwrap().unwrap()
    }

    #[test]
    fn the_limit_of_a_transfer_is_named() {
        let large = transfer_rate(&model(), "slow", Transfer::Write, Bytes::mib(1)).unwrap().unwrap();
        assert_eq!(large.limit, Limit::DiskThroughput);
        assert!((large.requests_per_s - 200e6 / f64::from(1 << 20)).abs() < 1.0, "{large:?}");
        let small = transfer_rate(&model(), "slow", Transfer::Read, Bytes::kib(4)).unwrap().unwrap();
        assert_eq!(small.limit, Limit::Latency, "eight in flight wait for each other: {small:?}");
        assert!(transfer_rate(&model(), "none", Transfer::Read, Bytes::kib(4)).is_err());
    }

    #[test]
    fn a_copy_costs_the_application_latency_and_a_faster_one_costs_more() {
        let copy = |rate| Copying { rate: Iops::per_second(rate).unwrap(), size: Bytes::mib(1), to: Some("slow") };
        let (alone, slow, fast) = (wait("fast", None), wait("fast", Some(copy(50))), wait("fast", Some(copy(440))));
        assert!(alone.keeps_up && alone.p99 <= slow.p99 && slow.p99 < fast.p99, "{alone:?} {slow:?} {fast:?}");
        assert!(wait("slow", None).p99 > alone.p99);
    }
}
