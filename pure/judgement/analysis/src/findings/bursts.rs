//! When bursts ended, as a model knows it.

use super::{TOLD_ONE_BY_ONE, VolumeView};
use crate::finding::{Finding, FindingCode, FindingSeen, LoadAt, RateCourse};
use crate::summary::CellSummary;
use crate::trials::{trials_counted, trials_used};
use crate::words::LARGE_BYTES_MIN;
use loadline_record::{BurstEnd, CellRecord, Rate, RunRecord, TrialRecord};

/// Rates that differ by less are the same: as many arrive by chance, more or fewer.
const FALL_MIN: f64 = 0.01;

/// Bursts that ended while a load went on, and had given it more than what came after.
pub(super) fn ended(view: &VolumeView<'_>, record: &RunRecord) -> Vec<Finding> {
    let mut told = Vec::new();
    for index in view.own {
        let cell = &record.cells[*index];
        let Some(trial) = trials_used(cell).into_iter().find(|trial| ends(trial).iter().any(fell)) else { continue };
        told.extend(ends(trial).iter().filter(|end| fell(end)).map(|end| (*index, *end)));
    }
    let (first, rest) = told.split_at(told.len().min(TOLD_ONE_BY_ONE));
    let mut found: Vec<Finding> =
        first.iter().map(|(index, end)| one(view, &record.cells[*index], *index, end)).collect();
    if !rest.is_empty() {
        let cells: Vec<usize> = rest.iter().map(|(index, _)| *index).collect();
        let seen = FindingSeen::MoreBurstsEnded { bursts: rest.len() };
        found.push(view.finding(FindingCode::BurstEnded, seen, &cells));
    }
    found
}

/// A rate across a burst's end: what it was while credits lasted, and what lasts. Their mean is neither.
pub(super) fn fall(cell: &CellSummary) -> Option<RateCourse> {
    let lasting = cell.lasting.as_ref()?;
    let (before, then) = (Rate::Iops(lasting.iops_before), Rate::Iops(lasting.iops));
    Some(RateCourse::Fell { before, before_ns: lasting.before_ns, then })
}

/// The same in bytes per second.
pub(super) fn fall_in_bytes(cell: &CellSummary) -> Option<RateCourse> {
    let lasting = cell.lasting.as_ref()?;
    let before = Rate::BytesPerS(lasting.bytes_per_s_before);
    let then = Rate::BytesPerS(lasting.throughput_bytes_per_s);
    Some(RateCourse::Fell { before, before_ns: lasting.before_ns, then })
}

fn ends(trial: &TrialRecord) -> &[BurstEnd] {
    trial.model.as_ref().map_or(&[], |model| &model.bursts_ended)
}

/// Whether the rate fell, as far as both sides of the end were measured.
fn fell(end: &BurstEnd) -> bool {
    let below = |(before, after): (f64, f64)| after < before * (1.0 - FALL_MIN);
    end.iops_before.zip(end.iops_after).is_none_or(below)
}

fn one(view: &VolumeView<'_>, cell: &CellRecord, index: usize, end: &BurstEnd) -> Finding {
    let summary = &view.cells[index];
    let rates = if summary.load.block_bytes >= LARGE_BYTES_MIN {
        end.bytes_per_s_before.zip(end.bytes_per_s_after).map(|(a, b)| (Rate::BytesPerS(a), Rate::BytesPerS(b)))
    } else {
        end.iops_before.zip(end.iops_after).map(|(a, b)| (Rate::Iops(a), Rate::Iops(b)))
    };
    let others: Vec<u64> = trials_counted(cell)
        .iter()
        .filter_map(|trial| ends(trial).iter().find(|other| other.stage == end.stage).map(|other| other.at_ns))
        .collect();
    let range_ns = others.iter().min().copied().zip(others.iter().max().copied());
    let load = LoadAt::of(summary);
    let seen = FindingSeen::BurstEnded { load, stage: end.stage, at_ns: end.at_ns, range_ns, rates };
    view.finding(FindingCode::BurstEnded, seen, &[index])
}
