//! Which trials of a stored run were begun on a volume, and in which order.

use crate::Work;
use crate::place::filling::{self, Wishes};
use loadline_engine::Volume;
use loadline_record::{Ending, EngineName, RunRecord, RunStatus, TrialRecord};
use loadline_workload::{Origin, RunCell};
use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

/// A trial that was begun.
pub(super) struct Begun<'a> {
    /// Its cell, by its place in the work.
    pub(super) cell: usize,
    /// From 0.
    pub(super) trial: u32,
    /// Its own record; `None` where it was cut off.
    pub(super) record: Option<&'a TrialRecord>,
    /// Its files may have been filled before it.
    pub(super) is_filled: bool,
}

/// The trials on this volume that were begun, the last first: before each stored one the one that may have been under way when
/// the run was cut off. `apart`: numbers of files differ in the files, too.
pub(super) fn begun<'a>(record: &'a RunRecord, work: &Work, volume: &str, apart: bool) -> Vec<Begun<'a>> {
    let steps: Vec<(usize, u32)> = work.cell_trials().collect();
    let stored = |(cell, trial): &(usize, u32)| {
        let id = &work.cells[*cell].id;
        let of_cell = record.cells.iter().find(|cell| cell.id == *id)?;
        of_cell.trials.iter().find(|stored| stored.trial == *trial)
    };
    let records: Vec<Option<&TrialRecord>> = steps.iter().map(stored).collect();
    let volume_of = |index: usize| work.cells[steps[index].0].volume.as_str();
    // One that could not be run at all wrote nothing.
    let wrote = |index: &usize| {
        volume_of(*index) == volume && records[*index].is_some_and(|r| r.engine.name != EngineName::Nothing)
    };
    let mut order: Vec<usize> = (0..records.len()).filter(wrote).collect();
    order.extend(under_way(&records, volume_of, volume));
    let cells: Vec<&RunCell> = order.iter().map(|index| &work.cells[steps[*index].0]).collect();
    let filled = filled_before(work, &cells, volume, apart);
    let trials = order.into_iter().enumerate().map(|(place, index)| Begun {
        cell: steps[index].0,
        trial: steps[index].1,
        record: records[index],
        is_filled: filled.contains(&place),
    });
    let mut begun: Vec<Begun<'a>> = trials.collect();
    begun.reverse();
    begun
}

/// The step on `volume` that may have been under way when the run was cut off. Whoever carries on takes the steps that are left
/// in their order, but for those on volumes that were given up and those that the system would not let begin.
fn under_way<'v>(
    records: &[Option<&TrialRecord>],
    volume_of: impl Fn(usize) -> &'v str,
    volume: &str,
) -> Option<usize> {
    let ended_early = |index: &usize| records[*index].is_some_and(|trial| trial.ending != Ending::Complete);
    let given_up: BTreeSet<&str> = (0..records.len()).filter(ended_early).map(&volume_of).collect();
    let last_stored = records.iter().rposition(Option::is_some);
    let was_passed_over = |index: usize| Some(index) < last_stored || given_up.contains(volume_of(index));
    let mut left = (0..records.len()).filter(|index| records[*index].is_none());
    let next = left.find(|index| volume_of(*index) == volume || !was_passed_over(*index))?;
    (volume_of(next) == volume).then_some(next)
}

/// Before which of these cells, on one volume and in the order of execution, their files may have been filled: by their place.
/// What was found may have been filled at each start of the run. Test files are made anew at each: what stands in one was
/// written by a single start of it.
fn filled_before(work: &Work, cells: &[&RunCell], volume: &str, apart: bool) -> BTreeSet<usize> {
    let origin = if apart { Origin::Made } else { Origin::Found };
    let wishes = Wishes::of(&work.cells, |other| (other == volume).then_some(origin));
    if apart {
        return filling::passes(cells.iter().copied(), |cell| wishes.hold_for(cell)).into_iter().collect();
    }
    (0..cells.len()).filter(|place| wishes.hold_for(cells[*place])).collect()
}

/// Since when the test files of a run's volume are there, as far as it matters, in seconds since 1970: what trials before wrote
/// went to earlier files, which were removed when the run was carried on with. `None` where no trial is known to be older.
pub(super) fn made_at(files: &Volume, record: &RunRecord) -> Option<u64> {
    let made = files.files.first()?.metadata().and_then(|metadata| metadata.created()).ok();
    let made = made.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
    let last = |volume: Option<&str>| {
        let cells = record.cells.iter().filter(|cell| volume.is_none_or(|name| cell.volume == name));
        cells.flat_map(|cell| &cell.trials).map(|trial| trial.started_unix_s).max()
    };
    match made {
        // A copy of the files that the last trials wrote to is younger than all of them.
        Some(made) if record.status == RunStatus::Finished && last(None).is_none_or(|last| last < made) => None,
        Some(made) => Some(made),
        // Where the file system does not tell, only the last trial is known to have written to these.
        None => last(Some(&files.facts.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::EngineUsed;

    fn trial(ending: Ending) -> TrialRecord {
        TrialRecord {
            ending,
            ..TrialRecord::empty(
                0,
                0,
                EngineUsed { name: EngineName::Threads, reason: String::new(), options: Vec::new() },
            )
        }
    }

    #[test]
    fn the_step_under_way_is_the_first_that_is_left_and_was_not_passed_over() {
        let (complete, hung) = (trial(Ending::Complete), trial(Ending::Hung(String::new())));
        let (done, hung) = (Some(&complete), Some(&hung));
        let under_way = |records: &[Option<&TrialRecord>], volume| {
            under_way(records, |index| if index % 2 == 0 { "a" } else { "b" }, volume)
        };
        // Cut off on the one volume, before it came to the other.
        assert_eq!(under_way(&[done, done, None, None], "a"), Some(2));
        assert_eq!(under_way(&[done, done, None, None], "b"), None);
        // One volume was given up; the other went on.
        let given_up = [hung, done, None, done, None, None];
        assert_eq!((under_way(&given_up, "a"), under_way(&given_up, "b")), (Some(2), Some(5)));
        // What the system did not let begin is left for later.
        assert_eq!(under_way(&[done, done, None, done, done, None], "b"), Some(5));
        assert_eq!(under_way(&[done, done], "a"), None);
    }
}
