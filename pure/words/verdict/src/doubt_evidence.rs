//! What was seen that makes a figure doubtful: values with their units. `loadline-report` makes the sentences.

use crate::{Ceiling, Ending, KernelThrottle, KnownDeviation, OtherLoad, SourceLimit, VerifyFault};
use loadline_block::{ErrorKind, Operation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a doubt rests on. Shares are 0.0 to 1.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DoubtEvidence {
    /// A sentence that an earlier version stored.
    Written {
        /// As it was stored.
        text: String,
    },
    /// Blocks read back differ from what was written.
    BlocksDiffer {
        /// Blocks that differ.
        blocks: u64,
        /// Blocks read back.
        blocks_checked: u64,
        /// The first of them.
        first: Option<VerifyFault>,
    },
    /// Requests failed.
    RequestsFailed {
        /// By kind; none is 0.
        by_kind: BTreeMap<ErrorKind, u64>,
        /// The first error, in its own words.
        first_error: Option<String>,
    },
    /// A trial did not go on to its end.
    CutShort {
        /// How it ended, with the error's own words.
        ending: Ending,
        /// Time measured.
        measured_ns: u64,
        /// Time asked for.
        planned_ns: u64,
    },
    /// A trace has no end: it was still being recorded, or its recorder stopped.
    TraceCutShort,
    /// A recording lacks some of what was asked.
    RecordingNotWhole {
        /// Requests that are not in it.
        requests_missing: u64,
        /// Requests that there were.
        requests: u64,
        /// Events of the kernel that were lost.
        events_lost: u64,
    },
    /// An application was at a limit while its requests were recorded.
    SourceLimited {
        /// The limit.
        limit: SourceLimit,
        /// The share of the recorded time for which it was at one.
        share: f64,
    },
    /// Limits that nobody has published.
    LimitsNotPublished {
        /// In the catalog's words.
        limits: Vec<String>,
    },
    /// Published measurements that the model misses.
    ModelDeviates {
        /// From the catalog.
        measurements: Vec<KnownDeviation>,
    },
    /// The file lies in a file system that is memory.
    FileInMemory {
        /// Its type: "tmpfs".
        file_system: String,
    },
    /// The devices are memory.
    DevicesInMemory {
        /// By the kernel's names.
        devices: Vec<String>,
    },
    /// The devices moved less than was asked: the rest came from memory, or from holes that the load's own trims made.
    MovedLess {
        /// By the kernel's names.
        devices: Vec<String>,
        /// Bytes asked for, and bytes that the devices moved.
        bytes: AskedAndMoved,
    },
    /// The file's share in the page cache rose.
    ResidencyRose {
        /// Whether direct I/O was asked for.
        direct: bool,
        /// Before the trial.
        before_share: f64,
        /// After it.
        after_share: f64,
    },
    /// Part of the file lay in the page cache before the trial.
    Resident {
        /// That part.
        share: f64,
    },
    /// Blocks that were never written when the load began.
    NeverWritten {
        /// The operation that finds them so.
        operation: Operation,
        /// Of the file.
        share: f64,
        /// Their bytes.
        bytes: u64,
    },
    /// The load asked for the page cache.
    PageCacheAsked,
    /// Direct I/O was not possible.
    DirectNotPossible {
        /// The refusal, in its own words.
        error: Option<String>,
    },
    /// Devices that keep their contents in this machine's memory.
    ContentsInMemory {
        /// Each of them.
        devices: Vec<MemoryBacked>,
    },
    /// The file system may store less than was written. At least one part is there.
    StoredLess {
        /// The file system compresses.
        compression: Option<Compression>,
        /// Share of the file that is compressed or otherwise encoded.
        encoded_share: Option<f64>,
        /// The devices wrote less than was asked.
        wrote_less: Option<WroteLess>,
    },
    /// Load threads had hardly time to spare.
    ThreadsBusy {
        /// Load threads.
        threads: u32,
        /// Those that were busier than `above_share`.
        busy_threads: u32,
        /// From here on a thread counts as busy.
        above_share: f64,
        /// The busiest.
        busiest_share: f64,
    },
    /// The tool itself did not run for a time.
    ToolStopped {
        /// All stops together.
        total_ns: u64,
        /// The longest.
        longest_ns: u64,
        /// Time measured.
        measured_ns: u64,
        /// For so long the CPU quota of its control group was spent, where that explains it.
        quota_spent_ns: Option<u64>,
        /// Figures in which it can stand.
        figures: Vec<DoubtedFigure>,
    },
    /// Other arrivals were completed than were offered.
    ArrivalsMissed {
        /// Requests per second offered.
        offered_iops: f64,
        /// Requests per second completed.
        completed_iops: f64,
        /// Arrivals that were never issued, where they are many.
        never_issued: Option<u64>,
    },
    /// A recorded load came faster than the storage answers it.
    Backlog {
        /// Requests of the recording.
        requests: u64,
        /// Those that were not answered when the last was due.
        unanswered: u64,
        /// From when the last was due to the last answer.
        late_ns: u64,
        /// Answers per second.
        answered_iops: f64,
    },
    /// The devices saw other requests, or fewer at once, than were asked. At least one part is there.
    OtherRequests {
        /// Requests that were merged or split.
        recut: Vec<Recut>,
        /// Requests that were not on the devices.
        in_flight: Option<InFlight>,
        /// The queues of the devices.
        queues: Vec<QueueFacts>,
    },
    /// The devices moved more than was asked.
    MovedMore {
        /// By the kernel's names.
        devices: Vec<String>,
        /// By operation; never empty.
        excess: Vec<Excess>,
        /// The other process that moved most.
        busiest: Option<OtherLoad>,
    },
    /// Other processes moved so much, on these devices or on others.
    OthersMoved {
        /// All of them together.
        bytes: u64,
        /// The process that moved most.
        busiest: Option<OtherLoad>,
    },
    /// Other jobs of the same results ran at the same time.
    JobsBeside {
        /// The first of them.
        jobs: Vec<String>,
        /// How many more there are.
        more: u64,
    },
    /// The hypervisor took CPU time.
    CpuStolen {
        /// Of the machine's.
        share: f64,
    },
    /// The clock was not steady. At least one part is there.
    ClockMoved {
        /// Parts per million off its reference.
        drift_ppm: Option<f64>,
        /// By how much it was stepped.
        step_ns: Option<i64>,
        /// A source that ticks in milliseconds.
        coarse_source: Option<String>,
    },
    /// The steady-state rule was not met.
    SteadyStateMissed {
        /// Rounds tried.
        rounds: u64,
        /// Length of each.
        round_ns: u64,
        /// Rates of the first and the last.
        ends: Option<RateChange>,
    },
    /// The rate moved steadily over the measured time.
    RateMoves {
        /// From about, to about.
        rate: RateChange,
    },
    /// The rate changed at once.
    RateStepped {
        /// Before and after.
        rate: RateChange,
        /// Seconds from the begin of the measured time.
        after_s: u64,
    },
    /// A token bucket that may have been full carries so much of so short a run.
    BucketInShortRun {
        /// Time measured.
        measured_ns: u64,
        /// Depth of the bucket, in time at its rate.
        bucket_ns: u64,
        /// Whether a model knows the depth; otherwise it is what disks usually have.
        is_known: bool,
        /// Time before, which may have emptied it.
        warm_up_ns: u64,
    },
    /// So few windows of a limit that a whole one more or less shows.
    FewWindows {
        /// Time measured.
        measured_ns: u64,
        /// Length of a window.
        window_ns: u64,
    },
    /// Burst credits were being spent, and were not spent by the end.
    CreditsLeft {
        /// Share left at the beginning.
        begin_share: f64,
        /// Share left at the end.
        end_share: f64,
        /// Time measured.
        measured_ns: u64,
        /// Until they are spent at this pace.
        lasts_ns: u64,
        /// The limit from then on.
        afterwards: Option<Ceiling>,
    },
    /// Too few requests for some percentiles.
    FewRequests {
        /// Each operation that has too few.
        operations: Vec<FewOfOperation>,
    },
    /// Answers of an emulation left late.
    AnswersLate {
        /// Whether that was while the load was recorded which is replayed now.
        recorded: bool,
        /// p99 of the time after the model's.
        late_p99_ns: u64,
        /// p99 of the modelled latency.
        modelled_p99_ns: u64,
    },
    /// The emulated storage was changed on purpose.
    StorageChanged {
        /// The first changes, in the order of time.
        changes: Vec<StorageChange>,
        /// How many more there are.
        more: u64,
    },
    /// Recorded requests beyond the end of the storage were moved.
    RequestsBeyondEnd {
        /// The storage is a file or device, or a model with a volume of this name.
        storage: SmallerStorage,
        /// End of the furthest request.
        reach_bytes: u64,
        /// Size of the storage.
        size_bytes: u64,
        /// Requests moved.
        requests: u64,
    },
    /// Recorded requests were widened to whole blocks.
    RequestsWidened {
        /// How many.
        requests: u64,
        /// The block.
        block_bytes: u64,
    },
    /// Another tool measured it.
    MeasuredElsewhere {
        /// The tool, with its version.
        tool: String,
        /// The device whose own counts the tool noted; `None`: nothing was noted around it.
        counted_device: Option<String>,
        /// Whether it has a course of seconds.
        has_series: bool,
        /// What else its results do not tell, in the words of who read them.
        not_told: Vec<String>,
    },
    /// The hosts of a merged run did not all run together. At least one part is there.
    HostsApart {
        /// How far they ran together, where that is too little.
        together: Option<RunTogether>,
        /// Hosts without a record of the trial.
        missing: Vec<String>,
    },
    /// The clocks of hosts are not known well. At least one part is there.
    HostClocks {
        /// Hosts of the run.
        hosts: u32,
        /// Those whose wall clocks were taken as they are.
        not_compared: Vec<String>,
        /// Those whose clocks are known within so much only.
        unsure: Vec<HostSpan>,
        /// Those that recorded the begin of their trial to a second only.
        to_a_second: Vec<String>,
    },
    /// Some hosts of a merged run have the doubt, or all.
    OnHosts {
        /// Hosts that took part.
        hosts: u32,
        /// What was seen on each; never empty.
        seen: Vec<SeenOnHost>,
    },
    /// Some trials of a cell have the doubt.
    InSomeTrials {
        /// How many have it.
        having: u32,
        /// How many there are.
        trials: u32,
        /// Trials that the figures rest on, where those that have the doubt are not among them.
        figures_from: Option<u32>,
        /// What was seen in the first of them.
        seen: Box<DoubtEvidence>,
    },
}

/// Bytes asked of devices, and bytes that they moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedAndMoved {
    /// Asked.
    pub asked_bytes: u64,
    /// Moved.
    pub moved_bytes: u64,
}

/// A device over a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBacked {
    /// By the kernel's name.
    pub device: String,
    /// The file.
    pub file: String,
    /// The type of the file's file system, where that is memory; otherwise the page cache lies between.
    pub file_system: Option<String>,
}

/// Why a file system is taken to compress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compression {
    /// Its type.
    pub file_system: String,
    /// The mount option that asks for it; `None`: this file system may compress whatever its options are.
    pub option: Option<String>,
}

/// Devices that wrote less than was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WroteLess {
    /// By the kernel's names.
    pub devices: Vec<String>,
    /// Bytes asked, and bytes written.
    pub bytes: AskedAndMoved,
}

/// A figure of a trial that a doubt touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoubtedFigure {
    /// The rate.
    #[serde(rename = "rate")]
    Rate,
    /// The 99th percentile of the latency.
    #[serde(rename = "p99")]
    P99,
    /// The 99.9th.
    #[serde(rename = "p99.9")]
    P999,
    /// The 99.99th.
    #[serde(rename = "p99.99")]
    P9999,
    /// The longest latency.
    #[serde(rename = "maximum")]
    Maximum,
}

/// Requests that reached a device merged or split: as many bytes in another number of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recut {
    /// Reads or writes.
    pub operation: Operation,
    /// Requests asked.
    pub asked_requests: u64,
    /// Requests that the devices had.
    pub device_requests: u64,
    /// Bytes asked, and bytes moved.
    pub bytes: AskedAndMoved,
    /// The limit of a queue that splits requests so, where one is known.
    pub split_by: Option<QueueLimit>,
}

impl Recut {
    /// Bytes of a request on average, as asked.
    #[must_use]
    pub fn asked_size(&self) -> f64 {
        self.bytes.asked_bytes as f64 / self.asked_requests as f64
    }
    /// Bytes of a request on average, as it reached the devices.
    #[must_use]
    pub fn device_size(&self) -> f64 {
        self.bytes.moved_bytes as f64 / self.device_requests as f64
    }
}

/// A limit of a device's queue on single requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimit {
    /// By the kernel's name.
    pub device: String,
    /// Most bytes of a request (`max_sectors_kb`).
    pub request_bytes_max: Option<u64>,
    /// Most pieces of memory of a request (`max_segments`), where that is what splits.
    pub segments_max: Option<u64>,
}

/// Requests outstanding in the load, of which the devices had few.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    /// By the kernel's names.
    pub devices: Vec<String>,
    /// Outstanding in the load.
    pub outstanding: f64,
    /// On the devices, on average.
    pub on_devices: f64,
    /// Where the others were.
    pub others: OthersWaited,
}

/// Where requests were that the devices did not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OthersWaited {
    /// Most of what was asked never came to the devices.
    NeverCame,
    /// A throttle of the kernel was reached.
    Throttle {
        /// By the kernel's name.
        device: String,
        /// Devices of the volume that have the same limit.
        devices: u32,
        /// The limit.
        limit: KernelThrottle,
    },
    /// The tool's own threads were busy.
    ToolBusy,
    /// Not even the kernel had them: handing over takes as long as answers do.
    NotHandedOver {
        /// Requests that the kernel had, on average.
        in_kernel: f64,
    },
    /// Before the devices, it is not known where.
    Unknown,
}

/// The queue of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFacts {
    /// By the kernel's name.
    pub device: String,
    /// Requests that it takes.
    pub requests: Option<u64>,
    /// Its scheduler.
    pub scheduler: Option<String>,
}

/// What devices moved beyond what was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// Reads or writes.
    pub operation: Operation,
    /// Bytes in excess.
    pub bytes: u64,
    /// Requests in excess, where these are what is too much.
    pub requests: Option<f64>,
}

/// A rate before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateChange {
    /// Before.
    pub from_iops: f64,
    /// After.
    pub to_iops: f64,
}

/// An operation with too few requests for some percentiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FewOfOperation {
    /// Which.
    pub operation: Operation,
    /// Its requests.
    pub requests: u64,
    /// The percentiles that they do not carry.
    pub figures: Vec<DoubtedFigure>,
}

/// A change to emulated storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageChange {
    /// From the first request on; before it the time is negative.
    pub at_ns: i64,
    /// What, in the words of the emulation's history.
    pub what: String,
}

/// The storage on which a recorded load does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SmallerStorage {
    /// A file or device.
    Target {
        /// As named.
        target: String,
    },
    /// A model.
    Model {
        /// Its volume.
        volume: String,
        /// Its environment.
        environment: String,
        /// Bytes of the pieces of 1 MiB that the moved requests touch.
        moved_bytes: u64,
        /// Trims that were moved with them or cut.
        trims: u64,
    },
}

/// How far hosts ran together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunTogether {
    /// They never all ran at the same time.
    Never,
    /// They did for part of the time.
    Partly {
        /// That part of the longest.
        share: f64,
        /// The host that began last, and how long after the first.
        begun_late: Option<HostSpan>,
        /// The host that ended first, and how long before the last.
        ended_early: Option<HostSpan>,
    },
}

/// A time of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSpan {
    /// Its name.
    pub host: String,
    /// The time.
    pub span_ns: u64,
}

/// What was seen on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenOnHost {
    /// Its name.
    pub host: String,
    /// What was seen.
    pub seen: DoubtEvidence,
}
