//! Service times from loads in which nothing waits: a line over block sizes.

use crate::disk::Service;
use loadline_block::Operation;
use loadline_record::{CellRecord, Histogram, TrialRecord};
use std::collections::BTreeMap;

/// Standard deviations at the 99th percentile of a normal distribution over those at the 90th.
const P99_BY_P90: f64 = 2.326_347_9 / 1.281_551_6;
/// A 99th percentile so many times the expected one is not that of service.
pub(crate) const TURNS: f64 = 10.0;
/// Nor is one so many times it where a burst was spent meanwhile: what came later took longer.
const AFTER_BURST: f64 = 1.25;

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

fn is_random(cell: &CellRecord) -> bool {
    cell.load.pattern == "random"
}

/// Median and 99th percentile by the cells of each block size that ask for least at once, with what each KiB adds. `None`
/// where the operation was not measured. Some of the cells outlasted a burst if `burst_was_spent`.
pub(crate) fn service(cells: &[&CellRecord], reads: bool, burst_was_spent: bool) -> Option<Service> {
    let turns = if burst_was_spent { AFTER_BURST } else { TURNS };
    let operation = if reads { Operation::Read } else { Operation::Write };
    // What lies side by side may be served faster than the rest.
    let anywhere = cells.iter().any(|cell| is_random(cell) && cell.trials.iter().any(|t| t.of(operation).is_some()));
    // By block size, the depth and the latencies.
    let mut shallowest: BTreeMap<u64, (u32, f64, f64)> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| is_random(cell) || !anywhere) {
        let Some(depth) = cell.load.queue_depth.map(|depth| depth * cell.load.threads) else { continue };
        let all = latencies(&cell.trials, operation);
        let (Some(p50), Some(p90), Some(p99)) = (quantile(&all, 0.5), quantile(&all, 0.9), quantile(&all, 0.99)) else {
            continue;
        };
        // Far beyond what a log-normal time makes of the 90th percentile lie waits for a throttle's turn, which are no service.
        let expected = usual_p99(p50, p90);
        let p99 = if p99 > expected * turns { expected } else { p99 };
        let entry = shallowest.entry(cell.load.block_bytes).or_insert((depth, p50, p99));
        if p50 < entry.1 {
            *entry = (depth, p50, p99);
        }
    }
    let points: Vec<(f64, f64, f64)> =
        shallowest.iter().map(|(block, (_, p50, p99))| (*block as f64 / 1024.0, *p50, *p99)).collect();
    let (_, first, _) = *points.first()?;
    // Each KiB adds no less than nothing, and no more than takes a small request beyond its own time.
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
