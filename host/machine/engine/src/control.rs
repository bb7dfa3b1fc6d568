//! The line between a running trial and its watcher: stop it, ask how far it has come.

use loadline_record::Tally;
use loadline_units::{Duration, Instant};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the load threads, the signal handler and the live view.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    progress: Mutex<Progress>,
    counts: Mutex<Vec<LoadCounts>>,
    start_at: Option<Instant>,
}

/// What a load did in the seconds of its measured time that are over: by operation, in the order of `Operation::index`.
pub type LoadCounts = [Tally; 4];

/// What a volume is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing yet, or a pause.
    #[default]
    Waiting,
    /// Writing the target in full.
    Filling,
    /// Load before the measurement.
    WarmUp,
    /// The measurement.
    Measuring,
    /// Load after the measurement.
    CoolDown,
    /// Reading back.
    Verifying,
}

/// How far a trial has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// The present phase.
    pub phase: Phase,
    /// Time spent in this phase.
    pub elapsed: Duration,
    /// How long the phase takes, where that is known.
    pub expected: Option<Duration>,
    /// Share of the phase done (0.0 to 1.0), where time does not tell (filling, reading back).
    pub done: Option<f64>,
    /// Requests per second over the last second.
    pub iops: Option<f64>,
    /// Bytes per second over the last second.
    pub bytes_per_s: Option<f64>,
    /// Requests in flight on average over the last second.
    pub outstanding: Option<f64>,
    /// Mean latency over the last second.
    pub latency: Option<Duration>,
    /// Median latency over the last second.
    pub p50: Option<Duration>,
    /// 99th percentile over the last second.
    pub p99: Option<Duration>,
}

impl Control {
    /// A control that nobody has stopped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// The same for a trial that begins at this instant of the monotonic clock, not before.
    #[must_use]
    pub const fn starting_at(mut self, start: Option<Instant>) -> Self {
        self.start_at = start;
        self
    }
    /// When a trial begins, if that was agreed on.
    pub(crate) const fn start_at(&self) -> Option<Instant> {
        self.start_at
    }
    /// Asks everything under way to end soon; safe to call from any thread.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }
    /// Whether an end was asked for.
    #[must_use]
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        *self.progress.lock()
    }
    /// What each load of a group did so far, in their order; those that have not begun to count are left out.
    #[must_use]
    pub fn counts(&self) -> Vec<LoadCounts> {
        self.counts.lock().clone()
    }
    /// What the load at this place of its group did since the last time.
    pub(crate) fn count(&self, place: usize, more: &LoadCounts) {
        let mut counts = self.counts.lock();
        if counts.len() <= place {
            counts.resize_with(place + 1, LoadCounts::default);
        }
        counts[place].iter_mut().zip(more).for_each(|(sum, more)| sum.merge(more));
    }
    /// Reports to watchers how far it has come.
    pub(crate) fn report(&self, progress: Progress) {
        *self.progress.lock() = progress;
    }
}
