//! Times in which the tool itself did not run, as far as figures show them.
//!
//! What was stopped is seen by a thread that only sleeps. Whoever issues requests may have gone on meanwhile, on another
//! processor: what is told here is how much of the figures a stop can have been.

use super::{PERCENTILES, REQUESTS_BEYOND_MIN};
use loadline_record::{DoubtEvidence, DoubtedFigure, LoadFigures, Stops, TrialRecord};

/// A tool that did not run for a larger share of the time than this has another rate than the storage's.
const SHARE_MAX: f64 = 0.01;
/// And for so long all together. A nap that ends 25 ms late is what any busy machine does now and then, and is more than a hundredth
/// of two seconds; so few of them take less of a rate than it moves by itself in a run in which they are a hundredth.
const TOTAL_NS_MIN: u64 = 100_000_000;
/// One stop as long as this stands in the maximum.
const LONGEST_NS_MAX: u64 = 500_000_000;
/// The percentiles judged, of [`PERCENTILES`]: p99 and p99.9.
const JUDGED: usize = 2;
/// A stop shorter than this share of a percentile is not what makes it.
const OF_PERCENTILE: f64 = 0.5;

/// The tool's own stops, where rates, percentiles or maxima hold them as if they were the storage's.
pub(super) fn tool_stopped(load: &LoadFigures, trial: &TrialRecord) -> Option<DoubtEvidence> {
    let stops = trial.surroundings.stops?;
    let share = stopped_share(trial)?;
    let mut figures = Vec::new();
    if share > SHARE_MAX && stops.total_ns > TOTAL_NS_MIN {
        figures.push(DoubtedFigure::Rate);
    }
    figures.extend(percentiles_touched(load, trial, stops, share));
    if stops.longest_ns > LONGEST_NS_MAX {
        figures.push(DoubtedFigure::Maximum);
    }
    (!figures.is_empty()).then_some(DoubtEvidence::ToolStopped {
        total_ns: stops.total_ns,
        longest_ns: stops.longest_ns,
        measured_ns: trial.measured_ns,
        quota_spent_ns: stops.throttled_ns.filter(|ns| *ns >= stops.total_ns / 2),
        figures,
    })
}

/// The share of the measured time in which the tool did not run.
pub(crate) fn stopped_share(trial: &TrialRecord) -> Option<f64> {
    let stops = trial.surroundings.stops?;
    (trial.measured_ns > 0).then(|| stops.total_ns as f64 / trial.measured_ns as f64)
}

/// The percentiles beyond which no more requests lie than stops can have touched: in a closed loop those outstanding at each, in an
/// open one those that were due meanwhile.
fn percentiles_touched(load: &LoadFigures, trial: &TrialRecord, stops: Stops, share: f64) -> Vec<DoubtedFigure> {
    let requests = trial.count() as f64;
    // Not counted in older records: no fewer than this.
    let count = stops.count.max(stops.total_ns.div_ceil(stops.longest_ns.max(1)));
    let touched = match load.queue_depth {
        Some(depth) => (count * u64::from(depth) * u64::from(load.threads)) as f64,
        None => requests * share,
    };
    // Those of too few requests are doubted for that already.
    let told = PERCENTILES.into_iter().take(JUDGED).filter(|(_, beyond)| trial.count() >= beyond * REQUESTS_BEYOND_MIN);
    let judged = told.filter(|(_, beyond)| touched * *beyond as f64 > requests);
    // The stops are what lies beyond it, not the storage.
    let made = |beyond: u64| {
        let quantile = 1.0 - 1.0 / beyond as f64;
        let figures = trial.operations.values().filter_map(|record| record.latency.quantile(quantile));
        figures.max().is_some_and(|figure| stops.longest_ns as f64 >= figure.as_ns() as f64 * OF_PERCENTILE)
    };
    judged.filter(|(_, beyond)| made(*beyond)).map(|(figure, _)| figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, closed, open, trial};

    const MS: u64 = 1_000_000;

    /// The figures in which so many stops stand.
    fn touched(load: &LoadFigures, measured_ms: u64, stops: &[u64]) -> Vec<DoubtedFigure> {
        let load = LoadFigures { duration_ns: measured_ms * MS, ..load.clone() };
        let mut trial = trial(&load, &ExampleDisk::default(), 0, 1.0);
        trial.surroundings.stops = Some(Stops {
            count: stops.len() as u64,
            total_ns: stops.iter().sum::<u64>() * MS,
            longest_ns: stops.iter().max().copied().unwrap_or_default() * MS,
            throttled_ns: None,
        });
        match tool_stopped(&load, &trial) {
            Some(DoubtEvidence::ToolStopped { figures, .. }) => figures,
            other => {
                assert_eq!(other, None);
                Vec::new()
            }
        }
    }

    #[test]
    fn a_single_late_nap_of_a_short_run_is_no_doubt_of_its_rate() {
        let reads = closed("random", 1.0, 4 << 10, 4);
        assert_eq!(touched(&reads, 2_000, &[25]), []);
        assert_eq!(touched(&reads, 1_000, &[25, 30]), []);
        // As long in sum as shows in the rate, and a single one that long.
        assert_eq!(touched(&reads, 2_000, &[25; 5])[0], DoubtedFigure::Rate);
        assert_eq!(touched(&reads, 2_000, &[120]), [DoubtedFigure::Rate]);
        // Less than a hundredth of a longer run.
        assert_eq!(touched(&reads, 60_000, &[120]), []);
        assert_eq!(touched(&reads, 60_000, &[501]), [DoubtedFigure::Maximum]);
    }

    #[test]
    fn what_is_due_while_an_open_loop_is_stopped_stands_in_its_percentiles() {
        let arrivals = open("random", 1.0, 4 << 10, 1_000.0);
        // 25 of 2,000 waited: more than the hundredth beyond p99.
        assert_eq!(touched(&arrivals, 2_000, &[25]), [DoubtedFigure::P99]);
        assert_eq!(touched(&arrivals, 20_000, &[25]), [DoubtedFigure::P999]);
        assert_eq!(touched(&arrivals, 60_000, &[25]), []);
    }

    #[test]
    fn a_closed_loop_has_as_many_waiting_as_are_outstanding() {
        // Of 5,000 a second a hundredth is 50 in a second.
        let deep = closed("random", 1.0, 4 << 10, 64);
        assert!(touched(&deep, 1_000, &[90]).contains(&DoubtedFigure::P99));
        // What the storage takes as long for by itself is not the tool's.
        assert_eq!(touched(&closed("random", 1.0, 4 << 10, 1_024), 1_000, &[25]), []);
    }
}
