//! Reads a volume back after a verified load, at once or after a crash.

use super::heartbeat::Heartbeat;
use super::{HANG_GRACE, LOOK, check_keeps, load_threads, region_of, trial_seed};
use crate::buffers;
use crate::control::{Control, Phase, Progress};
use crate::error::EngineError;
use crate::nbd::Session;
use crate::target::Volume;
use crate::verify;
use loadline_block::{Operation, Request};
use loadline_kernel::clock;
use loadline_record::VerifyRecord;
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{LoadGenerator, LoadSpec, Region};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};

/// Bytes read before they are checked; of larger blocks one.
const PIECE: Bytes = Bytes::mib(1);

/// Where the blocks of a load lie, in each of the files that it is spread over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// Bytes of each file, from the first that it touches.
    pub part: Range<u64>,
    files: u64,
    block: u64,
}

impl Ground {
    /// Of `spec` on `volume`.
    #[must_use]
    pub fn of(volume: &Volume, spec: &LoadSpec) -> Self {
        let Region { files, start, size, .. } = region_of(volume, spec);
        let block = spec.block_max().get();
        // A load to be verified keeps to whole blocks.
        let size = if spec.verify { size.get() / block * block } else { size.get() };
        Self { part: start.get()..start.get() + size, files: files.into(), block }
    }
    /// Whole blocks of which nothing lies in these parts of each file.
    #[must_use]
    pub fn blocks_outside(&self, parts: &[Range<u64>]) -> u64 {
        let (start, count) = (self.part.start, (self.part.end - self.part.start) / self.block);
        let outside = |n: &u64| !verify::touches(parts, start + n * self.block, self.block);
        (0..count).filter(outside).count() as u64 * self.files
    }
}

/// Checks what stands on `volume` against trial number `trial` of `spec`, run with `seed`, of which `past` is known: it may
/// be over, or have been cut off at any moment, also by a crash of the machine. `None` when nothing that was looked at is of
/// that trial, and it is not known to have written anything.
///
/// Takes memory in proportion to the number of blocks.
///
/// # Errors
/// When the volume cannot hold the load, so that it cannot have been run there, and when a read is not answered within the
/// load's hang limit.
pub fn verify_only(
    volume: &Volume,
    spec: &LoadSpec,
    trial: u32,
    seed: u64,
    past: &verify::Past<'_>,
    control: &Control,
) -> Result<Option<VerifyRecord>, EngineError> {
    spec.check()?;
    check_keeps(volume, spec)?;
    let seed = trial_seed(seed, trial);
    let region = region_of(volume, spec);
    let mut streams = (0..spec.threads)
        .map(|thread| LoadGenerator::new(spec, &region, thread, seed, Instant::ZERO))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| EngineError::Region { volume: volume.facts.name.clone(), source })?;
    let block = spec.block_max().get();
    let mut afterwards = verify::Afterwards::new(seed, block, region);
    let reading = Reading { volume, block, hang_limit: spec.hang_limit, control };
    match reading.each_block(afterwards.offsets(past), |offset, bytes| afterwards.observe(offset, bytes))? {
        End::All => Ok(afterwards.judge(&mut streams, load_threads::slots(spec), past)),
        End::Stopped => Ok(None),
        End::Hung(detail) => {
            let attempted = format!("read volume {} back", volume.facts.name);
            Err(EngineError::os(attempted, std::io::Error::new(std::io::ErrorKind::TimedOut, detail)))
        }
    }
}

/// Makes everything that was written durable, so that a later check knows that it must be there; says whether that was
/// confirmed within `limit`. A flush that takes longer is left behind.
pub(super) fn make_durable(volume: &Volume, limit: Duration, control: &Control) -> bool {
    let Ok(mut sources) = Sources::of(volume) else { return false };
    let (sender, answers) = mpsc::channel();
    let flusher = std::thread::Builder::new().name("flush".into()).spawn(move || {
        let durable = sources.make_durable().is_ok();
        // A connection is free for the next before anybody goes on.
        drop(sources);
        let _ = sender.send(durable);
    });
    let started_at = clock::now();
    while flusher.is_ok() && !control.stopped() && clock::now().since(started_at) < limit {
        match answers.recv_timeout(LOOK.into()) {
            Ok(durable) => return durable,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    false
}

/// What kept blocks from being read back.
pub(super) enum Kept {
    /// A read was not answered in time; says which.
    Hung(String),
    /// There was nothing to read from.
    Away(EngineError),
}

/// Reads every block that was written and checks it; says what kept it from that.
pub(super) fn read_all(
    volume: &Volume,
    ledger: &verify::Ledger,
    hang_limit: Duration,
    control: &Control,
    record: &mut VerifyRecord,
) -> Option<Kept> {
    let mut found = VerifyRecord::default();
    let reading = Reading { volume, block: ledger.block(), hang_limit, control };
    let end = reading.each_block(ledger.offsets().collect(), |offset, bytes| match bytes {
        Ok(bytes) => ledger.check(offset, bytes, &mut found),
        Err(detail) => ledger.unreadable(offset, detail, &mut found),
    });
    let kept = match end {
        Ok(End::All | End::Stopped) => None,
        Ok(End::Hung(detail)) => Some(Kept::Hung(detail)),
        Err(error) => {
            found.blocks_unknown = ledger.offsets().count() as u64;
            Some(Kept::Away(error))
        }
    };
    record.blocks_checked = found.blocks_checked;
    record.blocks_unwritten = found.blocks_unwritten;
    record.blocks_unknown = found.blocks_unknown;
    record.faults_total += found.faults_total;
    record.faults.extend(found.faults);
    kept
}

/// How reading back ended.
enum End {
    All,
    /// The user stopped it.
    Stopped,
    /// A read was not answered in time; says which.
    Hung(String),
}

/// Some blocks that were read, in the order of their offsets.
struct Piece {
    memory: buffers::Region,
    offsets: Vec<u64>,
    outcomes: Vec<std::io::Result<()>>,
}

/// Where blocks are read back from, and what they were written to.
enum Sources {
    Files(Vec<File>),
    /// And whether a flush is one of what other connections wrote.
    Export(Session, bool),
}

impl Sources {
    fn of(volume: &Volume) -> std::io::Result<Self> {
        match volume.export() {
            Some(export) => {
                let flushes = export.facts.flushes && export.facts.several_connections;
                export.session().map(|session| Self::Export(session, flushes))
            }
            None => volume.files.iter().map(File::try_clone).collect::<Result<_, _>>().map(Self::Files),
        }
    }
    fn read_exact_at(&mut self, bytes: &mut [u8], number: u64, offset: u64) -> std::io::Result<()> {
        match self {
            Self::Files(files) => files[number as usize].read_exact_at(bytes, offset),
            Self::Export(session, _) => session.read_exact_at(bytes, offset),
        }
    }
    fn make_durable(&mut self) -> std::io::Result<()> {
        match self {
            Self::Files(files) => files.iter().try_for_each(File::sync_data),
            // Only then is known that what other connections wrote is meant.
            Self::Export(session, true) => session.flush(),
            Self::Export(_, false) => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }
}

/// The blocks to read back, and how.
struct Reading<'a> {
    volume: &'a Volume,
    block: u64,
    hang_limit: Duration,
    control: &'a Control,
}

impl Reading<'_> {
    /// Reads block by block in a thread of its own, which can be left behind where the device does not answer.
    fn each_block(
        &self,
        offsets: Vec<u64>,
        mut each: impl FnMut(u64, Result<&[u8], String>),
    ) -> Result<End, EngineError> {
        let (volume, block) = (self.volume, self.block as usize);
        let in_piece = (PIECE.get() / self.block).max(1) as usize;
        let mut sources =
            Sources::of(volume).map_err(|e| EngineError::os(format!("read volume {} back", volume.facts.name), e))?;
        let (total, file_size) = (offsets.len(), volume.file_size.get());
        let (memory_back, memories) = mpsc::channel();
        for _ in 0..2 {
            // The receiver is in this function, so sending cannot fail.
            let _ = memory_back.send(buffers::Region::for_reading(block * in_piece)?);
        }
        let (read, pieces) = mpsc::channel();
        let beat = Arc::new(Heartbeat::default());
        let reader = {
            let beat = Arc::clone(&beat);
            std::thread::Builder::new().name("read back".into()).spawn(move || {
                for offsets in offsets.chunks(in_piece) {
                    // If either channel is closed, its listener has left.
                    let Ok(mut memory) = memories.recv() else { return };
                    let blocks = memory.bytes_mut(block * in_piece).chunks_exact_mut(block);
                    let read_one = |(bytes, &offset): (&mut [u8], &u64)| {
                        let (durable, length) = (false, block as u32);
                        let due_at = clock::now();
                        let request = Request { operation: Operation::Read, durable, length, offset, due_at };
                        beat.waits_for(&request, due_at);
                        let outcome = sources.read_exact_at(bytes, offset / file_size, offset % file_size);
                        beat.idles();
                        outcome
                    };
                    let outcomes = blocks.zip(offsets).map(read_one).collect();
                    if read.send(Piece { memory, offsets: offsets.to_vec(), outcomes }).is_err() {
                        return;
                    }
                }
            })
        };
        let reader = reader.map_err(|e| EngineError::os("start a thread to read back", e))?;
        let started_at = clock::now();
        let mut done = 0;
        while done < total {
            if self.control.stopped() {
                return Ok(End::Stopped);
            }
            self.control.report(Progress {
                phase: Phase::Verifying,
                elapsed: clock::now().since(started_at),
                done: Some(done as f64 / total as f64),
                ..Progress::default()
            });
            let from = clock::now();
            let mut piece: Piece = match pieces.recv_timeout(LOOK.into()) {
                Ok(piece) => piece,
                // The tool stood still, and the thread that reads with it.
                Err(RecvTimeoutError::Timeout) if clock::now().since(from) > HANG_GRACE => continue,
                Err(RecvTimeoutError::Timeout) => match beat.stuck(clock::now(), self.hang_limit) {
                    Some(held) => return Ok(End::Hung(held.describe(clock::now()))),
                    None => continue,
                },
                Err(RecvTimeoutError::Disconnected) => panic!("the thread that reads back ended at {done} of {total}"),
            };
            done += piece.offsets.len();
            let blocks = piece.memory.bytes_mut(block * in_piece).chunks_exact(block);
            for ((bytes, &offset), outcome) in blocks.zip(&piece.offsets).zip(piece.outcomes) {
                match outcome {
                    Ok(()) => each(offset, Ok(bytes)),
                    Err(error) => {
                        each(offset, Err(format!("reading {} back: {error}", Bytes::new(self.block))));
                    }
                }
            }
            // The reader is gone once it has read all.
            let _ = memory_back.send(piece.memory);
        }
        // It returns its files before the caller goes on; a panic in it was reported above.
        let _ = reader.join();
        Ok(End::All)
    }
}
