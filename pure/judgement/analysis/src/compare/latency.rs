//! A latency figure of a cell with the interval in which it is known.

use super::figure::Figure;
use super::sample::Sample;
use crate::statistics::mean_over_trials;
use crate::trials::{latency_figures, trials_used};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{CellRecord, OperationRecord};

/// A latency of the slowest of reads, writes and trims, which is what an objective is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyEstimate {
    /// ns.
    pub value_ns: f64,
    /// Its 95 % interval, ns: over trials by Student's t; of a single trial by the larger of order statistics and what its seconds
    /// say, which are like their neighbours. Of a mix it is as wide in proportion as that of all its requests together. `None`
    /// where there is too little to tell.
    pub interval_ns: Option<(f64, f64)>,
}

/// A latency figure of a cell; `None` where nothing was completed.
#[must_use]
pub fn latency_estimate(cell: &CellRecord, figure: LatencyFigure) -> Option<LatencyEstimate> {
    let share = figure.share();
    let of = match figure {
        LatencyFigure::Mean => Figure::Mean,
        LatencyFigure::P50 => Figure::P50,
        LatencyFigure::P90 => Figure::P90,
        LatencyFigure::P95 => Figure::P95,
        LatencyFigure::P99 => Figure::P99,
        LatencyFigure::P999 => Figure::P999,
    };
    let Ok(sample) = Sample::of(cell, of) else {
        // Too few requests lie beyond the percentile for an interval; the figure itself is there all the same.
        return Some(LatencyEstimate { value_ns: slowest(cell, share)?, interval_ns: None });
    };
    let operations = OPERATIONS.iter().filter(|o| records(cell, **o).any(|record| record.count > 0)).count();
    let value_ns = if operations > 1 { slowest(cell, share)? } else { sample.figure() };
    let half = match sample.within {
        Some(within) => Some(within.half_width()),
        None => mean_over_trials(&sample.values())
            .and_then(|estimate| Some((estimate.interval?.high - estimate.interval?.low) / 2.0)),
    };
    let interval_ns = half.map(|half| (value_ns * libm::exp(-half), value_ns * libm::exp(half)));
    Some(LatencyEstimate { value_ns, interval_ns })
}

const OPERATIONS: [Operation; 3] = [Operation::Read, Operation::Write, Operation::Trim];

/// The largest of the operations' figures: of their means, or at this share of their requests.
fn slowest(cell: &CellRecord, share: Option<f64>) -> Option<f64> {
    let figure = |operation: &Operation| {
        let figures = latency_figures(records(cell, *operation))?;
        match share {
            Some(share) => figures.percentile(share).map(|ns| ns as f64),
            None => Some(figures.mean),
        }
    };
    OPERATIONS.iter().filter_map(figure).max_by(f64::total_cmp)
}

fn records(cell: &CellRecord, operation: Operation) -> impl Iterator<Item = &OperationRecord> + Clone {
    trials_used(cell).into_iter().filter_map(move |trial| trial.of(operation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, closed};

    #[test]
    fn trials_and_seconds_give_a_percentile_its_interval() {
        let of =
            |factors: &[f64]| crate::example::cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), factors);
        for factors in [&[1.0, 1.02, 0.98][..], &[1.0]] {
            let estimate = latency_estimate(&of(factors), LatencyFigure::P99).unwrap();
            let (low, high) = estimate.interval_ns.unwrap();
            assert!(low <= estimate.value_ns && estimate.value_ns <= high, "{estimate:?}");
            assert!(high / low < 1.3, "{estimate:?}");
        }
    }
}
