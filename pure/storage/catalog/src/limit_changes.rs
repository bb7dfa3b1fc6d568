//! What an update of limits changes.

use crate::entry::VmEntry;
use loadline_disk::{Directions, IopsBudget, ThroughputBudget};

/// Requests and bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredRates {
    /// Requests per second.
    pub iops: u64,
    /// Bytes per second.
    pub bytes: u64,
}

/// What a provider's answer about its machines changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitChanges {
    /// Whose it is.
    pub provider: String,
    /// Machines of the answer.
    pub machines: usize,
    /// Machines without limits in it.
    pub without_limits: u64,
    /// Machines that the catalog has not.
    pub added: Vec<String>,
    /// Machines with other limits than in the catalog.
    pub changed: Vec<LimitChange>,
    /// Whether the answer's figures count for those that changed: an answer that has nothing of what a machine may do for a while does not
    /// say all.
    pub replaces: bool,
}

/// A machine whose limits are others than the catalog has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitChange {
    /// Its name, without the provider.
    pub name: String,
    /// As the catalog has it.
    pub before: AnsweredRates,
    /// As answered.
    pub after: AnsweredRates,
}

impl VmEntry {
    /// What it allows network disks for good, and while credits last; `None` where reads and writes differ or a figure is missing.
    #[must_use]
    pub fn uncached_rates(&self) -> Option<(AnsweredRates, Option<AnsweredRates>)> {
        let limit = self.uncached.as_ref()?;
        let (Some(Directions::Together(iops)), Some(Directions::Together(throughput))) =
            (&limit.iops, &limit.throughput)
        else {
            return None;
        };
        let IopsBudget { rate: iops, burst: more } = iops;
        let ThroughputBudget { rate: bytes, burst: faster } = throughput;
        let plain = AnsweredRates { iops: iops.get(), bytes: bytes.get() };
        let most = AnsweredRates {
            iops: more.map_or(plain.iops, |burst| burst.rate.get()),
            bytes: faster.map_or(plain.bytes, |burst| burst.rate.get()),
        };
        Some((plain, (most != plain).then_some(most)))
    }
}
