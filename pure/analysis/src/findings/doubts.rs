//! Doubts by code: what they mean, and how many cells have them.

use super::codes;
use crate::curves::doubted;
use crate::doubts::meaning;
use crate::summary::{CellSummary, Finding};
use crate::words::{counted, number};
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
    let parts: Vec<String> = DoubtCode::ALL
        .into_iter()
        .map(|code| (code, having(code)))
        .filter(|(_, count)| *count > 0)
        .map(|(code, count)| {
            let where_seen = match (count, cells.len()) {
                (_, 1) => "the cell".to_owned(),
                (count, all) if count == all => format!("all {}", counted(all, "cell")),
                (count, all) => format!("{} of {}", number(count as f64), counted(all, "cell")),
            };
            format!("{code} in {where_seen} ({})", meant(code))
        })
        .collect();
    let ids = cells.iter().filter(|c| !c.doubts.is_empty()).map(|c| c.id.clone()).collect();
    (!parts.is_empty()).then(|| Finding {
        code: codes::DOUBTS.to_owned(),
        text: format!("To be doubted: {}.", parts.join("; ")),
        cells: ids,
    })
}
