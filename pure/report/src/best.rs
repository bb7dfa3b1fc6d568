//! The best of trials as some tools print it, beside the median and interval, for loads whose plan asks for it.

use crate::figures::{MISSING, plain};
use loadline_analysis::{CellSummary, RunSummary};

/// The heading of the table.
pub(crate) const HEADING: &str = "Best of trials, as CrystalDiskMark prints it";
/// The note below it.
pub(crate) const NOTE: &str = "MB/s is 10^6 bytes/s. The best of trials grows with their number: the median tells what to expect; 95 % is the \
    confidence interval of the mean over trials.";

/// A small table: headings, and a row for each load; the first column is text.
pub(crate) struct Best {
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The table; `None` if no plan asks for it, or nothing was measured.
pub(crate) fn best(summary: &RunSummary) -> Option<Best> {
    let several = summary.cells.iter().any(|cell| cell.volume != summary.cells[0].volume);
    let rows: Vec<Vec<String>> = summary.cells.iter().filter_map(|cell| row(cell, several)).collect();
    let mut trials: Vec<u32> = summary.cells.iter().filter_map(|cell| Some(cell.best_of.as_ref()?.trials)).collect();
    trials.dedup();
    let best = match trials.as_slice() {
        [one] => format!("best of {one}, MB/s"),
        _ => "best, MB/s".to_owned(),
    };
    let headings = vec!["load".to_owned(), best, "median, MB/s".to_owned(), "95 %, MB/s".to_owned()];
    (!rows.is_empty()).then_some(Best { headings, rows })
}

fn row(cell: &CellSummary, several: bool) -> Option<Vec<String>> {
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
    Some(vec![
        format!("{volume}{}{operation}", plain(&best_of.name)),
        megabytes(total.throughput_best_bytes_per_s),
        megabytes(total.throughput_median_bytes_per_s),
        interval,
    ])
}

/// To two decimals, as tools that print the best of trials do.
fn megabytes(bytes_per_s: f64) -> String {
    format!("{:.2}", bytes_per_s / 1e6)
}
