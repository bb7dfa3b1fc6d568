//! What hosts that ran together came to, as programs read it.

use crate::compare::figure::Figure;
use crate::compare::scaling_figures::ScalingStep;
use loadline_record::HostsFact;
use serde::{Deserialize, Serialize};

/// What hosts that ran together came to in a cell, over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsView {
    /// In the order in which their runs were named.
    pub hosts: Vec<HostView>,
    /// The share of its time in which all of them ran, in the trial in which it is least (0.0 to 1.0).
    pub coverage: f64,
    /// From the first host's begin to the last one's, in the trial in which it is longest, ns.
    pub start_spread_ns: u64,
    /// Jain's index of the hosts' rates in that window: 1 for even shares, 1/n where one host has all.
    pub jain_index: Option<f64>,
    /// Requests per second of all until the first of them was done.
    pub first_done_iops: Option<f64>,
    /// Requests per second of all until the last of them was done.
    pub last_done_iops: Option<f64>,
    /// Hosts that stayed behind, with what shows it.
    #[serde(skip)]
    pub stragglers: Vec<Straggler>,
}

/// One host's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostView {
    /// Its name.
    pub host: String,
    /// The run that it stored.
    pub run: String,
    /// Requests per second in the window in which all ran; the mean over trials.
    pub iops: Option<f64>,
    /// Bytes per second in it.
    pub throughput_bytes_per_s: Option<f64>,
    /// Median latency of all its requests, ns; where trials kept percentiles alone, the largest of them.
    pub p50_ns: Option<u64>,
    /// 99th percentile of all its requests, ns; where trials kept percentiles alone, the largest of them.
    pub p99_ns: Option<u64>,
    /// How long after the first host it began, ns; the longest of its trials.
    pub began_after_ns: u64,
    /// How far its clock was ahead of the common time, ns; `None` where clocks were not compared. Of several trials the last one's.
    #[serde(default)]
    pub clock_offset_ns: Option<i64>,
    /// That is within this of the truth, ns.
    #[serde(default)]
    pub clock_error_ns: Option<u64>,
    /// How fast the clock goes ahead, in 10^-9.
    #[serde(default)]
    pub clock_drift_ppb: Option<i64>,
    /// For how long its tool was kept from running, ns; the sum over trials.
    pub stopped_ns: u64,
    /// Failed requests over all trials.
    pub errors: u64,
}

/// A host that stayed behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Straggler {
    /// Its name.
    pub host: String,
    /// What shows it.
    pub seen: StragglerSeen,
}

/// What shows that a host stayed behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StragglerSeen {
    /// It completed next to nothing while the others went on.
    StoodStill {
        /// For so long at least, ns.
        length_ns: u64,
        /// From then on, since the begin of the time in which all ran, ns.
        from_ns: u64,
        /// For how long its tool was kept from running, ns.
        stopped_ns: u64,
    },
    /// Its tool was kept from running for much longer than those of the others.
    ToolStopped {
        /// For so long, ns.
        stopped_ns: u64,
        /// Of the time in which all ran, ns.
        window_ns: u64,
    },
    /// It had less.
    Slower {
        /// Requests per second.
        iops: f64,
        /// Lower end of their interval.
        iops_low: f64,
        /// Upper end.
        iops_high: f64,
        /// Requests per second of the others: the median.
        others_iops: f64,
    },
}

/// One load over the numbers of hosts that ran it at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsScaling {
    /// The volume's name.
    pub volume: String,
    /// What each host asked, for people.
    pub load: String,
    /// Requests or bytes per second: what the figures are of.
    pub figure: Figure,
    /// One for each number of hosts, fewest first.
    pub points: Vec<HostsPoint>,
    /// From each number of hosts to the next: the gain as a share of that of linear scaling.
    pub steps: Vec<ScalingStep>,
    /// The number of hosts beyond which no step brings half of that; `null` where the last does.
    pub levels_off_at: Option<u32>,
    /// Whose limit the total shows.
    pub limit: HostsLimit,
    /// Whether the figures leave no doubt about it.
    pub clear: bool,
    /// What shows it.
    pub seen: HostsFact,
    /// Whether it is the load of its kind that reaches most.
    pub is_most: bool,
}

/// A total at some number of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsPoint {
    /// Hosts.
    pub hosts: u32,
    /// The cell.
    pub cell: String,
    /// Requests per second of all.
    pub iops: f64,
    /// Bytes per second of all.
    pub throughput_bytes_per_s: f64,
    /// Requests per second of each, on average.
    pub iops_each: f64,
    /// What was reached over what as many times the fewest hosts would reach.
    pub efficiency: f64,
    /// Lower end of its 95 % interval; `null` for the fewest hosts, and where there is too little to tell.
    pub efficiency_low: Option<f64>,
    /// Upper end.
    pub efficiency_high: Option<f64>,
    /// 99th percentile of the slowest host, ns.
    pub p99_ns: Option<u64>,
    /// Jain's index of the hosts' shares.
    pub jain_index: Option<f64>,
    /// Whether it is in doubt.
    pub doubted: bool,
}

/// Whose limit a total over numbers of hosts shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostsLimit {
    /// What the hosts share: more of them bring no more.
    Shared,
    /// Each host's own: more of them bring as much again.
    EachHost,
    /// None yet: each host asks as much as it is to, and more hosts bring as much again.
    NotReached,
    /// All arrivals came back.
    Arrival,
    /// More hosts bring more, and each has less.
    Growing,
    /// Too little is known.
    Unclear,
}

impl From<&HostsFact> for HostsLimit {
    fn from(seen: &HostsFact) -> Self {
        match seen {
            HostsFact::HostsHadAll { .. } => Self::Arrival,
            HostsFact::HostsFellShort { .. } | HostsFact::HostsLevelOff { .. } => Self::Shared,
            HostsFact::HostsAddUp { level: Some(_), .. } => Self::EachHost,
            HostsFact::HostsAddUp { level: None, .. } => Self::NotReached,
            HostsFact::HostsHaveLess { .. } => Self::Growing,
            HostsFact::HostsUnclear { .. } => Self::Unclear,
        }
    }
}
