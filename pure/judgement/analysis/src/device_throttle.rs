//! The throttle of the kernel that holds a load on a device; `held_by.rs` finds it.

use loadline_record::{DeviceCounters, KernelThrottle, ThrottledQuantity, ThrottledRequests};
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

/// What a device counted of that which a throttle counts.
pub(crate) const fn counted_by(limit: &KernelThrottle, counters: &DeviceCounters) -> u64 {
    match (limit.requests, limit.counts) {
        (ThrottledRequests::Reads, ThrottledQuantity::Requests) => counters.reads,
        (ThrottledRequests::Reads, ThrottledQuantity::Bytes) => counters.read_bytes,
        (ThrottledRequests::Writes, ThrottledQuantity::Requests) => counters.writes,
        (ThrottledRequests::Writes, ThrottledQuantity::Bytes) => counters.write_bytes,
    }
}
