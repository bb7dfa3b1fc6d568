//! One execution of a cell: what was measured, what happened around it, and how it ended.

use crate::{
    Doubt, Ending, EngineName, Histogram, HistogramSnapshot, HostsRecord, ModelRecord, OtherLoad, PipelineRecord,
    Series, Step, StepRecord, Steps, VerifyFault, WatchRecord,
};
use loadline_block::{ErrorKind, Operation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More requests in a second than any machine does: a counter that ran over, or a fault of a file.
pub const REQUESTS_PER_S_MAX: f64 = 1e9;
/// The same of bytes in a second.
pub const BYTES_PER_S_MAX: f64 = 1e13;

/// Everything known about one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Which trial of its cell, from 0.
    pub trial: u32,
    /// Wall-clock start, seconds since 1970.
    pub started_unix_s: u64,
    /// Wall-clock begin of the measured time, ns since 1970; `None` in records of before it was kept, and on models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_from_unix_ns: Option<u64>,
    /// The engine and why it was chosen.
    pub engine: EngineUsed,
    /// Time before the measurement, ns.
    pub warm_up_ns: u64,
    /// Length of the measurement, ns.
    pub measured_ns: u64,
    /// By operation; only those that occurred.
    pub operations: BTreeMap<Operation, OperationRecord>,
    /// Steps of an application, by name. No rate of storage counts them.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub steps: Steps<StepRecord>,
    /// Open loop: arrivals per second that the load wanted within the measured time.
    pub offered_iops: Option<f64>,
    /// Open loop: arrivals due within the measured time that were never issued.
    pub missed: u64,
    /// Second by second.
    pub series: Series,
    /// Failed requests by kind, over the whole trial.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// The first failures in words: operation, offset, length, error.
    pub error_samples: Vec<String>,
    /// What happened around it.
    pub surroundings: Surroundings,
    /// How the rate scattered, where another tool told that and kept no series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_scatter: Option<Scatter>,
    /// An application's pipeline: its workers, queues and items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Box<PipelineRecord>>,
    /// What was seen of a device while others used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Box<WatchRecord>>,
    /// The hosts that ran it together, if it was merged from several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Box<HostsRecord>>,
    /// Outcome of the steady-state rule, where it was asked for.
    pub steady_state: Option<SteadyState>,
    /// Outcome of reading back, where it was asked for.
    pub verify: Option<VerifyRecord>,
    /// What the model knows of it; `None` where something real was measured.
    #[serde(default)]
    pub model: Option<ModelRecord>,
    /// How it ended.
    pub ending: Ending,
    /// Why its figures should not be believed as they stand.
    pub doubts: Vec<Doubt>,
}

/// How a rate scattered over parts of a trial of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// Parts, two or more.
    pub samples: u64,
    /// Standard deviation of their rates, requests per second of the whole load; at most that, where only parts of the load were told.
    pub deviation_iops: f64,
}

/// The way to the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineUsed {
    /// By name.
    pub name: EngineName,
    /// Why this one.
    pub reason: String,
    /// Options in force: "fixed buffers", "SQPOLL", ...
    pub options: Vec<String>,
}

/// One operation over the measured time. Latencies count from `due_at`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// Requests completed without error.
    pub count: u64,
    /// Bytes completed.
    pub bytes: u64,
    /// Requests failed.
    pub errors: u64,
    /// From due to completed.
    pub latency: Histogram,
    /// From due to submitted; kept where the load has due times of its own (open loop, rate ceiling, think time).
    pub waiting: Option<Histogram>,
    /// From submitted to completed; kept with `waiting`.
    pub service: Option<Histogram>,
    /// The figures of `latency` where another tool told them and kept no histogram: `latency` is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<HistogramSnapshot>,
}

impl OperationRecord {
    /// The figures of the latency: of its histogram, or as another tool told them. `None` where nothing is known.
    #[must_use]
    pub fn figures(&self) -> Option<HistogramSnapshot> {
        self.told.or_else(|| self.latency.snapshot())
    }
    /// How many requests those figures are of.
    #[must_use]
    pub const fn figures_count(&self) -> u64 {
        if self.told.is_some() { self.count } else { self.latency.count() }
    }
}

/// What happened around a trial, from just before its first request to just after its last. A part that the machine
/// does not show is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Length of the observation, ns.
    pub elapsed_ns: u64,
    /// The tool's user-mode CPU time, ns.
    pub tool_user_ns: u64,
    /// The tool's system CPU time, ns.
    pub tool_system_ns: u64,
    /// User-mode CPU time of the load threads within the measured time, ns.
    pub load_user_ns: u64,
    /// System CPU time of the load threads within the measured time, ns.
    pub load_system_ns: u64,
    /// Each load thread.
    pub threads: Vec<ThreadBusy>,
    /// The machine's CPUs.
    pub machine: Option<MachineCpu>,
    /// Pressure stall information.
    pub pressure: Option<Pressure>,
    /// The counters of the devices below the volume: their change.
    pub devices: Vec<DeviceCounters>,
    /// Requests and bytes asked of the volume meanwhile, by operation, warm-up included.
    pub asked: BTreeMap<Operation, (u64, u64)>,
    /// What loads that ran at the same time asked of the same devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<AskedBeside>,
    /// What dropping the caches before the trial achieved, in words, where it was asked for.
    pub caches_dropped: Option<String>,
    /// How much of the file lay in the page cache.
    pub residency: Option<Residency>,
    /// Other processes that read or wrote meanwhile, the busiest first.
    pub others: Vec<OtherLoad>,
    /// How the clock behaved.
    pub clock: Option<ClockCheck>,
    /// How long more was asked of volumes, or of the machine, than they allow: of devices that count it themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceeded: Vec<Exceeded>,
    /// How long the tool did not run within the measured time, though it was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<Stops>,
    /// Load threads of a closed loop whose answers came in turns, with pauses between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turns>,
}

/// What the other loads of a trial asked of the devices of this one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedBeside {
    /// Requests and bytes by operation, warm-up included.
    pub asked: BTreeMap<Operation, (u64, u64)>,
    /// Whether one of them went through the page cache: what reached the devices of it is not known then.
    pub buffered: bool,
}

/// What a load thread completed from the begin of one turn of a throttle to that of a later one: no turn is cut, as the end of the
/// measured time cuts one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Whole turns.
    pub turns: u64,
    /// Transfers completed in them.
    pub requests: u64,
    /// From the begin of the first to the end of the last, ns.
    pub span_ns: u64,
}

impl Turns {
    /// Requests per second.
    #[must_use]
    pub fn iops(self) -> f64 {
        self.requests as f64 * 1e9 / self.span_ns.max(1) as f64
    }
}

/// Times within the measured time in which the tool's watching thread, which only sleeps, did not come back from its sleep: the
/// tool was stopped, the machine or its control group had no CPU for it, or the machine itself stood still.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    /// How many; 0 in records of before they were counted.
    #[serde(default)]
    pub count: u64,
    /// All together, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// For how long the CPU quotas of its control groups held it meanwhile, ns; `None` where the kernel does not tell.
    pub throttled_ns: Option<u64>,
}

/// How long more was asked than is allowed, as a device counts it (log page 0xD0 of EBS volumes): the change over a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exceeded {
    /// The kernel's name of the device.
    pub device: String,
    /// More requests per second than the volume allows, microseconds.
    pub volume_iops_us: u64,
    /// More bytes per second than the volume allows, microseconds.
    pub volume_throughput_us: u64,
    /// More requests per second than the machine allows all its volumes together, microseconds.
    pub instance_iops_us: u64,
    /// More bytes per second than the machine allows all its volumes together, microseconds.
    pub instance_throughput_us: u64,
}

/// How busy a load thread was, as shares of its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadBusy {
    /// Time running or ready to run over elapsed time, less what it spent waiting awake.
    pub busy: f64,
    /// Time spent waiting awake, for the next arrival or for an answer.
    pub spun: f64,
    /// Time ready to run and in the queue for a CPU; `None` where the kernel does not count it, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<f64>,
}

/// Shares of the machine's CPU time, all CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineCpu {
    /// Neither idle nor waiting for I/O, less what load threads spent waiting awake for answers.
    pub busy: f64,
    /// Waiting for I/O.
    pub iowait: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Number of CPUs online.
    pub cpus: u32,
}

/// Microseconds in which tasks were stalled (`/proc/pressure`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Some task waited for a CPU.
    pub cpu_some_us: u64,
    /// Some task waited for I/O.
    pub io_some_us: u64,
    /// Every task waited for I/O.
    pub io_full_us: u64,
    /// Some task waited for memory.
    pub memory_some_us: u64,
}

/// The change of a device's own counters (`/proc/diskstats`; the kernel's iostats document gives the fields).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// The kernel's name of the device.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Reads merged into others before they were issued.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Sum over reads of the time each took, ms.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum over writes of the time each took, ms.
    pub write_ms: u64,
    /// Discards completed.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Time with at least one request in flight, ms.
    pub busy_ms: u64,
    /// Requests in flight, integrated over time, ms.
    pub queue_ms: u64,
}

/// Share of the test file in the page cache (0.0 to 1.0).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// Before the trial.
    pub before: f64,
    /// After it.
    pub after: f64,
}

/// How the clock behaved against the raw hardware clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockCheck {
    /// The kernel's clock source.
    pub source: Option<String>,
    /// Drift of the monotonic clock against the raw one, parts per million.
    pub drift_ppm: f64,
    /// Steps of the wall clock against the monotonic one, ns.
    pub wall_step_ns: i64,
}

/// Outcome of the SNIA steady-state rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Whether the rule was met before the limit.
    pub reached: bool,
    /// IOPS of each round, in order.
    pub rounds: Vec<f64>,
    /// Length of a round, ns.
    pub round_ns: u64,
}

/// Outcome of reading back and checking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyRecord {
    /// Blocks read back.
    pub blocks_checked: u64,
    /// Blocks never written by the load, so not checked.
    pub blocks_unwritten: u64,
    /// Blocks that hold nothing of the trial, of which it is not known whether they should: never written, or written and
    /// lost.
    #[serde(default)]
    pub blocks_unknown: u64,
    /// Faulty blocks in all.
    pub faults_total: u64,
    /// The first faults, each with its place.
    pub faults: Vec<VerifyFault>,
    /// What each load thread wrote, in their order; empty where the engine could not tell, and in records of versions
    /// that did not keep it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamWritten>,
}

/// How far the writes of a load thread came. They are numbered from 1, in the order in which they were issued.
///
/// `durable <= acknowledged <= issued`, and the numbers in `failed` are ascending and at most `acknowledged`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamWritten {
    /// Writes issued.
    pub issued: u32,
    /// Every write up to this one was answered, and all but those in `failed` without error.
    pub acknowledged: u32,
    /// Those of them that failed: what their blocks hold is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u32>,
    /// Every acknowledged write up to this one was made durable: a flush followed that was acknowledged, too.
    pub durable: u32,
}

impl TrialRecord {
    /// Whether only counters were read, which add latencies up: their least and highest figures are means over 0.1 s.
    #[must_use]
    pub fn has_only_means(&self) -> bool {
        self.watched.as_ref().is_some_and(|watch| watch.events.is_none())
    }
    /// A trial that came to its end and of which nothing is known yet.
    #[must_use]
    pub fn empty(trial: u32, started_unix_s: u64, engine: EngineUsed) -> Self {
        Self {
            trial,
            started_unix_s,
            measured_from_unix_ns: None,
            engine,
            warm_up_ns: 0,
            measured_ns: 0,
            operations: BTreeMap::new(),
            steps: Steps::default(),
            offered_iops: None,
            missed: 0,
            series: Series::default(),
            errors: BTreeMap::new(),
            error_samples: Vec::new(),
            surroundings: Surroundings::default(),
            told_scatter: None,
            pipeline: None,
            watched: None,
            hosts: None,
            steady_state: None,
            verify: None,
            model: None,
            ending: Ending::Complete,
            doubts: Vec::new(),
        }
    }
    /// Whether it begins anew on a model, and shows nothing of how the trials of its cell follow on one another.
    #[must_use]
    pub fn is_anew(&self) -> bool {
        self.trial > 0 && self.model.as_ref().is_some_and(|model| !model.initial.carried)
    }
    /// The operation's record, if it occurred.
    #[must_use]
    pub fn of(&self, operation: Operation) -> Option<&OperationRecord> {
        self.operations.get(&operation)
    }
    /// Everything that occurred: the operations, then the named steps.
    pub fn all_steps(&self) -> impl Iterator<Item = (Step, &OperationRecord)> {
        let operations = self.operations.iter().map(|(operation, record)| (Step::Operation(*operation), record));
        operations.chain(self.steps.iter().map(|(name, step)| (Step::Named(name.clone()), &step.record)))
    }
    /// Reads, writes and trims completed; flushes are not counted as I/O.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.transfers().map(|r| r.count).sum()
    }
    /// Bytes of reads and writes; where neither occurred, of trims. A trim moves none of its bytes: beside what does, it is no
    /// throughput.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of = |operation| self.of(operation).filter(|record| record.count > 0);
        let moved = [of(Operation::Read), of(Operation::Write)];
        if moved.iter().all(Option::is_none) {
            return of(Operation::Trim).map_or(0, |record| record.bytes);
        }
        moved.into_iter().flatten().map(|record| record.bytes).sum()
    }
    /// Requests failed, of all kinds.
    #[must_use]
    pub fn errors_total(&self) -> u64 {
        self.errors.values().sum()
    }
    /// Achieved reads, writes and trims per second; `None` when nothing was measured.
    #[must_use]
    pub fn iops(&self) -> Option<f64> {
        (self.measured_ns > 0).then(|| self.count() as f64 * 1e9 / self.measured_ns as f64)
    }
    /// Achieved bytes per second; `None` when nothing was measured.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        (self.measured_ns > 0).then(|| self.bytes() as f64 * 1e9 / self.measured_ns as f64)
    }
    /// Whether it shows what else is plausible rather than what is most so: a prediction with a draw of the uncertain
    /// parameters that is not the middle one.
    #[must_use]
    pub fn is_alternative(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.draw.number > 0)
    }
    fn transfers(&self) -> impl Iterator<Item = &OperationRecord> {
        self.operations.iter().filter(|(operation, _)| **operation != Operation::Flush).map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_trims_count_only_where_nothing_else_was_asked() {
        let trial = |operations: &[(Operation, u64, u64)]| {
            let record = |count, bytes| OperationRecord { count, bytes, ..OperationRecord::default() };
            let operations: BTreeMap<Operation, OperationRecord> =
                operations.iter().map(|(operation, count, bytes)| (*operation, record(*count, *bytes))).collect();
            TrialRecord {
                trial: 0,
                started_unix_s: 0,
                measured_from_unix_ns: None,
                engine: EngineUsed { name: EngineName::Null, reason: String::new(), options: Vec::new() },
                warm_up_ns: 0,
                measured_ns: 1_000_000_000,
                operations,
                steps: Steps::default(),
                offered_iops: None,
                missed: 0,
                series: Series::default(),
                errors: BTreeMap::new(),
                error_samples: Vec::new(),
                surroundings: Surroundings::default(),
                told_scatter: None,
                pipeline: None,
                watched: None,
                hosts: None,
                steady_state: None,
                verify: None,
                model: None,
                ending: Ending::Complete,
                doubts: Vec::new(),
            }
        };
        let (write, trim, flush) = (Operation::Write, Operation::Trim, Operation::Flush);
        let mixed = trial(&[(write, 10, 40_960), (trim, 2, 8 << 30), (flush, 3, 0)]);
        assert_eq!((mixed.count(), mixed.bytes(), mixed.bytes_per_s()), (12, 40_960, Some(40_960.0)));
        assert_eq!(trial(&[(trim, 2, 8 << 30)]).bytes(), 8 << 30);
        assert_eq!(trial(&[(flush, 3, 0)]).bytes(), 0);
    }

    #[test]
    fn a_record_from_before_writes_were_counted_is_still_read() {
        let text = r#"{"blocks_checked": 7, "blocks_unwritten": 2, "faults_total": 0, "faults": []}"#;
        let old: VerifyRecord = serde_json::from_str(text).unwrap();
        assert_eq!((old.blocks_checked, old.blocks_unknown, old.streams.len()), (7, 0, 0));
    }
}
