//! A run record in, its results as programs read them out.

use crate::findings::findings;
use crate::limits::name_limits;
use crate::statistics::{Interval, mean, mean_over_trials, median, series_interval};
use crate::summary::{
    CellSummary, CpuFigures, LoadView, OperationFigures, RunInfo, RunSummary, SCHEMA, TotalFigures,
};
use loadline_block::Operation;
use loadline_record::{CellRecord, Doubt, DoubtCode, Ending, Histogram, LoadSummary, OperationRecord, RunHeader, RunRecord, TrialRecord};

/// Estimates, limits and findings of a run, finished or not.
#[must_use]
pub fn summarize(record: &RunRecord) -> RunSummary {
    let mut cells: Vec<CellSummary> = record.cells.iter().map(summarize_cell).collect();
    let curves = name_limits(record, &mut cells);
    let findings = findings(record, &cells, &curves);
    RunSummary { schema: SCHEMA.to_owned(), run: run_info(record), cells, findings }
}

fn run_info(record: &RunRecord) -> RunInfo {
    let RunHeader { id, name, verb, clock, started, version, seed, host, plans, environment, volumes, settings: _ } =
        record.header.clone();
    RunInfo { id, name, verb, clock, started, version, status: record.status, host, environment, plan: plans, volumes, seed }
}

/// The trials that figures rest on: the complete ones, or, where none is, whatever was measured. The doubts of those left
/// out stay with the cell.
pub(crate) fn trials_used(cell: &CellRecord) -> Vec<&TrialRecord> {
    let measured: Vec<&TrialRecord> = cell.trials.iter().filter(|t| t.measured_ns > 0).collect();
    let complete: Vec<&TrialRecord> = measured.iter().copied().filter(|t| t.ending == Ending::Complete).collect();
    if complete.is_empty() { measured } else { complete }
}

fn summarize_cell(cell: &CellRecord) -> CellSummary {
    let used = trials_used(cell);
    let of = |operation| operation_figures(&used, operation);
    let offered: Option<Vec<f64>> = used.iter().map(|t| t.offered_iops).collect();
    CellSummary {
        id: cell.id.clone(),
        volume: cell.volume.clone(),
        label: cell.label.clone(),
        load: load_view(&cell.load),
        trials: used.len() as u32,
        total: total_figures(&used),
        read: of(Operation::Read),
        write: of(Operation::Write),
        trim: of(Operation::Trim),
        flush: of(Operation::Flush),
        offered_iops: offered.and_then(|o| mean(&o)),
        errors: cell.trials.iter().map(TrialRecord::errors_total).sum(),
        cpu: cpu_figures(&cell.trials),
        binding: None,
        ceilings: Vec::new(),
        doubts: cell_doubts(cell, used.len()),
    }
}

fn load_view(load: &LoadSummary) -> LoadView {
    LoadView {
        pattern: load.pattern.clone(),
        read_ratio: load.read_ratio,
        block_bytes: load.block_bytes,
        queue_depth: load.queue_depth,
        threads: load.threads,
        arrival: load.arrival.clone(),
        rate_iops: load.rate_iops,
        buffered: load.buffered,
    }
}

fn total_figures(used: &[&TrialRecord]) -> Option<TotalFigures> {
    let iops: Vec<f64> = used.iter().filter_map(|t| t.iops()).collect();
    let bytes: Vec<f64> = used.iter().filter_map(|t| t.bytes_per_s()).collect();
    let estimate = mean_over_trials(&iops)?;
    let interval = match used {
        [only] => interval_of_one(only, estimate.mean),
        _ => estimate.interval,
    };
    Some(TotalFigures {
        iops: estimate.mean,
        iops_low: interval.map(|i| i.low.max(0.0)),
        iops_high: interval.map(|i| i.high),
        throughput_bytes_per_s: mean(&bytes)?,
        throughput_median_bytes_per_s: median(&bytes)?,
        throughput_best_bytes_per_s: bytes.iter().copied().max_by(f64::total_cmp)?,
    })
}

/// What the seconds of a single trial say about its mean. The series counts flushes too and leaves out a short last second, so its
/// interval is taken in proportion.
fn interval_of_one(trial: &TrialRecord, iops: f64) -> Option<Interval> {
    let rates: Vec<f64> = trial.series.iops().collect();
    let interval = series_interval(&rates)?;
    let scale = iops / mean(&rates).filter(|m| *m > 0.0)?;
    let half_width = (interval.high - interval.low) / 2.0 * scale;
    Some(Interval { low: iops - half_width, high: iops + half_width })
}

fn operation_figures(used: &[&TrialRecord], operation: Operation) -> Option<OperationFigures> {
    let records: Vec<(&TrialRecord, &OperationRecord)> =
        used.iter().filter_map(|t| Some((*t, t.of(operation)?))).collect();
    // Trials in which the operation did not occur completed none of it: a rate of 0, not a missing one.
    let rate = |of: fn(&OperationRecord) -> u64| {
        records.iter().map(|(t, r)| of(r) as f64 * 1e9 / t.measured_ns as f64).sum::<f64>() / used.len() as f64
    };
    let latency_ns = merged(records.iter().map(|(_, r)| Some(&r.latency)))?.snapshot()?;
    let part = |of: fn(&OperationRecord) -> Option<&Histogram>| {
        merged(records.iter().map(|(_, r)| of(r))).and_then(|h| h.snapshot())
    };
    Some(OperationFigures {
        iops: rate(|r| r.count),
        throughput_bytes_per_s: rate(|r| r.bytes),
        latency_ns,
        waiting_ns: part(|r| r.waiting.as_ref()),
        service_ns: part(|r| r.service.as_ref()),
    })
}

/// All of `histograms` in one; `None` where one is missing, since a part would pass for the whole.
fn merged<'a>(histograms: impl Iterator<Item = Option<&'a Histogram>>) -> Option<Histogram> {
    let mut all = Histogram::new();
    for histogram in histograms {
        all.merge(histogram?);
    }
    Some(all)
}

fn cpu_figures(trials: &[TrialRecord]) -> CpuFigures {
    let seconds = |of: fn(&TrialRecord) -> u64| trials.iter().map(of).sum::<u64>() as f64 / 1e9;
    CpuFigures {
        user_s: seconds(|t| t.surroundings.load_user_ns),
        system_s: seconds(|t| t.surroundings.load_system_ns),
    }
}

/// Every distinct doubt of all trials, with how many trials have it where not all do.
fn cell_doubts(cell: &CellRecord, used: usize) -> Vec<Doubt> {
    let trials = cell.trials.len();
    let mut doubts = cell.doubts();
    for doubt in &mut doubts {
        let having = cell.trials.iter().filter(|t| t.doubts.iter().any(|d| d.code == doubt.code)).count();
        if having < trials {
            doubt.detail = format!("In {having} of {trials} trials: {}", doubt.detail);
        }
        if doubt.code == DoubtCode::EndedEarly && used < trials && used + having <= trials {
            doubt.detail.push_str(" The figures rest on the other trials.");
        }
    }
    doubts
}
