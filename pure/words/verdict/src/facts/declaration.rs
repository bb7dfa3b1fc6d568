//! Limits that something tells of: an environment, the kernel, a device's own counters.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use super::wait::TakenTime;
use crate::{CeilingSource, KernelThrottle, Limit};
use serde::{Deserialize, Serialize};

/// What is seen of a limit that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeclaredFact {
    /// The load comes to this share of it; where that is not all, its requests wait.
    Reaches { share: f64, ceiling_iops: f64, source: CeilingSource, waits: Option<WaitsByDeclared> },
    /// The load had more, so that it does not hold; nor do the lower ones.
    Surpassed { limit: Limit, ceiling_iops: f64, source: CeilingSource, share: f64, lower: Vec<DeclaredLimit> },
    /// The load is below all, of which this is the lowest.
    BelowAll { limit: Limit, ceiling_iops: f64, source: CeilingSource },
    /// By counters of the devices more was asked than the limit allows.
    Exceeded { limit: Limit, share: f64, devices: Vec<String> },
    /// A throttle of the kernel on so many devices, this one among them; of its limit it lets `through_per_s` through, where it rounds.
    Throttle { share: f64, device: String, devices: u32, throttle: KernelThrottle, through_per_s: Option<u64> },
}

/// A limit with its value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DeclaredLimit {
    /// Its name.
    pub limit: Limit,
    /// Requests per second of the load.
    pub ceiling_iops: f64,
}

/// Why a load that does not come to all of a limit waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsByDeclared {
    /// The device needs less than declared.
    DeviceNeeds { takes: TakenTime, needs_ns: f64 },
    /// Single ones take less.
    SingleOnes { takes: TakenTime, single_ns: f64 },
    /// Something counts them.
    Counted,
}
