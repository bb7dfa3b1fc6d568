//! The places at which requests can be made to wait.

use serde::{Deserialize, Serialize};

/// A place at which requests can be made to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The host's cache, full of writes that the disk does not have yet.
    Cache,
    /// The virtual machine's budget for what goes through the host.
    VmCached,
    /// The virtual machine's budget for what goes to network disks.
    VmUncached,
    /// A budget that several disks share.
    Shared,
    /// The limits of the disks.
    Disk,
    /// The disks themselves, which have only so much in service at once.
    Service,
}
