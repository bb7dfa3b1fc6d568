//! One process at a time adds trials to a run: a lock file beside the store, locked with `flock`.
//!
//! The kernel releases the lock when the process ends, in any way; the file that is left then means nothing.

use crate::unix::{FileNumber, FileSharing};
use crate::{Store, StoreError};
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Attempts at a lock file that others remove again and again.
const ATTEMPTS_MAX: u32 = 1_000;
/// Bytes of a lock file that are read: a process id.
const PID_MAX: u64 = 32;

/// The right to add trials to a run; given back when dropped, or when the process ends in any way.
#[derive(Debug)]
#[must_use = "the run is free again as soon as this is dropped"]
pub struct Claim {
    lock: PathBuf,
    /// Open during the claim: the lock lives as long as this.
    _file: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Removed while still locked, so that no other process's lock file is removed. If it stayed, it would do no
        // harm.
        let _ = std::fs::remove_file(&self.lock);
    }
}

impl Store {
    /// Claims the run, new or stored, for this process. Claim before [`Store::begin_run`], and before
    /// [`Store::finished_trials`] of a run to resume.
    ///
    /// # Errors
    /// [`StoreError::Claimed`] if this process or another has claimed it. [`StoreError::Lock`] if the folder or its
    /// file system does not allow it. [`StoreError::Unwritable`] for a read-only store.
    pub fn claim(&self, run: &str) -> Result<Claim, StoreError> {
        check_id(run)?;
        self.check_writable()?;
        let mut name = self.path().as_os_str().to_owned();
        name.push(format!(".{run}.lock"));
        // A process that may write the store may take over the lock of a process that was killed.
        acquire(run, Path::new(&name), FileSharing::of(self.path()))
    }
}

fn acquire(run: &str, lock: &Path, sharing: FileSharing) -> Result<Claim, StoreError> {
    for _ in 0..ATTEMPTS_MAX {
        let opened = sharing.open(lock).map_err(|source| failed(run, lock, source))?;
        if let Some(claim) = take(run, opened, lock)? {
            return Ok(claim);
        }
    }
    Err(failed(run, lock, std::io::Error::other("other processes keep claiming and releasing it")))
}

/// Locks the file opened; `None` when it is not the one at `lock` any more.
fn take(run: &str, mut file: File, lock: &Path) -> Result<Option<Claim>, StoreError> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = (&mut file).take(PID_MAX).read_to_string(&mut pid);
            return Err(StoreError::Claimed {
                run: run.to_owned(),
                pid: pid.trim().parse().ok(),
                lock: lock.to_owned(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(failed(run, lock, source)),
    }
    // The former holder may have removed the file after this process opened it and before it locked it. Then another
    // process can lock a new file of that name, and this lock is worth nothing.
    if !is_at(&file, lock) {
        return Ok(None);
    }
    // The process id only serves the message of a refusal.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(Some(Claim { lock: lock.to_owned(), _file: file }))
}

fn failed(run: &str, lock: &Path, source: std::io::Error) -> StoreError {
    StoreError::Lock { run: run.to_owned(), lock: lock.to_owned(), source }
}

fn is_at(file: &File, path: &Path) -> bool {
    FileNumber::of_open(file).is_some_and(|open| FileNumber::at(path) == Some(open))
}

/// A run's id becomes part of a file name and is typed by people.
pub(crate) fn check_id(run: &str) -> Result<(), StoreError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if run.is_empty() || run == "last" || run.len() > 128 || !run.chars().all(fits) {
        return Err(StoreError::BadId { run: run.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_on_a_removed_file_is_no_claim() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("store.db.a.lock");
        let holder = acquire("a", &lock, FileSharing::PRIVATE).unwrap();
        let opened_before = FileSharing::PRIVATE.open(&lock).unwrap();
        let opened_too = FileSharing::PRIVATE.open(&lock).unwrap();
        drop(holder);
        assert!(take("a", opened_before, &lock).unwrap().is_none(), "nothing is at that path");
        let holder = acquire("a", &lock, FileSharing::PRIVATE).unwrap();
        assert!(take("a", opened_too, &lock).unwrap().is_none(), "another file is at that path");
        assert!(matches!(acquire("a", &lock, FileSharing::PRIVATE), Err(StoreError::Claimed { .. })));
        drop(holder);
    }
}
