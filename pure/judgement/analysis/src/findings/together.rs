//! What loads that ran at the same time came to together.

use crate::curves::iops;
use crate::finding::{Finding, FindingCode, FindingSeen, TogetherLatency, TogetherLoad};
use crate::summary::{CellSummary, OperationFigures};
use loadline_record::Limit;
use std::collections::BTreeSet;

/// Groups that are named at most: the table has all of them.
const TOLD_MAX: usize = 3;

/// One for each group of loads that ran at the same time.
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
    let bytes_per_s: Option<f64> = group.iter().map(|cell| Some(cell.total.as_ref()?.throughput_bytes_per_s)).sum();
    let loads = group.iter().zip(&rates).map(|(cell, rate)| load(cell, *rate)).collect();
    let limits: BTreeSet<Limit> = group.iter().filter_map(|cell| Some(cell.binding.as_ref()?.limit)).collect();
    let mut known =
        limits.iter().filter(|limit| !matches!(limit, Limit::Arrival | Limit::Latency | Limit::Unexplained));
    let limit = known.next().filter(|_| known.next().is_none()).copied();
    let seen = FindingSeen::Together { loads, iops: rates.iter().sum(), bytes_per_s, limit };
    let cells = group.iter().map(|cell| cell.id.clone()).collect();
    Some(Finding { code: FindingCode::RanTogether, volume: None, seen, cells })
}

/// The rate of a load; and of one that flushes, what its flushes take.
fn load(cell: &CellSummary, iops: f64) -> TogetherLoad {
    let label = cell.label.split(", beside ").next().unwrap_or(&cell.label);
    let name = label.split_once(": ").map_or(label, |(name, _)| name);
    let figures: Option<&OperationFigures> = match (&cell.flush, &cell.read, &cell.write, &cell.trim) {
        (Some(flush), ..) => Some(flush),
        (None, Some(only), None, None) | (None, None, Some(only), None) | (None, None, None, Some(only)) => Some(only),
        _ => None,
    };
    let p99 = figures.and_then(|figures| figures.latency_ns.p99);
    let latency = p99.map(|p99_ns| TogetherLatency { of_flushes: cell.flush.is_some(), p99_ns });
    TogetherLoad { load: name.to_owned(), iops, latency }
}
