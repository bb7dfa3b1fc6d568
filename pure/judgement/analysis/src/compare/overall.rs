//! Cells taken together: the geometric mean of their ratios.

use super::figure::Basis;
use super::ratio::{LogError, LogRatio, Rounds, satterthwaite};
use super::sample::Sample;
use crate::statistics::mean;

/// One cell's part.
#[derive(Debug, Clone)]
pub(super) struct CellRatio<'a> {
    pub(super) baseline: &'a Sample,
    pub(super) other: &'a Sample,
    pub(super) ratio: LogRatio,
}

/// The mean of the cells' logarithms. Its error is estimated twice, and the estimate with the wider interval is used: from the
/// errors of the cells as if these were independent, and from the means over all cells in each round of trials, which also
/// sees what moves all cells of a round together.
pub(super) fn together(parts: &[CellRatio<'_>], rounds: Rounds) -> Option<LogRatio> {
    let log = mean(&parts.iter().map(|p| p.ratio.log).collect::<Vec<_>>())?;
    let by_cells = by_cells(parts);
    let by_rounds = by_rounds(parts, rounds).and_then(|r| r.error);
    let error = match (by_cells, by_rounds) {
        (Some(cells), Some(rounds)) => Some(if rounds.half_width() > cells.half_width() { rounds } else { cells }),
        // Rounds alone would leave out cells without an error of their own.
        (cells, _) => cells,
    };
    Some(LogRatio { log, error })
}

fn by_cells(parts: &[CellRatio<'_>]) -> Option<LogError> {
    let count = parts.len() as f64;
    let errors: Vec<LogError> = parts.iter().map(|p| p.ratio.error).collect::<Option<_>>()?;
    let scaled: Vec<(f64, f64)> = errors.iter().map(|e| (e.variance / count / count, e.freedom)).collect();
    let variance: f64 = scaled.iter().map(|(v, _)| v).sum();
    let basis = errors.iter().map(|e| e.basis).max_by_key(|basis| weakness(*basis))?;
    Some(LogError { variance, freedom: satterthwaite(variance, &scaled), basis })
}

/// A mean rests on the weakest of its parts.
const fn weakness(basis: Basis) -> u8 {
    match basis {
        Basis::PairedTrials => 0,
        Basis::Trials => 1,
        Basis::TrialsOfOneSide => 2,
        Basis::OneTrial => 3,
    }
}

fn by_rounds(parts: &[CellRatio<'_>], rounds: Rounds) -> Option<LogRatio> {
    let baseline = over_cells(parts.iter().map(|p| p.baseline))?;
    let other = over_cells(parts.iter().map(|p| p.other))?;
    (baseline.logs.len() > 1 && other.logs.len() > 1).then(|| LogRatio::of(&baseline, &other, rounds))
}

/// The mean of all cells in each trial that all of them have.
fn over_cells<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<Sample> {
    let samples: Vec<&Sample> = samples.collect();
    let count = samples.len() as f64;
    let logs = samples.first()?.logs.iter().filter_map(|(trial, _)| {
        let of_trial: Option<Vec<f64>> =
            samples.iter().map(|s| s.logs.iter().find(|(t, _)| t == trial).map(|(_, log)| *log)).collect();
        Some((*trial, mean(&of_trial?)?))
    });
    let resolution = samples.iter().map(|s| s.resolution).sum::<f64>() / count / count;
    Some(Sample { logs: logs.collect(), within: None, resolution, spread: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    fn sample(logs: &[f64]) -> Sample {
        Sample { logs: (0..).zip(logs.iter().copied()).collect(), within: None, resolution: 0.0, spread: None }
    }
    fn of(pairs: &[(Sample, Sample)]) -> LogRatio {
        let parts: Vec<CellRatio<'_>> = pairs
            .iter()
            .map(|(a, b)| CellRatio { baseline: a, other: b, ratio: LogRatio::of(a, b, Rounds::Apart) })
            .collect();
        together(&parts, Rounds::Apart).unwrap()
    }

    #[test]
    fn independent_cells_narrow_the_interval_together() {
        // Noise of the cells that cancels in each round: rounds alone would say that there is none.
        let a = [[0.0, 0.1, -0.1], [0.0, -0.1, 0.1], [0.1, 0.0, -0.1], [-0.1, 0.0, 0.1]];
        let pairs: Vec<_> = a.iter().map(|logs| (sample(logs), sample(&logs.map(|l| l + 0.2)))).collect();
        let all = of(&pairs);
        close(all.log, 0.2, 1e-12);
        // Each: 2 x 0.01 / 3; four of them over 16.
        close(all.error.unwrap().variance, 0.02 / 3.0 / 4.0, 1e-12);
        close(all.error.unwrap().freedom, 16.0, 1e-9);
    }

    #[test]
    fn what_moves_all_cells_of_a_round_widens_it_again() {
        let pairs: Vec<_> = (0..20).map(|_| (sample(&[0.0, 0.1, -0.1]), sample(&[0.0, 0.1, -0.1]))).collect();
        let all = of(&pairs);
        close(all.error.unwrap().variance, 0.02 / 3.0, 1e-12);
        close(all.error.unwrap().freedom, 4.0, 1e-9);
    }

    #[test]
    fn cells_without_an_error_leave_the_mean_without_one() {
        let all = of(&[(sample(&[0.0, 0.1]), sample(&[0.1, 0.2])), (sample(&[0.0]), sample(&[0.1]))]);
        close(all.log, 0.1, 1e-12);
        assert_eq!(all.error, None);
    }
}
