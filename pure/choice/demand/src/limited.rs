//! Finds the intervals in which the source could not do more.
//!
//! A limit cuts the top off a series: many intervals have the same highest rate, and requests queue in them. A closed
//! loop, in which the application always waits for the storage, looks alike. Either way the demand is at least this.

use crate::series::{AtLimit, Demand, DemandInterval};

/// Rates within this share of the highest are level with it.
const LEVEL: f64 = 0.03;
/// Intervals at the top that are no accident: at least so many, and this share of those with activity.
const LEVEL_COUNT: usize = 5;
const LEVEL_SHARE: f64 = 0.03;
/// Requests in flight on average from which a queue stands.
pub(crate) const QUEUED: f64 = 1.5;
/// At the top requests take so many times as long as below three quarters of it, if they queue for a limit.
const SLOWER: f64 = 1.6;
/// An interval below this share of the highest is not near it.
const BELOW: f64 = 0.75;
/// Levelness that only a limit gives: of intervals at random rates fewer lie this near to the highest.
const VERY_LEVEL_SHARE: f64 = 0.25;
/// A throttle before the device (of a control group) shows no queue at it: then most intervals must lie this near to the highest.
const FLAT: f64 = 0.02;
const FLAT_SHARE: f64 = 0.5;
const FLAT_COUNT: usize = 10;
/// A device that is busy for less of the time has an empty queue at times.
const ALWAYS_BUSY: f64 = 0.9;
/// Rates below this are idle.
const ACTIVE_MIN: f64 = 1.0;

/// Marks the intervals in which the source could not do more, unless a counter said so already.
pub fn mark_limited(demand: &mut Demand) {
    let bytes = level(&demand.intervals, DemandInterval::bytes_per_s, 4096.0);
    let requests = level(&demand.intervals, DemandInterval::requests_per_s, ACTIVE_MIN);
    let queued = always_queued(&demand.intervals);
    let flat_requests = flat(&demand.intervals, DemandInterval::requests_per_s, ACTIVE_MIN);
    let flat_bytes = flat(&demand.intervals, DemandInterval::bytes_per_s, 4096.0);
    let is_flat = |index: usize| {
        [&flat_requests, &flat_bytes].into_iter().any(|marks| marks.as_ref().is_some_and(|marks| marks[index]))
    };
    for (index, interval) in demand.intervals.iter_mut().enumerate() {
        if interval.at_limit.is_some() {
            continue;
        }
        interval.at_limit = if requests.as_ref().is_some_and(|marks| marks[index]) {
            Some(AtLimit::LevelRequests)
        } else if bytes.as_ref().is_some_and(|marks| marks[index]) {
            Some(AtLimit::LevelBytes)
        } else if queued && interval.requests_per_s() >= ACTIVE_MIN {
            Some(AtLimit::AlwaysQueued)
        } else if is_flat(index) {
            Some(AtLimit::LevelBeforeDevice)
        } else {
            None
        };
    }
}

/// The intervals at a level top of `rate`; `None` if the top is not level, or nothing queues there.
fn level(intervals: &[DemandInterval], rate: fn(&DemandInterval) -> f64, active_min: f64) -> Option<Vec<bool>> {
    let active: Vec<&DemandInterval> = intervals.iter().filter(|one| rate(one) >= active_min).collect();
    // A single interval above all others is noise of the sampling: the top is the highest but a few.
    let mut rates: Vec<f64> = active.iter().map(|one| rate(one)).collect();
    rates.sort_by(f64::total_cmp);
    let top = *rates.get(rates.len().checked_sub(1 + rates.len() / 200)?)?;
    let is_level = |one: &DemandInterval| (rate(one) / top - 1.0).abs() <= LEVEL;
    let at_top: Vec<&&DemandInterval> = active.iter().filter(|one| is_level(one)).collect();
    let share = at_top.len() as f64 / active.len() as f64;
    if at_top.len() < LEVEL_COUNT || share < LEVEL_SHARE {
        return None;
    }
    let below: Vec<&&DemandInterval> = active.iter().filter(|one| rate(one) < BELOW * top).collect();
    let median = |of: &[&&DemandInterval], figure: fn(&DemandInterval) -> Option<f64>| {
        let mut all: Vec<f64> = of.iter().filter_map(|one| figure(one)).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let in_flight = median(&at_top, |one| one.in_flight);
    let is_queued = in_flight.is_some_and(|in_flight| in_flight >= QUEUED);
    let is_slower = match (median(&at_top, |one| one.latency_ns), median(&below, |one| one.latency_ns)) {
        (Some(top), Some(below)) => Some(top >= SLOWER * below),
        _ => None,
    };
    // Without latencies below the top there is nothing to compare with: then the top must be very level.
    let is_limit = match (is_slower, in_flight) {
        (Some(slower), Some(_)) => slower && is_queued,
        (Some(slower), None) => slower,
        (None, Some(_)) => is_queued && share >= VERY_LEVEL_SHARE,
        (None, None) => share >= VERY_LEVEL_SHARE,
    };
    // Where requests queue for a limit, the device is never without one.
    let is_busy = median(&at_top, |one| one.busy).is_none_or(|busy| busy >= ALWAYS_BUSY);
    (is_limit && is_busy).then(|| intervals.iter().map(|one| rate(one) >= active_min && is_level(one)).collect())
}

/// The intervals at a top at which most of them lie, whether or not something queues there.
fn flat(intervals: &[DemandInterval], rate: fn(&DemandInterval) -> f64, active_min: f64) -> Option<Vec<bool>> {
    let mut rates: Vec<f64> = intervals.iter().map(rate).filter(|rate| *rate >= active_min).collect();
    rates.sort_by(f64::total_cmp);
    // A token bucket that was full lets more pass at first: the top is that of nearly all.
    let top = *rates.get(rates.len().checked_sub(1 + rates.len() / 20)?)?;
    let is_level = |one: &DemandInterval| rate(one) >= active_min && rate(one) >= top * (1.0 - FLAT);
    let count = intervals.iter().filter(|one| is_level(one)).count();
    let is_flat = count >= FLAT_COUNT && count as f64 >= FLAT_SHARE * rates.len() as f64;
    is_flat.then(|| intervals.iter().map(is_level).collect())
}

/// Whether the application always waits for the storage: some requests are in flight whatever the rate, and it changes little.
fn always_queued(intervals: &[DemandInterval]) -> bool {
    let active: Vec<f64> =
        intervals.iter().filter(|one| one.requests_per_s() >= ACTIVE_MIN).filter_map(|one| one.in_flight).collect();
    let is_idle_at_times = intervals
        .iter()
        .any(|one| one.requests_per_s() >= ACTIVE_MIN && one.busy.is_some_and(|busy| busy < ALWAYS_BUSY));
    if active.len() < LEVEL_COUNT || is_idle_at_times {
        return false;
    }
    let mean = active.iter().sum::<f64>() / active.len() as f64;
    let deviation = (active.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / active.len() as f64).sqrt();
    mean >= QUEUED && deviation <= 0.1 * mean
}
