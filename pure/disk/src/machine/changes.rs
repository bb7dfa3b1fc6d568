//! What may change in a machine while it runs, and what can be told of its state.

use super::{Machine, Path, Target};
use loadline_units::{Instant, Ratio};

impl Machine {
    /// Forgets what caches before the target's disks hold, apart from what is not on a disk yet.
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

    /// The share of burst credits that are left at `now`, of whatever has least: the target's disks, their pools, the virtual
    /// machine. `None`: nothing saves any.
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

    /// Takes a disk of a volume away, or puts it back: nothing goes to it through the volume, and reads go to its other copies.
    /// Where no copy is left, a request is answered as if that part had taken no time: whoever asks knows that it failed.
    ///
    /// # Panics
    /// When `now` is before an earlier call's, or the volume has no such disk.
    pub fn set_absent(&mut self, now: Instant, volume: Target, disk: usize, absent: bool) {
        self.advance(now.as_ns());
        self.targets[volume.0].placement.set_absent(disk, absent);
    }
}
