//! What the cells of a comparison tell of each other's noise.
//!
//! Three trials know their own variance badly: half the width of such a cell's interval is for want of degrees of freedom. Cells of
//! one comparison are alike in their noise more or less, and how alike is seen in how their variances scatter (G. Smyth, Linear
//! models and empirical Bayes methods, Statistical Applications in Genetics and Molecular Biology 3, 2004). So each variance is
//! drawn towards the common one, by as much as they are alike, and has gained degrees of freedom. Where they are not alike nothing
//! is gained.

use super::sample::{Sample, Spread};
use crate::statistics::{digamma, mean, trigamma, variance};

/// How alike variances are is itself known badly: their scatter is taken to be larger by so many of its standard errors.
const CAUTION: f64 = 0.5;
/// Fewer cells say nothing of how alike they are.
const CELLS_MIN: usize = 3;
/// Excess kurtosis of the logarithm of a variance with two degrees of freedom, the fewest that three trials have (Gumbel).
const KURTOSIS: f64 = 2.4;
/// A variance far below the common one is resolution, not calm.
const LEAST: f64 = 1e-12;
/// Ends of the search for the degrees of freedom that the common variance stands for.
const FREEDOM: (f64, f64) = (1e-3, 1e6);

/// The spread of the trials of each side of each cell, in the order given; `None` where it has one trial, or too few cells to lean
/// on. Each side has a common variance of its own, since one run may be made on a calmer day than the other; how alike cells are is
/// judged over both.
pub(super) fn spreads(cells: &[(&Sample, &Sample)]) -> Vec<[Option<Spread>; 2]> {
    let sides: [Vec<&Sample>; 2] = [0, 1].map(|side| cells.iter().map(|(a, b)| [*a, *b][side]).collect());
    let known = sides.each_ref().map(|side| side.iter().map(|sample| Own::of(sample)).collect::<Vec<_>>());
    let priors = priors(&known.each_ref().map(|side| side.iter().flatten().copied().collect()));
    let of = |side: usize| match priors {
        Some(priors) => of_one_side(&sides[side], &known[side], priors[side]),
        None => vec![None; cells.len()],
    };
    of(0).into_iter().zip(of(1)).map(|(a, b)| [a, b]).collect()
}

fn of_one_side(samples: &[&Sample], known: &[Option<Own>], prior: Prior) -> Vec<Option<Spread>> {
    let logs: Vec<(Vec<(u32, f64)>, f64)> = samples
        .iter()
        .zip(known)
        .filter_map(|(sample, own)| Some((sample.logs.clone(), prior.variance_of((*own)?))))
        .collect();
    let in_common = of_rounds(&logs);
    let most: f64 = known.iter().flatten().map(|own| own.freedom).sum();
    let spread = |own: Own| {
        let variance = prior.variance_of(own);
        let shared = in_common.min(variance);
        Spread { own: (variance - shared, (own.freedom + prior.freedom).min(most)), shared: (shared, own.freedom) }
    };
    known.iter().map(|own| own.map(spread)).collect()
}

/// The variance of one cell's trials on one side.
#[derive(Debug, Clone, Copy)]
struct Own {
    variance: f64,
    freedom: f64,
}

impl Own {
    fn of(sample: &Sample) -> Option<Self> {
        let values = sample.values();
        Some(Self { variance: variance(&values)?.max(LEAST), freedom: (values.len() - 1) as f64 })
    }
}

/// The common variance, and for how many degrees of freedom it stands.
#[derive(Debug, Clone, Copy)]
struct Prior {
    variance: f64,
    freedom: f64,
}

/// Of each side, from the mean and the scatter of the variances' logarithms, less what their own degrees of freedom make of them.
fn priors(sides: &[Vec<Own>; 2]) -> Option<[Prior; 2]> {
    if sides.iter().any(|side| side.len() < CELLS_MIN) {
        return None;
    }
    let log = |own: &Own| libm::log(own.variance) - digamma(own.freedom / 2.0) + libm::log(own.freedom / 2.0);
    let logs = sides.each_ref().map(|side| side.iter().map(log).collect::<Vec<f64>>());
    let all: Vec<Own> = sides.concat();
    let count = all.len() as f64;
    let own = mean(&all.iter().map(|own| trigamma(own.freedom / 2.0)).collect::<Vec<_>>())?;
    let error = own * libm::sqrt(2.0 / (count - 2.0) + KURTOSIS / count);
    let squares = |logs: &[f64]| Some(variance(logs)? * (logs.len() - 1) as f64);
    let scatter = ((squares(&logs[0])? + squares(&logs[1])?) / (count - 2.0) - own).max(0.0);
    // Caution takes from the freedom alone: it must not make the common variance any smaller.
    let freedom = 2.0 * inverse_trigamma(scatter + CAUTION * error);
    let half = inverse_trigamma(scatter);
    let shift = digamma(half) - libm::log(half);
    let of = |logs: &[f64]| Some(Prior { variance: libm::exp(mean(logs)? + shift), freedom });
    Some([of(&logs[0])?, of(&logs[1])?])
}

impl Prior {
    fn variance_of(&self, own: Own) -> f64 {
        (self.freedom * self.variance + own.freedom * own.variance) / (self.freedom + own.freedom)
    }
}

/// Trigamma falls from infinity to 0.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = FREEDOM;
    for _ in 0..100 {
        let middle = libm::sqrt(low * high);
        (low, high) = if trigamma(middle) > value { (middle, high) } else { (low, middle) };
    }
    libm::sqrt(low * high)
}

/// The variance of what all cells of a round have in common: that of the rounds' means, each cell weighing as its variance allows,
/// beyond what independent cells would show. Of this part there are no more degrees of freedom than rounds.
fn of_rounds(cells: &[(Vec<(u32, f64)>, f64)]) -> f64 {
    let Some((first, _)) = cells.first() else { return 0.0 };
    let rounds: Vec<u32> = first.iter().map(|(trial, _)| *trial).collect();
    let alike: Vec<(Vec<f64>, f64)> = cells
        .iter()
        .filter(|(logs, _)| logs.iter().map(|(trial, _)| *trial).eq(rounds.iter().copied()))
        .map(|(logs, variance)| (logs.iter().map(|(_, log)| *log).collect(), 1.0 / variance))
        .collect();
    if alike.len() < 2 {
        return 0.0;
    }
    let all: f64 = alike.iter().map(|(_, weight)| weight).sum();
    let of_round = |round: usize| {
        let sum: f64 = alike.iter().map(|(logs, weight)| weight * (logs[round] - mean(logs).unwrap_or(0.0))).sum();
        sum / all
    };
    let means: Vec<f64> = (0..rounds.len()).map(of_round).collect();
    (variance(&means).unwrap_or(0.0) - 1.0 / all).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::{close, noise};

    fn sample(logs: &[f64]) -> Sample {
        Sample { logs: (0..).zip(logs.iter().copied()).collect(), within: None, resolution: 0.0, spread: None }
    }
    /// Cells of three trials a side, by the standard deviation of each.
    fn made(deviations: &[f64]) -> Vec<(Sample, Sample)> {
        let of = |seed: u64, by: f64| sample(&noise(seed, 3, 0.0).iter().map(|v| v * by).collect::<Vec<_>>());
        (0..).zip(deviations).map(|(i, by)| (of(2 * i, *by), of(2 * i + 1, *by))).collect()
    }
    fn of(cells: &[(Sample, Sample)]) -> Vec<[Option<Spread>; 2]> {
        spreads(&cells.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>())
    }

    #[test]
    fn trigamma_is_inverted() {
        for value in [0.01, 0.5, 1.0, 1.644_934, 5.0] {
            close(trigamma(inverse_trigamma(value)), value, 1e-6);
        }
    }

    #[test]
    fn cells_that_are_alike_lend_each_other_degrees_of_freedom() {
        let spreads = of(&made(&[0.01; 40]));
        let own: Vec<(f64, f64)> = spreads.iter().flatten().map(|s| s.unwrap().own).collect();
        assert!(own.iter().all(|(_, freedom)| *freedom > 8.0), "{own:?}");
        let middle = mean(&own.iter().map(|(variance, _)| *variance).collect::<Vec<_>>()).unwrap();
        close(middle, 1e-4, 2.5e-5);
    }

    #[test]
    fn cells_that_are_not_alike_keep_their_own() {
        let wild: Vec<f64> = (0..40).map(|i| 1e-4 * 10f64.powi(i % 4)).collect();
        let spreads = of(&made(&wild));
        assert!(spreads.iter().flatten().all(|s| s.unwrap().own.1 < 3.0), "{spreads:?}");
    }

    #[test]
    fn what_moves_all_cells_of_a_round_has_the_freedom_of_rounds() {
        let together: Vec<(Sample, Sample)> =
            (0..20).map(|_| (sample(&[0.0, 0.1, -0.1]), sample(&[0.05, -0.1, 0.05]))).collect();
        for [a, b] in of(&together) {
            for spread in [a.unwrap(), b.unwrap()] {
                assert!(spread.shared.0 > spread.own.0, "{spread:?}");
                close(spread.shared.1, 2.0, 1e-12);
            }
        }
    }

    #[test]
    fn a_cell_or_two_lend_each_other_nothing() {
        assert!(of(&made(&[0.01; 2])).iter().flatten().all(Option::is_none));
        let single: Vec<(Sample, Sample)> = (0..5).map(|_| (sample(&[0.1]), sample(&[0.2]))).collect();
        assert!(of(&single).iter().flatten().all(Option::is_none));
    }
}
