//! A file of every request that reached the model, with its times: `docs/formats/trace.md`.

use crate::export::Export;
use crate::model::{Change, ChangeError, Ended, Model};
use loadline_block::{ErrorKind, Operation, Request};
use loadline_disk::{Machine, Target};
use loadline_units::{Instant, NS_PER_S};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// How a trace begins.
const MAGIC: &[u8; 8] = b"LLTRACE4";
/// How those began that did not tell slices of long requests from requests.
const MAGIC_WITHOUT_PARTS: &[u8; 8] = b"LLTRACE3";
/// How those began that did not tell clients apart, and before them those in which nothing went wrong on purpose.
const MAGICS_BEFORE: [&[u8; 8]; 2] = [b"LLTRACE2", b"LLTRACE1"];
/// Stands in place of an operation: what follows the record, as text, was done to the emulation.
const CHANGE: u8 = 255;
/// Stands in place of an operation of the last record: nothing is missing before it, and its number is how many records there are.
const END: u8 = 254;
/// Bytes of such a text at most.
const CHANGE_MAX: u32 = 16 << 20;
/// Errors as records tell them.
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
const RECORD: usize = 44;
/// And of those that did not tell clients apart.
const RECORD_BEFORE: usize = 40;
/// Where a record tells the length of what follows.
const LENGTH: std::ops::Range<usize> = 32..36;
/// Where a record tells the operation.
const KIND: usize = 38;
/// And whether it is durable, why it failed, and which part of a request it is.
const FLAGS: usize = 39;
const DURABLE: u8 = 1;
const ERROR_SHIFT: u8 = 1;
const ERROR_MASK: u8 = 0x1f;
const PART_SHIFT: u8 = 6;
/// Stands for "not completed".
const NEVER: u64 = u64::MAX;
/// Records handed to the file's thread at once, and batches that wait for it at most: then requests wait as well.
const BATCH: usize = 8_192;
const BATCHES_MAX: usize = 16;
/// Bytes of a trace's head at most.
const HEAD_MAX: u32 = 16 << 20;

/// Where a trace goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// The file; it must not exist.
    pub path: PathBuf,
    /// What the trace is to say of where it comes from: free text.
    pub about: String,
}

/// Which part of what was asked a record is: long requests are handed over in slices, each when the one before it is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// Its beginning: another one follows.
    First,
    /// What neither begins nor ends it.
    Middle,
    /// Its end, as far as it came.
    Last,
}

impl Part {
    const ALL: [Self; 4] = [Self::Whole, Self::First, Self::Middle, Self::Last];

    /// By whether it goes on with something, and whether something goes on with it.
    pub(crate) const fn of(goes_on: bool, is_followed: bool) -> Self {
        match (goes_on, is_followed) {
            (false, false) => Self::Whole,
            (false, true) => Self::First,
            (true, true) => Self::Middle,
            (true, false) => Self::Last,
        }
    }
}

/// The latest time that a record can tell: ten years after the beginning.
const TIME_MAX: Instant = Instant::from_ns(10 * 366 * 86_400 * NS_PER_S);
/// And where a request can end at most: clients count bytes in numbers with a sign.
const END_MAX: u64 = 1 << 63;

/// One request to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// In the order in which requests were handed over, from 0.
    pub sequence: u64,
    /// When it was handed over.
    pub submitted_at: Instant,
    /// When it was answered in the model; `None`: not by the end.
    pub completed_at: Option<Instant>,
    /// Why it failed; `None`: it did not.
    pub error: Option<ErrorKind>,
    /// By its place in [`Trace::exports`].
    pub export: u16,
    /// What was asked.
    pub operation: Operation,
    /// To be durable when it is answered.
    pub durable: bool,
    /// Where the range begins.
    pub offset: u64,
    /// In bytes; of one slice no more than fit into 32 bits.
    pub length: u64,
    /// The connection, or file, on which it came: tells requests of one client from those of others, no more. 0 where the trace does
    /// not tell.
    pub client: u32,
    /// Which part of a request it is.
    pub part: Part,
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
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
            part: Part::ALL[usize::from(bytes[FLAGS] >> PART_SHIFT)],
        })
    }

    /// Whether any disk, at any time, can have met such a request.
    fn is_possible(&self) -> bool {
        let ends = self.offset.checked_add(self.length).is_some_and(|end| end <= END_MAX);
        let completed = self.completed_at.is_none_or(|at| (self.submitted_at..=TIME_MAX).contains(&at));
        ends && completed && self.submitted_at <= TIME_MAX
    }
}

/// What was done to the emulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Its place in the order of requests.
    pub sequence: u64,
    /// When.
    pub at: Instant,
    /// What.
    pub change: Change,
}

/// An export of which answers left late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateExport {
    /// Its name.
    pub export: String,
    /// How late, at the 99th percentile, ns.
    pub late_p99_ns: u64,
    /// The modelled latency at its 99th percentile, ns.
    pub modelled_p99_ns: u64,
}

/// What stands at the end of a trace, as JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
struct End {
    #[serde(default)]
    late: Vec<LateExport>,
}

/// What goes into the file: a record, with the text that follows it.
type Line = (Record, Option<String>);

/// What the file's thread is handed.
#[derive(Debug)]
enum Batch {
    Lines(Vec<Line>),
    /// The last ones: nothing is missing; with how late answers were.
    Last(Vec<Line>, Vec<LateExport>),
}

/// The thread that writes the file.
type Writer = JoinHandle<io::Result<()>>;

/// Records on their way to the file, which a thread of its own writes.
#[derive(Debug)]
pub(crate) struct Recorder {
    batch: Vec<Line>,
    /// `None`: the thread is gone.
    writer: Option<(SyncSender<Batch>, Writer)>,
    /// Why it is.
    error: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn create(settings: &TraceSettings, exports: &[Arc<Export>]) -> io::Result<Self> {
        Self::over(File::create_new(&settings.path)?, settings, exports)
    }

    fn over(file: impl Write + Send + 'static, settings: &TraceSettings, exports: &[Arc<Export>]) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(MAGIC)?;
        text(&mut out, &settings.about)?;
        out.write_all(&(exports.len() as u32).to_le_bytes())?;
        for export in exports {
            text(&mut out, &export.info.name)?;
        }
        // Whoever is killed leaves a trace that can be read.
        out.flush()?;
        let (batches, incoming) = sync_channel::<Batch>(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("recorder".into());
        let thread = thread.spawn(move || write_batches(&incoming, &mut out))?;
        Ok(Self { batch: Vec::with_capacity(BATCH), writer: Some((batches, thread)), error: None })
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.line((record, None));
    }

    pub(crate) fn record_change(&mut self, sequence: u64, at: Instant, change: &Change) {
        let text = serde_json::to_string(change).expect("changes are plain data");
        let record = Record {
            sequence,
            submitted_at: at,
            completed_at: Some(at),
            error: None,
            export: 0,
            operation: Operation::Flush,
            durable: false,
            offset: 0,
            length: text.len() as u64,
            client: 0,
            part: Part::Whole,
        };
        self.line((record, Some(text)));
    }

    fn line(&mut self, line: Line) {
        self.batch.push(line);
        if self.batch.len() >= BATCH
            && let Some((batches, _)) = &self.writer
        {
            let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            if batches.send(Batch::Lines(batch)).is_err() {
                self.fail();
            }
        }
        if self.writer.is_none() {
            self.batch.clear();
        }
    }

    /// Has what there is written soon, without waiting for it.
    pub(crate) fn hurry(&mut self) {
        let Some((batches, _)) = &self.writer else { return };
        let fresh = if self.batch.is_empty() { Vec::new() } else { Vec::with_capacity(BATCH) };
        match batches.try_send(Batch::Lines(std::mem::replace(&mut self.batch, fresh))) {
            Ok(()) => {}
            // It is being written as fast as that goes.
            Err(TrySendError::Full(Batch::Lines(batch) | Batch::Last(batch, _))) => self.batch = batch,
            Err(TrySendError::Disconnected(_)) => self.fail(),
        }
    }

    /// Why nothing is recorded any more; `None`: all goes well.
    pub(crate) const fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    fn fail(&mut self) {
        self.error = self.finish().err();
    }

    /// Waits for the thread, which has nothing more to come.
    fn finish(&mut self) -> io::Result<()> {
        let Some((batches, thread)) = self.writer.take() else { return self.error.take().map_or(Ok(()), Err) };
        drop(batches);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it panicked")))
    }

    /// Writes what is left, and of which exports answers left so late that it matters.
    pub(crate) fn end(mut self, late: Vec<LateExport>) -> io::Result<()> {
        if let Some((batches, _)) = &self.writer {
            // Where the thread is gone, it tells why.
            let _ = batches.send(Batch::Last(std::mem::take(&mut self.batch), late));
        }
        self.finish()
    }
}

/// Writes what comes, after the last of it that this is all; whenever it has caught up, all is handed to the system.
fn write_batches(incoming: &Receiver<Batch>, out: &mut impl Write) -> io::Result<()> {
    let mut count = 0_u64;
    while let Ok(first) = incoming.recv() {
        for batch in std::iter::once(first).chain(std::iter::from_fn(|| incoming.try_recv().ok())) {
            let (lines, late) = match batch {
                Batch::Lines(lines) => (lines, None),
                Batch::Last(lines, late) => (lines, Some(late)),
            };
            for (record, text) in lines {
                let mut bytes = record.encode();
                count += 1;
                if let Some(text) = text {
                    bytes[KIND] = CHANGE;
                    out.write_all(&bytes)?;
                    out.write_all(text.as_bytes())?;
                } else {
                    out.write_all(&bytes)?;
                }
            }
            if let Some(late) = late {
                let text = if late.is_empty() {
                    String::new()
                } else {
                    serde_json::to_string(&End { late }).expect("an end is plain data")
                };
                let mut end = [0; RECORD];
                end[..8].copy_from_slice(&count.to_le_bytes());
                end[LENGTH].copy_from_slice(&(text.len() as u32).to_le_bytes());
                end[KIND] = END;
                out.write_all(&end)?;
                out.write_all(text.as_bytes())?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(&(text.len() as u32).to_le_bytes())?;
    out.write_all(text.as_bytes())
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
    /// A record that no version writes.
    #[error("record {0} of the trace makes no sense")]
    Record(u64),
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// What it says of where it comes from.
    pub about: String,
    /// Names of exports, as records count them.
    pub exports: Vec<String>,
    /// In the order in which requests were handed over.
    pub records: Vec<Record>,
    /// What was done to the emulation meanwhile, in the order of time.
    pub changes: Vec<Done>,
    /// Exports of which answers left so late that what their clients did is this machine's pace as much as the disk's.
    pub late: Vec<LateExport>,
    /// Whether whoever recorded was killed, or could write no more: the last requests and changes are missing. Of versions that wrote no
    /// end it is told only where a record stops in its midst.
    pub cut_short: bool,
}

impl Trace {
    /// Reads a trace; an incomplete last record, as a kill leaves it, is left out.
    ///
    /// # Errors
    /// What cannot be read, is something else, or contradicts itself.
    pub fn read(mut from: impl Read) -> Result<Self, TraceError> {
        let mut magic = [0; 8];
        from.read_exact(&mut magic).map_err(short)?;
        let before = MAGICS_BEFORE.contains(&&magic);
        if magic != *MAGIC && magic != *MAGIC_WITHOUT_PARTS && !before {
            return Err(TraceError::Foreign);
        }
        let about = read_text(&mut from)?;
        let count = read_u32(&mut from)?;
        if count > u32::from(u16::MAX) {
            return Err(TraceError::Foreign);
        }
        let exports: Result<Vec<String>, TraceError> = (0..count).map(|_| read_text(&mut from)).collect();
        let exports = exports?;
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
                    late = serde_json::from_slice::<End>(&text).map_err(|_| TraceError::Foreign)?.late;
                }
                cut_short = false;
                break;
            }
            let known = |record: &Record| usize::from(record.export) < exports.len() && record.is_possible();
            let record = Record::decode(&bytes).filter(known);
            records.push(record.ok_or(TraceError::Record(records.len() as u64))?);
        }
        records.sort_unstable_by_key(|record| record.sequence);
        let in_time = records.is_sorted_by_key(|record| record.submitted_at);
        if !in_time || records.windows(2).any(|pair| pair[0].sequence == pair[1].sequence) {
            return Err(TraceError::Foreign);
        }
        changes.sort_by_key(|done: &Done| done.sequence);
        Ok(Self { about, exports, records, changes, late, cut_short })
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
fn read_change(bytes: &[u8; RECORD], from: &mut impl Read) -> Result<Option<Done>, TraceError> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let Some(text) = read_text_after(bytes, from)? else { return Ok(None) };
    let change = serde_json::from_slice(&text).map_err(|_| TraceError::Record(number(0)))?;
    Ok(Some(Done { sequence: number(0), at: Instant::from_ns(number(8)), change }))
}

/// The text that follows a record; `None` where it is cut short.
fn read_text_after(bytes: &[u8; RECORD], from: &mut impl Read) -> Result<Option<Vec<u8>>, TraceError> {
    let length = u32::from_le_bytes(bytes[LENGTH].try_into().expect("four bytes"));
    if length > CHANGE_MAX {
        return Err(TraceError::Record(u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))));
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

/// Hands the requests of `records` to a machine at the times at which they were handed over, in virtual time: when each is
/// answered, in their order. `targets` are the places of the exports that records count.
#[must_use]
pub fn replay(machine: &mut Machine, targets: &[Target], records: &[Record]) -> Vec<Instant> {
    let mut completed = vec![Instant::MAX; records.len()];
    let mut under_way: Vec<usize> = Vec::new();
    let mut take = |machine: &mut Machine, under_way: &[usize], until: Instant| {
        while let Some((id, completion)) = machine.pop_completed(until) {
            completed[under_way[id.index()]] = completion.completed_at;
        }
    };
    for (number, record) in records.iter().enumerate() {
        let now = record.submitted_at;
        take(machine, &under_way, now);
        let Record { operation, durable, offset, .. } = *record;
        let length = record.length as u32;
        let request = Request { operation, durable, length, offset, due_at: now };
        let id = machine.submit(now, targets[usize::from(record.export)], request).index();
        if under_way.len() <= id {
            under_way.resize(id + 1, 0);
        }
        under_way[id] = number;
    }
    while let Some(next) = machine.next_event_at() {
        take(machine, &under_way, next);
    }
    completed
}

/// Hands a trace's requests, and what was done meanwhile, to a fresh model of the same environment and seed, in virtual time: how
/// each request ended, in their order; `None`: a fault held it to the end.
///
/// # Errors
/// A change that the model does not take: the trace is of another environment.
pub fn repeat(model: &mut Model, trace: &Trace) -> Result<Vec<Option<Ended>>, ChangeError> {
    let mut ended: Vec<Option<Ended>> = vec![None; trace.records.len()];
    let mut under_way: Vec<usize> = Vec::new();
    let mut take = |model: &mut Model, under_way: &[usize], until: Instant| {
        while let Some((id, end)) = model.pop_ended(until) {
            ended[under_way[id]] = Some(end);
        }
    };
    let mut changes = trace.changes.iter().peekable();
    for (number, record) in trace.records.iter().enumerate() {
        while let Some(done) = changes.next_if(|done| done.sequence < record.sequence) {
            take(model, &under_way, done.at);
            model.change(done.at, &done.change)?;
        }
        let now = record.submitted_at;
        take(model, &under_way, now);
        let Record { operation, durable, offset, .. } = *record;
        let length = record.length as u32;
        let id =
            model.submit(now, usize::from(record.export), Request { operation, durable, length, offset, due_at: now });
        if under_way.len() <= id {
            under_way.resize(id + 1, 0);
        }
        under_way[id] = number;
    }
    for done in changes {
        take(model, &under_way, done.at);
        model.change(done.at, &done.change)?;
    }
    while let Some(next) = model.next_event_at() {
        take(model, &under_way, next);
    }
    Ok(ended)
}

#[cfg(test)]
mod tests;
