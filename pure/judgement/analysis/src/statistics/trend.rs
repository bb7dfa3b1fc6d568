//! Does a series move? Lines, steps, and trends over a handful of trials.

use super::{Noise, SERIES_MIN, mean, median, t_p_value, t_quantile};

/// Up to this many values the distribution of Mann and Kendall's S is counted out; beyond it is normal for all purposes.
const MANN_KENDALL_EXACT_MAX: usize = 40;
/// A step is looked for at least this share of the series (and three values) away from both ends.
const SHIFT_EDGE: usize = 10;
/// A movement by this share of the mean is what rounding makes of a constant.
const ROUNDING: f64 = 1e-9;
/// What 99 % of a normal distribution stay within, in standard deviations.
const NORMAL_99: f64 = 2.575_829;
/// Trials after the first that are needed to say that the first is not one of them.
const OTHERS_MIN: usize = 4;
/// Fewer values than this cannot be told to lie on two levels.
const STEP_VALUES_MIN: usize = 5;
/// Two levels leave at most this share of the variance about one mean; a line divided in two leaves a quarter of its own.
const STEP_LEAVES: f64 = 0.2;

/// A least-squares line through values at 0, 1, 2, ...
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Value at 0.
    pub intercept: f64,
    /// Change from one value to the next.
    pub slope: f64,
    /// Standard error of the slope, if values are independent.
    pub slope_error: f64,
    /// Of the slope against none, if values are independent.
    pub p_value: f64,
}

/// A steady movement over the whole series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Fitted first value.
    pub from: f64,
    /// Fitted last value.
    pub to: f64,
    /// Significance; dependence between neighbours is taken into account.
    pub p_value: f64,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Mean before.
    pub before: f64,
    /// Mean from there on.
    pub after: f64,
    /// Significance; dependence between neighbours is taken into account.
    pub p_value: f64,
}

/// Two levels of a handful of values, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// Index of the first value of the second level.
    pub at: usize,
    /// Mean before.
    pub before: f64,
    /// Mean from there on.
    pub after: f64,
    /// Significance, over all places where the step may be.
    pub p_value: f64,
}

/// Whether later values tend to be larger, by Mann and Kendall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannKendall {
    /// Pairs that rise less pairs that fall.
    pub s: i64,
    /// Significance.
    pub p_value: f64,
}

/// The first of several trials against the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstDiffers {
    /// The first value.
    pub first: f64,
    /// Mean of the others.
    pub others: f64,
    /// Significance.
    pub p_value: f64,
}

/// The least-squares line with the textbook's error; `None` below three values.
#[must_use]
pub fn least_squares(values: &[f64]) -> Option<Line> {
    let (line, residuals, spread) = fit(values)?;
    let freedom = values.len() as f64 - 2.0;
    let slope_error = libm::sqrt(residuals.iter().map(|r| r * r).sum::<f64>() / freedom / spread);
    Some(Line { slope_error, p_value: p_of(line.1, slope_error, freedom), intercept: line.0, slope: line.1 })
}

/// Intercept and slope, what is left over, and the sum of squares of the places.
fn fit(values: &[f64]) -> Option<((f64, f64), Vec<f64>, f64)> {
    let count = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let (middle, mean) = ((count - 1.0) / 2.0, mean(values)?);
    let spread = count * (count * count - 1.0) / 12.0;
    let slope = values.iter().enumerate().map(|(i, v)| (i as f64 - middle) * (v - mean)).sum::<f64>() / spread;
    let intercept = mean - slope * middle;
    let residuals = values.iter().enumerate().map(|(i, v)| v - intercept - slope * i as f64).collect();
    Some(((intercept, slope), residuals, spread))
}

fn p_of(value: f64, error: f64, freedom: f64) -> f64 {
    match (value == 0.0, error > 0.0) {
        (true, _) => 1.0,
        (false, false) => 0.0,
        (false, true) => t_p_value(value / error, freedom),
    }
}

/// A straight trend with a test that knows that neighbouring seconds are alike; `None` below [`SERIES_MIN`] values.
#[must_use]
pub fn trend(values: &[f64]) -> Option<Trend> {
    if values.len() < SERIES_MIN {
        return None;
    }
    let ((intercept, slope), residuals, spread) = fit(values)?;
    let noise = Noise::of(&residuals, 2);
    let change = slope * (values.len() - 1) as f64;
    let p_value = if change.abs() <= ROUNDING * mean(values)?.abs() {
        1.0
    } else {
        p_of(slope, libm::sqrt(noise.long_run_variance / spread), noise.effective_count - 2.0)
    };
    Some(Trend { from: intercept, to: intercept + change, p_value })
}

/// The step that divides the series best, tested by the largest cumulated sum against a Brownian bridge; `None` below
/// [`SERIES_MIN`] values. The noise is that around the two levels, so that a large step does not hide itself.
#[must_use]
pub fn shift(values: &[f64]) -> Option<Shift> {
    let count = values.len();
    if count < SERIES_MIN {
        return None;
    }
    let overall = mean(values)?;
    let edge = (count / SHIFT_EDGE).max(3);
    let (mut sum, mut farthest) = (0.0f64, 0.0f64);
    let (mut at, mut best) = (edge, -1.0);
    for (index, value) in values.iter().enumerate().take(count - 1) {
        sum += value - overall;
        farthest = farthest.max(sum.abs());
        let place = index + 1;
        // What two levels explain of the sum of squares.
        let explained = sum * sum * count as f64 / (place as f64 * (count - place) as f64);
        if (edge..=count - edge).contains(&place) && explained > best {
            (at, best) = (place, explained);
        }
    }
    let (before, after) = (mean(&values[..at])?, mean(&values[at..])?);
    let residuals: Vec<f64> = values.iter().enumerate().map(|(i, v)| v - if i < at { before } else { after }).collect();
    // Two levels and the place between them were fitted.
    let noise = Noise::of(&residuals, 3);
    let p_value = if farthest <= ROUNDING * overall.abs() {
        1.0
    } else if noise.long_run_variance <= 0.0 {
        0.0
    } else {
        // The noise is an estimate too: where few independent values carry it, distances must be larger by as much as
        // Student's quantile exceeds the normal one.
        let caution = t_quantile(0.99, noise.effective_count - 3.0) / NORMAL_99;
        kolmogorov_p_value(farthest / libm::sqrt(noise.long_run_variance * count as f64) / caution)
    };
    Some(Shift { at, before, after, p_value })
}

/// How often a Brownian bridge strays at least as far as `distance`: 2 sum (-1)^(j-1) exp(-2 j^2 distance^2).
fn kolmogorov_p_value(distance: f64) -> f64 {
    if distance < 0.2 {
        return 1.0;
    }
    let terms = (1u32..=100).map(|j| {
        let sign = if j.is_multiple_of(2) { -1.0 } else { 1.0 };
        sign * libm::exp(-2.0 * f64::from(j * j) * distance * distance)
    });
    (2.0 * terms.sum::<f64>()).clamp(0.0, 1.0)
}

/// The median of the slopes through all pairs (H. Theil 1950, P. K. Sen 1968): one wild trial does not move it.
#[must_use]
pub fn theil_sen_slope(values: &[f64]) -> Option<f64> {
    let slopes: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(i, a)| values[i + 1..].iter().enumerate().map(move |(gap, b)| (b - a) / (gap + 1) as f64))
        .collect();
    median(&slopes)
}

/// Mann and Kendall's test for a trend of any form; `None` below four values, where no order is rare enough to mean
/// anything. Exact without ties up to 40 values, otherwise by the normal distribution with corrections for ties and continuity.
#[must_use]
pub fn mann_kendall(values: &[f64]) -> Option<MannKendall> {
    let count = values.len();
    if count < 4 {
        return None;
    }
    let mut s = 0i64;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            s += i64::from(b > a) - i64::from(b < a);
        }
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: Vec<f64> =
        sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|group| group.len() as f64).filter(|n| *n > 1.0).collect();
    let p_value = if ties.is_empty() && count <= MANN_KENDALL_EXACT_MAX {
        exact_p_value(count, s.unsigned_abs() as usize)
    } else {
        let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
        let variance = (term(count as f64) - ties.iter().copied().map(term).sum::<f64>()) / 18.0;
        let distance = (s.unsigned_abs() as f64 - 1.0).max(0.0);
        if variance > 0.0 { libm::erfc(distance / libm::sqrt(2.0 * variance)) } else { 1.0 }
    };
    Some(MannKendall { s, p_value })
}

/// The share of all orders of `count` different values whose S is at least as far from 0 as `distance`.
fn exact_p_value(count: usize, distance: usize) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    // shares[k]: share of orders with k pairs that fall; the next value falls below 0 to n of those before, all equally likely.
    let mut shares = vec![1.0f64];
    for next in 1..count {
        let mut wider = vec![0.0; shares.len() + next];
        for (k, share) in shares.iter().enumerate() {
            for target in &mut wider[k..=k + next] {
                *target += share / (next + 1) as f64;
            }
        }
        shares = wider;
    }
    let pairs = count * (count - 1) / 2;
    // S = pairs - 2 k; both tails are alike.
    let tail: f64 = shares[..=(pairs - distance) / 2].iter().sum();
    (2.0 * tail).min(1.0)
}

/// Whether the first value is not like the others, by the interval in which the next of them would be expected: a cache
/// that the first trial fills makes it so. `None` with fewer than four others.
#[must_use]
pub fn first_differs(values: &[f64]) -> Option<FirstDiffers> {
    let (&first, rest) = values.split_first()?;
    if rest.len() < OTHERS_MIN {
        return None;
    }
    let others = mean(rest)?;
    let count = rest.len() as f64;
    let error = libm::sqrt(super::variance(rest)? * (1.0 + 1.0 / count));
    Some(FirstDiffers { first, others, p_value: p_of(first - others, error, count - 1.0) })
}

/// Whether values lie on two levels, at least two of them on the first (one alone is for [`first_differs`]), by Student's t where
/// that leaves the least variance, times all places where it may be (Bonferroni). `None` below five values, and where two levels
/// leave more than a fifth of the variance: what climbs evenly has none.
#[must_use]
pub fn step(values: &[f64]) -> Option<LevelShift> {
    if values.len() < STEP_VALUES_MIN {
        return None;
    }
    let squares = |of: &[f64]| mean(of).map(|mean| of.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>());
    let whole = squares(values)?;
    let places = 2..values.len();
    let left = |at: usize| Some((at, squares(&values[..at])? + squares(&values[at..])?));
    let (at, left) = places.clone().filter_map(left).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (before, after) = (mean(&values[..at])?, mean(&values[at..])?);
    if left > STEP_LEAVES * whole || (after - before).abs() <= ROUNDING * before.abs().max(after.abs()) {
        return None;
    }
    let (count, freedom) = (values.len() as f64, values.len() as f64 - 2.0);
    let error = libm::sqrt(left / freedom * (1.0 / at as f64 + 1.0 / (count - at as f64)));
    let p_value = (p_of(after - before, error, freedom) * places.len() as f64).min(1.0);
    Some(LevelShift { at, before, after, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::CONFIDENCE;
    use crate::statistics::tests::{close, noise};

    const SEEDS: u64 = 1_000;

    fn around(level: f64, spread: f64, noise: &[f64]) -> Vec<f64> {
        noise.iter().map(|n| level + spread * n).collect()
    }
    fn share(found: impl Fn(u64) -> bool) -> f64 {
        (0..SEEDS).filter(|seed| found(*seed)).count() as f64 / SEEDS as f64
    }

    #[test]
    fn a_step_over_few_values_is_found_and_a_climb_or_noise_is_none() {
        let found = step(&[1000.0, 1000.0, 554.0, 500.0, 500.0]).unwrap();
        assert_eq!((found.at, found.before), (2, 1000.0));
        close(found.after, 518.0, 1e-9);
        assert!(found.p_value < 0.001, "{found:?}");
        assert_eq!(step(&[500.0, 500.0, 500.0, 500.0, 1000.0]).map(|s| (s.at, s.p_value)), Some((4, 0.0)));
        assert_eq!(
            step(&[500.0, 1000.0, 1000.0, 1000.0, 1000.0]).filter(|s| s.p_value < 0.01),
            None,
            "the first alone"
        );
        assert_eq!(step(&[5.0; 9]), None);
        assert_eq!(step(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None, "a climb");
        assert_eq!(step(&[1000.0, 1000.0, 500.0, 500.0]), None, "too few");
        for count in [5, 6, 12] {
            let by_chance = share(|seed| {
                step(&around(100.0, 5.0, &noise(seed, count, 0.0))).is_some_and(|step| step.p_value < 0.01)
            });
            assert!(by_chance <= 0.02, "{by_chance} of {count} values");
        }
    }

    #[test]
    fn a_line_is_that_of_the_textbook() {
        // Worked by hand: sum of squares left over 3.6, of places 10, so the error is sqrt(3.6 / 3 / 10).
        let line = least_squares(&[1.0, 3.0, 2.0, 5.0, 4.0]).unwrap();
        close(line.slope, 0.8, 1e-12);
        close(line.intercept, 1.4, 1e-12);
        close(line.slope_error, 0.12f64.sqrt(), 1e-12);
        close(line.p_value, 0.104_088, 1e-5);
        assert!(line.slope / line.slope_error < t_quantile(CONFIDENCE, 3.0));
        assert_eq!(least_squares(&[1.0, 2.0]), None);
        close(least_squares(&[1.0, 2.0, 3.0]).unwrap().p_value, 0.0, 1e-9);
    }

    #[test]
    fn noise_alone_is_seldom_a_trend_or_a_step() {
        for (r, most) in [(0.0, 0.02), (0.5, 0.03), (0.8, 0.04)] {
            let series = |seed| around(1_000.0, 100.0, &noise(seed, 60, r));
            let trends = share(|seed| trend(&series(seed)).unwrap().p_value < 0.01);
            let shifts = share(|seed| shift(&series(seed)).unwrap().p_value < 0.01);
            assert!(trends <= most, "trend at r = {r}: {trends}");
            assert!(shifts <= most, "step at r = {r}: {shifts}");
        }
    }

    #[test]
    fn a_slope_above_the_noise_is_found() {
        let found = share(|seed| {
            let values: Vec<f64> =
                noise(seed, 60, 0.3).iter().enumerate().map(|(i, n)| 1_000.0 + 3.0 * i as f64 + 30.0 * n).collect();
            trend(&values).unwrap().p_value < 0.01
        });
        assert!(found > 0.95, "{found}");
    }

    #[test]
    fn a_burst_that_ends_near_the_end_is_found_where_it_ends() {
        let values: Vec<f64> = noise(3, 60, 0.3)
            .iter()
            .enumerate()
            .map(|(i, n)| if i < 48 { 3_000.0 } else { 500.0 } + 30.0 * n)
            .collect();
        let step = shift(&values).unwrap();
        assert_eq!(step.at, 48);
        assert!(step.p_value < 0.01, "{step:?}");
        close(step.before, 3_000.0, 20.0);
        close(step.after, 500.0, 40.0);
    }

    #[test]
    fn a_constant_series_neither_moves_nor_steps() {
        close(trend(&[5.0; 30]).unwrap().p_value, 1.0, 0.0);
        close(shift(&[5.0; 30]).unwrap().p_value, 1.0, 0.0);
        close(shift(&[0.1; 30]).unwrap().p_value, 1.0, 0.0);
        assert_eq!(trend(&[5.0; 9]), None);
        assert_eq!(shift(&[5.0; 9]), None);
    }

    #[test]
    fn a_step_without_noise_is_certain() {
        let mut values = vec![5.0; 15];
        values.extend([7.0; 15]);
        let step = shift(&values).unwrap();
        assert_eq!((step.at, step.p_value < 1e-9), (15, true));
    }

    #[test]
    fn the_bridge_has_the_printed_critical_values() {
        // Kolmogorov's distribution: 1.358 at 5 %, 1.628 at 1 %.
        close(kolmogorov_p_value(1.358), 0.05, 2e-4);
        close(kolmogorov_p_value(1.628), 0.01, 1e-4);
        close(kolmogorov_p_value(0.0), 1.0, 0.0);
    }

    #[test]
    fn mann_kendall_counts_out_all_orders() {
        // Of the 4! orders one rises and one falls throughout: 2 / 24. Of the 5!: 2 / 120.
        close(mann_kendall(&[1.0, 2.0, 3.0, 4.0]).unwrap().p_value, 2.0 / 24.0, 1e-12);
        close(mann_kendall(&[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap().p_value, 2.0 / 120.0, 1e-12);
        // S = 4 of 6: 1 + 3 of the 24 orders, on both sides (Kendall's table for n = 4: 0.167 one-sided).
        let mixed = mann_kendall(&[1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!(mixed.s, 4);
        close(mixed.p_value, 2.0 * 4.0 / 24.0, 1e-12);
        close(mann_kendall(&[2.0, 4.0, 1.0, 3.0]).unwrap().p_value, 1.0, 1e-12);
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn the_exact_and_the_normal_form_of_mann_kendall_agree() {
        // S = 20 of n = 12: 0.195 exact; the normal form gives (20 - 1) / sqrt(212.67) = 1.303.
        let exact = exact_p_value(12, 20);
        close(exact, libm::erfc(19.0 / (2.0f64 * 12.0 * 11.0 * 29.0 / 18.0).sqrt()), 0.01);
        let tied: Vec<f64> = (0..12).map(|i| f64::from(i / 2)).collect();
        assert!(mann_kendall(&tied).unwrap().p_value < 0.001);
        close(mann_kendall(&[1.0; 12]).unwrap().p_value, 1.0, 0.0);
    }

    #[test]
    fn one_wild_trial_does_not_move_the_median_slope() {
        close(theil_sen_slope(&[1.0, 2.0, 3.0, 400.0, 5.0, 6.0]).unwrap(), 1.0, 1e-12);
        assert_eq!(theil_sen_slope(&[1.0]), None);
    }

    #[test]
    fn a_first_trial_that_filled_a_cache_is_told_from_the_others() {
        assert!(first_differs(&[100.0, 399.0, 401.0, 400.0, 402.0, 398.0]).unwrap().p_value < 1e-6);
        assert!(first_differs(&[400.5, 399.0, 401.0, 400.0, 402.0, 398.0]).unwrap().p_value > 0.5);
        assert_eq!(first_differs(&[1.0, 2.0, 3.0, 4.0]), None);
    }
}
