//! Stalls: times in which this process did not run. A thread that only sleeps, a little at a time, notes when it woke late.

use loadline_record::Stops;
use loadline_units::{Duration, Instant};

/// A sleeper may come back this late on a busy machine: the kernel lets others finish their slices first.
const LATE_MAX: Duration = Duration::from_ms(20);

/// Stalls so far, within the measured time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stalls {
    count: u64,
    total: Duration,
    longest: Duration,
}

impl Stalls {
    /// A sleeper wanted to wake at `wanted_at` and came back at `now`; what lies outside `measured` does not count.
    pub fn slept(&mut self, wanted_at: Instant, now: Instant, measured: (Instant, Instant)) {
        if now.since(wanted_at) <= LATE_MAX {
            return;
        }
        let (begin, end) = (wanted_at.max(measured.0), now.min(measured.1));
        let stop = end.since(begin);
        self.count += u64::from(stop > Duration::ZERO);
        self.total = self.total + stop;
        self.longest = self.longest.max(stop);
    }
    /// For the record.
    #[must_use]
    pub const fn record(self) -> Stops {
        Stops { count: self.count, total_ns: self.total.as_ns(), longest_ns: self.longest.as_ns(), throttled_ns: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_within_the_measured_time_counts_and_small_delays_do_not() {
        let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
        let measured = (at(1_000), at(9_000));
        let mut seen = Stalls::default();
        // Each wanted to sleep for 10 ms.
        seen.slept(at(2_010), at(2_010), measured);
        seen.slept(at(2_020), at(2_035), measured);
        assert_eq!(seen.record(), Stops::default());
        // Stopped for 90 ms beyond the nap.
        seen.slept(at(3_010), at(3_100), measured);
        // Half of it during the warm-up, and one that outlasts the measurement.
        seen.slept(at(900), at(1_200), measured);
        seen.slept(at(8_500), at(12_000), measured);
        seen.slept(at(9_510), at(9_900), measured);
        let stops = seen.record();
        assert_eq!(stops.total_ns, (90 + 200 + 500) * 1_000_000);
        assert_eq!((stops.count, stops.longest_ns), (3, 500 * 1_000_000));
    }
}
