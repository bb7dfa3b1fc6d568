//! The figures of one direction, under fio's names and in its units.

use loadline_block::Operation;
use loadline_record::{Histogram, HistogramSnapshot, OperationRecord, TrialRecord};
use serde_json::{Map, Value, json};

/// fio's default percentiles.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
const KIB: f64 = 1024.0;

/// A direction of a trial; one without requests has counts of 0, as in fio.
pub(super) fn of(trial: &TrialRecord, operation: Operation, runtime_ms: u64) -> Value {
    let record = trial.operations.get(&operation);
    let (count, bytes) = record.map_or((0, 0), |record| (record.count, record.bytes));
    let per_second = |amount: u64| amount as f64 * 1e9 / trial.measured_ns.max(1) as f64;
    let mut told = Map::new();
    let mut put = |key: &str, value: Value| {
        told.insert(key.to_owned(), value);
    };
    put("io_bytes", json!(bytes));
    put("io_kbytes", json!(bytes / 1024));
    put("bw_bytes", json!(per_second(bytes) as u64));
    put("bw", json!((per_second(bytes) / KIB) as u64));
    put("iops", json!(per_second(count)));
    put("runtime", json!(if count == 0 { 0 } else { runtime_ms }));
    put("total_ios", json!(count));
    if let Some(record) = record.filter(|record| record.count > 0) {
        // If the load has due times, fio's completion latency is the time after the submission.
        let after = record.service.as_ref().unwrap_or(&record.latency);
        put("clat_ns", latency(after, record.told, record.count));
        put("lat_ns", latency(&record.latency, record.told, record.count));
    } else {
        let nothing = json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 });
        put("clat_ns", nothing.clone());
        put("lat_ns", nothing);
    }
    let seconds = f64::from(trial.series.interval_s);
    let whole = trial.series.last_ns >= u64::from(trial.series.interval_s) * 1_000_000_000;
    let kept = trial.series.seconds.len() - usize::from(!whole && !trial.series.seconds.is_empty());
    let in_seconds = || trial.series.seconds[..kept].iter().map(|second| second.of(operation));
    let rates: Vec<f64> = in_seconds().map(|of| of.count as f64 / seconds).collect();
    let speeds: Vec<f64> = in_seconds().map(|of| of.bytes as f64 / seconds / KIB).collect();
    // Without a whole second fio, too, writes zeros, of 0 samples.
    if count > 0 {
        for (name, values, deviation) in [("iops", rates, "iops_stddev"), ("bw", speeds, "bw_dev")] {
            let (mean, stddev) = spread(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>());
            let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
            let most = values.iter().copied().fold(0.0, f64::max);
            put(&format!("{name}_min"), json!(least as u64));
            put(&format!("{name}_max"), json!(most as u64));
            put(&format!("{name}_mean"), json!(mean));
            put(deviation, json!(stddev));
            put(&format!("{name}_samples"), json!(values.len()));
        }
    }
    Value::Object(told)
}

/// The times of flushes.
pub(super) fn flushes(record: &OperationRecord) -> Value {
    json!({ "total_ios": record.count, "lat_ns": latency(&record.latency, record.told, record.count) })
}

/// The same without the least and the largest latency, where only means over a short time are known.
pub(super) fn without_extremes(mut direction: Value) -> Value {
    for key in ["clat_ns", "lat_ns"] {
        if let Some(latency) = direction.get_mut(key).and_then(Value::as_object_mut) {
            latency.retain(|figure, _| figure != "min" && figure != "max");
        }
    }
    direction
}

/// A named step of an application, under the names that directions have.
pub(super) fn step(name: &str, record: &OperationRecord, measured_ns: u64) -> Value {
    let per_second = |amount: u64| amount as f64 * 1e9 / measured_ns.max(1) as f64;
    json!({
        "name": name,
        "total_ios": record.count,
        "iops": per_second(record.count),
        "io_bytes": record.bytes,
        "bw_bytes": per_second(record.bytes) as u64,
        "lat_ns": latency(&record.latency, record.told, record.count),
    })
}

/// A latency with its percentiles and, if there is a histogram, its buckets by their middle, as in fio.
fn latency(histogram: &Histogram, told: Option<HistogramSnapshot>, count: u64) -> Value {
    let Some(figures) = histogram.snapshot() else { return by_figures(told, count) };
    let middle = |(start, width, count): (u64, u64, u64)| (start + width / 2, count);
    let (_, stddev) =
        spread(&histogram.buckets().map(middle).map(|(ns, count)| (ns as f64, count as f64)).collect::<Vec<_>>());
    let percentile: Map<String, Value> = (PERCENTILES.iter())
        .filter_map(|share| Some((key(*share), json!(histogram.quantile(share / 100.0)?.as_ns()))))
        .collect();
    let bins: Map<String, Value> =
        histogram.buckets().map(middle).map(|(ns, count)| (ns.to_string(), json!(count))).collect();
    json!({
        "min": figures.min,
        "max": figures.max,
        "mean": figures.mean,
        "stddev": stddev,
        "N": histogram.count(),
        "percentile": percentile,
        "bins": bins,
    })
}

/// As another tool reported it, without a histogram.
fn by_figures(told: Option<HistogramSnapshot>, count: u64) -> Value {
    let Some(figures) = told else { return json!({ "N": 0, "min": 0, "max": 0, "mean": 0.0 }) };
    let percentile: Map<String, Value> = (PERCENTILES.iter())
        .filter_map(|share| Some((key(*share), json!(figures.percentile(share / 100.0)?))))
        .collect();
    let mut latency =
        json!({ "min": figures.min, "max": figures.max, "mean": figures.mean, "N": count, "percentile": percentile });
    if let Some(stddev) = figures.stddev {
        latency["stddev"] = json!(stddev);
    }
    latency
}

fn key(share: f64) -> String {
    format!("{share:.6}")
}

/// Mean and standard deviation of values with their weights; 0 and 0 of none.
fn spread(values: &[(f64, f64)]) -> (f64, f64) {
    let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
    if weight <= 0.0 {
        return (0.0, 0.0);
    }
    let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight;
    let squares: f64 = values.iter().map(|(value, weight)| (value - mean) * (value - mean) * weight).sum();
    (mean, (squares / (weight - 1.0).max(1.0)).sqrt())
}

/// The upper bounds of fio's bins of completion times, in each of its units. What is equal to a bound belongs to the next bin.
const BIN_BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// The last bins of milliseconds reach as far as fio's.
const LONG_BINS_MS: [(&str, u64); 2] = [("2000", 2_000), (">=2000", u64::MAX)];
/// Each unit of bins: fio's key, and its length in nanoseconds.
const BIN_UNITS: [(&str, u64); 3] = [("latency_ns", 1), ("latency_us", 1_000), ("latency_ms", 1_000_000)];

/// The share of all requests in each of fio's bins of completion times, in percent, by the key of their unit. Bins are empty if another
/// tool reported a latency without a histogram.
pub(super) fn bins(trial: &TrialRecord) -> [(&'static str, Value); 3] {
    let directions = [Operation::Read, Operation::Write, Operation::Trim];
    let records: Vec<&OperationRecord> = directions.iter().filter_map(|of| trial.operations.get(of)).collect();
    let histograms: Vec<&Histogram> = records.iter().map(|of| of.service.as_ref().unwrap_or(&of.latency)).collect();
    let all: u64 = histograms.iter().map(|of| of.count()).sum();
    // Requests are counted when they are answered and timed by when they were due: at the ends of a trial the two differ.
    let has_histogram = |(record, of): (&&OperationRecord, &&Histogram)| record.count == 0 || of.count() > 0;
    let is_known = all > 0 && records.iter().zip(&histograms).all(has_histogram);
    let mut begin_ns = 0;
    BIN_UNITS.map(|(key, unit_ns)| {
        let long: &[_] = if key == "latency_ms" { &LONG_BINS_MS } else { &[] };
        let bounds = BIN_BOUNDS.iter().map(|bound| (bound.to_string(), bound * unit_ns));
        let bounds = bounds.chain(long.iter().map(|(name, ms)| ((*name).to_owned(), ms.saturating_mul(unit_ns))));
        let mut of_unit = Map::new();
        for (name, end_ns) in bounds {
            let inside = |middle_ns: u64| middle_ns >= begin_ns && middle_ns < end_ns;
            let counted = histograms.iter().flat_map(|of| of.buckets());
            let count: u64 =
                counted.filter(|(start, width, _)| inside(start + width / 2)).map(|(.., count)| count).sum();
            if end_ns > begin_ns && is_known {
                of_unit.insert(name, json!(count as f64 * 100.0 / all.max(1) as f64));
            }
            begin_ns = begin_ns.max(end_ns);
        }
        (key, Value::Object(of_unit))
    })
}
