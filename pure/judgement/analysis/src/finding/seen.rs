//! What a finding rests on: figures with their units, and the loads that they are of.

use super::{HostsTogether, KeptLoad, ObjectiveRule, ObjectiveSeen, WatchSeen};
use crate::clusters::Clusters;
use crate::compare::scaling_figures::Scaling;
use loadline_block::Operation;
use loadline_record::{Ceiling, DoubtCode, HostsFact, Limit, Rate, RunStatus, Stage};
use serde::{Deserialize, Serialize};

/// What was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FindingSeen {
    /// A sentence, of findings that have no figures of their own yet.
    Written {
        /// As it is printed.
        text: String,
    },
    /// Blocks read back were not what was written.
    Damaged {
        /// So many.
        faults: u64,
        /// Of so many blocks.
        blocks: u64,
        /// The first of them.
        first: Option<DamageAt>,
    },
    /// All blocks read back were what was written.
    Undamaged {
        /// So many; 0 where none had been written.
        blocks: u64,
    },
    /// The most random requests per second, of reads and of writes.
    MostRequests {
        /// Reads first.
        loads: Vec<MostOf>,
    },
    /// The most bytes per second, of reads and of writes.
    MostBytes {
        /// Reads first.
        loads: Vec<MostOf>,
    },
    /// What applications came to, whose loads nobody sought the most of.
    OfApplications {
        /// In the run's order.
        loads: Vec<CameTo>,
    },
    /// A load had more than a declared limit allows.
    DeclaredSurpassed {
        /// The load.
        load: LoadAt,
        /// Requests per second that it had.
        iops: f64,
        /// The limit.
        ceiling: Ceiling,
    },
    /// What bound the best cell; what was seen of that stands in the cell's binding.
    BoundBy {
        /// The load.
        load: LoadAt,
        /// The limit.
        limit: Limit,
    },
    /// Latencies lie in two clusters.
    InClusters {
        /// The load that shows it first.
        load: LoadAt,
        /// Its latencies.
        clusters: Clusters,
        /// Whether its rate is level, as a throttle keeps it.
        is_level: bool,
        /// Other cells that show the same.
        others: usize,
    },
    /// What one request at a time takes, of reads and of writes.
    Alone {
        /// Reads first.
        loads: Vec<AloneLatency>,
    },
    /// What the tool does without storage.
    Tool {
        /// Requests per second.
        iops: f64,
        /// The cell's label.
        label: String,
    },
    /// What more and more hosts show.
    MoreHosts {
        /// What each host asked, for people.
        load: String,
        /// What their totals show.
        seen: HostsFact,
    },
    /// What hosts that ran together came to.
    HostsTogether(HostsTogether),
    /// What more disks bring.
    Disks(Box<Scaling>),
    /// Part of the plan has no figures.
    Incomplete {
        /// How the run ended.
        status: RunStatus,
        /// Trials that are done.
        trials_done: usize,
        /// Of so many.
        trials: usize,
        /// Cells without figures.
        cells_empty: usize,
    },
    /// An emulation goes on, or was killed.
    EmulationGoesOn {
        /// Whether anything had been asked of it.
        is_asked: bool,
    },
    /// A burst ended while its load went on.
    BurstEnded {
        /// The load.
        load: LoadAt,
        /// Whose burst.
        stage: Stage,
        /// When, from the begin of the load, ns.
        at_ns: u64,
        /// The earliest and the latest over all draws of the model, ns.
        range_ns: Option<(u64, u64)>,
        /// The rates before and after, where both were measured.
        rates: Option<(Rate, Rate)>,
    },
    /// More bursts ended.
    MoreBurstsEnded {
        /// So many.
        bursts: usize,
    },
    /// Doubts by code.
    Doubted {
        /// By code.
        doubts: Vec<CellDoubts>,
        /// Cells of the run.
        cells: usize,
    },
    /// What it takes to make writes durable, against what etcd asks of its log disk.
    FlushLatency {
        /// Mean, ns.
        mean_ns: f64,
        /// The median, ns, where latencies lie in two clusters.
        half_ns: Option<f64>,
        /// 99th percentile, ns.
        p99_ns: u64,
        /// The longest, ns.
        max_ns: u64,
        /// So many flushes.
        calls: u64,
        /// What they say of the rule.
        rule: FlushRule,
        /// Whether they are too few to show it by their number alone.
        is_few: bool,
        /// Doubts that change what the figure means.
        doubts: Vec<DoubtCode>,
    },
    /// Rates level off.
    LevelsOff(Box<PlateauSeen>),
    /// More loads level off.
    MoreLevelOff {
        /// So many.
        loads: usize,
    },
    /// How near a replay came to its recording.
    Replayed {
        /// 99th percentile of how late requests went to the device, ns.
        late_p99_ns: f64,
        /// Requests per second that were reached.
        achieved_iops: f64,
        /// Requests per second of the recording.
        offered_iops: f64,
    },
    /// A rate rose while it was measured, and stayed.
    RateRose {
        /// The load.
        load: LoadAt,
        /// How.
        rise: RiseSeen,
        /// Other cells that show the like.
        others: usize,
    },
    /// The device stands still now and then.
    StandsStill(Box<StallsSeen>),
    /// What loads that ran at the same time came to.
    Together {
        /// Each.
        loads: Vec<TogetherLoad>,
        /// All of them, requests per second.
        iops: f64,
        /// All of them.
        bytes_per_s: Option<f64>,
        /// What stopped them, where it is one limit.
        limit: Option<Limit>,
    },
    /// Something changed between trials.
    TrialsOnTwoLevels {
        /// The load that shows it first.
        load: LoadAt,
        /// Since when it may have changed, from the begin of the run, ns.
        since_ns: u64,
        /// Until when, ns.
        until_ns: u64,
        /// The rates.
        levels: TrialLevels,
        /// Other cells that show the same.
        others: usize,
    },
    /// The speed rises or falls with the number of the trial.
    TrialsMove {
        /// The load.
        load: LoadAt,
        /// From the first trial to the last, as a share of the mean.
        change: f64,
        /// Bytes per second of the first trial.
        first_bytes_per_s: f64,
        /// Of the last one.
        last_bytes_per_s: f64,
        /// So many trials.
        trials: usize,
        /// Its significance.
        p_value: f64,
    },
    /// The first trial is not like those after it.
    FirstTrialDiffers {
        /// The load.
        load: LoadAt,
        /// Bytes per second of the first trial.
        first_bytes_per_s: f64,
        /// Of the others, on average.
        others_bytes_per_s: f64,
        /// So many others.
        others: usize,
        /// Its significance.
        p_value: f64,
    },
    /// No trend over the trials.
    NoTrend {
        /// In so many cells.
        cells: usize,
        /// Of so many that were tested.
        tested: usize,
        /// Trials of each, at least.
        trials_min: usize,
        /// The cell whose trials lie farthest apart, where that is far.
        apart: Option<TrialsApart>,
    },
    /// Whether measurements began in the steady state.
    SteadyBefore {
        /// Measurements that did.
        reached: usize,
        /// Measurements before which the rounds were used up.
        missed: usize,
        /// The fewest and the most rounds that it took.
        rounds: Option<(usize, usize)>,
        /// The length of a round, ns, where it is one.
        round_ns: Option<u64>,
    },
    /// A watch shows it.
    Watched(Box<WatchSeen>),
    /// Up to which load the objective is kept.
    Objective(Box<ObjectiveSeen>),
    /// Requests that others made miss the objective.
    MissedByOthers {
        /// The load.
        load: String,
        /// The objective.
        objective: ObjectiveRule,
        /// The figure, ns.
        latency_ns: f64,
        /// Of which operation it is, where there are several.
        operation: Option<Operation>,
        /// Doubts of the load.
        doubts: Vec<DoubtCode>,
    },
    /// Loads that keep the objective as far as was measured.
    KeptEverywhere {
        /// The objective.
        objective: ObjectiveRule,
        /// The first of them.
        loads: Vec<KeptLoad>,
        /// So many more.
        more: usize,
        /// Doubts of all of them.
        doubts: Vec<DoubtCode>,
    },
    /// More loads lose the objective.
    MoreLoseIt {
        /// So many.
        loads: usize,
    },
}

/// A load and its amount: "random 4 KiB reads" at "depth 32".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadAt {
    /// Its name.
    pub load: String,
    /// Its amount.
    pub at: String,
}

/// A rate over the time of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "course", rename_all = "kebab-case")]
pub enum RateCourse {
    /// One rate.
    Even {
        /// The rate.
        rate: Rate,
    },
    /// More at first.
    Fell {
        /// At first.
        before: Rate,
        /// For so long, ns; missing where the load ended before.
        before_ns: Option<u64>,
        /// From then on.
        then: Rate,
    },
    /// Less at first.
    Rose {
        /// Just before the last level.
        before: Rate,
        /// In the end.
        last: Rate,
        /// For so long, ns.
        last_ns: u64,
    },
}

/// The most of one kind of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MostOf {
    /// The load.
    #[serde(flatten)]
    pub load: LoadAt,
    /// Its rate.
    #[serde(flatten)]
    pub rate: RateCourse,
    /// Doubts that change what the rate means.
    pub doubts: Vec<DoubtCode>,
}

/// What an application came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CameTo {
    /// The load.
    #[serde(flatten)]
    pub load: LoadAt,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Doubts that change what the rate means.
    pub doubts: Vec<DoubtCode>,
}

/// Where data was damaged first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageAt {
    /// Offset, bytes.
    pub offset: u64,
    /// What was found there, as the check says it.
    pub detail: String,
}

/// What one request at a time takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AloneLatency {
    /// The load's name.
    pub load: String,
    /// Mean, ns.
    pub mean_ns: f64,
    /// The median, ns, where latencies lie in two clusters: their mean is the latency of no request.
    pub half_ns: Option<f64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// Doubts that change what the figure means.
    pub doubts: Vec<DoubtCode>,
}

/// Cells that have a doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellDoubts {
    /// The doubt.
    pub code: DoubtCode,
    /// So many cells.
    pub cells: usize,
    /// What it means for all of them, as the doubt says it.
    pub meaning: String,
}

/// What flushes say of etcd's rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlushRule {
    /// Too few.
    CannotTell,
    /// They keep it.
    Within,
    /// They do not.
    Beyond,
}

/// Requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// So many.
    pub requests: u64,
    /// Whether that is the depth of the plan, too: every load has one thread.
    pub is_depth: bool,
    /// Depth and threads, where another load has as many in flight otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_planned: Option<DepthAndThreads>,
}

/// How a plan puts requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthAndThreads {
    /// Queue depth of a thread.
    pub depth: u32,
    /// Threads.
    pub threads: u32,
}

/// Rates that level off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlateauSeen {
    /// The loads by name.
    pub loads: String,
    /// The level of each.
    pub levels: Vec<Rate>,
    /// What there was before the rate that lasts, and for how long, ns; the latter missing where the load ended before.
    pub before: Option<(Rate, Option<u64>)>,
    /// From where on.
    pub from: InFlight,
    /// What it is a limit of.
    pub limit: Option<PlateauLimit>,
    /// Where most is in flight beyond that, and the mean latency there, ns.
    pub deepest: Option<(InFlight, f64)>,
}

/// What a level is a limit of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlateauLimit {
    /// Of all requests.
    Whole(Limit),
    /// Of one direction of a mix, which stops the mix.
    Direction {
        /// Reads or writes.
        operation: Operation,
        /// Its limit.
        limit: Limit,
        /// What it has alone, requests per second.
        alone_iops: f64,
        /// Its share of the mix.
        share: f64,
    },
}

/// A rate that was kept for a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    /// Requests per second.
    pub iops: f64,
    /// For so long, ns.
    pub length_ns: u64,
}

/// A rate that rose while it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiseSeen {
    /// The levels, in order; two or more.
    pub levels: Vec<RateStep>,
    /// Trials that show it.
    pub shown: usize,
    /// Of so many.
    pub trials: usize,
}

/// Times in which a device answered nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallsSeen {
    /// The load that shows it best.
    pub load: LoadAt,
    /// So many.
    pub count: usize,
    /// In this time, ns.
    pub measured_ns: u64,
    /// The shortest, ns.
    pub shortest_ns: f64,
    /// The longest, ns.
    pub longest_ns: f64,
    /// All of them, ns.
    pub total_ns: f64,
    /// Requests per second on average.
    pub iops: f64,
    /// The share of requests that waited for it.
    pub waited_share: f64,
    /// The latency's p99.9, ns, where there are requests enough.
    pub p99_9_ns: Option<f64>,
    /// The largest latency, ns.
    pub max_ns: f64,
    /// How regularly they come, seconds.
    pub period_s: Option<usize>,
    /// Whether the load has one request in flight.
    pub is_alone: bool,
    /// Other cells that show the same.
    pub others: usize,
}

/// A load that ran beside others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TogetherLoad {
    /// Its name.
    pub load: String,
    /// Requests per second.
    pub iops: f64,
    /// What its requests took.
    pub latency: Option<TogetherLatency>,
}

/// What the requests of a load beside others took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TogetherLatency {
    /// Whether it is that of its flushes.
    pub of_flushes: bool,
    /// 99th percentile, ns.
    pub p99_ns: u64,
}

/// Trials on two levels, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialLevels {
    /// Mean of the first trials, requests per second.
    pub before_iops: f64,
    /// So many.
    pub before_trials: usize,
    /// Mean of those after, requests per second.
    pub after_iops: f64,
    /// So many.
    pub after_trials: usize,
}

/// Trials that lie far apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialsApart {
    /// The load.
    #[serde(flatten)]
    pub load: LoadAt,
    /// The least.
    pub least_bytes_per_s: f64,
    /// The most.
    pub most_bytes_per_s: f64,
}
