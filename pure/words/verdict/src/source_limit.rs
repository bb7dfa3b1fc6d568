//! What held an application back while its requests were recorded.

use crate::KernelThrottle;
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
    /// The CPU quota of a program ran out.
    Quota {
        /// Its name.
        program: String,
    },
}
