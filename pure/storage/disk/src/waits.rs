//! The account of waiting: at which limits requests waited, for what, and for how long.

use crate::limit::WaitTimes;
use loadline_units::Duration;

/// The waiting of requests to a target so far, by limit. Write-back of a cache is not part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// At the virtual machine's budget for the host's cache; of all volumes together.
    pub vm_cached: WaitTimes,
    /// At the virtual machine's budget for network disks; of all volumes together.
    pub vm_uncached: WaitTimes,
    /// At the virtual machine's totals by type of disk, of all such disks.
    pub allowances: WaitTimes,
    /// At budgets shared by several disks, of all disks that share them.
    pub pools: WaitTimes,
    /// At the limits of the target's disks.
    pub disks: WaitTimes,
    /// At the target's disks themselves: for one of the places in service, and for the bytes of others. The queue before the head
    /// of a spinning disk is not in it.
    pub service: WaitTimes,
    /// Writes for which the host's cache had no room, of all disks that share it.
    pub cache: Duration,
    /// Parts of reads that the host's cache answered, of all disks that share it.
    pub cache_hits: u64,
    /// Parts of reads that it had to fetch from a disk.
    pub cache_misses: u64,
}

impl Waits {
    /// The waiting since `earlier`, an account of the same machine.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            vm_cached: self.vm_cached.since(earlier.vm_cached),
            vm_uncached: self.vm_uncached.since(earlier.vm_uncached),
            allowances: self.allowances.since(earlier.allowances),
            pools: self.pools.since(earlier.pools),
            disks: self.disks.since(earlier.disks),
            service: self.service.since(earlier.service),
            cache: self.cache.saturating_sub(earlier.cache),
            cache_hits: self.cache_hits - earlier.cache_hits,
            cache_misses: self.cache_misses - earlier.cache_misses,
        }
    }

    /// Both accounts together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            vm_cached: self.vm_cached + other.vm_cached,
            vm_uncached: self.vm_uncached + other.vm_uncached,
            allowances: self.allowances + other.allowances,
            pools: self.pools + other.pools,
            disks: self.disks + other.disks,
            service: self.service + other.service,
            cache: self.cache + other.cache,
            cache_hits: self.cache_hits + other.cache_hits,
            cache_misses: self.cache_misses + other.cache_misses,
        }
    }
}
