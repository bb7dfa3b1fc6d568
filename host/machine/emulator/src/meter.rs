//! What an export did and how it went.

use crate::answer::{Answer, ModelTimes};
use loadline_block::{ErrorKind, Operation};
use loadline_record::Histogram;
use loadline_units::{Bytes, Duration, Instant};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What an export did so far.
#[derive(Debug, Clone, Default)]
pub struct ExportFigures {
    /// By operation, in the order of [`Operation::index`].
    pub operations: [OperationFigures; 4],
    /// From the model's completion until the answer was handed to the system, less what it waited meanwhile for its client to take
    /// bytes. Answers whose client was gone are in no place here.
    pub lateness: Histogram,
    /// Requests answered with an error, by its kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Of these, such as never reached the model: malformed, beyond the end, not supported.
    pub refused: u64,
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

impl ExportFigures {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.bytes = mine.bytes + theirs.bytes;
            mine.latency.merge(&theirs.latency);
            mine.failed += theirs.failed;
        }
        self.lateness.merge(&other.lateness);
        for (kind, count) in &other.errors {
            *self.errors.entry(*kind).or_default() += count;
        }
        self.refused += other.refused;
    }

    /// Requests answered with an error.
    #[must_use]
    pub fn errors_total(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Reads, writes and trims in a second, where they came about in `span`.
    #[must_use]
    pub fn iops(&self, span: Duration) -> Option<f64> {
        (span > Duration::ZERO).then(|| self.done() as f64 / span.as_s_f64())
    }

    /// Bytes in a second, where they came about in `span`.
    #[must_use]
    pub fn bytes_per_s(&self, span: Duration) -> Option<f64> {
        (span > Duration::ZERO).then(|| self.moved().get() as f64 / span.as_s_f64())
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

    /// Requests answered, of all operations, also with an error.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.refused + self.operations.iter().map(|operation| operation.latency.count() + operation.failed).sum::<u64>()
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
    pub(crate) timed: Option<ModelTimes>,
    pub(crate) length: u64,
    pub(crate) error: Option<ErrorKind>,
    /// How long, since the model had it, no byte could leave for bytes that the client had not taken.
    pub(crate) waited: Duration,
}

impl Delivered {
    /// Nothing kept it from leaving.
    pub(crate) fn of(answer: &Answer) -> Self {
        Self { timed: answer.timed, length: answer.length, error: answer.error(), waited: Duration::ZERO }
    }

    /// What counts against the bytes that a connection may have under way: [`bytes_held`].
    pub(crate) fn bytes_held(&self) -> u64 {
        self.timed.map_or(0, |timed| bytes_held(timed.operation, self.length))
    }
}

/// What a request keeps its disk busy for, and so counts against the bytes that a connection may have under way.
pub(crate) const fn bytes_held(operation: Operation, length: u64) -> u64 {
    match operation {
        Operation::Read | Operation::Write => length,
        Operation::Trim | Operation::Flush => 0,
    }
}

/// Counts an export's answers.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Since the last look.
    recent: Mutex<ExportFigures>,
    /// Until then.
    before: Mutex<ExportFigures>,
}

impl Meter {
    pub(crate) fn count(&self, delivered_at: Instant, answers: impl Iterator<Item = Delivered>) {
        self.add(Some(delivered_at), answers);
    }

    /// Counts what was done for clients that are gone: all but how late it would have been.
    pub(crate) fn count_unseen(&self, answers: impl Iterator<Item = Delivered>) {
        self.add(None, answers);
    }

    fn add(&self, delivered_at: Option<Instant>, answers: impl Iterator<Item = Delivered>) {
        let mut figures = self.recent.lock();
        for Delivered { timed, length, error, waited } in answers {
            if let Some(kind) = error {
                *figures.errors.entry(kind).or_default() += 1;
            }
            let Some(ModelTimes { operation, due_at, completed_at }) = timed else {
                figures.refused += u64::from(error.is_some());
                continue;
            };
            if let Some(delivered_at) = delivered_at {
                figures.lateness.record(delivered_at.since(completed_at).saturating_sub(waited));
            }
            let own = &mut figures.operations[operation.index()];
            if error.is_some() {
                own.failed += 1;
            } else {
                own.bytes = own.bytes + Bytes::new(length);
                own.latency.record(completed_at.since(due_at));
            }
        }
    }

    pub(crate) fn figures(&self) -> ExportFigures {
        // Held until the end: what is recent must not go over meanwhile.
        let before = self.before.lock();
        let mut all = before.clone();
        all.merge(&self.recent.lock());
        all
    }

    /// What came since the last look, and all.
    pub(crate) fn roll(&self) -> (ExportFigures, ExportFigures) {
        let mut before = self.before.lock();
        // Made before anybody who counts has to wait.
        let fresh = ExportFigures::default();
        let recent = std::mem::replace(&mut *self.recent.lock(), fresh);
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

impl ExportFigures {
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

    fn answered(operations: &[(Operation, u64)]) -> ExportFigures {
        told(operations, None)
    }

    const TWO_S: Duration = Duration::from_s(2);

    fn told(operations: &[(Operation, u64)], error: Option<ErrorKind>) -> ExportFigures {
        let meter = Meter::default();
        let at = |second: u64| Instant::ZERO + Duration::from_s(second);
        let answers = operations.iter().map(|(operation, length)| Delivered {
            timed: Some(ModelTimes { operation: *operation, due_at: at(0), completed_at: at(2) }),
            length: *length,
            error,
            waited: Duration::ZERO,
        });
        meter.count(at(2), answers);
        meter.figures()
    }

    #[test]
    fn what_failed_is_asked_for_and_no_rate_or_latency() {
        use Operation::{Read, Write};
        let mut figures = told(&[(Read, 4_096), (Write, 4_096)], Some(ErrorKind::Io));
        assert_eq!(
            (figures.requests(), figures.errors_total(), figures.iops(TWO_S), figures.bytes_per_s(TWO_S)),
            (2, 2, Some(0.0), Some(0.0))
        );
        assert_eq!(figures.latency().count(), 0);
        figures.merge(&answered(&[(Read, 4_096)]));
        assert_eq!((figures.requests(), figures.iops(TWO_S), figures.latency().count()), (3, Some(0.5), 1));
        assert_eq!(figures.iops(Duration::ZERO), None);
    }

    #[test]
    fn what_an_answer_waited_for_its_client_is_not_late_and_what_nobody_got_was_done() {
        let meter = Meter::default();
        let at = |second: u64| Instant::ZERO + Duration::from_s(second);
        let timed = Some(ModelTimes { operation: Operation::Read, due_at: at(0), completed_at: at(2) });
        let answer = Delivered { timed, length: 4_096, error: None, waited: Duration::from_s(5) };
        meter.count(at(8), std::iter::once(answer));
        meter.count_unseen([answer, Delivered { error: Some(ErrorKind::Io), ..answer }].into_iter());
        let figures = meter.figures();
        assert_eq!((figures.lateness.count(), figures.lateness.max()), (1, Some(Duration::from_s(1))));
        assert_eq!((figures.requests(), figures.done(), figures.errors_total()), (3, 2, 1));
        assert_eq!((figures.transferred(), figures.latency().count()), (Bytes::new(8_192), 2));
    }

    #[test]
    fn errors_are_counted_by_their_kind_and_what_was_refused_was_asked_for() {
        let mut figures = told(&[(Operation::Write, 4_096)], Some(ErrorKind::NoSpace));
        figures.merge(&told(&[(Operation::Read, 4_096)], Some(ErrorKind::Io)));
        let meter = Meter::default();
        let error = Some(ErrorKind::Refused);
        let refused = Delivered { timed: None, length: 100, error, waited: Duration::ZERO };
        let asked_at_once = Delivered { error: None, ..refused };
        meter.count(Instant::ZERO, [refused, refused, asked_at_once].into_iter());
        figures.merge(&meter.figures());
        let errors: Vec<(ErrorKind, u64)> = figures.errors.into_iter().collect();
        assert_eq!(errors, [(ErrorKind::Io, 1), (ErrorKind::NoSpace, 1), (ErrorKind::Refused, 2)]);
        assert_eq!(figures.refused, 2);
    }

    #[test]
    fn rates_count_as_those_of_runs_do_flushes_not_at_all_and_bytes_of_trims_only_alone() {
        use Operation::{Flush, Read, Trim, Write};
        let mixed = answered(&[(Read, 4_096), (Write, 4_096), (Trim, 1 << 32), (Flush, 0)]);
        assert_eq!((mixed.requests(), mixed.iops(TWO_S), mixed.bytes_per_s(TWO_S)), (4, Some(1.5), Some(4_096.0)));
        let trims = answered(&[(Trim, 1 << 32), (Flush, 0)]);
        assert_eq!((trims.iops(TWO_S), trims.bytes_per_s(TWO_S)), (Some(0.5), Some(f64::from(1_u32 << 31))));
    }
}
