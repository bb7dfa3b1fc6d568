//! A watch as a trial: what others asked of a device, in the words that every trial has.

use crate::{
    Access, ArrivalKind, DeviceCounters, EngineName, EngineUsed, HistogramSnapshot, LoadFigures, OperationRecord,
    Second, SecondOperation, Series, Surroundings, TrialRecord, WatchRecord, WatchTick,
};
use loadline_block::Operation;
use std::collections::BTreeMap;

impl WatchRecord {
    /// All of its ticks as one.
    #[must_use]
    pub fn total(&self) -> WatchTick {
        self.ticks.iter().copied().reduce(WatchTick::joined).unwrap_or_default()
    }

    /// What the device counted, as one trial.
    #[must_use]
    pub fn into_trial(
        self,
        latencies: &BTreeMap<Operation, HistogramSnapshot>,
        device: &str,
        started_unix_s: u64,
    ) -> TrialRecord {
        let all = self.total();
        let measured_ns = all.elapsed_us * 1_000;
        let kinds = [
            (Operation::Read, all.reads, all.read_bytes, means(&self, |tick| (tick.reads, tick.read_ms))),
            (Operation::Write, all.writes, all.write_bytes, means(&self, |tick| (tick.writes, tick.write_ms))),
            (Operation::Trim, all.discards, 0, None),
            (Operation::Flush, all.flushes, 0, means(&self, |tick| (tick.flushes, tick.flush_ms))),
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
        trial.series = series(&self);
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
        trial.watched = Some(Box::new(self));
        trial
    }
}

/// The kernel adds up how long requests take, and keeps no distribution: the mean of all, and the least and the most of the means of
/// ticks. `None` where nothing completed.
fn means(record: &WatchRecord, of: fn(&WatchTick) -> (u64, u64)) -> Option<HistogramSnapshot> {
    let (count, took_ms) = of(&record.total());
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
            // Long watches, and old hours of a recorder, have longer ticks.
            let seconds = ((joined.elapsed_us + 500_000) / 1_000_000).max(1);
            for place in 0..seconds {
                series.push(second(joined.share_of(place, seconds)));
            }
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

impl LoadFigures {
    /// Of what others asked for, as a trial of a watch has it.
    #[must_use]
    pub fn of_watched(trial: &TrialRecord) -> Self {
        let of = |operation| trial.of(operation).map_or((0, 0), |of| (of.count, of.bytes));
        let ((reads, read_bytes), (writes, write_bytes)) = (of(Operation::Read), of(Operation::Write));
        Self {
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
}
