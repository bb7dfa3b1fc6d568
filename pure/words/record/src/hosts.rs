//! What each host had in a trial that several hosts ran at the same time on one shared storage.

use crate::{Histogram, HistogramSnapshot};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The hosts of a merged trial.
///
/// The trial's own rates, counts of operations and series are of the window in which all of them ran. Its latencies are those of
/// every request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostsRecord {
    /// In the order in which their runs were named.
    pub hosts: Vec<HostTrial>,
    /// The window in which all of them ran; `None` if there was none.
    pub window: Option<SharedWindow>,
    /// Names of hosts that have no record of this trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A host's part in a run that several hosts make together. Its run's settings have it under `hosts`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPart {
    /// Which of the hosts it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<HostRank>,
    /// Numbers of hosts that load together, one step after the other: the first so many ranks. Without any, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u32>,
    /// It loads its own part of each target alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_range: bool,
}

/// One of several hosts, as "2/8". The first is 0, as MPI, Slurm and Kubernetes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostRank {
    /// Its number, from 0.
    pub rank: u32,
    /// How many there are.
    pub of: u32,
}

/// A text that is no rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write RANK/HOSTS, as in 2/8; ranks count from 0, so those of 8 hosts are 0/8 to 7/8")]
pub struct HostRankError;

impl FromStr for HostRank {
    type Err = HostRankError;

    fn from_str(text: &str) -> Result<Self, HostRankError> {
        let (rank, of) = text.split_once('/').ok_or(HostRankError)?;
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| HostRankError);
        let (rank, of) = (number(rank)?, number(of)?);
        if rank < of { Ok(Self { rank, of }) } else { Err(HostRankError) }
    }
}

impl fmt::Display for HostRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.rank, self.of)
    }
}

impl HostPart {
    /// The part that a run's settings have; `None` where it was made by one host.
    #[must_use]
    pub fn of_settings(settings: &serde_json::Value) -> Option<Self> {
        serde_json::from_value(settings.get("hosts")?.clone()).ok()
    }

    /// The steps in which this host loads.
    pub fn own_steps(&self) -> impl Iterator<Item = u32> {
        self.steps.iter().copied().filter(|hosts| self.rank.is_none_or(|own| own.rank < *hosts))
    }

    /// With how many hosts each of so many cells was run: a run has its cells once for each step, one step after the other.
    #[must_use]
    pub fn hosts_of_cells(&self, cells: usize) -> Vec<Option<u32>> {
        let own: Vec<u32> = self.own_steps().collect();
        if own.is_empty() || !cells.is_multiple_of(own.len()) {
            return vec![None; cells];
        }
        let each = cells / own.len();
        (0..cells).map(|cell| Some(own[cell / each])).collect()
    }
}

/// A span on the common time line, which begins when the first host began to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedWindow {
    /// Its begin, ns.
    pub from_ns: u64,
    /// Its length, ns.
    pub length_ns: u64,
}

/// What is known of a host's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum HostClock {
    /// The clock of the first host: the same kernel has both.
    Same,
    /// It was compared with the first host's.
    Compared {
        /// How far it is ahead of the common time, ns.
        offset_ns: i64,
        /// The offset is within this of the truth, ns; `None` where it was given without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_ns: Option<u64>,
        /// How fast it goes ahead, in 10^-9; `None` where it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift_ppb: Option<i64>,
    },
    /// It was taken as it is.
    NotCompared,
}

/// One host's part of a merged trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostTrial {
    /// Its name.
    pub host: String,
    /// The run that it stored.
    pub run: String,
    /// Its wall clock.
    pub clock: HostClock,
    /// Begin of its measured time on the common time line, ns.
    pub from_ns: u64,
    /// Length of its measured time, ns.
    pub measured_ns: u64,
    /// Reads, writes and trims completed in its whole measured time.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Requests of it within the window in which all hosts ran.
    pub window_count: u64,
    /// Bytes of them.
    pub window_bytes: u64,
    /// Failed requests.
    pub errors: u64,
    /// Open loop: arrivals per second that it wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// Latencies of all its requests together; `None` without a request.
    pub latency: Option<HistogramSnapshot>,
    /// The same as a histogram, so that trials add up; `None` where the host's record has percentiles alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Box<Histogram>>,
    /// For how long its tool was kept from running, ns.
    pub stopped_ns: u64,
    /// Length of an interval of `counts`, s.
    pub interval_s: u32,
    /// Requests completed in each interval of its own measured time.
    pub counts: Vec<u64>,
}

impl HostTrial {
    /// End of its measured time on the common time line, ns.
    #[must_use]
    pub const fn to_ns(&self) -> u64 {
        self.from_ns + self.measured_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_from_zero() {
        let of = |text: &str| text.parse::<HostRank>().map(|rank| rank.to_string());
        assert_eq!((of("0/1"), of("7/8")), (Ok("0/1".to_owned()), Ok("7/8".to_owned())));
        for text in ["8/8", "1", "-1/2", "a/b", "0/0", ""] {
            assert_eq!(of(text), Err(HostRankError), "{text}");
        }
    }

    #[test]
    fn a_host_has_the_cells_of_the_steps_in_which_it_loads() {
        let part = |rank| HostPart { rank: Some(HostRank { rank, of: 4 }), steps: vec![1, 2, 4], own_range: false };
        assert_eq!(part(0).hosts_of_cells(6), [1, 1, 2, 2, 4, 4].map(Some));
        assert_eq!(part(1).hosts_of_cells(4), [2, 2, 4, 4].map(Some));
        assert_eq!(part(3).hosts_of_cells(2), [4, 4].map(Some));
        assert_eq!(HostPart::default().hosts_of_cells(2), [None, None]);
        let settings = serde_json::json!({ "keep": false, "hosts": part(3) });
        assert_eq!(
            (HostPart::of_settings(&settings), HostPart::of_settings(&serde_json::json!({}))),
            (Some(part(3)), None)
        );
    }
}
