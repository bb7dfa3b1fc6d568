//! `iostat -o JSON` and `sadf -j`: the same figures under the same names, also with the faults that the tools wrote.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::iostat::{self, SPLIT_NOTE};
use crate::options::ReadOptions;
use crate::series::Demand;
use crate::stamp;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Brackets around a report: the whole, its "sysstat", the list of hosts, a host, and its list of reports.
const AROUND_REPORTS: usize = 5;

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let mended = mended(text);
    let json: Json = serde_json::from_str(&mended.text)
        .map_err(|error| broken(source_name, error.line(), format!("this is sysstat's JSON, but {error}")))?;
    let hosts = json.pointer("/sysstat/hosts").and_then(Json::as_array);
    let Some(host) = hosts.and_then(|hosts| hosts.first()) else {
        return Err(broken(source_name, 0, "this is sysstat's JSON, but sysstat.hosts is missing or empty"));
    };
    let statistics = host.get("statistics").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let mut blocks = Vec::new();
    let mut times = Vec::new();
    let mut unknown = BTreeSet::new();
    let (mut is_split, mut is_iostat) = (false, false);
    for one in statistics {
        let Some(disks) = one.get("disk").and_then(Json::as_array) else { continue };
        let mut block = Block::default();
        for disk in disks {
            let Some(fields) = disk.as_object() else { continue };
            is_iostat |= fields.contains_key("disk_device");
            let names: Vec<&str> = fields
                .keys()
                .map(|name| if ["disk_device", "disk-device"].contains(&name.as_str()) { "Device" } else { name })
                .collect();
            let columns = iostat::columns(&names, &mut unknown);
            iostat::check(&columns, source_name)?;
            let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let texts: Vec<String> = fields.values().map(text).collect();
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
    let mut notes = mended.notes;
    notes.extend(iostat::unknown_note(&unknown));
    notes.extend(is_split.then(|| SPLIT_NOTE.to_owned()));
    if blocks.iter().any(|block| block.length_s <= 0.0) {
        let times: Option<Vec<f64>> = times.into_iter().collect();
        let lengths = times.and_then(|times| stamp::lengths(&times, None));
        let lengths = match (lengths, options.interval_s) {
            (_, Some(given)) => vec![given; blocks.len()],
            (Some(lengths), None) => lengths,
            (None, None) if is_iostat && blocks.len() == 1 => vec![stamp::DAY_S],
            (None, None) => {
                return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
            }
        };
        blocks.iter_mut().zip(lengths).for_each(|(block, length)| block.length_s = length);
    }
    if is_iostat && blocks.len() > 1 && !mended.is_without_boot {
        blocks.remove(0);
        notes.push("the first block is left out: without -y it covers the time since boot".to_owned());
    } else if is_iostat && blocks.len() == 1 {
        notes.push(iostat::ONE_BLOCK_NOTE.to_owned());
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

/// A text without the commas that are too many and, where it was cut, with its whole reports alone.
#[derive(Default)]
struct Mended {
    text: String,
    notes: Vec<String>,
    /// The report since boot was left out when it was written: its comma or its blank line stands there.
    is_without_boot: bool,
}

fn mended(text: &str) -> Mended {
    let mut of = Mended { text: String::with_capacity(text.len()), ..Mended::default() };
    let mut open: Vec<char> = Vec::new();
    // Behind the last whole report, and the number of these.
    let (mut whole, mut reports) = (None, 0_usize);
    let (mut in_text, mut is_escaped, mut line) = (false, false, 1);
    let (mut before, mut blank_lines, mut commas) = (' ', 0, 0_u64);
    for c in text.chars() {
        line += usize::from(c == '\n');
        if in_text {
            in_text = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            of.text.push(c);
            continue;
        }
        let at_first_report = open.len() == AROUND_REPORTS && before == '[';
        match c {
            '"' => in_text = true,
            ',' if ['[', '{', ','].contains(&before) => {
                of.is_without_boot |= at_first_report;
                if commas == 0 {
                    of.notes.push(format!(
                        "line {line} has a comma too many, as `iostat -y -o JSON` wrote it: it is passed over"
                    ));
                }
                commas += 1;
                continue;
            }
            '[' | '{' => open.push(c),
            ']' | '}' => {
                if before == ',' {
                    let comma = of.text.rfind(',').unwrap_or_default();
                    of.text.replace_range(comma..=comma, "");
                }
                open.pop();
                if open.len() == AROUND_REPORTS && c == '}' {
                    reports += 1;
                    whole = Some(of.text.len() + 1);
                }
            }
            _ => {}
        }
        blank_lines = if c == '\n' {
            blank_lines + 1
        } else if c.is_whitespace() {
            blank_lines
        } else {
            0
        };
        of.is_without_boot |= at_first_report && blank_lines > 1;
        if !c.is_whitespace() {
            before = c;
        }
        of.text.push(c);
    }
    if commas > 1 {
        of.notes.push(format!("{} more commas like it are passed over", commas - 1));
    }
    if let (false, Some(whole)) = (open.is_empty(), whole) {
        of.text.truncate(whole);
        of.text.push_str("]}]}}");
        of.notes.push(match reports {
            1 => "the file was cut: its one whole report counts".to_owned(),
            several => format!("the file was cut: its {several} whole reports count"),
        });
    }
    of
}
