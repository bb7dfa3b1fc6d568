//! Rates that rose while a trial went on, and stayed there: the mean over it is the rate of no time.

use super::VolumeView;
use crate::finding::{Finding, FindingCode, FindingSeen, LoadAt, RateCourse, RateStep, RiseSeen};
use crate::lasting::NEAR;
use crate::limits::rises;
use crate::trials::trials_used;
use loadline_record::{CellRecord, Clock, Rate};

impl RiseSeen {
    /// That of a cell whose load was ours; `None` where its mean says all there is.
    pub(crate) fn of(cell: &CellRecord, clock: Clock) -> Option<Self> {
        if clock != Clock::Real || cell.load.is_of_others() {
            return None;
        }
        let trials = trials_used(cell);
        let shown: Vec<Vec<RateStep>> = trials
            .iter()
            .filter_map(|trial| {
                let levels = rises(trial)?;
                (levels.last()?.iops > trial.iops()? * NEAR).then_some(levels)
            })
            .map(|levels| {
                levels.iter().map(|one| RateStep { iops: one.iops, length_ns: one.length_ns as u64 }).collect()
            })
            .collect();
        let count = shown.len();
        Some(Self { levels: shown.into_iter().next()?, shown: count, trials: trials.len() })
    }

    /// A rate of so much for each request: what it was in the end, and what it had been before.
    pub(super) fn last(&self, each: f64, unit: fn(f64) -> Rate) -> Option<RateCourse> {
        let (last, before) = self.levels.split_last()?;
        let before = unit(before.last()?.iops * each);
        Some(RateCourse::Rose { before, last: unit(last.iops * each), last_ns: last.length_ns })
    }
}

/// The cell that shows it best, the first of the others like it named with it.
pub(super) fn told(view: &VolumeView<'_>) -> Option<Finding> {
    let shown: Vec<(usize, &RiseSeen)> = view.own.iter().filter_map(|i| Some((*i, view.rises[*i].as_ref()?))).collect();
    let (first, rise) = shown.first()?;
    let load = LoadAt::of(&view.cells[*first]);
    let seen = FindingSeen::RateRose { load, rise: (*rise).clone(), others: shown.len() - 1 };
    let cells: Vec<usize> = shown.iter().map(|(i, _)| *i).collect();
    Some(view.finding(FindingCode::RateRose, seen, &cells))
}
