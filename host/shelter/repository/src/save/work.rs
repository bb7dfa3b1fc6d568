//! What there is to read: batches of small files, and large files that all threads read together.

use super::entry::EntryStat;
use super::pictured::PicturedFile;
use super::scan::{Batch, WaitingFile};
use loadline_shelter_format::ObjectId;
use parking_lot::{Condvar, Mutex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How many batches wait at most: each keeps a folder open.
const BATCHES_MAX: usize = 64;
const LOOK: Duration = Duration::from_millis(50);

/// Some files of a folder.
pub(crate) struct FileBatch {
    pub(crate) folder: Arc<OwnedFd>,
    pub(crate) files: Batch,
}

/// The blobs of a part of a file; `None` when it was shorter than it had been.
type SegmentResult = Result<Option<Vec<ObjectId>>, Errno>;

/// A file that all threads read together.
pub(crate) struct LargeFile {
    pub(crate) number: usize,
    pub(crate) file: OwnedFd,
    pub(crate) before: EntryStat,
    pub(crate) seen_before: bool,
    pub(crate) pictured: Option<Box<PicturedFile>>,
    pub(crate) attempt: u32,
    pub(crate) next: AtomicU64,
    pub(crate) parts: Mutex<Vec<(u64, SegmentResult)>>,
}

impl LargeFile {
    pub(crate) fn new(waiting: &WaitingFile, file: OwnedFd, before: EntryStat) -> Self {
        Self {
            number: waiting.number,
            file,
            before,
            seen_before: waiting.seen_before,
            pictured: waiting.pictured.clone(),
            attempt: 0,
            next: AtomicU64::new(0),
            parts: Mutex::default(),
        }
    }
}

/// What a thread does next.
pub(crate) enum Task {
    Files(FileBatch),
    Segment(Arc<LargeFile>, u64),
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<FileBatch>,
    large: Vec<Arc<LargeFile>>,
    /// Batches that threads work on: large files may come out of them.
    taken: usize,
    is_closed: bool,
}

/// Between the thread that finds files and those that read them.
#[derive(Default)]
pub(crate) struct WorkQueue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl WorkQueue {
    /// Waits for room. `false` when all shall end.
    pub(crate) fn push(&self, batch: FileBatch, ended: &AtomicBool) -> bool {
        let mut waiting = self.waiting.lock();
        while waiting.batches.len() >= BATCHES_MAX {
            if ended.load(Ordering::Relaxed) {
                return false;
            }
            self.changed.wait_for(&mut waiting, LOOK);
        }
        waiting.batches.push_back(batch);
        self.changed.notify_all();
        true
    }

    /// No more files are found.
    pub(crate) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// All threads may read this file.
    pub(crate) fn share(&self, file: LargeFile) {
        self.waiting.lock().large.push(Arc::new(file));
        self.changed.notify_all();
    }

    /// Nothing more comes out of this file.
    pub(crate) fn finished(&self, file: &Arc<LargeFile>) {
        self.waiting.lock().large.retain(|other| !Arc::ptr_eq(other, file));
        self.changed.notify_all();
    }

    /// The next task of a thread, whose last one is done. `None` at the end.
    pub(crate) fn take(&self, ended: &AtomicBool) -> Option<Task> {
        let mut waiting = self.waiting.lock();
        loop {
            if ended.load(Ordering::Relaxed) {
                return None;
            }
            if let Some((file, segment)) =
                waiting.large.iter().find_map(|file| Some((Arc::clone(file), file.take_segment()?)))
            {
                return Some(Task::Segment(file, segment));
            }
            if let Some(batch) = waiting.batches.pop_front() {
                waiting.taken += 1;
                self.changed.notify_all();
                return Some(Task::Files(batch));
            }
            if waiting.is_closed && waiting.large.is_empty() && waiting.taken == 0 {
                return None;
            }
            self.changed.wait_for(&mut waiting, LOOK);
        }
    }

    /// A batch is done.
    pub(crate) fn batch_done(&self) {
        self.waiting.lock().taken -= 1;
        self.changed.notify_all();
    }
}
