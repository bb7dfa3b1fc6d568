//! The time at which hosts that run the same plan begin together.

use loadline_units::{NS_PER_S, Timestamp};
use std::str::FromStr;

/// A wall-clock time in UTC: `2026-01-31T14:22:33Z`, with fractions of a second if wanted, or `@1769869353` in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    unix_ns: u64,
}

/// A text that is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a time in UTC, as in 2026-01-31T14:22:33Z, or seconds since 1970, as in @1769869353")]
pub struct StartTimeError;

impl StartTime {
    /// So many nanoseconds after the beginning of 1970.
    #[must_use]
    pub const fn from_unix_ns(unix_ns: u64) -> Self {
        Self { unix_ns }
    }

    /// Nanoseconds after the beginning of 1970.
    #[must_use]
    pub const fn unix_ns(self) -> u64 {
        self.unix_ns
    }
}

impl FromStr for StartTime {
    type Err = StartTimeError;

    fn from_str(text: &str) -> Result<Self, StartTimeError> {
        let found = match text.strip_prefix('@') {
            Some(seconds) => nanoseconds(seconds),
            None => civil(text),
        };
        found.map(Self::from_unix_ns).ok_or(StartTimeError)
    }
}

/// Seconds of at most twelve digits before the point, and nine behind it.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str, most: usize| {
        !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(whole, 12) || !is_number(fraction, 9) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(NS_PER_S)?.checked_add(fraction)
}

/// A time in UTC as RFC 3339 writes it, not before 1970.
fn civil(text: &str) -> Option<u64> {
    let at: Timestamp = text.replacen(' ', "T", 1).parse().ok().filter(|_| text.ends_with('Z'))?;
    u64::try_from(at.seconds).ok()?.checked_mul(NS_PER_S)?.checked_add(at.nanoseconds.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_printed() {
        for seconds in [0, 951_827_696, 1_709_210_096, 4_102_444_799] {
            let text = Timestamp::from_unix_s(seconds).to_string();
            assert_eq!(text.parse::<StartTime>(), Ok(StartTime::from_unix_ns(seconds * NS_PER_S)), "{text}");
        }
        let half = Ok(StartTime::from_unix_ns(1_709_210_096_500_000_000));
        assert_eq!("2024-02-29T12:34:56.5Z".parse::<StartTime>(), half);
        assert_eq!("@1709210096.5".parse::<StartTime>(), half);
    }

    #[test]
    fn what_is_no_time_in_utc_is_refused() {
        for text in [
            "",
            "14:00",
            "2026-02-29T00:00:00Z",
            "2026-02-31T00:00:00Z",
            "2026-01-31T14:22:33",
            "2026-1-31T14:22:33Z",
            "@",
            "@-5",
        ] {
            assert_eq!(text.parse::<StartTime>(), Err(StartTimeError), "{text:?}");
        }
    }
}
