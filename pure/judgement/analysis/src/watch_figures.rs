//! Figures of a watch: what its time went to, who used the device, how much of a throttle was asked for, what waits above the device.

use loadline_record::{KernelThrottle, Limit, WatchCause};
use serde::{Deserialize, Serialize};

/// What a share of the time of a watch went to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// What it went to.
    pub cause: WatchCause,
    /// The limit that it is; `null` where its name is not known.
    pub limit: Option<Limit>,
    /// Of the time (0.0 to 1.0).
    pub share: f64,
}

/// A program that used a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramFigures {
    /// Its name.
    pub name: String,
    /// One of its processes.
    pub pid: u32,
    /// The most processes seen at once.
    pub processes: u32,
    /// Whether it is the one that was named.
    pub named: bool,
    /// Bytes that it caused to be read from storage, of any device.
    pub read_bytes_per_s: f64,
    /// Bytes that it caused to be written to storage, of any device.
    pub write_bytes_per_s: f64,
    /// CPUs that it kept in use.
    pub cpus: f64,
    /// Its share of the device's bytes (0.0 to 1.0); missing where its bytes cannot be put down to this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// How much of a throttle was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThrottleUse {
    /// The limit.
    pub limit: KernelThrottle,
    /// What its control group asked for in a second, counted as the limit does; `null`: the kernel does not show it.
    pub asked_per_s: Option<f64>,
}

/// What requests wait above the device, for a throttle of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitAbove {
    /// What the device took for a request, on average, ns: the only part that its counters and events see.
    pub device_ns: f64,
    /// What the application waited for a request in all, about, ns; `null` where its threads show nothing of it.
    pub application_ns: Option<f64>,
    /// Threads that were blocked in the kernel at any moment, on average, from which that follows.
    pub threads_blocked: Option<f64>,
    /// A process of the program that the watch is about.
    pub pid: Option<u32>,
}
