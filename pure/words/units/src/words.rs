//! Figures as people read them: counts with thousands apart, shares as percent, spans with their unit.

use crate::{ByteRate, Bytes, Duration, NS_PER_S, SECTOR, percent_places};

/// A count or a rate: thousands apart, one decimal below 100.
#[must_use]
pub fn number(value: f64) -> String {
    if value.abs() < 99.95 && (value - value.round()).abs() > 0.05 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    grouped(if digits == "-0" { "0" } else { &digits })
}

/// A plain decimal number with commas between its thousands.
#[must_use]
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

/// A share as percent, with a decimal below 10 %, and with as many as it takes where it is nearly all.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 9.95 {
        return format!("{value:.1} %");
    }
    match percent_places(value, 0) {
        0 => format!("{} %", number(value.round())),
        places => format!("{value:.places$} %"),
    }
}

/// A share as percent without decimals, for figures that are not known more closely: "97 %".
#[must_use]
pub fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A span in nanoseconds, three significant digits: "25.3 ms".
#[must_use]
pub fn span(ns: f64) -> String {
    Duration::from_ns(ns.max(0.0).round() as u64).human()
}

/// A span of whole tenths of seconds, finer below one: "5 s", "4.2 s", "25.3 ms".
#[must_use]
pub fn seconds(ns: u64) -> String {
    if ns < NS_PER_S {
        return span(ns as f64);
    }
    format!("{} s", number((ns as f64 / 1e8).round() / 10.0))
}

/// A number with two decimals where one would be zero.
#[must_use]
pub fn small_number(value: f64) -> String {
    if value < 0.95 { format!("{value:.2}") } else { number(value) }
}

/// Bytes per second in decimal units, three significant digits.
#[must_use]
pub fn throughput(bytes_per_s: f64) -> String {
    let (value, unit) = match bytes_per_s {
        v if v >= 999.5e6 => (v / 1e9, "GB/s"),
        v if v >= 999.5e3 => (v / 1e6, "MB/s"),
        v => (v / 1e3, "kB/s"),
    };
    let places = if value >= 99.95 { 0 } else { usize::from(value < 9.995) + 1 };
    format!("{value:.places$} {unit}")
}

/// A size, three significant digits.
#[must_use]
pub fn size(bytes: u64) -> String {
    Bytes::new(bytes).human()
}

/// A block size: exact where that is short ("4 KiB"), rounded for the mean of a mix or of what others asked for.
#[must_use]
pub fn block(bytes: u64) -> String {
    let exact = Bytes::new(bytes).to_string();
    if exact.len() <= 9 && bytes.is_multiple_of(SECTOR.get()) { exact } else { size(bytes) }
}

/// A count with its noun: "1 cell", "12 cells".
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", number(count as f64), if count == 1 { "" } else { "s" })
}

/// "a", "a and b", "a, b and c".
#[must_use]
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The first letter large.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A significance: "p = 0.004", "p < 0.001".
#[must_use]
pub fn significance(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p_value:.3}") }
}

/// A throughput for people: in MiB/s if it is a whole number of them, else in MB/s with up to two decimals.
#[must_use]
pub fn rate_text(rate: ByteRate) -> String {
    const MIB: u64 = 1 << 20;
    if rate.get().is_multiple_of(MIB) {
        return format!("{} MiB/s", rate.get() / MIB);
    }
    decimals(rate, 1e6, "MB/s")
}

/// A throughput in the unit that [`rate_text`] uses for another one beside it, so that the two can be compared.
#[must_use]
pub fn rate_text_beside(rate: ByteRate, other: ByteRate) -> String {
    const MIB: u64 = 1 << 20;
    if other.get().is_multiple_of(MIB) { decimals(rate, MIB as f64, "MiB/s") } else { decimals(rate, 1e6, "MB/s") }
}

fn decimals(rate: ByteRate, unit_bytes: f64, unit: &str) -> String {
    let text = format!("{:.2}", rate.get() as f64 / unit_bytes);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!(number(5_003.2), "5,003");
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(number(98.44), "98.4");
        assert_eq!(number(8.0), "8");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(-1_500.0), "-1,500");
        assert_eq!(percent(0.014), "1.4 %");
        assert_eq!(percent(0.954), "95 %");
        assert_eq!(percent(0.998_9), "99.9 %");
        assert_eq!(percent(55_497.0 / 49_997_516.0 - 1.0), "-99.9 %");
        assert_eq!(percent(1.0 - 3e-8), "99.999997 %");
        assert_eq!([percent(1.0), percent(1.0 - f64::EPSILON), percent(1.004)], ["100 %", "100 %", "100 %"]);
        assert_eq!(throughput(41_800_000.0), "41.8 MB/s");
        assert_eq!(throughput(2_340_000_000.0), "2.34 GB/s");
        assert_eq!(throughput(999_600.0), "1.00 MB/s");
        assert_eq!(throughput(200_100_000.0), "200 MB/s");
        assert_eq!(span(12_800_000.0), "12.8 ms");
        assert_eq!(seconds(4_200_000_000), "4.2 s");
        assert_eq!(seconds(30_000_000_000), "30 s");
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(capital("random"), "Random");
        assert_eq!(block(4096), "4 KiB");
        assert_eq!(block(12_345_671), "11.8 MiB");
        assert_eq!(counted(1, "cell"), "1 cell");
        assert_eq!(counted(1_200, "cell"), "1,200 cells");
        assert_eq!([number(5_100.0), number(0.5), number(64.0)], ["5,100", "0.5", "64"]);
        assert_eq!([number(1_234_567.0), number(-1_500.0), number(-0.01)], ["1,234,567", "-1,500", "0"]);
        assert_eq!(
            [percent(0.834), percent(0.01), percent(0.998), percent(12.5)],
            ["83 %", "1.0 %", "99.8 %", "1,250 %"]
        );
        assert_eq!([whole_percent(0.966), whole_percent(0.0)], ["97 %", "0 %"]);
        assert_eq!(span(25_300_000.0), "25.3 ms");
        assert_eq!([seconds(4_200_000_000), seconds(30_000_000_000)], ["4.2 s", "30 s"]);
        assert_eq!([small_number(0.32), small_number(3.2)], ["0.32", "3.2"]);
        assert_eq!([counted(1, "cell"), counted(1_200, "cell")], ["1 cell", "1,200 cells"]);
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!([capital("a limit"), capital("")], ["A limit", ""]);
        assert_eq!([number(5_003.2), number(98.44), number(8.0), number(100.0)], ["5,003", "98.4", "8", "100"]);
        assert_eq!([percent(0.014), percent(0.954), percent(0.998_9)], ["1.4 %", "95 %", "99.9 %"]);
        assert_eq!([percent(55_497.0 / 49_997_516.0 - 1.0), percent(1.0 - 3e-8)], ["-99.9 %", "99.999997 %"]);
        assert_eq!([percent(1.0), percent(1.0 - f64::EPSILON), percent(1.004)], ["100 %", "100 %", "100 %"]);
        assert_eq!([throughput(41_800_000.0), throughput(2_340_000_000.0)], ["41.8 MB/s", "2.34 GB/s"]);
        assert_eq!([throughput(999_600.0), throughput(200_100_000.0)], ["1.00 MB/s", "200 MB/s"]);
        assert_eq!([seconds(4_200_000_000), seconds(30_000_000_000)], ["4.2 s", "30 s"]);
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!([counted(1, "cell"), counted(1_200, "cell")], ["1 cell", "1,200 cells"]);
    }
}
