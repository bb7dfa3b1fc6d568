//! The ratio of two figures with its error, and how much noise alone explains of it.

use super::figure::{Basis, Figure, RatioEstimate};
use super::sample::{FREEDOM_MAX, Sample, Spread};
use crate::statistics::{CONFIDENCE, mean, t_p_value, t_quantile, variance};

/// Pairs halve the degrees of freedom. With fewer rounds than this that costs more than leaving out a drift gains: with three, the
/// interval of pairs is 1.5 times as wide where nothing drifts. Trials that share a drift and are not paired have an interval that
/// is too wide, never too narrow.
const ROUNDS_MIN: usize = 5;

/// Whether the trials of both sides were run in turns, round by round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounds {
    /// They are of one run: a drift falls on both.
    Shared,
    /// They are of different runs.
    Apart,
}

/// The logarithm of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogRatio {
    /// Other less baseline.
    pub(super) log: f64,
    /// `None` where there is too little to tell.
    pub(super) error: Option<LogError>,
}

/// How far a logarithm can be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogError {
    /// Square of the standard error.
    pub(super) variance: f64,
    /// For Student's t.
    pub(super) freedom: f64,
    /// Where it is from.
    pub(super) basis: Basis,
}

impl LogError {
    pub(super) fn half_width(&self) -> f64 {
        t_quantile(CONFIDENCE, self.freedom) * libm::sqrt(self.variance)
    }
    /// How often noise alone is at least `distance` (0 or more) away on one given side.
    fn beyond(&self, distance: f64) -> f64 {
        if self.variance <= 0.0 {
            return if distance > 0.0 { 0.0 } else { 0.5 };
        }
        t_p_value(distance / libm::sqrt(self.variance), self.freedom) / 2.0
    }
}

impl LogRatio {
    /// Of two samples of one figure.
    pub(super) fn of(baseline: &Sample, other: &Sample, rounds: Rounds) -> Self {
        let resolution = baseline.resolution + other.resolution;
        if rounds == Rounds::Shared
            && let Some(paired) = paired(baseline, other, resolution)
        {
            return paired;
        }
        if let (Some(a), Some(b)) = (baseline.spread, other.spread) {
            return pooled((baseline, a), (other, b), resolution);
        }
        let (a, b) = (baseline.values(), other.values());
        let log = mean(&b).unwrap_or(0.0) - mean(&a).unwrap_or(0.0);
        let parts = match (variance(&a), variance(&b)) {
            (Some(va), Some(vb)) => Some((
                [(va / a.len() as f64, (a.len() - 1) as f64), (vb / b.len() as f64, (b.len() - 1) as f64)],
                Basis::Trials,
            )),
            (Some(va), None) => Some(with_single(va, a.len(), other)),
            (None, Some(vb)) => Some(with_single(vb, b.len(), baseline)),
            (None, None) => baseline
                .within
                .zip(other.within)
                .map(|(a, b)| ([(a.error * a.error, a.freedom), (b.error * b.error, b.freedom)], Basis::OneTrial)),
        };
        let error = parts.map(|(parts, basis)| {
            let variance = parts[0].0 + parts[1].0 + resolution;
            LogError { variance, freedom: satterthwaite(variance, &parts), basis }
        });
        Self { log, error }
    }
    pub(super) fn low(&self) -> Option<f64> {
        self.error.map(|e| libm::exp(self.log - e.half_width()))
    }
    pub(super) fn high(&self) -> Option<f64> {
        self.error.map(|e| libm::exp(self.log + e.half_width()))
    }
    /// Two-sided: how often noise alone gives a ratio at least as far from 1.
    pub(super) fn p_different(&self) -> Option<f64> {
        Some((2.0 * self.error?.beyond(self.log.abs())).min(1.0))
    }
    /// Two one-sided tests (D. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987): the larger of the two
    /// significances of lying above the lower and below the upper edge of the margin. The margin is as wide on either side of
    /// 1 as a ratio: from 1 / (1 + margin) to 1 + margin.
    pub(super) fn p_same(&self, margin: f64) -> Option<f64> {
        let inside = libm::log1p(margin) - self.log.abs();
        let beyond = self.error?.beyond(inside.abs());
        Some(if inside > 0.0 { beyond } else { 1.0 - beyond })
    }
    pub(super) fn estimate(&self, figure: Figure, baseline: &Sample, other: &Sample) -> RatioEstimate {
        RatioEstimate {
            figure,
            baseline: baseline.figure(),
            other: other.figure(),
            ratio: libm::exp(self.log),
            low: self.low(),
            high: self.high(),
            basis: self.error.map(|e| e.basis),
        }
    }
}

/// Several trials on either side, with the spread that all cells tell of.
fn pooled(baseline: (&Sample, Spread), other: (&Sample, Spread), resolution: f64) -> LogRatio {
    let of = |(sample, spread): (&Sample, Spread)| {
        let trials = sample.logs.len() as f64;
        [(spread.own.0 / trials, spread.own.1), (spread.shared.0 / trials, spread.shared.1)]
    };
    let parts: Vec<(f64, f64)> = of(baseline).into_iter().chain(of(other)).collect();
    let variance = parts.iter().map(|(part, _)| part).sum::<f64>() + resolution;
    let freedom = satterthwaite(variance, &parts);
    let log = mean(&other.0.values()).unwrap_or(0.0) - mean(&baseline.0.values()).unwrap_or(0.0);
    LogRatio { log, error: Some(LogError { variance, freedom, basis: Basis::Trials }) }
}

/// Each trial against the one of the same round; `None` with fewer than [`ROUNDS_MIN`] rounds that both have.
fn paired(baseline: &Sample, other: &Sample, resolution: f64) -> Option<LogRatio> {
    let differences: Vec<f64> = baseline
        .logs
        .iter()
        .filter_map(|(trial, a)| other.logs.iter().find(|(t, _)| t == trial).map(|(_, b)| b - a))
        .collect();
    if differences.len() < ROUNDS_MIN {
        return None;
    }
    let of_mean = variance(&differences)? / differences.len() as f64;
    let freedom = (differences.len() - 1) as f64;
    let variance = of_mean + resolution;
    Some(LogRatio {
        log: mean(&differences)?,
        error: Some(LogError {
            variance,
            freedom: satterthwaite(variance, &[(of_mean, freedom)]),
            basis: Basis::PairedTrials,
        }),
    })
}

/// Several trials against a single one, which is taken to vary as they do, or as its own seconds say if that is more.
fn with_single(of_trials: f64, trials: usize, single: &Sample) -> ([(f64, f64); 2], Basis) {
    let freedom = (trials - 1) as f64;
    let seconds = single.within.map(|w| (w.error * w.error, w.freedom)).filter(|(v, _)| *v > of_trials);
    // The same estimate twice: its parts are not independent, so they count as one.
    let whole = of_trials / trials as f64;
    match seconds {
        Some(seconds) => ([(whole, freedom), seconds], Basis::TrialsOfOneSide),
        None => ([(whole + of_trials, freedom), (0.0, freedom)], Basis::TrialsOfOneSide),
    }
}

/// Degrees of freedom of a sum of variances (F. Satterthwaite, Biometrics Bulletin 2, 1946; B. Welch, Biometrika 34, 1947). What
/// the variance has beyond its parts is known, not estimated.
pub(super) fn satterthwaite(variance: f64, parts: &[(f64, f64)]) -> f64 {
    let uncertain: f64 = parts.iter().map(|(part, freedom)| part * part / freedom.max(1.0)).sum();
    if uncertain > 0.0 { (variance * variance / uncertain).clamp(1.0, FREEDOM_MAX) } else { FREEDOM_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::MeanError;
    use crate::statistics::tests::close;

    fn sample(figures: &[f64]) -> Sample {
        let logs = (0..).zip(figures).map(|(trial, f)| (trial, f.ln())).collect();
        Sample { logs, within: None, resolution: 0.0, spread: None }
    }
    fn error(ratio: &LogRatio) -> LogError {
        ratio.error.unwrap()
    }

    #[test]
    fn two_runs_have_the_test_of_welch() {
        // Logarithms 0, 0.1, 0.2 and 0.3, 0.5, 0.7: variances 0.01 and 0.04 over 3; Welch's freedom
        // (0.05 / 3)^2 / ((0.01 / 3)^2 / 2 + (0.04 / 3)^2 / 2) = 2.941; t = 0.4 / 0.1291 = 3.098; scipy gives p = 0.0549.
        let of = |logs: [f64; 3]| sample(&logs.map(f64::exp));
        let ratio = LogRatio::of(&of([0.0, 0.1, 0.2]), &of([0.3, 0.5, 0.7]), Rounds::Apart);
        close(ratio.log, 0.4, 1e-12);
        close(error(&ratio).freedom, 2.941_176, 1e-5);
        close(ratio.p_different().unwrap(), 0.054_9, 1e-3);
        assert_eq!(error(&ratio).basis, Basis::Trials);
    }

    #[test]
    fn a_drift_that_falls_on_both_sides_of_a_run_does_not_hide_a_difference() {
        let drift = [100.0, 120.0, 140.0, 130.0, 110.0];
        let (a, b) = (sample(&drift), sample(&drift.map(|f| f * 0.9)));
        let (paired, apart) = (LogRatio::of(&a, &b, Rounds::Shared), LogRatio::of(&a, &b, Rounds::Apart));
        close(paired.log.exp(), 0.9, 1e-12);
        assert_eq!(error(&paired).basis, Basis::PairedTrials);
        assert!(paired.p_different().unwrap() < 1e-6 && apart.p_different().unwrap() > 0.2);
        // Too few rounds to pay for it.
        let four = LogRatio::of(&sample(&drift[1..]), &b, Rounds::Shared);
        assert_eq!(error(&four).basis, Basis::Trials);
    }

    #[test]
    fn a_single_trial_is_taken_to_vary_as_those_of_the_other_side() {
        let several = sample(&[100.0, 101.0, 99.0, 100.0]);
        let mut single = sample(&[100.0]);
        let ratio = LogRatio::of(&several, &single, Rounds::Apart);
        // s = 0.8165 %: s sqrt(1 + 1/4), with 3 degrees of freedom.
        close(error(&ratio).variance.sqrt(), 0.008_165 * 1.25f64.sqrt(), 1e-5);
        close(error(&ratio).freedom, 3.0, 1e-9);
        single.within = Some(MeanError { error: 0.05, freedom: 9.0 });
        let wide = LogRatio::of(&single, &several, Rounds::Apart);
        assert!(error(&wide).variance > 0.0025 && error(&wide).freedom > 8.9);
        assert_eq!(error(&wide).basis, Basis::TrialsOfOneSide);
    }

    #[test]
    fn one_trial_on_either_side_needs_the_error_of_its_seconds() {
        let (mut a, mut b) = (sample(&[100.0]), sample(&[110.0]));
        assert_eq!(LogRatio::of(&a, &b, Rounds::Shared).error, None);
        a.within = Some(MeanError { error: 0.01, freedom: 9.0 });
        b.within = Some(MeanError { error: 0.01, freedom: 9.0 });
        let ratio = LogRatio::of(&a, &b, Rounds::Shared);
        close(error(&ratio).freedom, 18.0, 1e-9);
        assert_eq!(error(&ratio).basis, Basis::OneTrial);
    }

    #[test]
    fn the_margin_is_held_by_two_one_sided_tests() {
        let known = |log: f64, error: f64| LogRatio {
            log,
            error: Some(LogError { variance: error * error, freedom: FREEDOM_MAX, basis: Basis::Trials }),
        };
        let edge = 0.05f64.ln_1p();
        // On the edge as often inside as outside; 1.645 standard errors inside, 5 %.
        close(known(edge, 0.01).p_same(0.05).unwrap(), 0.5, 1e-9);
        close(known(edge - 0.016_449, 0.01).p_same(0.05).unwrap(), 0.05, 1e-4);
        close(known(-edge + 0.016_449, 0.01).p_same(0.05).unwrap(), 0.05, 1e-4);
        assert!(known(edge + 0.02, 0.01).p_same(0.05).unwrap() > 0.97);
        // Without noise all is certain.
        assert_eq!(known(0.0, 0.0).p_same(0.05), Some(0.0));
        assert_eq!(known(0.0, 0.0).p_different(), Some(1.0));
        assert_eq!(known(0.1, 0.0).p_different(), Some(0.0));
        assert_eq!(known(0.1, 0.0).p_same(0.05), Some(1.0));
    }

    #[test]
    fn steps_in_which_a_figure_is_known_are_part_of_its_error() {
        let mut coarse = sample(&[100.0, 100.0, 100.0]);
        coarse.resolution = 1e-4;
        let ratio = LogRatio::of(&coarse, &coarse.clone(), Rounds::Apart);
        close(error(&ratio).variance, 2e-4, 1e-15);
        close(error(&ratio).freedom, FREEDOM_MAX, 1e-3);
    }
}
