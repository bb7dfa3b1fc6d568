//! What a watch sees now: devices, programs, the machine.

use loadline_record::{WatchSecond, WatchTick, WatchedThrottle};
use loadline_units::Duration;

/// The devices and who uses them, over the last second or so.
#[derive(Debug, Clone, Default)]
pub struct WatchView {
    /// Since the watch began.
    pub elapsed: Duration,
    /// How long it is to last, where that is known.
    pub planned: Option<Duration>,
    /// Each device.
    pub devices: Vec<DeviceView>,
    /// The busiest programs.
    pub programs: Vec<ProgramView>,
    /// The machine.
    pub machine: WatchSecond,
    /// CPU time of the watching so far, as a share of one CPU.
    pub own_share: f64,
}

/// A device over the last second or so.
#[derive(Debug, Clone)]
pub struct DeviceView {
    /// The kernel's name.
    pub name: String,
    /// Its counters.
    pub tick: WatchTick,
    /// Throttles of the kernel, each with the share of it that is asked for.
    pub throttles: Vec<(WatchedThrottle, Option<f64>)>,
}

/// A program over the last second or so.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramView {
    /// Its name.
    pub name: String,
    /// One of its processes.
    pub pid: u32,
    /// How many there are.
    pub processes: u32,
    /// From storage.
    pub read_bytes_per_s: f64,
    /// To storage.
    pub write_bytes_per_s: f64,
    /// CPUs in use.
    pub cpus: f64,
}
