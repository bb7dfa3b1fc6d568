//! The trace as it grows, within the size that it may have.

use crate::wall_clock;
use crate::{Error, RecordError};
use loadline_emulation::{
    BLOCK_REQUESTS, RecordedRequest, RecordingNotes, encode_block, encode_recording_end, encode_recording_head,
};
use loadline_kernel::clock;
use loadline_kernel::facts::host;
use loadline_units::{Bytes, Duration, Instant};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What was completed is written after this time at the latest.
const BLOCK_TIME: Duration = Duration::from_s(1);
/// Room that is kept for the end of a trace, bytes.
const END_MAX: u64 = 1 << 10;

/// The trace.
pub(super) struct TraceFile {
    path: PathBuf,
    file: File,
    pub(super) size: Bytes,
    size_max: Bytes,
    pub(super) requests: u64,
    /// Requests for which it had no room.
    pub(super) without_room: u64,
    pending: Vec<RecordedRequest>,
    written_at: Instant,
}

impl TraceFile {
    /// A new file for the requests of a device, which gets no larger than `size_max`, unless its head and its end alone are.
    pub(super) fn create(path: &Path, device: &str, device_bytes: Option<u64>, size_max: Bytes) -> Result<Self, Error> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|source| RecordError::Write { file: path.to_owned(), source })?;
        let about = serde_json::json!({
            "recorded": device,
            "size_bytes": device_bytes,
            "kernel": host().kernel,
            "started": wall_clock::now(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        let head = encode_recording_head(&about.to_string(), [device].into_iter());
        let mut trace = Self {
            path: path.to_owned(),
            file,
            size: Bytes::ZERO,
            size_max,
            requests: 0,
            without_room: 0,
            pending: Vec::new(),
            written_at: clock::now(),
        };
        trace.append(&head)?;
        Ok(trace)
    }

    /// Whether no more requests have room in it.
    pub(super) const fn is_full(&self) -> bool {
        self.without_room > 0
    }

    pub(super) fn push(&mut self, request: RecordedRequest) -> Result<(), Error> {
        self.pending.push(request);
        self.requests += 1;
        if self.pending.len() >= BLOCK_REQUESTS { self.write() } else { Ok(()) }
    }

    pub(super) fn write_if_due(&mut self) -> Result<(), Error> {
        if clock::now() >= self.written_at + BLOCK_TIME { self.write() } else { Ok(()) }
    }

    /// Writes what waits, as far as there is room.
    pub(super) fn write(&mut self) -> Result<(), Error> {
        self.written_at = clock::now();
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        while let Some(block) = self.largest_block(&mut rest) {
            self.append(&block)?;
        }
        self.without_room += rest.len() as u64;
        self.requests -= rest.len() as u64;
        Ok(())
    }

    /// As many of the first requests as have room, which are taken from `rest`. `None`: there are none, or not one has.
    fn largest_block(&self, rest: &mut &[RecordedRequest]) -> Option<Vec<u8>> {
        let room = self.size_max.get().saturating_sub(self.size.get() + END_MAX);
        let mut count = if self.is_full() { 0 } else { rest.len() };
        while count > 0 {
            let (first, others) = rest.split_at(count);
            let block = encode_block(first);
            if block.len() as u64 <= room {
                *rest = others;
                return Some(block);
            }
            count /= 2;
        }
        None
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|source| RecordError::Write { file: self.path.clone(), source })?;
        self.size = Bytes::new(self.size.get() + bytes.len() as u64);
        Ok(())
    }

    /// Ends it. Returns its size.
    pub(super) fn end(mut self, notes: &RecordingNotes) -> Result<Bytes, Error> {
        self.append(&encode_recording_end(notes))?;
        self.file.sync_all().map_err(|source| RecordError::Write { file: self.path.clone(), source })?;
        Ok(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_block::Operation;
    use loadline_emulation::Trace;

    #[test]
    fn a_trace_gets_no_larger_than_it_may_and_is_whole_up_to_there() {
        let folder = tempfile::tempdir().unwrap();
        for (size_max, is_full) in [(Bytes::kib(50), true), (Bytes::mib(8), false)] {
            let path = folder.path().join(size_max.to_string());
            let mut trace = TraceFile::create(&path, "vda", Some(1 << 30), size_max).unwrap();
            let mut seed = 1_u64;
            for number in 0..20_000_u64 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = Instant::from_ns(number * 1_000_000 + seed % 900_000);
                let request = RecordedRequest {
                    arrived_at: at,
                    issued_at: at,
                    completed_at: at + Duration::from_us(80 + seed % 50),
                    error: None,
                    operation: Operation::Read,
                    durable: false,
                    offset: (seed >> 20) % (1 << 18) * 4096,
                    length: 4096,
                    export: 0,
                    client: 0,
                };
                trace.push(request).unwrap();
            }
            trace.write().unwrap();
            assert_eq!(trace.is_full(), is_full);
            let (kept, all) = (trace.requests, trace.requests + trace.without_room);
            let size = trace.end(&RecordingNotes { requests: kept, ..RecordingNotes::default() }).unwrap();
            assert_eq!((all, size.get()), (20_000, std::fs::metadata(&path).unwrap().len()));
            assert!(size <= size_max, "{size} of {size_max}");
            assert!(!is_full || size.get() > size_max.get() - 3 * END_MAX, "{size} of {size_max}");
            let read = Trace::read(File::open(&path).unwrap()).unwrap();
            assert_eq!(read.records.len() as u64, kept);
        }
    }
}
