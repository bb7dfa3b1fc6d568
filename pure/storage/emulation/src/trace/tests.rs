//! Tests of traces.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_record_comes_back(
        sequence: u64, submitted: u64, completed in prop::option::of(0..NEVER), offset: u64, length: u32, export: u16,
        client: u32, operation in 0usize..4, durable: bool, error in prop::option::of(0usize..8), part in 0usize..4,
    ) {
        let record = TraceRecord {
            sequence,
            submitted_at: Instant::from_ns(submitted),
            completed_at: completed.map(Instant::from_ns),
            error: error.map(|place| ERRORS[place]),
            client,
            export,
            operation: Operation::ALL[operation],
            durable,
            offset,
            length: length.into(),
            part: SlicePart::ALL[part],
        };
        prop_assert_eq!(TraceRecord::decode(&record.encode()), Some(record));
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Trace::read(&bytes[..]);
        let _ = Trace::read(&[&MAGIC[..], &[0; 8], &bytes].concat()[..]);
    }
}

fn record(sequence: u64) -> TraceRecord {
    TraceRecord { sequence, submitted_at: Instant::from_ns(sequence), length: 512, client: 3, ..TraceRecord::default() }
}

#[test]
fn no_trace_is_read_beyond_its_bound() {
    let head = [MAGIC, &[0; 4][..], &1_u32.to_le_bytes(), &4_u32.to_le_bytes(), b"data"].concat();
    let bytes = [&head[..], &record(0).encode(), &record(1).encode()].concat();
    let length = bytes.len() as u64;
    assert_eq!(Trace::read_within(&bytes[..], length).unwrap().records.len(), 2);
    let error = Trace::read_within(&bytes[..], length - 1).unwrap_err();
    assert!(matches!(error, TraceError::Long(most) if most == length - 1), "{error}");
    let endless = head.as_slice().chain(io::repeat(0));
    assert!(Trace::read_within(endless, 1 << 20).is_err());
}

#[test]
fn a_record_that_no_disk_can_have_met_is_named() {
    let head = [MAGIC, &[0; 4][..], &1_u32.to_le_bytes(), &4_u32.to_le_bytes(), b"data"].concat();
    let read = |records: &[TraceRecord]| {
        let bytes: Vec<[u8; RECORD]> = records.iter().map(TraceRecord::encode).collect();
        Trace::read(&[&head[..], &bytes.concat()].concat()[..])
    };
    let fine = TraceRecord { completed_at: Some(Instant::from_ns(7)), ..record(0) };
    assert_eq!(read(&[fine, record(1)]).unwrap().records.len(), 2);
    let late = Instant::from_ns(TIME_MAX.as_ns() + 1);
    for wrong in [
        TraceRecord { offset: u64::MAX - 4, ..record(1) },
        TraceRecord { offset: END_MAX - 511, ..record(1) },
        TraceRecord { submitted_at: late, ..record(1) },
        TraceRecord { completed_at: Some(late), ..record(1) },
        TraceRecord { completed_at: Some(Instant::ZERO), ..record(1) },
    ] {
        assert!(matches!(read(&[fine, wrong]), Err(TraceError::TraceRecord(1))), "{wrong:?}");
    }
}

#[test]
fn a_trace_of_before_is_read_and_tells_no_clients() {
    let head = [&[0; 4][..], &1_u32.to_le_bytes(), &4_u32.to_le_bytes(), b"data"].concat();
    for magic in MAGICS_BEFORE {
        let lines = (0..2).map(|sequence| record(sequence).encode()[..RECORD_BEFORE].to_vec());
        let bytes = [&magic[..], &head, &lines.collect::<Vec<_>>().concat()].concat();
        let trace = Trace::read(&bytes[..]).unwrap();
        assert!(!trace.cut_short && Trace::read(&bytes[..bytes.len() - 1]).unwrap().cut_short);
        assert_eq!(trace.records, [0, 1].map(|sequence| TraceRecord { client: 0, ..record(sequence) }));
    }
}
