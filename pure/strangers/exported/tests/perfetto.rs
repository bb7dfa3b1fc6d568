//! Timelines, read back: slices nest on their tracks, and what they come to is what the trace has.

use loadline_block::{ErrorKind, Operation};
use loadline_emulation::{Trace, TraceRecord};
use loadline_exported::perfetto::requests;
use loadline_units::Instant;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A field of a message: its number, and a number or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (own, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(own.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (own, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(own)
            }
            kind => panic!("field of kind {kind}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

fn number(fields: &[(u64, Field<'_>)], wanted: u64) -> Option<u64> {
    fields.iter().find_map(|(field, value)| match value {
        Field::Number(number) if *field == wanted => Some(*number),
        _ => None,
    })
}

fn message<'a>(fields: &[(u64, Field<'a>)], wanted: u64) -> Option<&'a [u8]> {
    fields.iter().find_map(|(field, value)| match value {
        Field::Bytes(bytes) if *field == wanted => Some(*bytes),
        _ => None,
    })
}

/// What was read of a timeline.
#[derive(Default)]
struct Read {
    /// Slices: how many, and their time, ns.
    slices: (u64, u64),
    moments: u64,
    counters: u64,
}

/// Reads a timeline, and holds what must hold of every one: time never goes back, tracks are known before they are used, and what began last
/// on a track ends first.
fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let (mut tracks, mut names) = (Vec::new(), BTreeMap::new());
    let mut open: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut now = 0;
    for (field, packet) in fields(bytes) {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        assert_eq!(field, 1);
        let packet = fields(packet);
        if let Some(data) = message(&packet, 12) {
            for (field, entry) in fields(data) {
                let Field::Bytes(entry) = entry else { panic!("a name is a message") };
                let entry = fields(entry);
                let text = std::str::from_utf8(message(&entry, 2).unwrap()).unwrap();
                names.insert((field, number(&entry, 1).unwrap()), text.to_owned());
            }
        }
        if let Some(track) = message(&packet, 60) {
            let track = fields(track);
            assert!(number(&track, 5).is_none_or(|above| tracks.contains(&above)));
            tracks.push(number(&track, 1).unwrap());
        }
        let Some(event) = message(&packet, 11) else { continue };
        let (event, at) = (fields(event), number(&packet, 8).unwrap());
        assert!(at >= now, "time goes back");
        now = at;
        let track = number(&event, 11).unwrap();
        assert!(tracks.contains(&track));
        let kind = number(&event, 9).unwrap();
        if kind == 1 || kind == 3 {
            assert!(names.contains_key(&(2, number(&event, 10).unwrap())));
        }
        match kind {
            1 => open.entry(track).or_default().push(at),
            2 => {
                let began = open.get_mut(&track).and_then(Vec::pop).expect("what ends has begun");
                read.slices = (read.slices.0 + 1, read.slices.1 + at - began);
            }
            3 => read.moments += 1,
            4 => read.counters += 1,
            kind => panic!("event of kind {kind}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "what began ends");
    read
}

prop_compose! {
    fn record()(
        gap in 0..3_000_u64,
        takes in proptest::option::weighted(0.95, 0..50_000_u64),
        export in 0..3_u16,
        operation in 0..4_usize,
        length in 0..9_u64,
        fails in proptest::bool::weighted(0.1),
    ) -> (u64, Option<u64>, TraceRecord) {
        let record = TraceRecord {
            export,
            operation: Operation::ALL[operation],
            length: length * 4_096,
            offset: gap * 4_096,
            client: u32::from(export),
            error: fails.then_some(ErrorKind::Io),
            ..TraceRecord::default()
        };
        (gap, takes, record)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn slices_nest_and_come_to_the_time_of_the_requests(drawn in proptest::collection::vec(record(), 0..300)) {
        let mut at = 1_000_000_000;
        let mut records = Vec::new();
        for (place, (gap, takes, record)) in drawn.into_iter().enumerate() {
            at += gap;
            let completed_at = takes.map(|takes| Instant::from_ns(at + takes));
            records.push(TraceRecord { sequence: place as u64, submitted_at: Instant::from_ns(at), completed_at, ..record });
        }
        let answered = || records.iter().filter_map(|record| Some(record.completed_at?.as_ns() - record.submitted_at.as_ns()));
        let wanted = (answered().count() as u64, answered().sum());
        let silent = records.len() as u64 - wanted.0;
        let exports = ["data", "log\u{1b}[31m", ""].map(str::to_owned).to_vec();
        let trace = Trace {
            about: String::new(), exports, records, changes: Vec::new(), late: Vec::new(), cut_short: false, recording: None,
        };
        let read = read(&requests(&trace));
        prop_assert_eq!(read.slices, wanted);
        prop_assert_eq!(read.moments, silent);
        prop_assert!(read.counters > 0 || wanted.0 == 0);
    }
}
