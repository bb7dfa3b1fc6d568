//! Spinning disks: seek, rotation and transfer from the loads.

use crate::disk::duration;
use crate::score::{Wanted, middle};
use loadline_units::ByteRate;
use loadline_workload::Pattern;
use std::fmt::Write as _;

/// A single random request below this needed no head movement, ns: half a turn at 15,000 turns a minute.
const POSITIONING_MIN: f64 = 2e6;
/// Usual speeds of disks in turns a minute.
const REVOLUTIONS: [u32; 4] = [5_400, 7_200, 10_000, 15_000];
/// The shortest seek as a share of the one that loads show.
const SHORTEST: [f64; 3] = [0.1, 0.4, 0.8];
/// Number of requests among which the nearest is next: one, or the usual queue of disks.
const QUEUES: [u32; 2] = [32, 1];
/// Random places are so far apart on average, in the square root of the share of the range between them: 8/15.
const ROOT_OF_DISTANCE: f64 = 8.0 / 15.0;
/// Longer seeks are none, ns.
const SEEK_MAX: f64 = 50e6;
/// Requests that take this many times their transfer also take other time.
const BESIDE_MIN: f64 = 1.02;
/// The default transfer rate if neither large nor sequential requests show it, bytes per second.
const TRANSFER: f64 = 150e6;

/// A head over spinning platters; times in ns, transfer in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mechanics {
    revolutions: u32,
    seek_min: f64,
    seek_max: f64,
    transfer: f64,
    queue: u32,
}

impl Mechanics {
    /// Every kind of disk that fits the single random requests on the first `size_bytes`; none if they are too quick.
    pub(crate) fn candidates(loads: &[Wanted], size_bytes: u64) -> Vec<Self> {
        let Some(single) = single(loads) else { return Vec::new() };
        let transfer = transfer(loads).unwrap_or(TRANSFER);
        let range = single.load.size.map_or(size_bytes, |size| size.get().min(size_bytes)) as f64;
        let root = ROOT_OF_DISTANCE * libm::sqrt(range / size_bytes.max(1) as f64);
        let all = REVOLUTIONS.iter().flat_map(|revolutions| {
            let seek = single.figures.p50 - turn(*revolutions) / 2.0 - bytes(single) / transfer * 1e9;
            let of = move |share: f64| {
                let seek_min = seek * share;
                let seek_max = (seek_min + (seek - seek_min) / root).min(SEEK_MAX).max(seek_min);
                (seek_min, seek_max)
            };
            let shortest = SHORTEST.into_iter().filter(move |_| seek > 0.0).map(of);
            shortest.flat_map(move |(seek_min, seek_max)| {
                QUEUES.map(|queue| Self { revolutions: *revolutions, seek_min, seek_max, transfer, queue })
            })
        });
        all.collect()
    }

    /// Corrects seeks and transfer by the error of the model's results for the loads (their median ns, and requests per
    /// second).
    pub(crate) fn corrected<'a>(self, loads: impl Iterator<Item = (&'a Wanted, f64, f64)>) -> Self {
        let (mut seeks, mut transfers) = (Vec::new(), Vec::new());
        let rest = turn(self.revolutions) / 2.0;
        for (wanted, p50, iops) in loads {
            if is_single(wanted) && wanted.figures.p50 > rest && p50 > rest {
                seeks.push((wanted.figures.p50 - rest) / (p50 - rest));
            } else if is_sequential(wanted) && iops > 0.0 {
                transfers.push((bytes(wanted), wanted.iops / iops));
            }
        }
        let largest = transfers.iter().map(|transfer| transfer.0).fold(0.0, f64::max);
        let transfers = transfers.into_iter().filter(|(bytes, _)| *bytes >= largest).map(|(_, factor)| factor);
        let seeks = middle(seeks);
        Self {
            seek_min: (self.seek_min * seeks).min(SEEK_MAX),
            seek_max: (self.seek_max * seeks).min(SEEK_MAX),
            transfer: self.transfer * middle(transfers.collect()),
            ..self
        }
    }

    /// The time of requests without positioning, beside the transfer: median and 99th percentile, ns. `None` if there
    /// is none.
    pub(crate) fn electronics(self, loads: &[Wanted]) -> Option<(f64, f64)> {
        let sequential = loads.iter().filter(|load| is_sequential(load));
        let shallow = sequential.min_by_key(|load| (load.load.outstanding(), bytes(load) as u64))?;
        let transfer = bytes(shallow) / self.transfer * 1e9;
        let beside = |ns: f64| (ns - transfer).max(1.0);
        (shallow.figures.p50 > transfer * BESIDE_MIN)
            .then(|| (beside(shallow.figures.p50), beside(shallow.figures.p99)))
    }

    /// The table of disk `place`.
    pub(crate) fn toml(self, place: &str) -> String {
        let mut text = format!("[{place}.spinning]\nrevolutions_per_minute = {}\n", self.revolutions);
        let seek_min = duration(self.seek_min);
        let _ = writeln!(text, "seek_min = \"{seek_min}\"\nseek_max = \"{}\"", duration(self.seek_max).max(seek_min));
        let transfer = ByteRate::per_second(libm::round(self.transfer) as u64);
        let transfer = transfer.map_or_else(String::new, |rate| rate.to_string());
        let _ = writeln!(text, "transfer = \"{transfer}\"\nqueue_depth = {}", self.queue);
        text
    }
}

/// Time of a revolution, ns.
fn turn(revolutions: u32) -> f64 {
    60e9 / f64::from(revolutions)
}

fn bytes(wanted: &Wanted) -> f64 {
    wanted.load.block_mean().get() as f64
}

fn is_sequential(wanted: &Wanted) -> bool {
    matches!(wanted.load.pattern, Pattern::Sequential { stride: None })
}

fn is_single(wanted: &Wanted) -> bool {
    matches!(wanted.load.pattern, Pattern::Random(_)) && wanted.load.outstanding() == Some(1)
}

/// The smallest random requests one at a time, if each may have needed the head.
fn single(loads: &[Wanted]) -> Option<&Wanted> {
    let smallest = loads.iter().filter(|load| is_single(load)).min_by_key(|load| bytes(load) as u64)?;
    (smallest.figures.p50 >= POSITIONING_MIN).then_some(smallest)
}

/// Bytes per second under the head: the rate of sequential requests, or else from the extra time of larger random ones.
fn transfer(loads: &[Wanted]) -> Option<f64> {
    let reached = loads.iter().filter(|load| is_sequential(load)).map(Wanted::bytes_per_s);
    reached.max_by(f64::total_cmp).or_else(|| {
        let alone = || loads.iter().filter(|load| is_single(load));
        let small = alone().min_by_key(|load| bytes(load) as u64)?;
        let large = alone().max_by(|a, b| bytes(a).total_cmp(&bytes(b)))?;
        let longer = large.figures.p50 - small.figures.p50;
        (longer > 0.0 && bytes(large) > bytes(small)).then(|| (bytes(large) - bytes(small)) / longer * 1e9)
    })
}
