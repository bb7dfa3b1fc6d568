//! When bursts ended, as a model knows it.

use super::{VolumeView, codes};
use crate::summary::{CellSummary, Finding, LastingFigures};
use crate::trials::{trials_counted, trials_used};
use crate::words::{counted, how_much, load_name, number, throughput};
use loadline_record::{BurstEnd, CellRecord, RunRecord, Stage, TrialRecord};
use loadline_units::Duration;

/// Ends told one by one; a matrix of hundreds of cells gives the rest in one sentence.
const TOLD_ONE_BY_ONE: usize = 6;
/// Rates that differ by less are the same: as many arrive by chance, more or fewer.
const FALL_MIN: f64 = 0.01;
/// Requests of this size and more are spoken of in bytes per second.
const LARGE_BLOCK: u64 = 128 * 1024;

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
        let text = format!("{} more ended while their load went on.", counted(rest.len(), "burst"));
        found.push(view.finding(codes::BURST_ENDED, &text, &cells));
    }
    found
}

/// A rate across a burst's end, in words: what it was while credits lasted; and for how long, and what lasts. Their mean is
/// neither.
pub(super) fn apart(cell: &CellSummary, text: fn(f64) -> String) -> Option<(String, String)> {
    let lasting = cell.lasting.as_ref()?;
    Some((text(lasting.iops_before), then(lasting, &text(lasting.iops))))
}

/// The same in bytes per second.
pub(super) fn apart_in_bytes(cell: &CellSummary) -> Option<(String, String)> {
    let lasting = cell.lasting.as_ref()?;
    Some((throughput(lasting.bytes_per_s_before), then(lasting, &throughput(lasting.throughput_bytes_per_s))))
}

fn then(lasting: &LastingFigures, rate: &str) -> String {
    let burst = if lasting.before_ns.is_some() { " of burst" } else { "" };
    format!(" {}{burst}, {rate} from then on", lasting.how_long())
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
    let whose = match end.stage {
        Stage::VmCached => "the VM's burst (cached)",
        Stage::VmUncached => "the VM's burst (uncached)",
        Stage::Shared => "the burst that the disks share",
        Stage::Disk | Stage::Service | Stage::Cache => "the disk's burst",
    };
    let rates = if summary.load.block_bytes >= LARGE_BLOCK {
        end.bytes_per_s_before.zip(end.bytes_per_s_after).map(|(a, b)| (throughput(a), throughput(b)))
    } else {
        end.iops_before.zip(end.iops_after).map(|(a, b)| (number(a), format!("{} IOPS", number(b))))
    };
    let rates =
        rates.map_or_else(String::new, |(before, after)| format!(", and the rate went from {before} to {after}"));
    let clock = |ns| Duration::from_ns(ns).clock();
    let others: Vec<u64> = trials_counted(cell)
        .iter()
        .filter_map(|trial| ends(trial).iter().find(|other| other.stage == end.stage).map(|other| other.at_ns))
        .collect();
    let range = match (others.iter().min(), others.iter().max()) {
        (Some(least), Some(most)) if clock(*least) != clock(*most) => {
            format!(" ({} to {} over what is uncertain)", clock(*least), clock(*most))
        }
        _ => String::new(),
    };
    let text = format!(
        "{} at {}: {whose} ended after {} of load{range}{rates}.",
        load_name(summary),
        how_much(summary),
        clock(end.at_ns)
    );
    view.finding(codes::BURST_ENDED, &text, &[index])
}
