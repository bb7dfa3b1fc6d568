//! Devices that stand still now and then: nothing is answered for a time, and then it goes on as before.

use super::{VolumeView, plateaus};
use crate::curves::{iops, outstanding};
use crate::finding::{Finding, FindingCode, FindingSeen, LoadAt, StallsSeen};
use crate::stalls::{Stall, period, stalls};
use crate::trials::trials_used;
use loadline_record::{Histogram, RunRecord, TrialRecord};
use loadline_units::Duration;

/// Fewer requests do not tell p99.9.
const P99_9_MIN: u64 = 10_000;

/// The device stood still under a load that it served evenly otherwise: of the load that shows it best.
pub(super) fn told(view: &VolumeView<'_>, record: &RunRecord) -> Option<Finding> {
    let mut seen: Vec<(usize, Vec<Vec<Stall>>)> = Vec::new();
    for index in view.own.iter().copied().filter(|index| view.clustered[*index].is_none()) {
        let cell = &record.cells[index];
        let by_trial: Vec<Vec<Stall>> = trials_used(cell)
            .into_iter()
            .map(|trial| stalls(&cell.load.figures(), trial).unwrap_or_default())
            .collect();
        if by_trial.iter().any(|stalls| !stalls.is_empty()) {
            seen.push((index, by_trial));
        }
    }
    let order = |index: usize| {
        let cell = &view.cells[index];
        (outstanding(cell) == Some(1), plateaus::importance(cell), outstanding(cell))
    };
    seen.sort_by_key(|(index, _)| order(*index));
    let (first, by_trial) = seen.first()?;
    let cells: Vec<usize> = seen.iter().map(|(index, _)| *index).collect();
    let trials = trials_used(&record.cells[*first]);
    let found = StallsSeen { others: seen.len() - 1, ..of_cell(view, *first, &trials, by_trial)? };
    Some(view.finding(FindingCode::Stalls, FindingSeen::StandsStill(Box::new(found)), &cells))
}

/// How often and how long, and what of it figures show.
fn of_cell(
    view: &VolumeView<'_>,
    index: usize,
    trials: &[&TrialRecord],
    by_trial: &[Vec<Stall>],
) -> Option<StallsSeen> {
    let cell = &view.cells[index];
    let lengths: Vec<f64> = by_trial.iter().flatten().map(|stall| stall.length_ns).collect();
    let (shortest_ns, longest_ns) =
        (lengths.iter().copied().fold(f64::INFINITY, f64::min), lengths.iter().copied().fold(0.0, f64::max));
    let mut all = Histogram::new();
    trials.iter().flat_map(|trial| trial.operations.values()).for_each(|record| all.merge(&record.latency));
    Some(StallsSeen {
        load: LoadAt::of(cell),
        count: lengths.len(),
        measured_ns: trials.iter().map(|trial| trial.measured_ns).sum(),
        shortest_ns,
        longest_ns,
        total_ns: lengths.iter().sum(),
        iops: iops(cell)?,
        waited_share: all.share_above(Duration::from_ns((shortest_ns / 2.0) as u64)),
        p99_9_ns: all.quantile(0.999).filter(|_| all.count() >= P99_9_MIN).map(|p| p.as_ns() as f64),
        max_ns: all.max().map_or(longest_ns, |max| max.as_ns() as f64),
        period_s: by_trial.iter().find_map(|stalls| period(stalls)),
        is_alone: outstanding(cell) == Some(1),
        others: 0,
    })
}
