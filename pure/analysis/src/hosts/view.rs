//! What hosts that ran together came to, as programs read it.

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
    /// Median latency, ns; the largest of its trials.
    pub p50_ns: Option<u64>,
    /// 99th percentile, ns; the largest of its trials.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Straggler {
    /// Its name.
    pub host: String,
    /// What shows it.
    pub evidence: String,
}
