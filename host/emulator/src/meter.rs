//! What an export did and how it went.

use crate::answer::Timed;
use loadline_block::Operation;
use loadline_record::Histogram;
use loadline_units::{Bytes, Duration, Instant};
use std::sync::{Mutex, PoisonError};

/// What an export did so far.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// By operation, in the order of [`Operation::index`].
    pub operations: [OperationFigures; 4],
    /// From the model's completion until the answer was handed to the system.
    pub lateness: Histogram,
    /// Requests answered with an error.
    pub errors: u64,
    /// From when the first request came until the last answer, in the model.
    pub active: Option<Active>,
}

/// When something was asked for, by the emulation's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Active {
    /// When the first request came.
    pub from: Instant,
    /// When the last answer was due.
    pub until: Instant,
}

/// What one operation did so far.
#[derive(Debug, Clone, Default)]
pub struct OperationFigures {
    /// Of the ranges of its requests.
    pub bytes: Bytes,
    /// As the model has it, from when requests came.
    pub latency: Histogram,
    /// Requests that were answered with an error: they moved nothing, and are in no other figure here.
    pub failed: u64,
}

impl Figures {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.bytes = mine.bytes + theirs.bytes;
            mine.latency.merge(&theirs.latency);
            mine.failed += theirs.failed;
        }
        self.lateness.merge(&other.lateness);
        self.errors += other.errors;
        if let Some(Active { from, until }) = other.active {
            self.was_active(from, until);
        }
    }

    fn was_active(&mut self, from: Instant, until: Instant) {
        let active = self.active.get_or_insert(Active { from, until });
        *active = Active { from: active.from.min(from), until: active.until.max(until) };
    }

    /// Reads, writes and trims in a second, over the time in which something was asked for.
    #[must_use]
    pub fn iops(&self) -> Option<f64> {
        Some(self.done() as f64 / self.active_s()?)
    }

    /// Bytes in a second, over the time in which something was asked for.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        Some(self.moved().get() as f64 / self.active_s()?)
    }

    fn succeeded(&self, operation: Operation) -> u64 {
        self.operations[operation.index()].latency.count()
    }

    /// Reads, writes and trims that were done; a flush is no I/O, as in every run, and what failed was not done.
    #[must_use]
    pub fn done(&self) -> u64 {
        [Operation::Read, Operation::Write, Operation::Trim]
            .into_iter()
            .map(|operation| self.succeeded(operation))
            .sum()
    }

    /// Bytes read and written; of trims where nothing else was done.
    #[must_use]
    pub fn moved(&self) -> Bytes {
        let trims_alone = self.succeeded(Operation::Read) + self.succeeded(Operation::Write) == 0;
        if trims_alone { self.operations[Operation::Trim.index()].bytes } else { self.transferred() }
    }

    fn active_s(&self) -> Option<f64> {
        let Active { from, until } = self.active?;
        Some(until.since(from).as_s_f64()).filter(|seconds| *seconds > 0.0)
    }

    /// Requests answered, of all operations, also with an error.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.operations.iter().map(|operation| operation.latency.count() + operation.failed).sum()
    }

    /// Bytes read and written.
    #[must_use]
    pub fn transferred(&self) -> Bytes {
        self.operations[Operation::Read.index()].bytes + self.operations[Operation::Write.index()].bytes
    }

    /// Latencies of all operations.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::new();
        for operation in &self.operations {
            all.merge(&operation.latency);
        }
        all
    }
}

/// An answer that was handed to the system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    pub(crate) timed: Option<Timed>,
    pub(crate) length: u64,
    pub(crate) error: bool,
}

/// Counts an export's answers.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Since the last look.
    recent: Mutex<Figures>,
    /// Until then.
    before: Mutex<Figures>,
}

impl Meter {
    pub(crate) fn count(&self, delivered_at: Instant, answers: impl Iterator<Item = Delivered>) {
        let mut figures = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for Delivered { timed, length, error } in answers {
            figures.errors += u64::from(error);
            let Some(Timed { operation, due_at, completed_at }) = timed else { continue };
            figures.lateness.record(delivered_at.since(completed_at));
            let own = &mut figures.operations[operation.index()];
            if error {
                own.failed += 1;
            } else {
                own.bytes = own.bytes + Bytes::new(length);
                own.latency.record(completed_at.since(due_at));
            }
            figures.was_active(due_at, completed_at);
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        // Held until the end: what is recent must not go over meanwhile.
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = before.clone();
        all.merge(&self.recent.lock().unwrap_or_else(PoisonError::into_inner));
        all
    }

    /// What came since the last look, and all.
    pub(crate) fn roll(&self) -> (Figures, Figures) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        // Made before anybody who counts has to wait.
        let fresh = Figures::default();
        let recent = std::mem::replace(&mut *self.recent.lock().unwrap_or_else(PoisonError::into_inner), fresh);
        before.merge(&recent);
        (recent, before.clone())
    }
}

/// Lateness beyond this share of the modelled latency (both p99) is not small: 1 / 5.
const LATENESS_SHARE: u64 = 5;
/// Answers below which nothing is judged.
const JUDGED_MIN: u64 = 1_000;
/// Lateness that is always small.
const LATENESS_SMALL: Duration = Duration::from_us(100);

impl Figures {
    /// Whether answers came so late that what clients measured is not what was modelled: the p99 of the lateness, and that of
    /// the modelled latency.
    #[must_use]
    pub fn late(&self) -> Option<(Duration, Duration)> {
        if self.lateness.count() < JUDGED_MIN {
            return None;
        }
        let (late, modelled) = (self.lateness.quantile(0.99)?, self.latency().quantile(0.99)?);
        (late > LATENESS_SMALL && late.as_ns() > modelled.as_ns() / LATENESS_SHARE).then_some((late, modelled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(operations: &[(Operation, u64)]) -> Figures {
        told(operations, false)
    }

    fn told(operations: &[(Operation, u64)], error: bool) -> Figures {
        let meter = Meter::default();
        let at = |second: u64| Instant::ZERO + Duration::from_s(second);
        let answers = operations.iter().map(|(operation, length)| Delivered {
            timed: Some(Timed { operation: *operation, due_at: at(0), completed_at: at(2) }),
            length: *length,
            error,
        });
        meter.count(at(2), answers);
        meter.figures()
    }

    #[test]
    fn what_failed_is_asked_for_and_no_rate_or_latency() {
        use Operation::{Read, Write};
        let mut figures = told(&[(Read, 4_096), (Write, 4_096)], true);
        assert_eq!(
            (figures.requests(), figures.errors, figures.iops(), figures.bytes_per_s()),
            (2, 2, Some(0.0), Some(0.0))
        );
        assert_eq!(figures.latency().count(), 0);
        figures.merge(&answered(&[(Read, 4_096)]));
        assert_eq!((figures.requests(), figures.iops(), figures.latency().count()), (3, Some(0.5), 1));
    }

    #[test]
    fn rates_count_as_those_of_runs_do_flushes_not_at_all_and_bytes_of_trims_only_alone() {
        use Operation::{Flush, Read, Trim, Write};
        let mixed = answered(&[(Read, 4_096), (Write, 4_096), (Trim, 1 << 32), (Flush, 0)]);
        assert_eq!((mixed.requests(), mixed.iops(), mixed.bytes_per_s()), (4, Some(1.5), Some(4_096.0)));
        let trims = answered(&[(Trim, 1 << 32), (Flush, 0)]);
        assert_eq!((trims.iops(), trims.bytes_per_s()), (Some(0.5), Some(f64::from(1_u32 << 31))));
    }
}
