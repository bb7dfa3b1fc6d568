//! Traces as text: iologs, what blkparse and biosnoop print, and comma-separated values.

use super::{Events, ImportTraceError, Row, Rows, TraceFormat};
use crate::event::{BlockEvent, Happening};
use loadline_block::Operation;
use loadline_units::SECTOR;

/// Lines that may stand before the first that tells the format.
const HEAD_LINES: usize = 8;

fn text_lines(bytes: &[u8]) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
    bytes.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)))
}

pub(super) fn format_of(bytes: &[u8]) -> Option<TraceFormat> {
    text_lines(bytes).take(HEAD_LINES).find_map(|line| {
        let line = line.trim();
        if line.starts_with("fio version ") && line.ends_with(" iolog") {
            return Some(TraceFormat::FioIolog);
        }
        if line.starts_with("TIME(s)") && line.contains("SECTOR") {
            return Some(TraceFormat::Biosnoop);
        }
        if blkparse_line(line).is_some() {
            return Some(TraceFormat::Blkparse);
        }
        if fiu(line).is_some() {
            return Some(TraceFormat::Fiu);
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |field: &str| field.parse::<f64>().is_ok();
        match fields.as_slice() {
            ["Timestamp", "Response", "IOType", "LUN", "Offset", "Size"] => Some(TraceFormat::Systor),
            // A part of a file has no heading.
            [at, _, "R" | "W", lun, offset, size]
                if at.contains('.') && [at, lun, offset, size].into_iter().all(|field| number(field)) =>
            {
                Some(TraceFormat::Systor)
            }
            [unit, place, size, "R" | "W" | "r" | "w", at, ..]
                if at.contains('.') && [unit, place, size, at].into_iter().all(|field| number(field)) =>
            {
                Some(TraceFormat::Spc)
            }
            [at, _, _, kind, offset, size, _]
                if number(at) && operation(kind).is_some() && number(offset) && number(size) =>
            {
                Some(TraceFormat::Msr)
            }
            [_, "R" | "W", offset, length, at] if number(offset) && number(length) && number(at) => {
                Some(TraceFormat::Alibaba)
            }
            [at, offset, size, "0" | "1", volume]
                if [at, offset, size, volume].into_iter().all(|field| number(field)) =>
            {
                Some(TraceFormat::Tencent)
            }
            [_, _, ..] if Columns::of(&fields).is_ok() => Some(TraceFormat::Csv),
            _ => None,
        }
    })
}

/// Why a text of no format is none.
pub(super) fn unknown(bytes: &[u8]) -> ImportTraceError {
    let is_of = |mark: &str| text_lines(bytes).take(HEAD_LINES).any(|line| line.starts_with(mark));
    if is_of("TIME(ms)") {
        return ImportTraceError::Bpftrace { tool: "biosnoop", lacks: "no places, sizes or directions" };
    }
    if is_of("I/O size (bytes) histograms") || is_of("Tracing block device I/O") {
        return ImportTraceError::Bpftrace { tool: "bitesize or biolatency", lacks: "histograms and no requests" };
    }
    ImportTraceError::Unknown
}

/// Words of tools for operations.
fn operation(word: &str) -> Option<Operation> {
    match word.to_ascii_lowercase().as_str() {
        "r" | "read" | "rs" | "ra" | "0x28" | "0" => Some(Operation::Read),
        "w" | "write" | "ws" | "0x2a" | "1" => Some(Operation::Write),
        "d" | "trim" | "discard" => Some(Operation::Trim),
        "f" | "flush" | "sync" | "datasync" | "fsync" => Some(Operation::Flush),
        _ => None,
    }
}

pub(super) fn rows(bytes: &[u8], format: TraceFormat) -> Result<Rows, ImportTraceError> {
    let of_lines = |each: &mut dyn FnMut(&str) -> Line| {
        let mut rows = Rows::default();
        for (number, line) in (1..).zip(text_lines(bytes)).filter(|(_, line)| !line.trim().is_empty()) {
            match each(line.trim()) {
                Line::Request(row) => rows.all.push(row),
                Line::Known => {}
                Line::Odd => rows.leave_out(number, &line),
            }
        }
        rows
    };
    let fields = |line: &str, each: fn(&[&str]) -> Option<Row>| {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        each(&fields).map_or(Line::Odd, Line::Request)
    };
    Ok(match format {
        TraceFormat::FioIolog => {
            let mut iolog = Iolog::default();
            of_lines(&mut |line| iolog.line(line))
        }
        TraceFormat::Biosnoop => {
            let mut biosnoop = Biosnoop::default();
            of_lines(&mut |line| biosnoop.line(line))
        }
        TraceFormat::Msr => of_lines(&mut |line| fields(line, msr)),
        TraceFormat::Alibaba => of_lines(&mut |line| fields(line, alibaba)),
        TraceFormat::Tencent => of_lines(&mut |line| fields(line, tencent)),
        TraceFormat::Spc => of_lines(&mut |line| fields(line, spc)),
        TraceFormat::Fiu => of_lines(&mut |line| fiu(line).map_or(Line::Odd, Line::Request)),
        TraceFormat::Systor => of_lines(&mut |line| {
            if line.starts_with("Timestamp,") { Line::Known } else { fields(line, systor) }
        }),
        _ => return csv(bytes),
    })
}

/// What a line is.
enum Line {
    Request(Row),
    /// Something that is no request by its format.
    Known,
    /// Something else.
    Odd,
}

/// An iolog of fio.
#[derive(Default)]
struct Iolog {
    version: u32,
    /// Of version 2, which has pauses and no times.
    now_us: u64,
}

impl Iolog {
    fn line(&mut self, line: &str) -> Line {
        if let Some(version) = line.strip_prefix("fio version ") {
            self.version = version.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
            return Line::Known;
        }
        let mut words = line.split_ascii_whitespace();
        let came_us =
            if self.version >= 3 { words.next().and_then(|word| word.parse::<u64>().ok()) } else { Some(self.now_us) };
        let (Some(came_us), Some(file), Some(action)) = (came_us, words.next(), words.next()) else { return Line::Odd };
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (first, second) = (number(), number());
        match action {
            "add" | "open" | "close" => return Line::Known,
            // By the manual, microseconds from the one before. fio 3.33 waits until so many milliseconds after its start.
            "wait" => {
                self.now_us = self.now_us.max(first.unwrap_or(0).saturating_mul(1_000));
                return Line::Known;
            }
            _ => {}
        }
        let Some(operation) = operation(action) else { return Line::Odd };
        let (offset, length) = match (operation, first, second) {
            (Operation::Flush, ..) => (0, 0),
            (_, Some(offset), Some(length)) => (offset, length),
            _ => return Line::Odd,
        };
        let at_ns = came_us.saturating_mul(1_000);
        let device = file.to_owned();
        Line::Request(Row {
            at_ns,
            done_ns: None,
            operation,
            durable: false,
            error: None,
            offset,
            length,
            device,
            client: 0,
        })
    }
}

/// biosnoop counts from the first answer: what was under way then was asked before its zero. Only distances between times count.
const BEFORE_NS: u64 = 3_600_000_000_000;

/// What biosnoop prints: the columns stand in its header.
#[derive(Default)]
struct Biosnoop {
    columns: Vec<String>,
}

impl Biosnoop {
    fn line(&mut self, line: &str) -> Line {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if line.starts_with("TIME(s)") {
            self.columns = words.iter().map(ToString::to_string).collect();
            return Line::Known;
        }
        // A name may hold blanks: columns before it are counted from the left, those after it from the right.
        let name = self.columns.iter().position(|column| column == "COMM").unwrap_or(usize::MAX);
        let field = |column: &str| {
            let place = self.columns.iter().position(|known| known == column)?;
            let from_right = self.columns.len() - place;
            if place < name { words.get(place) } else { words.get(words.len().checked_sub(from_right)?) }
        };
        let row = || {
            let ns = |column: &str, unit: f64| Some((field(column)?.parse::<f64>().ok()? * unit) as u64);
            let done_ns = ns("TIME(s)", 1e9)?.checked_add(BEFORE_NS)?;
            let waited = ns("QUE(ms)", 1e6).unwrap_or(0).checked_add(ns("LAT(ms)", 1e6)?)?;
            let length = field("BYTES")?.parse().ok()?;
            let operation = operation(field("T")?)?;
            Some(Row {
                at_ns: done_ns.saturating_sub(waited),
                done_ns: Some(done_ns),
                operation: if length == 0 { Operation::Flush } else { operation },
                durable: false,
                error: None,
                offset: if length == 0 {
                    0
                } else {
                    field("SECTOR")?.parse::<u64>().ok()?.checked_mul(SECTOR.get())?
                },
                length,
                device: (*field("DISK")?).to_owned(),
                client: field("PID")?.parse().ok()?,
            })
        };
        row().map_or(Line::Odd, Line::Request)
    }
}

/// `Timestamp (100 ns), host, disk, Read or Write, offset, size, response (100 ns)`.
fn msr(fields: &[&str]) -> Option<Row> {
    let [at, host, disk, kind, offset, length, took] = fields else { return None };
    let at_ns = at.parse::<u64>().ok()?;
    // Hundreds of nanoseconds since 1601 do not fit as nanoseconds: only differences matter.
    let at_ns = (at_ns % (1 << 56)).checked_mul(100)?;
    Some(Row {
        at_ns,
        done_ns: at_ns.checked_add(took.parse::<u64>().ok()?.checked_mul(100)?),
        operation: operation(kind)?,
        durable: false,
        error: None,
        offset: offset.parse().ok()?,
        length: length.parse().ok()?,
        device: format!("{host}-{disk}"),
        client: 0,
    })
}

/// `device, R or W, offset, length, us`.
fn alibaba(fields: &[&str]) -> Option<Row> {
    let [device, kind, offset, length, at] = fields else { return None };
    Some(Row {
        at_ns: at.parse::<u64>().ok()?.checked_mul(1_000)?,
        done_ns: None,
        operation: operation(kind)?,
        durable: false,
        error: None,
        offset: offset.parse().ok()?,
        length: length.parse().ok()?,
        device: (*device).to_owned(),
        client: 0,
    })
}

/// `s, offset in sectors, size in sectors, 0 read or 1 write, volume`.
fn tencent(fields: &[&str]) -> Option<Row> {
    let [at, offset, length, kind, volume] = fields else { return None };
    Some(Row {
        at_ns: seconds(at)?,
        done_ns: None,
        operation: operation(kind)?,
        durable: false,
        error: None,
        offset: offset.parse::<u64>().ok()?.checked_mul(SECTOR.get())?,
        length: length.parse::<u64>().ok()?.checked_mul(SECTOR.get())?,
        device: (*volume).to_owned(),
        client: 0,
    })
}

/// `s since 1970, s, R or W or nothing, LUN, offset, size`.
fn systor(fields: &[&str]) -> Option<Row> {
    let [at, took, kind, lun, offset, length] = fields else { return None };
    let at_ns = seconds(at)?;
    Some(Row {
        at_ns,
        done_ns: seconds(took).and_then(|took| at_ns.checked_add(took)),
        operation: operation(kind)?,
        durable: false,
        error: None,
        offset: offset.parse().ok()?,
        length: length.parse().ok()?,
        device: format!("LUN{lun}"),
        client: 0,
    })
}

/// `unit, block of 512 bytes, size in bytes, R or W, s`, and fields that do not count.
fn spc(fields: &[&str]) -> Option<Row> {
    let [unit, place, length, kind, at, ..] = fields else { return None };
    Some(Row {
        at_ns: seconds(at)?,
        done_ns: None,
        operation: operation(kind)?,
        durable: false,
        error: None,
        offset: place.parse::<u64>().ok()?.checked_mul(SECTOR.get())?,
        length: length.parse().ok()?,
        device: format!("ASU{unit}"),
        client: 0,
    })
}

/// `ns, process, its name, place and size in sectors, R or W, major, minor, a hash of the contents`. A name may have blanks.
fn fiu(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [at, process, _, .., place, length, kind @ ("R" | "W"), major, minor, _] = words.as_slice() else {
        return None;
    };
    let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    Some(Row {
        at_ns: at.parse().ok()?,
        done_ns: None,
        operation: operation(kind)?,
        durable: false,
        error: None,
        offset: place.parse::<u64>().ok()?.checked_mul(SECTOR.get())?,
        length: length.parse::<u64>().ok()?.checked_mul(SECTOR.get())?,
        device: format!("{major},{minor}"),
        client: process.parse().ok()?,
    })
}

/// Seconds with up to nine decimals, without the rounding of floats.
fn seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let nanoseconds: u64 = if part.is_empty() { 0 } else { format!("{part:0<9}").get(..9)?.parse().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// A completion ends with the error in brackets, `[0]` without one.
fn is_error(word: &str) -> bool {
    let number = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    number.and_then(|number| number.parse::<i64>().ok()).is_some_and(|error| error != 0)
}

/// A line of blkparse as an event: `8,0 3 11 0.009507758 697 Q W 223490 + 56 [kjournald]`.
fn blkparse_line(line: &str) -> Option<BlockEvent> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (device, at, pid, action, kinds) = (words.first()?, words.get(3)?, words.get(4)?, words.get(5)?, words.get(6)?);
    let (major, minor) = device.split_once(',')?;
    let device = major.parse::<u32>().ok()?.checked_mul(1 << 20)?.checked_add(minor.parse().ok()?)?;
    let what = match *action {
        "Q" => Happening::Queued,
        "D" => Happening::Issued,
        "C" => Happening::Completed,
        "R" => Happening::Requeued,
        _ => return None,
    };
    let sector = words.get(7).and_then(|word| word.parse::<u64>().ok());
    let sectors = words.get(9).filter(|_| words.get(8) == Some(&"+")).and_then(|word| word.parse::<u64>().ok());
    let letter = |letter: char| match letter {
        'R' => Some(Operation::Read),
        'W' => Some(Operation::Write),
        'D' => Some(Operation::Trim),
        'F' => Some(Operation::Flush),
        _ => None,
    };
    let operation = kinds
        .chars()
        .filter_map(letter)
        .find(|of| *of != Operation::Flush)
        .or_else(|| kinds.contains('F').then_some(Operation::Flush))?;
    let sectors = sectors.unwrap_or(0);
    if sectors == 0 && !kinds.contains('F') {
        return None;
    }
    Some(BlockEvent {
        at_ns: seconds(at)?,
        what,
        device,
        sector: if sectors == 0 { 0 } else { sector? & (u64::MAX >> 12) },
        sectors: sectors & (u64::MAX >> 12),
        operation: if sectors == 0 { Operation::Flush } else { operation },
        durable: kinds.chars().skip(1).any(|letter| letter == 'F') && sectors > 0,
        failed: what == Happening::Completed && words.last().is_some_and(|error| is_error(error)),
        pid: pid.parse().ok()?,
    })
}

/// Whether a line of blkparse is an event of a request: one that came, was issued, was answered, or went back. Others say how it went
/// through the queue (merges, plugs, remaps) or what a program asked of the device besides.
fn is_of_request(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_device = words.next().is_some_and(|word| word.split_once(',').is_some_and(|(major, _)| is_number(major)));
    let (action, kinds) = (words.nth(4), words.next());
    is_device && matches!(action, Some("Q" | "D" | "C" | "R")) && kinds.is_some_and(|kinds| !kinds.starts_with('N'))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// What blkparse prints, as events. Lines of other kinds are no requests, and not counted; events that cannot be read are.
pub(super) fn blkparse(bytes: &[u8]) -> Events {
    let mut found = Events::default();
    for (number, line) in text_lines(bytes).enumerate() {
        let line = line.trim();
        match blkparse_line(line) {
            Some(event) => found.all.push(event),
            None if is_of_request(line) => {
                found.left_out += 1;
                found.first.get_or_insert_with(|| format!("line {} ({line:?})", number + 1));
            }
            None => {}
        }
    }
    found
}

/// Where a CSV has what, by the names in its header.
struct Columns {
    at: (usize, u64),
    took: Option<(usize, u64)>,
    operation: usize,
    offset: (usize, u64),
    length: (usize, u64),
    device: Option<usize>,
    client: Option<usize>,
}

impl Columns {
    fn of(header: &[&str]) -> Result<Self, ImportTraceError> {
        let names: Vec<String> = header.iter().map(|name| name.trim_matches('"').to_ascii_lowercase()).collect();
        let place = |name: &str| names.iter().position(|known| known == name);
        // A time carries its unit in its name.
        let units = [("_ns", 1), ("_us", 1_000), ("_ms", 1_000_000), ("_s", 1_000_000_000)];
        let time = |stems: &[&str]| {
            stems
                .iter()
                .find_map(|stem| units.iter().find_map(|(unit, ns)| Some((place(&format!("{stem}{unit}"))?, *ns))))
        };
        let sized = |bytes: &[&str], sectors: &[&str]| {
            let of = |names: &[&str], unit| names.iter().find_map(|name| Some((place(name)?, unit)));
            of(bytes, 1).or_else(|| of(sectors, SECTOR.get()))
        };
        let missing = |missing| ImportTraceError::Column { missing, columns: names.join(", ") };
        Ok(Self {
            at: time(&["time", "timestamp", "arrival", "arrived", "at"])
                .ok_or_else(|| missing("time (time_ns, time_us, time_ms or time_s)"))?,
            took: time(&["latency", "response", "duration", "took"]),
            operation: ["operation", "op", "type", "rw", "kind"]
                .iter()
                .find_map(|name| place(name))
                .ok_or_else(|| missing("operation"))?,
            offset: sized(&["offset", "offset_bytes"], &["sector", "lba", "offset_sectors"])
                .ok_or_else(|| missing("offset (offset or sector)"))?,
            length: sized(&["length", "size", "bytes", "length_bytes"], &["sectors", "length_sectors"])
                .ok_or_else(|| missing("length (length or sectors)"))?,
            device: ["device", "disk", "volume"].iter().find_map(|name| place(name)),
            client: ["client", "pid", "thread"].iter().find_map(|name| place(name)),
        })
    }

    fn row(&self, fields: &[&str]) -> Option<Row> {
        let text = |place: usize| Some(fields.get(place)?.trim_matches('"'));
        let time = |(place, unit): (usize, u64)| {
            let text = text(place)?;
            match text.parse::<u64>() {
                Ok(whole) => whole.checked_mul(unit),
                Err(_) => {
                    text.parse::<f64>().ok().filter(|value| *value >= 0.0).map(|value| (value * unit as f64) as u64)
                }
            }
        };
        let amount = |(place, unit): (usize, u64)| text(place)?.parse::<u64>().ok()?.checked_mul(unit);
        let at_ns = time(self.at)?;
        let operation = operation(text(self.operation)?)?;
        let is_flush = operation == Operation::Flush;
        Some(Row {
            at_ns,
            done_ns: self.took.and_then(time).and_then(|took| at_ns.checked_add(took)),
            operation,
            durable: false,
            error: None,
            offset: if is_flush { 0 } else { amount(self.offset)? },
            length: if is_flush { 0 } else { amount(self.length)? },
            device: self.device.and_then(text).unwrap_or("data").to_owned(),
            client: self.client.and_then(text).and_then(|text| text.parse().ok()).unwrap_or(0),
        })
    }
}

fn csv(bytes: &[u8]) -> Result<Rows, ImportTraceError> {
    let mut lines = (1..).zip(text_lines(bytes)).filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().ok_or(ImportTraceError::Empty { first: None })?;
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    let columns = Columns::of(&header)?;
    let mut rows = Rows::default();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        match columns.row(&fields) {
            Some(row) => rows.all.push(row),
            None => rows.leave_out(number, &line),
        }
    }
    Ok(rows)
}
