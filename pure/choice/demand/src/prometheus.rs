//! Counters of `node_exporter` as Prometheus gives them for a range: `promtool query range -o json`, and the answer of its API.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::options::ReadOptions;
use crate::series::{Demand, DemandInterval};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counter {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    /// Seconds of all requests.
    ReadTime,
    WriteTime,
    /// Seconds times requests in flight.
    Weighted,
}

const COUNTERS: [(&str, Counter); 7] = [
    ("node_disk_reads_completed_total", Counter::Reads),
    ("node_disk_writes_completed_total", Counter::Writes),
    ("node_disk_read_bytes_total", Counter::ReadBytes),
    ("node_disk_written_bytes_total", Counter::WriteBytes),
    ("node_disk_read_time_seconds_total", Counter::ReadTime),
    ("node_disk_write_time_seconds_total", Counter::WriteTime),
    ("node_disk_io_time_weighted_seconds_total", Counter::Weighted),
];

/// Counters of one device at one time.
type Point = BTreeMap<Counter, f64>;

/// The series of an answer, in either form.
fn series(json: &Json) -> Option<&Vec<Json>> {
    json.as_array().or_else(|| json.pointer("/data/result").and_then(Json::as_array))
}

/// Whether it is such an answer: series with names and values by time.
pub(crate) fn is_one(json: &Json) -> bool {
    let first = series(json).and_then(|all| all.first());
    first.is_some_and(|first| first.get("metric").is_some() && (first.get("values").or(first.get("value"))).is_some())
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| broken(source_name, error.line(), format!("no complete JSON: {error}")))?;
    let all = series(&json).map_or(&[][..], Vec::as_slice);
    if all.iter().all(|one| one.get("values").is_none() || one.pointer("/metric/__name__").is_none()) {
        let is_moment = all.iter().all(|one| one.get("values").is_none());
        return Err(crate::other_tools::prometheus_error(is_moment, source_name));
    }
    let label =
        |one: &Json, name: &str| one.pointer(&format!("/metric/{name}")).and_then(Json::as_str).map(str::to_owned);
    let instances: BTreeSet<Option<String>> = all.iter().map(|one| label(one, "instance")).collect();
    let mut points: BTreeMap<String, BTreeMap<u64, Point>> = BTreeMap::new();
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for one in all {
        let name = label(one, "__name__").unwrap_or_default();
        let Some((_, counter)) = COUNTERS.iter().find(|(known, _)| *known == name) else {
            found.push(name);
            continue;
        };
        known.insert(*counter);
        let device = label(one, "device").unwrap_or_else(|| "volume".to_owned());
        let device = match label(one, "instance") {
            Some(instance) if instances.len() > 1 => format!("{instance} {device}"),
            _ => device,
        };
        let of = points.entry(device).or_default();
        for value in one.get("values").and_then(Json::as_array).map_or(&[][..], Vec::as_slice) {
            let time = value.get(0).and_then(Json::as_f64).filter(|time| (0.0..1e12).contains(time));
            let number = value.get(1).and_then(Json::as_str).and_then(|text| text.parse::<f64>().ok());
            let (Some(time), Some(number)) = (time, number.filter(|number| number.is_finite() && *number >= 0.0))
            else {
                return Err(broken(source_name, 0, format!("{value} is no time with a counter, in {name}")));
            };
            of.entry((time * 1e3).round() as u64).or_default().insert(*counter, number);
        }
    }
    let has = |counter| known.contains(&counter);
    if !has(Counter::Reads) && !has(Counter::Writes) {
        return Err(DemandError::UnknownMetrics { source_name: source_name.to_owned(), found });
    }
    if !has(Counter::ReadBytes) && !has(Counter::WriteBytes) {
        return Err(DemandError::Missing {
            source_name: source_name.to_owned(),
            missing: "bytes".to_owned(),
            remedy: "ask for node_disk_read_bytes_total and node_disk_written_bytes_total, too".to_owned(),
        });
    }
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    let mut restarts = 0_u64;
    for (device, of) in &points {
        for ((from, before), (to, after)) in of.iter().zip(of.iter().skip(1)) {
            let length_s = (to - from) as f64 / 1e3;
            match interval(before, after, length_s) {
                Some(row) => {
                    let block = blocks.entry(*to).or_insert_with(|| Block { length_s, rows: Vec::new() });
                    block.rows.push((device.clone(), row));
                }
                None => restarts += 1,
            }
        }
    }
    let mut notes = Vec::new();
    if restarts > 0 {
        notes.push(format!("left out, since counters began anew: {restarts} intervals"));
    }
    combined("Prometheus", source_name, blocks.into_values().collect(), options, notes)
}

/// The rates between two points; `None`: a counter fell.
fn interval(before: &Point, after: &Point, length_s: f64) -> Option<DemandInterval> {
    if after.iter().any(|(counter, value)| before.get(counter).is_some_and(|old| old > value)) {
        return None;
    }
    let rose = |counter| Some(after.get(&counter)? - before.get(&counter)?);
    let rate = |counter| rose(counter).unwrap_or(0.0) / length_s;
    let took = match (rose(Counter::ReadTime), rose(Counter::WriteTime)) {
        (None, None) => None,
        (reads, writes) => Some(reads.unwrap_or(0.0) + writes.unwrap_or(0.0)),
    };
    let count = rose(Counter::Reads).unwrap_or(0.0) + rose(Counter::Writes).unwrap_or(0.0);
    Some(DemandInterval {
        length_s,
        reads_per_s: rate(Counter::Reads),
        writes_per_s: rate(Counter::Writes),
        read_bytes_per_s: rate(Counter::ReadBytes),
        write_bytes_per_s: rate(Counter::WriteBytes),
        in_flight: rose(Counter::Weighted).map(|weighted| weighted / length_s),
        latency_ns: took.filter(|_| count > 0.0).map(|took| took / count * 1e9),
        ..DemandInterval::default()
    })
}
