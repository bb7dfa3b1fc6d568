//! The file of a trace, written by a thread of its own while requests are served.

use crate::export::Export;
use loadline_emulation::{LateExport, RecordedChange, TraceRecord, encode_end, encode_head};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// Entries in one batch for the writing thread.
const BATCH: usize = 8_192;
/// The most batches that wait for it. Beyond that requests wait too.
const BATCHES_MAX: usize = 16;

/// Where a trace goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// The file; it must not exist.
    pub path: PathBuf,
    /// Where the trace comes from: free text.
    pub about: String,
}

/// A trace is for its user alone.
const PRIVATE: u32 = 0o600;

/// An entry of the trace.
#[derive(Debug)]
enum TraceEntry {
    Request(TraceRecord),
    /// As bytes.
    Change(Vec<u8>),
}

/// What the writing thread receives.
#[derive(Debug)]
enum TraceBatch {
    Entries(Vec<TraceEntry>),
    /// The last batch of a complete trace, with the exports whose answers were late.
    Last(Vec<TraceEntry>, Vec<LateExport>),
}

/// The thread that writes the file.
type WriterThread = JoinHandle<io::Result<()>>;

/// Collects the entries of a trace and passes them to the thread that writes them.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    batch: Vec<TraceEntry>,
    /// `None`: the thread has ended.
    thread: Option<(SyncSender<TraceBatch>, WriterThread)>,
    /// Why it ended early.
    error: Option<io::Error>,
}

impl TraceWriter {
    /// Creates the file and starts the thread.
    pub(crate) fn create(settings: &TraceSettings, exports: &[Arc<Export>]) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&settings.path)?;
        Self::over(file, settings, exports)
    }

    fn over(file: impl Write + Send + 'static, settings: &TraceSettings, exports: &[Arc<Export>]) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&encode_head(&settings.about, exports.iter().map(|export| export.info.name.as_str())))?;
        // An emulation that is killed leaves a readable trace.
        out.flush()?;
        let (batches, incoming) = sync_channel::<TraceBatch>(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("recorder".into());
        let thread = thread.spawn(move || write_batches(&incoming, &mut out))?;
        Ok(Self { batch: Vec::with_capacity(BATCH), thread: Some((batches, thread)), error: None })
    }

    pub(crate) fn record(&mut self, record: TraceRecord) {
        self.push(TraceEntry::Request(record));
    }

    pub(crate) fn record_change(&mut self, change: &RecordedChange) {
        self.push(TraceEntry::Change(change.encode()));
    }

    fn push(&mut self, entry: TraceEntry) {
        self.batch.push(entry);
        if self.batch.len() >= BATCH
            && let Some((batches, _)) = &self.thread
        {
            let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            if batches.send(TraceBatch::Entries(batch)).is_err() {
                self.fail();
            }
        }
        if self.thread.is_none() {
            self.batch.clear();
        }
    }

    /// Passes an incomplete batch to the thread, unless that would block.
    pub(crate) fn flush(&mut self) {
        let Some((batches, _)) = &self.thread else { return };
        let fresh = if self.batch.is_empty() { Vec::new() } else { Vec::with_capacity(BATCH) };
        match batches.try_send(TraceBatch::Entries(std::mem::replace(&mut self.batch, fresh))) {
            Ok(()) => {}
            // The thread is busy writing.
            Err(TrySendError::Full(TraceBatch::Entries(batch) | TraceBatch::Last(batch, _))) => self.batch = batch,
            Err(TrySendError::Disconnected(_)) => self.fail(),
        }
    }

    /// Why nothing is written any more; `None`: all is well.
    pub(crate) const fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    fn fail(&mut self) {
        self.error = self.join().err();
    }

    /// Waits for the end of the thread, which gets no more batches.
    fn join(&mut self) -> io::Result<()> {
        let Some((batches, thread)) = self.thread.take() else { return self.error.take().map_or(Ok(()), Err) };
        drop(batches);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it panicked")))
    }

    /// Writes the rest, and which exports answered late.
    pub(crate) fn end(mut self, late: Vec<LateExport>) -> io::Result<()> {
        if let Some((batches, _)) = &self.thread {
            // If the thread has ended, joining it returns the reason.
            let _ = batches.send(TraceBatch::Last(std::mem::take(&mut self.batch), late));
        }
        self.join()
    }
}

/// Writes batches as they arrive, and the end after the last one. Whenever it has caught up, it flushes.
fn write_batches(incoming: &Receiver<TraceBatch>, out: &mut impl Write) -> io::Result<()> {
    let mut count = 0_u64;
    while let Ok(first) = incoming.recv() {
        for batch in std::iter::once(first).chain(std::iter::from_fn(|| incoming.try_recv().ok())) {
            let (entries, late) = match batch {
                TraceBatch::Entries(entries) => (entries, None),
                TraceBatch::Last(entries, late) => (entries, Some(late)),
            };
            count += entries.len() as u64;
            for entry in entries {
                match entry {
                    TraceEntry::Request(record) => out.write_all(&record.encode())?,
                    TraceEntry::Change(bytes) => out.write_all(&bytes)?,
                }
            }
            if let Some(late) = late {
                out.write_all(&encode_end(count, late))?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_emulation::{Change, RECORD, Trace, TraceError};
    use loadline_units::Instant;

    fn record(sequence: u64) -> TraceRecord {
        TraceRecord {
            sequence,
            submitted_at: Instant::from_ns(sequence),
            length: 512,
            client: 3,
            ..TraceRecord::default()
        }
    }

    /// What an emulation without exports records.
    fn writer(file: impl Write + Send + 'static) -> io::Result<TraceWriter> {
        TraceWriter::over(file, &TraceSettings { path: PathBuf::new(), about: "here".into() }, &[])
    }

    /// A file that others see at once.
    #[derive(Clone, Default)]
    struct SharedFile(Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for SharedFile {
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
        let file = SharedFile::default();
        let mut writer = writer(file.clone()).unwrap();
        let length = || file.0.lock().unwrap().len();
        let head = length();
        assert!(head > 12, "no head");
        writer.record(record(0));
        writer.record(record(1));
        writer.flush();
        wait_until(|| length() == head + 2 * RECORD);
        writer.record(record(2));
        writer.end(Vec::new()).unwrap();
        assert_eq!(length(), head + 4 * RECORD, "three requests and the end");
    }

    #[test]
    fn a_trace_that_was_cut_short_anywhere_is_told_from_a_whole_one() {
        let file = SharedFile::default();
        let mut writer = writer(file.clone()).unwrap();
        let head = file.0.lock().unwrap().len();
        writer.record(TraceRecord { export: 0, ..record(0) });
        writer.record_change(&RecordedChange { sequence: 1, at: Instant::from_ns(1), change: Change::Redeploy });
        writer.end(Vec::new()).unwrap();
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
        let file = SharedFile::default();
        writer(file.clone()).unwrap().end(late.clone()).unwrap();
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
        let mut writer = writer(Full(30)).unwrap();
        writer.record(record(0));
        let begun = std::time::Instant::now();
        while writer.error().is_none() {
            assert!(begun.elapsed().as_secs() < 20, "it is never told");
            writer.flush();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // Nothing piles up for a file that nobody writes.
        (0..2 * BATCH as u64).for_each(|sequence| writer.record(record(sequence)));
        assert!(writer.batch.is_empty());
        assert_eq!(writer.end(Vec::new()).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
