//! More trials of stored predictions, for comparisons that one trial cannot decide.
//!
//! A trial of a model costs moments, so chance is taken out by repeating it. The stored run stays as it is.

use crate::ModelledPlace;
use crate::PlannedCell;
use crate::trials::{TrialPlace, TrialRound};
use crate::{Course, Silent, Work, environment_again, plans_again, prediction_settings_of};
use loadline_record::{Clock, RunRecord, RunVerb, TrialRecord};
use std::collections::BTreeSet;
use std::num::NonZero;

/// Requests that are simulated at most for one run: some seconds of work.
const REQUESTS_MAX: u64 = 20_000_000;

/// The run with `trials` trials of the most plausible draw in each of `cells`; `None` where it is no prediction that can be repeated,
/// or nothing would be added.
#[must_use]
pub fn repeated(stored: &RunRecord, cells: &BTreeSet<String>, trials: u32) -> Option<RunRecord> {
    if stored.header.verb != RunVerb::Predict || stored.header.clock != Clock::Virtual {
        return None;
    }
    let settings = prediction_settings_of(stored).ok().filter(|settings| settings.course == Course::Apart)?;
    let environment = environment_again(stored, settings.catalog.as_deref()).ok()?;
    let seed = stored.header.seed;
    let models = settings.models(&environment, seed);
    let work: Work = settings.work(plans_again(stored).ok()?, seed).ok()?;
    work.check_against(stored, "predict").ok()?;
    let planned = work.planned_cells();
    let mut left = REQUESTS_MAX;
    let mut wanted: Vec<(usize, &PlannedCell, u32)> = Vec::new();
    for (place, cell) in planned.iter().enumerate().filter(|(_, cell)| cells.contains(&cell.cell.id)) {
        if work.beside(place).next().is_some() {
            continue;
        }
        let of = stored.cells.iter().find(|of| of.id == cell.cell.id)?;
        let likely: Vec<&TrialRecord> = of.trials.iter().filter(|trial| !trial.is_alternative()).collect();
        let (Some(first), more) = (likely.first(), trials.saturating_sub(likely.len() as u32)) else { continue };
        let cost = first.count().saturating_mul(more.into());
        if cost > left {
            continue;
        }
        left -= cost;
        // Draws take turns: every so many trials the most plausible one has its own.
        let draws = models.len().max(1) as u32;
        let last = of.trials.iter().map(|trial| trial.trial).max().unwrap_or(0);
        let begin = last / draws + 1;
        wanted.extend((begin..begin + more).map(|turn| (place, cell, turn * draws)));
    }
    if wanted.is_empty() {
        return None;
    }
    let place = ModelledPlace::new(&models[..1], seed, settings.initially()).with_volumes(&settings.volumes);
    let made = carried_out(&place, &wanted)?;
    let mut run = stored.clone();
    for (cell, mut trial) in made {
        let id = &planned[cell].cell.id;
        let of = run.cells.iter_mut().find(|of| of.id == *id)?;
        // A trial of the same load on the same model is doubted for the same reasons.
        if let Some(like) = of.trials.iter().find(|trial| !trial.is_alternative()) {
            trial.doubts.clone_from(&like.doubts);
        }
        of.trials.push(trial);
    }
    Some(run)
}

/// The trials on all processors, with the places of their cells; `None` where one of them fails.
fn carried_out(place: &ModelledPlace<'_>, wanted: &[(usize, &PlannedCell, u32)]) -> Option<Vec<(usize, TrialRecord)>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let share = wanted.len().div_ceil(threads).max(1);
    let one = |(cell, planned, number): &(usize, &PlannedCell, u32)| {
        let made = place.clone().carry_out(&TrialRound::of(*planned, *number), &mut Silent::default()).ok()?;
        Some((*cell, made.into_iter().next()?))
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = wanted
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(one).collect::<Option<Vec<_>>>()))
            .collect();
        let made = lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        made.collect::<Option<Vec<_>>>().map(|lanes| lanes.into_iter().flatten().collect())
    })
}
