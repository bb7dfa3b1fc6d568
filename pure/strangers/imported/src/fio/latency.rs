//! fio's latency statistics: with `json+` every bucket of its histogram, otherwise percentiles.
//!
//! fio's buckets are those of loadline: 64 for each power of two (`stat.h`: `FIO_IO_U_PLAT_BITS` is 6), reported by
//! their middle. The last one counts all values from about 17 s on.

use crate::ImportError;
use crate::value::{At, COUNT_MAX};
use loadline_record::{Histogram, HistogramSnapshot};
use loadline_units::Duration;

/// fio's buckets: 29 groups of 64.
const BUCKETS: u64 = 29 * 64;
/// A bucket's middle is off by this share of a value at most; microseconds of older versions are cut off besides.
const BUCKET_SHARE: f64 = 1.0 / 64.0;

/// The known latency figures of one operation.
#[derive(Debug, Default)]
pub(super) struct Latency {
    pub(super) histogram: Histogram,
    pub(super) told: Option<HistogramSnapshot>,
    /// Whether they count from before the submission rather than from its end.
    pub(super) is_total: bool,
    /// Percentiles that fio printed above its own largest latency: their share in percent, and what it printed, ns.
    pub(super) clamped: Vec<(f64, u64)>,
}

/// The latencies of a direction: those from submission to completion, or the whole ones if only those have details.
pub(super) fn of_direction(direction: &At<'_>) -> Result<Latency, ImportError> {
    let candidates = [(["clat_ns", "clat"], false), (["lat_ns", "lat"], true)];
    // By their details, then in the order of the list.
    let details: [fn(&At<'_>) -> bool; 3] =
        [|at| at.get("bins").is_some(), |at| at.get("percentile").is_some(), |_| true];
    for detail in details {
        for (keys, is_total) in candidates {
            for key in keys {
                if let Some(at) = direction.get(key).filter(|at| detail(at)) {
                    let read = read(&at, is_ns(key))?;
                    if let Some(read) = read {
                        return Ok(Latency { is_total, ..read });
                    }
                }
            }
        }
    }
    Ok(Latency::default())
}

/// The latencies of flushes.
pub(super) fn of_flushes(sync: &At<'_>) -> Result<Latency, ImportError> {
    for key in ["lat_ns", "lat"] {
        if let Some(at) = sync.get(key)
            && let Some(read) = read(&at, is_ns(key))?
        {
            return Ok(Latency { is_total: true, ..read });
        }
    }
    Ok(Latency::default())
}

fn is_ns(key: &str) -> bool {
    key.ends_with("_ns")
}

/// One statistic; `None` if nothing was counted.
fn read(at: &At<'_>, is_ns: bool) -> Result<Option<Latency>, ImportError> {
    let unit_ns = if is_ns { 1 } else { 1_000 };
    let figure = |key: &str| at.get(key).map(|at| ns(&at, unit_ns)).transpose();
    let (Some(min), Some(max), Some(mean)) = (figure("min")?, figure("max")?, figure("mean")?) else { return Ok(None) };
    let counted = at.get("N").map(|at| at.count()).transpose()?;
    if counted == Some(0) || max <= 0.0 {
        return Ok(None);
    }
    if min > max || mean < min * (1.0 - 1e-6) || mean > max * (1.0 + 1e-6) {
        return Err(at.error(format!("the mean {mean} ns does not lie between the least {min} and the largest {max}")));
    }
    if let Some(bins) = at.get("bins")
        && let Some(histogram) = histogram(&bins, unit_ns, counted, (min as u64, max as u64, mean))?
    {
        return Ok(Some(Latency { histogram, ..Latency::default() }));
    }
    let printed = match at.get("percentile") {
        Some(list) => percentiles(&list, unit_ns)?,
        None => Vec::new(),
    };
    let (least, most) = (min as u64, max as u64);
    // A bucket's upper end may lie beyond the largest value in it.
    let clamped: Vec<(f64, u64)> = printed.iter().copied().filter(|(_, ns)| *ns > most).collect();
    let percentiles: Vec<(f64, u64)> = printed.iter().map(|(share, ns)| (*share, (*ns).clamp(least, most))).collect();
    let percentile = |wanted: f64| percentiles.iter().find(|(p, _)| (p - wanted).abs() < 1e-6).map(|(_, ns)| *ns);
    let stddev = at.get("stddev").map(|stddev| ns(&stddev, unit_ns)).transpose()?.filter(|ns| *ns >= 0.0);
    let told = HistogramSnapshot {
        mean,
        stddev,
        min: Some(min as u64),
        p50: percentile(50.0),
        p90: percentile(90.0),
        p95: percentile(95.0),
        p99: percentile(99.0),
        p99_9: percentile(99.9),
        p99_99: percentile(99.99),
        max: max as u64,
    };
    Ok(Some(Latency { told: Some(told), clamped, ..Latency::default() }))
}

/// A time in this unit, in ns.
fn ns(at: &At<'_>, unit_ns: u64) -> Result<f64, ImportError> {
    let ns = at.number()? * unit_ns as f64;
    if ns >= COUNT_MAX as f64 { Err(at.error("is longer than any latency can be")) } else { Ok(ns) }
}

/// Percentiles as they are printed, by their share in percent, in rising order.
fn percentiles(list: &At<'_>, unit_ns: u64) -> Result<Vec<(f64, u64)>, ImportError> {
    let mut all = Vec::new();
    for (key, at) in list.entries()? {
        let share: f64 = key
            .parse()
            .ok()
            .filter(|share| (0.0..=100.0).contains(share))
            .ok_or_else(|| at.error("is no percentile"))?;
        // Older versions fill their list up with zeros.
        if share > 0.0 {
            all.push((share, ns(&at, unit_ns)? as u64));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !all.is_sorted_by_key(|(_, ns)| *ns) {
        return Err(list.error("higher percentiles are lower than those before them"));
    }
    Ok(all)
}

/// The histogram of `json+`; `None` if its buckets are unknown.
fn histogram(
    bins: &At<'_>,
    unit_ns: u64,
    counted: Option<u64>,
    (min, max, mean): (u64, u64, f64),
) -> Result<Option<Histogram>, ImportError> {
    // Before 2.17 buckets are reported by their index, with the figures that define them.
    let by_place = bins.get("FIO_IO_U_PLAT_BITS").map(|at| at.count()).transpose()?;
    if by_place.is_some_and(|bits| bits != 6) {
        return Ok(None);
    }
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for (key, at) in bins.entries()?.into_iter().filter(|(key, _)| !key.starts_with("FIO_")) {
        let number: u64 = key.parse().map_err(|_| at.error("is no bucket"))?;
        let value = if by_place.is_some() { middle(number) } else { Some(number) };
        let ns = value.and_then(|value| value.checked_mul(unit_ns)).filter(|ns| *ns < COUNT_MAX);
        let ns = ns.ok_or_else(|| at.error("is no bucket: no latency is so long"))?;
        let count = at.count()?;
        if count > 0 {
            counts.push((ns, count));
        }
    }
    counts.sort_unstable();
    let sum = counts.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count)).filter(|sum| *sum < COUNT_MAX);
    let sum = sum.ok_or_else(|| bins.error("more requests than can be"))?;
    if sum == 0 {
        return Ok(None);
    }
    if counted.is_some_and(|counted| counted != sum) {
        let counted = counted.unwrap_or_default();
        return Err(bins.error(format!("{sum} requests lie in the buckets, and N says {counted}")));
    }
    let contradiction =
        || bins.error(format!("the buckets do not go from the least latency ({min} ns) to the largest ({max} ns)"));
    let counts = bounded(&counts, min, max, unit_ns).ok_or_else(contradiction)?;
    // The mean has six decimals.
    let sum_ns = (mean * sum as f64) as u128;
    let sum_ns = sum_ns.clamp(u128::from(min) * u128::from(sum), u128::from(max) * u128::from(sum));
    let counts = counts.into_iter().map(|(ns, count)| (Duration::from_ns(ns), count));
    let histogram = Histogram::of_counts(counts, sum_ns, Duration::from_ns(min), Duration::from_ns(max));
    histogram.map(Some).map_err(|_| contradiction())
}

/// The counts with no value beyond the least and the largest, and one at each of these; `None` if the ends of the
/// buckets are elsewhere.
fn bounded(counts: &[(u64, u64)], min: u64, max: u64, unit_ns: u64) -> Option<Vec<(u64, u64)>> {
    let ((first, _), (last, _)) = (counts.first()?, counts.last()?);
    let near =
        |value: u64, end: u64| value.abs_diff(end) as f64 <= value.max(end) as f64 * BUCKET_SHARE + unit_ns as f64;
    let is_last = |value: u64| middle(BUCKETS - 1).is_some_and(|middle| value >= middle.saturating_mul(unit_ns));
    if !near(*first, min) || !(near(*last, max) || (is_last(*last) && max > *last)) {
        return None;
    }
    let mut bounded: Vec<(u64, u64)> = counts.iter().map(|(ns, count)| ((*ns).clamp(min, max), *count)).collect();
    // The least and the largest occurred at least once, whatever bucket the middle of fio's falls into.
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    if total == 1 {
        return (min == max).then(|| vec![(min, 1)]);
    }
    bounded.first_mut()?.1 -= 1;
    bounded.last_mut()?.1 = bounded.last()?.1.checked_sub(1)?;
    bounded.extend([(min, 1), (max, 1)]);
    Some(bounded)
}

/// The middle of a bucket by its place (fio's `plat_idx_to_val`).
pub(super) fn middle(place: u64) -> Option<u64> {
    if place >= BUCKETS {
        return None;
    }
    if place < 128 {
        return Some(place);
    }
    let bits = place / 64 - 1;
    let base = 1_u64 << (bits + 6);
    Some(base + (place % 64) * (1 << bits) + (1 << bits) / 2)
}
