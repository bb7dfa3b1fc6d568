//! What stops a load, as values: how far it comes, what that means and what to do; `pure/report` makes the sentences.

use crate::device_throttle::HeldBy;
use crate::finding::{RiseSeen, TrialLevels};
use crate::hosts::view::HostsLimit;
use crate::watching::{WatchHolder, WatchNext};
use loadline_load::LatencyFigure;
use loadline_record::{DoubtCode, Evidence, HostsFact, Limit, WatchGain};
use serde::{Deserialize, Serialize};

/// What stops one kind of load on a volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The volume's name.
    pub volume: String,
    /// Id of the cell that shows it.
    pub cell: String,
    /// What binds there.
    pub limit: Option<Limit>,
    /// How far the load comes and what stops it.
    pub reached: LoadReached,
    /// How that is known; empty where nothing tells.
    pub seen: Evidence,
    /// What it means.
    pub means: Vec<Meaning>,
    /// What to do now; empty where the conclusion before says it.
    pub steps: Vec<AdvisedStep>,
    /// How long the first measurement of these steps takes, ns; a program with a command line estimates it.
    pub takes_ns: Option<u64>,
    /// The measurements as commands; empty until a program with a command line spells them.
    pub commands: Vec<String>,
}

impl Conclusion {
    /// The measurements among its steps, in their order.
    #[must_use]
    pub fn next_measurements(&self) -> Vec<NextMeasurement> {
        self.steps.iter().filter_map(AdvisedStep::measurement).collect()
    }
}

/// A measurement that settles what a conclusion leaves open. It is about the conclusion's cell and volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NextMeasurement {
    /// Vary one factor at a time around the cell's load, on the same storage.
    VaryFactors,
    /// Measure the cell's plan for longer.
    Longer {
        /// Measured time of a trial.
        duration_ns: u64,
    },
    /// Measure the cell's plan over a larger range.
    LargerRange {
        /// Bytes that the load should spread over.
        size_bytes: u64,
    },
    /// Measure the storage that was predicted.
    RealStorage,
}

/// How far a load comes, and what stops it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LoadReached {
    /// A closed loop.
    Closed(Box<ClosedReached>),
    /// Open loops that were all served.
    Served {
        /// The loads by name.
        load: String,
        /// The most that was offered.
        up_to: String,
    },
    /// Open loops of which one was not served.
    Overloaded {
        /// The loads by name.
        load: String,
        /// The most that was served.
        up_to: Option<String>,
        /// The first that was not.
        at: String,
        /// What it came to.
        rate: LevelRate,
        /// What stops it, and how that is known.
        stop: Option<KnownLimit>,
    },
    /// Requests that came when others had wanted them.
    OfOthers {
        /// The load by name.
        load: String,
        /// Its amount.
        at: String,
        /// Mean latency, ns.
        mean_ns: f64,
        /// The longest, ns.
        max_ns: u64,
        /// Whether it has operations of several kinds.
        is_mixed: bool,
        /// What stops it.
        limit: Limit,
        /// How that is known.
        known: LimitKnown,
    },
    /// A load that more and more hosts ran.
    Hosts {
        /// What each asked, for people.
        load: String,
        /// What their totals show.
        seen: HostsFact,
    },
    /// A device that others use: what holds it.
    WatchHolder {
        /// What holds it.
        holder: WatchHolder,
    },
}

/// How far a closed loop comes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosedReached {
    /// The loads by name.
    pub loads: String,
    /// The rate.
    pub rate: LevelRate,
    /// Of how many levels that is the mean, where the rate changed.
    pub levels: Option<usize>,
    /// The amount of load.
    pub at: String,
    /// Whether more requests in flight were tried.
    pub is_onwards: bool,
    /// What stops it; missing where nothing is known.
    pub stop: Option<LoadStop>,
}

/// What stops a closed loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadStop {
    /// The limit.
    pub limit: Limit,
    /// How that is known.
    pub known: LimitKnown,
    /// In which way.
    pub way: StopWay,
}

/// A limit, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLimit {
    /// The limit.
    pub limit: Limit,
    /// How that is known.
    pub known: LimitKnown,
}

/// In which way a limit stops a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopWay {
    /// The limit binds.
    Binds,
    /// The rate is limited, and that it is by this limit was presumed.
    Presumably,
    /// It binds, and arrivals of the same requests came to more: it is no end.
    BindsHere,
    /// A throttle of the kernel does it.
    Throttled(HeldBy),
    /// More requests in flight might give more.
    NotYet,
    /// Nothing that is known explains it.
    Unexplained,
}

/// How a limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKnown {
    /// A model has it.
    Predicted,
    /// The rate is limited, and which limit it is was presumed.
    Presumed,
    /// It follows from the figures.
    Inferred,
    /// The environment declares it.
    Declared,
    /// A counter of the device shows it.
    Counted,
}

/// A rate in requests and in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelRate {
    /// Requests per second that last; missing where there is no figure.
    pub iops: Option<f64>,
    /// Bytes per second that last.
    pub bytes_per_s: Option<f64>,
    /// What was before a burst ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RateBefore>,
}

/// A rate before a burst ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateBefore {
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// For how long, ns; missing where the load ended before.
    pub before_ns: Option<u64>,
}

/// One thing that a conclusion means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Meaning {
    /// Something changed between trials.
    TrialsOnTwoLevels(TrialLevels),
    /// Trials lie far apart.
    TrialsApart {
        /// So many.
        trials: usize,
        /// The least, requests per second.
        least_iops: f64,
        /// The most.
        most_iops: f64,
    },
    /// Something changed while it was measured.
    Rose(RiseSeen),
    /// More requests in flight brought nothing.
    DeeperBringsNothing {
        /// So many times as many.
        times: f64,
        /// As at this load.
        at: String,
    },
    /// More requests in flight brought little.
    DeeperBringsLittle {
        /// So many times as many.
        times: f64,
        /// So many times the rate.
        faster: f64,
        /// As at this load.
        at: String,
    },
    /// What the limit says of the figure.
    OfLimit {
        /// The limit.
        limit: Limit,
    },
    /// There were no credits to begin with.
    NoCredits,
    /// The same requests came to more where they arrived by themselves.
    MoreByArrivals {
        /// The load.
        at: String,
        /// Requests per second.
        iops: f64,
    },
    /// What a prediction may come out as.
    Uncertain {
        /// At the load of the conclusion.
        here: UncertainRate,
        /// At the deepest like it, where that differs.
        deepest: Option<UncertainRate>,
    },
    /// What more requests in flight do.
    DeeperAdds {
        /// What they wait.
        added: Option<DeeperWait>,
        /// Up to which load the objective is kept.
        objective: Option<DepthObjective>,
    },
    /// The most bytes, where another block size moves more.
    InBytes {
        /// The rate.
        rate: LevelRate,
        /// The block size, or the sizes of a mix.
        block: String,
        /// Of reads alone or writes alone; missing where it is of both.
        operation: Option<loadline_block::Operation>,
        /// What stops that.
        limit: Option<Limit>,
    },
    /// What is left once a burst is spent.
    LeftOnceSpent {
        /// Requests per second.
        iops: f64,
    },
    /// The limit right above.
    Follows {
        /// The limit.
        limit: Limit,
        /// Requests per second.
        iops: f64,
        /// How far above, as a share.
        above: f64,
        /// Whether that is so near that lifting the one alone gains next to nothing.
        is_near: bool,
    },
    /// Doubts.
    Doubted {
        /// The load.
        at: String,
        /// Each with what it means here.
        doubts: Vec<DoubtMeant>,
    },
    /// Requests are kept above the device.
    HeldAbove {
        /// The load.
        at: String,
    },
    /// What is not completed waits.
    Backlog,
    /// What faster storage would bring to those who use the device.
    WatchGain {
        /// What it would bring.
        gain: WatchGain,
    },
}

/// The least and the most of a rate within the model's uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UncertainRate {
    /// The least, requests per second.
    pub low_iops: f64,
    /// The most.
    pub high_iops: f64,
    /// The load.
    pub at: String,
}

/// What more requests in flight wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeeperWait {
    /// On average, ns.
    pub mean_ns: f64,
    /// At this load.
    pub at: String,
}

/// A doubt of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtMeant {
    /// The doubt.
    pub code: DoubtCode,
    /// What it means here, as the doubt says it.
    pub meaning: String,
}

/// Up to which depth an objective is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthObjective {
    /// Of which figure.
    pub figure: LatencyFigure,
    /// At most, ns.
    pub limit_ns: u64,
    /// Where it is kept.
    pub kept: DepthKept,
}

/// Where an objective is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DepthKept {
    /// At every depth tried.
    Everywhere,
    /// Up to this load.
    UpTo(String),
    /// At no depth tried.
    Nowhere,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AdvisedStep {
    /// Find out what changed between the trials, first.
    FindChangeBetween,
    /// Find out what changed while it was measured, first.
    FindChangeWithin,
    /// Measure the real storage: a limit on the way was not published.
    RealStorage,
    /// Find out why requests failed, first.
    FindFailures,
    /// Measure where nothing stops the tool, first.
    FreeTool,
    /// Measure what is written and larger than caches, first.
    FillFirst,
    /// Measure with nothing else on the device, first.
    BeAlone,
    /// Measure for longer.
    Longer {
        /// Measured time of a trial, ns.
        duration_ns: u64,
    },
    /// Storage that answers faster, or fewer requests.
    Faster,
    /// Lift a throttle of the kernel.
    Lift {
        /// The command.
        command: String,
    },
    /// Look for what keeps requests above the device.
    FindWhoHolds,
    /// Move the limit.
    MoveLimit {
        /// The limit.
        limit: Limit,
        /// What must be found out before, of a limit of the disk that was inferred.
        check: Option<DiskCheck>,
    },
    /// Measure a range larger than the cache.
    LargerRange {
        /// Bytes, where a range is known that will do.
        size_bytes: Option<u64>,
    },
    /// No range, however large, shows the disk.
    InsteadOfRange(InsteadOfRange),
    /// CPUs of its own: the hypervisor took time.
    OwnCpus {
        /// Of the CPU time.
        taken: f64,
    },
    /// Stop what else runs.
    StopOthers {
        /// Of the busy CPU time.
        share: f64,
        /// The program that read and wrote most.
        busiest: Option<String>,
    },
    /// More or faster CPUs.
    MoreCpus,
    /// Vary one factor at a time.
    VaryFactors,
    /// A step, and what lifts the limit that follows closely.
    AndLift {
        /// The step.
        step: Box<Self>,
        /// The limit that follows.
        limit: Limit,
        /// Requests per second.
        iops: f64,
    },
    /// What to do about what holds a device that others use.
    WatchNext {
        /// What.
        step: WatchNext,
    },
    /// Measure again to find the end of a storage that several hosts loaded.
    OnHosts {
        /// What their total shows.
        limit: HostsLimit,
    },
}

impl AdvisedStep {
    /// The measurement that it is.
    #[must_use]
    pub fn measurement(&self) -> Option<NextMeasurement> {
        match self {
            Self::RealStorage => Some(NextMeasurement::RealStorage),
            Self::Longer { duration_ns } => Some(NextMeasurement::Longer { duration_ns: *duration_ns }),
            Self::LargerRange { size_bytes: Some(bytes) } => Some(NextMeasurement::LargerRange { size_bytes: *bytes }),
            Self::VaryFactors => Some(NextMeasurement::VaryFactors),
            Self::AndLift { step, .. } => step.measurement(),
            _ => None,
        }
    }
}

/// What to find out of a disk whose limit was inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskCheck {
    /// Compare with what it is sold with.
    AsSold,
    /// Find what holds it below what the environment declares.
    AsDeclared,
}

/// What to measure where no range shows the disk without a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "measure", rename_all = "kebab-case")]
pub enum InsteadOfRange {
    /// On a disk: the files are in memory.
    OnDisk,
    /// Without the page cache.
    Direct,
}
