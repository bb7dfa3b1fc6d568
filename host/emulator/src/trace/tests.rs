//! Tests of traces.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_record_comes_back(
        sequence: u64, submitted: u64, completed in prop::option::of(0..NEVER), offset: u64, length: u32, export: u16,
        client: u32, operation in 0usize..4, durable: bool, error in prop::option::of(0usize..8), part in 0usize..4,
    ) {
        let record = Record {
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
            part: Part::ALL[part],
        };
        prop_assert_eq!(Record::decode(&record.encode()), Some(record));
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Trace::read(&bytes[..]);
        let _ = Trace::read(&[&MAGIC[..], &[0; 8], &bytes].concat()[..]);
    }
}

fn record(sequence: u64) -> Record {
    Record {
        sequence,
        submitted_at: Instant::from_ns(sequence),
        completed_at: None,
        error: None,
        export: 0,
        operation: Operation::Read,
        durable: false,
        offset: 0,
        length: 512,
        client: 3,
        part: Part::Whole,
    }
}

#[test]
fn a_record_that_no_disk_can_have_met_is_named() {
    let head = [MAGIC, &[0; 4][..], &1_u32.to_le_bytes(), &4_u32.to_le_bytes(), b"data"].concat();
    let read = |records: &[Record]| {
        let bytes: Vec<[u8; RECORD]> = records.iter().map(Record::encode).collect();
        Trace::read(&[&head[..], &bytes.concat()].concat()[..])
    };
    let fine = Record { completed_at: Some(Instant::from_ns(7)), ..record(0) };
    assert_eq!(read(&[fine, record(1)]).unwrap().records.len(), 2);
    let late = Instant::from_ns(TIME_MAX.as_ns() + 1);
    for wrong in [
        Record { offset: u64::MAX - 4, ..record(1) },
        Record { offset: END_MAX - 511, ..record(1) },
        Record { submitted_at: late, ..record(1) },
        Record { completed_at: Some(late), ..record(1) },
        Record { completed_at: Some(Instant::ZERO), ..record(1) },
    ] {
        assert!(matches!(read(&[fine, wrong]), Err(TraceError::Record(1))), "{wrong:?}");
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
        assert_eq!(trace.records, [0, 1].map(|sequence| Record { client: 0, ..record(sequence) }));
    }
}

/// What an emulation without exports records.
fn recorder(file: impl Write + Send + 'static) -> io::Result<Recorder> {
    Recorder::over(file, &TraceSettings { path: PathBuf::new(), about: "here".into() }, &[])
}

/// A file that others see at once.
#[derive(Clone, Default)]
struct Shared(Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait_until(holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 20, "it does not come about");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn what_was_recorded_is_there_before_the_end_for_whoever_is_killed() {
    let file = Shared::default();
    let mut recorder = recorder(file.clone()).unwrap();
    let length = || file.0.lock().unwrap().len();
    let head = length();
    assert!(head > MAGIC.len() + 4, "no head");
    recorder.record(record(0));
    recorder.record(record(1));
    recorder.hurry();
    wait_until(|| length() == head + 2 * RECORD);
    recorder.record(record(2));
    recorder.end(Vec::new()).unwrap();
    assert_eq!(length(), head + 4 * RECORD, "three requests and the end");
}

#[test]
fn a_trace_that_was_cut_short_anywhere_is_told_from_a_whole_one() {
    let file = Shared::default();
    let mut recorder = recorder(file.clone()).unwrap();
    let head = file.0.lock().unwrap().len();
    recorder.record(Record { export: 0, ..record(0) });
    recorder.record_change(1, Instant::from_ns(1), &Change::Redeploy);
    recorder.end(Vec::new()).unwrap();
    let mut bytes = file.0.lock().unwrap().clone();
    // The one export that the record is of.
    bytes.splice(head - 4..head, [&1_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), b"data"].concat());
    let head = head + 8;
    let whole = Trace::read(&bytes[..]).unwrap();
    assert_eq!((whole.records.len(), whole.changes.len(), whole.cut_short), (1, 1, false));
    for length in head..bytes.len() {
        let cut = Trace::read(&bytes[..length]).unwrap();
        assert!(cut.cut_short, "{length} of {} bytes", bytes.len());
        assert_eq!(cut.records.len(), usize::from(length >= head + RECORD));
    }
    let more = [&bytes[..], &[0]].concat();
    assert!(matches!(Trace::read(&more[..]), Err(TraceError::Foreign)), "nothing follows the end");
    // Without its last change the end counts one more than there is.
    let lacking = [&bytes[..head + RECORD], &bytes[bytes.len() - RECORD..]].concat();
    assert!(matches!(Trace::read(&lacking[..]), Err(TraceError::Foreign)));
}

#[test]
fn how_late_answers_were_is_told_at_the_end() {
    let late = vec![LateExport { export: "data".into(), late_p99_ns: 700_000, modelled_p99_ns: 2_000_000 }];
    let file = Shared::default();
    recorder(file.clone()).unwrap().end(late.clone()).unwrap();
    let bytes = file.0.lock().unwrap().clone();
    let whole = Trace::read(&bytes[..]).unwrap();
    assert_eq!((whole.late, whole.cut_short), (late, false));
    // Whatever is missing of it, the end is.
    let cut = Trace::read(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!((cut.late, cut.cut_short), (Vec::new(), true));
}

#[test]
fn a_file_that_takes_no_more_is_told_while_it_runs_and_at_the_end() {
    /// Has room for a head.
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut recorder = recorder(Full(30)).unwrap();
    recorder.record(record(0));
    let begun = std::time::Instant::now();
    while recorder.error().is_none() {
        assert!(begun.elapsed().as_secs() < 20, "it is never told");
        recorder.hurry();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // Nothing piles up for a file that nobody writes.
    (0..2 * BATCH as u64).for_each(|sequence| recorder.record(record(sequence)));
    assert!(recorder.batch.is_empty());
    assert_eq!(recorder.end(Vec::new()).unwrap_err().kind(), io::ErrorKind::StorageFull);
}
