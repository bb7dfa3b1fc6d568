//! How a cell's rate went over its measured time: a level that it kept, or a burst and what came after it.

use crate::statistics::{CONFIDENCE, Interval, mean, mean_over_trials, median, series_interval, t_quantile, variance};
use crate::summarize::trials_used;
use loadline_record::{CellRecord, Histogram, TrialRecord};

/// A rate that falls by less than this factor is noise or drift.
const FALL_MIN: f64 = 1.2;
/// Two levels explain at least this share of the variance about one, or there are none.
const EXPLAINED_MIN: f64 = 0.8;
/// A fast beginning shorter than so many intervals is the depth of a bucket, no burst worth the name.
const BURST_INTERVALS_MIN: f64 = 2.5;
/// Intervals on each side of a fall from which its moment within an interval is found.
const AROUND: usize = 3;
/// What a split into two levels takes from the degrees of freedom: the levels, and the interval between them.
const LEVELS_FITTED: f64 = 3.0;
/// Fewer intervals tell nothing about how steady a rate is.
const STEADY_INTERVALS_MIN: usize = 4;
/// Counts of a closed loop that waits for answers scatter as their latencies do. Below this share of that they are counted out.
const STEADY_SHARE: f64 = 0.15;

/// A fall from one level to a lower one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fall {
    /// From the begin of the load, warm-up included, ns.
    pub(crate) at_ns: f64,
    /// Requests per second before it.
    pub(crate) before: f64,
    /// And after it.
    pub(crate) after: f64,
    /// Between which moments it lies with 95 % confidence, by how much the intervals scatter about either level.
    pub(crate) at_interval_ns: Option<Interval>,
    /// Of the rate before it, with 95 % confidence.
    pub(crate) before_interval: Option<Interval>,
    /// Intervals that the first level lasted.
    intervals: f64,
}

impl Fall {
    /// Whether the beginning lasted long enough to be a burst rather than a bucket that was full.
    pub(crate) fn is_burst(&self) -> bool {
        self.intervals >= BURST_INTERVALS_MIN
    }
}

/// A cell's rate over its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    /// The first fall of the first trial in which there is one.
    pub(crate) fall: Option<Fall>,
    /// The rate that lasts: of what came after a fall, else the mean.
    pub(crate) sustained: f64,
    /// Of the rate that lasts, with 95 % confidence.
    pub(crate) interval: Option<Interval>,
    /// Whether counts of seconds scatter so much less than latencies do that something counts requests or bytes out.
    pub(crate) steady: bool,
}

impl Course {
    /// That of a cell whose fall was something else: the rate is that of the whole time.
    pub(crate) fn without_fall(cell: &CellRecord) -> Option<Self> {
        let trials = trials_used(cell);
        let levels: Vec<f64> = trials.iter().filter_map(|trial| trial.iops()).collect();
        let whole: Vec<Vec<f64>> = trials.iter().map(|trial| rates(trial)).collect();
        let interval = level_interval(&whole, &levels);
        Some(Self { fall: None, sustained: mean(&levels)?, interval, steady: false })
    }
}

/// The course of a cell; `None` where nothing was measured.
pub(crate) fn course(cell: &CellRecord) -> Option<Course> {
    let trials = trials_used(cell);
    let falls: Vec<Option<Fall>> = trials.iter().map(|trial| fall(trial)).collect();
    let lasting: Vec<Vec<f64>> = trials.iter().zip(&falls).map(|(trial, fall)| lasting(trial, *fall)).collect();
    let levels: Vec<f64> = (lasting.iter().zip(&trials).zip(&falls))
        .filter_map(|((rates, trial), fall)| if fall.is_some() { mean(rates) } else { trial.iops() })
        .collect();
    let sustained = mean(&levels)?;
    let interval = level_interval(&lasting, &levels);
    let steady = !lasting.is_empty() && lasting.iter().zip(&trials).all(|(rates, trial)| is_steady(trial, rates));
    Some(Course { fall: falls.into_iter().flatten().next(), sustained, interval, steady })
}

/// How well a level is known: by several trials as they differ, by one as its seconds do, `rates` of each.
fn level_interval(rates: &[Vec<f64>], levels: &[f64]) -> Option<Interval> {
    match rates {
        [only] => series_or_short(only),
        _ => mean_over_trials(levels)?.interval,
    }
}

/// Fewer seconds than a series needs are taken as trials are, each for itself: the fewer there are, the wider it is.
fn series_or_short(rates: &[f64]) -> Option<Interval> {
    series_interval(rates).or_else(|| mean_over_trials(rates)?.interval)
}

/// The rates of whole intervals.
fn rates(trial: &TrialRecord) -> Vec<f64> {
    let mut rates: Vec<f64> = trial.series.iops().collect();
    let whole = u64::from(trial.series.interval_s) * 1_000_000_000;
    if trial.series.last_ns < whole {
        rates.pop();
    }
    rates
}

/// The rates after a fall, or all.
fn lasting(trial: &TrialRecord, fall: Option<Fall>) -> Vec<f64> {
    let rates = rates(trial);
    let from = fall.map_or(0, |fall| libm::ceil(fall.intervals) as usize + 1).min(rates.len().saturating_sub(1));
    rates[from.min(rates.len())..].to_vec()
}

/// The split of a trial's rates into two levels that leaves the least variance, if the first is the higher one.
pub(crate) fn fall(trial: &TrialRecord) -> Option<Fall> {
    let rates = rates(trial);
    if rates.len() < STEADY_INTERVALS_MIN {
        return None;
    }
    let squares = |values: &[f64]| {
        let middle = mean(values).unwrap_or(0.0);
        values.iter().map(|v| (v - middle) * (v - middle)).sum::<f64>()
    };
    let whole = squares(&rates);
    // The interval in which the rate falls belongs to neither level.
    let split = (1..rates.len() - 1).min_by(|a, b| {
        let left = |k: usize| squares(&rates[..k]) + squares(&rates[k + 1..]);
        left(*a).total_cmp(&left(*b))
    })?;
    let left = squares(&rates[..split]) + squares(&rates[split + 1..]);
    let (before, after) = (median(&rates[..split])?, median(&rates[split + 1..])?);
    if before < after * FALL_MIN || after <= 0.0 || left > whole * (1.0 - EXPLAINED_MIN) {
        return None;
    }
    // What was let through around it, put as so much time at either level.
    let (from, to) = (split.saturating_sub(AROUND), (split + AROUND + 1).min(rates.len()));
    let sum: f64 = rates[from..to].iter().sum();
    let at = from as f64 + (sum - after * (to - from) as f64) / (before - after);
    let intervals = at.clamp(split as f64 - 0.5, split as f64 + 1.5);
    let interval_ns = f64::from(trial.series.interval_s) * 1e9;
    let at_ns = trial.warm_up_ns as f64 + intervals * interval_ns;
    let freedom = rates.len() as f64 - LEVELS_FITTED;
    let off_ns = (freedom >= 1.0).then(|| {
        let of_sum = libm::sqrt(left / freedom * (to - from) as f64);
        t_quantile(CONFIDENCE, freedom) * of_sum / (before - after) * interval_ns
    });
    let interval = series_or_short(&rates[..split]);
    let before_interval = interval.map(|ends| Interval { low: ends.low.min(before), high: ends.high.max(before) });
    let at_interval_ns = off_ns.map(|off| Interval { low: (at_ns - off).max(0.0), high: at_ns + off });
    Some(Fall { at_ns, before, after, at_interval_ns, before_interval, intervals })
}

/// The variance of a count of renewals is its mean times the squared coefficient of variation of the times between them (D. R.
/// Cox, Renewal Theory, 1962): a closed loop that nothing counts out scatters no less.
fn is_steady(trial: &TrialRecord, rates: &[f64]) -> bool {
    let seconds = f64::from(trial.series.interval_s);
    let counts: Vec<f64> = rates.iter().map(|rate| rate * seconds).collect();
    let (Some(mean), Some(variance)) = (mean(&counts), variance(&counts)) else { return false };
    let mut all = Histogram::new();
    trial.operations.values().for_each(|record| all.merge(&record.latency));
    let (Some(p50), Some(p90)) = (all.quantile(0.5), all.quantile(0.9)) else { return false };
    let scale = libm::log(p90.as_ns() as f64 / (p50.as_ns() as f64).max(1.0)) / 1.281_551_565_545;
    let scatter = libm::exp(scale * scale) - 1.0;
    counts.len() >= STEADY_INTERVALS_MIN && variance < STEADY_SHARE * scatter * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed};
    use loadline_record::Second;

    /// A cell whose seconds completed so many reads.
    fn of(counts: impl IntoIterator<Item = u64>) -> CellRecord {
        let mut cell = cell(closed("random", 1.0, 4096, 8), &ExampleDisk::default(), &[1.0]);
        let trial = &mut cell.trials[0];
        trial.series.seconds = counts
            .into_iter()
            .map(|count| {
                let mut second = Second::default();
                second.operations[0].count = count;
                second
            })
            .collect();
        cell
    }
    fn counts(parts: &[(usize, u64)]) -> impl Iterator<Item = u64> {
        parts
            .iter()
            .flat_map(|(times, count)| std::iter::repeat_n(*count, *times))
            .enumerate()
            .map(|(i, c)| c + (i as u64 % 3))
    }

    #[test]
    fn a_burst_ends_within_its_second() {
        // 20.25 s at 3,000, then 500: 5 s of warm-up before. The second in between holds 0.25 x 3,000 + 0.75 x 500.
        let course = course(&of(counts(&[(20, 3_000), (1, 1_125), (30, 500)]))).unwrap();
        let fall = course.fall.unwrap();
        assert!((fall.at_ns / 1e9 - 25.25).abs() < 0.02, "{fall:?}");
        // Both are known as well as the seconds scatter: counts of three sizes next to each other.
        let (at, before) = (fall.at_interval_ns.unwrap(), fall.before_interval.unwrap());
        assert!(at.low < 25.25e9 && at.high > 25.25e9 && at.high - at.low < 0.02e9, "{fall:?}");
        assert!(before.low < 3_000.95 && before.high > 3_000.95 && before.high - before.low < 2.0, "{fall:?}");
        assert!(fall.is_burst() && (course.sustained - 501.0).abs() < 1.0, "{course:?}");
    }

    #[test]
    fn a_full_bucket_is_no_burst_and_its_rate_does_not_last() {
        let course = course(&of(counts(&[(1, 2_000), (1, 1_001), (30, 1_000)]))).unwrap();
        assert!(course.fall.is_none_or(|fall| !fall.is_burst()), "{course:?}");
        assert!((course.sustained - 1_001.0).abs() < 1.0 || course.fall.is_none(), "{course:?}");
    }

    #[test]
    fn drift_and_noise_are_no_fall() {
        assert_eq!(course(&of((0..40).map(|i| 2_000 - 20 * i))).unwrap().fall.filter(Fall::is_burst), None);
        assert_eq!(course(&of((0..40).map(|i| 2_000 + 300 * (i * 7 % 5)))).unwrap().fall, None);
    }

    #[test]
    fn a_counted_rate_scatters_less_than_its_latencies() {
        assert!(course(&of(counts(&[(30, 1_000)]))).unwrap().steady);
        // The example's latencies scatter by 22 %: counts of 1,000 by 7.
        assert!(!course(&of((0..30).map(|i| 993 + 14 * (i % 2)))).unwrap().steady);
    }
}
