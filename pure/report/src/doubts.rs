//! Doubts grouped by kind, each kind with its mark in the tables.

use crate::figures::plain;
use loadline_analysis::RunSummary;
use loadline_record::DoubtCode;

/// One kind of doubt and its places.
pub(crate) struct DoubtGroup {
    /// The number in the mark, from 1.
    pub(crate) number: usize,
    /// The kind.
    pub(crate) code: DoubtCode,
    /// Every doubt of the kind, cells with the same detail together, in the order of their first cell.
    pub(crate) details: Vec<DoubtDetail>,
}

/// The evidence, and the cells.
pub(crate) struct DoubtDetail {
    /// In words, on one line.
    pub(crate) detail: String,
    /// Indices into the summary's cells.
    pub(crate) cells: Vec<usize>,
}

/// The doubts of a run in the order of [`DoubtCode::ALL`].
pub(crate) fn grouped(summary: &RunSummary) -> Vec<DoubtGroup> {
    let mut groups: Vec<DoubtGroup> = Vec::new();
    for code in DoubtCode::ALL {
        let mut details: Vec<DoubtDetail> = Vec::new();
        for (index, cell) in summary.cells.iter().enumerate() {
            for doubt in cell.doubts.iter().filter(|d| d.code == code) {
                let detail = plain(&doubt.detail);
                match details.iter_mut().find(|d| d.detail == detail) {
                    Some(seen) if seen.cells.last() == Some(&index) => {}
                    Some(seen) => seen.cells.push(index),
                    None => details.push(DoubtDetail { detail, cells: vec![index] }),
                }
            }
        }
        if !details.is_empty() {
            groups.push(DoubtGroup { number: groups.len() + 1, code, details });
        }
    }
    groups
}

impl DoubtGroup {
    /// The cells concerned, each once, in the plan's order.
    pub(crate) fn cells(&self) -> Vec<usize> {
        let mut cells: Vec<usize> = self.details.iter().flat_map(|d| d.cells.iter().copied()).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

/// The groups that a cell belongs to.
pub(crate) fn of_cell(groups: &[DoubtGroup], index: usize) -> Vec<&DoubtGroup> {
    groups.iter().filter(|g| g.details.iter().any(|d| d.cells.contains(&index))).collect()
}

/// The mark of a cell in text: "†1,3", or nothing.
pub(crate) fn mark(groups: &[DoubtGroup], index: usize) -> String {
    let numbers: Vec<String> = of_cell(groups, index).iter().map(|g| g.number.to_string()).collect();
    if numbers.is_empty() { String::new() } else { format!("†{}", numbers.join(",")) }
}
