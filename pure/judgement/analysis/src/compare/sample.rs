//! What the trials of a cell tell about one figure, on a logarithmic scale: there a ratio is a difference.

use super::figure::Figure;
use super::indecision::NoFigure;
use crate::doubts::REQUESTS_BEYOND_MIN;
use crate::statistics::{MeanError, NORMAL_95, mean, scatter_error, series_error};
use crate::trials::{latency_figures, trials_used};
use loadline_block::Operation;
use loadline_record::{CellRecord, Histogram, OperationRecord, Second, TrialRecord};

/// A histogram's bucket is at most this share of its values wide: two trials whose percentiles share a bucket may differ by it.
const BUCKET_WIDTH: f64 = 1.0 / 64.0;
/// Degrees of freedom of an error that is known rather than estimated.
pub(super) const FREEDOM_MAX: f64 = 1e6;

/// One figure of one cell.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// Each trial's number and the logarithm of its figure.
    pub(super) logs: Vec<(u32, f64)>,
    /// Of a single trial: how far its logarithm can be from that of a trial without end.
    pub(super) within: Option<MeanError>,
    /// Variance of the logarithm that no number of trials takes away: the figure is known in steps.
    pub(super) resolution: f64,
    /// Of several trials: their variance as far as the other cells of the comparison tell of it, too.
    pub(super) spread: Option<Spread>,
}

/// The variance of a single trial's logarithm, in two parts, each with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// What each cell has for itself.
    pub(super) own: (f64, f64),
    /// What all cells of a round have in common.
    pub(super) shared: (f64, f64),
}

impl Sample {
    /// The figure of `cell` over the trials that its figures rest on.
    pub(super) fn of(cell: &CellRecord, figure: Figure) -> Result<Self, NoFigure> {
        let trials = trials_used(cell);
        let values: Vec<(u32, f64)> =
            trials.iter().map(|t| Ok((t.trial, value(t, figure)?))).collect::<Result<_, NoFigure>>()?;
        if values.is_empty() {
            return Err(NoFigure::NoTrial);
        }
        let requests = mean(&trials.iter().map(|t| t.count() as f64).collect::<Vec<_>>()).unwrap_or(1.0).max(1.0);
        let resolution = match figure.quantile() {
            // Uniform within a bucket.
            Some(_) => BUCKET_WIDTH * BUCKET_WIDTH / 12.0,
            // A request more or less.
            None => 1.0 / (requests * requests),
        };
        let within = match trials.as_slice() {
            [only] => within(only, figure),
            _ => None,
        };
        Ok(Self {
            logs: values.into_iter().map(|(trial, v)| (trial, libm::log(v))).collect(),
            within,
            resolution,
            spread: None,
        })
    }
    /// The same with what other cells tell of its spread.
    pub(super) fn with(&self, spread: Option<Spread>) -> Self {
        Self { spread, ..self.clone() }
    }
    /// The logarithms alone.
    pub(super) fn values(&self) -> Vec<f64> {
        self.logs.iter().map(|(_, log)| *log).collect()
    }
    /// The geometric mean over trials.
    pub(super) fn figure(&self) -> f64 {
        libm::exp(mean(&self.values()).expect("a sample has a trial"))
    }
}

/// The figure of one trial.
pub(super) fn value(trial: &TrialRecord, figure: Figure) -> Result<f64, NoFigure> {
    let above_zero = |value: Option<f64>| value.filter(|v| *v > 0.0).ok_or(NoFigure::NoRequest);
    match (figure, figure.quantile()) {
        (Figure::Rate, _) => above_zero(trial.iops()),
        (Figure::Throughput, _) => above_zero(trial.bytes_per_s()),
        (Figure::Counted, _) => Err(NoFigure::NotTold),
        (_, share) if transfers(trial).any(|record| record.told.is_some()) => told(trial, share),
        (_, Some(share)) => quantile(&latencies(trial), share),
        _ => above_zero(latencies(trial).mean_ns()),
    }
}

/// The mean, or the latency at a share of the requests, as another tool told it. The percentile of a mix does not follow from those of
/// its operations.
fn told(trial: &TrialRecord, share: Option<f64>) -> Result<f64, NoFigure> {
    let records: Vec<&OperationRecord> = transfers(trial).filter(|record| record.count > 0).collect();
    let figures = latency_figures(records.iter().copied()).ok_or(NoFigure::NoRequest)?;
    match (share, records.as_slice()) {
        (None, _) => Ok(figures.mean.max(1.0)),
        (Some(share), [only]) => {
            is_enough(only.count as f64, share)?;
            figures.percentile(share).map(|ns| (ns as f64).max(1.0)).ok_or(NoFigure::NotTold)
        }
        _ => Err(NoFigure::NotTold),
    }
}

/// Reads, writes and trims.
fn transfers(trial: &TrialRecord) -> impl Iterator<Item = &OperationRecord> {
    trial.operations.iter().filter(|(operation, _)| **operation != Operation::Flush).map(|(_, record)| record)
}

/// Reads, writes and trims together, as an application that waits for all of them sees them.
fn latencies(trial: &TrialRecord) -> Histogram {
    let mut all = Histogram::new();
    for record in transfers(trial) {
        all.merge(&record.latency);
    }
    all
}

/// The percentile in ns, between the ends of its bucket by rank. `Histogram::quantile` gives the middle of the bucket, which
/// is as good for one figure and too coarse for the ratio of two.
fn quantile(all: &Histogram, share: f64) -> Result<f64, NoFigure> {
    let count = all.count() as f64;
    if count <= 0.0 {
        return Err(NoFigure::NoRequest);
    }
    is_enough(count, share)?;
    Ok(at_rank(all, count * share))
}

/// Whether so many requests lie beyond the percentile that it is not the luck of a few.
fn is_enough(count: f64, share: f64) -> Result<(), NoFigure> {
    if count * (1.0 - share) < REQUESTS_BEYOND_MIN as f64 * (1.0 - 1e-9) { Err(NoFigure::TooFew) } else { Ok(()) }
}

/// The latency of the request that is `rank`-th by latency, at least 1 ns.
fn at_rank(all: &Histogram, rank: f64) -> f64 {
    let ends = |end: Option<loadline_units::Duration>| end.map_or(0.0, |d| d.as_ns() as f64);
    let (least, most) = (ends(all.min()), ends(all.max()));
    let mut before = 0.0;
    for (start, width, count) in all.buckets() {
        let count = count as f64;
        if before + count >= rank {
            let place = ((rank - before) / count).clamp(0.0, 1.0);
            return (start as f64 + width as f64 * place).clamp(least, most).max(1.0);
        }
        before += count;
    }
    most.max(1.0)
}

/// How far the logarithm of a single trial's figure can be from that of a trial without end, by its seconds.
fn within(trial: &TrialRecord, figure: Figure) -> Option<MeanError> {
    let rates: Vec<f64> = trial.series.iops().collect();
    // Only the last interval can be left out for being short.
    let seconds = || rates.iter().zip(&trial.series.seconds);
    match (figure, figure.quantile()) {
        (_, Some(share)) => {
            let logs: Vec<f64> = seconds().filter_map(|(_, second)| percentile_of(second, figure)).collect();
            let by_seconds = series_error(&logs)?;
            let by_rank = MeanError { error: rank_error(&latencies(trial), share), freedom: FREEDOM_MAX };
            Some(if by_rank.half_width() > by_seconds.half_width() { by_rank } else { by_seconds })
        }
        // Little's law gives the mean latency of a second: outstanding over rate.
        (Figure::Mean, _) => {
            let spans: Vec<f64> = seconds()
                .filter(|(rate, s)| **rate > 0.0 && s.outstanding > 0.0)
                .map(|(rate, s)| s.outstanding / rate)
                .collect();
            relative(&spans)
        }
        _ => match (trial.told_scatter, trial.iops()) {
            (Some(scatter), Some(iops)) if iops > 0.0 => {
                let MeanError { error, freedom } = scatter_error(scatter)?;
                Some(MeanError { error: error / iops, freedom })
            }
            _ => relative(&rates),
        },
    }
}

/// The error of a mean as a share of it, which is the error of its logarithm.
fn relative(values: &[f64]) -> Option<MeanError> {
    let mean = mean(values).filter(|m| *m > 0.0)?;
    let MeanError { error, freedom } = series_error(values)?;
    Some(MeanError { error: error / mean, freedom })
}

/// The logarithm of the percentile that a second keeps and that moves at least as much: its median for the median, its p99 up
/// to p99, its slowest beyond. Over reads, writes and trims, weighted by their number.
fn percentile_of(second: &Second, figure: Figure) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for operation in [Operation::Read, Operation::Write, Operation::Trim] {
        let of = second.of(operation);
        let ns = match figure {
            Figure::P50 => of.p50_ns,
            Figure::P999 => of.max_ns,
            _ => of.p99_ns,
        };
        if of.count > 0 && ns > 0 {
            sum += of.count as f64 * libm::log(ns as f64);
            count += of.count as f64;
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// The error of a percentile's logarithm by order statistics, as if requests did not depend on each other: the rank of the
/// true percentile is binomial, so 95 % of the time it lies within 1.96 sqrt(n q (1 - q)) of n q.
fn rank_error(all: &Histogram, share: f64) -> f64 {
    let count = all.count() as f64;
    let off = NORMAL_95 * libm::sqrt(count * share * (1.0 - share));
    let at = |rank: f64| libm::log(at_rank(all, rank.clamp(1.0, count)));
    (at(count * share + off) - at(count * share - off)) / 2.0 / NORMAL_95
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, latencies as spread};
    use crate::statistics::tests::close;

    fn depth_8(factors: &[f64]) -> CellRecord {
        cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), factors)
    }

    #[test]
    fn a_percentile_lies_between_the_ends_of_its_bucket() {
        // Even from 600 to 1,400 us: the median is 1,000 us, p99 1,392 us.
        let all = spread(100_000, 1e6);
        close(quantile(&all, 0.5).unwrap() / 1e6, 1.0, 2e-3);
        close(quantile(&all, 0.99).unwrap() / 1.392e6, 1.0, 2e-3);
    }

    #[test]
    fn a_percentile_of_too_few_requests_is_missing() {
        assert_eq!(quantile(&spread(999, 1e6), 0.99), Err(NoFigure::TooFew));
        assert!(quantile(&spread(1_000, 1e6), 0.99).is_ok());
        assert_eq!(quantile(&Histogram::new(), 0.5), Err(NoFigure::NoRequest));
    }

    #[test]
    fn trials_have_a_figure_each_and_one_trial_the_error_of_its_seconds() {
        let several = Sample::of(&depth_8(&[1.0, 2.0]), Figure::Rate).unwrap();
        close(several.logs[1].1 - several.logs[0].1, std::f64::consts::LN_2, 1e-3);
        assert_eq!((several.logs.len(), several.within), (2, None));
        for figure in Figure::ALL {
            let one = Sample::of(&depth_8(&[1.0]), figure).unwrap().within.unwrap();
            assert!(one.error < 0.01, "{figure:?}: {one:?}");
        }
    }

    #[test]
    fn closed_loops_have_the_mean_latency_that_littles_law_gives() {
        let of = |figure| Sample::of(&depth_8(&[1.0]), figure).unwrap().figure();
        close(of(Figure::Mean) * of(Figure::Rate) / 1e9, 8.0, 0.01);
    }

    #[test]
    fn what_was_not_measured_is_missing() {
        let mut cell = depth_8(&[1.0]);
        cell.trials[0].operations.clear();
        assert_eq!(Sample::of(&cell, Figure::Rate).unwrap_err(), NoFigure::NoRequest);
        assert_eq!(Sample::of(&cell, Figure::P99).unwrap_err(), NoFigure::NoRequest);
        cell.trials.clear();
        assert_eq!(Sample::of(&cell, Figure::Mean).unwrap_err(), NoFigure::NoTrial);
    }

    #[test]
    fn order_statistics_give_the_error_of_independent_requests() {
        // Even over 0.6 to 1.4: density 1.25 a unit, so the median of 10,000 is off by sqrt(0.25 / 10,000) / 1.25 = 0.4 %.
        close(rank_error(&spread(10_000, 1e6), 0.5), 0.004, 2e-4);
    }
}
