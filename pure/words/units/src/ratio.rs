//! Shares of a whole.

use crate::text::{self, Unit, UnitError, serde_as_text};

/// A share from 0 to 100 %, in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u32);

const WHOLE: u32 = 1_000_000;
const WANTED: &str = "a share such as \"70 %\"";
const UNITS: &[Unit] = &[(&["%"], 10_000), (&["ppm"], 1)];

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// Everything.
    pub const ONE: Self = Self(WHOLE);

    /// `count` percent; at most 100.
    ///
    /// # Panics
    /// Above 100.
    #[must_use]
    pub const fn percent(count: u32) -> Self {
        assert!(count <= 100, "a share is at most 100 %");
        Self(count * 10_000)
    }
    /// `count` parts per million, or `None` above a million.
    #[must_use]
    pub const fn ppm(count: u32) -> Option<Self> {
        if count <= WHOLE { Some(Self(count)) } else { None }
    }
    /// Parts per million.
    #[must_use]
    pub const fn as_ppm(self) -> u32 {
        self.0
    }
    /// From 0.0 to 1.0.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }
    /// The rest of the whole.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(WHOLE - self.0)
    }
    /// This share of `count`, rounded down.
    #[must_use]
    pub fn of(self, count: u64) -> u64 {
        let part = u128::from(count) * u128::from(self.0) / u128::from(WHOLE);
        u64::try_from(part).expect("a share of a u64 is a u64")
    }
    /// The threshold below which a uniform 32-bit number falls with this probability.
    #[must_use]
    pub fn threshold(self) -> u64 {
        (u64::from(self.0) << 32) / u64::from(WHOLE)
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        percent(u64::from(self.0), f)
    }
}

/// Writes parts per million in percent.
fn percent(ppm: u64, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let (whole, part) = (ppm / 10_000, ppm % 10_000);
    if part == 0 {
        return f.pad(&format!("{whole} %"));
    }
    let digits = format!("{part:04}");
    f.pad(&format!("{whole}.{} %", digits.trim_end_matches('0')))
}
impl std::str::FromStr for Ratio {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let ppm = text::parse(text, UNITS, WANTED)?;
        u32::try_from(ppm)
            .ok()
            .and_then(Self::ppm)
            .ok_or_else(|| UnitError::OutOfRange { text: text.to_owned(), reason: "a share is at most 100 %" })
    }
}
serde_as_text!(Ratio);

/// How much more something becomes, in parts per million of its size now: 100 % is twice as much. At most 100,000 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Growth(u64);

impl Growth {
    /// Nothing more.
    pub const ZERO: Self = Self(0);
    const MOST: u64 = 1_000 * WHOLE as u64;

    /// In parts of its size now: 1.5 for 150 %.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / f64::from(WHOLE)
    }
    /// What comes on top of `count`, rounded down; at most what a `u64` holds.
    #[must_use]
    pub fn of(self, count: u64) -> u64 {
        let part = u128::from(count) * u128::from(self.0) / u128::from(WHOLE);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

impl std::fmt::Display for Growth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        percent(self.0, f)
    }
}
impl std::str::FromStr for Growth {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let ppm = text::parse(text, UNITS, "how much more in percent, such as \"20 %\"")?;
        let out = || UnitError::OutOfRange { text: text.to_owned(), reason: "a growth is at most 100000 %" };
        (ppm <= Self::MOST).then_some(Self(ppm)).ok_or_else(out)
    }
}
serde_as_text!(Growth);

/// A difference from the whole beyond so many decimals of a percentage is rounding in the arithmetic.
const PLACES_MAX: usize = 9;

/// The number of decimals for `percent`: `fewest`, or as many more as prevent a share below the whole from reading
/// "100".
#[must_use]
pub fn percent_places(percent: f64, fewest: usize) -> usize {
    let percent = percent.abs();
    if !(99.0..100.0).contains(&percent) {
        return fewest;
    }
    (fewest..=PLACES_MAX).find(|places| !format!("{percent:.places$}").starts_with("100")).unwrap_or(fewest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_share_above_the_whole_is_refused() {
        assert!("100.1 %".parse::<Ratio>().is_err());
        assert_eq!("12.5 %".parse::<Ratio>().unwrap().as_ppm(), 125_000);
    }

    #[test]
    fn what_grows_may_become_many_times_as_much() {
        let growth: Growth = "113 %".parse().unwrap();
        assert_eq!((growth.of(1_000), growth.as_f64(), growth.to_string().as_str()), (1_130, 1.13, "113 %"));
        assert_eq!("100000%".parse::<Growth>().unwrap().of(u64::MAX), u64::MAX);
        assert!("100001 %".parse::<Growth>().is_err());
    }

    #[test]
    fn less_than_the_whole_does_not_read_as_the_whole() {
        let shown = |percent: f64, fewest| format!("{percent:.*}", percent_places(percent, fewest));
        assert_eq!([shown(99.4, 0), shown(99.5, 0), shown(99.98, 1), shown(99.94, 1)], ["99", "99.5", "99.98", "99.9"]);
        assert_eq!([shown(-99.889, 0), shown(99.999_997, 0)], ["-99.9", "99.999997"]);
        assert_eq!([shown(100.0, 0), shown(100.4, 0), shown(100.0 - 2e-14, 0)], ["100", "100", "100"]);
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(ppm in 0u32..=1_000_000) {
            let ratio = Ratio::ppm(ppm).unwrap();
            prop_assert_eq!(ratio.to_string().parse::<Ratio>().unwrap(), ratio);
        }
    }
}
