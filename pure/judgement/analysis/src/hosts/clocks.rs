//! Clocks of hosts, compared by messages: how far one is ahead, how well that is known, and how it drifts.
//!
//! A message to a host and its answer bound the offset on both sides, since neither arrives before it is sent. So the error is half of
//! the time that the messages took on their way, whatever the network does (D. Mills, RFC 5905, section 8; the bound does not assume that
//! both ways take as long).

use serde::{Deserialize, Serialize};

/// How fast a clock may drift that was compared once: quartz without discipline, with a margin.
const DRIFT_MAX_PPM: u64 = 100;

/// A message to a host and its answer. The first and the last time are by the clock at home, the others by the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockExchange {
    /// When the message was sent.
    pub sent_ns: u64,
    /// When it arrived.
    pub received_ns: u64,
    /// When the answer was sent.
    pub answered_ns: u64,
    /// When that arrived.
    pub back_ns: u64,
}

/// What a comparison of a host's clock came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// When, by the clock at home, ns since 1970.
    pub at_unix_ns: u64,
    /// How far the host's clock is ahead, ns.
    pub offset_ns: i64,
    /// The offset is within this of the truth, ns.
    pub error_ns: u64,
    /// Exchanges from which the best was taken.
    pub exchanges: u32,
}

/// A host's clock at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockState {
    /// How far it is ahead, ns.
    pub offset_ns: i64,
    /// Within this of the truth, ns.
    pub error_ns: u64,
    /// How fast it goes ahead, in 10^-9; `None` where it was compared once.
    pub drift_ppb: Option<i64>,
}

impl ClockExchange {
    /// The time on the way, both ways together.
    fn on_the_way_ns(&self) -> Option<u64> {
        let (all, there) = (self.back_ns.checked_sub(self.sent_ns)?, self.answered_ns.checked_sub(self.received_ns)?);
        all.checked_sub(there)
    }
}

impl ClockReading {
    /// The best of these exchanges: the one that took least time on its way. `None` without one in which clocks went forward.
    #[must_use]
    pub fn best_of(exchanges: &[ClockExchange]) -> Option<Self> {
        let (way_ns, best) = exchanges
            .iter()
            .filter_map(|exchange| Some((exchange.on_the_way_ns()?, exchange)))
            .min_by_key(|(way_ns, _)| *way_ns)?;
        let ahead = |there: u64, here: u64| i128::from(there) - i128::from(here);
        let (most, least) = (ahead(best.received_ns, best.sent_ns), ahead(best.answered_ns, best.back_ns));
        Some(Self {
            at_unix_ns: best.sent_ns.midpoint(best.back_ns),
            offset_ns: i64::try_from((most + least).div_euclid(2)).ok()?,
            // Halves are rounded away from the truth.
            error_ns: way_ns.div_ceil(2) + 1,
            exchanges: exchanges.len() as u32,
        })
    }
}

/// The clock at a moment of the time at home, from readings in any order. `None` without one.
///
/// Between two readings the clock is taken to go evenly. Before the first and after the last the error grows by how well the drift is known.
#[must_use]
pub fn clock_at(readings: &[ClockReading], at_unix_ns: u64) -> Option<ClockState> {
    let mut sorted: Vec<&ClockReading> = readings.iter().collect();
    sorted.sort_by_key(|reading| reading.at_unix_ns);
    sorted.dedup_by_key(|reading| reading.at_unix_ns);
    let place = sorted.partition_point(|reading| reading.at_unix_ns < at_unix_ns);
    let (before, after) = match sorted.as_slice() {
        [] => return None,
        [only] => {
            let passed = at_unix_ns.abs_diff(only.at_unix_ns);
            let error_ns = only.error_ns + passed / 1_000_000 * DRIFT_MAX_PPM + 1;
            return Some(ClockState { offset_ns: only.offset_ns, error_ns, drift_ppb: None });
        }
        all => {
            let second = place.clamp(1, all.len() - 1);
            (all[second - 1], all[second])
        }
    };
    let span = i128::from(after.at_unix_ns - before.at_unix_ns);
    let moved = i128::from(after.offset_ns) - i128::from(before.offset_ns);
    let passed = i128::from(at_unix_ns) - i128::from(before.at_unix_ns);
    let offset = i128::from(before.offset_ns) + (moved * passed).div_euclid(span);
    let beyond = if passed < 0 { -passed } else { (passed - span).max(0) };
    let drift_error = i128::from(before.error_ns + after.error_ns) * beyond / span;
    let own = i128::from(before.error_ns.max(after.error_ns));
    Some(ClockState {
        offset_ns: i64::try_from(offset).ok()?,
        error_ns: u64::try_from(own + drift_error + 1).ok()?,
        drift_ppb: i64::try_from((moved * 1_000_000_000).div_euclid(span)).ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A clock that was `offset_ns` ahead at home's time 0 and goes ahead by `drift_ppb`.
    #[derive(Debug, Clone, Copy)]
    struct Truth {
        offset_ns: i64,
        drift_ppb: i64,
    }

    /// Home's clock in the tests, ns since 1970.
    const HOME: u64 = 1_800_000_000_000_000_000;

    impl Truth {
        fn ahead_at(self, home_ns: u64) -> i64 {
            let passed = i128::from(home_ns - HOME);
            self.offset_ns + (passed * i128::from(self.drift_ppb)).div_euclid(1_000_000_000) as i64
        }
        fn shows(self, home_ns: u64) -> u64 {
            home_ns.checked_add_signed(self.ahead_at(home_ns)).unwrap()
        }
        /// An exchange that begins at a moment, with the times of the two ways and of the answer.
        fn exchange(self, at_ns: u64, (there, answer, back): (u64, u64, u64)) -> ClockExchange {
            let sent_ns = HOME + at_ns;
            ClockExchange {
                sent_ns,
                received_ns: self.shows(sent_ns + there),
                answered_ns: self.shows(sent_ns + there + answer),
                back_ns: sent_ns + there + answer + back,
            }
        }
    }

    /// Ways of a network: mostly short, never even, now and then long.
    fn ways() -> impl Strategy<Value = (u64, u64, u64)> {
        let way = || prop_oneof![9 => 5_000u64..300_000, 1 => 300_000u64..50_000_000];
        (way(), 100u64..20_000, way())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn the_truth_is_within_the_error(
            hours in -100i64..100,
            own_ns in -1_000_000_000i64..1_000_000_000,
            drift_ppb in -500_000i64..500_000,
            ways in prop::collection::vec(ways(), 2..60),
            later_s in 10u64..7_200,
            share in 0.0f64..1.0,
        ) {
            let truth = Truth { offset_ns: hours * 3_600_000_000_000 + own_ns, drift_ppb };
            let exchanged = |begin: u64| {
                let mut at = begin;
                let all: Vec<ClockExchange> = ways
                    .iter()
                    .map(|ways| {
                        let exchange = truth.exchange(at, *ways);
                        at += ways.0 + ways.1 + ways.2 + 1_000;
                        exchange
                    })
                    .collect();
                ClockReading::best_of(&all).unwrap()
            };
            let readings = [exchanged(0), exchanged(later_s * 1_000_000_000)];
            let is_within = |state: ClockState, at: u64, slack_ns: u64| {
                let off = i128::from(state.offset_ns) - i128::from(truth.ahead_at(at));
                off.unsigned_abs() <= u128::from(state.error_ns + slack_ns)
            };
            for reading in readings {
                let state = ClockState { offset_ns: reading.offset_ns, error_ns: reading.error_ns, drift_ppb: None };
                // While a message was on its way the clock drifted, too: by 500 ppm of 100 ms at most.
                prop_assert!(is_within(state, reading.at_unix_ns, reading.error_ns / 1_000), "{reading:?} {truth:?}");
            }
            let span = readings[1].at_unix_ns - readings[0].at_unix_ns;
            let between = readings[0].at_unix_ns + (span as f64 * share) as u64;
            let state = clock_at(&readings, between).unwrap();
            prop_assert!(is_within(state, between, state.error_ns / 1_000), "{state:?} {truth:?}");
            let beyond = readings[1].at_unix_ns + span / 2;
            let state = clock_at(&readings, beyond).unwrap();
            prop_assert!(is_within(state, beyond, state.error_ns / 1_000), "{state:?} {truth:?}");
            let told = state.drift_ppb.unwrap();
            let drift_error = i128::from(readings[0].error_ns + readings[1].error_ns) * 1_000_000_000 / i128::from(span);
            prop_assert!(i128::from((told - drift_ppb).unsigned_abs()) <= drift_error + 2, "{told} {drift_ppb}");
        }
    }

    #[test]
    fn one_reading_is_known_worse_the_longer_ago_it_is() {
        let reading = ClockReading { at_unix_ns: HOME, offset_ns: 5_000, error_ns: 200, exchanges: 3 };
        let at = |s: u64| clock_at(&[reading], HOME + s * 1_000_000_000).unwrap().error_ns;
        assert_eq!((at(0), at(10)), (201, 201 + 1_000_000));
        assert_eq!(clock_at(&[], HOME), None);
    }

    #[test]
    fn exchanges_in_which_a_clock_went_back_are_left_out() {
        let good = ClockExchange { sent_ns: 1_000, received_ns: 5_000, answered_ns: 5_010, back_ns: 1_110 };
        let back = ClockExchange { sent_ns: 900, received_ns: 5_000, answered_ns: 5_010, back_ns: 905 };
        let reading = ClockReading::best_of(&[back, good]).unwrap();
        assert_eq!((reading.offset_ns, reading.error_ns), (3_950, 51));
        assert_eq!(ClockReading::best_of(&[back]), None);
    }
}
