//! Reads files: opened once, looked at before and after, cut into blobs.

use super::entry::{EntryStat, attributes};
use super::packing::Packer;
use super::pictured::PicturedFile;
use super::scan::WaitingFile;
use super::work::{FileBatch, LargeFile, Task, WorkQueue};
use super::{Chunking, FIXED_CHUNK};
use crate::RepositoryError;
use crate::pacing::PacedStep;
use loadline_shelter_format::{CHUNK_MAX, ExtendedAttribute, ObjectId, PackBuilder, RabinChunker, Timestamp};
use loadline_units::Bytes;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Advice, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a file that changes while it is read is read again.
const RETRIES: u32 = 3;
/// The first pause before that; each further one is three times as long.
const PAUSE: Duration = Duration::from_millis(10);
/// Files from this length on are read by all threads at once, if their chunks have a fixed size.
const SHARED_FROM: u64 = 64 << 20;
/// The part of such a file that a thread reads.
pub(crate) const SEGMENT: u64 = 16 << 20;

/// What became of a file.
#[derive(Debug)]
pub(crate) enum FileOutcome {
    /// It was read.
    Read {
        stat: EntryStat,
        content: Vec<ObjectId>,
        attributes: Vec<ExtendedAttribute>,
        /// After the last look.
        looked_at: Timestamp,
    },
    /// It changed each time while it was read.
    Changing,
    /// It is gone, or no file any more.
    Gone,
    /// It cannot be read.
    Unreadable(Errno),
}

/// What a thread gives back.
pub(crate) struct ReaderResult {
    pub(crate) outcomes: Vec<(usize, FileOutcome)>,
    pub(crate) rest: PackBuilder,
    pub(crate) bytes_read: u64,
}

/// One thread that reads files.
pub(crate) struct FileReader<'w, 's, 'r> {
    work: &'w WorkQueue,
    packer: Packer<'s, 'r>,
    chunking: Chunking,
    chunker: Option<RabinChunker>,
    buffer: Vec<u8>,
    /// The blob of a hole, once there was one.
    hole: Option<ObjectId>,
    outcomes: Vec<(usize, FileOutcome)>,
    bytes_read: u64,
}

enum ReadError {
    File(Errno),
    Save(RepositoryError),
}

impl From<Errno> for ReadError {
    fn from(error: Errno) -> Self {
        Self::File(error)
    }
}

impl From<RepositoryError> for ReadError {
    fn from(error: RepositoryError) -> Self {
        Self::Save(error)
    }
}

/// The time now, by the clock that stamps files.
pub(crate) fn now() -> Timestamp {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Timestamp::new(now.tv_sec, now.tv_nsec as u32)
}

pub(crate) fn open_without_atime(folder: impl AsFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::openat(folder.as_fd(), name, flags | OFlags::NOATIME, Mode::empty()) {
        // Only the owner may leave the time of the last access alone.
        Err(Errno::PERM) => rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty()),
        other => other,
    }
}

/// Whether a whole chunk of a file is a hole. A file that changes meanwhile is read again.
fn is_hole(file: &OwnedFd, offset: u64) -> bool {
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Ok(data) => data >= offset + FIXED_CHUNK,
        // There is nothing but a hole up to the end.
        Err(Errno::NXIO) => true,
        Err(_) => false,
    }
}

fn stat_of(file: impl AsFd) -> Result<EntryStat, Errno> {
    EntryStat::of(&rustix::fs::fstat(file)?).ok_or(Errno::INVAL)
}

impl<'w, 's, 'r> FileReader<'w, 's, 'r> {
    pub(crate) fn new(work: &'w WorkQueue, packer: Packer<'s, 'r>, chunking: Chunking) -> Self {
        Self {
            work,
            packer,
            chunking,
            chunker: None,
            buffer: Vec::new(),
            hole: None,
            outcomes: Vec::new(),
            bytes_read: 0,
        }
    }

    /// Reads files until there are no more.
    pub(crate) fn run(mut self) -> ReaderResult {
        while let Some(task) = self.work.take(self.packer.sink.ended()) {
            let done = match task {
                Task::Files(batch) => {
                    let done = self.read_batch(&batch);
                    self.work.batch_done();
                    done
                }
                Task::Segment(file, segment) => self.read_segment(&file, segment),
            };
            if let Err(error) = done {
                self.packer.sink.fail(error);
                break;
            }
        }
        ReaderResult { outcomes: self.outcomes, rest: self.packer.into_rest(), bytes_read: self.bytes_read }
    }

    fn read_batch(&mut self, batch: &FileBatch) -> Result<(), RepositoryError> {
        for waiting in &batch.files {
            let mut attempt = 0;
            let outcome = loop {
                match self.read_file(batch, waiting) {
                    Ok(None) => break None,
                    Ok(Some(FileOutcome::Changing)) if attempt < RETRIES => {
                        std::thread::sleep(PAUSE * 3_u32.pow(attempt));
                        attempt += 1;
                    }
                    Ok(Some(outcome)) => break Some(outcome),
                    Err(ReadError::File(Errno::NOENT | Errno::LOOP)) => break Some(FileOutcome::Gone),
                    Err(ReadError::File(error)) => break Some(FileOutcome::Unreadable(error)),
                    Err(ReadError::Save(error)) => return Err(error),
                }
            };
            self.outcomes.extend(outcome.map(|outcome| (waiting.number, outcome)));
        }
        Ok(())
    }

    /// `None` when all threads read this file together.
    fn read_file(&mut self, batch: &FileBatch, waiting: &WaitingFile) -> Result<Option<FileOutcome>, ReadError> {
        let file = open_without_atime(&batch.folder, &waiting.name, OFlags::empty())?;
        let before = stat_of(&file)?;
        if before.kind != loadline_shelter_format::NodeKind::File {
            return Ok(Some(FileOutcome::Gone));
        }
        if self.chunking == Chunking::Fixed && before.size >= SHARED_FROM {
            self.work.share(LargeFile::new(waiting, file, before));
            return Ok(None);
        }
        let content = match self.chunking {
            Chunking::Fixed => self.read_fixed(&file, 0, before.size)?,
            Chunking::ContentDefined => self.read_content_defined(&file, before.size)?,
        };
        Ok(Some(finish(&file, &before, content, waiting.seen_before, waiting.pictured.as_deref())?))
    }

    /// The blobs of a part of a file; `None` when the file is shorter.
    fn read_fixed(&mut self, file: &OwnedFd, start: u64, end: u64) -> Result<Option<Vec<ObjectId>>, ReadError> {
        let mut content = Vec::with_capacity((end - start).div_ceil(FIXED_CHUNK) as usize);
        let mut offset = start;
        while offset < end {
            let length = (end - offset).min(FIXED_CHUNK) as usize;
            if length as u64 == FIXED_CHUNK && is_hole(file, offset) {
                content.push(self.hole()?);
                offset += length as u64;
                continue;
            }
            self.buffer.clear();
            if !self.fill(file, offset, length)? {
                return Ok(None);
            }
            content.push(self.packer.add(&self.buffer)?);
            offset += length as u64;
        }
        Ok(Some(content))
    }

    /// The blob of a chunk that is nothing but a hole.
    fn hole(&mut self) -> Result<ObjectId, ReadError> {
        self.packer.sink.pace(PacedStep::ReadSource(Bytes::new(0)))?;
        if let Some(hole) = self.hole {
            return Ok(hole);
        }
        self.buffer.clear();
        self.buffer.resize(FIXED_CHUNK as usize, 0);
        let hole = self.packer.add(&self.buffer)?;
        self.hole = Some(hole);
        Ok(hole)
    }

    fn read_content_defined(&mut self, file: &OwnedFd, size: u64) -> Result<Option<Vec<ObjectId>>, ReadError> {
        let mut content = Vec::new();
        let mut offset = 0;
        self.buffer.clear();
        loop {
            let wanted = (size - offset).min((CHUNK_MAX - self.buffer.len()) as u64) as usize;
            if wanted > 0 && !self.fill(file, offset, wanted)? {
                return Ok(None);
            }
            offset += wanted as u64;
            let is_last = offset == size;
            let polynomial = self.packer.sink.repository.config.chunker_polynomial;
            let chunker = self.chunker.get_or_insert_with(|| RabinChunker::new(polynomial));
            let mut start = 0;
            while start < self.buffer.len() {
                match chunker.cut(&self.buffer[start..]) {
                    Some(length) => {
                        content.push(self.packer.add(&self.buffer[start..start + length])?);
                        start += length;
                    }
                    None if is_last => {
                        content.push(self.packer.add(&self.buffer[start..])?);
                        start = self.buffer.len();
                    }
                    None => break,
                }
            }
            self.buffer.drain(..start);
            if is_last {
                return Ok(Some(content));
            }
        }
    }

    /// Appends a part of a file to the buffer; `false` when the file ends before.
    fn fill(&mut self, file: &OwnedFd, offset: u64, length: usize) -> Result<bool, ReadError> {
        self.packer.sink.pace(PacedStep::ReadSource(Bytes::new(length as u64)))?;
        let start = self.buffer.len();
        self.buffer.resize(start + length, 0);
        let mut done = 0;
        while done < length {
            match rustix::io::pread(file, &mut self.buffer[start + done..], offset + done as u64) {
                Ok(0) => return Ok(false),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.bytes_read += length as u64;
        Ok(true)
    }

    fn read_segment(&mut self, large: &Arc<LargeFile>, segment: u64) -> Result<(), RepositoryError> {
        let start = segment * SEGMENT;
        let end = (start + SEGMENT).min(large.before.size);
        let read = match self.read_fixed(&large.file, start, end) {
            Err(ReadError::Save(error)) => return Err(error),
            Err(ReadError::File(error)) => Err(error),
            Ok(content) => Ok(content),
        };
        let is_whole = {
            let mut parts = large.parts.lock();
            parts.push((segment, read));
            parts.len() as u64 == large.segments()
        };
        if !is_whole {
            return Ok(());
        }
        let mut parts = std::mem::take(&mut *large.parts.lock());
        parts.sort_by_key(|(segment, _)| *segment);
        let joined: Result<Option<Vec<ObjectId>>, Errno> = parts
            .into_iter()
            .map(|(_, read)| read)
            .try_fold(Some(Vec::new()), |all, part| Ok(all.zip(part?).map(|(all, part)| [all, part].concat())));
        let outcome = joined.and_then(|content| {
            finish(&large.file, &large.before, content, large.seen_before, large.pictured.as_deref())
        });
        let outcome = match outcome {
            Ok(FileOutcome::Changing) if large.attempt < RETRIES => {
                std::thread::sleep(PAUSE * 3_u32.pow(large.attempt));
                match large.again(stat_of(&large.file)) {
                    Ok(again) => {
                        self.work.share(again);
                        self.work.finished(large);
                        return Ok(());
                    }
                    Err(error) => FileOutcome::Unreadable(error),
                }
            }
            Ok(outcome) => outcome,
            Err(error) => FileOutcome::Unreadable(error),
        };
        self.work.finished(large);
        self.outcomes.push((large.number, outcome));
        Ok(())
    }
}

/// Looks at a file again after it was read; without contents it became shorter.
fn finish(
    file: &OwnedFd,
    before: &EntryStat,
    content: Option<Vec<ObjectId>>,
    seen_before: bool,
    pictured: Option<&PicturedFile>,
) -> Result<FileOutcome, Errno> {
    let attributes = if pictured.is_none() { attributes(file)? } else { Vec::new() };
    let after = stat_of(file)?;
    let looked_at = now();
    if !seen_before && before.size > 0 {
        // Read for the first time: presumably nobody needs it in the page cache. A file that changes is in use.
        let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    }
    Ok(match (content, pictured) {
        (Some(content), None) if before.is_same_version(&after) => {
            FileOutcome::Read { stat: after, content, attributes, looked_at }
        }
        (Some(content), Some(pictured)) if before.size == pictured.stat.size => FileOutcome::Read {
            stat: pictured.stat,
            content,
            attributes: pictured.attributes.clone(),
            looked_at: pictured.taken,
        },
        _ => FileOutcome::Changing,
    })
}

impl LargeFile {
    fn again(&self, stat: Result<EntryStat, Errno>) -> Result<Self, Errno> {
        let file = self.file.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let (number, seen_before, pictured) = (self.number, self.seen_before, self.pictured.clone());
        let waiting = WaitingFile { number, name: Box::default(), seen_before, pictured };
        let mut again = Self::new(&waiting, file, stat?);
        again.attempt = self.attempt + 1;
        Ok(again)
    }

    pub(crate) fn take_segment(&self) -> Option<u64> {
        let segment = self.next.fetch_add(1, Ordering::Relaxed);
        (segment < self.segments()).then_some(segment)
    }

    pub(crate) fn segments(&self) -> u64 {
        self.before.size.div_ceil(SEGMENT).max(1)
    }
}
