//! Rates as the command prints them while it works: three digits, and the unit always.

use loadline_units::words::grouped;

/// Requests per second with grouped thousands: "45,300 IOPS".
#[must_use]
pub fn iops(rate: f64) -> String {
    format!("{} IOPS", per_second(rate))
}

/// A rate without its unit: "45,300".
#[must_use]
pub fn per_second(rate: f64) -> String {
    let digits = if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") };
    grouped(&digits)
}

/// Bytes per second in decimal megabytes: "184 MB/s".
#[must_use]
pub fn megabytes_per_s(rate: f64) -> String {
    let megabytes = rate / 1e6;
    let places = match megabytes {
        m if m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        _ => 2,
    };
    format!("{} MB/s", grouped(&format!("{megabytes:.places$}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_units_and_grouped_thousands() {
        assert_eq!(iops(1_234_567.0), "1,234,567 IOPS");
        assert_eq!(iops(98.04), "98.0 IOPS");
        assert_eq!(megabytes_per_s(41_800_000.0), "41.8 MB/s");
        assert_eq!(megabytes_per_s(12_345_678_000.0), "12,346 MB/s");
    }
}
