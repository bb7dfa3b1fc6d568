//! Latencies in two clusters with next to nothing between: the mark of requests that are let through in bursts.

use crate::trials::trials_used;
use loadline_record::{CellRecord, Histogram};
use loadline_units::Duration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The gap between the clusters: a decade. Queues, seeks and caches fill it; a wait for the next turn of a throttle does not.
const GAP: f64 = 10.0;
/// In the gap lie no more than this share of the slow requests.
const IN_GAP_MAX: f64 = 0.05;
/// The slow cluster is one: nine tenths of it lie within this factor. Waits of any other length are no turns.
const SLOW_SPREAD_MAX: f64 = 3.0;
/// Fewer slow requests are accidents.
const SLOW_MIN: u64 = 10;

/// Of the requests of one kind at least so many are quick: kinds that take unlike times each, as writes into memory and the flushes
/// behind them, are no turns.
const QUICK_OF_KIND_MIN: f64 = 0.2;
/// Where the tool stood still for this share of the time,
const STOPPED_MIN: f64 = 0.2;
/// slow requests that take up to so many times as long as its stops, or as short, are those that it did not reap.
const LIKE_STOPS: f64 = 2.0;

/// A closed loop's latencies in two clusters. The median lies in the quick one, most of the time goes into the slow one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// The median of all.
    pub median_ns: f64,
    /// The share of requests in the slow cluster.
    pub slow_share: f64,
    /// Requests in the slow cluster.
    pub slow: u64,
    /// The median of the slow cluster.
    pub slow_ns: f64,
    /// Where the gap begins: whatever takes less is quick.
    pub gap_from_ns: f64,
}

/// The clusters of a cell's latencies over all trials and operations, flushes too. `None` for an open or paced loop, whose latencies
/// hold the waiting of its own arrivals.
pub(crate) fn clusters(cell: &CellRecord) -> Option<Clusters> {
    let load = cell.load.figures();
    load.queue_depth.filter(|_| load.rate_iops.is_none())?;
    let (mut all, mut kinds) = (Histogram::new(), BTreeMap::new());
    for trial in trials_used(cell) {
        for (operation, record) in &trial.operations {
            if record.waiting.is_some() {
                return None;
            }
            all.merge(&record.latency);
            kinds.entry(*operation).or_insert_with(Histogram::new).merge(&record.latency);
        }
    }
    in_two(&all).filter(|found| !are_stops(cell, found) && kinds.values().any(|kind| is_split(kind, found)))
}

/// Whether the requests of one kind lie in both clusters.
fn is_split(kind: &Histogram, found: &Clusters) -> bool {
    let slow = kind.share_above(Duration::from_ns(found.gap_from_ns as u64));
    slow * kind.count() as f64 >= SLOW_MIN as f64 && slow <= 1.0 - QUICK_OF_KIND_MIN
}

/// Whether the slow cluster is made of the times in which the tool itself stood still, as a quota of CPU time makes them.
fn are_stops(cell: &CellRecord, found: &Clusters) -> bool {
    let trials = trials_used(cell);
    let stops = || trials.iter().filter_map(|trial| trial.surroundings.stops);
    let stopped_ns: u64 = stops().map(|stops| stops.total_ns).sum();
    let count: u64 = stops().map(|stops| stops.count).sum();
    let measured_ns: u64 = trials.iter().map(|trial| trial.measured_ns).sum();
    let mean_ns = stopped_ns as f64 / count.max(1) as f64;
    stopped_ns as f64 >= measured_ns as f64 * STOPPED_MIN
        && count > 0
        && found.slow_ns <= mean_ns * LIKE_STOPS
        && found.slow_ns >= mean_ns / LIKE_STOPS
}

/// The clusters of latencies of a closed loop.
#[must_use]
pub fn in_two(all: &Histogram) -> Option<Clusters> {
    let buckets: Vec<(f64, u64)> =
        all.buckets().map(|(start, width, n)| (start as f64 + width as f64 / 2.0, n)).collect();
    // Requests up to each bucket, so that any range is a difference of two.
    let mut up_to = vec![0];
    for (_, count) in &buckets {
        up_to.push(up_to.last().copied().unwrap_or(0) + count);
    }
    let total = all.count();
    let (mut quick_end, mut best): (usize, Option<(f64, usize)>) = (0, None);
    for slow_begin in 1..buckets.len() {
        while buckets[quick_end].0 < buckets[slow_begin].0 / GAP {
            quick_end += 1;
        }
        let (quick, slow) = (up_to[quick_end], total - up_to[slow_begin]);
        let in_gap = (up_to[slow_begin] - quick) as f64 / slow as f64;
        let candidate = quick * 2 >= total && slow >= SLOW_MIN && in_gap <= IN_GAP_MAX;
        if candidate && best.is_none_or(|(least, _)| in_gap < least) {
            best = Some((in_gap, slow_begin));
        }
    }
    let slow = best.map(|(_, begin)| &buckets[begin..])?;
    let count: u64 = slow.iter().map(|b| b.1).sum();
    let time_ns: f64 = slow.iter().map(|(middle, n)| middle * *n as f64).sum();
    let at = |share: f64| {
        let mut seen = 0;
        slow.iter().find_map(|(middle, n)| {
            seen += n;
            (seen as f64 >= share * count as f64).then_some(*middle)
        })
    };
    let narrow = at(0.95)? / at(0.05)? <= SLOW_SPREAD_MAX;
    (narrow && time_ns * 2.0 >= all.sum_ns() as f64).then_some(Clusters {
        median_ns: all.quantile(0.5)?.as_ns() as f64,
        slow_share: count as f64 / total as f64,
        slow: count,
        slow_ns: at(0.5)?,
        gap_from_ns: slow.first()?.0 / GAP,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, latencies};
    use loadline_block::Operation;
    use loadline_record::Stops;

    fn together(parts: &[(u64, f64)]) -> Histogram {
        let mut all = Histogram::new();
        for (count, mean_ns) in parts {
            all.merge(&latencies(*count, *mean_ns));
        }
        all
    }

    #[test]
    fn a_throttle_that_opens_ten_times_a_second_leaves_two_clusters() {
        let clusters = in_two(&together(&[(14_970, 20e3), (30, 98e6)])).unwrap();
        assert!((clusters.median_ns / 20e3 - 1.0).abs() < 0.02 && (clusters.slow_ns / 98e6 - 1.0).abs() < 0.02);
        assert!((clusters.slow_share - 0.002).abs() < 1e-9);
    }

    #[test]
    fn what_a_quota_of_cpu_time_makes_of_latencies_is_no_throttle() {
        let disk = ExampleDisk { iops: 13_000.0, ..ExampleDisk::default() };
        let mut cell = cell(closed("random", 1.0, 4096, 1), &disk, &[1.0]);
        let trial = &mut cell.trials[0];
        trial.operations.get_mut(&Operation::Read).unwrap().latency = together(&[(32_330, 11e3), (32, 75e6)]);
        assert!(clusters(&cell).is_some());
        let mut stopped = |count: u64, each_ms: u64| {
            let trial = &mut cell.trials[0];
            let length = each_ms * 1_000_000;
            let stops = Stops { count, total_ns: count * length, longest_ns: length, throttled_ns: Some(0) };
            (trial.measured_ns, trial.surroundings.stops) = (2_500_000_000, Some(stops));
            clusters(&cell).is_some()
        };
        assert!(!stopped(20, 68), "a quota: half of the time, 20 times for 68 ms");
        assert!(stopped(200, 5), "short ones do not make requests of 75 ms");
        assert!(stopped(3, 68), "nor do three of them");
    }

    #[test]
    fn a_stray_request_in_the_gap_does_not_fill_it() {
        assert!(in_two(&together(&[(14_000, 20e3), (10, 3e6), (900, 98e6)])).is_some());
        assert_eq!(in_two(&together(&[(14_000, 20e3), (500, 10e6), (900, 98e6)])), None);
    }

    #[test]
    fn waits_of_every_length_up_to_a_slow_mode_are_no_clusters() {
        // Quick answers of a cache, waits in a queue that get rarer the longer they are, and those of a full queue.
        let filled = |shortest: f64| {
            let waits = |i: i32| ((shortest * 0.9_f64.powi(i)) as u64 + 1, 60e3 * 1.2_f64.powi(i));
            let waits: Vec<(u64, f64)> = (0..40).map(waits).collect();
            in_two(&together(&[&[(14_000, 20e3), (900, 98e6)], &waits[..]].concat()))
        };
        assert_eq!(filled(400.0), None);
        // Strays alone leave the gap a gap.
        assert!(filled(0.0).is_some());
    }

    #[test]
    fn other_shapes_are_no_clusters() {
        assert_eq!(in_two(&Histogram::new()), None);
        assert_eq!(in_two(&latencies(10_000, 1e6)), None, "one cluster");
        assert_eq!(in_two(&together(&[(14_991, 20e3), (9, 98e6)])), None, "accidents");
        assert_eq!(in_two(&together(&[(14_985, 20e3), (15, 2e6)])), None, "little of the time");
        assert_eq!(in_two(&together(&[(4_000, 20e3), (6_000, 98e6)])), None, "most are slow");
        let tail: Vec<(u64, f64)> = (0..20).map(|i| (5, 20e6 * f64::from(i + 1))).collect();
        assert_eq!(in_two(&together(&[&[(14_900, 20e3)], &tail[..]].concat())), None, "a tail");
    }
}
