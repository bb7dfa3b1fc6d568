//! `dool --output` and `dstat --output`: a line of groups, a line of names below it, and a row for each interval.

use crate::combined::{Block, combined};
use crate::error::DemandError;
use crate::number::number;
use crate::options::ReadOptions;
use crate::series::{Demand, DemandInterval};
use crate::stamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    InFlight,
    /// ms
    ReadAwait,
    WriteAwait,
    /// Time of day, with the date before it.
    Time,
    /// Seconds since 1970.
    Epoch,
}

/// What a column means, and the device that it is of.
fn figure(group: &str, name: &str) -> Option<(Figure, String)> {
    // Of several devices each name has its group before it: `dsk/sda:read`.
    let name = name.rsplit(':').next().unwrap_or(name);
    let (kind, device) = group.split_once('/').unwrap_or(("", group));
    let found = match (kind, name) {
        ("dsk", "read") => Figure::ReadBytes,
        ("dsk", "writ") => Figure::WriteBytes,
        ("dsk", "#read") | ("io", "read") => Figure::Reads,
        ("dsk", "#writ") | ("io", "writ") => Figure::Writes,
        ("", "avgqu") => Figure::InFlight,
        ("", "rawait") => Figure::ReadAwait,
        ("", "wawait") => Figure::WriteAwait,
        ("", "time") => Figure::Time,
        ("", "epoch") => Figure::Epoch,
        _ => return None,
    };
    // The sum over all disks, by the name that others give it.
    Some((found, if device == "total" { "_total".to_owned() } else { device.to_owned() }))
}

/// The fields of a line whose texts are all quoted: a header.
fn header(line: &str) -> Option<Vec<&str>> {
    if !line.starts_with('"') {
        return None;
    }
    line.trim_end().split(',').map(|field| quoted(field.trim())).collect()
}

/// A quoted text without its quotes; nothing is one, too.
fn quoted(field: &str) -> Option<&str> {
    if field.is_empty() { Some("") } else { field.strip_prefix('"')?.strip_suffix('"') }
}

/// Whether a line says who wrote the file, and where.
fn is_about_the_file(line: &str) -> bool {
    line.starts_with("\"Author:\"") || line.starts_with("\"Host:\"")
}

/// Whether a text is of `dool` or `dstat`, by its first line or by the groups of its columns.
pub(crate) fn is_one(line: &str) -> bool {
    let is_named = ["\"dool ", "\"Dstat "].iter().any(|tool| line.starts_with(tool)) && line.contains("CSV output");
    is_named || header(line).is_some_and(|groups| groups.iter().any(|group| group.starts_with("dsk/")))
}

/// The command that wrote the file.
#[derive(Debug, Clone, Default)]
struct Command {
    is_dool: bool,
    words: Vec<String>,
}

impl Command {
    /// Whether bytes are written as bits: dool does so by default, and its headings do not show it.
    fn has_bits(&self) -> bool {
        let last = self.words.iter().rev().find_map(|word| match word.as_str() {
            "--bits" => Some(true),
            "--bytes" | "--dstat" => Some(false),
            _ => None,
        });
        self.is_dool && last.unwrap_or(true)
    }
    /// The length of an interval, s: the first of the numbers at its end.
    fn delay_s(&self) -> f64 {
        let numbers: Vec<f64> = self.words.iter().rev().take(2).map_while(|word| word.parse().ok()).collect();
        numbers.last().copied().filter(|delay: &f64| *delay > 0.0).unwrap_or(1.0)
    }
}

/// A row before its length is known.
struct Row {
    /// Time of day or since 1970, s.
    at_s: Option<f64>,
    delay_s: f64,
    block: Block,
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let mut command = Command::default();
    let mut groups: Option<Vec<&str>> = None;
    let mut columns: Vec<Option<(Figure, String)>> = Vec::new();
    let (mut rows, mut is_first) = (Vec::<Row>::new(), false);
    let (mut has_bits, mut without_bytes) = (false, true);
    for line in text.lines() {
        if let Some((tool, _)) = line.strip_prefix('"').and_then(|rest| rest.split_once(" CSV output")) {
            command = Command { is_dool: tool.to_ascii_lowercase().starts_with("dool"), words: Vec::new() };
        } else if let Some(rest) = line.strip_prefix("\"Cmdline:\",\"") {
            let words = rest.split('"').next().unwrap_or_default();
            command.words = words.split_whitespace().map(str::to_owned).collect();
        } else if let Some(names) = header(line).filter(|_| !is_about_the_file(line)) {
            let Some(above) = groups.take() else {
                groups = Some(names);
                continue;
            };
            // A group stands over its first column, and the columns behind it have none.
            let mut group = "";
            columns.clear();
            for (place, name) in names.into_iter().enumerate() {
                group = above.get(place).copied().filter(|own| !own.is_empty()).unwrap_or(group);
                columns.push(figure(group, name));
            }
            is_first = true;
            let has = |wanted: Figure| columns.iter().flatten().any(|(figure, _)| *figure == wanted);
            without_bytes &= !(has(Figure::Reads) && has(Figure::ReadBytes));
            has_bits |= command.has_bits();
        } else if !columns.is_empty() && !is_about_the_file(line) {
            let fields: Vec<&str> = line.trim_end().split(',').collect();
            if fields.len() < columns.len() {
                // Of a file that was cut, the last line.
                continue;
            }
            let row = row(&columns, &fields, &command);
            // The first row covers the time since boot.
            if !std::mem::take(&mut is_first) {
                rows.push(row);
            }
        }
    }
    if without_bytes {
        return Err(DemandError::Missing {
            source_name: source_name.to_owned(),
            missing: "requests and bytes of disks".to_owned(),
            remedy: "record with `dool -tdr --bytes --output FILE 60`".to_owned(),
        });
    }
    let times: Option<Vec<f64>> = rows.iter().map(|row| row.at_s).collect();
    let lengths = times.and_then(|times| stamp::lengths(&times, Some(stamp::DAY_S)));
    let mut notes = vec!["the first row is left out: it covers the time since boot".to_owned()];
    if has_bits {
        notes.push("dool was not asked for --bytes: its figures are bits, which its headings do not say".to_owned());
    }
    for (place, row) in rows.iter_mut().enumerate() {
        let own = lengths.as_ref().map_or(row.delay_s, |lengths| lengths[place]);
        row.block.length_s = options.interval_s.unwrap_or(own);
    }
    combined("dool", source_name, rows.into_iter().map(|row| row.block).collect(), options, notes)
}

fn row(columns: &[Option<(Figure, String)>], fields: &[&str], command: &Command) -> Row {
    let unit = if command.has_bits() { 1.0 / 8.0 } else { 1.0 };
    let mut found = Row { at_s: None, delay_s: command.delay_s(), block: Block::default() };
    let mut waits: Vec<(usize, f64)> = Vec::new();
    for (column, text) in columns.iter().zip(fields) {
        let Some((figure, device)) = column else { continue };
        match figure {
            Figure::Time => {
                found.at_s = stamp::time_of_day(text);
                continue;
            }
            Figure::Epoch => {
                found.at_s = text.parse().ok();
                continue;
            }
            _ => {}
        }
        let Some(value) = number(text) else { continue };
        let rows = &mut found.block.rows;
        let place = rows.iter().position(|(name, _)| name == device).unwrap_or_else(|| {
            rows.push((device.clone(), DemandInterval::default()));
            rows.len() - 1
        });
        let row = &mut rows[place].1;
        match figure {
            Figure::Reads => row.reads_per_s = value,
            Figure::Writes => row.writes_per_s = value,
            Figure::ReadBytes => row.read_bytes_per_s = value * unit,
            Figure::WriteBytes => row.write_bytes_per_s = value * unit,
            Figure::InFlight => row.in_flight = Some(value),
            Figure::ReadAwait => waits.push((place, value * row.reads_per_s)),
            Figure::WriteAwait => waits.push((place, value * row.writes_per_s)),
            Figure::Time | Figure::Epoch => {}
        }
    }
    for (place, (_, row)) in found.block.rows.iter_mut().enumerate() {
        let own: Vec<f64> = waits.iter().filter(|(of, _)| *of == place).map(|(_, ms)| *ms).collect();
        let all = row.requests_per_s();
        row.latency_ns = (!own.is_empty() && all > 0.0).then(|| own.iter().sum::<f64>() / all * 1e6);
    }
    found
}
