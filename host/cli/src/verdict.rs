//! Whether the objectives of a run were kept.

use crate::failure::Outcome;
use loadline_analysis::Probed;
use loadline_record::{CellRecord, Ending, RunRecord, VerifyRecord};
use std::collections::BTreeMap;

/// What the run says about its objectives. Cells that differ in their depth or rate alone are one question: up to where
/// is the latency kept? It comes out against when not even the lightest of them keeps it, and cannot be answered when
/// none of them completed a request.
pub(crate) fn of(run: &RunRecord) -> Outcome {
    if run.cells.iter().any(|cell| verification(cell).any(|record| record.faults_total > 0)) {
        return Outcome::Failed;
    }
    let mut questions: BTreeMap<String, Vec<Option<bool>>> = BTreeMap::new();
    for cell in &run.cells {
        if let Some((figure, limit_ns)) = &cell.load.objective {
            questions.entry(question(cell)).or_default().push(kept(cell, figure, *limit_ns));
        }
    }
    let answers: Vec<Option<bool>> = questions.into_values().map(|cells| answer(&cells)).collect();
    if answers.contains(&Some(false)) {
        Outcome::Against
    } else if answers.contains(&None) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}

/// Trials that did not last as long as they should have, because their volume failed or hung.
pub(crate) fn cut_short(run: &RunRecord) -> usize {
    let trials = run.cells.iter().flat_map(|cell| &cell.trials);
    trials.filter(|trial| matches!(trial.ending, Ending::Failed(_) | Ending::Hung(_))).count()
}

fn verification(cell: &CellRecord) -> impl Iterator<Item = &VerifyRecord> {
    cell.trials.iter().filter_map(|trial| trial.verify.as_ref())
}

/// Yes when any cell keeps it; no when none does; unknown when none tells.
fn answer(cells: &[Option<bool>]) -> Option<bool> {
    let known = || cells.iter().flatten();
    if known().next().is_none() { None } else { Some(known().any(|kept| *kept)) }
}

/// All of a load but how much of it.
fn question(cell: &CellRecord) -> String {
    let load = &cell.load;
    format!(
        "{} {} {} {} {} {} {:?} {:?}",
        cell.volume,
        load.pattern,
        load.read_ratio,
        load.block_bytes,
        load.arrival == "closed",
        load.buffered,
        load.flush_every,
        load.objective
    )
}

/// Whether the cell keeps its objective, as a search judges it; `None` where nothing is known of its latency.
fn kept(cell: &CellRecord, figure: &str, limit_ns: u64) -> Option<bool> {
    let tried = Probed::of(cell, 0, figure)?;
    Some(tried.met && tried.latency_ns <= limit_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_keeps_its_objective_when_its_lightest_load_does() {
        assert_eq!(answer(&[Some(true), Some(false), None]), Some(true));
        assert_eq!(answer(&[Some(false), None]), Some(false));
        assert_eq!(answer(&[None]), None);
    }
}
