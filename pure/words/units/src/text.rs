//! Reads and prints "number unit" texts exactly, for every quantity of this crate.

/// A text that is not a quantity of the kind wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// There is no number at the start of the text.
    #[error("{text:?} has no number: write {wanted}")]
    NoNumber {
        /// The text.
        text: String,
        /// The expected form, with an example.
        wanted: &'static str,
    },
    /// The number has no unit.
    #[error("{text:?} has no unit: write {wanted}")]
    NoUnit {
        /// The text.
        text: String,
        /// The expected form, with an example.
        wanted: &'static str,
    },
    /// The unit is of another kind, or unknown.
    #[error("{unit:?} in {text:?} is not a unit known here: write {wanted}")]
    UnknownUnit {
        /// The text.
        text: String,
        /// The unknown part.
        unit: String,
        /// The expected form, with an example.
        wanted: &'static str,
    },
    /// The value is too large, zero although zero has no meaning, or too fine for an exact value.
    #[error("{text:?} cannot be kept: {reason}")]
    OutOfRange {
        /// The text.
        text: String,
        /// The reason.
        reason: &'static str,
    },
}

/// A unit's spellings and its size in the smallest unit.
pub(crate) type Unit = (&'static [&'static str], u64);

/// Reads `text` as a decimal number and one of `units`; the result is in the smallest unit, exactly.
///
/// # Errors
/// A missing number or unit, an unknown unit, a fraction finer than the smallest unit, or an overflow.
pub(crate) fn parse(text: &str, units: &[Unit], wanted: &'static str) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    let end =
        trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim());
    let owned = || text.to_owned();
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(UnitError::NoNumber { text: owned(), wanted });
    }
    if unit.is_empty() {
        return Err(UnitError::NoUnit { text: owned(), wanted });
    }
    let scale = units
        .iter()
        .find(|(names, _)| names.contains(&unit))
        .map(|(_, scale)| *scale)
        .ok_or_else(|| UnitError::UnknownUnit { text: owned(), unit: unit.to_owned(), wanted })?;
    scaled(number, scale).map_err(|reason| UnitError::OutOfRange { text: owned(), reason })
}

/// `number` (digits with at most one point, `,` and `_` grouping) times `scale`, exactly.
fn scaled(number: &str, scale: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains(['.', ',', '_']) {
        return Err("it has more than one decimal point or a grouped fraction");
    }
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    let whole: u128 = digits.parse().map_err(|_| "the number is too large")?;
    let fraction = fraction.trim_end_matches('0');
    let places = u32::try_from(fraction.len()).map_err(|_| "the fraction is too long")?;
    let divisor = 10u128.checked_pow(places).filter(|d| *d <= 10u128.pow(18)).ok_or("the fraction is too long")?;
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| "the fraction is too long")? };
    let total = whole
        .checked_mul(divisor)
        .and_then(|w| w.checked_add(part))
        .and_then(|n| n.checked_mul(u128::from(scale)))
        .ok_or("the number is too large")?;
    if total % divisor != 0 {
        return Err("it is finer than the smallest unit");
    }
    u64::try_from(total / divisor).map_err(|_| "the number is too large")
}

/// Prints `value` in the largest of `units` (largest first, name and scale) that divides it exactly.
pub(crate) fn print_exact(f: &mut std::fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> std::fmt::Result {
    let (name, scale) =
        units.iter().find(|(_, scale)| value != 0 && value.is_multiple_of(*scale)).unwrap_or(&units[units.len() - 1]);
    f.pad(&format!("{} {name}", value / scale))
}

/// `value` with three significant digits in the largest unit in which it is at least 1; `units` largest first.
pub(crate) fn human(value: f64, units: &[(&str, f64)]) -> String {
    let (name, scale) = units.iter().find(|(_, s)| value.abs() >= *s * 0.9995).unwrap_or(&units[units.len() - 1]);
    let scaled = value / scale;
    let places = match scaled.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{scaled:.places$} {name}")
}

/// Implements serde by the type's text form.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;
