//! The rows of an advice: a table for programs and pages, and a few lines for each that fit a terminal.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use crate::printing;
use anstyle::Style;
use loadline_advise::Candidate;
use loadline_record::VOLUME_DEFAULT;
use loadline_report::wrap;
use loadline_units::Duration;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// A line of a row is at least so long, however narrow the terminal.
const LINE_MIN: usize = 30;

/// The rows in the given form, ending with a line break.
pub(crate) fn rows(candidates: &[Candidate], format: Format) -> String {
    match format {
        Format::Table => in_lines(candidates, printing::width(), output::colour_wanted()),
        format => table(candidates).render(format, false),
    }
}

/// Each row with its price at the left, and beside it what is bought, its first limit, and what it is sure of.
fn in_lines(candidates: &[Candidate], width: usize, colour: bool) -> String {
    if candidates.is_empty() {
        return String::new();
    }
    let bold = if colour { Style::new().bold() } else { Style::new() };
    let prices: Vec<String> = candidates.iter().map(Candidate::price_words).collect();
    let of_rank = candidates.len().to_string().len();
    let of_price = prices.iter().map(|price| price.chars().count()).max().unwrap_or(0).max("a month".len());
    let indent = of_rank + 2 + of_price + 2;
    let room = width.saturating_sub(indent).max(LINE_MIN);
    let mut text = format!("{bold}{:of_rank$}  {:>of_price$}  machine and disks{bold:#}\n", "", "a month");
    for (row, price) in candidates.iter().zip(&prices) {
        let mut begin = format!("{:>of_rank$}  {price:>of_price$}  ", row.rank);
        for part in [row.words(), sure_of(row)] {
            for line in wrap(&part, room) {
                let _ = writeln!(text, "{begin}{line}");
                begin = " ".repeat(indent);
            }
        }
    }
    let mut dates: Vec<&str> = candidates.iter().flat_map(|row| &row.price_month.dates).map(String::as_str).collect();
    dates.sort_unstable();
    dates.dedup();
    if !dates.is_empty() {
        let about = format!("Prices of {}.", dates.join(", "));
        for line in wrap(&about, width.max(LINE_MIN)) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// "75 % of each of 2 disks: 5,000 IOPS; p99 1.17 ms (0.54 to 1.97 ms); 48 of 48 scenarios".
fn sure_of(row: &Candidate) -> String {
    let time = |ns: u64| Duration::from_ns(ns).human();
    let latency = row.latency_ns.map_or_else(String::new, |found| {
        format!(" p99 {} ({} to {});", time(found.p99), time(found.p99_low), time(found.p99_high))
    });
    let (used, limit) = (row.used * 100.0, &row.binding.source);
    format!("{used:.0} % of {limit};{latency} {} of {} scenarios", row.scenarios.met, row.scenarios.of)
}

fn table(candidates: &[Candidate]) -> Table {
    let mut table = Table::new(&[
        Column::numbers("", "rank"),
        Column::words("machine", "machine"),
        Column::words(VOLUME_DEFAULT, "volume"),
        Column::numbers("a month", "cost_per_month"),
        Column::words("", "currency"),
        Column::words("binds first", "binding"),
        Column::numbers("used", "used"),
        Column::numbers("p99", "latency_p99_ns"),
        Column::words("range", "latency_range"),
        Column::words("scenarios", "scenarios"),
        Column::words("prices of", "price_dates"),
    ]);
    let nothing = || Field::both("-", Json::Null);
    for row in candidates {
        let time = |ns: u64| Duration::from_ns(ns).human();
        let volumes: Vec<String> = row.volumes.iter().map(loadline_advise::VolumeChoice::words).collect();
        let least = if row.price_month.complete { "" } else { "at least " };
        table.push(vec![
            Field::count(u64::from(row.rank)),
            Field::text(&row.machine),
            Field::text(volumes.join("; ")),
            Field::both(format!("{least}{:.2}", row.price_month.amount), row.price_month.amount),
            Field::text(&row.price_month.currency),
            Field::text(&row.binding.source),
            Field::both(format!("{:.0} %", row.used * 100.0), row.used),
            row.latency_ns.map_or_else(nothing, |found| Field::both(time(found.p99), found.p99)),
            row.latency_ns.map_or_else(nothing, |found| {
                Field::text(format!("{} to {}", time(found.p99_low), time(found.p99_high)))
            }),
            Field::text(format!("{} of {}", row.scenarios.met, row.scenarios.of)),
            Field::text(row.price_month.dates.join(", ")),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_advise::{AdviceOptions, Need, Rates, advise};
    use loadline_catalog::Catalog;
    use loadline_units::Bytes;

    #[test]
    fn rows_fit_terminals_of_80_and_100_columns() {
        let rates = Rates { reads_per_s: 6_300.0, writes_per_s: 2_700.0, read_size: 8192.0, write_size: 8192.0 };
        let need = Need::steady("orders", rates, Bytes::gib(500));
        let options = AdviceOptions { simulate: false, ..AdviceOptions::default() };
        let advice = advise(&need, &Catalog::builtin(), &options).unwrap();
        for width in [80, 100] {
            let text = in_lines(&advice.candidates, width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            for row in &advice.candidates {
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(words.contains(&row.words()) && words.contains(&row.price_words()), "{text}");
            }
        }
    }
}
