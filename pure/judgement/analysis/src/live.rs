//! What is known of a run while it goes on, once a second, and judged as the stored run is.
//!
//! The judge is that of stored runs: [`LiveFrame::judge`] is given the run that would be stored of the past minute, and asks
//! [`crate::summarize`] and the watch's own verdict for it. A frame has values alone; `loadline-report` makes the sentences.

use crate::summarize::summarize;
use crate::summary::{CauseShare, CellSummary, RunSummary, WaitAbove};
use crate::verdict_block::{Advised, Because, Certainty, Holder, VolumeVerdict};
use crate::watching;
use loadline_block::Operation;
use loadline_emulation::TimeShare;
use loadline_pipeline::{LiveCrawl, REPLAYED_MAX};
use loadline_record::{
    DoubtCode, Histogram, KernelThrottle, Limit, LiveMark, ProgramSecond, RunRecord, RunVerb, WatchCause, WatchTick,
    WatchedCpu, WatchedThrottle,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a frame as it is printed.
pub const LIVE_SCHEMA: &str = "loadline.live/1";
/// A watch is judged by so many of its last seconds.
pub const LIVE_WINDOW_S: usize = 60;
/// In less than this no level shows: what holds a device is not said yet.
pub const LIVE_WINDOW_MIN_S: u64 = 4;
/// Cells of a frame at most: those that were measured last.
pub const LIVE_CELLS_MAX: usize = 16;
/// A look at the counters takes a moment itself.
const LIVE_WINDOW_MIN_NS: u64 = LIVE_WINDOW_MIN_S * 1_000_000_000 - 50_000_000;

/// A run, a watch or a recording as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveFrame {
    /// Id of the run; empty where none is stored.
    pub run: String,
    /// What is done, by the name of its verb.
    pub verb: String,
    /// What it is called.
    pub name: String,
    /// Wall clock, ms since 1970.
    pub at_unix_ms: u64,
    /// Since it began, ns.
    pub elapsed_ns: u64,
    /// How long it is to last, ns; `null` where that is not known.
    pub planned_ns: Option<u64>,
    /// Whether it is of a stored watch: then `at_unix_ms` is the time that is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_past: bool,
    /// What the judgement of the volumes rests on, ns: 0 while it is too early for one.
    pub judged_ns: u64,
    /// Each device or volume.
    pub volumes: Vec<LiveVolume>,
    /// The busiest programs.
    #[serde(default)]
    pub programs: Vec<LiveProgram>,
    /// The machine.
    #[serde(default)]
    pub machine: LiveMachine,
    /// CPU time that loadline itself takes, as a share of one CPU.
    pub own_cpu_share: Option<f64>,
    /// The trial of a run that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<LiveStep>,
    /// Cells of a run that have figures, the one that was measured last at the end; of many, the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<LiveCell>,
    /// How many cells have figures.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub cells_done: usize,
    /// How far an application's work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<LiveItems>,
    /// The parts of a crawl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crawl: Option<LiveCrawl>,
    /// What an emulation does beside the figures of its volumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<LiveEmulation>,
    /// The trace of a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<LiveTrace>,
    /// Moments that the user marked, the latest last.
    #[serde(default)]
    pub marks: Vec<LiveMark>,
}

/// A device or volume over the last second or so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveVolume {
    /// The kernel's name of a device, or the volume's.
    pub name: String,
    /// Requests per second.
    pub iops: Option<f64>,
    /// Reads per second, where they are counted apart.
    pub reads_per_s: Option<f64>,
    /// Writes per second, where they are counted apart.
    pub writes_per_s: Option<f64>,
    /// Flushes per second, where they are counted.
    pub flushes_per_s: Option<f64>,
    /// Bytes per second.
    pub throughput_bytes_per_s: Option<f64>,
    /// Mean latency, ns; `null` where nothing completed.
    pub latency_ns: Option<u64>,
    /// Median latency, ns, where there is a distribution.
    pub p50_ns: Option<u64>,
    /// The 99th percentile, ns, where there is a distribution.
    pub p99_ns: Option<u64>,
    /// Requests in flight on average.
    pub outstanding: Option<f64>,
    /// Share of the time with a request in flight.
    pub busy_share: Option<f64>,
    /// Limits that are known, each with the share of it that is asked for.
    #[serde(default)]
    pub limits: Vec<LiveLimit>,
    /// What the judged time went to, the most first.
    #[serde(default)]
    pub causes: Vec<LiveCause>,
    /// What most of the last second went to.
    pub cause_now: Option<WatchCause>,
    /// What holds it; `null` where it is too early, or nothing was asked of it.
    pub judged: Option<LiveVerdict>,
    /// All since the watch began, for those who collect counters.
    #[serde(skip)]
    pub totals: Option<LiveTotals>,
}

/// A device since the watch began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveTotals {
    /// What the kernel counted.
    pub counted: WatchTick,
    /// Requests in flight times how long they were, us: as they were looked at.
    pub outstanding_us: u64,
    /// What each second went to for the most part, by the name of the cause: the sum is all of the time that was judged or too early to.
    pub causes_us: BTreeMap<&'static str, u64>,
    /// Latencies by operation, where the kernel's events are read.
    pub latencies: BTreeMap<Operation, Histogram>,
}

/// What seconds go to that are too early to judge.
const UNJUDGED: &str = "unjudged";

/// A limit that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LiveLimit {
    /// A throttle of the kernel.
    Throttle {
        /// The throttle.
        throttle: KernelThrottle,
        /// What is asked for of it; `null` where the kernel does not show it.
        asked_share: Option<f64>,
    },
    /// A limit that the environment declares.
    Declared {
        /// Which.
        limit: Limit,
        /// As requests per second of this load.
        iops: f64,
        /// What is asked for of it.
        asked_share: Option<f64>,
    },
}

/// What some of the judged time went to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveCause {
    /// What.
    pub cause: WatchCause,
    /// The limit that it is, where it is one.
    pub limit: Option<Limit>,
    /// For so long.
    pub seconds: f64,
}

/// What holds a volume, how sure that is, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveVerdict {
    /// The limit.
    pub limit: Option<Limit>,
    /// What holds it.
    pub held_by: Holder,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    pub because: Because,
    /// What the application waits, where the device's latency is a part of it only.
    pub latency: Option<WaitAbove>,
    /// What to do.
    pub next: Option<Advised>,
    /// The command that does it.
    pub command: Option<String>,
}

/// A program over the last second or so, over all devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveProgram {
    /// Its name.
    pub name: String,
    /// One of its processes.
    pub pid: u32,
    /// How many there are.
    pub processes: u32,
    /// From storage.
    pub read_bytes_per_s: f64,
    /// To storage.
    pub write_bytes_per_s: f64,
    /// CPUs in use.
    pub cpus: f64,
    /// Threads that are blocked in the kernel, on average.
    pub blocked: f64,
}

/// The machine over the last second or so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveMachine {
    /// Share of its CPUs' time that is neither idle nor waits for I/O.
    pub cpu_busy_share: Option<f64>,
    /// Share that the hypervisor takes.
    pub cpu_steal_share: Option<f64>,
}

/// A trial that is under way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveStep {
    /// "3 of 12".
    pub place: String,
    /// The cell, for people.
    pub label: String,
    /// What it is at: filling, warming up, measuring.
    pub phase: LivePhase,
    /// Time in this phase, ns.
    pub elapsed_ns: u64,
    /// How long the phase takes, ns, where that is known.
    pub planned_ns: Option<u64>,
    /// Share of the phase that is done, where time does not show it.
    pub done_share: Option<f64>,
}

/// The phases of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LivePhase {
    /// It waits for the moment at which it is to begin.
    #[default]
    Waiting,
    /// What is read is written first.
    Filling,
    /// The load runs and does not count yet.
    WarmUp,
    /// The load counts.
    Measuring,
    /// The load ends.
    CoolDown,
    /// What was written is read back.
    Verifying,
}

/// A cell of a run, over its trials so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveCell {
    /// Its id.
    pub cell: String,
    /// For people.
    pub label: String,
    /// Its volume.
    pub volume: String,
    /// Trials that the figures rest on.
    pub trials: u32,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub throughput_bytes_per_s: f64,
    /// Median latency, ns, of the slower operation in a mix.
    pub p50_ns: Option<u64>,
    /// The 99th percentile, ns, likewise.
    pub p99_ns: Option<u64>,
    /// What bound it.
    pub limit: Option<Limit>,
    /// Why its figures should not be believed as they stand.
    pub doubts: Vec<DoubtCode>,
}

/// How far an application's work on items is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveItems {
    /// Done.
    pub items: u64,
    /// Failed.
    pub failed: u64,
    /// Known, and not begun.
    pub waiting: u64,
}

/// An emulation over the last second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveEmulation {
    /// Clients over NBD.
    pub clients: usize,
    /// Faults in force.
    pub faults: Vec<LiveFault>,
    /// A row for each volume of the frame.
    pub exports: Vec<LiveExport>,
}

/// A fault in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveFault {
    /// By which it is cleared.
    pub number: u32,
    /// For people.
    pub text: String,
    /// The command that clears it; `null` where none reaches the emulation.
    pub command: Option<String>,
}

/// An emulated volume beside its figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveExport {
    /// What it lacks, by the name of its state; `null`: nothing.
    pub state: Option<String>,
    /// Faults that its requests can meet.
    pub faults: Vec<u32>,
    /// What its time goes to, the largest share first.
    pub held: Vec<TimeShare>,
    /// Share of the latency that is spent waiting at limits; `null`: nothing was answered.
    pub throttled: Option<f64>,
    /// Share of burst credits left; `null`: nothing saves any.
    pub credits: Option<f64>,
    /// Share of reads that host caches answer; `null`: there is no cache, or nothing is read.
    pub cache_hits: Option<f64>,
}

/// The trace of a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveTrace {
    /// Requests in it.
    pub requests: u64,
    /// Events that the kernel dropped.
    pub events_lost: u64,
    /// Its size.
    pub bytes: u64,
}

impl LiveFrame {
    /// A frame of a run that has just begun.
    #[must_use]
    pub fn new(run: String, verb: String, name: String) -> Self {
        Self {
            run,
            verb,
            name,
            at_unix_ms: 0,
            elapsed_ns: 0,
            planned_ns: None,
            is_past: false,
            judged_ns: 0,
            volumes: Vec::new(),
            programs: Vec::new(),
            machine: LiveMachine::default(),
            own_cpu_share: None,
            step: None,
            cells: Vec::new(),
            cells_done: 0,
            items: None,
            crawl: None,
            emulation: None,
            trace: None,
            marks: Vec::new(),
        }
    }

    /// Whether it is of trials, whose cells are judged once they are measured.
    #[must_use]
    pub fn is_of_trials(&self) -> bool {
        self.step.is_some() || self.cells_done > 0
    }

    /// Judges the volumes by the run that would be stored of what was seen so far, or of the last of it.
    pub fn judge(&mut self, past: &RunRecord) {
        let trials = || past.cells.iter().filter_map(|cell| cell.trials.last());
        let judged_ns = trials().map(|trial| trial.measured_ns).max().unwrap_or(0);
        if trials().any(|trial| trial.watched.is_some()) && judged_ns < LIVE_WINDOW_MIN_NS {
            return;
        }
        self.judged_ns = judged_ns;
        self.take_over(past, summarize(past));
    }

    /// The volumes and cells of a stored run, as its summary judges them.
    pub fn judge_run(&mut self, stored: &RunRecord, summary: RunSummary) {
        if let Some(pipeline) = stored.pipeline() {
            self.crawl.iter_mut().for_each(|crawl| crawl.judge(pipeline, REPLAYED_MAX));
            return;
        }
        let trials = || stored.cells.iter().flat_map(|cell| &cell.trials);
        self.judged_ns = trials().map(|trial| trial.measured_ns).sum();
        for cell in stored.cells.iter().filter(|cell| !cell.trials.is_empty()) {
            if self.volumes.iter().all(|volume| volume.name != cell.volume) {
                self.volumes.push(LiveVolume { name: cell.volume.clone(), ..LiveVolume::default() });
            }
        }
        let ended = |id: &str| {
            let cell = stored.cells.iter().find(|cell| cell.id == id);
            cell.and_then(|cell| cell.trials.last()).map_or(0, |trial| trial.started_unix_s)
        };
        self.cells = summary.cells.iter().filter_map(LiveCell::of).collect();
        self.cells.sort_by_key(|cell| ended(&cell.cell));
        self.cells_done = self.cells.len();
        self.cells.drain(..self.cells_done.saturating_sub(LIVE_CELLS_MAX));
        self.take_over(stored, summary);
    }

    fn take_over(&mut self, past: &RunRecord, summary: RunSummary) {
        let mut verdicts = match past.header.verb {
            // A verdict that is printed has only the first few volumes.
            RunVerb::Watch => watching::volumes(&summary.cells),
            _ => summary.verdict.map_or_else(Vec::new, |verdict| verdict.volumes),
        };
        for volume in &mut self.volumes {
            let own = |cell: &&CellSummary| cell.volume == volume.name;
            let place = verdicts
                .iter()
                .position(|verdict| summary.cells.iter().filter(own).any(|cell| cell.id == verdict.cell));
            if let Some(watch) = summary.cells.iter().rfind(own).and_then(|cell| cell.watch.as_ref()) {
                volume.causes = watch.causes.iter().map(|cause| LiveCause::of(cause, self.judged_ns)).collect();
                volume.cause_now.clone_from(&watch.cause_last);
            }
            volume.judged = place.map(|place| LiveVerdict::from(verdicts.swap_remove(place)));
        }
    }
}

/// Whether a field that counts is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none_yet(count: &usize) -> bool {
    *count == 0
}

impl LiveCell {
    /// A cell that has figures.
    fn of(cell: &CellSummary) -> Option<Self> {
        let total = cell.total.as_ref()?;
        let operations = [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
        let slower = operations.max_by_key(|operation| operation.latency_ns.p99);
        let mut doubts: Vec<DoubtCode> = cell.doubts.iter().map(|doubt| doubt.code).collect();
        doubts.dedup();
        Some(Self {
            cell: cell.id.clone(),
            label: cell.label.clone(),
            volume: cell.volume.clone(),
            trials: cell.trials,
            iops: total.iops,
            throughput_bytes_per_s: total.throughput_bytes_per_s,
            p50_ns: slower.and_then(|slower| slower.latency_ns.p50),
            p99_ns: slower.and_then(|slower| slower.latency_ns.p99),
            limit: cell.binding.as_ref().map(|binding| binding.limit),
            doubts,
        })
    }
}

impl LiveProgram {
    /// What a program did in so many seconds: its name, one of its processes, and how many there are.
    #[must_use]
    pub fn of((name, pid, processes, did): (&str, u32, u32, ProgramSecond), seconds: f64) -> Self {
        Self {
            name: name.to_owned(),
            pid,
            processes,
            read_bytes_per_s: did.read_bytes as f64 / seconds,
            write_bytes_per_s: did.write_bytes as f64 / seconds,
            cpus: did.cpu_us as f64 / 1e6 / seconds,
            blocked: did.blocked_us as f64 / 1e6 / seconds,
        }
    }
}

impl From<WatchedCpu> for LiveMachine {
    fn from(cpu: WatchedCpu) -> Self {
        let share = |ppm: u32| Some(f64::from(ppm) / 1e6);
        Self { cpu_busy_share: share(cpu.busy_ppm), cpu_steal_share: share(cpu.steal_ppm) }
    }
}

impl LiveVolume {
    /// What a device did, and what was asked of its throttles in so many seconds.
    #[must_use]
    pub fn of_tick<'a>(
        name: &str,
        did: WatchTick,
        throttles: impl IntoIterator<Item = &'a WatchedThrottle>,
        seconds: f64,
    ) -> Self {
        let per_s = |count: u64| Some(count as f64 * 1e6 / did.elapsed_us.max(1) as f64);
        let throttles = throttles.into_iter().map(|WatchedThrottle { limit, asked }| {
            let asked = asked.as_ref().and_then(|asked| asked.last());
            let asked_share = asked.map(|asked| *asked as f64 / seconds / limit.per_s.max(1) as f64);
            LiveLimit::Throttle { throttle: limit.clone(), asked_share }
        });
        Self {
            name: name.to_owned(),
            iops: per_s(did.requests()),
            reads_per_s: per_s(did.reads),
            writes_per_s: per_s(did.writes),
            flushes_per_s: per_s(did.flushes),
            throughput_bytes_per_s: per_s(did.bytes()),
            latency_ns: ((did.read_ms + did.write_ms) * 1_000_000).checked_div(did.requests()),
            outstanding: Some(did.outstanding()),
            busy_share: Some(did.busy()),
            limits: throttles.collect(),
            ..Self::default()
        }
    }

    /// Takes over how another frame judged it, and what that knew of declared limits.
    pub fn judged_as(&mut self, before: &Self) {
        let declared = before.limits.iter().filter(|limit| matches!(limit, LiveLimit::Declared { .. }));
        self.limits.extend(declared.cloned());
        self.causes.clone_from(&before.causes);
        self.cause_now.clone_from(&before.cause_now);
        self.judged.clone_from(&before.judged);
    }
}

impl LiveTotals {
    /// Takes a look at the counters in.
    pub fn add(&mut self, tick: WatchTick) {
        self.counted = self.counted.joined(tick);
        self.outstanding_us += tick.in_flight * tick.elapsed_us;
    }

    /// All that has no cause yet went to this one; without one it is too early.
    pub fn charge(&mut self, cause: Option<&WatchCause>) {
        let charged: u64 = self.causes_us.values().sum();
        let left = self.counted.elapsed_us.saturating_sub(charged);
        *self.causes_us.entry(cause.map_or(UNJUDGED, WatchCause::name)).or_default() += left;
    }
}

impl LiveCause {
    fn of(cause: &CauseShare, judged_ns: u64) -> Self {
        Self { cause: cause.cause.clone(), limit: cause.limit, seconds: cause.share * judged_ns as f64 / 1e9 }
    }
}

impl From<VolumeVerdict> for LiveVerdict {
    fn from(verdict: VolumeVerdict) -> Self {
        let VolumeVerdict { limit, held_by, certainty, because, latency, next, command, .. } = verdict;
        Self { limit, held_by, certainty, because, latency, next, command }
    }
}
