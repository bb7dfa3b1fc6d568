//! `aws cloudwatch get-metric-data` and `get-metric-statistics`: sums or means per period, in any order.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::options::ReadOptions;
use crate::series::{AtLimit, Demand, DemandInterval};
use crate::stamp;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Credits below this share, in percent, mark an interval as limited.
const CREDITS_SPENT: f64 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    /// Seconds of all requests of a period.
    ReadTime,
    WriteTime,
    /// Means over a period, as databases have them.
    ReadRate,
    WriteRate,
    ReadByteRate,
    WriteByteRate,
    /// Mean seconds of a request.
    ReadLatency,
    WriteLatency,
    InFlight,
    Exceeded,
    Balance,
    /// Known, and not needed.
    Other,
}

const METRICS: &[(&str, Metric)] = &[
    ("VolumeReadOps", Metric::Reads),
    ("VolumeWriteOps", Metric::Writes),
    ("VolumeReadBytes", Metric::ReadBytes),
    ("VolumeWriteBytes", Metric::WriteBytes),
    ("VolumeTotalReadTime", Metric::ReadTime),
    ("VolumeTotalWriteTime", Metric::WriteTime),
    ("VolumeQueueLength", Metric::InFlight),
    ("VolumeIOPSExceededCheck", Metric::Exceeded),
    ("VolumeThroughputExceededCheck", Metric::Exceeded),
    ("InstanceEBSIOPSExceededCheck", Metric::Exceeded),
    ("InstanceEBSThroughputExceededCheck", Metric::Exceeded),
    ("BurstBalance", Metric::Balance),
    ("EBSIOBalance%", Metric::Balance),
    ("EBSByteBalance%", Metric::Balance),
    ("EBSReadOps", Metric::Reads),
    ("EBSWriteOps", Metric::Writes),
    ("EBSReadBytes", Metric::ReadBytes),
    ("EBSWriteBytes", Metric::WriteBytes),
    // RDS and Aurora's instances.
    ("ReadIOPS", Metric::ReadRate),
    ("WriteIOPS", Metric::WriteRate),
    ("ReadThroughput", Metric::ReadByteRate),
    ("WriteThroughput", Metric::WriteByteRate),
    ("ReadLatency", Metric::ReadLatency),
    ("WriteLatency", Metric::WriteLatency),
    ("DiskQueueDepth", Metric::InFlight),
    // FSx.
    ("DataReadOperations", Metric::Reads),
    ("DataWriteOperations", Metric::Writes),
    ("DataReadBytes", Metric::ReadBytes),
    ("DataWriteBytes", Metric::WriteBytes),
    ("MetadataOperations", Metric::Other),
    ("FreeStorageSpace", Metric::Other),
    ("FreeableMemory", Metric::Other),
    ("CPUUtilization", Metric::Other),
    ("VolumeIdleTime", Metric::Other),
    ("VolumeThroughputPercentage", Metric::Other),
    ("VolumeConsumedReadWriteOps", Metric::Other),
    ("VolumeAvgReadLatency", Metric::Other),
    ("VolumeAvgWriteLatency", Metric::Other),
    ("VolumeStalledIOCheck", Metric::Other),
];

/// The metric in a label: the name alone, or behind what the query put before it ("vol-1 VolumeReadOps").
fn metric(label: &str) -> Option<(Metric, String)> {
    let words: Vec<&str> = label.split_whitespace().collect();
    let (at, metric) = words.iter().enumerate().find_map(|(at, word)| {
        let (_, metric) = METRICS.iter().find(|(name, _)| name == word)?;
        Some((at, *metric))
    })?;
    let rest: Vec<&str> = words.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, word)| *word).collect();
    Some((metric, if rest.is_empty() { "volume".to_owned() } else { rest.join(" ") }))
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| broken(source_name, error.line(), format!("no complete JSON: {error}")))?;
    let answers: Vec<&Json> = json.as_array().map_or_else(|| vec![&json], |all| all.iter().collect());
    let mut points: BTreeMap<(u64, String), BTreeMap<u8, f64>> = BTreeMap::new();
    let mut limited: BTreeSet<u64> = BTreeSet::new();
    let mut found = Vec::new();
    let mut known = Vec::new();
    let mut keep = |label: &str, time: &str, value: f64, source_name: &str| -> Result<(), DemandError> {
        let Some(seconds) = stamp::iso_seconds(time) else {
            return Err(broken(source_name, 0, format!("{time:?} is no time")));
        };
        let Some((metric, device)) = metric(label) else { return Ok(()) };
        known.push(metric);
        let key = seconds as u64;
        match metric {
            Metric::Exceeded if value > 0.0 => {
                limited.insert(key);
            }
            Metric::Balance if value < CREDITS_SPENT => {
                limited.insert(key);
            }
            Metric::Exceeded | Metric::Balance | Metric::Other => {}
            _ => {
                points.entry((key, device)).or_default().insert(metric as u8, value);
            }
        }
        Ok(())
    };
    for answer in answers {
        for result in answer.get("MetricDataResults").and_then(Json::as_array).map_or(&[][..], Vec::as_slice) {
            let name = |key: &str| result.get(key).and_then(Json::as_str).unwrap_or_default();
            let label = if metric(name("Label")).is_some() { name("Label") } else { name("Id") };
            found.push(name("Label").to_owned());
            let list = |key: &str| result.get(key).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            for (time, value) in list("Timestamps").iter().zip(list("Values")) {
                if let Some((time, value)) = time.as_str().zip(value.as_f64()) {
                    keep(label, time, value, source_name)?;
                }
            }
        }
        if let Some(data) = answer.get("Datapoints").and_then(Json::as_array) {
            let label = answer.get("Label").and_then(Json::as_str).unwrap_or_default();
            found.push(label.to_owned());
            for point in data {
                let value = ["Sum", "Average", "Maximum"].iter().find_map(|key| point.get(*key).and_then(Json::as_f64));
                if let Some((time, value)) = point.get("Timestamp").and_then(Json::as_str).zip(value) {
                    keep(label, time, value, source_name)?;
                }
            }
        }
    }
    let has = |wanted: Metric| known.contains(&wanted);
    let either = |one, other| has(one) || has(other);
    if !either(Metric::Reads, Metric::Writes) && !either(Metric::ReadRate, Metric::WriteRate) {
        if known.iter().any(|metric| *metric != Metric::Other) {
            return Err(crate::other_tools::without_requests("CloudWatch", source_name));
        }
        return Err(crate::other_tools::metrics_error(found, source_name));
    }
    let are_means = either(Metric::ReadRate, Metric::WriteRate);
    if !either(Metric::ReadBytes, Metric::WriteBytes) && !either(Metric::ReadByteRate, Metric::WriteByteRate) {
        let remedy = if are_means {
            "ask for ReadThroughput and WriteThroughput with statistic Average, too"
        } else {
            "ask for VolumeReadBytes and VolumeWriteBytes with statistic Sum, too"
        };
        return Err(DemandError::Missing {
            source_name: source_name.to_owned(),
            missing: "bytes".to_owned(),
            remedy: remedy.to_owned(),
        });
    }
    // The period is not in the file: it is the spacing of the points.
    let mut times: Vec<u64> = points.keys().map(|(time, _)| *time).collect();
    times.sort_unstable();
    times.dedup();
    let spacing = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).min_by(f64::total_cmp);
    let Some(length_s) = options.interval_s.or(spacing) else {
        return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
    };
    let of_points = if are_means { "means" } else { "sums" };
    let mut notes = vec![format!(
        "a period of {length_s:.0} s, from the spacing of the points; operations and bytes are {of_points} over it"
    )];
    let reported = has(Metric::Exceeded) || has(Metric::Balance);
    if !reported {
        notes.push(
            "no Exceeded check or balance of credits is in the file: whether a limit was reached is only inferred"
                .to_owned(),
        );
    }
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    for ((time, device), values) in points {
        let of = |metric: Metric| values.get(&(metric as u8)).copied();
        let rate = |sum: Metric, mean: Metric| of(mean).unwrap_or_else(|| of(sum).unwrap_or(0.0) / length_s);
        let (reads_per_s, writes_per_s) =
            (rate(Metric::Reads, Metric::ReadRate), rate(Metric::Writes, Metric::WriteRate));
        let count = (reads_per_s + writes_per_s) * length_s;
        let took = |sum: Metric, mean: Metric, per_s: f64| of(sum).or_else(|| Some(of(mean)? * per_s * length_s));
        let spent = match (
            took(Metric::ReadTime, Metric::ReadLatency, reads_per_s),
            took(Metric::WriteTime, Metric::WriteLatency, writes_per_s),
        ) {
            (None, None) => None,
            (reads, writes) => Some(reads.unwrap_or(0.0) + writes.unwrap_or(0.0)),
        };
        let row = DemandInterval {
            length_s,
            reads_per_s,
            writes_per_s,
            read_bytes_per_s: rate(Metric::ReadBytes, Metric::ReadByteRate),
            write_bytes_per_s: rate(Metric::WriteBytes, Metric::WriteByteRate),
            in_flight: of(Metric::InFlight).or_else(|| spent.map(|spent| spent / length_s)),
            latency_ns: spent.filter(|_| count > 0.0).map(|spent| spent / count * 1e9),
            at_limit: limited.contains(&time).then_some(AtLimit::Reported),
            ..DemandInterval::default()
        };
        blocks.entry(time).or_insert_with(|| Block { length_s, rows: Vec::new() }).rows.push((device, row));
    }
    combined("CloudWatch", source_name, blocks.into_values().collect(), options, notes)
}
