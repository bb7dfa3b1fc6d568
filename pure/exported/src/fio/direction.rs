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
    if count > 0 && !rates.is_empty() {
        for (name, values, deviation) in [("iops", rates, "iops_stddev"), ("bw", speeds, "bw_dev")] {
            let (mean, stddev) = spread(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>());
            let (least, most) = values.iter().fold((f64::MAX, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
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
    json!({ "min": figures.min, "max": figures.max, "mean": figures.mean, "N": count, "percentile": percentile })
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
