//! Turns of a throttle, as a load thread sees them: answers that come together after a pause.
//!
//! A throttle of the kernel lets a share through ten times a second. A trial of three seconds has thirty turns, and its end cuts one: counts
//! from turn to turn do not depend on where.

use loadline_record::Turns;
use loadline_units::{Duration, Instant};

/// A thread without answers for so long waits for a turn of a throttle.
pub(super) const PAUSE: Duration = Duration::from_ms(15);

/// Counts from the begin of the first turn to that of the last.
#[derive(Debug, Default)]
pub(super) struct TurnCounter {
    first: Option<Begin>,
    last: Option<Begin>,
    /// The end of the latest pause, until something is completed after it.
    pending: Option<Begin>,
    turns: u64,
}

/// When a turn began, and how many requests had been completed until then.
#[derive(Debug, Clone, Copy)]
struct Begin {
    at: Instant,
    completed: u64,
}

impl TurnCounter {
    /// A pause ended at `now`, with so many requests completed before. The thread may look up in between: a pause in which nothing was
    /// completed goes on.
    pub(super) fn paused_until(&mut self, now: Instant, completed: u64) {
        self.take_in(completed);
        self.pending = Some(Begin { at: now, completed });
    }

    /// What began is a turn if anything was completed since.
    fn take_in(&mut self, completed: u64) {
        if let Some(begin) = self.pending.filter(|begin| begin.completed < completed) {
            self.turns += u64::from(self.first.is_some());
            self.first.get_or_insert(begin);
            self.last = Some(begin);
            self.pending = None;
        }
    }

    /// What was completed in whole turns, of so many requests in all; `None` of fewer than one turn.
    pub(super) fn record(&mut self, completed: u64) -> Option<Turns> {
        self.take_in(completed);
        let (first, last) = self.first.zip(self.last)?;
        (self.turns > 0).then(|| Turns {
            turns: self.turns,
            requests: last.completed - first.completed,
            span_ns: last.at.since(first.at).as_ns(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_turn_that_the_end_cuts_is_not_counted() {
        let mut counter = TurnCounter::default();
        assert_eq!(counter.record(0), None);
        // 40 requests each 100 ms, and a look 50 ms after each.
        for turn in 0..30 {
            counter.paused_until(at(20 + turn * 100), turn * 40);
            counter.paused_until(at(70 + turn * 100), turn * 40 + 40);
        }
        let whole = counter.record(1_200).unwrap();
        assert_eq!((whole.turns, whole.requests, whole.span_ns), (29, 1_160, 2_900_000_000));
        assert!((whole.iops() - 400.0).abs() < 1e-9);
    }

    #[test]
    fn a_turn_begins_where_answers_come_again() {
        let mut counter = TurnCounter::default();
        for turn in 0..10 {
            // A look without answers, and the one with them: as many were completed before both.
            counter.paused_until(at(50 + turn * 100), turn * 7);
            counter.paused_until(at(100 + turn * 100), turn * 7);
        }
        let whole = counter.record(69).unwrap();
        assert_eq!((whole.turns, whole.requests, whole.span_ns), (9, 63, 900_000_000));
        assert!((whole.iops() - 70.0).abs() < 1e-9);
    }
}
