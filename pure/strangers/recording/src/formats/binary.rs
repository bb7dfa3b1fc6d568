//! Binary traces: blktrace and vscsi.

use super::{Events, Row, Rows, TraceFormat};
use crate::event::{BlockEvent, Happening};
use loadline_block::Operation;

/// Of blktrace (`linux/blktrace_api.h`): the first bytes of each record, without the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// Bytes of a record before what follows it.
const RECORD: usize = 48;
/// Actions, the low half.
const QUEUED: u32 = 1;
const REQUEUED: u32 = 6;
const ISSUED: u32 = 7;
const COMPLETED: u32 = 8;
/// Categories, the high half.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;

/// Commands of SCSI by their first byte.
fn scsi(command: u8) -> Option<Operation> {
    match command {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Operation::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(Operation::Write),
        0x35 | 0x91 => Some(Operation::Flush),
        0x42 => Some(Operation::Trim),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(super) fn format_of(bytes: &[u8]) -> Option<TraceFormat> {
    if word(bytes, 0)? == MAGIC | VERSION {
        return Some(TraceFormat::Blktrace);
    }
    vscsi_version(bytes).map(|_| TraceFormat::Vscsi)
}

/// Records of blktrace as events. What is broken, or cut at the end of one CPU's file, is left out up to the next record.
pub(super) fn blktrace(all: &[u8]) -> Events {
    let mut found = Events::default();
    let mut at = 0;
    while all.len() - at >= RECORD {
        let bytes = &all[at..];
        let begin = (MAGIC | VERSION).to_le_bytes();
        // A record that was cut takes its length from what follows: behind a whole one another begins, or nothing.
        let is_whole =
            |length: usize| bytes.get(length..).is_some_and(|rest| rest.is_empty() || rest.starts_with(&begin));
        let Some((event, length)) = blktrace_record(bytes).filter(|(_, length)| is_whole(*length)) else {
            found.left_out += 1;
            found.first.get_or_insert_with(|| format!("byte {at}"));
            let next = bytes[1..].windows(begin.len()).position(|four| four == begin);
            at = next.map_or(all.len(), |next| at + 1 + next);
            continue;
        };
        match event {
            Some(event) => found.all.push(event),
            None => found.left_out += u64::from(word(bytes, 28).is_some_and(|action| action >> 16 & NOTIFY == 0)),
        }
        at += length;
    }
    found
}

/// A record, if it is an event that matters, and its length.
fn blktrace_record(bytes: &[u8]) -> Option<(Option<BlockEvent>, usize)> {
    (word(bytes, 0)? == MAGIC | VERSION).then_some(())?;
    let (at_ns, sector, length) = (long(bytes, 8)?, long(bytes, 16)?, word(bytes, 24)?);
    let (action, pid, device) = (word(bytes, 28)?, word(bytes, 32)?, word(bytes, 36)?);
    let (error, follows) = (half(bytes, 44)?, half(bytes, 46)?);
    let category = action >> 16;
    let what = match action & 0xffff {
        QUEUED => Some(Happening::Queued),
        ISSUED => Some(Happening::Issued),
        COMPLETED => Some(Happening::Completed),
        REQUEUED => Some(Happening::Requeued),
        _ => None,
    };
    let operation = match category {
        of if of & DISCARD > 0 => Operation::Trim,
        _ if length == 0 => Operation::Flush,
        of if of & WRITE > 0 => Operation::Write,
        _ => Operation::Read,
    };
    let what = what.filter(|_| category & NOTIFY == 0 && (length > 0 || category & FLUSH > 0));
    let event = what.map(|what| BlockEvent {
        at_ns,
        what,
        device,
        sector: if length == 0 { 0 } else { sector & (u64::MAX >> 12) },
        sectors: u64::from(length).div_ceil(512),
        operation,
        durable: category & FUA > 0,
        failed: error != 0,
        pid,
    });
    Some((event, RECORD + usize::from(follows)))
}

/// The version of a vscsi trace: where its first records have plausible commands.
fn vscsi_version(bytes: &[u8]) -> Option<u32> {
    let of = |size: usize, command: usize| {
        let records = bytes.chunks_exact(size).take(16);
        let all = records.len();
        let good = records.filter(|record| {
            let known = half(record, command).is_some_and(|found| scsi(found as u8).is_some());
            known && half(record, if size == 32 { 14 } else { 2 }).is_some_and(|version| matches!(version >> 8, 1 | 2))
        });
        all > 0 && good.count() * 2 > all
    };
    [(1, 32, 12), (2, 40, 0)].into_iter().find(|(_, size, command)| of(*size, *command)).map(|(version, ..)| version)
}

/// Records of vscsi. Version 1: number, length, scatter elements, command, version, block, time. Version 2 begins with command and version,
/// and ends with the response time.
pub(super) fn vscsi(bytes: &[u8]) -> Rows {
    let mut rows = Rows::default();
    let version = vscsi_version(bytes).unwrap_or(1);
    let size = if version == 1 { 32 } else { 40 };
    for record in bytes.chunks_exact(size) {
        let fields = || {
            let (command, length, block, came_us, took_us) = match version {
                1 => (half(record, 12)?, word(record, 4)?, long(record, 16)?, long(record, 24)?, None),
                _ => (half(record, 0)?, word(record, 8)?, long(record, 16)?, long(record, 24)?, long(record, 32)),
            };
            let operation = scsi(command as u8)?;
            let at_ns = came_us.checked_mul(1_000)?;
            Some(Row {
                at_ns,
                done_ns: took_us.and_then(|us| at_ns.checked_add(us.checked_mul(1_000)?)),
                operation,
                durable: false,
                error: None,
                offset: if operation == Operation::Flush { 0 } else { block.checked_mul(512)? },
                length: if operation == Operation::Flush { 0 } else { u64::from(length) },
                device: "vscsi".to_owned(),
                client: 0,
            })
        };
        match fields() {
            Some(row) => rows.all.push(row),
            None => rows.left_out += 1,
        }
    }
    rows
}
