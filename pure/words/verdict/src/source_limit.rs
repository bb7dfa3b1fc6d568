//! What held an application back while its requests were recorded.

use crate::{CpuQuota, KernelThrottle, MemoryLimit, ShortQueue};
use serde::{Deserialize, Serialize};

/// A limit at which an application was recorded: without it, it would have asked for more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum SourceLimit {
    /// It asked for all that a throttle of the kernel allows.
    Throttle {
        /// The device.
        device: String,
        /// The limit.
        limit: KernelThrottle,
    },
    /// The volume, or the machine, counts that more was asked for than it allows.
    Exceeded {
        /// The device.
        device: String,
    },
    /// The kernel's queue of the device was full.
    Queue {
        /// The queue.
        queue: ShortQueue,
    },
    /// The CPU quota of a program ran out.
    Quota {
        /// Its name.
        program: String,
        /// The quota, where it was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quota: Option<CpuQuota>,
    },
    /// The memory limit of a program's control group left its page cache too little: it read again what it had read before.
    Memory {
        /// Its name.
        program: String,
        /// The limit.
        limit: MemoryLimit,
    },
}

impl SourceLimit {
    /// The command that lifts it, for a shell, of one that stands in a file.
    #[must_use]
    pub fn lifting_command(&self) -> Option<String> {
        match self {
            Self::Throttle { limit, .. } => Some(limit.lifting_command()),
            Self::Queue { queue } => Some(queue.lifting_command()),
            Self::Quota { quota, .. } => quota.as_ref().map(CpuQuota::lifting_command),
            Self::Memory { limit, .. } => Some(limit.lifting_command()),
            Self::Exceeded { .. } => None,
        }
    }
}
