//! One interval of a series while it is measured.

use crate::histogram::Histogram;
use crate::series::{Second, SecondOperation};
use loadline_block::Operation;
use loadline_units::Duration;

/// Counts, bytes, latencies, errors and time in flight of one interval. It is told spans and reads no clock.
#[derive(Debug, Clone, Default)]
pub struct SeriesInterval {
    latencies: [Histogram; 4],
    bytes: [u64; 4],
    in_flight_ns: u64,
    errors: u64,
}

impl SeriesInterval {
    /// Counts a request that was completed with this latency.
    #[inline]
    pub fn complete(&mut self, operation: Operation, bytes: u64, latency: Duration) {
        self.bytes[operation.index()] += bytes;
        self.latencies[operation.index()].record(latency);
    }

    /// Counts a request that failed.
    #[inline]
    pub fn fail(&mut self) {
        self.errors += 1;
    }

    /// Counts `requests` in flight for `span` of the interval.
    #[inline]
    pub fn add_in_flight(&mut self, requests: u64, span: Duration) {
        self.in_flight_ns += requests * span.as_ns();
    }

    /// The interval as it is stored, given its length.
    #[must_use]
    pub fn second(&self, length: Duration) -> Second {
        Second {
            operations: std::array::from_fn(|index| SecondOperation::of(&self.latencies[index], self.bytes[index])),
            outstanding: self.in_flight_ns as f64 / length.as_ns().max(1) as f64,
            errors: self.errors,
        }
    }

    /// Begins the next interval.
    pub fn clear(&mut self) {
        self.latencies.iter_mut().for_each(Histogram::clear);
        (self.bytes, self.in_flight_ns, self.errors) = ([0; 4], 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_counts_completions_errors_and_time_in_flight() {
        let mut interval = SeriesInterval::default();
        interval.complete(Operation::Write, 4_096, Duration::from_ms(2));
        interval.complete(Operation::Write, 512, Duration::from_ms(4));
        interval.fail();
        interval.add_in_flight(3, Duration::from_ms(500));
        let second = interval.second(Duration::from_s(2));
        let write = second.of(Operation::Write);
        assert_eq!((write.count, write.bytes, write.max_ns, second.errors), (2, 4_608, 4_000_000, 1));
        assert!((second.outstanding - 0.75).abs() < 1e-12);
        interval.clear();
        assert_eq!(interval.second(Duration::ZERO), Second::default());
    }
}
