//! What a watch shows of a device beside what holds it.

use crate::summary::{CauseShare, ProgramFigures, ThrottleUse, WaitAbove};
use loadline_record::{AnswersInClusters, EventAsker, HiddenProcesses, Limit, WatchGain, WatchedLoop};
use serde::{Deserialize, Serialize};

/// One thing that a watch shows. Shares are from 0.0 to 1.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum WatchSeen {
    /// What the time went to.
    Time {
        /// The device.
        device: String,
        /// The causes that are worth a word, the largest first.
        causes: Vec<CauseShare>,
    },
    /// Requests wait before the device.
    AboveDevice {
        /// The device.
        device: String,
        /// So long.
        wait: WaitAbove,
    },
    /// Who uses the device.
    Programs {
        /// The device.
        device: String,
        /// The busiest programs.
        programs: Vec<ProgramFigures>,
        /// What the device moves, where a program moves more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_moves: Option<DeviceMoves>,
        /// Processes that could not be looked into.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hidden: Option<HiddenProcesses>,
    },
    /// Whose requests reach the device, by the kernel's events.
    Requests {
        /// The device.
        device: String,
        /// The programs with the most of them.
        askers: Vec<EventAsker>,
    },
    /// Answers come in clusters.
    Clusters(AnswersInClusters),
    /// How requests come.
    Arrivals {
        /// In which kind of loop.
        arrivals: WatchedLoop,
        /// Requests in flight on average while the device was busy; `null` where it never was.
        in_flight: Option<f64>,
    },
    /// What faster storage would bring.
    Gain {
        /// That.
        gain: WatchGain,
    },
    /// How full known limits are.
    Limits {
        /// The device.
        device: String,
        /// Throttles of the kernel.
        throttles: Vec<ThrottleUse>,
        /// Limits of the environment.
        ceilings: Vec<CeilingUse>,
    },
    /// What the watching took.
    Cost {
        /// CPU time, as a share of one CPU.
        cpu_share: f64,
        /// The part of the kernel's events, where they were asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        events: Option<EventsCost>,
    },
}

/// What a device moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DeviceMoves {
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub write_bytes_per_s: f64,
}

/// How much of a limit of the environment is used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CeilingUse {
    /// The limit.
    pub limit: Limit,
    /// As requests per second of this load.
    pub ceiling_iops: f64,
    /// Requests per second over the whole time.
    pub iops: f64,
}

/// What reading the kernel's events took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EventsCost {
    /// CPU time, as a share of one CPU.
    pub cpu_share: f64,
    /// Requests that they showed.
    pub requests: u64,
    /// Events that the kernel dropped.
    pub lost: u64,
}
