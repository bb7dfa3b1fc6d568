//! The trials of a search: one question is probed until its answer is known well enough, on devices or on a model.

use crate::{Ended, Error, Event, Prober, cell_record, probe};
use loadline_analysis::{Probed, SearchQuestion};
use loadline_record::{CellRecord, Ending};

/// Probes until the turn is known well enough. Trials of `stored` cells are not run again: each probe follows from those
/// before it, so that an interrupted search goes the same way.
///
/// # Errors
/// A trial that could not be started, or that ended early; or the store.
pub fn answer_question(
    prober: &mut Prober<'_>,
    question: &SearchQuestion,
    stored: &[CellRecord],
) -> Result<Ended, Error> {
    let mut tried: Vec<Probed> = Vec::new();
    while let Some((amount, load)) = question.next_load(&tried) {
        let probe = probe(&question.volume, &load, 0);
        let record = cell_record(&probe.cell);
        let known = stored.iter().find(|cell| cell.id == probe.cell.id);
        if known.is_none() {
            prober.store.store()?.add_cell(prober.run, &record)?;
        }
        let trial = match known.and_then(|cell| cell.trials.first()) {
            Some(trial) if trial.ending != Ending::Complete => {
                return Err(Error::KeptTrialEndedEarly { load: probe.label });
            }
            Some(trial) => Some(trial.clone()),
            None => prober.trial(&probe, 0, &format!("probe {}", tried.len() + 1))?,
        };
        let Some(trial) = trial else { return Ok(Ended::Interrupted) };
        let cell = CellRecord { trials: vec![trial], ..record };
        let Some(outcome) = question.probed(&cell, amount) else {
            prober.observer.says(&Event::NothingCompleted { load: &probe.label });
            return Ok(Ended::Complete);
        };
        tried.push(outcome);
    }
    Ok(Ended::Complete)
}
