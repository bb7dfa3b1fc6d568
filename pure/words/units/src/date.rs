//! Points in time and the days of the calendar: RFC 3339 with up to nine digits of a second.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Seconds since 1970 in UTC, and nanoseconds into the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds of the second: 0 to 999,999,999.
    pub nanoseconds: u32,
}

const DAY: i64 = 86_400;
/// The years that text of four digits can have.
const SECONDS_MIN: i64 = -62_167_219_200;
const SECONDS_MAX: i64 = 253_402_300_799;

impl Timestamp {
    /// A point in time, moved into the years 0 to 9999, which the format can write.
    #[must_use]
    pub fn new(seconds: i64, nanoseconds: u32) -> Self {
        Self { seconds: seconds.clamp(SECONDS_MIN, SECONDS_MAX), nanoseconds: nanoseconds.min(999_999_999) }
    }

    /// A whole second after the beginning of 1970.
    #[must_use]
    pub fn from_unix_s(seconds: u64) -> Self {
        Self::new(i64::try_from(seconds).unwrap_or(SECONDS_MAX), 0)
    }

    /// Nanoseconds from this point to a later one; 0 if it is not later.
    #[must_use]
    pub fn nanoseconds_until(self, later: Self) -> u128 {
        let whole = |at: Self| i128::from(at.seconds) * 1_000_000_000 + i128::from(at.nanoseconds);
        u128::try_from(whole(later) - whole(self)).unwrap_or(0)
    }
}

/// A day of the Gregorian calendar that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Date {
    /// A day of a month, both counted from 1; `None` of days that no calendar has, such as 31 February.
    #[must_use]
    pub fn new(year: i64, month: i64, day: i64) -> Option<Self> {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        (1..=length).contains(&day).then_some(Self { year, month, day })
    }

    /// The day of a text such as `2026-01-31`.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let mut parts = text.split('-').map(|part| part.parse().ok().filter(|_| part.as_bytes()[0].is_ascii_digit()));
        let date = Self::new(parts.next()??, parts.next()??, parts.next()??);
        date.filter(|_| parts.next().is_none())
    }

    /// Days since 1970 (Howard Hinnant, `days_from_civil`: the year begins in March).
    #[must_use]
    pub fn days(self) -> i64 {
        let Self { year, month, day } = self;
        let year = year - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Seconds from 1970 to a time of this day in UTC; `None` of a time that no clock shows.
    #[must_use]
    pub fn unix_s(self, hour: i64, minute: i64, second: i64) -> Option<i64> {
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
        is_time.then(|| self.days() * DAY + hour * 3_600 + minute * 60 + second)
    }
}

/// The day so many days after 1970 began (Howard Hinnant, `civil_from_days`).
fn civil(days: i64) -> Date {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    Date { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Date { year, month, day } = civil(self.seconds.div_euclid(DAY));
        let second = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanoseconds > 0 {
            let digits = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a time by RFC 3339")]
pub struct NotATimestamp;

impl FromStr for Timestamp {
    type Err = NotATimestamp;
    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        let bytes = text.as_bytes();
        let number = |from: usize, length: usize| -> Option<i64> {
            let digits = bytes.get(from..from + length)?;
            digits.iter().try_fold(0, |value, digit| Some(value * 10 + i64::from(char::from(*digit).to_digit(10)?)))
        };
        let parse = || -> Option<Self> {
            let places = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
            if places.iter().any(|(place, sign)| bytes.get(*place) != Some(sign)) {
                return None;
            }
            let date = Date::new(number(0, 4)?, number(5, 2)?, number(8, 2)?)?;
            let local = date.unix_s(number(11, 2)?, number(14, 2)?, number(17, 2)?)?;
            let mut rest = &bytes[19..];
            let mut nanoseconds = 0;
            if let [b'.', fraction @ ..] = rest {
                let length = fraction.iter().take_while(|digit| digit.is_ascii_digit()).count();
                if length == 0 {
                    return None;
                }
                let digits = fraction[..length].iter().chain(std::iter::repeat(&b'0')).take(9);
                nanoseconds = digits.fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
                rest = &fraction[length..];
            }
            let offset = match rest {
                [b'Z'] => 0,
                [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
                    let from = bytes.len() - 5;
                    let seconds = number(from, 2)? * 3600 + number(from + 3, 2)? * 60;
                    if *sign == b'+' { seconds } else { -seconds }
                }
                _ => return None,
            };
            Some(Self::new(local - offset, nanoseconds))
        };
        parse().ok_or(NotATimestamp)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time by RFC 3339")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_written_as_go_writes_them() {
        for (text, seconds, nanoseconds) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2026-11-26T14:15:00.5Z", 1_795_702_500, 500_000_000),
            ("1969-12-31T23:59:59.000000001Z", -1, 1),
            ("0000-01-01T00:00:00Z", SECONDS_MIN, 0),
            ("9999-12-31T23:59:59.999999999Z", SECONDS_MAX, 999_999_999),
        ] {
            let at = Timestamp { seconds, nanoseconds };
            assert_eq!((at.to_string(), text.parse()), (text.to_owned(), Ok(at)));
        }
        let there = "2026-11-26T15:15:00.5+01:00".parse();
        assert_eq!(there, "2026-11-26T14:15:00.500Z".parse::<Timestamp>());
        for wrong in [
            "",
            "2026-11-26",
            "2026-11-26T14:15:00",
            "2026-13-26T14:15:00Z",
            "2026-11-26T14:15:00.Z",
            "2026-02-31T14:15:00Z",
        ] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_time_comes_back(seconds in SECONDS_MIN..=SECONDS_MAX, nanoseconds in 0..1_000_000_000_u32) {
            let at = Timestamp::new(seconds, nanoseconds);
            prop_assert_eq!(at.to_string().parse(), Ok(at));
        }
        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<Timestamp>();
        }
    }
}
