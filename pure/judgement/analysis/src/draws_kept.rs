//! In how many draws of a model a predicted load keeps its objective.

use crate::search::Probed;
use crate::trials::trials_counted;
use loadline_load::Objective;
use loadline_record::{CellRecord, TrialRecord};
use std::collections::BTreeMap;

/// Draws that keep an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawsKept {
    /// So many keep it.
    pub kept: usize,
    /// Of so many that are known, two at least.
    pub of: usize,
}

impl DrawsKept {
    /// Of a cell whose trials are of several draws; `None` for any other, and where a draw has no latency.
    #[must_use]
    pub fn of(cell: &CellRecord, objective: Objective) -> Option<Self> {
        let mut draws: BTreeMap<u32, Vec<TrialRecord>> = BTreeMap::new();
        for trial in trials_counted(cell) {
            draws.entry(trial.model.as_ref()?.draw.number).or_default().push(trial.clone());
        }
        if draws.len() < 2 {
            return None;
        }
        let of = draws.len();
        let each: Option<Vec<bool>> =
            draws.into_values().map(|trials| kept(&CellRecord { trials, ..cell.clone() }, objective)).collect();
        Some(Self { kept: each?.into_iter().filter(|kept| *kept).count(), of })
    }

    /// Whether every draw keeps it.
    #[must_use]
    pub const fn is_sure(self) -> bool {
        self.kept == self.of
    }
}

/// Whether the cell keeps its objective, as a search judges it; `None` where nothing is known of its latency.
fn kept(cell: &CellRecord, objective: Objective) -> Option<bool> {
    let tried = Probed::of(cell, 0, objective.of)?;
    Some(tried.met && tried.latency_ns <= objective.limit.as_ns() as f64)
}
