//! Stable codes of findings.

use serde::{Deserialize, Serialize};

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingCode {
    /// Data read back was not what was written.
    VerifyFailed,
    /// How totals grow with the number of hosts, and whose limit their end is.
    HostsScaling,
    /// The most random requests per second.
    BestRandomIops,
    /// The most bytes per second.
    BestThroughput,
    /// What loads that ran at the same time came to together.
    RanTogether,
    /// What hosts that ran together came to, and which stayed behind.
    Hosts,
    /// Where more requests at once stop helping.
    Plateau,
    /// What bound the best cell of a volume on which nothing was seen to level off.
    BoundBy,
    /// A limit that the environment declares does not hold: a load had more.
    DeclaredSurpassed,
    /// A burst ended, and the rate fell.
    BurstEnded,
    /// Requests are let through in bursts.
    ThrottledInClusters,
    /// The device answers nothing for a time now and then.
    Stalls,
    /// The load at which the latency objective is lost.
    Objective,
    /// How long a single request takes.
    LatencyAlone,
    /// How long it takes to make writes durable.
    FlushLatency,
    /// Whether the speed depends on the number of the trial.
    TrendOverTrials,
    /// Something changed between trials, and rates with it.
    LevelsOverTrials,
    /// Something changed while a trial went on, and its rate rose.
    RateRose,
    /// How near a replay on real storage came to its recording.
    ReplayedInTime,
    /// How rates grow with the disks of the run's layouts.
    Scaling,
    /// Whether measurements began in the steady state, where that was asked for.
    SteadyState,
    /// Data read back was what was written.
    Verified,
    /// The tool measured itself.
    ToolAlone,
    /// Part of the plan has no figures.
    Incomplete,
    /// Doubts by code, with how many cells have them.
    Doubts,
    /// Of a watch: what the time went to.
    WatchedTime,
    /// Of a watch: who asked.
    WatchedPrograms,
    /// Of a watch: whose requests reach the device, by the kernel's events.
    WatchedRequests,
    /// Of a watch: answers in clusters.
    WatchedClusters,
    /// Of a watch: closed or open loop.
    WatchedArrivals,
    /// Of a watch: what more would come to.
    WatchedGain,
    /// Of a watch: what requests wait before the device.
    WatchedAboveDevice,
    /// Of a watch: how full known limits are.
    WatchedLimits,
    /// What the watching took.
    WatchedCost,
}

impl FindingCode {
    /// Its name, as in the JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VerifyFailed => "verify-failed",
            Self::HostsScaling => "hosts-scaling",
            Self::BestRandomIops => "best-random-iops",
            Self::BestThroughput => "best-throughput",
            Self::RanTogether => "ran-together",
            Self::Hosts => "hosts",
            Self::Plateau => "plateau",
            Self::BoundBy => "bound-by",
            Self::DeclaredSurpassed => "declared-surpassed",
            Self::BurstEnded => "burst-ended",
            Self::ThrottledInClusters => "throttled-in-clusters",
            Self::Stalls => "stalls",
            Self::Objective => "objective",
            Self::LatencyAlone => "latency-alone",
            Self::FlushLatency => "flush-latency",
            Self::TrendOverTrials => "trend-over-trials",
            Self::LevelsOverTrials => "levels-over-trials",
            Self::RateRose => "rate-rose",
            Self::ReplayedInTime => "replayed-in-time",
            Self::Scaling => "scaling",
            Self::SteadyState => "steady-state",
            Self::Verified => "verified",
            Self::ToolAlone => "tool-alone",
            Self::Incomplete => "incomplete",
            Self::Doubts => "doubts",
            Self::WatchedTime => "watched-time",
            Self::WatchedPrograms => "watched-programs",
            Self::WatchedRequests => "watched-requests",
            Self::WatchedClusters => "watched-clusters",
            Self::WatchedArrivals => "watched-arrivals",
            Self::WatchedGain => "watched-gain",
            Self::WatchedAboveDevice => "watched-above-device",
            Self::WatchedLimits => "watched-limits",
            Self::WatchedCost => "watched-cost",
        }
    }
}
