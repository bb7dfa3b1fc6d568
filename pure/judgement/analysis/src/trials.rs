//! The trials of a cell that count, and what they have together: latencies and doubts.

use crate::statistics::{first_differs, mann_kendall, mean, theil_sen_slope};
use loadline_load::LatencyFigure;
use loadline_record::{
    CellRecord, Doubt, DoubtCode, DoubtEvidence, Ending, Histogram, HistogramSnapshot, OperationRecord, TrialRecord,
};

/// Fewer trials than this cannot show a trend: of five in any order two of 120 orders rise or fall throughout.
pub(crate) const TRIALS_MIN: usize = 5;
/// How rarely noise alone may pass for a trend in any of the cells tested together.
pub(crate) const SIGNIFICANCE: f64 = 0.05;
/// A smaller change over all trials is of no practical weight.
pub(crate) const CHANGE_MIN: f64 = 0.05;
/// Rates that reach this share of the best one are as good: trials on a quiet disk differ by as much.
pub(crate) const AS_GOOD: f64 = 0.98;
/// Requests that were offered, or a rate that was asked for, are met within this,
pub(crate) const MET_TOLERANCE: f64 = 0.01;
/// and within so many requests.
pub(crate) const MET_TOLERANCE_COUNT: f64 = 3.0;

/// The trials that figures rest on: of all that count, those of the most plausible draw, where what was predicted drew several.
pub(crate) fn trials_used(cell: &CellRecord) -> Vec<&TrialRecord> {
    let all = trials_counted(cell);
    let likely: Vec<&TrialRecord> = all.iter().copied().filter(|trial| !trial.is_alternative()).collect();
    if likely.is_empty() { all } else { likely }
}

/// The trials that count: the complete ones, or, where none is, whatever was measured. The doubts of those left out stay with
/// the cell.
pub(crate) fn trials_counted(cell: &CellRecord) -> Vec<&TrialRecord> {
    let measured: Vec<&TrialRecord> = cell.trials.iter().filter(|t| t.measured_ns > 0).collect();
    let complete: Vec<&TrialRecord> = measured.iter().copied().filter(|t| t.ending == Ending::Complete).collect();
    if complete.is_empty() { measured } else { complete }
}

/// The figures of the latencies of all `records` together, as well as they are known.
pub(crate) fn latency_figures<'a>(
    records: impl Iterator<Item = &'a OperationRecord> + Clone,
) -> Option<HistogramSnapshot> {
    if records.clone().all(|record| record.told.is_none()) {
        return merged(records.map(|record| Some(&record.latency)))?.snapshot();
    }
    let parts: Option<Vec<(u64, HistogramSnapshot)>> =
        records.filter(|record| record.count > 0).map(|r| Some((r.figures_count(), r.figures()?))).collect();
    HistogramSnapshot::pooled(&parts?)
}

/// A figure of some latencies, ns.
pub(crate) fn latency_figure(of: &HistogramSnapshot, figure: LatencyFigure) -> Option<f64> {
    let percentile = match figure {
        LatencyFigure::Mean => return Some(of.mean),
        LatencyFigure::P50 => of.p50,
        LatencyFigure::P90 => of.p90,
        LatencyFigure::P95 => of.p95,
        LatencyFigure::P99 => of.p99,
        LatencyFigure::P999 => of.p99_9,
    };
    percentile.map(|ns| ns as f64)
}

/// All of `histograms` in one; `None` where one is missing, since a part would pass for the whole.
pub(crate) fn merged<'a>(histograms: impl Iterator<Item = Option<&'a Histogram>>) -> Option<Histogram> {
    let mut all = Histogram::new();
    for histogram in histograms {
        all.merge(histogram?);
    }
    Some(all)
}

/// Every distinct doubt of all trials, with how many trials have it where not all do.
pub(crate) fn cell_doubts(cell: &CellRecord, used: usize) -> Vec<Doubt> {
    let trials = cell.trials.len();
    let mut doubts = cell.doubts();
    for Doubt { code, seen } in &mut doubts {
        let having = cell.trials.iter().filter(|t| t.doubts.iter().any(|d| d.code == *code)).count();
        if having < trials {
            let are_others = *code == DoubtCode::EndedEarly && used > 0 && used + having <= trials;
            *seen = DoubtEvidence::InSomeTrials {
                having: having as u32,
                trials: trials as u32,
                figures_from: are_others.then_some(used as u32),
                seen: Box::new(seen.clone()),
            };
        }
    }
    doubts
}

/// By how much of its mean a rate rises over trials, or after the first, where that is no chance at `level`.
pub(crate) fn rise(rates: &[f64], level: f64) -> Option<f64> {
    let mean = mean(rates).filter(|mean| *mean > 0.0 && rates.len() >= TRIALS_MIN)?;
    let change = theil_sen_slope(rates)? * (rates.len() - 1) as f64;
    let steadily = mann_kendall(rates).filter(|test| test.p_value < level).map(|_| change);
    let at_once = || first_differs(rates).filter(|test| test.p_value < level).map(|test| test.others - test.first);
    steadily.or_else(at_once).map(|change| change / mean).filter(|change| *change > CHANGE_MIN)
}
