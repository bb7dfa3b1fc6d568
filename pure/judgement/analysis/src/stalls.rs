//! Times in which a device answers nothing and after which it goes on as before, found in the seconds of a trial.

use crate::statistics::median;
use crate::trials::trials_used;
use loadline_record::{CellRecord, DoubtCode, Histogram, LoadFigures, Second, TrialRecord};
use loadline_units::Duration;

/// A shorter wait is what throttles make that let requests through by slices: those of kernels and clouds take 100 ms and less.
const STALL_MIN_NS: f64 = 250e6;
/// The slowest request of its second takes this many times what the hundredth takes in other seconds.
const APART: f64 = 5.0;
/// Fewer whole seconds do not show what is usual.
const SECONDS_MIN: usize = 8;
/// What comes in more of the seconds than this, or takes more of the time than the next, is how the device works, or a throttle.
const SECONDS_SHARE_MAX: f64 = 1.0 / 3.0;
const TIME_SHARE_MAX: f64 = 0.5;
/// So many requests at least would have been answered meanwhile.
const MISSING_MIN: f64 = 10.0;
/// Of what would have been answered meanwhile, this share is missing. Of two outstanding one slow request takes half.
const MISSING_SHARE_MIN: f64 = 0.7;
/// Where far more is missing than all stalls of that time account for, the device was slow for longer than it stood still.
const MISSING_SHARE_MAX: f64 = 2.0;
/// And this many times what the counts of seconds are off by usually.
const BEYOND_NOISE: f64 = 3.0;
/// Of those that would have waited, this share at least did.
const WAITED_SHARE_MIN: f64 = 0.5;
/// Where fewer are outstanding, a few slow requests are as many.
const OUTSTANDING_MIN: f64 = 4.0;
/// Afterwards the rate comes to this share of the usual one within so many seconds. It lacks no more than this, or than counts usually
/// differ.
const RECOVERED: f64 = 0.7;
const LACKING_MAX: f64 = 0.1;
const RECOVERED_WITHIN: usize = 2;
/// A stop of the tool that is this share of a stall may be what it is.
const OF_STALL: f64 = 0.5;
/// So many stalls, each so many seconds after the last to within one, come by a clock.
const REGULAR_MIN: usize = 4;
const PERIOD_MIN_S: usize = 3;

/// One time in which nothing was answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stall {
    /// The second of the measured time in which it ended, from 0.
    pub(crate) ended: usize,
    /// What its slowest request took beyond the median, ns.
    pub(crate) length_ns: f64,
}

/// What is usual in the seconds of a trial: medians over them.
struct Usual {
    count: f64,
    /// How far counts are off by usually: the standard deviation that their median deviation makes of normal ones.
    off: f64,
    p50_ns: f64,
    p99_ns: f64,
}

/// The share of a cell's measured time in which its device stood still; `None` where it did not, or nothing tells.
pub(crate) fn stood_still(cell: &CellRecord) -> Option<f64> {
    let trials = trials_used(cell);
    let total: f64 =
        trials.iter().filter_map(|trial| stalls(&cell.load.figures(), trial)).flatten().map(|s| s.length_ns).sum();
    let measured: u64 = trials.iter().map(|trial| trial.measured_ns).sum();
    (total > 0.0 && measured > 0).then(|| total / measured as f64)
}

/// The stalls of a trial in order; `None` where it cannot tell, or where what stopped may have been something else.
pub(crate) fn stalls(load: &LoadFigures, trial: &TrialRecord) -> Option<Vec<Stall>> {
    let doubted = |code: DoubtCode| trial.doubts.iter().any(|doubt| doubt.code == code);
    if trial.series.interval_s != 1 || doubted(DoubtCode::ToolStopped) || doubted(DoubtCode::EndedEarly) {
        return None;
    }
    let is_whole = trial.series.last_ns >= 1_000_000_000;
    let whole = trial.series.seconds.len() - usize::from(!is_whole).min(trial.series.seconds.len());
    let seconds = &trial.series.seconds[..whole];
    let usual = usual(seconds)?;
    let own_ns = trial.surroundings.stops.map_or(0.0, |stops| stops.longest_ns as f64);
    let least = STALL_MIN_NS.max(usual.p99_ns * APART).max(own_ns / OF_STALL);
    let slow: Vec<Stall> = (0..seconds.len())
        .map(|ended| Stall { ended, length_ns: slowest(&seconds[ended]) - usual.p50_ns })
        .filter(|stall| stall.length_ns >= least && stall.length_ns / 1e9 * usual.count >= MISSING_MIN)
        .filter(|stall| is_silent(seconds, &usual, *stall) && recovers(seconds, &usual, *stall))
        .collect();
    if slow.len() as f64 > seconds.len() as f64 * SECONDS_SHARE_MAX {
        return None;
    }
    let (mut found, mut rest): (Vec<Stall>, Vec<Stall>) =
        slow.iter().partition(|stall| answers_are_missing(load, seconds, &usual, &slow, **stall));
    rest.retain(|stall| is_no_queue(seconds, &slow, *stall));
    if !rest.is_empty() && all_waited(load, trial, &usual, &found, &rest) {
        found.extend(rest);
        found.sort_by_key(|stall| stall.ended);
    }
    let total: f64 = found.iter().map(|stall| stall.length_ns).sum();
    let taken = trial
        .surroundings
        .machine
        .map_or(0.0, |machine| machine.steal * f64::from(machine.cpus) * trial.surroundings.elapsed_ns as f64);
    // The hypervisor took time enough to be what stopped.
    let is_stolen = doubted(DoubtCode::CpuStolen) && taken >= total * OF_STALL;
    (!is_stolen && total <= trial.measured_ns as f64 * TIME_SHARE_MAX).then_some(found)
}

/// The slowest request that was answered in a second, ns.
fn slowest(second: &Second) -> f64 {
    second.operations.iter().map(|of| of.max_ns).max().unwrap_or(0) as f64
}

fn usual(seconds: &[Second]) -> Option<Usual> {
    if seconds.len() < SECONDS_MIN {
        return None;
    }
    let over = |figure: fn(&Second) -> u64| median(&seconds.iter().map(|s| figure(s) as f64).collect::<Vec<f64>>());
    let count = over(Second::count).filter(|count| *count > 0.0)?;
    let off = median(&seconds.iter().map(|s| (s.count() as f64 - count).abs()).collect::<Vec<f64>>())?;
    Some(Usual {
        count,
        off: off * 1.4826,
        p50_ns: over(|s| s.operations.iter().map(|of| of.p50_ns).max().unwrap_or(0))?,
        p99_ns: over(|s| s.operations.iter().map(|of| of.p99_ns).max().unwrap_or(0))?,
    })
}

/// Whether the whole seconds within it have next to no answers: where they have, its slowest request stood in a queue that moves.
fn is_silent(seconds: &[Second], usual: &Usual, stall: Stall) -> bool {
    let from = (stall.ended + 1).saturating_sub((stall.length_ns / 1e9) as usize) + 1;
    let few = usual.count * (1.0 - MISSING_SHARE_MIN);
    seconds.iter().take(stall.ended).skip(from).all(|second| second.count() as f64 <= few)
}

/// Whether the wait begins at once and is over after it: where requests stood long before, or stand longer afterwards, they stand in a
/// queue that grows.
fn is_no_queue(seconds: &[Second], slow: &[Stall], stall: Stall) -> bool {
    let is_slow = |at: usize| slow.iter().any(|other| other.ended == at);
    let long = slowest(&seconds[stall.ended]);
    let before = stall.ended.checked_sub(libm::ceil(stall.length_ns / 1e9) as usize + 1);
    let stood = before.is_some_and(|at| !is_slow(at) && slowest(&seconds[at]) >= long / 2.0);
    let after = stall.ended + 1;
    let grows = seconds.get(after).is_some_and(|next| !is_slow(after) && slowest(next) > long);
    !stood && !grows
}

/// Whether it goes on as before: what falls for good, or stays low for long, is no stall.
fn recovers(seconds: &[Second], usual: &Usual, stall: Stall) -> bool {
    let after = seconds.iter().skip(stall.ended + 1).take(RECOVERED_WITHIN);
    let lacking = (usual.count * LACKING_MAX).max(usual.off * BEYOND_NOISE);
    let least = (usual.count * RECOVERED).max(usual.count - lacking);
    after.map(|second| second.count() as f64).any(|count| count >= least)
}

/// Whether the seconds that it touches lack what would have been answered meanwhile: of a request that was slow alone they lack its
/// own place.
fn answers_are_missing(load: &LoadFigures, seconds: &[Second], usual: &Usual, all: &[Stall], stall: Stall) -> bool {
    let length_s = (stall.length_ns / 1e9).min((stall.ended + 1) as f64);
    let from = (stall.ended + 1).saturating_sub(libm::ceil(length_s) as usize + 1);
    let touched = &seconds[from..=stall.ended];
    let window = touched.len() as f64;
    let missing = usual.count * window - touched.iter().map(|second| second.count() as f64).sum::<f64>();
    // Whoever sets its own pace may have asked for less: two requests and more waited all the time.
    let waited = touched.iter().map(|second| second.outstanding).sum::<f64>();
    let asked = load.queue_depth.is_some() || waited >= 2.0 * length_s;
    let noise = usual.off * libm::sqrt(window) * BEYOND_NOISE;
    let of_all = all.iter().filter(|other| (from..=stall.ended).contains(&other.ended)).map(|other| other.length_ns);
    asked
        && missing >= usual.count * length_s * MISSING_SHARE_MIN
        && missing >= noise
        && missing <= usual.count * of_all.sum::<f64>() / 1e9 * MISSING_SHARE_MAX + noise
}

/// Whether as many requests took so long as would have waited if nothing was answered, where what was missed is made up for at once: all
/// that were outstanding of a closed loop, and of an open one those that came until half a stall's length before its end.
fn all_waited(load: &LoadFigures, trial: &TrialRecord, usual: &Usual, known: &[Stall], rest: &[Stall]) -> bool {
    let depth = load.queue_depth.map(|depth| f64::from(depth) * f64::from(load.threads));
    if load.is_of_others() || depth.is_some_and(|depth| depth < OUTSTANDING_MIN) {
        return false;
    }
    let shortest = rest.iter().map(|stall| stall.length_ns).fold(f64::INFINITY, f64::min);
    let limit = shortest / 2.0;
    let waiting = |stalls: &[Stall]| {
        let each = |stall: &Stall| depth.unwrap_or((stall.length_ns - limit).max(0.0) / 1e9 * usual.count);
        stalls.iter().map(each).sum::<f64>()
    };
    let above = |latency: &Histogram| latency.share_above(Duration::from_ns(limit as u64)) * latency.count() as f64;
    let waited: f64 = trial.operations.values().map(|record| above(&record.latency)).sum();
    waited - waiting(known) >= waiting(rest) * WAITED_SHARE_MIN
}

/// How many seconds lie between stalls, where they are as many each time.
pub(crate) fn period(stalls: &[Stall]) -> Option<usize> {
    let (first, last) = (stalls.first()?.ended, stalls.last()?.ended);
    let gaps = stalls.len().checked_sub(1).filter(|gaps| gaps + 1 >= REGULAR_MIN)?;
    let mean = (last - first) as f64 / gaps as f64;
    let regular = stalls.windows(2).all(|pair| ((pair[1].ended - pair[0].ended) as f64 - mean).abs() <= 1.0);
    (regular && mean >= PERIOD_MIN_S as f64).then_some(libm::round(mean) as usize)
}
