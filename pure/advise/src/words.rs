//! Figures in words.

use loadline_units::{Bytes, Duration};

/// A count or a rate: thousands apart, one decimal below 100.
pub(crate) fn number(value: f64) -> String {
    if value.abs() < 99.95 && (value - value.round()).abs() > 0.05 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share from 0.0 on: "83 %".
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value > 0.0 && value < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// A span in nanoseconds, three significant digits.
pub(crate) fn span(ns: f64) -> String {
    Duration::from_ns(ns.max(0.0).round() as u64).human()
}

/// A size of a request: "8 KiB".
pub(crate) fn size(bytes: f64) -> String {
    let size = Bytes::new(bytes.round() as u64);
    if size.get().is_multiple_of(512) { size.to_string() } else { size.human() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!([number(9_000.0), number(0.5), number(1_234_567.0)], ["9,000", "0.5", "1,234,567"]);
        assert_eq!([percent(0.834), percent(0.05), percent(1.5)], ["83 %", "5.0 %", "150 %"]);
        assert_eq!(size(8_192.0), "8 KiB");
    }
}
