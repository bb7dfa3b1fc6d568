//! What each host had in a trial that several hosts ran at the same time on one shared storage.

use crate::HistogramSnapshot;
use serde::{Deserialize, Serialize};

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
