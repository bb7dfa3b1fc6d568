//! The dirty budget: how many bytes may be unsaved, so that an announced loss of the disk loses nothing.

use loadline_units::{ByteRate, Bytes, Duration, Ratio};

/// The share of a notice that is counted on: the rest goes by until it is heard of and the last commit is acknowledged.
pub const NOTICE_SHARE: Ratio = Ratio::percent(70);

/// Bytes that can be saved within a notice.
#[must_use]
pub fn dirty_budget(notice: Duration, destination: ByteRate) -> Bytes {
    let bytes = u128::from(destination.get()) * u128::from(NOTICE_SHARE.of(notice.as_ns())) / 1_000_000_000;
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// How fast a destination takes data: what the last saves showed, the slower ones counting for more.
#[derive(Debug, Clone, Default)]
pub struct DestinationRate {
    bytes_per_s: Option<f64>,
}

/// Saves of fewer bytes show the time of a commit, not a rate.
const SHOWS_A_RATE: u64 = 1 << 20;
/// The weight of the newest save, if it was slower than those before and if it was faster.
const WEIGHT_SLOWER: f64 = 0.5;
const WEIGHT_FASTER: f64 = 0.1;

impl DestinationRate {
    /// A save took this time.
    pub fn see(&mut self, saved: Bytes, took: Duration) {
        if saved.get() < SHOWS_A_RATE || took == Duration::ZERO {
            return;
        }
        let new = saved.get() as f64 / took.as_s_f64();
        self.bytes_per_s = Some(self.bytes_per_s.map_or(new, |old| {
            let weight = if new < old { WEIGHT_SLOWER } else { WEIGHT_FASTER };
            old + weight * (new - old)
        }));
    }

    /// `None` until a save was large enough.
    #[must_use]
    pub fn get(&self) -> Option<ByteRate> {
        ByteRate::per_second(self.bytes_per_s? as u64)
    }
}

/// When the next save must begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveReason {
    /// The oldest change would otherwise pass the recovery point.
    Age,
    /// More is unsaved than fits in a notice.
    Budget,
}

/// What the decision to save rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaveQuestion {
    /// Age of the oldest unsaved change.
    pub age: Option<Duration>,
    /// Bytes unsaved.
    pub unsaved: Bytes,
    /// How old a change may become.
    pub recovery_point: Duration,
    /// How long the last save took.
    pub last_save: Duration,
    /// The dirty budget, if it is known.
    pub budget: Option<Bytes>,
}

/// Of the recovery point, the share after which a save begins at the latest, if saves take no time.
const BEGINS_AT: Ratio = Ratio::percent(50);

impl SaveQuestion {
    /// Whether a save begins now, and why.
    #[must_use]
    pub fn answer(&self) -> Option<SaveReason> {
        let age = self.age?;
        // Half of the budget: what is written while the save runs has the other half.
        if self.budget.is_some_and(|budget| self.unsaved.get() > budget.get() / 2) {
            return Some(SaveReason::Budget);
        }
        let left = self.recovery_point.saturating_sub(self.last_save);
        let begins = Duration::from_ns(BEGINS_AT.of(self.recovery_point.as_ns())).as_ns().min(left.as_ns());
        (age.as_ns() >= begins).then_some(SaveReason::Age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_what_the_destination_takes_within_a_notice() {
        let rate = ByteRate::per_second(200_000_000).unwrap();
        assert_eq!(dirty_budget(Duration::from_s(30), rate), Bytes::new(4_200_000_000));
        assert_eq!(dirty_budget(Duration::ZERO, rate), Bytes::ZERO);
        let endless = ByteRate::per_second(u64::MAX).unwrap();
        assert_eq!(dirty_budget(Duration::from_s(3_600), endless), Bytes::new(u64::MAX));
    }

    #[test]
    fn a_rate_falls_fast_and_rises_slowly() {
        let mut rate = DestinationRate::default();
        rate.see(Bytes::kib(4), Duration::from_s(1));
        assert_eq!(rate.get(), None);
        rate.see(Bytes::new(100_000_000), Duration::from_s(1));
        rate.see(Bytes::new(50_000_000), Duration::from_s(1));
        assert_eq!(rate.get().unwrap().get(), 75_000_000);
        rate.see(Bytes::new(100_000_000), Duration::from_s(1));
        assert_eq!(rate.get().unwrap().get(), 77_500_000);
    }

    #[test]
    fn a_save_begins_early_enough_for_age_and_budget() {
        let ask = |age: Option<u64>, unsaved: u64, last: u64, budget: Option<u64>| {
            SaveQuestion {
                age: age.map(Duration::from_s),
                unsaved: Bytes::new(unsaved),
                recovery_point: Duration::from_s(60),
                last_save: Duration::from_s(last),
                budget: budget.map(Bytes::new),
            }
            .answer()
        };
        assert_eq!(ask(None, 0, 0, Some(0)), None, "nothing changed, nothing is saved");
        assert_eq!(ask(Some(29), 5, 0, None), None);
        assert_eq!(ask(Some(30), 5, 0, None), Some(SaveReason::Age));
        assert_eq!(ask(Some(20), 5, 40, None), Some(SaveReason::Age), "a save of 40 s must begin by then");
        assert_eq!(ask(Some(1), 51, 0, Some(100)), Some(SaveReason::Budget));
        assert_eq!(ask(Some(1), 50, 0, Some(100)), None);
    }
}
