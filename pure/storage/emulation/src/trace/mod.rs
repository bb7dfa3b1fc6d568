//! The trace format: every request that reached the model, with its times, as bytes. `docs/formats/trace.md` describes it.

mod blocks;

pub use blocks::{
    BLOCK_REQUESTS, RecordedRequest, Recording, RecordingNotes, encode_block, encode_recording_end,
    encode_recording_head,
};

use crate::machine::Change;
use loadline_block::{ErrorKind, Operation};
use loadline_units::{Instant, NS_PER_S};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};

/// The first bytes of a trace.
const MAGIC: &[u8; 8] = b"LLTRACE4";
/// The first bytes of version 3, which did not distinguish slices of long requests from requests.
const MAGIC_WITHOUT_PARTS: &[u8; 8] = b"LLTRACE3";
/// The first bytes of versions 2 and 1: without the client of a request, and before that without changes.
const MAGICS_BEFORE: [&[u8; 8]; 2] = [b"LLTRACE2", b"LLTRACE1"];
/// In place of an operation: the text after the record is a change to the emulation.
const CHANGE: u8 = 255;
/// In place of an operation: the last record. Its number is the count of records before it, of which none is missing.
const END: u8 = 254;
/// The longest such text, in bytes.
const CHANGE_MAX: u32 = 16 << 20;
/// The errors in records, by their numbers.
const ERRORS: [ErrorKind; 8] = [
    ErrorKind::Io,
    ErrorKind::NoSpace,
    ErrorKind::Gone,
    ErrorKind::TimedOut,
    ErrorKind::Refused,
    ErrorKind::Denied,
    ErrorKind::Short,
    ErrorKind::Other,
];
/// Bytes of a record.
pub const RECORD: usize = 44;
/// And in versions 2 and 1.
const RECORD_BEFORE: usize = 40;
/// The bytes of a record with the length of its range, or of the text that follows.
const LENGTH: std::ops::Range<usize> = 32..36;
/// The byte with the operation.
const KIND: usize = 38;
/// The byte with durability, error, and which slice of a request it is.
const FLAGS: usize = 39;
const DURABLE: u8 = 1;
const ERROR_SHIFT: u8 = 1;
const ERROR_MASK: u8 = 0x1f;
const PART_SHIFT: u8 = 6;
/// Stands for "not completed".
const NEVER: u64 = u64::MAX;
/// The longest text in a trace's head, in bytes.
const HEAD_MAX: u32 = 16 << 20;
/// The most bytes of a trace that are read: some 190 million requests, which take twice as much memory.
const TRACE_BYTES_MAX: u64 = 8 << 30;

/// Which slice of a request a record is. A long request goes to the model in slices, each when the one before it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlicePart {
    /// The whole request.
    #[default]
    Whole,
    /// The first slice: another one follows.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last slice that went to the model.
    Last,
}

impl SlicePart {
    const ALL: [Self; 4] = [Self::Whole, Self::First, Self::Middle, Self::Last];

    /// The slice with, or without, one before it and one after it.
    #[must_use]
    pub const fn of(is_preceded: bool, is_followed: bool) -> Self {
        match (is_preceded, is_followed) {
            (false, false) => Self::Whole,
            (false, true) => Self::First,
            (true, true) => Self::Middle,
            (true, false) => Self::Last,
        }
    }
}

/// The latest time of a record: ten years after the beginning.
const TIME_MAX: Instant = Instant::from_ns(10 * 366 * 86_400 * NS_PER_S);
/// The furthest end of a request: clients count bytes in signed numbers.
const END_MAX: u64 = 1 << 63;

/// One request to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceRecord {
    /// Its number, from 0, in the order in which requests went to the model.
    pub sequence: u64,
    /// When it went to the model.
    pub submitted_at: Instant,
    /// When the model answered it; `None`: not by the end.
    pub completed_at: Option<Instant>,
    /// Why it failed; `None`: it did not.
    pub error: Option<ErrorKind>,
    /// By its place in [`Trace::exports`].
    pub export: u16,
    /// Its operation.
    pub operation: Operation,
    /// It must be durable when it is answered.
    pub durable: bool,
    /// Where the range begins.
    pub offset: u64,
    /// In bytes. A slice has at most as many as 32 bits hold.
    pub length: u64,
    /// A number for the connection, or open file, it came from. 0 in traces without clients.
    pub client: u32,
    /// Which slice of a request it is.
    pub part: SlicePart,
}

impl TraceRecord {
    /// The record as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.submitted_at.as_ns().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.completed_at.map_or(NEVER, Instant::as_ns).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..36].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes[36..38].copy_from_slice(&self.export.to_le_bytes());
        bytes[KIND] = self.operation.index() as u8;
        let error = self.error.and_then(|error| ERRORS.iter().position(|known| *known == error));
        bytes[FLAGS] = u8::from(self.durable)
            | (error.map_or(0, |place| place as u8 + 1) << ERROR_SHIFT)
            | ((self.part as u8) << PART_SHIFT);
        bytes[40..].copy_from_slice(&self.client.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; RECORD]) -> Option<Self> {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let completed = number(16);
        Some(Self {
            sequence: number(0),
            submitted_at: Instant::from_ns(number(8)),
            completed_at: (completed != NEVER).then(|| Instant::from_ns(completed)),
            offset: number(24),
            length: u32::from_le_bytes(bytes[LENGTH].try_into().expect("four bytes")).into(),
            export: u16::from_le_bytes(bytes[36..38].try_into().expect("two bytes")),
            operation: *Operation::ALL.get(usize::from(bytes[KIND]))?,
            durable: bytes[FLAGS] & DURABLE > 0,
            error: match bytes[FLAGS] >> ERROR_SHIFT & ERROR_MASK {
                0 => None,
                place => Some(*ERRORS.get(usize::from(place) - 1)?),
            },
            client: u32::from_le_bytes(bytes[40..].try_into().expect("four bytes")),
            part: SlicePart::ALL[usize::from(bytes[FLAGS] >> PART_SHIFT)],
        })
    }

    /// Whether any emulation can have met such a request.
    fn is_possible(&self) -> bool {
        let ends = self.offset.checked_add(self.length).is_some_and(|end| end <= END_MAX);
        let completed = self.completed_at.is_none_or(|at| (self.submitted_at..=TIME_MAX).contains(&at));
        ends && completed && self.submitted_at <= TIME_MAX
    }
}

/// A change to the emulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedChange {
    /// Its number in the order of requests.
    pub sequence: u64,
    /// When.
    pub at: Instant,
    /// The change.
    pub change: Change,
}

/// An export whose answers left late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateExport {
    /// Its name.
    pub export: String,
    /// How late, at the 99th percentile, ns.
    pub late_p99_ns: u64,
    /// The modelled latency at its 99th percentile, ns.
    pub modelled_p99_ns: u64,
}

/// The end of a trace, as JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
struct End {
    #[serde(default)]
    late: Vec<LateExport>,
}

/// The head of a trace: where it comes from, and the names of its exports.
#[must_use]
pub fn encode_head<'a>(about: &str, exports: impl ExactSizeIterator<Item = &'a str>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    push_text(&mut out, about);
    out.extend((exports.len() as u32).to_le_bytes());
    exports.for_each(|export| push_text(&mut out, export));
    out
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

impl RecordedChange {
    /// The change as bytes: a record, and a text after it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let text = serde_json::to_string(&self.change).expect("changes are plain data");
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at.as_ns().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.at.as_ns().to_le_bytes());
        with_text(bytes, CHANGE, &text)
    }
}

/// The end of a trace with so many requests and changes before it.
#[must_use]
pub fn encode_end(count: u64, late: Vec<LateExport>) -> Vec<u8> {
    let text = if late.is_empty() {
        String::new()
    } else {
        serde_json::to_string(&End { late }).expect("an end is plain data")
    };
    let mut bytes = [0; RECORD];
    bytes[..8].copy_from_slice(&count.to_le_bytes());
    with_text(bytes, END, &text)
}

fn with_text(mut record: [u8; RECORD], kind: u8, text: &str) -> Vec<u8> {
    record[LENGTH].copy_from_slice(&(text.len() as u32).to_le_bytes());
    record[KIND] = kind;
    [&record[..], text.as_bytes()].concat()
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system's answer.
    #[error("cannot read the trace: {0}")]
    System(#[from] io::Error),
    /// Something else.
    #[error("this is no trace of loadline, or one of a later version")]
    Foreign,
    /// More than is read.
    #[error("the trace has more than {0} bytes, the most that is read: record for a shorter time")]
    Long(u64),
    /// A record that no version writes.
    #[error("record {0} of the trace makes no sense")]
    TraceRecord(u64),
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Where it comes from: free text.
    pub about: String,
    /// Names of exports, as records count them.
    pub exports: Vec<String>,
    /// In the order in which requests went to the model.
    pub records: Vec<TraceRecord>,
    /// Changes to the emulation meanwhile, in the order of time.
    pub changes: Vec<RecordedChange>,
    /// Exports whose answers left so late that this machine slowed their clients down as much as the disk did.
    pub late: Vec<LateExport>,
    /// The recording was interrupted: its last requests and changes are missing. Versions 1 and 2 wrote no end; of those this is
    /// known only if a record is incomplete.
    pub cut_short: bool,
    /// What is known of a recording of a real device as a whole; of one that was cut short the count alone.
    pub recording: Option<RecordingNotes>,
}

impl Trace {
    /// Reads a trace; an incomplete last record, as a kill leaves it, is left out.
    ///
    /// # Errors
    /// What cannot be read, is something else, contradicts itself, or is longer than what is read.
    pub fn read(from: impl Read) -> Result<Self, TraceError> {
        Self::read_within(from, TRACE_BYTES_MAX)
    }

    fn read_within(from: impl Read, most: u64) -> Result<Self, TraceError> {
        let mut from = from.take(most.saturating_add(1));
        let read = Self::read_all(&mut from);
        if from.limit() == 0 { Err(TraceError::Long(most)) } else { read }
    }

    fn read_all(mut from: impl Read) -> Result<Self, TraceError> {
        let mut magic = [0; 8];
        from.read_exact(&mut magic).map_err(short)?;
        let before = MAGICS_BEFORE.contains(&&magic);
        let is_recording = magic == *blocks::MAGIC;
        if magic != *MAGIC && magic != *MAGIC_WITHOUT_PARTS && !before && !is_recording {
            return Err(TraceError::Foreign);
        }
        let about = read_text(&mut from)?;
        let count = read_u32(&mut from)?;
        if count > u32::from(u16::MAX) {
            return Err(TraceError::Foreign);
        }
        let exports: Result<Vec<String>, TraceError> = (0..count).map(|_| read_text(&mut from)).collect();
        let exports = exports?;
        if is_recording {
            return Ok(Self::of_recording(about, exports, &blocks::read_blocks(from, count as usize)?));
        }
        let (mut records, mut changes) = (Vec::new(), Vec::new());
        let mut bytes = [0; RECORD];
        let (mut late, mut cut_short) = (Vec::new(), !before);
        loop {
            let record = &mut bytes[..if before { RECORD_BEFORE } else { RECORD }];
            match read_up_to(&mut from, record)? {
                0 => break,
                count if count < record.len() => {
                    cut_short = true;
                    break;
                }
                _ => {}
            }
            if bytes[KIND] == CHANGE {
                let Some(done) = read_change(&bytes, &mut from)? else {
                    cut_short = true;
                    break;
                };
                changes.push(done);
                continue;
            }
            if bytes[KIND] == END && !before {
                let count = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
                let Some(text) = read_text_after(&bytes, &mut from)? else {
                    cut_short = true;
                    break;
                };
                if count != (records.len() + changes.len()) as u64 || read_up_to(&mut from, &mut [0])? > 0 {
                    return Err(TraceError::Foreign);
                }
                if !text.is_empty() {
                    late = end_of(&text)?.late;
                }
                cut_short = false;
                break;
            }
            let known = |record: &TraceRecord| usize::from(record.export) < exports.len() && record.is_possible();
            let record = TraceRecord::decode(&bytes).filter(known);
            records.push(record.ok_or(TraceError::TraceRecord(records.len() as u64))?);
        }
        records.sort_unstable_by_key(|record| record.sequence);
        let in_time = records.is_sorted_by_key(|record| record.submitted_at);
        if !in_time || records.windows(2).any(|pair| pair[0].sequence == pair[1].sequence) {
            return Err(TraceError::Foreign);
        }
        changes.sort_by_key(|done: &RecordedChange| done.sequence);
        Ok(Self { about, exports, records, changes, late, cut_short, recording: None })
    }

    /// A recording of real devices as a trace.
    #[must_use]
    pub fn of_recording(about: String, exports: Vec<String>, recording: &Recording) -> Self {
        let requests = recording.requests.len() as u64;
        let known = || RecordingNotes { requests, ..RecordingNotes::default() };
        Self {
            about,
            exports,
            records: recording.records(),
            changes: Vec::new(),
            late: Vec::new(),
            cut_short: recording.notes.is_none(),
            recording: Some(recording.notes.clone().unwrap_or_else(known)),
        }
    }
}

/// Fills `bytes` as far as the file goes.
fn read_up_to(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match from.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The change that a record announces; `None` where it is cut short.
fn read_change(bytes: &[u8; RECORD], from: &mut impl Read) -> Result<Option<RecordedChange>, TraceError> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let Some(text) = read_text_after(bytes, from)? else { return Ok(None) };
    let change = change_of(&text).ok_or(TraceError::TraceRecord(number(0)))?;
    Ok(Some(RecordedChange { sequence: number(0), at: Instant::from_ns(number(8)), change }))
}

fn change_of(text: &[u8]) -> Option<Change> {
    serde_json::from_slice(text).ok()
}

fn end_of(text: &[u8]) -> Result<End, TraceError> {
    serde_json::from_slice(text).map_err(|_| TraceError::Foreign)
}

/// The text that follows a record; `None` where it is cut short.
fn read_text_after(bytes: &[u8; RECORD], from: &mut impl Read) -> Result<Option<Vec<u8>>, TraceError> {
    let length = u32::from_le_bytes(bytes[LENGTH].try_into().expect("four bytes"));
    if length > CHANGE_MAX {
        return Err(TraceError::TraceRecord(u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))));
    }
    let mut text = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut text)?;
    Ok((text.len() == length as usize).then_some(text))
}

fn short(error: io::Error) -> TraceError {
    if error.kind() == io::ErrorKind::UnexpectedEof { TraceError::Foreign } else { error.into() }
}

fn read_u32(from: &mut impl Read) -> Result<u32, TraceError> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).map_err(short)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_text(from: &mut impl Read) -> Result<String, TraceError> {
    let length = read_u32(from)?;
    if length > HEAD_MAX {
        return Err(TraceError::Foreign);
    }
    let mut text = String::new();
    from.take(u64::from(length)).read_to_string(&mut text)?;
    if text.len() == length as usize { Ok(text) } else { Err(TraceError::Foreign) }
}

#[cfg(test)]
mod tests;
