//! Rates: bytes per second and requests per second.

use crate::text::{self, Unit, UnitError, serde_as_text};
use crate::{Bytes, Duration, NS_PER_S};
use std::num::NonZeroU64;

/// A throughput in bytes per second; never zero ("no limit" is `None`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRate(NonZeroU64);

/// A rate of requests per second; never zero ("no limit" is `None`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iops(NonZeroU64);

const BYTE_RATE_WANTED: &str = "a throughput such as \"200 MB/s\" or \"128 MiB/s\"";
const BYTE_RATE_UNITS: &[Unit] = &[
    (&["B/s"], 1),
    (&["kB/s", "KB/s"], 1_000),
    (&["MB/s"], 1_000_000),
    (&["GB/s"], 1_000_000_000),
    (&["KiB/s"], 1 << 10),
    (&["MiB/s"], 1 << 20),
    (&["GiB/s"], 1 << 30),
];
/// From the largest: 128 MB/s is also 125,000 KiB/s, but that is unusual.
const BYTE_RATE_EXACT: &[(&str, u64)] = &[
    ("GiB/s", 1 << 30),
    ("GB/s", 1_000_000_000),
    ("MiB/s", 1 << 20),
    ("MB/s", 1_000_000),
    ("KiB/s", 1 << 10),
    ("kB/s", 1_000),
    ("B/s", 1),
];
const IOPS_WANTED: &str = "a request rate such as \"5000 IOPS\"";
const IOPS_UNITS: &[Unit] = &[(&["IOPS", "iops", "IO/s", "/s"], 1), (&["kIOPS", "KIOPS"], 1_000)];
const ZERO: &str = "zero is no rate; leave the key out for \"no limit\"";

impl ByteRate {
    /// `bytes` per second, or `None` for zero.
    #[must_use]
    pub const fn per_second(bytes: u64) -> Option<Self> {
        match NonZeroU64::new(bytes) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }
    /// Bytes per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
    /// The time that `size` takes at this rate, rounded up to a nanosecond.
    #[must_use]
    pub fn time_for(self, size: Bytes) -> Duration {
        Duration::from_ns(ceil_div(size.get(), self.get()))
    }
}

impl Iops {
    /// `requests` per second, or `None` for zero.
    #[must_use]
    pub const fn per_second(requests: u64) -> Option<Self> {
        match NonZeroU64::new(requests) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }
    /// Requests per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
    /// The time from the start to the due moment of request number `index`, exactly spread over each second.
    #[must_use]
    pub fn time_of(self, index: u64) -> Duration {
        let (seconds, rest) = (index / self.get(), index % self.get());
        let fraction = u128::from(rest) * u128::from(NS_PER_S) / u128::from(self.get());
        Duration::from_ns(
            seconds.saturating_mul(NS_PER_S).saturating_add(u64::try_from(fraction).expect("less than a second")),
        )
    }
}

/// `count * 1 s / rate` in nanoseconds, rounded up, saturating.
fn ceil_div(count: u64, rate: u64) -> u64 {
    let ns = (u128::from(count) * u128::from(NS_PER_S)).div_ceil(u128::from(rate));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

impl std::fmt::Display for ByteRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text::print_exact(f, self.get(), BYTE_RATE_EXACT)
    }
}
impl std::str::FromStr for ByteRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let rate = text::parse(text, BYTE_RATE_UNITS, BYTE_RATE_WANTED)?;
        Self::per_second(rate).ok_or_else(|| UnitError::OutOfRange { text: text.to_owned(), reason: ZERO })
    }
}
serde_as_text!(ByteRate);

impl std::fmt::Display for Iops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{} IOPS", self.get()))
    }
}
impl std::str::FromStr for Iops {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let rate = text::parse(text, IOPS_UNITS, IOPS_WANTED)?;
        Self::per_second(rate).ok_or_else(|| UnitError::OutOfRange { text: text.to_owned(), reason: ZERO })
    }
}
serde_as_text!(Iops);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_is_printed_in_the_largest_unit_that_holds_it() {
        for text in ["128 MB/s", "128 MiB/s", "10 GB/s", "1 GiB/s", "750 kB/s"] {
            assert_eq!(text.parse::<ByteRate>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn zero_is_no_rate() {
        assert!("0 IOPS".parse::<Iops>().is_err());
        assert!("0 MB/s".parse::<ByteRate>().is_err());
    }

    #[test]
    fn time_for_rounds_up() {
        let rate = ByteRate::per_second(3).unwrap();
        assert_eq!(rate.time_for(Bytes::new(1)).as_ns(), 333_333_334);
    }

    proptest! {
        #[test]
        fn rates_print_and_parse_back(rate in 1..=u64::MAX) {
            let bytes = ByteRate::per_second(rate).unwrap();
            prop_assert_eq!(bytes.to_string().parse::<ByteRate>().unwrap(), bytes);
            let iops = Iops::per_second(rate).unwrap();
            prop_assert_eq!(iops.to_string().parse::<Iops>().unwrap(), iops);
        }
        #[test]
        fn constant_arrivals_never_drift(rate in 1u64..10_000_000, index in 0u64..1_000_000_000_000) {
            let exact = u128::from(index) * 1_000_000_000 / u128::from(rate);
            let at = Iops::per_second(rate).unwrap().time_of(index);
            prop_assert_eq!(u128::from(at.as_ns()), exact);
        }
    }
}
