//! Figures in words, for sources and evidence.

use loadline_units::{Duration, percent_places};

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

/// A share from 0.0 to 1.0.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    format!("{value:.*} %", percent_places(value, usize::from(value < 9.95)))
}

/// A span in nanoseconds, three significant digits.
pub(crate) fn span(ns: f64) -> String {
    Duration::from_ns(ns.max(0.0).round() as u64).human()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!([number(5_100.0), number(0.5), number(64.0)], ["5,100", "0.5", "64"]);
        assert_eq!([percent(0.994), percent(0.01), percent(0.998)], ["99 %", "1.0 %", "99.8 %"]);
        assert_eq!(span(25_300_000.0), "25.3 ms");
    }
}
