//! The progress of a fit.

use std::cell::Cell;

/// The approximate number of disks tried from one start, for the share of the work that is left.
const TRIED: f64 = 120.0;

/// Who watches, and the part of the whole that is under way.
pub(crate) struct FitProgress<'w> {
    watch: &'w dyn Fn(f64),
    /// This part's share of the whole.
    volume: (f64, f64),
    start: Cell<(f64, f64)>,
    made: Cell<f64>,
}

impl<'w> FitProgress<'w> {
    /// Volume `number` of so many.
    pub(crate) fn of(watch: &'w dyn Fn(f64), number: usize, volumes: usize) -> Self {
        let share = 1.0 / volumes.max(1) as f64;
        let volume = (number as f64 * share, share);
        Self { watch, volume, start: Cell::new(volume), made: Cell::new(0.0) }
    }

    /// The same with all starts tried.
    pub(crate) fn done(self) -> Self {
        self.start.set((self.volume.0 + self.volume.1, 0.0));
        self
    }

    /// Start `number` of so many begins.
    pub(crate) fn begin(&self, number: usize, starts: usize) {
        let share = self.volume.1 / starts.max(1) as f64;
        self.start.set((self.volume.0 + number as f64 * share, share));
        self.made.set(0.0);
    }

    /// One of so many loads was simulated on a disk.
    pub(crate) fn made_one(&self, loads: usize) {
        let made = self.made.get();
        self.made.set(made + 1.0 / loads.max(1) as f64);
        let (from, share) = self.start.get();
        (self.watch)(from + share * (made / TRIED).min(1.0));
    }
}
