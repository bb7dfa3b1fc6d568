//! Why nothing is watched or recorded.

/// Something that cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Nothing is there by that name.
    #[error("{typed} is no device, no path and no process that can be watched: {source}")]
    NoTarget {
        /// As typed.
        typed: String,
        /// Why not.
        source: std::io::Error,
    },
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// Its id.
        pid: u32,
    },
    /// No block device lies below.
    #[error("below {typed} lies no block device whose requests the kernel counts")]
    NoDevice {
        /// As typed.
        typed: String,
    },
    /// The kernel was told not to count.
    #[error("the kernel does not count the requests of {device}: write 1 into /sys/class/block/{device}/queue/iostats")]
    NotCounted {
        /// The device.
        device: String,
    },
}
