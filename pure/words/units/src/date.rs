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

/// A time as people type it, in UTC: "03:10", "03:10:12", "2026-11-28", "2026-11-28 03:10", or by RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedTime {
    /// Days since 1970; `None`: of any day.
    day: Option<i64>,
    /// Into the day, s.
    second: i64,
    /// How exactly it was typed: a second, a minute or a day, s.
    length_s: u64,
}

impl TypedTime {
    /// A second after the beginning of 1970.
    #[must_use]
    pub fn from_unix_s(seconds: u64) -> Self {
        let seconds = Timestamp::from_unix_s(seconds).seconds;
        Self { day: Some(seconds.div_euclid(DAY)), second: seconds.rem_euclid(DAY), length_s: 1 }
    }

    /// How long what was typed is: "03:10" is a minute, s.
    #[must_use]
    pub const fn length_s(self) -> u64 {
        self.length_s
    }

    fn on(self, day: i64) -> Option<u64> {
        u64::try_from(day * DAY + self.second).ok()
    }

    /// The latest such time that is not after `now` and of which `holds` is true, seconds since 1970. Days are looked at for `days` back.
    pub fn latest(self, now_unix_s: u64, days: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
        if let Some(day) = self.day {
            return self.on(day).filter(|at| holds(*at));
        }
        let today = Timestamp::from_unix_s(now_unix_s).seconds.div_euclid(DAY);
        let back = (0..=i64::try_from(days).unwrap_or(i64::MAX - today)).map_while(|back| self.on(today - back));
        back.filter(|at| *at <= now_unix_s).find(|at| holds(*at))
    }

    /// The first such time that is not before another.
    #[must_use]
    pub fn first_after(self, unix_s: u64) -> Option<u64> {
        let day = Timestamp::from_unix_s(unix_s).seconds.div_euclid(DAY);
        match self.day {
            Some(own) => self.on(own).filter(|at| *at >= unix_s),
            None => self.on(day).filter(|at| *at >= unix_s).or_else(|| self.on(day + 1)),
        }
    }
}

/// Text that is no time of a day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write a time in UTC, such as 03:10, 03:10:12 or \"2026-11-28 03:10\"")]
pub struct NotATime;

impl FromStr for TypedTime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let text = text.trim();
        if let Ok(Timestamp { seconds, .. }) = text.parse() {
            return Ok(Self { day: Some(seconds.div_euclid(DAY)), second: seconds.rem_euclid(DAY), length_s: 1 });
        }
        let (day, time) = match text.split_once([' ', 'T']) {
            Some((day, time)) => (Some(Date::of_text(day).ok_or(NotATime)?), time.trim()),
            None => match Date::of_text(text) {
                Some(day) => return Ok(Self { day: Some(day.days()), second: 0, length_s: DAY.unsigned_abs() }),
                None => (None, text),
            },
        };
        let number = |part: &str| {
            let is_plain = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<i64>().ok().filter(|_| is_plain).ok_or(NotATime)
        };
        let mut parts = time.split(':');
        let (hour, minute) = (number(parts.next().unwrap_or_default())?, number(parts.next().unwrap_or_default())?);
        let second = parts.next().map(number).transpose()?;
        let is_time = hour < 24 && minute < 60 && second.is_none_or(|second| second < 60) && parts.next().is_none();
        let day = day.map(Date::days);
        let length_s = if second.is_some() { 1 } else { 60 };
        let typed = Self { day, second: hour * 3_600 + minute * 60 + second.unwrap_or(0), length_s };
        if is_time { Ok(typed) } else { Err(NotATime) }
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

    #[test]
    fn a_time_of_day_is_the_latest_that_was_and_the_first_that_follows() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap().seconds.unsigned_abs();
        let typed = |text: &str| text.parse::<TypedTime>().unwrap();
        let now = at("2026-11-29T02:00:00Z");
        let latest = |text: &str| typed(text).latest(now, 7, |_| true);
        assert_eq!(latest("03:10"), Some(at("2026-11-28T03:10:00Z")));
        assert_eq!(latest("01:59:59"), Some(at("2026-11-29T01:59:59Z")));
        assert_eq!(latest("2026-11-20 03:10"), Some(at("2026-11-20T03:10:00Z")));
        assert_eq!(latest("2026-11-20T03:10:05+01:00"), Some(at("2026-11-20T02:10:05Z")));
        let before = |held: u64| typed("03:10").latest(now, 7, |at| at < held);
        assert_eq!(before(at("2026-11-26T00:00:00Z")), Some(at("2026-11-25T03:10:00Z")));
        assert_eq!(before(at("2026-11-20T00:00:00Z")), None);
        let since = at("2026-11-28T23:50:00Z");
        assert_eq!(typed("00:05").first_after(since), Some(at("2026-11-29T00:05:00Z")));
        assert_eq!(typed("2026-11-29").first_after(since), Some(at("2026-11-29T00:00:00Z")));
        assert_eq!(typed("2026-11-28 23:00").first_after(since), None);
        assert_eq!(["03:10", "3:10:00", "2026-11-28"].map(|text| typed(text).length_s()), [60, 1, 86_400]);
        for wrong in ["", "3", "24:00", "03:60", "03:10:60", "2026-02-31 03:10", "03:10:00:00", "-3:10", "last night"] {
            assert!(wrong.parse::<TypedTime>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_typed_time_panics(text: String, now: u32) {
            if let Ok(typed) = text.parse::<TypedTime>() {
                let _ = (typed.latest(u64::from(now), 400, |at| at % 2 == 0), typed.first_after(u64::from(now)));
            }
        }
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
