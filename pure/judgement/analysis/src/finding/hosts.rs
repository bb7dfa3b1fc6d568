//! What hosts that ran together came to.

use crate::hosts::view::{HostsLimit, Straggler};
use serde::{Deserialize, Serialize};

/// What hosts that ran one load together came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsTogether {
    /// So many.
    pub hosts: usize,
    /// The load by name.
    pub load: String,
    /// Requests per second of all.
    pub iops: f64,
    /// Jain's index of their shares: 1 for even ones.
    pub jain_index: f64,
    /// From the first host's begin to the last one's, ns.
    pub start_spread_ns: u64,
    /// The share of the time in which all of them ran (0.0 to 1.0).
    pub coverage: f64,
    /// Whose limit one number of hosts shows; missing where nothing tells, and where other numbers of hosts say more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<HostsLimit>,
    /// Hosts that stayed behind.
    pub stragglers: Vec<Straggler>,
}
