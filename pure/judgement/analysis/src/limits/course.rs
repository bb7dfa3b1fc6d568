//! How a cell's rate went over its measured time: a level that it kept, or a burst and what came after it.

use crate::doubts::BUCKET_S;
use crate::statistics::{
    CONFIDENCE, Interval, around, mean, mean_over_trials, median, scatter_error, series_interval, t_quantile, variance,
    variance_below,
};
use crate::trials::trials_used;
use loadline_record::{CellRecord, Histogram, Scatter, TrialRecord, Turns};

/// A rate that falls by less than this factor is noise or drift.
const FALL_MIN: f64 = 1.2;
/// Two levels explain at least this share of the variance about one, or there are none.
const EXPLAINED_MIN: f64 = 0.8;
/// A fast beginning shorter than so many intervals is the depth of a bucket, no burst worth the name.
const BURST_INTERVALS_MIN: f64 = 2.5;
/// How often a level is split again: rates that fall more than a few times decline.
const LEVELS_DEPTH: u32 = 3;
/// A level before or after other falls lasts so many intervals at least: fewer are noise.
const LEVEL_INTERVALS_MIN: usize = 3;
/// What comes after a fall lasts so many intervals at least, or nothing shows that it does.
const LASTING_INTERVALS_MIN: usize = 2;
/// A fall that counts without levels would show more often than this is none.
const FALL_BY_CHANCE: f64 = 1e-3;
/// Degrees of freedom that few intervals are credited with.
const FREEDOM_MIN: f64 = 3.0;
/// Of several falls, each takes this share of its depth at once.
const SHARP_MIN: f64 = 0.7;
/// How much more than a bucket holds a burst spends at least.
const BUCKET_SLACK: f64 = 1.1;
/// Intervals on each side of a fall from which its moment within an interval is found.
const AROUND: usize = 3;
/// What a split into two levels takes from the degrees of freedom: the levels, and the interval between them.
const LEVELS_FITTED: f64 = 3.0;
/// Fewer intervals tell nothing about how steady a rate is.
const STEADY_INTERVALS_MIN: usize = 4;
/// Of so few, those that are equal do.
const STEADY_COUNTS_MIN: usize = 3;
/// A throttle's turn passes so many times as many requests as were outstanding: some follow others.
const PASSED_MIN: f64 = 1.2;
/// Turns of a throttle come so often a second, at least.
const TURNS_PER_S_MIN: f64 = 4.0;
/// Whole turns fill this share of the measured time, or the trial had other pauses.
const TURNS_SHARE_MIN: f64 = 0.6;
/// The end of a trial cuts a turn or two: further apart, its rate and that of its turns are not of one kind.
const TURNS_CUT_MAX: f64 = 2.5;
/// Nearer than this share of a turn, no turn was cut.
const TURNS_CUT_MIN: f64 = 0.25;
/// A beginning so short in which the rate was lower is no level, and its seconds are left out.
const BEGIN_INTERVALS_MAX: usize = 2;
/// What comes after such a beginning scatters by no more than this.
const EVEN_MAX: f64 = 0.05;
/// Counts that are counted out scatter by no more than this share of them, and a request.
const STEADY_SCATTER_MAX: f64 = 0.02;
/// Counts of a closed loop that waits for answers scatter as their latencies do. Below this share of that they are counted out.
const STEADY_SHARE: f64 = 0.15;
/// Counts that scatter by no more than this share of them, and half a request, are even.
const EVEN_COUNTS_MAX: f64 = 1e-3;
/// Whole counts scatter by chance as well: what latencies would make of them must be this variance at least to show.
const ROUNDING: f64 = 0.25;
/// And where fewer intervals than so often would scatter as little by chance. A run has hundreds of cells.
const STEADY_BY_CHANCE: f64 = 1e-4;

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
    /// Intervals from the begin of the measured time.
    intervals: f64,
    /// What the load had up to then above the rate after it: as so much time at that rate, s.
    saved_s: f64,
}

impl Fall {
    /// Whether the beginning lasted long enough, and spent enough, to be a burst rather than a bucket that was full.
    pub(crate) fn is_burst(&self) -> bool {
        self.intervals >= BURST_INTERVALS_MIN && self.saved_s > BUCKET_S * BUCKET_SLACK
    }
}

/// A cell's rate over its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    /// The falls of the first trial in which there are any, in order.
    pub(crate) falls: Vec<Fall>,
    /// The levels of the first trial whose rate rose from one to the next and kept the last, in order.
    pub(crate) rise: Vec<Level>,
    /// The rate that lasts: of what came after the last fall or rise, else that of whole turns of a throttle, else the mean.
    pub(crate) sustained: f64,
    /// Of the rate that lasts, with 95 % confidence.
    pub(crate) interval: Option<Interval>,
    /// Whether counts of seconds scatter so much less than latencies do that something counts requests or bytes out.
    pub(crate) steady: bool,
    /// Whether each second has the same count, as something that counts out makes them, and so does a device that always takes as long.
    pub(crate) even: bool,
}

impl Course {
    /// That of a cell whose fall was something else: the rate is that of the whole time.
    pub(crate) fn without_fall(cell: &CellRecord) -> Option<Self> {
        let trials = trials_used(cell);
        let levels: Vec<f64> = trials.iter().filter_map(|trial| trial.iops()).collect();
        let whole: Vec<Vec<f64>> = trials.iter().map(|trial| rates(trial)).collect();
        let interval = level_interval(&whole, &levels);
        Some(Self {
            falls: Vec::new(),
            rise: Vec::new(),
            sustained: mean(&levels)?,
            interval,
            steady: false,
            even: false,
        })
    }
    /// The fall after which nothing else was spent: the last one.
    pub(crate) fn fall(&self) -> Option<Fall> {
        self.falls.last().copied()
    }
}

/// The course of a cell; `None` where nothing was measured.
pub(crate) fn course(cell: &CellRecord) -> Option<Course> {
    let trials = trials_used(cell);
    let falls: Vec<Vec<Fall>> = trials.iter().map(|trial| falls(trial)).collect();
    let rises: Vec<Vec<Level>> = trials.iter().map(|trial| risen(trial).unwrap_or_default()).collect();
    let lasting: Vec<Vec<f64>> = (trials.iter().zip(&falls).zip(&rises))
        .map(|((trial, falls), rise)| lasting(trial, falls.last(), rise))
        .collect();
    let levels: Vec<f64> =
        (lasting.iter().zip(&trials).zip(&falls).zip(&rises))
            .filter_map(|(((rates, trial), falls), rise)| {
                if falls.is_empty() && rise.is_empty() { turn_rate(trial).or(trial.iops()) } else { mean(rates) }
            })
            .collect();
    let sustained = mean(&levels)?;
    let interval = match &trials[..] {
        [TrialRecord { told_scatter: Some(scatter), .. }] => told_interval(*scatter, sustained),
        _ => level_interval(&lasting, &levels),
    };
    let steady = !lasting.is_empty() && lasting.iter().zip(&trials).all(|(rates, trial)| is_steady(trial, rates));
    let even = !lasting.is_empty() && lasting.iter().zip(&trials).all(|(rates, trial)| is_even(trial, rates));
    let falls = falls.into_iter().find(|falls| !falls.is_empty()).unwrap_or_default();
    let rise = rises.into_iter().find(|levels| !levels.is_empty()).unwrap_or_default();
    Some(Course { falls, rise, sustained, interval, steady, even })
}

/// The levels of a trial whose rate rose; those of a beginning of a second or two as well.
fn risen(trial: &TrialRecord) -> Option<Vec<Level>> {
    rises(trial).or_else(|| risen_at_once(trial))
}

/// A rate that was lower in the first second, or the first two, and even from then on: the moment lies within them.
fn risen_at_once(trial: &TrialRecord) -> Option<Vec<Level>> {
    let rates = rates(trial);
    let interval_s = f64::from(trial.series.interval_s);
    let counts: Vec<f64> = rates.iter().map(|rate| rate * interval_s).collect();
    let begin = (1..=BEGIN_INTERVALS_MAX).find(|begin| {
        let (first, rest) = counts.split_at((*begin).min(counts.len()));
        let even = || {
            let (middle, scatter) = (mean(rest)?, variance(rest)?);
            Some(libm::sqrt(scatter) <= EVEN_MAX * middle + 1.0)
        };
        let lower = first.iter().all(|count| median(rest).is_some_and(|after| is_fall(after, *count)));
        rest.len() > LEVEL_INTERVALS_MIN && lower && even().unwrap_or(false) && is_certain(rest, first)
    })?;
    let after = mean(&rates[begin..])?;
    // The interval of the change has a part of each level; what was before it is known where one interval lies before that one.
    let before = if begin > 1 { rates[0] } else { trial.warm_up_ns.checked_sub(1).map_or(0.0, |_| rates[0]) };
    let length = |intervals: usize| intervals as f64 * interval_s * 1e9;
    let levels = [(before, begin), (after, rates.len() - begin)];
    Some(levels.map(|(iops, intervals)| Level { iops, length_ns: length(intervals) }).to_vec())
}

/// Whether a closed loop's requests come in turns with pauses between, and in each turn more than had waited for it: a throttle's, unless
/// the load threads themselves are let run in turns.
pub(super) fn passes_in_turns(cell: &CellRecord) -> bool {
    let Some(depth) = cell.load.figures().queue_depth else { return false };
    let trials = trials_used(cell);
    let many = |of: &Turns| of.requests as f64 >= of.turns as f64 * f64::from(depth) * PASSED_MIN;
    !trials.is_empty()
        && trials.iter().all(|trial| turn_rate(trial).is_some() && trial.surroundings.turns.iter().all(many))
}

/// Whether the load threads saw turns of a throttle in every trial.
pub(crate) fn has_turns(cell: &CellRecord) -> bool {
    let trials = trials_used(cell);
    !trials.is_empty() && trials.iter().all(|trial| turn_rate(trial).is_some())
}

/// Requests per second from turn to turn of a throttle, where all load threads saw its turns: the end of the trial cuts none.
fn turn_rate(trial: &TrialRecord) -> Option<f64> {
    let (turns, whole) = (&trial.surroundings.turns, trial.iops()?);
    let counted = |of: &Turns| {
        let seconds = of.span_ns as f64 / 1e9;
        of.turns as f64 >= seconds * TURNS_PER_S_MIN && of.span_ns as f64 >= trial.measured_ns as f64 * TURNS_SHARE_MIN
    };
    if turns.is_empty() || turns.len() != trial.surroundings.threads.len() || !turns.iter().all(counted) {
        return None;
    }
    let fewest = turns.iter().map(|of| of.turns).min()? as f64;
    let rate: f64 = turns.iter().map(|of| of.iops()).sum();
    // A thread that wakes late blurs the turns; what a cut turn does not explain is left as it is.
    let off = (rate / whole - 1.0).abs();
    (off <= TURNS_CUT_MAX / fewest).then_some(if off >= TURNS_CUT_MIN / fewest { rate } else { whole })
}

/// The rate of a cell that counts where it levels off, as in [`Course::sustained`], `whole` where nothing else is known.
pub(crate) fn level(cell: &CellRecord, whole: f64) -> f64 {
    let trials = trials_used(cell);
    let of = |trial: &&TrialRecord| match risen(trial) {
        Some(levels) => levels.last().map(|level| level.iops),
        None => turn_rate(trial),
    };
    let levels: Option<Vec<f64>> = trials.iter().map(of).collect();
    levels.and_then(|levels| mean(&levels)).unwrap_or(whole)
}

/// How well a level is known: by several trials as they differ, by one as its seconds do, `rates` of each.
fn level_interval(rates: &[Vec<f64>], levels: &[f64]) -> Option<Interval> {
    match rates {
        [only] => series_or_short(only),
        _ => mean_over_trials(levels)?.interval,
    }
}

/// How well the level of a trial is known that another tool measured.
fn told_interval(scatter: Scatter, level: f64) -> Option<Interval> {
    Some(around(level, scatter_error(scatter)?.half_width()))
}

/// Fewer seconds than a series needs are taken as trials are, each for itself: the fewer there are, the wider it is.
fn series_or_short(rates: &[f64]) -> Option<Interval> {
    series_interval(rates).or_else(|| mean_over_trials(rates)?.interval)
}

/// Whether a trial would show that something counts, if it did: it has seconds enough, and latencies so uneven that without a count theirs
/// would scatter.
pub(super) fn shows_counting(cell: &CellRecord) -> bool {
    trials_used(cell).into_iter().any(|trial| {
        let rates = rates(trial);
        let scatter = squared_variation(&latencies(trial)).unwrap_or(0.0);
        let expected = mean(&rates).unwrap_or(0.0) * f64::from(trial.series.interval_s) * scatter;
        rates.len() >= STEADY_INTERVALS_MIN && expected * STEADY_SHARE >= ROUNDING
    })
}

/// Whether all counts of a trial are the same, but for a request.
fn is_even(trial: &TrialRecord, rates: &[f64]) -> bool {
    let seconds = f64::from(trial.series.interval_s);
    let counts: Vec<f64> = rates.iter().map(|rate| rate * seconds).collect();
    let spread = mean(&counts).zip(variance(&counts));
    counts.len() >= STEADY_COUNTS_MIN
        && spread.is_some_and(|(mean, variance)| libm::sqrt(variance) <= EVEN_COUNTS_MAX * mean + 0.5)
}

/// All latencies of a trial.
fn latencies(trial: &TrialRecord) -> Histogram {
    let mut all = Histogram::new();
    trial.operations.values().for_each(|record| all.merge(&record.latency));
    all
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

/// The rates after the last fall or rise, or all.
fn lasting(trial: &TrialRecord, fall: Option<&Fall>, rise: &[Level]) -> Vec<f64> {
    let rates = rates(trial);
    if let Some(last) = rise.last() {
        let intervals = libm::floor(last.length_ns / 1e9 / f64::from(trial.series.interval_s)) as usize;
        return rates[rates.len().saturating_sub(intervals.max(1))..].to_vec();
    }
    let from = fall.map_or(0, |fall| libm::ceil(fall.intervals) as usize + 1).min(rates.len().saturating_sub(1));
    rates[from.min(rates.len())..].to_vec()
}

/// The last fall of a trial.
pub(crate) fn fall(trial: &TrialRecord) -> Option<Fall> {
    falls(trial).pop()
}

/// Every fall of a trial's rates, in order.
fn falls(trial: &TrialRecord) -> Vec<Fall> {
    let rates = rates(trial);
    let counts: Vec<f64> = rates.iter().map(|rate| rate * f64::from(trial.series.interval_s)).collect();
    let splits = splits(&counts, LEVELS_DEPTH);
    let ends: Vec<usize> = splits.iter().copied().chain([rates.len()]).collect();
    let begins = [0].into_iter().chain(splits.iter().map(|split| split + 1));
    begins.zip(ends.windows(2)).filter_map(|(begin, ends)| fall_at(trial, &rates, (begin, ends[0], ends[1]))).collect()
}

/// A rate that was kept for a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    /// Requests per second.
    pub(crate) iops: f64,
    /// For how long, ns.
    pub(crate) length_ns: f64,
}

/// The levels of a trial whose rate rose from one to the next and kept the last; `None` where it did not, or fell.
pub(crate) fn rises(trial: &TrialRecord) -> Option<Vec<Level>> {
    if !falls(trial).is_empty() {
        return None;
    }
    // Backwards it falls.
    let mut rates = rates(trial);
    rates.reverse();
    let interval_s = f64::from(trial.series.interval_s);
    let counts: Vec<f64> = rates.iter().map(|rate| rate * interval_s).collect();
    let splits = splits(&counts, LEVELS_DEPTH);
    let lengths: Vec<usize> = parts(&rates, &splits).map(<[f64]>::len).collect();
    if splits.is_empty() || lengths.iter().any(|length| *length < LEVEL_INTERVALS_MIN) {
        return None;
    }
    let begins = [0].into_iter().chain(splits.iter().map(|split| split + 1));
    let ends = splits.iter().copied().skip(1).chain([rates.len()]);
    let moments: Option<Vec<f64>> =
        begins.zip(&splits).zip(ends).map(|((begin, split), end)| moment(&rates, (begin, *split, end))).collect();
    let edges: Vec<f64> = [0.0].into_iter().chain(moments?).chain([rates.len() as f64]).collect();
    let levels = parts(&rates, &splits).zip(edges.windows(2)).map(|(part, edges)| {
        let length_ns = (edges[1] - edges[0]) * interval_s * 1e9;
        Some(Level { iops: median(part)?, length_ns })
    });
    let mut levels: Vec<Level> = levels.collect::<Option<_>>()?;
    levels.reverse();
    Some(levels)
}

/// The fall between two levels: the first from `begin` on, the second up to `end`, and the interval `split` in between.
fn fall_at(trial: &TrialRecord, rates: &[f64], (begin, split, end): (usize, usize, usize)) -> Option<Fall> {
    let (first, second) = (&rates[begin..split], &rates[split + 1..end]);
    let (before, after) = (median(first)?, median(second)?);
    let (from, to) = around_split((begin, split, end));
    let intervals = moment(rates, (begin, split, end))?;
    let interval_ns = f64::from(trial.series.interval_s) * 1e9;
    let at_ns = trial.warm_up_ns as f64 + intervals * interval_ns;
    let above: f64 = rates[..to].iter().map(|rate| rate / after - 1.0).sum();
    let warming = (rates[0] / after - 1.0) * trial.warm_up_ns as f64 / 1e9;
    let saved_s = above * f64::from(trial.series.interval_s) + warming;
    let freedom = (end - begin) as f64 - LEVELS_FITTED;
    let off_ns = (freedom >= 1.0).then(|| {
        let of_sum = libm::sqrt((squares(first) + squares(second)) / freedom * (to - from) as f64);
        t_quantile(CONFIDENCE, freedom) * of_sum / (before - after) * interval_ns
    });
    let interval = series_or_short(first);
    let before_interval = interval.map(|ends| Interval { low: ends.low.min(before), high: ends.high.max(before) });
    let at_interval_ns = off_ns.map(|off| Interval { low: (at_ns - off).max(0.0), high: at_ns + off });
    Some(Fall { at_ns, before, after, at_interval_ns, before_interval, intervals, saved_s })
}

/// The intervals from which the moment of a fall is found.
fn around_split((begin, split, end): (usize, usize, usize)) -> (usize, usize) {
    (split.saturating_sub(AROUND).max(begin), (split + AROUND + 1).min(end))
}

/// When the rate fell between two levels, as in [`fall_at`], in intervals: what was let through around it, put as so much time at either
/// level.
fn moment(rates: &[f64], (begin, split, end): (usize, usize, usize)) -> Option<f64> {
    let (before, after) = (median(&rates[begin..split])?, median(&rates[split + 1..end])?);
    let (from, to) = around_split((begin, split, end));
    let sum: f64 = rates[from..to].iter().sum();
    let at = from as f64 + (sum - after * (to - from) as f64) / (before - after);
    Some(at.clamp(split as f64 - 0.5, split as f64 + 1.5))
}

/// Where counts of intervals fall from level to level: the intervals in which they do, each of which belongs to neither. They are split in
/// two where that leaves the least variance, and each part again.
fn splits(counts: &[f64], depth: u32) -> Vec<usize> {
    if counts.len() < STEADY_INTERVALS_MIN || depth == 0 {
        return Vec::new();
    }
    let Some((split, left)) = best_split(counts) else { return Vec::new() };
    let (first, second) = (&counts[..split], &counts[split + 1..]);
    let falls = median(first).zip(median(second)).is_some_and(|(a, b)| is_fall(a, b));
    if !falls || !is_certain(first, second) {
        return Vec::new();
    }
    let whole = squares(counts);
    let explains = |left: f64| left <= whole * (1.0 - EXPLAINED_MIN);
    let is_level = |begin: usize, end: usize| end - begin >= LEVEL_INTERVALS_MIN;
    let mut all: Vec<usize> = splits(first, depth - 1);
    all.retain(|inner| is_level(0, *inner) && is_level(inner + 1, split));
    all.push(split);
    let later = splits(second, depth - 1).into_iter().map(|inner| split + 1 + inner);
    all.extend(later.filter(|inner| is_level(split + 1, *inner) && is_level(inner + 1, counts.len())));
    if explains(left) || (all.len() > 1 && explains(left_by(counts, &all)) && are_sharp(counts, &all)) {
        all
    } else {
        Vec::new()
    }
}

/// Whether two levels are further apart than the intervals scatter about them by chance, wherever they are split. Counts are whole: they
/// scatter by half a request at least.
fn is_certain(first: &[f64], second: &[f64]) -> bool {
    let of = |values: &[f64]| (mean(values).unwrap_or(0.0), values.len() as f64);
    let ((before, n), (after, m)) = (of(first), of(second));
    // Of three counts or four nothing could be said otherwise.
    let freedom = (n + m - 2.0).max(FREEDOM_MIN);
    let scatter = libm::sqrt(((squares(first) + squares(second)) / freedom).max(0.25) * (1.0 / n + 1.0 / m));
    before - after >= t_quantile(1.0 - FALL_BY_CHANCE / (n + m), freedom) * scatter
}

fn is_fall(before: f64, after: f64) -> bool {
    before >= after * FALL_MIN && after > 0.0
}

/// The interval without which two levels leave the least squares, and those.
fn best_split(rates: &[f64]) -> Option<(usize, f64)> {
    let middle = mean(rates)?;
    // Sums up to each interval: about the mean, so that squares do not cancel out.
    let mut sums = vec![(0.0, 0.0)];
    let mut sum = (0.0, 0.0);
    for rate in rates {
        let off = rate - middle;
        sum = (sum.0 + off, sum.1 + off * off);
        sums.push(sum);
    }
    let of = |from: usize, to: usize| {
        let (a, b) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (b - a * a / (to - from) as f64).max(0.0)
    };
    (1..rates.len().saturating_sub(LASTING_INTERVALS_MIN))
        .map(|split| (split, of(0, split) + of(split + 1, rates.len())))
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The levels between splits.
fn parts<'a>(rates: &'a [f64], splits: &'a [usize]) -> impl Iterator<Item = &'a [f64]> {
    let begins = [0].into_iter().chain(splits.iter().map(|split| split + 1));
    begins.zip(splits.iter().copied().chain([rates.len()])).map(|(begin, end)| &rates[begin..end])
}

fn left_by(rates: &[f64], splits: &[usize]) -> f64 {
    parts(rates, splits).map(squares).sum()
}

/// Whether most of each fall takes place where it is said to: what declines all the time has no levels.
fn are_sharp(rates: &[f64], splits: &[usize]) -> bool {
    let levels: Vec<&[f64]> = parts(rates, splits).collect();
    levels.windows(2).all(|pair| {
        let (first, second) = (pair[0], pair[1]);
        let near = (&first[first.len().saturating_sub(AROUND)..], &second[..second.len().min(AROUND)]);
        let drop = |a: &[f64], b: &[f64]| median(a).zip(median(b)).map(|(a, b)| a - b);
        drop(first, second).zip(drop(near.0, near.1)).is_some_and(|(all, near)| near >= all * SHARP_MIN)
    })
}

fn squares(values: &[f64]) -> f64 {
    let middle = mean(values).unwrap_or(0.0);
    values.iter().map(|v| (v - middle) * (v - middle)).sum::<f64>()
}

/// The variance of a count of renewals is its mean times the squared coefficient of variation of the times between them (D. R.
/// Cox, Renewal Theory, 1962): a closed loop that nothing counts out scatters no less.
fn is_steady(trial: &TrialRecord, rates: &[f64]) -> bool {
    let seconds = f64::from(trial.series.interval_s);
    let counts: Vec<f64> = rates.iter().map(|rate| rate * seconds).collect();
    let (Some(mean), Some(variance)) = (mean(&counts), variance(&counts)) else { return false };
    let Some(scatter) = squared_variation(&latencies(trial)).filter(|scatter| scatter * mean > 0.0) else {
        return false;
    };
    let share = variance / (scatter * mean);
    counts.len() >= STEADY_COUNTS_MIN
        && libm::sqrt(variance) <= STEADY_SCATTER_MAX * mean + 1.0
        && share < STEADY_SHARE
        && variance_below(share, counts.len() as f64 - 1.0) < STEADY_BY_CHANCE
}

/// The squared coefficient of variation of latencies: as if they were log-normal by their median and 90th percentile, which single
/// wild ones do not change; or their own, where that is less, as of those that are either quick or slow.
fn squared_variation(all: &Histogram) -> Option<f64> {
    let (p50, p90) = (all.quantile(0.5)?.as_ns() as f64, all.quantile(0.9)?.as_ns() as f64);
    let scale = libm::log(p90 / p50.max(1.0)) / 1.281_551_565_545;
    let middle = all.mean_ns().filter(|mean| *mean > 0.0)?;
    let off = |start: u64, width: u64| (start as f64 + width as f64 / 2.0) / middle - 1.0;
    let own =
        all.buckets().map(|(start, width, count)| count as f64 * off(start, width) * off(start, width)).sum::<f64>();
    Some((libm::exp(scale * scale) - 1.0).min(own / all.count() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, latencies};
    use loadline_block::Operation;
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
        let fall = course.fall().unwrap();
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
        assert!(course.fall().is_none_or(|fall| !fall.is_burst()), "{course:?}");
        assert!((course.sustained - 1_001.0).abs() < 1.0 || course.falls.is_empty(), "{course:?}");
    }

    #[test]
    fn a_trial_of_five_seconds_shows_a_fall_that_is_deeper_than_its_noise() {
        let falls = |seconds: [u64; 5]| course(&of(seconds)).unwrap().falls.len();
        assert_eq!(falls([3_060, 2_940, 1_700, 500, 520]), 1);
        // Levels of two seconds each that differ by a fifth are no certain ones.
        assert_eq!(falls([1_240, 1_200, 1_100, 1_000, 1_010]), 0);
    }

    #[test]
    fn a_burst_ends_with_the_last_of_several_falls() {
        // A cache that answers for a while, then a burst, then what lasts.
        let course = course(&of(counts(&[(3, 50_000), (1, 12_000), (28, 5_250), (1, 2_325), (27, 1_450)]))).unwrap();
        assert_eq!(course.falls.len(), 2, "{course:?}");
        let fall = course.fall().unwrap();
        assert!((fall.at_ns / 1e9 - 37.23).abs() < 0.02 && (fall.before - 5_251.0).abs() < 1.0, "{fall:?}");
        assert!(fall.is_burst() && (course.sustained - 1_451.0).abs() < 1.0, "{course:?}");
    }

    #[test]
    fn three_levels_of_like_length_are_three() {
        let course = course(&of(counts(&[(20, 3_000), (20, 2_000), (20, 1_000)]))).unwrap();
        assert_eq!(course.falls.len(), 2, "{course:?}");
        assert!((course.fall().unwrap().at_ns / 1e9 - 45.0).abs() < 0.6, "{course:?}");
        assert_eq!(super::course(&of((0..60).map(|i| 3_000 - 45 * i))).unwrap().fall(), None);
    }

    #[test]
    fn what_a_bucket_of_a_second_holds_is_no_burst_however_slowly_it_is_spent() {
        // 210 a second more for 5 s, warm-up included, at 1,000 a second.
        let mut cell = of(counts(&[(3, 1_210), (5, 1_000)]));
        cell.trials[0].warm_up_ns = 2_000_000_000;
        let course = course(&cell).unwrap();
        assert!((course.sustained - 1_001.0).abs() < 2.0 && !course.fall().unwrap().is_burst(), "{course:?}");
    }

    #[test]
    fn a_rate_that_rises_and_stays_has_a_level_before_and_one_after() {
        // 10.5 s at 1,000, then 3,000.
        let cell = of(counts(&[(10, 1_000), (1, 2_000), (19, 3_000)]));
        let levels = rises(&cell.trials[0]).unwrap();
        let [before, after] = levels[..] else { panic!("{levels:?}") };
        assert!((before.iops - 1_001.0).abs() < 2.0 && (after.iops - 3_001.0).abs() < 2.0, "{levels:?}");
        assert!((before.length_ns / 1e9 - 10.5).abs() < 0.02, "{levels:?}");
        assert!((before.length_ns + after.length_ns - 30e9).abs() < 1.0, "{levels:?}");
        // What it has in the end is no fall, and its mean is what it was before: of the whole time.
        assert_eq!(course(&cell).unwrap().fall(), None);
    }

    #[test]
    fn three_levels_that_rise_are_three() {
        let levels = rises(&of(counts(&[(20, 1_000), (20, 2_000), (20, 3_000)])).trials[0]).unwrap();
        assert_eq!(levels.iter().map(|level| libm::round(level.iops / 1e3)).collect::<Vec<f64>>(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn climbs_dips_peaks_and_short_beginnings_are_no_rise() {
        let none = |cell: &CellRecord| assert_eq!(rises(&cell.trials[0]), None);
        none(&of(counts(&[(30, 1_000)])));
        none(&of((0..60).map(|i| 1_000 + 45 * i)));
        none(&of(counts(&[(10, 3_000), (10, 1_000), (10, 3_000)])));
        none(&of(counts(&[(10, 1_000), (10, 3_000), (10, 1_000)])));
        none(&of(counts(&[(20, 3_000), (20, 1_000)])));
        none(&of(counts(&[(2, 1_000), (28, 3_000)])));
        none(&of((0..40).map(|i| 2_000 + 300 * (i * 7 % 5))));
    }

    #[test]
    fn a_few_requests_fewer_are_no_fall() {
        assert_eq!(course(&of([5, 5, 5, 5, 5, 5, 5, 4])).unwrap().fall(), None);
        assert_eq!(course(&of([31, 28, 30, 33, 29, 27, 25, 24])).unwrap().fall(), None);
        // Whether one interval lasts cannot be seen.
        assert_eq!(course(&of(counts(&[(30, 3_000), (1, 500)]))).unwrap().fall(), None);
    }

    #[test]
    fn drift_and_noise_are_no_fall() {
        assert_eq!(course(&of((0..40).map(|i| 2_000 - 20 * i))).unwrap().fall().filter(Fall::is_burst), None);
        assert_eq!(course(&of((0..40).map(|i| 2_000 + 300 * (i * 7 % 5)))).unwrap().fall(), None);
    }

    #[test]
    fn a_counted_rate_scatters_less_than_its_latencies() {
        assert!(course(&of(counts(&[(30, 1_000)]))).unwrap().steady);
        // The example's latencies scatter by 22 %: counts of 1,000 by 7.
        assert!(!course(&of((0..30).map(|i| 993 + 14 * (i % 2)))).unwrap().steady);
    }

    #[test]
    fn few_counts_that_hardly_scatter_are_chance_and_many_are_not() {
        // A tenth of the variance that the example's latencies make: one in six hundred sets of eight counts has that.
        let wobbling = |seconds: u64| course(&of((0..seconds).map(|i| 998 + 4 * (i % 2)))).unwrap().steady;
        assert!(!wobbling(8) && wobbling(60));
    }

    #[test]
    fn counts_of_requests_either_quick_or_slow_scatter_as_those_do() {
        // Half take 0.3 ms and half about 5 ms: a variation of 0.88, and not the 70 of a log-normal time with such percentiles.
        let mut cell = of((0..60).map(|i| 980 + 40 * (i % 2)));
        let reads = cell.trials[0].operations.get_mut(&Operation::Read).unwrap();
        let count = reads.count / 2;
        reads.latency = latencies(count + count / 10, 3e5);
        reads.latency.merge(&latencies(count - count / 10, 5e6));
        assert!(!course(&cell).unwrap().steady);
    }
}
