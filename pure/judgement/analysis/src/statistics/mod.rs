//! Estimates with their uncertainty, and tests that do not mistake noise for a change.
//!
//! Every function takes plain numbers in the order in which they were seen and gives `None` where there are too few of them
//! to say anything. Significance is given as a two-sided p-value: how often noise alone would look at least like this.

mod gamma;
mod student;
mod trend;

use loadline_record::Scatter;

pub(crate) use gamma::{digamma, trigamma, variance_below};
pub use student::{t_p_value, t_quantile};
pub use trend::{
    FirstDiffers, LevelShift, Line, MannKendall, Shift, Trend, first_differs, least_squares, mann_kendall, shift, step,
    theil_sen_slope, trend,
};

/// How sure an interval is.
pub const CONFIDENCE: f64 = 0.95;
/// Fewer seconds than this say nothing about how a rate varies: five batches of two are the least that batch means can use.
pub const SERIES_MIN: usize = 10;
/// Batches where the series is long enough; more would be too short to be independent, fewer would waste the data
/// (B. Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30(3), 1982: 10 to 30).
const BATCHES: usize = 10;
/// Batches of a short series.
const BATCHES_SHORT: usize = 5;
/// The largest autocorrelation used in a correction: above it the series is one long wave, and only a longer run would help.
const AUTOCORRELATION_MAX: f64 = 0.95;

/// However alike its neighbours seem, a series tells as much as so many independent values, and its error has as many degrees of freedom:
/// a few values that rise or fall together would otherwise have an interval many times as wide as all they cover.
const INDEPENDENT_MIN: f64 = 2.0;

/// What [`CONFIDENCE`] of a normal distribution stays within, in standard deviations.
pub(crate) const NORMAL_95: f64 = 1.959_964;

/// A range that holds the true value with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A mean and how far it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// `None` where there is too little to tell.
    pub interval: Option<Interval>,
}

/// Arithmetic mean.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle value, or the mean of the two in the middle.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Sample variance (with n - 1); `None` for fewer than two values.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Mean over independent trials with its Student-t interval; one trial has a mean and no interval.
#[must_use]
pub fn mean_over_trials(values: &[f64]) -> Option<Estimate> {
    let mean = mean(values)?;
    let interval = variance(values).map(|variance| {
        let freedom = (values.len() - 1) as f64;
        around(mean, t_quantile(CONFIDENCE, freedom) * libm::sqrt(variance / values.len() as f64))
    });
    Some(Estimate { mean, interval })
}

/// How far a mean can be from the true one: its standard error, and how well that itself is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanError {
    /// Standard error.
    pub error: f64,
    /// Degrees of freedom, for Student's t.
    pub freedom: f64,
}

impl MeanError {
    /// Half the width of the interval.
    #[must_use]
    pub fn half_width(self) -> f64 {
        t_quantile(CONFIDENCE, self.freedom) * self.error
    }
}

/// The error of a series' mean, where neighbours may depend on each other.
///
/// Two estimates of the mean's error are made and the one with the wider interval is used, so that dependence widens the
/// interval and never narrows it: batch means (neighbours joined in 5 or 10 batches that are taken as independent), and the
/// variance of single values corrected for their lag-1 autocorrelation. `None` below [`SERIES_MIN`] values.
#[must_use]
pub fn series_error(values: &[f64]) -> Option<MeanError> {
    let count = values.len();
    if count < SERIES_MIN {
        return None;
    }
    let mean = mean(values)?;
    let batches = if count >= 3 * BATCHES { BATCHES } else { BATCHES_SHORT };
    let batch_means: Vec<f64> =
        (0..batches).filter_map(|b| self::mean(&values[b * count / batches..(b + 1) * count / batches])).collect();
    let by_batches =
        MeanError { error: libm::sqrt(variance(&batch_means)? / batches as f64), freedom: (batches - 1) as f64 };
    let residuals: Vec<f64> = values.iter().map(|v| v - mean).collect();
    let noise = Noise::of(&residuals, 1);
    let of_mean = noise.long_run_variance / count as f64;
    let by_values = MeanError {
        error: libm::sqrt(of_mean.min(variance(values)? / INDEPENDENT_MIN)),
        freedom: (noise.effective_count - 1.0).max(INDEPENDENT_MIN),
    };
    Some(if by_batches.half_width() >= by_values.half_width() { by_batches } else { by_values })
}

/// The error of a mean of which only that is known by how much its parts scatter: they are taken as independent, for want of their
/// order. `None` below two.
#[must_use]
pub fn scatter_error(scatter: Scatter) -> Option<MeanError> {
    let samples = scatter.samples as f64;
    let is_enough = scatter.samples >= 2 && scatter.deviation_iops.is_finite();
    is_enough.then(|| MeanError { error: scatter.deviation_iops / libm::sqrt(samples), freedom: samples - 1.0 })
}

/// The interval of a series' mean, by [`series_error`].
#[must_use]
pub fn series_interval(values: &[f64]) -> Option<Interval> {
    Some(around(mean(values)?, series_error(values)?.half_width()))
}

pub(crate) fn around(mean: f64, half_width: f64) -> Interval {
    Interval { low: mean - half_width, high: mean + half_width }
}

/// The noise of a series around what was fitted to it.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// What the variance of a sum of n values is n times of: the variance of single values, more where neighbours are alike.
    long_run_variance: f64,
    /// Independent values that would tell as much.
    effective_count: f64,
}

impl Noise {
    /// From the residuals of a fit with `parameters` parameters, taken as a first-order autoregressive process: the
    /// variance grows by (1 + r) / (1 - r). The usual estimate of r is too small by about (1 + 3 r) / n where a mean was
    /// fitted (M. Kendall, Biometrika 41, 1954), about twice that for two parameters; that much is added back. A negative
    /// r counts as 0.
    fn of(residuals: &[f64], parameters: u32) -> Self {
        let count = residuals.len() as f64;
        let squares: f64 = residuals.iter().map(|r| r * r).sum();
        let freedom = (count - f64::from(parameters)).max(1.0);
        if squares <= 0.0 {
            return Self { long_run_variance: 0.0, effective_count: count };
        }
        let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let seen = products / squares;
        let r = (seen + f64::from(parameters) * (1.0 + 3.0 * seen) / count).clamp(0.0, AUTOCORRELATION_MAX);
        let growth = (1.0 + r) / (1.0 - r);
        Self { long_run_variance: squares / freedom * growth, effective_count: count / growth }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Seeded noise with mean 0 and standard deviation 1 whose neighbours correlate by `r`.
    pub(crate) fn noise(seed: u64, count: usize, r: f64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
        let mut uniform = move || {
            // splitmix64 (S. Vigna, public domain)
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as f64 / u64::MAX as f64
        };
        // A sum of twelve uniform numbers is normal enough and has variance 1.
        let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut last = normal();
        let step = (1.0 - r * r).sqrt();
        (0..count)
            .map(|_| {
                last = r * last + step * normal();
                last
            })
            .collect()
    }

    pub(crate) fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
    }

    #[test]
    fn medians_and_variances_are_those_of_the_textbook() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        close(variance(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap(), 32.0 / 7.0, 1e-12);
        assert_eq!(variance(&[1.0]), None);
    }

    #[test]
    fn three_trials_have_the_interval_of_student() {
        // Mean 10, s = 1, n = 3: 4.302653 / sqrt(3) = 2.484138 on each side.
        let estimate = mean_over_trials(&[9.0, 10.0, 11.0]).unwrap();
        close(estimate.mean, 10.0, 1e-12);
        close(estimate.interval.unwrap().low, 10.0 - 2.484_138, 1e-5);
        close(estimate.interval.unwrap().high, 10.0 + 2.484_138, 1e-5);
    }

    #[test]
    fn one_trial_has_no_interval_and_none_has_no_mean() {
        assert_eq!(mean_over_trials(&[5.0]), Some(Estimate { mean: 5.0, interval: None }));
        assert_eq!(mean_over_trials(&[]), None);
    }

    #[test]
    fn nine_seconds_are_too_few_for_an_interval() {
        assert_eq!(series_interval(&[1.0; SERIES_MIN - 1]), None);
        assert_eq!(series_interval(&[1.0; SERIES_MIN]), Some(Interval { low: 1.0, high: 1.0 }));
    }

    /// Share of `runs` series whose interval holds the true mean.
    fn coverage(count: usize, r: f64, runs: u64) -> f64 {
        let held = (0..runs).filter(|seed| {
            let values: Vec<f64> = noise(*seed, count, r).iter().map(|v| 100.0 + v).collect();
            series_interval(&values).is_some_and(|i| i.low <= 100.0 && 100.0 <= i.high)
        });
        held.count() as f64 / runs as f64
    }

    #[test]
    fn the_interval_of_a_series_holds_the_mean_as_often_as_it_says() {
        assert!(coverage(60, 0.0, 1_000) >= 0.95);
        assert!(coverage(30, 0.0, 1_000) >= 0.95);
        assert!(coverage(60, 0.5, 1_000) >= 0.93);
        assert!(coverage(120, 0.8, 1_000) >= 0.90);
    }

    #[test]
    fn ten_seconds_that_fall_steadily_have_no_interval_many_times_what_they_cover() {
        let falling: Vec<f64> = (0..10).map(|second| 999.0 - f64::from(second) * 66.0 / 9.0).collect();
        let interval = series_interval(&falling).unwrap();
        let half = (interval.high - interval.low) / 2.0 / 966.0;
        assert!((0.03..=0.10).contains(&half), "{half}");
        // That costs short series next to nothing of what they hold.
        assert!(coverage(10, 0.0, 1_000) >= 0.95);
        assert!(coverage(10, 0.5, 1_000) >= 0.88);
        assert!(coverage(10, 0.8, 1_000) >= 0.80);
    }

    #[test]
    fn neighbours_that_are_alike_widen_the_interval() {
        let width = |r: f64| {
            let interval = series_interval(&noise(7, 120, r)).unwrap();
            interval.high - interval.low
        };
        assert!(width(0.9) > 2.0 * width(0.0), "{} against {}", width(0.9), width(0.0));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_mean(values in prop::collection::vec(0.0f64..1e6, 2..100)) {
            let estimate = mean_over_trials(&values).unwrap();
            let interval = estimate.interval.unwrap();
            prop_assert!(interval.low <= estimate.mean && estimate.mean <= interval.high);
            if let Some(interval) = series_interval(&values) {
                let mean = mean(&values).unwrap();
                prop_assert!(interval.low <= mean && mean <= interval.high);
            }
        }
    }
}
