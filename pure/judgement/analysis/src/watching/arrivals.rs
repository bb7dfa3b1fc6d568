//! How requests come to a watched device.

use super::course::Moment;
use super::facts::outstanding;
use loadline_record::{WatchRecord, WatchedLoop};

/// Outstanding requests that stay within this factor are as many at any time.
const CLOSED_SPREAD: f64 = 1.35;
/// Those that vary by more come whatever the answers.
const OPEN_SPREAD: f64 = 2.0;
/// Rates that vary by less than this are given by a clock.
const STEADY_RATE: f64 = 1.15;
/// Ticks that tell.
const TICKS_MIN: usize = 10;
/// Seconds that tell.
const SECONDS_MIN: usize = 4;
/// Whether as many requests wait at any time, or they come whatever the answers; with the mean outstanding.
pub(super) fn arrivals(watch: &WatchRecord, all: &[Moment]) -> (WatchedLoop, Option<f64>) {
    let mean = outstanding(all);
    let mut waiting: Vec<u64> =
        watch.ticks.iter().filter(|tick| tick.busy() > 0.5).map(|tick| tick.in_flight).collect();
    if waiting.len() < TICKS_MIN {
        return (WatchedLoop::Unknown, mean);
    }
    waiting.sort_unstable();
    let at = |share: f64| waiting[((waiting.len() - 1) as f64 * share) as usize] as f64;
    let (few, usual, many) = (at(0.1), at(0.5), at(0.9));
    let sorted = |of: fn(&Moment) -> f64| {
        let mut all: Vec<f64> = all.iter().filter(|moment| moment.busy > 0.5).map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let varies = |sorted: &[f64]| sorted[sorted.len() * 9 / 10] / sorted[sorted.len() / 10].max(1e-9);
    let (rates, queues) = (sorted(Moment::iops), sorted(|moment| moment.outstanding.max(1.0)));
    let is_closed =
        usual >= 1.0 && many <= (usual * CLOSED_SPREAD).max(usual + 0.5) && few * CLOSED_SPREAD >= usual * 0.7;
    let is_open = || rates.len() >= SECONDS_MIN && varies(&rates) <= STEADY_RATE && varies(&queues) >= OPEN_SPREAD;
    let kind = match is_closed {
        true => WatchedLoop::Closed,
        false if is_open() => WatchedLoop::Open,
        false => WatchedLoop::Unknown,
    };
    (kind, mean)
}
