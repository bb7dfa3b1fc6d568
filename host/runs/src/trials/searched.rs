//! The trials of a search: one question is probed until its answer is known well enough, on devices or on a model.

use crate::trials::{PlannedCell, TrialLoop};
use crate::{Ended, Error, Event};
use loadline_analysis::{DrawsKept, Probed, SearchQuestion};
use loadline_record::{CellRecord, Ending};

/// Probes until the turn is known well enough. Trials of `stored` cells are not run again: each probe follows from those
/// before it, so that an interrupted search goes the same way.
///
/// Trials of a place that has several `draws` of what is uncertain are of another draw each: the turn is looked for on the first. The
/// heaviest load that keeps the objective there is then tried on the others, and lighter ones until a load keeps it on all.
///
/// # Errors
/// A trial that could not be started, or that ended early; or the store.
pub fn answer_question(
    trials: &mut TrialLoop<'_, PlannedCell>,
    question: &SearchQuestion,
    draws: u32,
    stored: &[CellRecord],
) -> Result<Ended, Error> {
    let mut tried: Vec<Probed> = Vec::new();
    let mut first_draws: Vec<CellRecord> = Vec::new();
    while let Some((amount, load)) = question.next_load(&tried) {
        let probe = PlannedCell::on(&question.volume, &load, 0);
        // A trial at least; of what is tried on all draws, one of each.
        let record = CellRecord { trials_planned: draws, ..probe.record() };
        let known = stored.iter().find(|cell| cell.id == record.id);
        if known.is_none() {
            trials.store.store()?.add_cell(trials.run, &record)?;
        }
        let trial = match known.and_then(|cell| cell.trials.first()) {
            Some(trial) if trial.ending != Ending::Complete => {
                return Err(Error::KeptTrialEndedEarly { load: probe.label });
            }
            Some(trial) => Some(trial.clone()),
            None => trials.trial(&probe, 0, &format!("probe {}", tried.len() + 1))?,
        };
        let Some(trial) = trial else { return Ok(Ended::Interrupted) };
        let cell = CellRecord { trials: vec![trial], ..record };
        let Some(outcome) = question.probed(&cell, amount) else {
            trials.observer.says(&Event::NothingCompleted { load: &probe.label });
            return Ok(Ended::Complete);
        };
        tried.push(outcome);
        first_draws.push(cell);
    }
    if draws < 2 {
        return Ok(Ended::Complete);
    }
    for load in question.keeping(&tried) {
        let on = |draw: u32| PlannedCell { model: Some(draw as usize), ..PlannedCell::on(&question.volume, &load, 0) };
        let Some(place) = first_draws.iter().position(|cell| cell.id == on(0).cell.id) else { continue };
        let first = first_draws.swap_remove(place);
        let Some(cell) = on_all_draws(trials, on, first, draws, stored)? else { return Ok(Ended::Interrupted) };
        if question.draws_kept(&cell).is_none_or(DrawsKept::is_sure) {
            break;
        }
    }
    Ok(Ended::Complete)
}

/// Tries a load on the draws after the first, each with the cell that `on` gives; `cell` is the first's. `None` if interrupted.
fn on_all_draws(
    trials: &mut TrialLoop<'_, PlannedCell>,
    on: impl Fn(u32) -> PlannedCell,
    mut cell: CellRecord,
    draws: u32,
    stored: &[CellRecord],
) -> Result<Option<CellRecord>, Error> {
    let known = stored.iter().find(|other| other.id == cell.id).map_or(&[][..], |other| &other.trials);
    for draw in 1..draws {
        let trial = match known.iter().find(|trial| trial.trial == draw) {
            Some(trial) => trial.clone(),
            None => match trials.trial(&on(draw), draw, &format!("draw {} of {draws}", draw + 1))? {
                Some(trial) => trial,
                None => return Ok(None),
            },
        };
        cell.trials.push(trial);
    }
    Ok(Some(cell))
}
