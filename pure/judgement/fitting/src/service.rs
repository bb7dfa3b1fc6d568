//! Service times from loads without waiting: a line over block sizes.

use crate::disk::{Service, Side};
use loadline_analysis::in_two;
use loadline_block::Operation;
use loadline_disk::normal_quantile;
use loadline_record::{Access, CellRecord, Histogram, TrialRecord};
use std::collections::BTreeMap;

/// Standard deviations at the 99th percentile of a normal distribution.
const P99: f64 = 2.326_347_9;
/// And over those at the 90th.
const P99_BY_P90: f64 = P99 / 1.281_551_6;
/// A 99th percentile this many times the expected one is not that of service.
pub(crate) const TURNS: f64 = 10.0;
/// Nor is one this many times it if a burst was spent meanwhile: later requests took longer.
const AFTER_BURST: f64 = 1.25;

/// From this share of a limit on requests wait at it, however few are outstanding.
const WAITING: f64 = 0.97;
/// Half of the requests of a load passed at once if the mean latency is this many times the median.
const QUICK_HALF: f64 = 2.0;
/// The assumed share of service in the time of waiting requests, to begin with.
pub(crate) const OF_A_WAIT: f64 = 0.25;

/// Whether a load of this rate waits at a limit: it reaches one, and not even half of its requests pass at once, as
/// they would at a window. Latencies in ns.
pub(crate) fn waits(side: &Side, iops: f64, bytes_per_s: f64, p50: f64, mean: f64) -> bool {
    // The rate after a burst says nothing of the time before.
    let requests = side.burst.map(|(rate, _)| rate).or(side.iops);
    let is_at = requests.is_some_and(|limit| iops >= WAITING * limit)
        || side.bytes_per_s.is_some_and(|limit| bytes_per_s >= WAITING * limit);
    is_at && mean < p50 * QUICK_HALF
}

/// The latencies of one operation over trials.
pub(crate) fn latencies(trials: &[TrialRecord], operation: Operation) -> Histogram {
    let mut all = Histogram::new();
    for record in trials.iter().filter_map(|trial| trial.of(operation)) {
        all.merge(record.service.as_ref().unwrap_or(&record.latency));
    }
    all
}

/// A quantile in ns.
pub(crate) fn quantile(histogram: &Histogram, share: f64) -> Option<f64> {
    histogram.quantile(share).map(|value| value.as_ns() as f64)
}

/// The 99th percentile of a log-normal time with this median and 90th percentile.
pub(crate) fn usual_p99(p50: f64, p90: f64) -> f64 {
    p50 * libm::pow(p90 / p50.max(1.0), P99_BY_P90)
}

/// For latencies with a separate cluster of waits for a throttle's turn, less than a hundredth of them: the rank of the
/// 99th percentile of all among the others. `None`: it is a wait, or there is no separate cluster.
pub(crate) fn quick(all: &Histogram) -> Option<f64> {
    let clusters = in_two(all)?;
    let is_quick = quantile(all, 0.99)? < clusters.gap_from_ns;
    is_quick.then(|| 0.99 / (1.0 - clusters.slow_share)).filter(|share| *share < 1.0)
}

/// The 99th percentile of a log-normal time with median `p50`, of which the share `rank` takes at most `at`.
fn p99_by(p50: f64, at: f64, rank: f64) -> f64 {
    p50 * libm::pow(at / p50.max(1.0), P99 / normal_quantile(rank))
}

fn is_random(cell: &CellRecord) -> bool {
    cell.load.figures().pattern == Access::Random
}

/// Median and 99th percentile by the quickest cells of each block size that do not wait at a limit of `side`, with the
/// time of each KiB. If all wait, it is the share `of_a_wait` of the quickest one's time, and the time of a KiB is
/// unknown. `None` if the operation was not measured.
pub(crate) fn service(cells: &[&CellRecord], reads: bool, side: &Side, of_a_wait: f64) -> Option<Service> {
    let turns = if side.burst.is_some() { AFTER_BURST } else { TURNS };
    let operation = if reads { Operation::Read } else { Operation::Write };
    // Sequential requests may be served faster than the rest.
    let anywhere = cells.iter().any(|cell| is_random(cell) && cell.trials.iter().any(|t| t.of(operation).is_some()));
    // By block size, the latencies.
    let (mut free, mut waiting) = (BTreeMap::new(), BTreeMap::new());
    for cell in cells.iter().filter(|cell| is_random(cell) || !anywhere) {
        let load = cell.load.figures();
        if load.queue_depth.is_none() {
            continue;
        }
        let all = latencies(&cell.trials, operation);
        let (Some(p50), Some(p90), Some(p99)) = (quantile(&all, 0.5), quantile(&all, 0.9), quantile(&all, 0.99)) else {
            continue;
        };
        // Latencies far beyond a log-normal tail of the 90th percentile are waits for a throttle's turn, and not
        // service.
        let expected = usual_p99(p50, p90);
        let p99 = match quick(&all) {
            Some(rank) => p99_by(p50, p99, rank),
            None if p99 > expected * turns => expected,
            None => p99,
        };
        let block = load.block_bytes;
        let rates: Vec<f64> = cell.trials.iter().filter_map(TrialRecord::iops).collect();
        let iops = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let is_waiting = waits(side, iops, iops * block as f64, p50, all.mean_ns().unwrap_or(p50));
        let quickest: &mut BTreeMap<u64, (f64, f64)> = if is_waiting { &mut waiting } else { &mut free };
        let entry = quickest.entry(block).or_insert((p50, p99));
        if p50 < entry.0 {
            *entry = (p50, p99);
        }
    }
    let by_size = |(block, (p50, p99)): (&u64, &(f64, f64))| (*block as f64 / 1024.0, *p50, *p99);
    let mut points: Vec<(f64, f64, f64)> = free.iter().map(by_size).collect();
    if points.is_empty() {
        let quickest = waiting.iter().map(by_size).min_by(|a, b| a.1.total_cmp(&b.1));
        points.extend(quickest.map(|(kib, p50, p99)| (kib, p50 * of_a_wait, p99 * of_a_wait)));
    }
    let (_, first, _) = *points.first()?;
    // A KiB takes at least 0, and at most the difference between a small request and its own time.
    let slope =
        points.windows(2).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0)).fold(f64::MAX, f64::min);
    let per_kib = if points.len() > 1 { slope.max(0.0) } else { 0.0 };
    let transfer = per_kib * points[0].0;
    let median = (first - transfer).max(first * 0.1);
    // Waits for a turn only ever widen the spread: the narrowest is that of service.
    let spreads = points.iter().map(|(kib, p50, p99)| (p99 - per_kib * kib) / (p50 - per_kib * kib).max(p50 * 0.1));
    let spread = spreads.min_by(f64::total_cmp)?.max(1.0);
    Some(Service { median, p99: median * spread, per_kib })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;

    #[test]
    fn a_99th_percentile_follows_from_the_median_and_any_other() {
        // Log-normal with a median of 10 us and a standard deviation of 1.5 of the logarithm.
        let of = |deviations: f64| 10e3 * (1.5 * deviations).exp();
        assert!((p99_by(10e3, of(3.2905), 0.9995) / of(2.3263) - 1.0).abs() < 0.01);
        assert!((p99_by(10e3, of(3.0902), 0.999) / of(2.3263) - 1.0).abs() < 0.01);
    }

    /// So many requests at each latency, ns.
    fn histogram(parts: &[(u64, u64)]) -> Histogram {
        let mut all = Histogram::new();
        for (count, ns) in parts {
            (0..*count).for_each(|_| all.record(Duration::from_ns(*ns)));
        }
        all
    }

    #[test]
    fn a_99th_percentile_below_waits_that_are_set_apart_is_one_of_service() {
        let with = |waits: u64| {
            let tail = [60_000, 120_000, 240_000, 480_000, 960_000].map(|ns| (1, ns));
            let others = [(9_000, 10_000), (890, 20_000), (105 - waits, 1_900_000), (waits, 98_000_000)];
            histogram(&[&tail[..], &others].concat())
        };
        let share = quick(&with(95)).expect("the waits are less than a hundredth");
        assert!((share - 0.99 / 0.9905).abs() < 1e-9, "{share}");
        assert_eq!(quick(&with(105)), None, "the 99th percentile is a wait");
        assert_eq!(quick(&histogram(&[(9_000, 10_000), (1_000, 1_900_000)])), None, "nothing waits for a turn");
    }
}
