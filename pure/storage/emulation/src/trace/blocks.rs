//! Version 5 of the trace format: requests of a real device, in blocks of columns with checksums.
//!
//! A block has the kinds of its requests once, and of each request the number of its kind and differences: of the arrival to that of
//! the request before, of the submission to the arrival, of the completion to the submission, of the place to the end of the request
//! before. Differences are numbers of as many bytes as they need. Times are in steps of 10 ns.

use super::{SlicePart, TIME_MAX, TraceError, TraceRecord};
use loadline_block::{ErrorKind, Operation};
use loadline_record::{RunRecord, SourceLimit};
use loadline_units::Instant;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::Read;

/// The first bytes of version 5.
pub(super) const MAGIC: &[u8; 8] = b"LLTRACE5";
/// A step of time, ns.
const STEP_NS: u64 = 10;
/// Requests of a block at most.
pub const BLOCK_REQUESTS: usize = 1 << 16;
/// Bytes of a block at most: a request takes fewer than 64.
const BLOCK_BYTES_MAX: u32 = (BLOCK_REQUESTS as u32) * 64;
/// Requests of a trace at most.
const REQUESTS_MAX: usize = 190_000_000;
/// In place of a count: the end follows.
const END: u32 = u32::MAX;
/// The longest end, in bytes.
const END_MAX: u32 = 64 << 20;
/// Places are stored without so many low bits at most, if all lack them.
const SHIFT_MAX: u32 = 20;

/// A request of a real device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedRequest {
    /// When it came to the block layer.
    pub arrived_at: Instant,
    /// When it went to the device.
    pub issued_at: Instant,
    /// When the device answered.
    pub completed_at: Instant,
    /// Why it failed; `None`: it did not.
    pub error: Option<ErrorKind>,
    /// Its operation.
    pub operation: Operation,
    /// It must be durable when it is answered.
    pub durable: bool,
    /// Where the range begins, in bytes.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// The device, by its place among those of the trace.
    pub export: u16,
    /// A number for the thread that asked.
    pub client: u32,
}

/// What is known of a recording as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordingNotes {
    /// Requests in the trace.
    pub requests: u64,
    /// Events that the kernel dropped.
    #[serde(default)]
    pub events_lost: u64,
    /// Requests that were completed and never seen issued.
    #[serde(default)]
    pub without_issue: u64,
    /// Requests whose arrival was not seen, and is taken for their issue.
    #[serde(default)]
    pub without_arrival: u64,
    /// Requests that the kernel counted meanwhile; `None`: it does not count them, or another tool recorded.
    #[serde(default)]
    pub counted: Option<u64>,
    /// Of those, requests that were completed while the counters were read: they may be on either side.
    #[serde(default)]
    pub at_the_ends: u64,
    /// Requests, or lines, of another tool's trace that were left out.
    #[serde(default)]
    pub left_out: u64,
    /// The first of them: its place, and what stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_left_out: Option<String>,
    /// How long was recorded, ns.
    #[serde(default)]
    pub elapsed_ns: u64,
    /// Its surroundings: what `watch` would have stored of the same device and time. `None`: of an earlier version, or another tool.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "surroundings_of")]
    pub surroundings: Option<Box<RunRecord>>,
}

/// A run within notes, read as [`RunRecord::of_json`] reads it.
fn surroundings_of<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RunRecord>>, D::Error> {
    let text = Option::<&RawValue>::deserialize(from)?;
    text.map(|text| RunRecord::of_json(text.get()).map(Box::new)).transpose().map_err(D::Error::custom)
}

impl RecordingNotes {
    /// The limit that held the application back, with the share of the time for which it was at one.
    #[must_use]
    pub fn source_limit(&self) -> Option<(SourceLimit, f64)> {
        self.surroundings.as_ref()?.source_limit()
    }

    /// How many requests the kernel counted and the trace does not have; `None` where nobody counted. What falls on the ends is nobody's.
    #[must_use]
    pub fn missing(&self) -> Option<u64> {
        let counted = self.counted?;
        Some(counted.saturating_sub(self.requests + self.without_issue).saturating_sub(self.at_the_ends))
    }
}

/// The kind of a request: what many have alike.
type Kind = (u8, u64, u32, u16);

fn kind_of(request: &RecordedRequest) -> Kind {
    let error = request.error.and_then(|error| super::ERRORS.iter().position(|known| *known == error));
    let flags = request.operation.index() as u8
        | u8::from(request.durable) << 2
        | error.map_or(0, |place| place as u8 + 1) << 3;
    (flags, request.length, request.client, request.export)
}

/// The head of a trace.
#[must_use]
pub fn encode_recording_head<'a>(about: &str, devices: impl ExactSizeIterator<Item = &'a str>) -> Vec<u8> {
    let mut head = super::encode_head(about, devices);
    head[..8].copy_from_slice(MAGIC);
    head
}

/// A block of requests, at most [`BLOCK_REQUESTS`] of them.
///
/// # Panics
/// There are more.
#[must_use]
pub fn encode_block(requests: &[RecordedRequest]) -> Vec<u8> {
    assert!(requests.len() <= BLOCK_REQUESTS, "{} requests in a block", requests.len());
    let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
    for request in requests {
        let next = kinds.len() as u64;
        kinds.entry(kind_of(request)).or_insert(next);
    }
    let shift = requests.iter().map(|request| request.offset.trailing_zeros()).min().unwrap_or(0).min(SHIFT_MAX);
    let mut payload = vec![shift as u8];
    push(&mut payload, kinds.len() as u64);
    let mut in_order: Vec<(&Kind, &u64)> = kinds.iter().collect();
    in_order.sort_by_key(|(_, number)| **number);
    for ((flags, length, client, export), _) in in_order {
        payload.push(*flags);
        push(&mut payload, *length);
        push(&mut payload, u64::from(*client));
        push(&mut payload, u64::from(*export));
    }
    let step = |at: Instant| at.as_ns() / STEP_NS;
    let (mut arrived, mut end) = (0, 0);
    for request in requests {
        let (came, went, done) = (step(request.arrived_at), step(request.issued_at), step(request.completed_at));
        push(&mut payload, kinds[&kind_of(request)]);
        push(&mut payload, zigzag(came.wrapping_sub(arrived)));
        push(&mut payload, went.saturating_sub(came));
        push(&mut payload, done.saturating_sub(went));
        push(&mut payload, zigzag((request.offset >> shift).wrapping_sub(end)));
        arrived = came;
        end = (request.offset + request.length) >> shift;
    }
    framed(requests.len() as u32, &payload)
}

/// The end of a trace.
#[must_use]
pub fn encode_recording_end(notes: &RecordingNotes) -> Vec<u8> {
    framed(END, serde_json::to_string(notes).expect("notes are plain data").as_bytes())
}

fn framed(count: u32, payload: &[u8]) -> Vec<u8> {
    let mut block = (payload.len() as u32).to_le_bytes().to_vec();
    block.extend(count.to_le_bytes());
    block.extend(checksum(count, payload).to_le_bytes());
    block.extend(payload);
    block
}

/// FNV-1a, 64 bit, of the count and the payload.
fn checksum(count: u32, payload: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let begun = count.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fold);
    payload.iter().fold(begun, fold)
}

/// Small for small differences of either sign.
const fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// Seven bits a byte, the highest set where more follow.
fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn pull(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// What a recording holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// In the order in which they were completed.
    pub requests: Vec<RecordedRequest>,
    /// What is known of it as a whole; `None`: it was cut short.
    pub notes: Option<RecordingNotes>,
}

/// Reads blocks until the end. One that is incomplete or broken ends the recording, as a kill does.
pub(super) fn read_blocks(mut from: impl Read, exports: usize) -> Result<Recording, TraceError> {
    let mut recording = Recording::default();
    loop {
        let mut head = [0; 16];
        if super::read_up_to(&mut from, &mut head)? < head.len() {
            return Ok(recording);
        }
        let length = u32::from_le_bytes(head[..4].try_into().expect("four bytes"));
        let count = u32::from_le_bytes(head[4..8].try_into().expect("four bytes"));
        let most = if count == END { END_MAX } else { BLOCK_BYTES_MAX };
        let number = recording.requests.len() as u64;
        if length > most || (count != END && count as usize > BLOCK_REQUESTS) {
            return Err(TraceError::TraceRecord(number));
        }
        let mut payload = Vec::new();
        from.by_ref().take(u64::from(length)).read_to_end(&mut payload)?;
        let expected = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
        if payload.len() < length as usize || checksum(count, &payload) != expected {
            return Ok(recording);
        }
        if count == END {
            let notes = notes_of(&payload)?;
            if notes.requests != number || super::read_up_to(&mut from, &mut [0])? > 0 {
                return Err(TraceError::Foreign);
            }
            recording.notes = Some(notes);
            return Ok(recording);
        }
        if recording.requests.len() + count as usize > REQUESTS_MAX {
            return Err(TraceError::TraceRecord(number));
        }
        decode_block(&payload, count as usize, exports, &mut recording.requests)
            .ok_or(TraceError::TraceRecord(number))?;
    }
}

/// A function without parameters of type: what reads from any source would be compiled with all that a recording knows for each of them.
fn notes_of(text: &[u8]) -> Result<RecordingNotes, TraceError> {
    serde_json::from_slice(text).map_err(|_| TraceError::Foreign)
}

fn decode_block(mut from: &[u8], count: usize, exports: usize, into: &mut Vec<RecordedRequest>) -> Option<()> {
    let (shift, rest) = from.split_first()?;
    let shift = u32::from(*shift);
    (shift <= SHIFT_MAX).then_some(())?;
    from = rest;
    let kinds_count = usize::try_from(pull(&mut from)?).ok().filter(|kinds| *kinds <= count)?;
    let mut kinds = Vec::with_capacity(kinds_count);
    for _ in 0..kinds_count {
        let (flags, rest) = from.split_first()?;
        from = rest;
        let length = pull(&mut from)?;
        let client = u32::try_from(pull(&mut from)?).ok()?;
        let export = u16::try_from(pull(&mut from)?).ok().filter(|export| usize::from(*export) < exports)?;
        let error = match flags >> 3 {
            0 => None,
            place => Some(*super::ERRORS.get(usize::from(place) - 1)?),
        };
        kinds.push((Operation::ALL[usize::from(flags & 3)], flags & 4 > 0, error, length, client, export));
    }
    let at = |step: u64| {
        let at = Instant::from_ns(step.checked_mul(STEP_NS)?);
        (at <= TIME_MAX).then_some(at)
    };
    let (mut arrived, mut end) = (0_u64, 0_u64);
    for _ in 0..count {
        let (operation, durable, error, length, client, export) =
            *kinds.get(usize::try_from(pull(&mut from)?).ok()?)?;
        arrived = arrived.wrapping_add(unzigzag(pull(&mut from)?));
        let issued = arrived.checked_add(pull(&mut from)?)?;
        let completed = issued.checked_add(pull(&mut from)?)?;
        let place = end.wrapping_add(unzigzag(pull(&mut from)?));
        let offset = place.checked_mul(1 << shift)?;
        let reach = offset.checked_add(length).filter(|reach| *reach <= super::END_MAX)?;
        end = reach >> shift;
        into.push(RecordedRequest {
            arrived_at: at(arrived)?,
            issued_at: at(issued)?,
            completed_at: at(completed)?,
            error,
            operation,
            durable,
            offset,
            length,
            export,
            client,
        });
    }
    from.is_empty().then_some(())
}

impl Recording {
    /// As requests of a trace, in the order in which they came. When they went to the device is not in it.
    #[must_use]
    pub fn records(&self) -> Vec<TraceRecord> {
        let mut requests: Vec<&RecordedRequest> = self.requests.iter().collect();
        requests.sort_by_key(|request| request.arrived_at);
        let record = |(sequence, request): (u64, &RecordedRequest)| TraceRecord {
            sequence,
            submitted_at: request.arrived_at,
            completed_at: Some(request.completed_at),
            error: request.error,
            export: request.export,
            operation: request.operation,
            durable: request.durable,
            offset: request.offset,
            length: request.length,
            client: request.client,
            part: SlicePart::Whole,
        };
        (0..).zip(requests).map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(arrived: u64, offset: u64) -> RecordedRequest {
        let at = |ns: u64| Instant::from_ns(ns / STEP_NS * STEP_NS);
        RecordedRequest {
            arrived_at: at(arrived),
            issued_at: at(arrived + 1_300),
            completed_at: at(arrived + 95_000),
            error: None,
            operation: Operation::Read,
            durable: false,
            offset,
            length: 4_096,
            export: 0,
            client: 0,
        }
    }

    fn whole(blocks: &[&[RecordedRequest]]) -> Vec<u8> {
        let mut bytes = encode_recording_head("{}", ["sda"].into_iter());
        let requests = blocks.iter().map(|block| block.len() as u64).sum();
        bytes.extend(blocks.iter().flat_map(|block| encode_block(block)));
        bytes.extend(encode_recording_end(&RecordingNotes { requests, ..RecordingNotes::default() }));
        bytes
    }

    fn read(bytes: &[u8]) -> Result<super::super::Trace, TraceError> {
        super::super::Trace::read(bytes)
    }

    #[test]
    fn a_request_takes_at_most_twelve_bytes() {
        // Random places of 64 GiB, 20,000 requests a second.
        let mut place = 1_u64;
        let requests: Vec<RecordedRequest> = (0..60_000)
            .map(|number| {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                request(number * 50_000 + place % 7_000, (place >> 40) * 4_096)
            })
            .collect();
        let bytes = encode_block(&requests).len() as f64 / requests.len() as f64;
        assert!(bytes <= 12.0, "{bytes}");
    }

    #[test]
    fn blocks_come_back_in_the_order_of_arrival() {
        let (late, early) = (request(5_000, 8_192), request(1_000, 0));
        let trace = read(&whole(&[&[late], &[early]])).unwrap();
        let starts: Vec<(u64, u64)> = trace.records.iter().map(|r| (r.submitted_at.as_ns(), r.offset)).collect();
        assert_eq!((starts, trace.cut_short), (vec![(1_000, 0), (5_000, 8_192)], false));
        assert_eq!(trace.recording.as_ref().map(|notes| notes.requests), Some(2));
    }

    #[test]
    fn a_trace_that_ends_within_a_block_has_the_blocks_before() {
        let bytes = whole(&[&[request(1_000, 0)], &[request(2_000, 4_096)]]);
        let head = encode_recording_head("{}", ["sda"].into_iter()).len();
        let first = head + encode_block(&[request(1_000, 0)]).len();
        for end in head..bytes.len() {
            let cut = read(&bytes[..end]).unwrap();
            assert!(cut.cut_short, "{end} of {}", bytes.len());
            assert!(cut.records.len() >= usize::from(end >= first), "{end}");
        }
        // A flipped bit ends it too.
        let mut broken = bytes.clone();
        broken[first + 20] ^= 1;
        let found = read(&broken).unwrap();
        assert_eq!((found.records.len(), found.cut_short), (1, true));
    }

    #[test]
    fn what_no_recording_says_is_refused() {
        let head = encode_recording_head("{}", ["sda"].into_iter());
        let other = RecordedRequest { export: 1, ..request(1, 0) };
        let bytes = [&head[..], &encode_block(&[other])].concat();
        assert!(matches!(read(&bytes), Err(TraceError::TraceRecord(0))));
        let end = encode_recording_end(&RecordingNotes { requests: 3, ..RecordingNotes::default() });
        assert!(matches!(read(&[&head[..], &end].concat()), Err(TraceError::Foreign)));
    }

    #[test]
    fn what_is_missing_is_what_the_kernel_counted_beyond_the_ends() {
        let notes = |counted| RecordingNotes { requests: 97, counted, at_the_ends: 2, ..RecordingNotes::default() };
        assert_eq!(notes(Some(100)).missing(), Some(1));
        assert_eq!(notes(Some(98)).missing(), Some(0));
        assert_eq!(notes(None).missing(), None);
        let under_way = RecordingNotes { without_issue: 32, ..notes(Some(131)) };
        assert_eq!(under_way.missing(), Some(0));
    }

    proptest! {
        #[test]
        fn any_requests_come_back(
            all in prop::collection::vec(
                (0_u64..1 << 50, 0_u64..1 << 40, 0_u64..1 << 40, 0_usize..4, any::<bool>(), prop::option::of(0_usize..8),
                 0_u64..1 << 50, any::<u32>(), any::<u32>()), 0..40),
        ) {
            let at = |ns: u64| Instant::from_ns(ns / STEP_NS * STEP_NS);
            let requests: Vec<RecordedRequest> = all
                .into_iter()
                .map(|(came, wait, took, operation, durable, error, offset, length, client)| RecordedRequest {
                    arrived_at: at(came),
                    issued_at: at(at(came).as_ns() + wait),
                    completed_at: at(at(at(came).as_ns() + wait).as_ns() + took),
                    error: error.map(|place| super::super::ERRORS[place]),
                    operation: Operation::ALL[operation],
                    durable,
                    offset,
                    length: u64::from(length),
                    export: 0,
                    client,
                })
                .collect();
            let block = encode_block(&requests);
            let recording = read_blocks(&block[..], 1).unwrap();
            prop_assert_eq!(recording.requests, requests);
        }

        #[test]
        fn no_bytes_make_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut all = encode_recording_head("", ["sda"].into_iter());
            all.extend(bytes);
            let _ = read(&all);
        }
    }
}
