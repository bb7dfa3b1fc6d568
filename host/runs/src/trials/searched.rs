//! The trials of a search: one question is probed until its answer is known well enough, on devices or on a model.

use crate::trials::{PlannedCell, TrialLoop};
use crate::{Ended, Error, Event};
use loadline_analysis::{Probed, SearchQuestion};
use loadline_record::{CellRecord, Ending};

/// Probes until the turn is known well enough. Trials of `stored` cells are not run again: each probe follows from those
/// before it, so that an interrupted search goes the same way.
///
/// # Errors
/// A trial that could not be started, or that ended early; or the store.
pub fn answer_question(
    trials: &mut TrialLoop<'_, PlannedCell>,
    question: &SearchQuestion,
    stored: &[CellRecord],
) -> Result<Ended, Error> {
    let mut tried: Vec<Probed> = Vec::new();
    while let Some((amount, load)) = question.next_load(&tried) {
        let probe = PlannedCell::on(&question.volume, &load, 0);
        let record = probe.record();
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
    }
    Ok(Ended::Complete)
}
