//! The trials of a search: one question is probed until its answer is known well enough, on devices or on a model.

use crate::PlannedCell;
use crate::trials::TrialLoop;
use crate::{Ended, Error, Event};
use loadline_analysis::{DrawsKept, Probed, SearchQuestion};
use loadline_record::{CellRecord, Ending};
use loadline_workload::LoadSpec;

/// Probes until the turn is known well enough. Trials of `stored` cells are not run again: each probe follows from those
/// before it, so that an interrupted search goes the same way.
///
/// If a place has several `draws` of a model, each trial is of another one: the turn is looked for on the first. The
/// heaviest load that keeps the objective there is then tried on the others, and lighter ones until a load keeps it on all, or
/// there is none.
///
/// # Errors
/// A trial that could not be started, or that ended early; or the store.
pub(crate) fn answer_question(
    trials: &mut TrialLoop<'_, PlannedCell>,
    question: &SearchQuestion,
    draws: u32,
    stored: &[CellRecord],
) -> Result<Ended, Error> {
    let mut tried: Vec<Probed> = Vec::new();
    let mut first_draws: Vec<CellRecord> = Vec::new();
    while let Some((amount, load)) = question.next_load(&tried) {
        let counted = format!("probe {}", tried.len() + 1);
        let Some(cell) = probed(trials, &on(question, &load, 0), &counted, draws, stored)? else {
            return Ok(Ended::Interrupted);
        };
        let Some(outcome) = question.probed(&cell, amount) else {
            trials.observer.event(&Event::NothingCompleted { load: &cell.label });
            return Ok(Ended::Complete);
        };
        tried.push(outcome);
        first_draws.push(cell);
    }
    let mut keeping = question.keeping(&tried).into_iter();
    let mut next = keeping.next().filter(|_| draws > 1);
    while let Some(load) = next {
        let probe = on(question, &load, 0);
        let first = match first_draws.iter().position(|cell| cell.id == probe.cell.id) {
            Some(place) => Some(first_draws.swap_remove(place)),
            None => probed(trials, &probe, &format!("draw 1 of {draws}"), draws, stored)?,
        };
        let Some(first) = first else { return Ok(Ended::Interrupted) };
        let draw_of = |draw| on(question, &load, draw);
        let Some(cell) = on_all_draws(trials, draw_of, first, draws, stored)? else { return Ok(Ended::Interrupted) };
        if question.draws_kept(&cell).is_none_or(DrawsKept::is_sure) {
            break;
        }
        next = keeping.next().or_else(|| question.lighter(&load));
    }
    Ok(Ended::Complete)
}

/// A load of the question, on a draw.
fn on(question: &SearchQuestion, load: &LoadSpec, draw: u32) -> PlannedCell {
    PlannedCell { model: Some(draw as usize), ..PlannedCell::on(&question.volume, load, 0) }
}

/// Tries a load for the first time; its cell with that trial, or `None` if interrupted.
fn probed(
    trials: &mut TrialLoop<'_, PlannedCell>,
    probe: &PlannedCell,
    counted: &str,
    draws: u32,
    stored: &[CellRecord],
) -> Result<Option<CellRecord>, Error> {
    // One trial at least, and one of each draw at most.
    let record = CellRecord { trials_planned: draws, ..probe.record() };
    let known = stored.iter().find(|cell| cell.id == record.id);
    if known.is_none() {
        trials.store.store()?.add_cell(trials.run, &record)?;
    }
    let trial = match known.and_then(|cell| cell.trials.first()) {
        Some(trial) if trial.ending != Ending::Complete => {
            return Err(Error::KeptTrialEndedEarly { load: probe.label.clone() });
        }
        Some(trial) => Some(trial.clone()),
        None => trials.trial(probe, 0, counted)?,
    };
    Ok(trial.map(|trial| CellRecord { trials: vec![trial], ..record }))
}

/// Tries a load on the draws after the first, each with the cell that `on_draw` gives; `cell` is the first's. `None` if interrupted.
fn on_all_draws(
    trials: &mut TrialLoop<'_, PlannedCell>,
    on_draw: impl Fn(u32) -> PlannedCell,
    mut cell: CellRecord,
    draws: u32,
    stored: &[CellRecord],
) -> Result<Option<CellRecord>, Error> {
    let known = stored.iter().find(|other| other.id == cell.id).map_or(&[][..], |other| &other.trials);
    for draw in 1..draws {
        let trial = match known.iter().find(|trial| trial.trial == draw) {
            Some(trial) => trial.clone(),
            None => match trials.trial(&on_draw(draw), draw, &format!("draw {} of {draws}", draw + 1))? {
                Some(trial) => trial,
                None => return Ok(None),
            },
        };
        cell.trials.push(trial);
    }
    Ok(Some(cell))
}
