//! Doubts by code: what they mean, and how many cells have them.

use crate::curves::doubted;
use crate::doubts::meaning;
use crate::finding::{CellDoubts, Finding, FindingCode, FindingSeen};
use crate::summary::CellSummary;
use loadline_record::{CellRecord, DoubtCode};

pub(super) fn summary(records: &[CellRecord], cells: &[CellSummary]) -> Option<Finding> {
    // What all cells that have it say of it.
    let meant = |code: DoubtCode| {
        let having = records.iter().zip(cells).filter(|(_, cell)| doubted(cell, code));
        let mut told: Vec<&str> = having.map(|(record, _)| meaning(record, code)).collect();
        told.dedup();
        if let [only] = told.as_slice() { only } else { code.meaning() }
    };
    let having = |code| cells.iter().filter(|c| doubted(c, code)).count();
    let told = DoubtCode::ALL.into_iter().map(|code| CellDoubts {
        code,
        cells: having(code),
        meaning: meant(code).to_owned(),
    });
    let doubts: Vec<CellDoubts> = told.filter(|doubt| doubt.cells > 0).collect();
    let ids = cells.iter().filter(|c| !c.doubts.is_empty()).map(|c| c.id.clone()).collect();
    (!doubts.is_empty()).then(|| {
        let seen = FindingSeen::Doubted { doubts, cells: cells.len() };
        Finding { code: FindingCode::Doubts, volume: None, seen, cells: ids }
    })
}
