//! What a user should know before a load begins, and what they say to it.

use loadline_record::RealDisk;
use std::fmt;
use std::time::Duration as Wait;

/// From this share of the time on, over the longest look, a user must agree to the load.
pub const BUSY_SHARE: f64 = 0.8;

/// What a user should know before a load begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Concern {
    /// The target is memory, and no disk would be measured.
    Memory(MemoryTarget),
    /// Others use the devices.
    InUse(Vec<DeviceUse>),
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(MemoryTarget { target, kind, .. }) => {
                write!(f, "{target} is {kind}: that is memory, and would say nothing about a disk")
            }
            Self::InUse(devices) => {
                let names: Vec<&str> = devices.iter().map(|used| used.device.as_str()).collect();
                write!(f, "others use {}, and a measurement would slow them down", names.join(", "))
            }
        }
    }
}

/// A target that keeps its data in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryTarget {
    /// The target, as named.
    pub target: String,
    /// What it is, such as "tmpfs".
    pub kind: String,
    /// The disks of this machine.
    pub disks: Vec<RealDisk>,
}

/// What others asked of a device while it was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceUse {
    /// The kernel's name of the device.
    pub device: String,
    /// The target on it, as named.
    pub target: String,
    /// How long it was looked at.
    pub looked: Wait,
    /// Share of the time in which it had a request.
    pub busy: f64,
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Processes that read or wrote anywhere meanwhile, the busiest first: name, process id, bytes a second.
    pub processes: Vec<(String, u32, f64)>,
}

impl DeviceUse {
    /// The longest look.
    pub(crate) const LOOK_TIME: Wait = Wait::from_secs(2);

    /// So much that a user must agree to more. A shorter look shows a moment, before a load that is short itself.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.looked >= Self::LOOK_TIME && self.busy >= BUSY_SHARE
    }
}

/// What a user says to a concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consent {
    /// Go on.
    Given,
    /// Do not.
    Withheld,
    /// Nobody was asked. Loads begin beside others then, and memory is not taken for a disk.
    #[default]
    NotAsked,
}
