//! Rate limits that the kernel itself puts on a block device, as its files show them.

use serde::{Deserialize, Serialize};

/// A throttle is reached, and held the device, from this share of it on.
pub const THROTTLE_REACHED: f64 = 0.95;
/// A volume's counter of excess that ran for more of a second than this marks it.
pub const EXCEEDED_MIN: f64 = 0.05;

/// One limit of a control group on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelThrottle {
    /// Which requests it limits.
    pub requests: ThrottledRequests,
    /// What it counts.
    pub counts: ThrottledQuantity,
    /// How many of them it lets through in a second.
    pub per_s: u64,
    /// The control group, from the root of its hierarchy: "/system.slice/db.service"; "/" is the outermost.
    pub group: String,
    /// The file that holds the limit.
    pub file: String,
    /// What to write into that file to lift the limit: "7:0 0".
    pub lifted_by: String,
}

impl KernelThrottle {
    /// The command that lifts it, for a shell.
    #[must_use]
    pub fn lifting_command(&self) -> String {
        format!("echo '{}' | sudo tee {}", self.lifted_by, self.file)
    }
}

/// The requests that a throttle limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThrottledRequests {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

/// What a throttle counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThrottledQuantity {
    /// Requests.
    Requests,
    /// Bytes.
    Bytes,
}
