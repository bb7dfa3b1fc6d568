//! `az monitor metrics list -o json`: metrics by their names, not by what a language makes of them.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::options::ReadOptions;
use crate::series::{AtLimit, Demand, DemandInterval};
use crate::stamp;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Consumed shares from here on mark an interval as limited.
const CONSUMED_AT_LIMIT: f64 = 95.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    InFlight,
    /// ms
    Latency,
    /// Percent of a limit that was used.
    Consumed,
    /// Known, and not needed.
    Other,
}

/// The metric of a name in lower case. The same figures have a prefix by what they are of.
fn metric(name: &str) -> Option<Metric> {
    let name = name.to_lowercase();
    if name.ends_with("consumed percentage") || name.ends_with("_consumed_percentage") {
        return Some(Metric::Consumed);
    }
    let plain =
        ["composite ", "data ", "os ", "temp "].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    // Those with underscores are of flexible servers of Azure Database for PostgreSQL and MySQL.
    Some(match plain {
        "disk read operations/sec" | "read_iops" => Metric::Reads,
        "disk write operations/sec" | "write_iops" => Metric::Writes,
        "disk read bytes/sec" | "read_throughput" => Metric::ReadBytes,
        "disk write bytes/sec" | "write_throughput" => Metric::WriteBytes,
        "disk queue depth" | "disk_queue_depth" => Metric::InFlight,
        "disk latency" => Metric::Latency,
        _ if plain.contains("burst") || plain.contains("target") || plain.contains("max") || plain.contains("cpu") => {
            Metric::Other
        }
        _ => return None,
    })
}

/// Metrics with several series (one for each disk) come by their dimension, of the machine as a whole without one.
fn device(series: &Json, name: &str) -> String {
    let dimension = series.get("metadatavalues").and_then(Json::as_array).and_then(|all| {
        let of = |one: &Json| {
            let key = one.pointer("/name/value").and_then(Json::as_str)?.to_owned();
            Some((key, one.get("value").and_then(Json::as_str)?.to_owned()))
        };
        all.iter().find_map(of)
    });
    let lower = name.to_lowercase();
    match dimension {
        Some((key, value)) => format!("{} {value}", key.to_lowercase()),
        None if lower.starts_with("os ") => "os".to_owned(),
        None if lower.starts_with("temp ") => "temp".to_owned(),
        None => "disk".to_owned(),
    }
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| broken(source_name, error.line(), format!("no complete JSON: {error}")))?;
    let all: Vec<&Json> = json.as_array().map_or_else(|| vec![&json], |all| all.iter().collect());
    let mut found: Vec<String> = Vec::new();
    let mut by_time: BTreeMap<u64, BTreeMap<String, DemandInterval>> = BTreeMap::new();
    let mut consumed: BTreeMap<u64, f64> = BTreeMap::new();
    let (mut rates, mut has_bytes) = (false, false);
    let mut interval_s = None;
    for one in all
        .iter()
        .flat_map(|one| one.get("value").and_then(Json::as_array).map_or_else(|| vec![*one], |v| v.iter().collect()))
    {
        let Some(name) = one.pointer("/name/value").and_then(Json::as_str) else { continue };
        found.push(name.to_owned());
        let Some(metric) = metric(name) else { continue };
        for series in one.get("timeseries").and_then(Json::as_array).map_or(&[][..], Vec::as_slice) {
            let device = device(series, name);
            for point in series.get("data").and_then(Json::as_array).map_or(&[][..], Vec::as_slice) {
                let Some(time) = point.get("timeStamp").or_else(|| point.get("timestamp")).and_then(Json::as_str)
                else {
                    continue;
                };
                let Some(seconds) = stamp::iso_seconds(time) else {
                    return Err(broken(source_name, 0, format!("{time:?} is no time")));
                };
                // A point may lack its value: nothing was measured then.
                let value = |key: &str| point.get(key).and_then(Json::as_f64).filter(|value| *value >= 0.0);
                let key = seconds as u64;
                if metric == Metric::Consumed {
                    if let Some(share) = value("maximum").or_else(|| value("average")) {
                        let most = consumed.entry(key).or_insert(0.0);
                        *most = most.max(share);
                    }
                    continue;
                }
                let Some(value) = value("average").or_else(|| value("maximum")) else { continue };
                let row = by_time.entry(key).or_default().entry(device.clone()).or_default();
                match metric {
                    Metric::Reads => row.reads_per_s = value,
                    Metric::Writes => row.writes_per_s = value,
                    Metric::ReadBytes => row.read_bytes_per_s = value,
                    Metric::WriteBytes => row.write_bytes_per_s = value,
                    Metric::InFlight => row.in_flight = Some(value),
                    Metric::Latency => row.latency_ns = Some(value * 1e6),
                    Metric::Consumed | Metric::Other => continue,
                }
                rates |= matches!(metric, Metric::Reads | Metric::Writes);
                has_bytes |= matches!(metric, Metric::ReadBytes | Metric::WriteBytes);
            }
        }
    }
    for one in &all {
        interval_s = interval_s.or_else(|| one.get("interval").and_then(Json::as_str).and_then(iso_span));
    }
    if !rates {
        return Err(if found.is_empty() {
            DemandError::Empty { source_name: source_name.to_owned() }
        } else if found.iter().any(|name| metric(name).is_some_and(|metric| metric != Metric::Other)) {
            crate::other_tools::without_requests("Azure Monitor", source_name)
        } else {
            crate::other_tools::metrics_error(found, source_name)
        });
    }
    if !has_bytes {
        return Err(missing_bytes(source_name));
    }
    let spacing = by_time.keys().zip(by_time.keys().skip(1)).map(|(a, b)| (b - a) as f64).min_by(f64::total_cmp);
    let Some(length_s) = options.interval_s.or(interval_s).or(spacing) else {
        return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
    };
    let mut notes = Vec::new();
    if consumed.is_empty() {
        notes.push(
            "no \"Consumed Percentage\" metric is in the file: whether the disk or the machine was at its limit is only inferred"
                .to_owned(),
        );
    }
    let blocks = by_time.into_iter().map(|(time, rows)| {
        let limited = consumed.get(&time).is_some_and(|share| *share >= CONSUMED_AT_LIMIT);
        let at_limit = limited.then_some(AtLimit::Reported);
        Block {
            length_s,
            rows: rows.into_iter().map(|(name, row)| (name, DemandInterval { at_limit, ..row })).collect(),
        }
    });
    combined("Azure Monitor", source_name, blocks.collect(), options, notes)
}

fn missing_bytes(source_name: &str) -> DemandError {
    DemandError::Missing {
        source_name: source_name.to_owned(),
        missing: "bytes per second".to_owned(),
        remedy: "export the read and write bytes of the disk, too".to_owned(),
    }
}

/// Seconds of "PT1M", "PT5M", "PT1H", "PT30S", "P1D".
fn iso_span(text: &str) -> Option<f64> {
    let rest = text.strip_prefix('P')?;
    let rest = rest.strip_prefix('T').unwrap_or(rest);
    let unit = match rest.chars().last()? {
        'S' => 1.0,
        'M' => 60.0,
        'H' => 3_600.0,
        'D' => stamp::DAY_S,
        _ => return None,
    };
    rest[..rest.len() - 1].parse::<f64>().ok().map(|count| count * unit)
}
