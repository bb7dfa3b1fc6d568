//! The throttle of the kernel that holds a load on a device; `held_by.rs` finds it.

use loadline_record::KernelThrottle;
use serde::{Deserialize, Serialize};

/// A throttle of the kernel that a load reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBy {
    /// The kernel's name of the device.
    pub device: String,
    /// Devices of the volume that have the same limit, this one among them.
    pub devices: u32,
    /// The limit.
    pub limit: KernelThrottle,
}
