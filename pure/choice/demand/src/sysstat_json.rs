//! `iostat -o JSON` and `sadf -j`: the same figures under the same names.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::iostat::{self, Meaning, SPLIT_NOTE};
use crate::options::ReadOptions;
use crate::series::Demand;
use crate::stamp;
use serde_json::Value as Json;

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| broken(source_name, error.line(), format!("no complete JSON: {error}")))?;
    let hosts = json.pointer("/sysstat/hosts").and_then(Json::as_array);
    let Some(host) = hosts.and_then(|hosts| hosts.first()) else {
        return Err(broken(source_name, 0, "sysstat.hosts is missing or empty"));
    };
    let statistics = host.get("statistics").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let mut blocks = Vec::new();
    let mut times = Vec::new();
    let (mut is_split, mut is_iostat) = (false, false);
    for one in statistics {
        let Some(disks) = one.get("disk").and_then(Json::as_array) else { continue };
        let mut block = Block::default();
        for disk in disks {
            let Some(fields) = disk.as_object() else { continue };
            let mut columns = Vec::new();
            let mut texts = Vec::new();
            for (name, value) in fields {
                let meaning = match name.as_str() {
                    "disk_device" => {
                        is_iostat = true;
                        Meaning::Device
                    }
                    "disk-device" => Meaning::Device,
                    other => iostat::meaning(other).ok_or_else(|| DemandError::UnknownColumn {
                        source_name: source_name.to_owned(),
                        line: 0,
                        column: other.to_owned(),
                        header: fields.keys().cloned().collect::<Vec<_>>().join(" "),
                    })?,
                };
                columns.push(meaning);
                texts.push(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let Some((device, row, split)) = iostat::interval(&columns, &texts) else {
                return Err(broken(source_name, 0, format!("no figures of a disk: {disk}")));
            };
            is_split |= split;
            block.rows.push((device, row));
        }
        let interval = one.pointer("/timestamp/interval").and_then(Json::as_f64);
        block.length_s = interval.unwrap_or(0.0);
        times.push(time_of(one));
        blocks.push(block);
    }
    let mut notes = if is_split { vec![SPLIT_NOTE.to_owned()] } else { Vec::new() };
    if blocks.iter().any(|block| block.length_s <= 0.0) {
        let times: Option<Vec<f64>> = times.into_iter().collect();
        let lengths = times.and_then(|times| stamp::lengths(&times, None));
        let lengths = match (lengths, options.interval_s) {
            (_, Some(given)) => vec![given; blocks.len()],
            (Some(lengths), None) => lengths,
            (None, None) => {
                return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
            }
        };
        blocks.iter_mut().zip(lengths).for_each(|(block, length)| block.length_s = length);
    }
    if is_iostat && blocks.len() > 1 {
        blocks.remove(0);
        notes.push("the first block is left out: without -y it covers the time since boot".to_owned());
    }
    combined(if is_iostat { "iostat" } else { "sadf" }, source_name, blocks, options, notes)
}

/// The instant of a block: iostat's text, or sadf's date and time.
fn time_of(one: &Json) -> Option<f64> {
    match one.get("timestamp")? {
        Json::String(text) => stamp::iso_seconds(text).or_else(|| stamp::time_of_day(text)),
        Json::Object(parts) => {
            let part = |name: &str| parts.get(name).and_then(Json::as_str);
            stamp::iso_seconds(&format!("{}T{}Z", part("date")?, part("time")?))
        }
        _ => None,
    }
}
