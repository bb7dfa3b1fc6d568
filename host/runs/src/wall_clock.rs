//! The wall clock and chance: when a run began, its id, and a seed for one that names none.

use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

/// An instant in UTC, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcTime {
    year: i64,
    month: u32,
    day: u32,
    second_of_day: u64,
}

impl UtcTime {
    /// Now, by the wall clock.
    #[must_use]
    pub fn now() -> Self {
        Self::from_unix_s(unix_s())
    }

    /// Civil date of a day count, as in Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (`civil_from_days`).
    #[must_use]
    pub fn from_unix_s(seconds: u64) -> Self {
        let days = (seconds / 86_400).cast_signed() + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * shifted + 2) / 5 + 1) as u32;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 } as u32;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day, second_of_day: seconds % 86_400 }
    }
    /// RFC 3339: `2026-01-31T14:22:33Z`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        let (h, m, s) = self.clock();
        format!("{:04}-{:02}-{:02}T{h:02}:{m:02}:{s:02}Z", self.year, self.month, self.day)
    }
    /// `20260131-142233`, with which run ids begin.
    #[must_use]
    pub fn compact(self) -> String {
        let (h, m, s) = self.clock();
        format!("{:04}{:02}{:02}-{h:02}{m:02}{s:02}", self.year, self.month, self.day)
    }
    fn clock(self) -> (u64, u64, u64) {
        (self.second_of_day / 3_600, self.second_of_day / 60 % 60, self.second_of_day % 60)
    }
}

/// Now, in seconds since 1970.
#[must_use]
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_secs())
}

/// Characters of every run's id.
pub const RUN_ID_LENGTH: usize = "20260131-142233-abcdef".len();

/// A new run's id: sorts by start, unique on this machine and most likely everywhere.
#[must_use]
pub fn run_id(started: UtcTime) -> String {
    format!("{}-{:06x}", started.compact(), chance() & 0xff_ffff)
}

/// A seed for a run that names none. Small enough to be typed again.
#[must_use]
pub fn fresh_seed() -> u64 {
    chance() & 0xffff_ffff
}

/// A number that differs from call to call: the standard library keys its hashers from the system's source of randomness.
fn chance() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_civil_dates() {
        assert_eq!(UtcTime::from_unix_s(0).rfc3339(), "1970-01-01T00:00:00Z");
        assert_eq!(UtcTime::from_unix_s(1_709_210_096).rfc3339(), "2024-02-29T12:34:56Z");
        assert_eq!(UtcTime::from_unix_s(4_102_444_799).compact(), "20991231-235959");
    }

    #[test]
    fn ids_begun_in_the_same_second_differ() {
        let started = UtcTime::from_unix_s(0);
        assert_ne!(run_id(started), run_id(started));
        assert!(run_id(started).starts_with("19700101-000000-"));
        assert_eq!(run_id(started).len(), RUN_ID_LENGTH);
    }
}
