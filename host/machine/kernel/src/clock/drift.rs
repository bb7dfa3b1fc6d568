//! Whether the kernel's clocks ran alike over a span.

use super::read;
use crate::facts::clock_source;
use loadline_record::ClockCheck;
use loadline_units::Duration;

/// The kernel's clocks at about the same instant, ns.
#[derive(Debug, Clone, Copy)]
pub struct ClockReadings {
    /// Disciplined by NTP, never set.
    monotonic: i64,
    /// The hardware's own rate.
    raw: i64,
    /// Wall clock.
    realtime: i64,
}

impl ClockReadings {
    /// Reads each clock between two readings of the monotonic one; of a few attempts, the one least disturbed counts.
    #[must_use]
    pub fn read() -> Self {
        const ATTEMPTS: u32 = 5;
        let ns = |clock| read(clock).cast_signed();
        let attempt = || {
            let first = ns(libc::CLOCK_MONOTONIC);
            let (raw, realtime) = (ns(libc::CLOCK_MONOTONIC_RAW), ns(libc::CLOCK_REALTIME));
            let width = ns(libc::CLOCK_MONOTONIC) - first;
            (width, Self { monotonic: first + width / 2, raw, realtime })
        };
        let mut best = attempt();
        for _ in 1..ATTEMPTS {
            let next = attempt();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// Time between these readings and `earlier` ones, by the monotonic clock.
    #[must_use]
    pub fn elapsed_since(&self, earlier: &Self) -> Duration {
        Duration::from_ns((self.monotonic - earlier.monotonic).max(0).cast_unsigned())
    }

    /// How the clocks ran against each other since `earlier`; `None` after less than 10 ms, where jitter would pass for drift.
    #[must_use]
    pub fn check_since(&self, earlier: &Self) -> Option<ClockCheck> {
        // Below this the readings' own jitter (some 100 ns) would pass for drift of more than 10 ppm.
        const SPAN_MIN_NS: i64 = 10_000_000;
        let raw = self.raw - earlier.raw;
        let monotonic = self.monotonic - earlier.monotonic;
        (raw >= SPAN_MIN_NS).then(|| ClockCheck {
            source: clock_source(),
            drift_ppm: (monotonic - raw) as f64 * 1e6 / raw as f64,
            wall_step_ns: self.realtime - earlier.realtime - monotonic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_and_steps_of_the_wall_clock_are_found_over_a_span_that_is_long_enough() {
        let before = ClockReadings { monotonic: 0, raw: 0, realtime: 1_000 };
        let at = |monotonic, raw, realtime| ClockReadings { monotonic, raw, realtime };
        let check = at(20_000_400, 20_000_000, 21_000_400).check_since(&before).unwrap();
        assert!((check.drift_ppm - 20.0).abs() < 1e-9, "{check:?}");
        assert_eq!(check.wall_step_ns, 999_000);
        assert_eq!(at(9_000_000, 9_000_000, 9_000_000).check_since(&before), None, "too short");
    }

    #[test]
    fn the_clocks_of_this_machine_go_on() {
        let before = ClockReadings::read();
        std::thread::sleep(std::time::Duration::from_millis(11));
        let after = ClockReadings::read();
        assert!(after.elapsed_since(&before) >= Duration::from_ms(11));
        assert!(after.check_since(&before).is_some());
    }
}
