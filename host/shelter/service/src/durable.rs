//! Small files that are whole or not there, whatever happens; and the time of day that they carry.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a file so that after a power cut its old or its new contents are there, and nothing else.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, 0o666)
}

/// The same; nobody but its owner may read it.
pub(crate) fn write_for_owner(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, 0o600)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut other = name.to_os_string();
    other.push(".new");
    let other = folder.join(other);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&other)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&other, path)?;
    sync_folder(folder)
}

/// Makes what was created, renamed or removed in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Reads a small file; `None` if there is none.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read as _;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(Some(bytes)) }
}

/// A lock on a file. It is given back by a call and not by closing the file: a program that another thread just started has a copy of the
/// open file, and with it the lock, until it runs.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// The lock; the file again if somebody else has it.
    pub(crate) fn take(file: File) -> Result<Self, File> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(_) => Err(file),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Now, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_back_though_another_process_has_a_copy_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let file = open();
        // As a process has it between fork and exec.
        let copy = file.try_clone().unwrap();
        let lock = FileLock::take(file).unwrap();
        assert!(FileLock::take(open()).is_err());
        drop(lock);
        assert!(FileLock::take(open()).is_ok());
        drop(copy);
    }
}
