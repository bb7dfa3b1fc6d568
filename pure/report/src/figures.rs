//! Numbers for people: three or four significant digits, grouped thousands, a unit, and "–" for a missing figure.

pub(crate) use crate::plain_text::plain;
use loadline_analysis::TotalFigures;
use loadline_units::percent_places;
use loadline_units::words::grouped;

/// Printed for a missing figure.
pub(crate) const MISSING: &str = "–";

/// From here on, and below its inverse, a number is printed with an exponent.
const EXPONENT_FROM: f64 = 1e15;

/// `value` with this many significant digits and commas between thousands; [`MISSING`] if it is not a number.
pub(crate) fn decimal(value: f64, significant: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", significant - 1);
    if value.abs() >= EXPONENT_FROM || value.abs() < EXPONENT_FROM.recip() {
        return scientific;
    }
    let (_, exponent) = scientific.split_once('e').expect("the exponent form has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let digits = i32::try_from(significant).expect("a handful of digits");
    let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
    let rounded: f64 = scientific.parse().expect("the exponent form is a number");
    grouped(&format!("{rounded:.places$}"))
}

/// A whole number with commas between thousands.
pub(crate) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// Requests per second, without the unit.
pub(crate) fn iops(iops: f64) -> String {
    decimal(iops, if iops.abs() >= 1e3 { 4 } else { 3 })
}

/// Bytes per second as MB/s (10^6), without the unit.
pub(crate) fn megabytes(bytes_per_s: f64) -> String {
    let megabytes = bytes_per_s / 1e6;
    // 9.998 is printed as 10.00: as exactly as those just above it.
    let near = (9.995..10.0).contains(&megabytes.abs());
    if near || megabytes.abs() >= 10.0 {
        decimal(if near { megabytes.round() } else { megabytes }, 4)
    } else {
        decimal(megabytes, 3)
    }
}

/// A span in ns, us, ms or s as fits: the number and the unit.
pub(crate) fn latency_parts(ns: f64) -> (String, &'static str) {
    if !ns.is_finite() {
        return (MISSING.to_owned(), "");
    }
    for (unit, scale) in [("ns", 1.0), ("us", 1e3), ("ms", 1e6)] {
        // 999.5 would be printed as 1,000: the next unit is better.
        if ns.abs() / scale < 999.5 {
            return (decimal(ns / scale, 3), unit);
        }
    }
    let seconds = ns / 1e9;
    (decimal(seconds, if seconds.abs() >= 1e3 { 4 } else { 3 }), "s")
}

/// A span in ns, us, ms or s as fits: "1.25 ms".
pub(crate) fn latency(ns: f64) -> String {
    let (number, unit) = latency_parts(ns);
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// From one span to another, ns, in the unit of the longer: "1.2–4.0 ms".
pub(crate) fn span(low: u64, high: u64) -> String {
    let (number, unit) = latency_parts(high as f64);
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    };
    format!("{}–{number} {unit}", decimal(low as f64 / scale, 3))
}

/// A round number on an axis: no zeros after the last digit that counts.
pub(crate) fn tick(value: f64) -> String {
    let text = decimal(value, 6);
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A round span on an axis: "1 ms".
pub(crate) fn latency_tick(ns: f64) -> String {
    let (number, unit) = latency_parts(ns);
    let number = if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        &number
    };
    format!("{number} {unit}").trim_end().to_owned()
}

/// A share from 0.0 to 1.0 in percent: "97.2 %".
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return MISSING.to_owned();
    }
    // Three significant digits are one decimal here.
    match percent_places(share * 100.0, 1) {
        1 => format!("{} %", decimal(share * 100.0, 3)),
        places => format!("{:.places$} %", share * 100.0),
    }
}

/// Half an interval below this is printed as less than it, never as nothing.
const INTERVAL_MIN: f64 = 0.000_1;

/// The interval of the IOPS, or the range of a prediction: "± 1.2 %" if both sides are equal, "low–high" if not; `None`
/// if there is none.
pub(crate) fn interval(total: &TotalFigures) -> Option<String> {
    let (low, high) = (total.iops_low.filter(|v| v.is_finite())?, total.iops_high.filter(|v| v.is_finite())?);
    let (below, above) = (total.iops - low, high - total.iops);
    let alike = (above - below).abs() <= 0.1 * above.abs().max(below.abs());
    if alike && total.iops > 0.0 && below >= 0.0 {
        let half = f64::midpoint(below, above) / total.iops;
        // Trials that came to the same to the request leave room for one all the same.
        return Some(if half < INTERVAL_MIN {
            "± <0.01 %".to_owned()
        } else {
            format!("± {} %", decimal(half * 100.0, 2))
        });
    }
    Some(format!("{}–{}", iops(low), iops(high)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_or_four_digits_with_thousands_apart() {
        assert_eq!(iops(1_984.41), "1,984");
        assert_eq!(iops(123_456.0), "123,500");
        assert_eq!(iops(98.34), "98.3");
        assert_eq!(iops(999.96), "1,000");
        assert_eq!(iops(0.012_34), "0.0123");
        assert_eq!(megabytes(398_660_000.0), "398.7");
        assert_eq!(megabytes(41_800_000.0), "41.80");
        assert_eq!([9_994_000.0, 9_998_336.0, 10_002_432.0].map(megabytes), ["9.99", "10.00", "10.00"]);
        assert_eq!(megabytes(819_000.0), "0.819");
        assert_eq!(megabytes(3_512_000_000.0), "3,512");
        assert_eq!(decimal(-1_234_567.0, 4), "-1,235,000");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn latencies_take_the_unit_that_fits() {
        assert_eq!(latency(812.0), "812 ns");
        assert_eq!(latency(1_250_000.0), "1.25 ms");
        assert_eq!(latency(999_600.0), "1.00 ms");
        assert_eq!(latency(999_400.0), "999 us");
        assert_eq!(latency(62.74e6), "62.7 ms");
        assert_eq!(latency(12e9), "12.0 s");
        assert_eq!(latency(0.0), "0 ns");
    }

    #[test]
    fn what_is_no_number_is_missing() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(iops(value), MISSING);
            assert_eq!(megabytes(value), MISSING);
            assert_eq!(latency(value), MISSING);
            assert_eq!(percent(value), MISSING);
        }
    }

    #[test]
    fn an_even_interval_is_plus_minus_and_an_uneven_one_is_a_range() {
        let total = |low, high| TotalFigures {
            iops: 1000.0,
            iops_low: low,
            iops_high: high,
            throughput_bytes_per_s: 0.0,
            throughput_median_bytes_per_s: 0.0,
            throughput_best_bytes_per_s: 0.0,
        };
        assert_eq!(interval(&total(Some(988.0), Some(1012.0))).unwrap(), "± 1.2 %");
        assert_eq!(interval(&total(Some(1000.0), Some(1000.0))).unwrap(), "± <0.01 %");
        assert_eq!(interval(&total(Some(700.0), Some(1012.0))).unwrap(), "700–1,012");
        assert_eq!(interval(&total(None, Some(1012.0))), None);
    }

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(plain("a\x1b[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb c\u{fffd}d");
    }

    proptest! {
        #[test]
        fn a_printed_number_is_near_the_number(value in -1e14f64..1e14, significant in 2u8..6) {
            let text = decimal(value, usize::from(significant)).replace(',', "");
            let back: f64 = text.parse().unwrap();
            prop_assert!((back - value).abs() <= value.abs() * 0.51 * 10f64.powi(1 - i32::from(significant)));
        }
    }
}
