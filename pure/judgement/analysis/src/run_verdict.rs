//! The verdict on a run as a whole: whether its data was right and its objectives were kept.

use crate::draws_kept::DrawsKept;
use crate::finding::ObjectiveRule;
use crate::summarize::figures_of_cells;
use crate::verdict_objective::{AskedAmount, Question, asked_amount};
use loadline_record::{CellRecord, DoubtCode, Ending, RunRecord, RunVerb, VerifyRecord};
use std::collections::BTreeMap;

/// The verdict on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunVerdict {
    /// Every objective is kept, or there is none.
    Kept,
    /// An objective is broken by every load that has it.
    Broken,
    /// Of an objective nothing is known: none of its loads completed a request. Or the load was recorded at a limit of its source, and what
    /// would have been asked for without that is not known.
    Unknown,
    /// Reads returned wrong data.
    WrongData,
}

/// The verdict on a run, most severe first. Cells that differ only in depth or rate are one question: up
/// to which load is the latency kept? The objective is broken when not even the lightest of them keeps it, as the verdict's line says it.
#[must_use]
pub fn run_verdict(run: &RunRecord) -> RunVerdict {
    if run.cells.iter().any(|cell| verification(cell).any(|record| record.faults_total > 0)) {
        return RunVerdict::WrongData;
    }
    let mut questions: BTreeMap<(Question, String), Vec<Kept>> = BTreeMap::new();
    for (cell, figures) in run.cells.iter().zip(figures_of_cells(run)) {
        let load = cell.load.figures();
        if let Some(objective) = load.objective {
            // A search on a model asks what each draw of it keeps.
            let draws = (run.header.verb == RunVerb::Search).then(|| DrawsKept::of(cell, objective)).flatten();
            let answer = draws.map_or_else(|| ObjectiveRule::of(&load).kept(&figures), |draws| Some(draws.is_sure()));
            let question = (Question::of(&figures), format!("{objective:?}"));
            questions.entry(question).or_default().push((asked_amount(&figures), answer));
        }
    }
    let answers: Vec<Option<bool>> = questions.into_values().map(|cells| answer(&cells)).collect();
    if answers.contains(&Some(false)) {
        RunVerdict::Broken
    } else if answers.contains(&None) || is_source_limited(run) {
        RunVerdict::Unknown
    } else {
        RunVerdict::Kept
    }
}

/// Whether a load was recorded while a limit held its application back.
fn is_source_limited(run: &RunRecord) -> bool {
    let mut doubts = run.cells.iter().flat_map(|cell| &cell.trials).flat_map(|trial| &trial.doubts);
    doubts.any(|doubt| doubt.code == DoubtCode::SourceLimited)
}

/// Trials that ended early because their volume failed or hung.
#[must_use]
pub fn trials_cut_short(run: &RunRecord) -> usize {
    let trials = run.cells.iter().flat_map(|cell| &cell.trials);
    trials.filter(|trial| matches!(trial.ending, Ending::Failed(_) | Ending::Hung(_))).count()
}

fn verification(cell: &CellRecord) -> impl Iterator<Item = &VerifyRecord> {
    cell.trials.iter().filter_map(|trial| trial.verify.as_ref())
}

/// How much a cell asks, and whether it keeps its objective.
type Kept = (AskedAmount, Option<bool>);

/// Yes when a cell keeps it that is lighter than all that miss it; no when none does; unknown when no cell has a latency. What a heavier load
/// keeps says nothing for the first that missed it.
fn answer(cells: &[Kept]) -> Option<bool> {
    let of = |wanted: bool| cells.iter().filter(move |(_, kept)| *kept == Some(wanted)).map(|(demand, _)| *demand);
    match (of(true).min(), of(false).min()) {
        (None, None) => None,
        (Some(_), None) => Some(true),
        (kept, Some(missed)) => Some(kept.is_some_and(|kept| kept < missed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_keeps_its_objective_when_its_lightest_load_does() {
        let of = |kept: &[Option<bool>]| {
            answer(&kept.iter().zip(1..).map(|(kept, depth)| ((depth, 0), *kept)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[Some(true), Some(false), None]), Some(true));
        assert_eq!(of(&[None, Some(true)]), Some(true));
        assert_eq!(of(&[Some(false), None]), Some(false));
        assert_eq!(of(&[Some(false), Some(true)]), Some(false), "a heavier load that keeps it was luck");
        assert_eq!(of(&[None]), None);
    }
}
