//! The verdict of a run as programs read it; `verdict.rs` makes it.

use crate::conclusion::{InsteadOfRange, RateBefore};
use crate::device_throttle::HeldBy;
use crate::finding::ObjectiveRule;
use crate::hosts::view::HostsLimit;
use crate::known_disk::KnownLevels;
use crate::standing::StandingLimit;
use crate::summary::WaitAbove;
use crate::watching::{WatchHolder, WatchNext};
use loadline_block::Operation;
use loadline_record::{CeilingSource, DoubtCode, Evidence, HiddenProcesses, HostsFact, Limit, SourceLimit};
use serde::{Deserialize, Serialize};

/// A run in a few lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerdictBlock {
    /// By volume, in the run's order.
    pub volumes: Vec<VolumeVerdict>,
    /// Volumes that are left out.
    pub volumes_left_out: usize,
    /// The loads that were not measured, of a run that ended early or is under way.
    pub not_measured: Option<LoadsMissing>,
    /// Whether the objective is kept; `null` where there is none, or nothing is known of it.
    pub objective: Option<ObjectiveVerdict>,
    /// Where the load was recorded, if something held its application back there.
    pub source: Option<RecordedSource>,
    /// The command that shows whether the step helped, once it was taken.
    pub afterwards: Option<String>,
}

/// What held the application back where its load was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedSource {
    /// The limit.
    pub limit: SourceLimit,
    /// The share of the recorded time for which it was at one.
    pub share: f64,
}

/// Loads of a run that were not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadsMissing {
    /// Each by its label.
    pub loads: Vec<String>,
    /// Of so many.
    pub of: usize,
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
    /// How long that takes, ns, if it is a measurement; a program with a command line estimates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes_ns: Option<u64>,
    /// The command to paste next: one that lifts a throttle, or that of a conclusion. A program with a command line spells the latter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The cell that shows the limit.
    pub cell: String,
    /// The disks that are sold with the limits that it shows; missing where none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownLevels>,
}

/// What holds the figures of a volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Holder {
    /// It is not known.
    Unknown,
    /// It is not known yet: loads that were not measured may show another limit.
    NotMeasured,
    /// The tool itself: there is no storage behind the target.
    Tool,
    /// Throttles of the kernel.
    Throttles {
        /// One at least.
        throttles: Vec<HeldBy>,
        /// The load that is shown first, if none of them limits it.
        besides: Option<Box<HeldBesides>>,
    },
    /// A limit that was read before the load began.
    Standing(StandingLimit),
    /// The baseline that follows a burst, of which the load did not see the end.
    BaselineToCome {
        /// Whose baseline it is.
        source: CeilingSource,
        /// Requests per second until then.
        iops_before: f64,
    },
    /// Nothing of the disk: most of what was read was never written, and is answered without it.
    NeverWritten,
    /// A limit that has a name.
    Limit(LimitHolder),
    /// What the totals of more and more hosts show.
    Hosts {
        /// As figures.
        seen: HostsFact,
    },
    /// Of a replay: requests came no faster than they were recorded, and this storage kept up.
    RecordedPace,
    /// What holds a device that others use.
    #[serde(untagged)]
    Watch(WatchHolder),
}

/// A load that is shown first, and that another limit holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldBesides {
    /// Its operation; missing where it mixes them.
    pub operation: Option<Operation>,
    /// What holds it.
    pub held_by: Holder,
}

/// A limit that holds a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LimitHolder {
    /// The limit.
    pub limit: Limit,
    /// As requests per second of this load; missing where that is the rate that the load has.
    pub ceiling_iops: Option<f64>,
    /// Whether which limit it is was presumed.
    pub presumed: bool,
    /// What was before, of a burst that ended while the load went on.
    pub burst: Option<RateBefore>,
    /// Whether others made the load.
    pub of_others: bool,
    /// What more requests in flight would bring, of a load that its own latency holds.
    pub more: Option<MoreInFlight>,
}

/// What more requests in flight would bring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MoreInFlight {
    /// More: the rate grew up to this load, and nothing deeper was tried.
    More,
    /// It is not known: no other depth was measured.
    Untried,
    /// A deeper load of the run had no more, or one as deep as this hardly more than one before it.
    HardlyMore {
        /// Requests in flight of the other load.
        in_flight: u64,
        /// What it came to, requests per second.
        iops: f64,
    },
    /// Not even the lightest load keeps the objective.
    ObjectiveBroken,
}

impl MoreInFlight {
    /// Whether asking for more at once may help.
    #[must_use]
    pub const fn may_help(self) -> bool {
        matches!(self, Self::More | Self::Untried)
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Advised {
    /// Lift a limit that stands in a file and is not meant.
    Lift,
    /// What moves a limit.
    Move {
        /// The limit.
        limit: Limit,
        /// Whether a model gave the answers.
        modelled: bool,
    },
    /// What moves what holds a load of others.
    MoveOfOthers {
        /// The limit.
        limit: Limit,
    },
    /// Storage that answers faster, or fewer requests: more of them at once do not help.
    Faster,
    /// Fill what is read, first.
    Fill,
    /// Measure a range larger than the cache.
    LargerRange,
    /// No range, however large, shows the disk.
    InsteadOfRange(InsteadOfRange),
    /// Of a load that was recorded at a limit: to record it without.
    RecordWithout,
    /// Carry on with a run that ended early.
    CarryOn,
    /// Measure storage: what was measured is none.
    MeasureStorage,
    /// Measure again to find the end of a storage that several hosts loaded.
    OnHosts {
        /// What their total shows.
        limit: HostsLimit,
    },
    /// About a device that others use.
    #[serde(untagged)]
    Watch {
        /// What to do.
        #[serde(flatten)]
        step: WatchNext,
        /// Whether its requests are to be recorded, to find what would do.
        #[serde(skip)]
        record: bool,
    },
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
    /// The 99.9th percentile, ns, where the mean lies above the 99th: a few requests take most of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<u64>,
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
    /// Loads that may show another limit were not measured.
    NotMeasured {
        /// So many.
        loads: usize,
        /// Of so many.
        of: usize,
    },
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObjectiveVerdict {
    /// The objective.
    #[serde(flatten)]
    pub rule: ObjectiveRule,
    /// Up to which load it is kept.
    pub found: ObjectiveFound,
    /// Loads that were not measured, and of how many.
    #[serde(skip)]
    pub not_measured: Option<(usize, usize)>,
}

impl ObjectiveVerdict {
    /// Whether the lightest load of each kind keeps it.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        !matches!(self.found, ObjectiveFound::Broken { .. })
    }
}

/// Up to which load an objective is kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ObjectiveFound {
    /// At every load measured.
    Everywhere {
        /// The slowest by name.
        load: String,
        /// Its amount.
        at: String,
        /// What it takes, ns.
        latency_ns: f64,
    },
    /// Up to a load.
    UpTo {
        /// The loads by name.
        load: String,
        /// The heaviest that keeps it.
        kept: LoadAnswers,
        /// The lightest that does not.
        broken: LoadAnswers,
    },
    /// By the lightest load already not.
    Broken {
        /// The loads by name.
        load: String,
        /// The lightest.
        lightest: LoadAnswers,
        /// A heavier one that keeps it all the same.
        heavier: Option<LoadAnswers>,
    },
}

/// An amount of load, and how it is answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadAnswers {
    /// The amount.
    pub at: String,
    /// How.
    pub answered: Answered,
}

/// How a load is answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answered {
    /// It is not known.
    Unknown,
    /// Within this time, ns.
    After(f64),
    /// Not all of it in time.
    NotInTime,
    /// In time in some draws of the model.
    InDraws {
        /// So many keep it.
        kept: usize,
        /// Of so many.
        of: usize,
    },
}
