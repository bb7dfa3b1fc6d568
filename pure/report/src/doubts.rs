//! Doubts grouped by kind, each kind with its mark in the tables.

use crate::figures::plain;
use crate::words::doubt_detail;
use loadline_analysis::RunSummary;
use loadline_record::{DoubtCode, DoubtGrade};

/// One kind of doubt and its places.
pub(crate) struct DoubtGroup {
    /// The number in the mark, from 1; `None` of a note on every cell, which is said once for the run and marks none.
    pub(crate) number: Option<usize>,
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

/// The doubts of a run, the gravest grade first, and within it in the order of [`DoubtCode::ALL`].
pub(crate) fn grouped(summary: &RunSummary) -> Vec<DoubtGroup> {
    let measured = summary.cells.iter().filter(|cell| cell.total.is_some()).count();
    let mut groups: Vec<DoubtGroup> = Vec::new();
    let by_grade =
        DoubtGrade::ALL.into_iter().flat_map(|grade| DoubtCode::ALL.into_iter().filter(move |c| c.grade() == grade));
    for code in by_grade {
        let mut details: Vec<DoubtDetail> = Vec::new();
        for (index, cell) in summary.cells.iter().enumerate() {
            for doubt in cell.doubts.iter().filter(|d| d.code == code) {
                let detail = plain(&doubt_detail(doubt));
                match details.iter_mut().find(|d| d.detail == detail) {
                    Some(seen) if seen.cells.last() == Some(&index) => {}
                    Some(seen) => seen.cells.push(index),
                    None => details.push(DoubtDetail { detail, cells: vec![index] }),
                }
            }
        }
        if !details.is_empty() {
            groups.push(DoubtGroup { number: None, code, details });
        }
    }
    let marking = groups.iter_mut().filter(|group| !(group.is_note_on_all(measured)));
    marking.zip(1..).for_each(|(group, number)| group.number = Some(number));
    groups
}

impl DoubtGroup {
    /// Whether every one of several measured cells has it, and it is no more than a note: the run is made so.
    fn is_note_on_all(&self, measured: usize) -> bool {
        self.code.grade() == DoubtGrade::Note && measured > 1 && self.cells().len() >= measured
    }
    /// "†3", or nothing where it marks no cell.
    pub(crate) fn mark(&self) -> String {
        self.number.map(|number| format!("†{number}")).unwrap_or_default()
    }
    /// The cells concerned, each once, in the plan's order.
    pub(crate) fn cells(&self) -> Vec<usize> {
        let mut cells: Vec<usize> = self.details.iter().flat_map(|d| d.cells.iter().copied()).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

/// The groups that mark a cell.
pub(crate) fn of_cell(groups: &[DoubtGroup], index: usize) -> Vec<&DoubtGroup> {
    let marks = |g: &&DoubtGroup| g.number.is_some() && g.details.iter().any(|d| d.cells.contains(&index));
    groups.iter().filter(marks).collect()
}

/// The mark of a cell in text: "†1,3", or nothing.
pub(crate) fn mark(groups: &[DoubtGroup], index: usize) -> String {
    let numbers: Vec<String> = of_cell(groups, index).iter().filter_map(|g| g.number).map(|n| n.to_string()).collect();
    if numbers.is_empty() { String::new() } else { format!("†{}", numbers.join(",")) }
}
