//! A run's results as programs read them: schema `loadline.run/1`, published in `docs/formats/run.schema.json`.

use crate::conclusion::Conclusion;
use crate::device_throttle::HeldBy;
use crate::finding::Finding;
use crate::hosts::view::{HostsScaling, HostsView};
use crate::load_details::LoadDetails;
use crate::load_keys::LoadIdentity;
use crate::verdict_block::VerdictBlock;
pub use crate::watch_figures::{CauseShare, ProgramFigures, ThrottleUse, WaitAbove};
use loadline_record::{
    Access, AnswersInClusters, ArrivalKind, Binding, BurstEnd, Ceiling, CeilingSource, Clock, Doubt, EngineUsed,
    EventAsker, HiddenProcesses, HistogramSnapshot, HostFacts, ImportedFrom, LiveMark, LoadBeside, PlanText, RunStatus,
    RunVerb, SourceLimit, StageWait, StepName, Tag, VolumeFacts, WatchCause, WatchGain, WatchedLoop,
};
use serde::{Deserialize, Serialize};

/// The schema's name and version.
pub const SCHEMA: &str = "loadline.run/1";

/// A whole run. Missing figures are `null`, never 0.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Provenance.
    pub run: RunInfo,
    /// In the plan's order.
    pub cells: Vec<CellSummary>,
    /// How totals grow with the number of hosts, by load; none where one number of hosts ran.
    pub hosts_scaling: Vec<HostsScaling>,
    /// What stops the loads of each volume, how that is known, what it means and what to do.
    pub conclusions: Vec<Conclusion>,
    /// What follows from the figures, most important first.
    pub findings: Vec<Finding>,
    /// The run in a few lines; `null` where nothing was measured, and of hunts.
    pub verdict: Option<VerdictBlock>,
}

/// Provenance of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Unique id.
    pub id: String,
    /// The plan's name, or the user's.
    pub name: String,
    /// The verb that made it.
    pub verb: RunVerb,
    /// Measured (`real`) or predicted (`virtual`).
    pub clock: Clock,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Version of the tool.
    pub version: String,
    /// How far it has come.
    pub status: RunStatus,
    /// The machine.
    pub host: HostFacts,
    /// The environment declared, if any.
    pub environment: Option<PlanText>,
    /// The plans, in order.
    pub plan: Vec<PlanText>,
    /// The volumes.
    pub volumes: Vec<VolumeFacts>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The tool that measured it, where that was another; its clock is `real`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFrom>,
    /// What the command line said beside plans and environment, in a form of the tool's own.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub settings: serde_json::Value,
    /// What its user says of it; its record has none, a store has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    /// Moments that its user marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<LiveMark>,
}

impl RunInfo {
    /// How its figures came to be: "measured", "measured by fio 3.33", "emulated" or "predicted".
    #[must_use]
    pub fn how(&self) -> String {
        how(self.imported.as_ref(), &self.verb, self.clock)
    }
    /// Whether a model answered clients in real time.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        is_emulated(&self.verb, self.clock)
    }
}

pub(crate) fn is_emulated(verb: &RunVerb, clock: Clock) -> bool {
    *verb == RunVerb::Emulate && clock == Clock::Real
}

/// How figures of a verb under a clock came to be.
pub(crate) fn how(imported: Option<&ImportedFrom>, verb: &RunVerb, clock: Clock) -> String {
    match (imported, clock) {
        (Some(from), _) => format!("measured by {}", from.tool_and_version()),
        (None, Clock::Real) if is_emulated(verb, clock) => "emulated".to_owned(),
        (None, Clock::Real) => "measured".to_owned(),
        (None, Clock::Virtual) => "predicted".to_owned(),
    }
}

/// One cell: estimates over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    /// Stable within the run.
    pub id: String,
    /// The volume's name.
    pub volume: String,
    /// For people.
    pub label: String,
    /// The load.
    pub load: LoadView,
    /// The loads that ran at the same time in each of its trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<LoadBeside>,
    /// Which other cells of the run are the same load; programs have the keys themselves.
    #[serde(skip)]
    pub identity: LoadIdentity,
    /// Every way to the device that its trials took, and why; empty before the first trial.
    pub engines: Vec<EngineUsed>,
    /// Trials that the figures and their intervals rest on; of a prediction, one for each draw at least.
    pub trials: u32,
    /// Reads, writes and trims together; `null` before the first trial.
    pub total: Option<TotalFigures>,
    /// Reads.
    pub read: Option<OperationFigures>,
    /// Writes.
    pub write: Option<OperationFigures>,
    /// Trims.
    pub trim: Option<OperationFigures>,
    /// What lasts, where the rate fell within the run or a model says that it will; `null` where the figures above last.
    #[serde(skip)]
    pub lasting: Option<LastingFigures>,
    /// Flushes.
    pub flush: Option<OperationFigures>,
    /// Steps of an application, by name; none where the load is storage's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepFigures>,
    /// Open loop: arrivals per second that the load wanted.
    pub offered_iops: Option<f64>,
    /// How each trial that was to begin in the steady state came to begin; empty where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steady_state: Vec<SteadyStateView>,
    /// Failed requests over all trials.
    pub errors: u64,
    /// CPU time of the load threads, sum over trials.
    pub cpu: CpuFigures,
    /// What bound it.
    #[serde(skip)]
    pub binding: Option<Binding>,
    /// Of a watch: the share of the time for which it bound (0.0 to 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_share: Option<f64>,
    /// The kernel's throttle that holds it, where one was read and the load reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
    /// What was seen of a device while others used it.
    #[serde(skip)]
    pub watch: Option<WatchView>,
    /// What each host had, of a run that was merged from runs of several.
    #[serde(skip)]
    pub hosts: Option<HostsView>,
    /// Every ceiling known, lowest first.
    #[serde(skip)]
    pub ceilings: Vec<Ceiling>,
    /// What the model tells of the most plausible draw; `null` where it was measured.
    pub prediction: Option<PredictionView>,
    /// Devices that count how long more was asked of them than is allowed; empty where none does.
    pub exceeded: Vec<ExceededView>,
    /// Why the figures should not be believed as they stand.
    #[serde(skip)]
    pub doubts: Vec<Doubt>,
    /// The row of the load in a table of the best of trials, where its plan asks for one; its figures are those of `total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_of: Option<BestOf>,
}

/// What was seen of a device while others used it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchView {
    /// What holds the device, where it stands in a file of the kernel.
    #[serde(skip)]
    pub standing: Option<SourceLimit>,
    /// What the time went to, the largest share first; together the whole.
    #[serde(skip)]
    pub causes: Vec<CauseShare>,
    /// What most of the last second went to.
    #[serde(skip)]
    pub cause_last: Option<WatchCause>,
    /// Share of the time in which the device had requests.
    pub busy_share: f64,
    /// Requests outstanding on the device while it was busy, by its counters; `null` where it never was.
    pub outstanding: Option<f64>,
    /// How requests come.
    pub arrivals: WatchedLoop,
    /// What faster storage would bring.
    pub gain: WatchGain,
    /// Throttles of the kernel on the device, of any control group.
    pub throttles: Vec<ThrottleUse>,
    /// Programs that used the device, the busiest first.
    pub programs: Vec<ProgramFigures>,
    /// Processes that could not be looked into; missing where there were none. They may use the device too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenProcesses>,
    /// CPU time of the watching itself, as a share of one CPU.
    pub watching_cpu_share: f64,
    /// Requests that the kernel's events showed; `null` where none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_seen: Option<u64>,
    /// Events that the kernel dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_lost: Option<u64>,
    /// Programs by the requests that the kernel's events showed, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub askers: Vec<EventAsker>,
    /// The rhythm of the answers, if they come in clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<AnswersInClusters>,
    /// CPU time that reading the events took, as a share of one CPU; a part of `watching_cpu_share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_cpu_share: Option<f64>,
    /// What requests waited before the device; `null` where no throttle was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_device: Option<WaitAbove>,
}

/// What names the best of some trials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestOf {
    /// The load's name in its plan, or what it does.
    pub name: String,
    /// Trials that it is the best of.
    pub trials: u32,
}

/// What the steady-state rule came to in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SteadyStateView {
    /// Which trial, from 0.
    pub trial: u32,
    /// Whether the rate was steady before the rounds were used up.
    pub reached: bool,
    /// Length of a round.
    pub round_ns: u64,
    /// The rate of each round before the measurement.
    pub rounds_iops: Vec<f64>,
}

/// How long more was asked of a device than is allowed, by its own counters: shares of the time of all trials (0.0 to 1.0).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExceededView {
    /// The kernel's name of the device.
    pub device: String,
    /// More requests per second than the volume allows.
    pub volume_iops_share: f64,
    /// More bytes per second than the volume allows.
    pub volume_throughput_share: f64,
    /// More requests per second than the machine allows all volumes together.
    pub instance_iops_share: f64,
    /// More bytes per second than the machine allows all volumes together.
    pub instance_throughput_share: f64,
}

/// What a model knows of a cell and no measurement can.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own in the JSON")]
pub struct PredictionView {
    /// Whether buckets of credits were full when the load began.
    pub bursts_full: bool,
    /// Whether those of the virtual machine were.
    pub vm_bursts_full: bool,
    /// Whether the hosts' caches were warm then.
    pub caches_warm: bool,
    /// Whether each trial went on where the one before it had left the storage.
    pub carried: bool,
    /// Share of the reads that a host's cache answered (0.0 to 1.0); `null` without a cache or a read.
    pub cache_hit_share: Option<f64>,
    /// Where requests waited within the measured time, summed over all of them.
    pub waits: Vec<StageWait>,
    /// Bursts that ended while the load went on.
    pub bursts_ended: Vec<BurstEnd>,
    /// The other volumes of the machine that were loaded at the same time: budgets that they share with this one are not all its.
    #[serde(default)]
    pub beside: Vec<String>,
}

/// The load of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadView {
    /// `random` or `sequential`; `recorded` or `application` where others made the requests.
    pub pattern: Access,
    /// Share of reads among reads and writes.
    pub read_ratio: f64,
    /// Block size, the mean in a mix.
    pub block_bytes: u64,
    /// Bytes that the load spreads over, where it names them.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Requests outstanding per thread; `null` in an open loop.
    pub queue_depth: Option<u32>,
    /// Load threads.
    pub threads: u32,
    /// `closed`, `constant` or `poisson`; `recorded` or `application` where others made the requests.
    pub arrival: ArrivalKind,
    /// Open loop: arrivals per second asked for; closed loop: the rate ceiling.
    pub rate_iops: Option<f64>,
    /// Whether the page cache is used on purpose.
    pub buffered: bool,
    /// What else tells it from other loads.
    #[serde(flatten)]
    pub details: LoadDetails,
}

/// Rates over reads, writes and trims. Bytes are those read and written, and of trims only where there is nothing else: a trim
/// moves none.
///
/// Measured, `low` and `high` bound the mean with 95 % confidence. Predicted, the figures are those of the most plausible
/// draw of what is not known exactly, and `low` and `high` are the least and the most of all draws: a range, not a confidence
/// interval. Both are `null` where there is too little to tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalFigures {
    /// Mean over trials.
    pub iops: f64,
    /// Lower end of the interval.
    pub iops_low: Option<f64>,
    /// Upper end of the interval.
    pub iops_high: Option<f64>,
    /// Mean over trials.
    pub throughput_bytes_per_s: f64,
    /// Median over trials.
    pub throughput_median_bytes_per_s: f64,
    /// Best trial, as some tools report it; never to be quoted alone.
    pub throughput_best_bytes_per_s: f64,
}

/// What is left of a load once a burst, or whatever else was saved up, is spent. The means of the whole time are neither what was
/// before nor what lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastingFigures {
    /// Requests per second before.
    pub iops_before: f64,
    /// Bytes per second before.
    pub bytes_per_s_before: f64,
    /// How long that lasted, from the begin of the load, warm-up included, ns; `null` where the load ended before and a model tells
    /// what comes after.
    pub before_ns: Option<u64>,
    /// Requests per second from then on.
    pub iops: f64,
    /// Bytes per second from then on.
    pub throughput_bytes_per_s: f64,
    /// Latency from then on, of the slower operation in a mix.
    pub latency_ns: LastingLatency,
    /// What leaves that rate, where a model tells it and the load ended before.
    #[serde(skip)]
    pub source: Option<CeilingSource>,
}

/// Latencies after a burst, ns; `null` where there is too little to tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LastingLatency {
    /// By Little's law: requests outstanding over the rate.
    pub mean: Option<f64>,
    /// Median over seconds of their medians; where the load ended before, at least what was seen.
    pub p50: Option<f64>,
    /// Median over seconds of their 99th percentiles; where the load ended before, at least what was seen.
    pub p99: Option<f64>,
    /// Median over seconds of their largest; where the load ended before, at least what was seen.
    pub max: Option<f64>,
}

/// The least and the most of latencies over the draws of a prediction, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyRange {
    /// The least mean.
    pub mean_low: f64,
    /// The largest mean.
    pub mean_high: f64,
    /// The least median.
    pub p50_low: u64,
    /// The largest median.
    pub p50_high: u64,
    /// The least 99th percentile.
    pub p99_low: u64,
    /// The largest 99th percentile.
    pub p99_high: u64,
}

/// 95 % intervals of latencies, ns; an end is `null` where there is too little to tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyIntervals {
    /// Of the mean: lower end.
    pub mean_low: Option<f64>,
    /// Upper end.
    pub mean_high: Option<f64>,
    /// Of the median: lower end.
    pub p50_low: Option<f64>,
    /// Upper end.
    pub p50_high: Option<f64>,
    /// Of the 99th percentile: lower end.
    pub p99_low: Option<f64>,
    /// Upper end.
    pub p99_high: Option<f64>,
}

/// A named step of an application over the trials. `iops` counts how often it was done in a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFigures {
    /// Its name.
    pub name: StepName,
    /// Its figures.
    #[serde(flatten)]
    pub figures: OperationFigures,
}

/// One operation's figures. Latency counts from when the load wanted the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationFigures {
    /// Mean over trials.
    pub iops: f64,
    /// Mean over trials.
    pub throughput_bytes_per_s: f64,
    /// From due to completed, all trials merged.
    pub latency_ns: HistogramSnapshot,
    /// Predicted: the range of the latency over all draws. `null` where it was measured.
    #[serde(default)]
    pub latency_range_ns: Option<LatencyRange>,
    /// Measured: 95 % intervals over trials, or of a single trial by order statistics and its seconds, whichever is wider. `null`
    /// where it was predicted, and where several operations share a cell.
    #[serde(default)]
    pub latency_interval_ns: Option<LatencyIntervals>,
    /// From due to submitted, where the load has due times of its own.
    pub waiting_ns: Option<HistogramSnapshot>,
    /// From submitted to completed, likewise.
    pub service_ns: Option<HistogramSnapshot>,
}

/// CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFigures {
    /// In user mode, seconds.
    pub user_s: f64,
    /// In the kernel, seconds.
    pub system_s: f64,
}
