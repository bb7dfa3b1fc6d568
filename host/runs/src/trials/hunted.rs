//! The trials of a hunt: what its rounds ask for is measured, until they are done.

use crate::PlannedCell;
use crate::trials::TrialLoop;
use crate::{Ended, Error, Event};
use loadline_hunt::{HuntEnd, HuntRounds, NextTrial};
use loadline_record::RunRecord;

/// Measures what `rounds` asks for and `run` does not hold yet. The run has a cell for each of `loads`, the baseline
/// first.
///
/// # Errors
/// A trial that could not be started, or that ended early; or the store.
pub(crate) fn measure_hunt(
    trials: &mut TrialLoop<'_, PlannedCell>,
    rounds: &HuntRounds<'_>,
    loads: &[PlannedCell],
    mut run: RunRecord,
) -> Result<Ended, Error> {
    let all = loads.len() - 1;
    let mut seen = rounds.last_look(&run);
    loop {
        let planned = match rounds.next(&run) {
            NextTrial::Measure(planned) => planned,
            NextTrial::Done(end) => {
                if end == HuntEnd::NothingBound {
                    trials.observer.event(&Event::NothingBound);
                }
                return Ok(Ended::Complete);
            }
        };
        let load = &loads[planned.load];
        let Some(trial) = trials.trial(load, planned.round, &planned.to_string())? else {
            return Ok(Ended::Interrupted);
        };
        let cell = run.cells.iter_mut().find(|cell| cell.id == load.cell.id).expect("a run has every load's cell");
        cell.trials.push(trial);
        let look = rounds.last_look(&run);
        if let Some(look) = look.filter(|look| seen != Some(*look)) {
            trials.observer.event(&Event::RoundOver { round: look.rounds, decided: look.decided, all });
        }
        seen = look;
    }
}
