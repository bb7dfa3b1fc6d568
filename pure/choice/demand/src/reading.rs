//! Which form a file has, and the way to its reader.

use crate::error::DemandError;
use crate::options::ReadOptions;
use crate::series::Demand;
use crate::{
    azure_monitor, cloud_watch, dool, google_metrics, iostat, limited, other_tools, perfmon, prometheus, sadf,
    sysstat_json,
};
use serde_json::Value as Json;

/// The forms that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `iostat -x` and `iostat -d`, as text.
    Iostat,
    /// `sar -d`, as text.
    Sar,
    /// `sadf -d -- -d`: a semicolon between fields.
    Sadf,
    /// `iostat -o JSON` and `sadf -j`.
    SysstatJson,
    /// A performance log of Windows, as CSV.
    Perfmon,
    /// `az monitor metrics list -o json`.
    AzureMonitor,
    /// `aws cloudwatch get-metric-data` or `get-metric-statistics`.
    CloudWatch,
    /// `promtool query range -o json`, or the answer of Prometheus' API.
    Prometheus,
    /// Google Cloud's `timeSeries.list`.
    CloudMonitoring,
    /// `dool --output` and `dstat --output`.
    Dool,
}

/// Characters within which a file names its kind.
const KEYS_WITHIN: usize = 4096;

/// Devices that an error names.
const DEVICES_SHOWN: usize = 8;

/// Keys that only one form has.
const KEYS: [(&str, Form); 6] = [
    ("\"sysstat\"", Form::SysstatJson),
    ("\"MetricDataResults\"", Form::CloudWatch),
    ("\"Datapoints\"", Form::CloudWatch),
    ("\"timeseries\"", Form::AzureMonitor),
    ("\"timeSeries\"", Form::CloudMonitoring),
    ("\"__name__\"", Form::Prometheus),
];

/// The form of a text; `None` if it is none of them.
#[must_use]
pub fn form_of(text: &str) -> Option<Form> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with(['{', '[']) {
        // By the keys at its beginning, which stand there also where the syntax has a fault: the reader says which. Only where they come
        // later is the whole read twice.
        let head: String = text.chars().take(KEYS_WITHIN).collect();
        let by_key = KEYS.iter().find(|(key, _)| head.contains(key)).map(|(_, form)| *form);
        return by_key.or_else(|| form_of_json(&serde_json::from_str(text).ok()?));
    }
    if text.starts_with("\"(PDH-") || text.starts_with("(PDH-") {
        return Some(Form::Perfmon);
    }
    // What sysstat kept of all things has its disks far below.
    let is_of_all = text.starts_with("Linux ") || text.starts_with("# hostname;interval;timestamp");
    for line in text.lines().take(if is_of_all { usize::MAX } else { 200 }) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with('#') && line.contains(';') && line.contains("DEV") {
            return Some(Form::Sadf);
        }
        if words.contains(&"DEV") && words.contains(&"tps") {
            return Some(Form::Sar);
        }
        if iostat::is_header(&words) {
            return Some(Form::Iostat);
        }
        if dool::is_one(line) {
            return Some(Form::Dool);
        }
    }
    None
}

fn form_of_json(json: &Json) -> Option<Form> {
    if prometheus::is_one(json) {
        return Some(Form::Prometheus);
    }
    if google_metrics::is_one(json) {
        return Some(Form::CloudMonitoring);
    }
    let first = json.as_array().and_then(|all| all.first()).unwrap_or(json);
    if json.get("sysstat").is_some() {
        return Some(Form::SysstatJson);
    }
    if first.get("MetricDataResults").is_some() || first.get("Datapoints").is_some() {
        return Some(Form::CloudWatch);
    }
    let value = first.get("value").and_then(Json::as_array).and_then(|all| all.first()).unwrap_or(first);
    value.get("timeseries").is_some().then_some(Form::AzureMonitor)
}

/// Reads the demand in a file and marks the intervals in which the source could not do more.
///
/// # Errors
/// [`DemandError`].
pub fn read(bytes: &[u8], source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let text = decoded(bytes, source_name)?;
    let text = loadline_units::without_prefixes(text.trim_start_matches('\u{feff}'));
    let text = text.as_ref();
    let form = form_of(text).ok_or_else(|| other_tools::error(text, source_name))?;
    let mut demand = match form {
        Form::Iostat => iostat::read(text, source_name, options)?,
        Form::Sar => sadf::read_sar(text, source_name, options)?,
        Form::Sadf => sadf::read(text, source_name, options)?,
        Form::SysstatJson => sysstat_json::read(text, source_name, options)?,
        Form::Perfmon => perfmon::read(text, source_name, options)?,
        Form::AzureMonitor => azure_monitor::read(text, source_name, options)?,
        Form::CloudWatch => cloud_watch::read(text, source_name, options)?,
        Form::Prometheus => prometheus::read(text, source_name, options)?,
        Form::CloudMonitoring => google_metrics::read(text, source_name, options)?,
        Form::Dool => dool::read(text, source_name, options)?,
    };
    demand.leave_out_impossible(source_name)?;
    if demand.intervals.iter().all(|one| one.requests_per_s() <= 0.0 && one.bytes_per_s() <= 0.0) {
        let mut devices = demand.devices;
        if devices.len() > DEVICES_SHOWN {
            devices.truncate(DEVICES_SHOWN);
            devices.push("more".to_owned());
        }
        return Err(DemandError::Idle { source_name: source_name.to_owned(), devices: devices.join(", ") });
    }
    limited::mark_limited(&mut demand);
    Ok(demand)
}

/// UTF-8, UTF-16 with a mark (as Windows writes it), or Latin-1 where it is neither.
fn decoded(bytes: &[u8], source_name: &str) -> Result<String, DemandError> {
    // A binary log of Windows begins with zeros or with its own header; text has no zero bytes but in UTF-16.
    let wide = |unit: fn([u8; 2]) -> u16| -> String {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => return Ok(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => return Ok(wide(u16::from_be_bytes)),
        _ => {}
    }
    if bytes.iter().take(512).any(|byte| *byte == 0) {
        return Err(if source_name.to_ascii_lowercase().ends_with(".blg") {
            DemandError::BinaryLog { source_name: source_name.to_owned() }
        } else {
            DemandError::Unknown { source_name: source_name.to_owned() }
        });
    }
    // Windows writes counters in its own code page, whose letters are those of Latin-1.
    Ok(String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| bytes.iter().map(|byte| char::from(*byte)).collect()))
}
