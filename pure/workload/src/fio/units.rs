//! Values as fio reads them: sizes whose suffixes mean what `kb_base` says, and times with a default unit.

use super::arithmetic::evaluate;
use loadline_units::{Bytes, Duration};

/// What a `k` is: fio's `kb_base`, 1024 unless a job file says 1000. With 1024, fio takes `kib` for 1000: the opposite of the
/// standards, for the sake of old job files. `ki` is to fio what `k` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Binary,
    Decimal,
}

impl Base {
    const fn of(self, is_ki: bool) -> u64 {
        match (self, is_ki) {
            (Self::Binary, false) | (Self::Decimal, true) => 1024,
            (Self::Binary, true) | (Self::Decimal, false) => 1000,
        }
    }
}

fn split(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x") {
        return Some((u64::from_str_radix(hex, 16).ok()?, String::new()));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].to_ascii_lowercase()))
}

/// A text without a fraction of nothing, as programs write whole floats ("1073741824.0").
fn whole(text: &str) -> &str {
    match text.trim().split_once('.') {
        Some((number, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => number,
        _ => text,
    }
}

/// A number of bytes, or any other number that takes the same suffixes.
pub(super) fn integer(text: &str, base: Base) -> Option<u64> {
    if text.starts_with('(') && text.ends_with(')') {
        return evaluate(text, Some(base));
    }
    let (number, suffix) = split(whole(text))?;
    if suffix.is_empty() || suffix == "b" {
        return Some(number);
    }
    let power = "kmgtp".find(suffix.chars().next()?)? as u32 + 1;
    let is_ki = match &suffix[1..] {
        "" | "b" | "i" => false,
        "ib" => true,
        _ => return None,
    };
    number.checked_mul(base.of(is_ki).checked_pow(power)?)
}

/// A size in bytes.
pub(super) fn bytes(text: &str, base: Base) -> Option<Bytes> {
    integer(text, base).map(Bytes::new)
}

/// The unit of a time without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    Seconds,
    Microseconds,
}

/// A time.
pub(super) fn time(text: &str, bare: Bare) -> Option<Duration> {
    let (number, suffix) = split(text)?;
    let unit_ns: u64 = match (suffix.as_str(), bare) {
        // fio takes "3sec", "2min" and the like for so many microseconds, which nobody means.
        ("", Bare::Seconds) | ("s", _) => 1_000_000_000,
        ("", Bare::Microseconds) | ("us" | "usec", _) => 1_000,
        ("ms" | "msec", _) => 1_000_000,
        ("m", _) => 60_000_000_000,
        ("h", _) => 3_600_000_000_000,
        ("d", _) => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit_ns).map(Duration::from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_kb_base_says() {
        assert_eq!(integer("4k", Base::Binary), Some(4096));
        assert_eq!(integer("4K", Base::Binary), Some(4096));
        assert_eq!(integer("1mb", Base::Binary), Some(1 << 20));
        assert_eq!(integer("1mib", Base::Binary), Some(1_000_000));
        assert_eq!(integer("4ki", Base::Binary), Some(4096));
        assert_eq!(integer("4ki", Base::Decimal), Some(4000));
        assert_eq!(integer("4k", Base::Decimal), Some(4000));
        assert_eq!(integer("4kib", Base::Decimal), Some(4096));
        assert_eq!(integer("0x1000", Base::Binary), Some(4096));
        assert_eq!(integer("512", Base::Binary), Some(512));
        assert_eq!(integer("1073741824.0", Base::Binary), Some(1 << 30));
        assert_eq!(integer("1.5", Base::Binary), None, "one to fio");
        assert_eq!(integer("1.0k", Base::Binary), None, "one to fio");
        assert_eq!(integer("4x", Base::Binary), None);
        assert_eq!(integer("99999999999p", Base::Binary), None);
    }

    #[test]
    fn times_have_a_unit_of_their_own_where_none_is_given() {
        assert_eq!(time("5", Bare::Seconds), Some(Duration::from_s(5)));
        assert_eq!(time("5", Bare::Microseconds), Some(Duration::from_us(5)));
        assert_eq!(time("2m", Bare::Seconds), Some(Duration::from_s(120)));
        assert_eq!(time("20ms", Bare::Microseconds), Some(Duration::from_ms(20)));
        assert_eq!(time("soon", Bare::Seconds), None);
        assert_eq!(time("2min", Bare::Seconds), None, "two microseconds to fio");
    }
}
