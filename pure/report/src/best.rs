//! The best of trials as some tools print it, beside the median and interval, for loads whose plan asks for it.

use crate::figures::{MISSING, plain};
use crate::table::{Column, Field, Table};
use loadline_analysis::{CellSummary, RunSummary};

/// The heading of the table.
pub(crate) const HEADING: &str = "Best of trials, as CrystalDiskMark prints it";
/// The note below it.
pub(crate) const NOTE: &str = "MB/s is 10^6 bytes/s. The best of trials grows with their number: the median tells what to expect; 95 % is the \
    confidence interval of the mean over trials.";

/// The table; `None` if no plan asks for it, or nothing was measured.
pub(crate) fn best(summary: &RunSummary) -> Option<Table> {
    let several = summary.cells.iter().any(|cell| cell.volume != summary.cells[0].volume);
    let rows: Vec<Vec<Field>> = summary.cells.iter().filter_map(|cell| row(cell, several)).collect();
    let mut trials: Vec<u32> = summary.cells.iter().filter_map(|cell| Some(cell.best_of.as_ref()?.trials)).collect();
    trials.dedup();
    let best = match trials.as_slice() {
        [one] => format!("best of {one}, MB/s"),
        _ => "best, MB/s".to_owned(),
    };
    let mut table = Table::new(&[
        Column::words("load", "load"),
        Column::numbers(best, "best_bytes_per_s"),
        Column::numbers("median, MB/s", "median_bytes_per_s"),
        Column::numbers("95 %, MB/s", "interval"),
    ]);
    for row in rows {
        table.push(row);
    }
    (!table.is_empty()).then_some(table)
}

fn row(cell: &CellSummary, several: bool) -> Option<Vec<Field>> {
    let (best_of, total) = (cell.best_of.as_ref()?, cell.total.as_ref()?);
    let operation = match cell.load.read_ratio {
        reads if reads >= 1.0 => ", read",
        reads if reads <= 0.0 => ", write",
        _ => "",
    };
    let volume = if several { format!("{}: ", plain(&cell.volume)) } else { String::new() };
    let per_request = total.throughput_bytes_per_s / total.iops;
    let interval = match (total.iops_low, total.iops_high) {
        (Some(low), Some(high)) if per_request.is_finite() => {
            format!("{}–{}", megabytes(low * per_request), megabytes(high * per_request))
        }
        _ => MISSING.to_owned(),
    };
    let figure = |bytes_per_s: f64| Field::both(megabytes(bytes_per_s), bytes_per_s);
    Some(vec![
        Field::text(format!("{volume}{}{operation}", plain(&best_of.name))),
        figure(total.throughput_best_bytes_per_s),
        figure(total.throughput_median_bytes_per_s),
        Field::text(interval),
    ])
}

/// To two decimals, as tools that print the best of trials do.
fn megabytes(bytes_per_s: f64) -> String {
    format!("{:.2}", bytes_per_s / 1e6)
}
