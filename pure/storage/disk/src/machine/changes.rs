//! Changes to a running machine (dropped caches, spent credits, power cuts, absent disks), and queries of its state.

use super::{Machine, Path, Queue, Target};
use loadline_units::{Instant, Ratio};

impl Machine {
    /// Drops the clean contents of caches before the target's disks.
    ///
    /// # Panics
    /// When `now` is before an earlier call's.
    pub fn drop_caches(&mut self, now: Instant, target: Target) {
        self.advance(now.as_ns());
        for disk in &self.targets[target.0].disks {
            if let Path::Cached { cache, .. } = self.disks[*disk].path {
                self.caches[cache].cache.drop_clean();
            }
        }
    }

    /// Spends the credits of bursts: of the target's disks, of pools that they share, and of the virtual machine.
    ///
    /// # Panics
    /// When `now` is before an earlier call's.
    pub fn spend_credits(&mut self, now: Instant, target: Target) {
        let now = now.as_ns();
        self.advance(now);
        for disk in &self.targets[target.0].disks {
            let disk = &mut self.disks[*disk];
            disk.limiter.spend_credits(now);
            if let Some(pool) = disk.pool {
                self.pools[pool].spend_credits(now);
            }
        }
        for limiter in [&mut self.vm_cached, &mut self.vm_uncached].into_iter().flatten() {
            limiter.spend_credits(now);
        }
    }

    /// Aborts all outstanding requests, as in a power cut: they are never answered, and their numbers are free. Limits,
    /// places and heads are free from `now` on. Caches keep their contents, including blocks in write-back. Burst
    /// credits that waiting requests had used stay spent.
    ///
    /// # Panics
    /// When `now` is before an earlier call's.
    pub fn break_off(&mut self, now: Instant) {
        let now = now.as_ns();
        self.advance(now);
        (self.answers, self.events) = (Queue::default(), Queue::default());
        self.outstanding.clear();
        self.free.clear();
        self.free_parts.clear();
        let parts = std::mem::take(&mut self.parts);
        let of_machine = [&mut self.vm_cached, &mut self.vm_uncached].into_iter().flatten();
        let of_disks = self.disks.iter_mut().map(|disk| {
            disk.lanes.break_off(now);
            disk.spindle.iter_mut().for_each(|spindle| spindle.break_off());
            &mut disk.limiter
        });
        of_machine.chain(&mut self.pools).chain(of_disks).for_each(|limiter| limiter.break_off(now));
        self.break_off_caches(now, parts);
    }

    /// The share of burst credits left at `now`, of the bucket with the least: the target's disks, their pools, the
    /// virtual machine. `None`: there are no credits.
    #[must_use]
    pub fn credits(&self, now: Instant, target: Target) -> Option<Ratio> {
        let now = now.as_ns();
        let disks = self.targets[target.0].disks.iter().map(|disk| &self.disks[*disk]);
        let of_disks = disks.flat_map(|disk| {
            [disk.limiter.credits(now), disk.pool.and_then(|pool| self.pools[pool].credits(now))].into_iter().flatten()
        });
        let of_machine = [&self.vm_cached, &self.vm_uncached].into_iter().flatten();
        of_disks.chain(of_machine.filter_map(|limiter| limiter.credits(now))).min()
    }

    /// Whether a cache lies before one of the target's disks.
    #[must_use]
    pub fn has_cache(&self, target: Target) -> bool {
        self.targets[target.0].disks.iter().any(|disk| matches!(self.disks[*disk].path, Path::Cached { .. }))
    }

    /// Removes a disk of a volume, or puts it back. No request reaches it through the volume, and reads go to its other
    /// copies. Without another copy, that part takes no time: the caller knows that the request failed.
    ///
    /// # Panics
    /// When `now` is before an earlier call's, or the volume has no such disk.
    pub fn set_absent(&mut self, now: Instant, volume: Target, disk: usize, absent: bool) {
        self.advance(now.as_ns());
        self.targets[volume.0].placement.set_absent(disk, absent);
    }
}
