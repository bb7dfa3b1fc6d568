//! The contents of files: fetched in large pieces, verified, written, and what is right already is kept.

use super::plan::PlannedEntry;
use super::size::zeros;
use super::target::{OpenFolder, Target, open_file, set_attributes};
use crate::RepositoryError;
use crate::blob_index::{IdMap, IdSet};
use crate::pacing::{PacedStep, Pacing, Permission};
use crate::repository::Repository;
use crate::save::{EntryStat, Stamp};
use crate::storage::{FileKind, StoredFile};
use loadline_shelter_format::{Decompression, ObjectId, PackedBlob, decode_blob};
use loadline_units::Bytes;
use parking_lot::{Mutex, RwLock};
use rustix::fd::OwnedFd;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What one thread restores in one go.
const PORTION: u64 = 16 << 20;
/// A block of zeros of this length becomes a hole: file systems have no smaller ones.
const BLOCK: u64 = 4096;
/// Blobs of a pack with less than this between them are fetched together.
const GAP: u64 = 256 << 10;

/// A part of a file: its blobs from one on, to before another.
#[derive(Debug, Clone, Copy)]
struct FilePart {
    entry: usize,
    first: usize,
    end: usize,
    offset: u64,
}

/// Why contents of a file are not there.
#[derive(Debug)]
pub(super) enum FileFailure {
    Repository(RepositoryError),
    Target(Errno),
}

/// How far a file is.
#[derive(Default)]
struct FileState {
    parts: AtomicUsize,
    /// It was made here, so that nothing in it can be right already.
    is_new: AtomicBool,
    failure: Mutex<Option<FileFailure>>,
}

/// What came of the files.
pub(super) struct RestoredFiles {
    pub(super) failed: Vec<(usize, FileFailure)>,
    pub(super) stamps: BTreeMap<usize, Stamp>,
    pub(super) files: u64,
    pub(super) bytes_written: u64,
    pub(super) bytes_kept: u64,
}

/// Restores files by several threads.
pub(super) struct FileRestore<'a> {
    pub(super) repository: &'a Repository,
    pub(super) target: &'a Target,
    pub(super) pacing: &'a dyn Pacing,
    pub(super) entries: &'a [PlannedEntry],
    /// By entry: whether its folder is new, so that the file cannot be there.
    pub(super) is_fresh: &'a [bool],
    states: Vec<FileState>,
    portions: Vec<Vec<FilePart>>,
    next: AtomicUsize,
    stopped: AtomicBool,
    stamps: Mutex<BTreeMap<usize, Stamp>>,
    bytes_written: AtomicU64,
    bytes_kept: AtomicU64,
    /// Blobs of nothing but zeros, as far as they are known: they become holes, and are not fetched.
    zeros: RwLock<IdSet>,
}

impl<'a> FileRestore<'a> {
    /// Restores these entries, in this order.
    pub(super) fn new(
        repository: &'a Repository,
        target: &'a Target,
        pacing: &'a dyn Pacing,
        entries: &'a [PlannedEntry],
        is_fresh: &'a [bool],
        order: &[usize],
    ) -> Self {
        let states: Vec<FileState> = entries.iter().map(|_| FileState::default()).collect();
        let mut portions = Vec::new();
        let (mut portion, mut bytes) = (Vec::new(), 0);
        for entry in order.iter().copied() {
            let content = entries[entry].node.content.as_deref().unwrap_or_default();
            let length_of = |id: &ObjectId| repository.index.find(*id).map(|(_, blob)| u64::from(blob.plain_length()));
            if let Some(missing) = content.iter().find(|id| length_of(id).is_none()) {
                *states[entry].failure.lock() = Some(FileFailure::Repository(RepositoryError::MissingBlob(*missing)));
                continue;
            }
            let (mut first, mut offset, mut length) = (0, 0, 0);
            for number in 0..=content.len() {
                let next = content.get(number).and_then(length_of);
                let is_end = number == content.len();
                if is_end || (length > 0 && bytes + length + next.unwrap_or(0) > PORTION) {
                    if first < number || content.is_empty() {
                        states[entry].parts.fetch_add(1, Ordering::Relaxed);
                        portion.push(FilePart { entry, first, end: number, offset });
                    }
                    bytes += length + 4096;
                    (first, offset, length) = (number, offset + length, 0);
                    if bytes >= PORTION || !is_end {
                        portions.push(std::mem::take(&mut portion));
                        bytes = 0;
                    }
                }
                length += next.unwrap_or(0);
            }
        }
        portions.push(portion);
        Self {
            repository,
            target,
            pacing,
            entries,
            is_fresh,
            states,
            portions,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            stamps: Mutex::default(),
            bytes_written: AtomicU64::new(0),
            bytes_kept: AtomicU64::new(0),
            zeros: RwLock::new(zeros()),
        }
    }

    /// Restores with so many threads.
    pub(super) fn run(self, threads: usize) -> Result<RestoredFiles, RepositoryError> {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.work());
            }
        });
        if self.stopped.load(Ordering::Relaxed) {
            return Err(RepositoryError::Stopped);
        }
        let mut failed = Vec::new();
        for (entry, state) in self.states.into_iter().enumerate() {
            let failure = state.failure.into_inner();
            failed.extend(failure.map(|failure| (entry, failure)));
        }
        let stamps = self.stamps.into_inner();
        Ok(RestoredFiles {
            failed,
            files: stamps.len() as u64,
            stamps,
            bytes_written: self.bytes_written.into_inner(),
            bytes_kept: self.bytes_kept.into_inner(),
        })
    }

    fn work(&self) {
        let mut open = OpenFolder::default();
        let mut decompression = Decompression::default();
        while !self.stopped.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(portion) = self.portions.get(number) else { return };
            if self.portion(portion, &mut open, &mut decompression).is_err() {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    fn pace(&self, step: PacedStep) -> Result<(), RepositoryError> {
        match self.pacing.before(step) {
            Permission::Granted => Ok(()),
            Permission::Stop => Err(RepositoryError::Stopped),
        }
    }

    fn fail(&self, entry: usize, failure: FileFailure) {
        self.states[entry].failure.lock().get_or_insert(failure);
    }

    /// Restores a portion; an error only when all shall stop.
    fn portion(
        &self,
        portion: &[FilePart],
        open: &mut OpenFolder,
        decompression: &mut Decompression,
    ) -> Result<(), RepositoryError> {
        let content = |part: &FilePart| -> &[ObjectId] {
            self.entries[part.entry].node.content.as_deref().map_or(&[], |content| &content[part.first..part.end])
        };
        let mut files: Vec<Option<OwnedFd>> = Vec::with_capacity(portion.len());
        // What is there already, part by part: a bit for each blob that is right.
        let mut right: Vec<Vec<bool>> = Vec::with_capacity(portion.len());
        let mut wanted: IdMap<(ObjectId, PackedBlob)> = IdMap::default();
        for part in portion {
            let opened = self.open_part(part, open);
            let opened = opened.map_err(|error| self.fail(part.entry, FileFailure::Target(error))).ok();
            let blobs = content(part);
            let is_right = match &opened {
                Some(file) if !self.states[part.entry].is_new.load(Ordering::Relaxed) => {
                    self.compare(file, part.offset, blobs)
                }
                _ => vec![false; blobs.len()],
            };
            if opened.is_some() {
                let zeros = self.zeros.read();
                for (id, _) in blobs.iter().zip(&is_right).filter(|(id, is_right)| !**is_right && !zeros.contains(*id))
                {
                    wanted.extend(self.repository.index.find(*id).map(|found| (*id, found)));
                }
            }
            right.push(is_right);
            files.push(opened);
        }
        let blobs = self.fetch(wanted, decompression)?;
        let is_zero = |plain: &[u8]| plain.iter().all(|byte| *byte == 0);
        let zeros = blobs.iter().filter(|(_, plain)| plain.as_ref().is_ok_and(|plain| is_zero(plain)));
        let zeros: Vec<ObjectId> = zeros.map(|(id, _)| *id).collect();
        if !zeros.is_empty() {
            self.zeros.write().extend(zeros);
        }
        for ((part, file), is_right) in portion.iter().zip(files).zip(right) {
            let Some(file) = file else {
                self.part_done(part, None, open);
                continue;
            };
            let mut offset = part.offset;
            for (id, is_right) in content(part).iter().zip(is_right) {
                let length = self.repository.index.find(*id).map_or(0, |(_, blob)| u64::from(blob.plain_length()));
                let is_new = self.states[part.entry].is_new.load(Ordering::Relaxed);
                if is_right {
                    self.bytes_kept.fetch_add(length, Ordering::Relaxed);
                } else if self.zeros.read().contains(id) {
                    if let Err(error) = if is_new { Ok(()) } else { make_hole(&file, offset, length) } {
                        self.fail(part.entry, FileFailure::Target(error));
                        break;
                    }
                } else {
                    match blobs.get(id) {
                        Some(Ok(plain)) => {
                            self.pace(PacedStep::WriteTarget(Bytes::new(length)))?;
                            match write_around_holes(&file, plain, offset, is_new) {
                                Ok(written) => self.bytes_written.fetch_add(written, Ordering::Relaxed),
                                Err(error) => {
                                    self.fail(part.entry, FileFailure::Target(error));
                                    break;
                                }
                            };
                        }
                        Some(Err(error)) => {
                            self.fail(part.entry, FileFailure::Repository(error.again()));
                            break;
                        }
                        None => {
                            self.fail(part.entry, FileFailure::Repository(RepositoryError::MissingBlob(*id)));
                            break;
                        }
                    }
                }
                offset += length;
            }
            self.part_done(part, Some(file), open);
        }
        Ok(())
    }

    fn open_part(&self, part: &FilePart, open: &mut OpenFolder) -> Result<OwnedFd, Errno> {
        let entry = &self.entries[part.entry];
        let (folder, name) = self.target.place(&entry.path, open)?;
        let may_exist = !self.is_fresh[part.entry] || part.first > 0;
        let (file, is_new) = open_file(rustix::fd::AsFd::as_fd(&*folder), name, may_exist)?;
        if is_new {
            self.states[part.entry].is_new.store(true, Ordering::Relaxed);
        }
        Ok(file)
    }

    /// For each blob, whether these bytes are there already.
    fn compare(&self, file: &OwnedFd, start: u64, blobs: &[ObjectId]) -> Vec<bool> {
        let size = rustix::fs::fstat(file).map_or(0, |stat| stat.st_size as u64);
        let mut offset = start;
        let mut buffer = Vec::new();
        blobs
            .iter()
            .map(|id| {
                let length = self.repository.index.find(*id).map_or(0, |(_, blob)| u64::from(blob.plain_length()));
                let begin = offset;
                offset += length;
                if offset > size {
                    return false;
                }
                buffer.resize(length as usize, 0);
                read_at(file, &mut buffer, begin).is_ok() && ObjectId::of(&buffer) == *id
            })
            .collect()
    }

    /// Fetches blobs, neighbours together. One that cannot be had is an error of its own.
    fn fetch(
        &self,
        wanted: IdMap<(ObjectId, PackedBlob)>,
        decompression: &mut Decompression,
    ) -> Result<IdMap<Result<Vec<u8>, RepositoryError>>, RepositoryError> {
        let mut places: Vec<(ObjectId, PackedBlob)> = wanted.into_values().collect();
        places.sort_by_key(|(pack, blob)| (*pack, blob.offset));
        let mut blobs = IdMap::default();
        let mut rest = places.as_slice();
        while let Some((pack, first)) = rest.first().copied() {
            let mut end = first.end();
            let together = rest
                .iter()
                .take_while(|(other, blob)| {
                    let near = *other == pack
                        && u64::from(blob.offset) <= end + GAP
                        && blob.end() <= u64::from(first.offset) + 2 * PORTION;
                    end = if near { end.max(blob.end()) } else { end };
                    near
                })
                .count()
                .max(1);
            let (now, later) = rest.split_at(together);
            rest = later;
            let (start, end) = (u64::from(first.offset), now.iter().map(|(_, blob)| blob.end()).max().unwrap_or(0));
            self.pace(PacedStep::ReadRepository(Bytes::new(end - start)))?;
            let file = StoredFile::Named(FileKind::Pack, pack);
            let piece = self.repository.storage.read_range(file, start, end - start);
            for (_, blob) in now {
                let plain = match &piece {
                    Ok(bytes) => {
                        let begin = (u64::from(blob.offset) - start) as usize;
                        self.decode(file, blob, &bytes[begin..begin + blob.length as usize], decompression)
                    }
                    Err(_) => Err(RepositoryError::MissingBlob(blob.id)),
                };
                // Once more on its own: what failed may be the piece, or the way here.
                let plain = plain.or_else(|_| self.repository.read_blob(blob.id, decompression));
                blobs.insert(blob.id, plain);
            }
        }
        Ok(blobs)
    }

    fn decode(
        &self,
        file: StoredFile,
        blob: &PackedBlob,
        sealed: &[u8],
        decompression: &mut Decompression,
    ) -> Result<Vec<u8>, RepositoryError> {
        let mut plain = Vec::new();
        decode_blob(&self.repository.key, blob, sealed, decompression, &mut plain)
            .map_err(|source| RepositoryError::Damaged { file, source })?;
        Ok(plain)
    }

    /// A part is done; after the last one the file gets its length and attributes, or is removed if it is not whole.
    fn part_done(&self, part: &FilePart, file: Option<OwnedFd>, open: &mut OpenFolder) {
        let state = &self.states[part.entry];
        if state.parts.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let entry = &self.entries[part.entry];
        if state.failure.lock().is_some() {
            drop(file);
            // Half a file would look like a whole one to whom it belongs.
            if let Ok((folder, name)) = self.target.place(&entry.path, open) {
                let _ = super::target::remove(rustix::fd::AsFd::as_fd(&*folder), name);
            }
            return;
        }
        let Some(file) = file else { return };
        let content = entry.node.content.as_deref().unwrap_or_default();
        let length =
            |id: &ObjectId| self.repository.index.find(*id).map_or(0, |(_, blob)| u64::from(blob.plain_length()));
        let is_old = !state.is_new.load(Ordering::Relaxed);
        let finish = || -> Result<Stamp, Errno> {
            // What is new may end with a hole.
            rustix::fs::ftruncate(&file, content.iter().map(length).sum())?;
            set_attributes(&file, &entry.node, !is_old)?;
            let stat = EntryStat::of(&rustix::fs::fstat(&file)?).ok_or(Errno::INVAL)?;
            Ok(Stamp::of(&stat))
        };
        match finish() {
            Ok(stamp) => {
                self.stamps.lock().insert(part.entry, stamp);
            }
            Err(error) => self.fail(part.entry, FileFailure::Target(error)),
        }
    }
}

/// Writes the blocks that are not zero; the others become holes. How many bytes were written.
fn write_around_holes(file: &OwnedFd, bytes: &[u8], offset: u64, is_new: bool) -> Result<u64, Errno> {
    let (mut written, mut at) = (0, 0);
    // Blocks are those of the file.
    let end_of = |at: usize| bytes.len().min(at + (BLOCK - (offset + at as u64) % BLOCK) as usize);
    let is_zero = |at: usize| bytes[at..end_of(at)].iter().all(|byte| *byte == 0);
    while at < bytes.len() {
        let (start, is_hole) = (at, is_zero(at));
        while at < bytes.len() && is_zero(at) == is_hole {
            at = end_of(at);
        }
        let place = offset + start as u64;
        if !is_hole {
            write_at(file, &bytes[start..at], place)?;
            written += (at - start) as u64;
        } else if !is_new {
            make_hole(file, place, (at - start) as u64)?;
        }
    }
    Ok(written)
}

/// Makes a part of a file zero: a hole, where the file system has them.
fn make_hole(file: &OwnedFd, offset: u64, length: u64) -> Result<(), Errno> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, flags, offset, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; BLOCK as usize];
            let mut at = 0;
            while at < length {
                let piece = (length - at).min(BLOCK) as usize;
                write_at(file, &zeros[..piece], offset + at)?;
                at += piece as u64;
            }
            Ok(())
        }
        other => other,
    }
}

fn write_at(file: &OwnedFd, mut bytes: &[u8], mut offset: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, offset) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn read_at(file: &OwnedFd, mut bytes: &mut [u8], mut offset: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pread(file, &mut *bytes, offset) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => {
                bytes = &mut bytes[count..];
                offset += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
