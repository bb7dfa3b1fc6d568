//! What the machine did meanwhile: its CPUs and its page cache.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use crate::ThrottledRequests;
use serde::{Deserialize, Serialize};

/// What is seen of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MachineFact {
    /// The CPUs were busy, and the tool's threads had time to spare.
    CpuBusy { busy_share: f64, tool_share: Option<f64> },
    /// Load threads were ready to run and had no CPU.
    NoCpu { share: f64 },
    /// A hypervisor took CPU time.
    CpuTaken { share: f64 },
    /// The CPUs were busy while equal rates at so many depths show that they are not what binds.
    CpuBusyMeanwhile { busy_share: f64, tool_share: f64, depths: u64 },
    /// Only this share of the bytes asked for reached the devices.
    PageCacheTook { requests: ThrottledRequests, reached_share: f64 },
    /// This share of the file lay in the page cache.
    InPageCache { share: f64 },
}
