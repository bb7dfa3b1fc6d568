//! What the totals of more and more hosts show.

use crate::Rate;
use serde::{Deserialize, Serialize};

/// How a total grows with the number of hosts, and where it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HostsFact {
    /// All that the hosts asked for came back.
    HostsHadAll {
        /// With the most hosts.
        last: HostsTotal,
        /// What each asked for.
        asked_each: Rate,
    },
    /// Fewer hosts had all that they asked for, and more have not.
    HostsFellShort {
        /// What each asked for.
        asked_each: Rate,
        /// The most that there was.
        most: Rate,
        /// The most hosts that had all.
        kept: HostsTotal,
        /// The fewest that had not.
        short: HostsTotal,
        /// With the most hosts.
        last: HostsTotal,
    },
    /// More hosts bring no more.
    HostsLevelOff {
        /// The number of hosts beyond which that is so.
        at: HostsTotal,
        /// The most from there on.
        most: Rate,
        /// Whether they have all of that.
        has_all: bool,
        /// With the fewest hosts.
        first: HostsTotal,
        /// With the most hosts.
        last: HostsTotal,
        /// What the steps beyond brought.
        gains: Vec<HostsGain>,
    },
    /// More hosts bring as much again.
    HostsAddUp {
        /// With the fewest hosts.
        first: HostsTotal,
        /// With the most hosts.
        last: HostsTotal,
        /// Of linear scaling, as a share.
        efficiency: f64,
        /// Two numbers of requests in flight with which the fewest hosts have as much, the lower first; `null` where none show it.
        level: Option<[InFlightRate; 2]>,
    },
    /// More hosts bring more, and each has less.
    HostsHaveLess {
        /// With the fewest hosts.
        first: HostsTotal,
        /// With the most hosts.
        last: HostsTotal,
        /// Of linear scaling, as a share.
        efficiency: f64,
    },
    /// The last steps are not clear.
    HostsUnclear {
        /// With the most hosts.
        last: HostsTotal,
    },
}

/// What some hosts have together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HostsTotal {
    /// So many.
    pub hosts: u32,
    /// All of them.
    pub total: Rate,
}

impl HostsTotal {
    /// What each has on average.
    #[must_use]
    pub fn each(self) -> Rate {
        self.total.map(|total| total / f64::from(self.hosts))
    }
}

/// What more hosts bring, as shares of linear scaling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HostsGain {
    /// So many more.
    pub hosts_more: u32,
    /// They bring so much.
    pub share: f64,
    /// At least, by its 95 % interval.
    pub share_low: Option<f64>,
    /// At most.
    pub share_high: Option<f64>,
}

/// A rate at some number of requests in flight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InFlightRate {
    /// Requests in flight.
    pub in_flight: u64,
    /// The rate.
    pub rate: Rate,
}
