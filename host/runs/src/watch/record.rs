//! Cells and volumes of a watch: one of each for a device that was asked for anything, or for the first of several.

use super::sampler::SampledDevice;
use super::{WatchSettings, WatchTarget};
use crate::Error;
use loadline_block::Operation;
use loadline_kernel::facts::KernelView;
use loadline_record::{
    Access, ArrivalKind, Ceiling, CellRecord, DeviceCounters, EngineName, EngineUsed, HistogramSnapshot, Load,
    LoadFigures, OperationRecord, OthersLoad, Second, SecondOperation, Series, Surroundings, TrialRecord, VolumeFacts,
    WatchRecord, WatchTick,
};
use loadline_units::{Bytes, Ratio, SECTOR};
use loadline_workload::{BlockShare, LoadSpec};
use std::collections::BTreeMap;

/// The cells, each with its trial, and their volumes.
pub(super) fn cells(
    target: &WatchTarget,
    declared: &[(String, String)],
    settings: &WatchSettings,
    watched: Vec<SampledDevice>,
    started_unix_s: u64,
) -> Result<(Vec<CellRecord>, Vec<VolumeFacts>), Error> {
    let view = KernelView::live();
    let asked = |device: &SampledDevice| total(&device.record).requests() > 0;
    let any = watched.iter().any(asked);
    let kept = watched.into_iter().enumerate().filter(|(number, device)| asked(device) || (!any && *number == 0));
    let (mut cells, mut volumes) = (Vec::new(), Vec::new());
    for (_, SampledDevice { name, record, latencies }) in kept {
        let Some(device) = target.block_devices().iter().find(|device| device.name == name) else { continue };
        let volume = target.volume(&view, device);
        let trial = trial(record, &latencies, &name, started_unix_s);
        let of = declared.iter().find(|(device, _)| *device == name);
        let ceilings = match of {
            Some((_, declared)) => ceilings(settings, declared, &trial, &volume)?,
            None => Vec::new(),
        };
        let load = Load::Application(OthersLoad { volume: name.clone(), by: None, figures: figures(&trial) });
        cells.push(CellRecord {
            id: format!("watch-{}", cells.len()),
            volume: name,
            label: "what others asked for".to_owned(),
            load,
            beside: Vec::new(),
            ceilings,
            trials_planned: 1,
            trials: vec![trial],
        });
        volumes.push(volume);
    }
    Ok((cells, volumes))
}

fn total(record: &WatchRecord) -> WatchTick {
    record.ticks.iter().copied().reduce(WatchTick::joined).unwrap_or_default()
}

/// What the device counted, as one trial.
fn trial(
    record: WatchRecord,
    latencies: &BTreeMap<Operation, HistogramSnapshot>,
    device: &str,
    started_unix_s: u64,
) -> TrialRecord {
    let all = total(&record);
    let measured_ns = all.elapsed_us * 1_000;
    let kinds = [
        (Operation::Read, all.reads, all.read_bytes, means(&record, |tick| (tick.reads, tick.read_ms))),
        (Operation::Write, all.writes, all.write_bytes, means(&record, |tick| (tick.writes, tick.write_ms))),
        (Operation::Trim, all.discards, 0, None),
        (Operation::Flush, all.flushes, 0, means(&record, |tick| (tick.flushes, tick.flush_ms))),
    ];
    let how = if latencies.is_empty() {
        "latencies are means over tenths of a second"
    } else {
        "latencies are those of requests, by the kernel's events"
    };
    let mut trial = TrialRecord::empty(
        0,
        started_unix_s,
        EngineUsed {
            name: EngineName::Kernel,
            reason: "others asked; the kernel's counters were read".to_owned(),
            options: vec![how.to_owned()],
        },
    );
    for (operation, count, bytes, told) in kinds.into_iter().filter(|(_, count, ..)| *count > 0) {
        let told = latencies.get(&operation).copied().or(told);
        trial.operations.insert(operation, OperationRecord { count, bytes, told, ..OperationRecord::default() });
    }
    trial.measured_ns = measured_ns;
    trial.series = series(&record);
    trial.surroundings = Surroundings {
        elapsed_ns: measured_ns,
        devices: vec![DeviceCounters {
            name: device.to_owned(),
            reads: all.reads,
            read_bytes: all.read_bytes,
            read_ms: all.read_ms,
            writes: all.writes,
            write_bytes: all.write_bytes,
            write_ms: all.write_ms,
            discards: all.discards,
            flushes: all.flushes,
            busy_ms: all.busy_ms,
            queue_ms: all.read_ms + all.write_ms + all.flush_ms,
            ..DeviceCounters::default()
        }],
        ..Surroundings::default()
    };
    trial.watched = Some(Box::new(record));
    trial
}

/// The kernel adds up how long requests take, and keeps no distribution: the mean of all, and the least and the most of the means of
/// ticks. `None` where nothing completed.
fn means(record: &WatchRecord, of: fn(&WatchTick) -> (u64, u64)) -> Option<HistogramSnapshot> {
    let (count, took_ms) = of(&total(record));
    let mean = |(count, took_ms): (u64, u64)| (count > 0).then(|| took_ms as f64 * 1e6 / count as f64);
    let ticks = || record.ticks.iter().map(of).filter_map(mean);
    Some(HistogramSnapshot {
        mean: mean((count, took_ms))?,
        min: Some(ticks().fold(f64::INFINITY, f64::min) as u64),
        max: ticks().fold(0.0, f64::max) as u64,
        ..HistogramSnapshot::default()
    })
}

/// Second by second: whole seconds put together from ticks, whatever the distances of the looks at processes were.
fn series(record: &WatchRecord) -> Series {
    let mut series = Series::default();
    let mut rest: Option<WatchTick> = None;
    let second = |tick: WatchTick| {
        let of = |count, bytes| SecondOperation { count, bytes, ..SecondOperation::default() };
        let mut second = Second { outstanding: tick.outstanding(), ..Second::default() };
        second.operations[Operation::Read.index()] = of(tick.reads, tick.read_bytes);
        second.operations[Operation::Write.index()] = of(tick.writes, tick.write_bytes);
        second.operations[Operation::Trim.index()] = of(tick.discards, 0);
        second.operations[Operation::Flush.index()] = of(tick.flushes, 0);
        second
    };
    for tick in &record.ticks {
        let joined = rest.map_or(*tick, |rest| rest.joined(*tick));
        if joined.elapsed_us + joined.elapsed_us / 100 >= 1_000_000 {
            series.push(second(joined));
            rest = None;
        } else {
            rest = Some(joined);
        }
    }
    series.last_ns = 1_000_000_000;
    if let Some(rest) = rest {
        series.last_ns = rest.elapsed_us * 1_000;
        series.push(second(rest));
    }
    series
}

fn figures(trial: &TrialRecord) -> LoadFigures {
    let of = |operation| trial.of(operation).map_or((0, 0), |of| (of.count, of.bytes));
    let ((reads, read_bytes), (writes, write_bytes)) = (of(Operation::Read), of(Operation::Write));
    LoadFigures {
        pattern: Access::Application,
        read_ratio: reads as f64 / (reads + writes).max(1) as f64,
        block_bytes: (read_bytes + write_bytes) / (reads + writes).max(1),
        size_bytes: None,
        queue_depth: None,
        threads: 1,
        arrival: ArrivalKind::Application,
        rate_iops: None,
        buffered: false,
        flush_every: None,
        duration_ns: trial.measured_ns,
        objective: None,
    }
}

/// What the declared storage allows of requests like those that were seen.
fn ceilings(
    settings: &WatchSettings,
    name: &str,
    trial: &TrialRecord,
    volume: &VolumeFacts,
) -> Result<Vec<Ceiling>, Error> {
    let Some(environment) = &settings.environment else { return Ok(Vec::new()) };
    let load = figures(trial);
    if trial.count() == 0 {
        return Ok(Vec::new());
    }
    let size = Bytes::new(load.block_bytes.next_multiple_of(SECTOR.get()).max(SECTOR.get()));
    let spec = LoadSpec {
        reads: Ratio::ppm((load.read_ratio * 1e6) as u32).unwrap_or(Ratio::ONE),
        blocks: vec![BlockShare { size, share: Ratio::ONE }],
        ..LoadSpec::default()
    };
    environment.ceilings(name, &spec, volume.size_bytes.map(Bytes::new))
}
