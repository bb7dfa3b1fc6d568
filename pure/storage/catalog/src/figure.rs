//! Figures in the form of providers: shares above the whole, intervals of uncertainty, proportions, and rules that give
//! a figure for a size.

use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};

/// A quantity that is a whole number of its smallest unit.
pub trait Scalar: Copy + PartialEq + Ord + std::fmt::Debug + std::fmt::Display {
    /// In the smallest unit.
    fn get(self) -> u64;
    /// From the smallest unit; a rate is at least one.
    fn of(count: u64) -> Self;
}

impl Scalar for Iops {
    fn get(self) -> u64 {
        Self::get(self)
    }
    fn of(count: u64) -> Self {
        Self::per_second(count.max(1)).expect("at least one")
    }
}
impl Scalar for ByteRate {
    fn get(self) -> u64 {
        Self::get(self)
    }
    fn of(count: u64) -> Self {
        Self::per_second(count.max(1)).expect("at least one")
    }
}
impl Scalar for Bytes {
    fn get(self) -> u64 {
        Self::get(self)
    }
    fn of(count: u64) -> Self {
        Self::new(count)
    }
}
impl Scalar for Duration {
    fn get(self) -> u64 {
        self.as_ns()
    }
    fn of(count: u64) -> Self {
        Self::from_ns(count)
    }
}
impl Scalar for u32 {
    fn get(self) -> u64 {
        u64::from(self)
    }
    fn of(count: u64) -> Self {
        Self::try_from(count).unwrap_or(Self::MAX)
    }
}
impl Scalar for Factor {
    fn get(self) -> u64 {
        self.0
    }
    fn of(count: u64) -> Self {
        Self(count)
    }
}

/// A multiple of a published figure, in parts per million; unlike a [`Ratio`] it may pass 100 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor(u64);

const WHOLE: u64 = 1_000_000;

impl Factor {
    /// As published.
    pub const ONE: Self = Self(WHOLE);

    /// Reads "102 %".
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mantissa, scale, unit) = decimal(text)?;
        let ppm = mantissa.checked_mul(10_000)?;
        (unit == "%" && ppm.is_multiple_of(scale)).then_some(Self(u64::try_from(ppm / scale).ok()?))
    }
    /// This multiple of a count, rounded to the nearest.
    pub(crate) fn of_count(self, count: u64) -> u64 {
        let product = u128::from(count) * u128::from(self.0) + u128::from(WHOLE / 2);
        u64::try_from(product / u128::from(WHOLE)).unwrap_or(u64::MAX)
    }
    /// This multiple of `figure`, rounded to the nearest.
    #[must_use]
    pub fn times<T: Scalar>(self, figure: T) -> T {
        T::of(self.of_count(figure.get()))
    }
}

impl std::fmt::Display for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / 10_000, self.0 % 10_000);
        if part == 0 {
            return f.pad(&format!("{whole} %"));
        }
        let digits = format!("{part:04}");
        f.pad(&format!("{whole}.{} %", digits.trim_end_matches('0')))
    }
}

/// The interval of an uncertain figure. Invariant: `low <= mid <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval<T> {
    /// The least that is plausible.
    pub low: T,
    /// The most plausible.
    pub mid: T,
    /// The most that is plausible.
    pub high: T,
}

impl<T: Scalar> Interval<T> {
    /// A figure that is known.
    #[must_use]
    pub const fn exactly(value: T) -> Self {
        Self { low: value, mid: value, high: value }
    }
    /// The figure at a place in the interval: 0 % is `low`, 50 % is `mid`, 100 % is `high`, straight lines in between.
    #[must_use]
    pub fn at(&self, place: Ratio) -> T {
        let half = u128::from(WHOLE / 2);
        let place = u128::from(place.as_ppm());
        let (from, to, share) =
            if place <= half { (self.low, self.mid, place) } else { (self.mid, self.high, place - half) };
        let step = u128::from(to.get() - from.get()) * share / half;
        T::of(from.get() + u64::try_from(step).expect("a part of a u64 is a u64"))
    }
    /// In the smallest unit.
    pub(crate) fn counts(&self) -> Interval<u64> {
        Interval { low: self.low.get(), mid: self.mid.get(), high: self.high.get() }
    }
    /// Whether nothing is left open.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

/// A proportion of two quantities: "3 IOPS per GiB". Exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proportion {
    numerator: u128,
    denominator: u128,
    text: String,
}

impl Proportion {
    /// Reads "AMOUNT of `T` per AMOUNT of `U`"; the second amount may be a bare unit.
    pub(crate) fn parse<T: Scalar + std::str::FromStr, U: Scalar + std::str::FromStr>(text: &str) -> Option<Self> {
        let (amount, per) = text.split_once(" per ")?;
        let (mantissa, scale, unit) = decimal(amount)?;
        let one: T = format!("1 {unit}").parse().ok()?;
        let per = per.trim();
        let whole = if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1 {per}") };
        let whole: U = whole.parse().ok()?;
        let numerator = mantissa.checked_mul(u128::from(one.get()))?;
        let denominator = scale.checked_mul(u128::from(whole.get())).filter(|d| *d > 0)?;
        Some(Self { numerator, denominator, text: text.to_owned() })
    }
    /// The result for `of`, rounded down.
    #[must_use]
    pub fn times(&self, of: u64) -> u64 {
        let product = self.numerator.checked_mul(u128::from(of)).map_or(u128::MAX, |p| p / self.denominator);
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

impl std::fmt::Display for Proportion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

/// A decimal number as mantissa and power of ten, and the text that follows it.
pub(crate) fn decimal(text: &str) -> Option<(u128, u128, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    let places = u32::try_from(fraction.len()).ok().filter(|p| *p <= 9)?;
    let mantissa: u128 = format!("{whole}{fraction}").parse::<u64>().ok()?.into();
    Some((mantissa, 10u128.pow(places), text[end..].trim()))
}

/// How a figure follows from the size and from the other figure (throughput for IOPS, IOPS for throughput).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule<T> {
    /// Always the same.
    Fixed(T),
    /// By size; the last step that is not above the size counts. In rising order.
    Steps(Vec<(Bytes, T)>),
    /// The largest of these.
    Formulas(Vec<Formula<T>>),
}

/// `base + per_size x size + per_other x other`, within `least` and `most`. Without base and proportions: `most` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula<T> {
    /// At any size.
    pub base: Option<T>,
    /// For the size.
    pub per_size: Option<Proportion>,
    /// For the other figure.
    pub per_other: Option<Proportion>,
    /// Not below.
    pub least: Option<T>,
    /// Not above.
    pub most: Option<T>,
}

/// The missing input of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The size.
    Size,
    /// The other figure.
    Other,
}

impl<T: Scalar> Formula<T> {
    fn at(&self, size: Option<Bytes>, other: Option<u64>) -> Result<Option<T>, Lack> {
        let mut sum = self.base.map(T::get);
        let mut add = |part: u64| sum = Some(sum.unwrap_or(0).saturating_add(part));
        if let Some(proportion) = &self.per_size {
            add(proportion.times(size.ok_or(Lack::Size)?.get()));
        }
        if let Some(proportion) = &self.per_other {
            add(proportion.times(other.ok_or(Lack::Other)?));
        }
        let Some(sum) = sum else { return Ok(self.most) };
        let least = self.least.map_or(sum, |least| sum.max(least.get()));
        Ok(Some(T::of(self.most.map_or(least, |most| least.min(most.get())))))
    }
}

impl<T: Scalar> Rule<T> {
    /// The figure for a size and the other figure; `None`: no bound, or below the first step.
    pub(crate) fn at(&self, size: Option<Bytes>, other: Option<u64>) -> Result<Option<T>, Lack> {
        match self {
            Self::Fixed(value) => Ok(Some(*value)),
            Self::Steps(steps) => {
                let size = size.ok_or(Lack::Size)?;
                Ok(steps.iter().rev().find(|(from, _)| *from <= size).map(|(_, value)| *value))
            }
            Self::Formulas(formulas) => {
                let mut most = None;
                for formula in formulas {
                    match formula.at(size, other)? {
                        None => return Ok(None),
                        value => most = most.max(value),
                    }
                }
                Ok(most)
            }
        }
    }
    /// Whether the other figure must be known first.
    pub(crate) fn needs_other(&self) -> bool {
        matches!(self, Self::Formulas(formulas) if formulas.iter().any(|formula| formula.per_other.is_some()))
    }
}

impl<T: Scalar> std::fmt::Display for Rule<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(value) => write!(f, "{value}"),
            Self::Steps(steps) => {
                let steps: Vec<String> = steps.iter().map(|(from, value)| format!("{value} from {from}")).collect();
                f.write_str(&steps.join(", "))
            }
            Self::Formulas(formulas) => {
                let formulas: Vec<String> = formulas.iter().map(ToString::to_string).collect();
                f.write_str(&formulas.join("; or, if that is more, "))
            }
        }
    }
}

impl<T: Scalar> std::fmt::Display for Formula<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            self.base.map(|base| base.to_string()),
            self.per_size.as_ref().map(ToString::to_string),
            self.per_other.as_ref().map(ToString::to_string),
        ];
        let sum: Vec<String> = parts.into_iter().flatten().collect();
        let bounds = [self.least.map(|l| format!("at least {l}")), self.most.map(|m| format!("at most {m}"))];
        let mut all = vec![sum.join(" + ")];
        all.extend(bounds.into_iter().flatten());
        all.retain(|part| !part.is_empty());
        f.write_str(if all.is_empty() { "no bound known" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_proportion_is_exact_where_its_product_is_not_a_whole_unit() {
        let proportion = Proportion::parse::<ByteRate, Iops>("0.256 MiB/s per IOPS").unwrap();
        assert_eq!(proportion.times(15_625), 4_000 << 20);
        let proportion = Proportion::parse::<Iops, Bytes>("0.75 IOPS per GiB").unwrap();
        assert_eq!(proportion.times(500 << 30), 375);
        let proportion = Proportion::parse::<ByteRate, Iops>("250 MiB/s per 1000 IOPS").unwrap();
        assert_eq!(proportion.times(20_000), 5_000 << 20);
        assert_eq!(Proportion::parse::<Iops, Bytes>("3 IOPS"), None);
        assert_eq!(Proportion::parse::<Iops, Bytes>("3 MB per GiB"), None);
    }

    #[test]
    fn a_factor_may_pass_the_whole() {
        let factor = Factor::parse("102.5 %").unwrap();
        assert_eq!(factor.times(Iops::of(5_000)), Iops::of(5_125));
        assert_eq!(factor.to_string(), "102.5 %");
        assert_eq!(Factor::parse("102"), None);
    }

    #[test]
    fn an_interval_is_two_straight_lines() {
        let ms = Duration::from_ms;
        let interval = Interval { low: ms(1), mid: ms(2), high: ms(10) };
        let at = |percent| interval.at(Ratio::percent(percent));
        assert_eq!([at(0), at(25), at(50), at(75), at(100)], [ms(1), Duration::from_us(1500), ms(2), ms(6), ms(10)]);
    }

    #[test]
    fn the_largest_formula_counts_and_each_keeps_its_bounds() {
        let formula = |per: &str, most: u64| Formula {
            base: None,
            per_size: None,
            per_other: Proportion::parse::<ByteRate, Iops>(per),
            least: None,
            most: Some(ByteRate::of(most << 20)),
        };
        let rule = Rule::Formulas(vec![formula("0.25 MiB/s per IOPS", 500), formula("0.015625 MiB/s per IOPS", 1_000)]);
        let at = |iops| rule.at(None, Some(iops)).unwrap().unwrap().get() >> 20;
        assert_eq!([at(1_000), at(2_000), at(32_000), at(48_000), at(64_000)], [250, 500, 500, 750, 1_000]);
        assert_eq!(rule.at(None, None), Err(Lack::Other));
    }

    proptest! {
        #[test]
        fn an_interval_never_leaves_its_bounds(a in any::<u64>(), b in any::<u64>(), c in any::<u64>(), ppm in 0u32..=1_000_000) {
            let mut sorted = [a, b, c];
            sorted.sort_unstable();
            let [low, mid, high] = sorted.map(Bytes::new);
            let at = Interval { low, mid, high }.at(Ratio::ppm(ppm).unwrap());
            prop_assert!(low <= at && at <= high);
        }
    }
}
