//! The throttle of the kernel that holds a load on a device; `held_by.rs` finds it.

use loadline_record::{DeviceCounters, KernelThrottle, ThrottledQuantity, ThrottledRequests};
use serde::{Deserialize, Serialize};

/// Slices of the kernel's throttle in a second: in each it lets whole requests through (`throtl_slice` and `calculate_io_allowed` in
/// block/blk-throttle.c). Of 298 a second it gives 290.
pub(crate) const SLICES_PER_S: u64 = 10;
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

/// What the kernel lets through of a limit on requests, whole ones in each of its slices; bytes are not rounded.
pub(crate) fn in_slices(limit: &KernelThrottle) -> u64 {
    match limit.counts {
        ThrottledQuantity::Requests if limit.per_s >= SLICES_PER_S => limit.per_s / SLICES_PER_S * SLICES_PER_S,
        _ => limit.per_s,
    }
}
