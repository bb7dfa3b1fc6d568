//! Limits that stand in a file of the kernel, as they were read there: CPU quotas and memory limits of control groups, the queues of
//! devices.

use serde::{Deserialize, Serialize};

/// A CPU quota of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuQuota {
    /// CPU time in each period, microseconds.
    pub quota_us: u64,
    /// The period, microseconds.
    pub period_us: u64,
    /// The control group, from the root of its hierarchy: "/system.slice/db.service"; "/" is the outermost.
    pub group: String,
    /// The file that holds the quota.
    pub file: String,
    /// What to write into that file to lift it.
    pub lifted_by: String,
}

impl CpuQuota {
    /// The CPUs that it comes to.
    #[must_use]
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us.max(1) as f64
    }
    /// The command that lifts it, for a shell.
    #[must_use]
    pub fn lifting_command(&self) -> String {
        written(&self.lifted_by, &self.file)
    }
}

/// A limit on the memory of a control group, its page cache included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLimit {
    /// Memory of the group, in bytes.
    pub bytes: u64,
    /// The control group, from the root of its hierarchy; "/" is the outermost.
    pub group: String,
    /// The file that holds the limit.
    pub file: String,
    /// What to write into that file to lift it.
    pub lifted_by: String,
}

impl MemoryLimit {
    /// The command that lifts it, for a shell.
    #[must_use]
    pub fn lifting_command(&self) -> String {
        written(&self.lifted_by, &self.file)
    }
}

/// The kernel's queue of a device, set to hold few requests though the device takes more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortQueue {
    /// The device.
    pub device: String,
    /// Requests in each of its queues.
    pub requests: u64,
    /// Its queues.
    pub queues: u64,
    /// The file that holds the number.
    pub file: String,
    /// What to write into that file to make it longer.
    pub lifted_by: String,
}

impl ShortQueue {
    /// Requests that all its queues hold together.
    #[must_use]
    pub const fn room(&self) -> u64 {
        self.requests.saturating_mul(self.queues)
    }
    /// The command that makes it longer, for a shell.
    #[must_use]
    pub fn lifting_command(&self) -> String {
        written(&self.lifted_by, &self.file)
    }
}

fn written(value: &str, file: &str) -> String {
    format!("echo {value} | sudo tee {file}")
}
