//! A storage that misbehaves on demand, for tests of whatever saves and restores.

use super::{FileKind, LeaseVersion, ListedFile, RepositoryStorage, StorageError, StorageErrorKind, StoredFile};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a storage misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageFault {
    /// Every call from this one on fails, as if the process had been killed before it: calls count from 0.
    DiesAt(u64),
    /// The write with this number, counted from 0 over all changes, is lost although it was done: the answer was.
    AnswerLostAt(u64),
    /// Every so many calls fail once.
    FailsEvery(u64),
    /// No more than so many bytes can be written.
    Fills(u64),
    /// Each call takes so long.
    Slow(Duration),
    /// Reads of this file have one bit changed, at this place.
    FlipsBit(StoredFile, u64),
    /// Reads of this file are cut to this length, and parts beyond are not there.
    Truncates(StoredFile, u64),
    /// This file is not there.
    Loses(StoredFile),
}

/// Another storage with faults, which may be changed at any time.
#[derive(Debug)]
pub struct FaultyStorage {
    inner: Arc<dyn RepositoryStorage>,
    faults: Mutex<Vec<StorageFault>>,
    calls: AtomicU64,
    changes: AtomicU64,
    written: AtomicU64,
}

impl FaultyStorage {
    /// A storage that works, for now.
    #[must_use]
    pub fn new(inner: Arc<dyn RepositoryStorage>) -> Self {
        let faults = Mutex::default();
        Self { inner, faults, calls: AtomicU64::new(0), changes: AtomicU64::new(0), written: AtomicU64::new(0) }
    }

    /// Misbehaves like this from now on, and counts anew.
    pub fn set(&self, faults: &[StorageFault]) {
        *self.faults.lock() = faults.to_vec();
        self.calls.store(0, Ordering::Relaxed);
        self.changes.store(0, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
    }

    /// How many calls there were since.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn faults(&self) -> Vec<StorageFault> {
        self.faults.lock().clone()
    }

    fn call(&self, attempt: &'static str, what: &str) -> Result<(), StorageError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        for fault in self.faults() {
            let fails = match fault {
                StorageFault::DiesAt(at) => call >= at,
                StorageFault::FailsEvery(period) => call % period.max(1) == period.max(1) - 1,
                StorageFault::Slow(delay) => {
                    std::thread::sleep(delay);
                    false
                }
                _ => false,
            };
            if fails {
                return Err(StorageError::new(attempt, what, StorageErrorKind::Other, "a fault that was asked for"));
            }
        }
        Ok(())
    }

    /// Before a change of so many bytes: whether its answer will be lost.
    fn change(&self, attempt: &'static str, what: &str, length: u64) -> Result<bool, StorageError> {
        self.call(attempt, what)?;
        let change = self.changes.fetch_add(1, Ordering::Relaxed);
        let written = self.written.fetch_add(length, Ordering::Relaxed) + length;
        let faults = self.faults();
        if faults.iter().any(|fault| matches!(fault, StorageFault::Fills(limit) if written > *limit)) {
            self.written.fetch_sub(length, Ordering::Relaxed);
            return Err(StorageError::new(attempt, what, StorageErrorKind::Full, "full, as was asked for"));
        }
        Ok(faults.contains(&StorageFault::AnswerLostAt(change)))
    }

    fn answer(is_lost: bool, attempt: &'static str, what: &str) -> Result<(), StorageError> {
        if is_lost {
            return Err(StorageError::new(attempt, what, StorageErrorKind::TimedOut, "the answer was lost"));
        }
        Ok(())
    }

    /// What a read returns: `bytes` lie at `offset` of the file.
    fn spoil(&self, file: StoredFile, offset: u64, bytes: Vec<u8>) -> Result<Vec<u8>, StorageError> {
        let mut bytes = bytes;
        let end = offset + bytes.len() as u64;
        for fault in self.faults() {
            match fault {
                StorageFault::FlipsBit(other, place) if other == file && (offset..end).contains(&place) => {
                    bytes[(place - offset) as usize] ^= 1;
                }
                StorageFault::Truncates(other, length) if other == file && end > length => {
                    if offset > 0 {
                        let reason = "cut off, as was asked for";
                        return Err(StorageError::new("read", file.path(), StorageErrorKind::Other, reason));
                    }
                    bytes.truncate(length as usize);
                }
                StorageFault::Loses(other) if other == file => {
                    let reason = "lost, as was asked for";
                    return Err(StorageError::new("read", file.path(), StorageErrorKind::Absent, reason));
                }
                _ => {}
            }
        }
        Ok(bytes)
    }
}

impl RepositoryStorage for FaultyStorage {
    fn list(&self, kind: FileKind) -> Result<Vec<ListedFile>, StorageError> {
        self.call("list", kind.folder())?;
        self.inner.list(kind)
    }

    fn read(&self, file: StoredFile) -> Result<Vec<u8>, StorageError> {
        self.call("read", &file.path())?;
        self.spoil(file, 0, self.inner.read(file)?)
    }

    fn read_range(&self, file: StoredFile, offset: u64, length: u64) -> Result<Vec<u8>, StorageError> {
        self.call("read a part of", &file.path())?;
        let bytes = self.spoil(file, offset, self.inner.read_range(file, offset, length)?)?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        Err(StorageError::new("read a part of", file.path(), StorageErrorKind::Other, "cut off, as was asked for"))
    }

    fn write(&self, file: StoredFile, bytes: &[u8]) -> Result<(), StorageError> {
        let is_lost = self.change("write", &file.path(), bytes.len() as u64)?;
        self.inner.write(file, bytes)?;
        Self::answer(is_lost, "write", &file.path())
    }

    fn delete(&self, file: StoredFile) -> Result<(), StorageError> {
        let is_lost = self.change("delete", &file.path(), 0)?;
        self.inner.delete(file)?;
        Self::answer(is_lost, "delete", &file.path())
    }

    fn read_lease(&self) -> Result<Option<(Vec<u8>, LeaseVersion)>, StorageError> {
        self.call("read", "the lease")?;
        self.inner.read_lease()
    }

    fn replace_lease(&self, expected: Option<&LeaseVersion>, bytes: &[u8]) -> Result<LeaseVersion, StorageError> {
        let is_lost = self.change("replace", "the lease", bytes.len() as u64)?;
        let version = self.inner.replace_lease(expected, bytes)?;
        Self::answer(is_lost, "replace", "the lease")?;
        Ok(version)
    }

    fn writers(&self) -> usize {
        self.inner.writers()
    }
}
