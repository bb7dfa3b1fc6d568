//! What Google Cloud's Monitoring API answers (`timeSeries.list`), as JSON: counts over a period, or rates.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::options::ReadOptions;
use crate::series::{AtLimit, Demand, DemandInterval};
use crate::stamp;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    /// Requests or bytes that a limit held back.
    Throttled,
    InFlight,
    /// us
    Latency,
}

const METRICS: [(&str, Metric); 10] = [
    ("disk/read_ops_count", Metric::Reads),
    ("disk/write_ops_count", Metric::Writes),
    ("disk/read_bytes_count", Metric::ReadBytes),
    ("disk/write_bytes_count", Metric::WriteBytes),
    ("disk/throttled_read_ops_count", Metric::Throttled),
    ("disk/throttled_write_ops_count", Metric::Throttled),
    ("disk/throttled_read_bytes_count", Metric::Throttled),
    ("disk/throttled_write_bytes_count", Metric::Throttled),
    ("disk/average_io_queue_depth", Metric::InFlight),
    ("disk/average_io_latency", Metric::Latency),
];

/// What is asked for in place of figures that are not rates.
const REMEDY: &str = "ask timeSeries.list for compute.googleapis.com/instance/disk/read_ops_count, write_ops_count, read_bytes_count and \
                      write_bytes_count with aggregation.perSeriesAligner=ALIGN_RATE";

/// The answers of a text: one, several, or the series alone.
fn series(json: &Json) -> Vec<&Json> {
    let own = |one| Json::get(one, "timeSeries").and_then(Json::as_array);
    match json.as_array() {
        Some(all) => {
            all.iter().flat_map(|one| own(one).map_or_else(|| vec![one], |own| own.iter().collect())).collect()
        }
        None => own(json).map_or_else(Vec::new, |own| own.iter().collect()),
    }
}

/// Whether it is such an answer.
pub(crate) fn is_one(json: &Json) -> bool {
    series(json).first().is_some_and(|first| first.pointer("/metric/type").is_some() && first.get("points").is_some())
        || json.get("timeSeries").is_some_and(Json::is_array)
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| broken(source_name, error.line(), format!("no complete JSON: {error}")))?;
    let all = series(&json);
    let label = |one: &Json, name: &str| {
        let of = |group: &str| one.pointer(&format!("/{group}/labels/{name}")).and_then(Json::as_str);
        of("metric").or_else(|| of("resource")).map(str::to_owned)
    };
    let instance = |one: &Json| label(one, "instance_name").or_else(|| label(one, "instance_id"));
    let instances: BTreeSet<Option<String>> = all.iter().map(|one| instance(one)).collect();
    let mut by_time: BTreeMap<u64, BTreeMap<String, DemandInterval>> = BTreeMap::new();
    let mut throttled: BTreeSet<(u64, String)> = BTreeSet::new();
    let (mut found, mut known) = (Vec::new(), Vec::new());
    // Counts wait for the length of their period.
    let mut length_s: Option<f64> = options.interval_s;
    let mut counts: Vec<(u64, String, Metric, f64)> = Vec::new();
    for one in all {
        let name = one.pointer("/metric/type").and_then(Json::as_str).unwrap_or_default();
        let Some((_, metric)) = METRICS.iter().find(|(known, _)| name.ends_with(known)) else {
            found.push(name.to_owned());
            continue;
        };
        known.push(*metric);
        let device = label(one, "device_name").or_else(|| label(one, "device")).unwrap_or_else(|| "disk".to_owned());
        let device = match instance(one) {
            Some(instance) if instances.len() > 1 => format!("{instance} {device}"),
            _ => device,
        };
        let is_gauge = matches!(metric, Metric::InFlight | Metric::Latency);
        let kind = one.get("metricKind").and_then(Json::as_str).unwrap_or("DELTA");
        let unit = one.get("unit").or_else(|| json.get("unit")).and_then(Json::as_str);
        let is_rate = kind == "GAUGE" && unit.is_none_or(|unit| unit.ends_with("/s"));
        if !is_gauge && !is_rate && kind != "DELTA" {
            return Err(DemandError::Missing {
                source_name: source_name.to_owned(),
                missing: format!("rates: {name} is {}", if kind == "GAUGE" { "a mean of counts" } else { "a counter" }),
                remedy: REMEDY.to_owned(),
            });
        }
        for point in one.get("points").and_then(Json::as_array).map_or(&[][..], Vec::as_slice) {
            let time = |key: &str| stamp::iso_seconds(point.pointer(&format!("/interval/{key}"))?.as_str()?);
            let Some(end) = time("endTime") else {
                return Err(broken(source_name, 0, format!("a point of {name} has no time: {point}")));
            };
            let value = |key: &str| point.pointer(&format!("/value/{key}"));
            let value = (value("doubleValue").and_then(Json::as_f64))
                .or_else(|| {
                    value("int64Value").and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()))
                })
                .filter(|value| *value >= 0.0);
            let Some(value) = value else { continue };
            let key = end as u64;
            let row = by_time.entry(key).or_default().entry(device.clone()).or_default();
            match metric {
                Metric::InFlight => row.in_flight = Some(value),
                Metric::Latency => row.latency_ns = Some(value * 1e3),
                _ if is_rate => put(row, *metric, value),
                _ => {
                    let own = time("startTime").map(|start| (end - start).round()).filter(|own| *own > 0.0);
                    length_s = length_s.or(own);
                    counts.push((key, device.clone(), *metric, value));
                }
            }
            if *metric == Metric::Throttled && value > 0.0 {
                throttled.insert((key, device.clone()));
            }
        }
    }
    let has = |wanted: Metric| known.contains(&wanted);
    if !has(Metric::Reads) && !has(Metric::Writes) {
        return Err(DemandError::UnknownMetrics { source_name: source_name.to_owned(), found });
    }
    if !has(Metric::ReadBytes) && !has(Metric::WriteBytes) {
        let (source_name, missing) = (source_name.to_owned(), "bytes".to_owned());
        return Err(DemandError::Missing { source_name, missing, remedy: REMEDY.to_owned() });
    }
    let spacing = by_time.keys().zip(by_time.keys().skip(1)).map(|(a, b)| (b - a) as f64).min_by(f64::total_cmp);
    let Some(length_s) = length_s.or(spacing) else {
        return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
    };
    for (key, device, metric, value) in counts {
        if let Some(row) = by_time.get_mut(&key).and_then(|rows| rows.get_mut(&device)) {
            put(row, metric, value / length_s);
        }
    }
    let mut notes = Vec::new();
    if !has(Metric::Throttled) {
        notes.push("no throttled metric is in the file: whether a limit was reached is only inferred".to_owned());
    }
    let blocks = by_time.into_iter().map(|(key, rows)| Block {
        length_s,
        rows: (rows.into_iter())
            .map(|(name, row)| {
                let at_limit = throttled.contains(&(key, name.clone())).then_some(AtLimit::Reported);
                (name, DemandInterval { at_limit, ..row })
            })
            .collect(),
    });
    combined("Cloud Monitoring", source_name, blocks.collect(), options, notes)
}

/// Puts a rate in its place. Those of a device with several series (by type of storage) add up.
fn put(row: &mut DemandInterval, metric: Metric, per_s: f64) {
    match metric {
        Metric::Reads => row.reads_per_s += per_s,
        Metric::Writes => row.writes_per_s += per_s,
        Metric::ReadBytes => row.read_bytes_per_s += per_s,
        Metric::WriteBytes => row.write_bytes_per_s += per_s,
        Metric::Throttled | Metric::InFlight | Metric::Latency => {}
    }
}
