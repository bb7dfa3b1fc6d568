//! The verdict of a run as programs read it; `verdict.rs` makes it.

use crate::summary::WaitAbove;
use crate::watching::{WatchHolder, WatchNext};
use loadline_record::{DoubtCode, Evidence, HiddenProcesses, HostsFact, KernelThrottle, Limit, SourceLimit};
use serde::{Deserialize, Serialize};

/// A run in a few lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerdictBlock {
    /// By volume, in the run's order.
    pub volumes: Vec<VolumeVerdict>,
    /// Volumes that are left out.
    pub volumes_left_out: usize,
    /// The loads that were not measured, of a run that ended early or is under way.
    pub not_measured: Option<String>,
    /// Whether the objective is kept; `null` where there is none, or nothing is known of it.
    pub objective: Option<ObjectiveVerdict>,
    /// Where the load was recorded, if something held its application back there.
    pub source: Option<RecordedSource>,
}

/// What held the application back where its load was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedSource {
    /// The limit.
    pub limit: SourceLimit,
    /// The share of the recorded time for which it was at one.
    pub share: f64,
}

/// The same of one volume.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VolumeVerdict {
    /// Its name; empty where the run has only the one that nobody named.
    pub volume: String,
    /// What it gives. Never empty.
    pub gives: Vec<VerdictFigure>,
    /// The limit that holds the first of these figures.
    pub limit: Option<Limit>,
    /// What holds them.
    #[serde(skip)]
    pub held_by: Holder,
    /// The throttle of the kernel that it is, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<HeldBy>,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    #[serde(skip)]
    pub because: Because,
    /// What the application waits for a request, where the device's latency is only a part of it: requests wait before the device, too.
    #[serde(skip)]
    pub latency: Option<WaitAbove>,
    /// What to do now; `None` where nothing is to be done.
    #[serde(skip)]
    pub next: Option<Advised>,
    /// The command to paste next: one that lifts a throttle, or that of a conclusion. A program with a command line spells the latter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The cell that shows the limit.
    pub cell: String,
}

/// What holds the figures of a volume.
#[derive(Debug, Clone, PartialEq)]
pub enum Holder {
    /// In words, of judges that have no value of it yet: "the disk's requests per second".
    Written(String),
    /// What the totals of more and more hosts show.
    Hosts(HostsFact),
    /// Of a replay: requests came no faster than they were recorded, and this storage kept up.
    RecordedPace,
    /// Of a device that others use.
    Watch(WatchHolder),
}

impl From<String> for Holder {
    fn from(text: String) -> Self {
        Self::Written(text)
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advised {
    /// In words, of judges that have no value of it yet.
    Written(String),
    /// Of a load that was recorded at a limit: to record it without.
    RecordWithout,
    /// About a device that others use.
    Watch {
        /// What to do.
        step: WatchNext,
        /// Whether its requests are to be recorded, to find what would do.
        record: bool,
    },
}

impl From<String> for Advised {
    fn from(text: String) -> Self {
        Self::Written(text)
    }
}

/// One figure of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictFigure {
    /// What it is a figure of.
    pub what: VerdictSubject,
    /// The load, in words: "random 4 KiB reads".
    pub load: String,
    /// The amount of load at which it was reached: "depth 32".
    pub at: String,
    /// Requests per second, bytes per second or nanoseconds.
    pub value: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The 99th percentile of the latency there, ns.
    pub p99_ns: Option<u64>,
    /// Of a time of one request: the mean, ns, if it is so much above the median that the median alone misleads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// The cell that it is of.
    pub cell: String,
}

/// What a figure of a verdict is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictSubject {
    /// Requests per second of small random reads.
    SmallReads,
    /// Of small random writes.
    SmallWrites,
    /// Of what mixes them, or of any other load where none of the kinds here was measured.
    Requests,
    /// Bytes per second of large reads.
    LargeReads,
    /// Of large writes.
    LargeWrites,
    /// The median of the time that one small read takes, with no other in flight.
    OneRead,
    /// The same of a write.
    OneWrite,
    /// The median of the time that makes writes durable (`fsync`, `fdatasync` or forced unit access).
    DurableWrite,
}

impl VerdictSubject {
    /// Whether its value is a time in nanoseconds.
    #[must_use]
    pub const fn is_latency(self) -> bool {
        matches!(self, Self::OneRead | Self::OneWrite | Self::DurableWrite)
    }
    /// Whether its value is bytes per second.
    #[must_use]
    pub const fn is_throughput(self) -> bool {
        matches!(self, Self::LargeReads | Self::LargeWrites)
    }
}

/// Why a limit is as sure as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// The limit stands in a file of the kernel.
    ReadFrom {
        /// The file.
        file: String,
        /// What comes to it; `None` where its being there explains the figures.
        reached: Option<Reached>,
    },
    /// The environment declares it, or a counter of the storage says so.
    Declared {
        /// The share of it that the load reaches.
        share: Option<f64>,
    },
    /// A model knows its own limits.
    Model,
    /// A doubt spoils the figures.
    Doubt(DoubtCode),
    /// The first thing that was seen.
    FirstSeen(Evidence),
    /// All that was seen.
    Seen(Evidence),
    /// What was seen of a device that others use.
    Watched {
        /// What was seen.
        seen: Evidence,
        /// Processes that could not be looked into, where it rests on what they did.
        hidden: Option<HiddenProcesses>,
    },
    /// No limit that is known explains the figures.
    NothingExplains,
    /// Nothing was seen.
    NothingSeen,
    /// The target is nothing at all.
    NullTarget,
    /// Loads that show the limit were not measured: how many, in words.
    NotMeasured(String),
}

/// What comes to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    /// The load of a run.
    ByTheLoad,
    /// What was asked of a device that others use.
    ByAllThatIsAsked,
}

/// How sure a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The kernel or the model says so, and the figures agree.
    Certain,
    /// It follows from the figures.
    Likely,
    /// It follows from figures that are in doubt.
    Doubtful,
    /// Nothing known explains the figures.
    Unknown,
}

impl Certainty {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Doubtful => "doubtful",
            Self::Unknown => "not known",
        }
    }
}

/// Whether the objective is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveVerdict {
    /// The objective: "p99 within 5 ms".
    pub objective: String,
    /// Whether the user set it; otherwise it is what database vendors commonly recommend.
    pub chosen: bool,
    /// Whether the lightest load of each kind keeps it.
    pub kept: bool,
    /// Up to which load, and where it breaks: what follows the objective and a colon.
    pub text: String,
}

/// A throttle of the kernel that a load reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBy {
    /// The kernel's name of the device.
    pub device: String,
    /// Devices of the volume that have the same limit, this one among them.
    pub devices: u32,
    /// The limit.
    pub limit: KernelThrottle,
}
