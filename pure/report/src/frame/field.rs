//! Typed figures of a table: each present or missing.

use loadline_units::Timestamp;

/// A figure; `None` if it is missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FrameField {
    /// Words.
    Text(Option<String>),
    /// A finite number.
    Float(Option<f64>),
    /// A count.
    Whole(Option<u64>),
    /// Whether.
    Flag(Option<bool>),
    /// A point in time.
    Moment(Option<Moment>),
}

/// A point in time: microseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970.
    pub unix_us: i64,
}

impl Moment {
    /// Of a text such as `2026-01-31T14:22:33Z`; `None` if it is something else.
    pub(crate) fn of_rfc3339(text: &str) -> Option<Self> {
        let at: Timestamp = text.parse().ok()?;
        Some(Self { unix_us: at.seconds * 1_000_000 + i64::from(at.nanoseconds / 1_000) })
    }
}

impl std::fmt::Display for Moment {
    /// RFC 3339 in UTC, to the second.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Timestamp::new(self.unix_us.div_euclid(1_000_000), 0))
    }
}
