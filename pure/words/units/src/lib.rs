//! Quantities that carry their unit: sizes, rates, times and shares, with exact integer arithmetic.
//!
//! Text always carries its unit and parsing demands one. `Display` is exact, so that what is printed parses back to the
//! same value; `human()` rounds for people.

mod amount;
mod date;
mod prefix;
mod rate;
mod ratio;
mod text;
mod time;
pub mod words;

pub use amount::Bytes;
pub use date::{Date, NotATime, NotATimestamp, Timestamp, TypedTime};
pub use prefix::without_prefixes;
pub use rate::{ByteRate, Iops};
pub use ratio::{Growth, Ratio, percent_places};
pub use text::UnitError;
pub use time::{Duration, Instant};

/// Sizes and offsets of block devices are multiples of this, and the kernel counts in it.
pub const SECTOR: Bytes = Bytes::new(512);

/// Nanoseconds in one second.
pub const NS_PER_S: u64 = 1_000_000_000;
