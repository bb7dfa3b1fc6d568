//! What loads that ran at the same time came to together.

use super::codes;
use crate::curves::iops;
use crate::summary::{CellSummary, Finding, OperationFigures};
use crate::words::{listed, number, span, throughput};
use loadline_record::Limit;
use std::collections::BTreeSet;

/// Groups that are named at most: the table has all of them.
const TOLD_MAX: usize = 3;

/// A sentence for each group of loads that ran at the same time.
pub(super) fn told(cells: &[CellSummary]) -> Vec<Finding> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.beside.is_empty()) {
        if !seen.insert(&cell.id) {
            continue;
        }
        let ids: Vec<&str> = cell.beside.iter().map(|load| load.cell.as_str()).collect();
        seen.extend(&ids);
        let others = cells.iter().filter(|other| ids.contains(&other.id.as_str()));
        let group: Vec<&CellSummary> = std::iter::once(cell).chain(others).collect();
        found.extend(finding(&group));
    }
    found.truncate(TOLD_MAX);
    found
}

fn finding(group: &[&CellSummary]) -> Option<Finding> {
    let rates: Vec<f64> = group.iter().map(|cell| iops(cell)).collect::<Option<_>>()?;
    let bytes: Option<f64> = group.iter().map(|cell| Some(cell.total.as_ref()?.throughput_bytes_per_s)).sum();
    let each: Vec<String> = group.iter().zip(&rates).map(|(cell, rate)| in_words(cell, *rate)).collect();
    let all: f64 = rates.iter().sum();
    let limits: BTreeSet<Limit> = group.iter().filter_map(|cell| Some(cell.binding.as_ref()?.limit)).collect();
    let known: Vec<&Limit> =
        limits.iter().filter(|limit| !matches!(limit, Limit::Arrival | Limit::Latency | Limit::Unexplained)).collect();
    let held = match known[..] {
        [limit] => format!("; what stopped them is {}", limit.name()),
        _ => String::new(),
    };
    let bytes = bytes.map_or_else(String::new, |bytes| format!(" and {}", throughput(bytes)));
    let text =
        format!("At the same time ran {}: {} requests a second{bytes} together{held}.", listed(&each), number(all));
    let cells = group.iter().map(|cell| cell.id.clone()).collect();
    Some(Finding { code: codes::RAN_TOGETHER.to_owned(), text, cells })
}

/// "log at 40 a second (p99 12 ms)"; of a load that flushes, what its flushes take.
fn in_words(cell: &CellSummary, rate: f64) -> String {
    let label = cell.label.split(", beside ").next().unwrap_or(&cell.label);
    let name = label.split_once(": ").map_or(label, |(name, _)| name);
    let figures: Option<(&str, &OperationFigures)> = match (&cell.flush, &cell.read, &cell.write, &cell.trim) {
        (Some(flush), ..) => Some(("a flush", flush)),
        (None, Some(only), None, None) | (None, None, Some(only), None) | (None, None, None, Some(only)) => {
            Some(("", only))
        }
        _ => None,
    };
    let p99 = figures.and_then(|(what, figures)| Some((what, figures.latency_ns.p99?)));
    let p99 = p99.map_or_else(String::new, |(what, p99)| {
        let what = if what.is_empty() { String::new() } else { format!("{what}, ") };
        format!(" ({what}p99 {})", span(p99 as f64))
    });
    format!("{name} at {} a second{p99}", number(rate))
}
