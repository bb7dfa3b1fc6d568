//! Traces of other tools: read into ours, and ours written for them (`docs/record.md`).

mod binary;
mod lines;
mod write;

pub use write::{Written, write};

use crate::Join;
use crate::Stacking;
use crate::event::{BlockEvent, Happening};
use loadline_block::{ErrorKind, Operation};
use loadline_emulation::{RecordedRequest, RecordingNotes, SlicePart, Trace, TraceRecord};
use loadline_units::{Instant, SECTOR};
use std::collections::BTreeMap;

/// Devices of a trace at most.
const DEVICES_MAX: usize = 4_096;
/// Requests of a trace at most.
const REQUESTS_MAX: usize = 100_000_000;
/// The latest time of a request after the first: ten years.
const TIME_MAX_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// The furthest end of a request.
const END_MAX: u64 = 1 << 62;

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// fio's `write_iolog`, versions 2 and 3.
    FioIolog,
    /// blktrace's files, of one CPU or of several behind one another.
    Blktrace,
    /// What blkparse prints.
    Blkparse,
    /// What biosnoop prints.
    Biosnoop,
    /// MSR Cambridge.
    Msr,
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent's block traces.
    Tencent,
    /// SYSTOR '17, of virtual desktops.
    Systor,
    /// FIU, of a university's servers.
    Fiu,
    /// The Storage Performance Council's form, as UMass' traces have it.
    Spc,
    /// VMware's vscsi traces, versions 1 and 2.
    Vscsi,
    /// Comma-separated values under names.
    Csv,
}

impl TraceFormat {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FioIolog => "an fio iolog",
            Self::Blktrace => "blktrace's binary records",
            Self::Blkparse => "blkparse's text",
            Self::Biosnoop => "biosnoop's text",
            Self::Msr => "MSR Cambridge's CSV",
            Self::Alibaba => "Alibaba's CSV",
            Self::Tencent => "Tencent's CSV",
            Self::Systor => "SYSTOR '17's CSV",
            Self::Fiu => "FIU's text",
            Self::Spc => "SPC's CSV",
            Self::Vscsi => "vscsi records",
            Self::Csv => "CSV with named columns",
        }
    }
}

/// Why a trace of another tool cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportTraceError {
    /// No format that is known.
    #[error(
        "this is no trace that loadline knows: its own, an fio iolog, blktrace, blkparse, biosnoop, MSR, Alibaba, Tencent, SYSTOR '17, FIU, \
         SPC, vscsi, or CSV with named columns; results of fio and of other tools go to `loadline import`"
    )]
    Unknown,
    /// What bpftrace's tools print has no requests.
    #[error(
        "this is what bpftrace's {tool} prints, which has {lacks}: record with `loadline record DEVICE -o app.trace`, or with bcc's biosnoop"
    )]
    Bpftrace {
        /// The script.
        tool: &'static str,
        /// What is missing.
        lacks: &'static str,
    },
    /// A column that is needed is not there.
    #[error("the CSV has no column for the {missing}; its columns are {columns}")]
    Column {
        /// What is missing.
        missing: &'static str,
        /// The header.
        columns: String,
    },
    /// Nothing in it is a request.
    #[error("it holds no request{}", .first.as_ref().map_or(String::new(), |first| format!("; {first} is none")))]
    Empty {
        /// The first line or record that is none, with its place.
        first: Option<String>,
    },
    /// More than is read.
    #[error("it holds more than {REQUESTS_MAX} requests, the most that is read")]
    Long,
}

/// A request of another tool's trace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    at_ns: u64,
    done_ns: Option<u64>,
    operation: Operation,
    durable: bool,
    error: Option<ErrorKind>,
    offset: u64,
    length: u64,
    device: String,
    client: u32,
}

/// Rows, and how many lines or records were none.
#[derive(Debug, Default)]
struct Rows {
    all: Vec<Row>,
    left_out: u64,
    /// The first of these: its place, and what stands there.
    first: Option<String>,
}

impl Rows {
    /// Leaves a line out. Lines count from 1.
    fn leave_out(&mut self, line: usize, text: &str) {
        self.left_out += 1;
        self.first.get_or_insert_with(|| {
            let shown: String = text.trim().chars().take(TEXT_SHOWN).collect();
            format!("line {line} ({shown:?})")
        });
    }
}

/// Characters of a line that are shown.
const TEXT_SHOWN: usize = 60;

/// Which format this is; `None`: none that is known, or one of ours.
#[must_use]
pub fn format_of(bytes: &[u8]) -> Option<TraceFormat> {
    binary::format_of(bytes).or_else(|| lines::format_of(bytes))
}

/// Reads a trace of another tool.
///
/// # Errors
/// [`ImportTraceError`].
pub fn read(bytes: &[u8]) -> Result<(TraceFormat, Trace), ImportTraceError> {
    let format = format_of(bytes).ok_or_else(|| lines::unknown(bytes))?;
    let rows = match format {
        TraceFormat::Blktrace => joined(binary::blktrace(bytes)),
        TraceFormat::Vscsi => binary::vscsi(bytes),
        TraceFormat::Blkparse => joined(lines::blkparse(bytes)),
        other => lines::rows(bytes, other)?,
    };
    trace_of(rows, format).map(|trace| (format, trace))
}

/// Events, and how many lines or records of requests were none.
#[derive(Debug, Default)]
struct Events {
    all: Vec<BlockEvent>,
    left_out: u64,
    /// The first of these, with its place.
    first: Option<String>,
}

/// Events of several devices as requests.
fn joined(Events { all: mut events, left_out, first }: Events) -> Rows {
    events.sort_by_key(|event| (event.at_ns, event.what as u8));
    // A trace of one kind of events (`blktrace -a issue`) has when requests came, and not how long they took.
    if !events.iter().any(|event| event.what == Happening::Completed) {
        let kind = if events.iter().any(|event| event.what == Happening::Issued) {
            Happening::Issued
        } else {
            Happening::Queued
        };
        let all = events.iter().filter(|event| event.what == kind).map(row_of_event).collect();
        return Rows { all, left_out, first };
    }
    let begun = events.first().map_or(0, |event| event.at_ns);
    let mut joins: BTreeMap<u32, Join> = BTreeMap::new();
    let mut rows = Rows { all: Vec::new(), left_out, first };
    for event in &events {
        let join =
            joins.entry(event.device).or_insert_with(|| Join::new(Stacking::Requests, begun, (0, u64::MAX >> 10)));
        if let Some(request) = join.push(event) {
            rows.all.push(row_of(&request, event.device));
        }
    }
    rows.left_out += joins.values().map(|join| join.counts().without_issue).sum::<u64>();
    rows
}

fn row_of_event(event: &BlockEvent) -> Row {
    Row {
        at_ns: event.at_ns,
        done_ns: None,
        operation: event.operation,
        durable: event.durable,
        error: None,
        offset: event.sector * SECTOR.get(),
        length: event.sectors * SECTOR.get(),
        device: device_name(event.device),
        client: event.pid,
    }
}

fn device_name(device: u32) -> String {
    format!("{},{}", device >> 20, device & 0xf_ffff)
}

fn row_of(request: &RecordedRequest, device: u32) -> Row {
    Row {
        at_ns: request.arrived_at.as_ns(),
        done_ns: Some(request.completed_at.as_ns()),
        operation: request.operation,
        durable: request.durable,
        error: request.error,
        offset: request.offset,
        length: request.length,
        device: device_name(device),
        client: request.client,
    }
}

/// Rows as a trace whose times begin with the first request.
fn trace_of(Rows { all: mut rows, left_out, first }: Rows, format: TraceFormat) -> Result<Trace, ImportTraceError> {
    if rows.len() > REQUESTS_MAX {
        return Err(ImportTraceError::Long);
    }
    rows.sort_by_key(|row| row.at_ns);
    let Some(begun) = rows.first().map(|row| row.at_ns) else { return Err(ImportTraceError::Empty { first }) };
    let mut exports: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, u16> = BTreeMap::new();
    let (mut records, mut odd) = (Vec::with_capacity(rows.len()), left_out);
    for row in rows {
        let export = match places.get(&row.device) {
            Some(place) => *place,
            None if exports.len() < DEVICES_MAX => {
                let place = exports.len() as u16;
                exports.push(row.device.clone());
                places.insert(row.device.clone(), place);
                place
            }
            None => {
                odd += 1;
                continue;
            }
        };
        let at = row.at_ns - begun;
        let fits = row.offset.checked_add(row.length).is_some_and(|end| end <= END_MAX) && at <= TIME_MAX_NS;
        let moves = row.operation == Operation::Flush || row.length > 0;
        if !fits || !moves {
            odd += 1;
            continue;
        }
        let completed = row.done_ns.map(|done| done.saturating_sub(begun).max(at)).filter(|done| *done <= TIME_MAX_NS);
        records.push(TraceRecord {
            sequence: records.len() as u64,
            submitted_at: Instant::from_ns(at),
            completed_at: completed.map(Instant::from_ns),
            error: row.error,
            export,
            operation: row.operation,
            durable: row.durable,
            offset: row.offset,
            length: row.length,
            client: row.client,
            part: SlicePart::Whole,
        });
    }
    if records.is_empty() {
        return Err(ImportTraceError::Empty { first });
    }
    let notes = RecordingNotes {
        requests: records.len() as u64,
        left_out: odd,
        first_left_out: first,
        ..RecordingNotes::default()
    };
    Ok(Trace {
        about: format!("{{\"imported\": \"{}\"}}", format.name()),
        exports,
        records,
        changes: Vec::new(),
        late: Vec::new(),
        cut_short: false,
        recording: Some(notes),
    })
}

#[cfg(test)]
mod tests;
