//! What happened in each second of a trial.

use crate::histogram::Histogram;
use loadline_block::Operation;
use loadline_units::Duration;
use serde::{Deserialize, Serialize};

/// Seconds kept one by one; a longer trial has neighbours joined, so that its memory stays bounded.
const SECONDS_MAX: usize = 86_400;

/// One operation within one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondOperation {
    /// Requests completed.
    pub count: u64,
    /// Bytes completed.
    pub bytes: u64,
    /// Median latency, ns.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// Largest latency, ns.
    pub max_ns: u64,
}

impl SecondOperation {
    /// Of requests that completed with these latencies and moved so many bytes.
    #[must_use]
    pub fn of(latency: &Histogram, bytes: u64) -> Self {
        let at = |share| latency.quantile(share).map_or(0, Duration::as_ns);
        Self {
            count: latency.count(),
            bytes,
            p50_ns: at(0.50),
            p99_ns: at(0.99),
            max_ns: latency.max().map_or(0, Duration::as_ns),
        }
    }
}

/// One interval of a trial: a second, unless the trial was so long that neighbours were joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// By [`Operation::index`].
    pub operations: [SecondOperation; 4],
    /// Time-weighted mean of requests outstanding.
    pub outstanding: f64,
    /// Requests that failed.
    pub errors: u64,
}

/// Intervals of equal length from the start of the measured time; the last one may be shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval in seconds: 1, or a power of two when the trial was longer than a day, predicted and longer than an
    /// hour, or emulated and longer than four.
    pub interval_s: u32,
    /// The intervals in order.
    pub seconds: Vec<Second>,
    /// How much of the last interval was covered, ns.
    pub last_ns: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { interval_s: 1, seconds: Vec::new(), last_ns: 0 }
    }
}

impl Second {
    /// All requests completed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.operations.iter().map(|o| o.count).sum()
    }
    /// Bytes read and written; of trims only where nothing was, since they move none.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let moved = [self.of(Operation::Read), self.of(Operation::Write)];
        if moved.iter().all(|of| of.count == 0) {
            return self.of(Operation::Trim).bytes;
        }
        moved.iter().map(|of| of.bytes).sum()
    }
    /// The given operation.
    #[must_use]
    pub fn of(&self, operation: Operation) -> &SecondOperation {
        &self.operations[operation.index()]
    }
    /// Two neighbours in one. Percentiles cannot be joined exactly: the larger of the two is kept, which never hides a slow moment.
    #[must_use]
    pub fn joined(&self, next: &Self) -> Self {
        let mut joined = *self;
        for (mine, theirs) in joined.operations.iter_mut().zip(&next.operations) {
            mine.count += theirs.count;
            mine.bytes += theirs.bytes;
            mine.p50_ns = mine.p50_ns.max(theirs.p50_ns);
            mine.p99_ns = mine.p99_ns.max(theirs.p99_ns);
            mine.max_ns = mine.max_ns.max(theirs.max_ns);
        }
        joined.outstanding = f64::midpoint(self.outstanding, next.outstanding);
        joined.errors += next.errors;
        joined
    }
}

impl Series {
    /// Adds the next interval, joining neighbours when a day is full. Returns whether the interval's length doubled:
    /// the caller then pushes intervals of the new length.
    pub fn push(&mut self, second: Second) -> bool {
        self.seconds.push(second);
        if self.seconds.len() < SECONDS_MAX {
            return false;
        }
        let (pairs, _) = self.seconds.as_chunks::<2>();
        self.seconds = pairs.iter().map(|[a, b]| a.joined(b)).collect();
        self.interval_s *= 2;
        true
    }
    /// The same in at most `intervals` (at least 1), neighbours joined in twos until they are so few: what is worth keeping of a
    /// long trial.
    #[must_use]
    pub fn thinned(mut self, intervals: usize) -> Self {
        while self.seconds.len() > intervals.max(1) {
            let full_ns = u64::from(self.interval_s) * 1_000_000_000;
            let (pairs, rest) = self.seconds.as_chunks::<2>();
            if rest.is_empty() {
                self.last_ns += full_ns;
            }
            self.seconds = pairs.iter().map(|[a, b]| a.joined(b)).chain(rest.iter().copied()).collect();
            self.interval_s *= 2;
        }
        self
    }
    /// Completed requests per second in each full interval.
    pub fn iops(&self) -> impl Iterator<Item = f64> + '_ {
        let full_ns = u64::from(self.interval_s) * 1_000_000_000;
        let count = self.seconds.len();
        self.seconds.iter().enumerate().filter_map(move |(index, second)| {
            // A last interval of less than nine tenths says nothing about the rate.
            let covered = if index + 1 == count { self.last_ns } else { full_ns };
            (covered * 10 >= full_ns * 9).then(|| second.count() as f64 * 1e9 / covered as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_two_days_stays_bounded_and_loses_no_request() {
        let mut series = Series::default();
        let mut second = Second::default();
        second.operations[0].count = 10;
        let mut pushed = 0;
        for _ in 0..130_000 {
            series.push(second);
            pushed += 10;
        }
        assert!(series.seconds.len() < SECONDS_MAX);
        assert_eq!(series.interval_s, 4);
        assert_eq!(series.seconds.iter().map(Second::count).sum::<u64>(), pushed);
    }

    #[test]
    fn a_thinned_series_keeps_its_requests_and_its_length() {
        let mut second = Second::default();
        second.operations[0].count = 10;
        for count in [1, 7, 8, 100, 101, 3_000] {
            let series = Series { interval_s: 1, seconds: vec![second; count], last_ns: 400_000_000 };
            let length =
                |s: &Series| (s.seconds.len() as u64 - 1) * u64::from(s.interval_s) * 1_000_000_000 + s.last_ns;
            let thinned = series.clone().thinned(8);
            assert!(thinned.seconds.len() <= 8 && thinned.interval_s.is_power_of_two());
            assert_eq!(thinned.seconds.iter().map(Second::count).sum::<u64>(), 10 * count as u64);
            assert_eq!(length(&thinned), length(&series), "{count}");
        }
    }

    #[test]
    fn a_short_last_interval_is_left_out_of_the_rates() {
        let mut second = Second::default();
        second.operations[0].count = 100;
        let series = Series { interval_s: 1, seconds: vec![second; 3], last_ns: 200_000_000 };
        assert_eq!(series.iops().collect::<Vec<_>>(), vec![100.0, 100.0]);
    }
}
