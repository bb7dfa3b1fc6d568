//! Loads that limits in files of the kernel held, which no storage of theirs does.

use crate::standing::{StandingLimit, holder};
use crate::summarize;
use crate::summary::CellSummary;
use loadline_record::RunRecord;

/// A load whose rate is that of a limit above its storage.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadAtLimit {
    /// The load.
    pub cell: String,
    /// Its volume.
    pub volume: String,
    /// The limit.
    pub limit: StandingLimit,
}

/// The loads of a run that a limit in a file of the kernel held: what they show is that limit, and not their storage.
#[must_use]
pub fn loads_at_limits(record: &RunRecord) -> Vec<LoadAtLimit> {
    let cells = summarize(record).cells;
    let of = |cell: &CellSummary| {
        let trials = record.cells.iter().find(|of| of.id == cell.id && of.volume == cell.volume)?.trials.as_slice();
        let volume = record.header.volumes.iter().find(|volume| volume.name == cell.volume);
        let limit = match cell.held_by.clone() {
            Some(held) => StandingLimit::throttle(held),
            None => holder(&record.header.host, volume, cell, trials, &cells)?,
        };
        Some(LoadAtLimit { cell: cell.id.clone(), volume: cell.volume.clone(), limit })
    };
    cells.iter().filter_map(of).collect()
}
