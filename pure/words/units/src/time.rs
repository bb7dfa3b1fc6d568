//! Points in time and spans, in nanoseconds of the caller's clock.

use crate::NS_PER_S;
use crate::text::{self, Unit, UnitError, serde_as_text};

/// A point in time: nanoseconds since the origin of a clock (the machine's monotonic clock, or virtual time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

/// A span of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

const WANTED: &str = "a time such as \"20 ms\", \"60 s\" or \"2 h\"";
const UNITS: &[Unit] = &[
    (&["ns"], 1),
    (&["us", "µs", "μs"], 1_000),
    (&["ms"], 1_000_000),
    (&["s", "sec"], NS_PER_S),
    (&["min", "m"], 60 * NS_PER_S),
    (&["h"], 3_600 * NS_PER_S),
    (&["d"], 86_400 * NS_PER_S),
];
const EXACT: &[(&str, u64)] =
    &[("h", 3_600 * NS_PER_S), ("min", 60 * NS_PER_S), ("s", NS_PER_S), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// Later than any other.
    pub const MAX: Self = Self(u64::MAX);

    /// `ns` after the origin.
    #[must_use]
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }
    /// Nanoseconds since the origin.
    #[must_use]
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// The span since `earlier`, or zero when that is later.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds.
    #[must_use]
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }
    /// `us` microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }
    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// `s` seconds.
    #[must_use]
    pub const fn from_s(s: u64) -> Self {
        Self(s * NS_PER_S)
    }
    /// Nanoseconds.
    #[must_use]
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// Seconds, for statistics and printing.
    #[must_use]
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }
    /// The difference, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Three significant digits, for people: "1.25 ms".
    #[must_use]
    pub fn human(self) -> String {
        human_ns(self.0 as f64)
    }
    /// Hours, minutes and seconds for a person who waits: "1 h 02 min" (the nearest minute), "3 min 20 s", "45 s".
    #[must_use]
    pub fn clock(self) -> String {
        let s = self.0.div_ceil(NS_PER_S);
        match (s / 60, s % 60) {
            (0, s) => format!("{s} s"),
            (m @ ..60, s) => format!("{m} min {s:02} s"),
            (m, s) => {
                let m = m + u64::from(s >= 30);
                format!("{} h {:02} min", m / 60, m % 60)
            }
        }
    }
}

/// Three significant digits of a span given in nanoseconds.
fn human_ns(ns: f64) -> String {
    const HUMAN: &[(&str, f64)] = &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
    text::human(ns, HUMAN)
}

impl std::ops::Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}
impl std::ops::Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl std::ops::Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}
impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, |a, b| a + b)
    }
}
impl From<Duration> for std::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}
impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text::print_exact(f, self.0, EXACT)
    }
}
impl std::str::FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::parse(text, UNITS, WANTED).map(Self)
    }
}
serde_as_text!(Duration);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_read_as_people_say_them() {
        assert_eq!(Duration::from_us(1250).human(), "1.25 ms");
        assert_eq!(Duration::from_s(200).clock(), "3 min 20 s");
        assert_eq!(Duration::from_s(3_599).clock(), "59 min 59 s");
        assert_eq!(Duration::from_s(7_199).clock(), "2 h 00 min");
        assert_eq!(Duration::from_s(3_749).clock(), "1 h 02 min");
        assert_eq!(Duration::from_ns(0).to_string(), "0 ns");
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(ns in any::<u64>()) {
            let span = Duration::from_ns(ns);
            prop_assert_eq!(span.to_string().parse::<Duration>().unwrap(), span);
        }
    }

    #[test]
    fn minutes_may_be_written_as_people_type_them() {
        for text in ["5m", "5 min", "300 s"] {
            assert_eq!(text.parse::<Duration>().unwrap(), Duration::from_s(300), "{text}");
        }
    }
}
