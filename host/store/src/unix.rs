//! Files as Linux and its kin show them: who may read them, which they are, what they were when they were read.

use crate::reading::Unwritable;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Which file it is, whatever its name: its device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileNumber(u64, u64);

impl FileNumber {
    /// Of the file at `path`, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self(found.dev(), found.ino()))
    }

    /// Of a file that is open.
    pub(crate) fn of_open(file: &File) -> Option<Self> {
        file.metadata().ok().map(|found| Self(found.dev(), found.ino()))
    }
}

/// Which file system it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskNumber(u64);

impl DiskNumber {
    /// Of the file or folder at `path`.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self(found.dev()))
    }
}

/// Folders that may be on another file system than a store.
pub(crate) fn other_folders() -> Vec<PathBuf> {
    vec![std::env::temp_dir(), "/var/tmp".into(), "/dev/shm".into()]
}

/// A file when it was read: its length, the time of its last change (s, ns) and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState(u64, i64, i64, u64);

impl FileState {
    /// # Errors
    /// The system's.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|found| Self(found.len(), found.mtime(), found.mtime_nsec(), found.ino()))
    }
}

/// Who else may open a file that is made beside a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileSharing(u32);

impl FileSharing {
    /// Its user alone.
    pub(crate) const PRIVATE: Self = Self(0o600);

    /// Those who may open this one.
    pub(crate) fn of(path: &Path) -> Self {
        std::fs::metadata(path).map_or(Self::PRIVATE, |found| Self(found.mode() & 0o666))
    }

    /// Opens a file that may be there already.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn open(self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(self.0).open(path)
    }
}

impl Unwritable {
    /// The reason why this user cannot write to the file at `path`, if the file exists.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
            Err(Errno::ROFS) => Some(Self::ReadOnlyFileSystem),
            Err(Errno::ACCESS | Errno::PERM) => Some(match std::fs::metadata(path) {
                Ok(found) if found.uid() == rustix::process::geteuid().as_raw() => Self::WriteProtected,
                _ => Self::OtherUser,
            }),
            _ => None,
        }
    }

    /// The same for the files that SQLite creates in its folder.
    pub(crate) fn of_folder(path: &Path) -> Option<Self> {
        match accessat(CWD, path.parent()?, Access::WRITE_OK, AtFlags::EACCESS) {
            Err(Errno::ROFS) => Some(Self::ReadOnlyFileSystem),
            Err(Errno::ACCESS | Errno::PERM) => Some(Self::Folder),
            _ => None,
        }
    }
}

/// Makes the folder and those that lead to it, for their user alone; leaves those that are there as they are.
///
/// # Errors
/// The system's.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes the file for its user alone, whatever the umask; SQLite's files beside it get its mode.
///
/// # Errors
/// One is there; the system's.
pub(crate) fn make_private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// The path without symbolic links, from the root on.
///
/// # Errors
/// Nothing is there; the system's.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// The file as a URI that SQLite reads, without parameters.
pub(crate) fn file_uri(path: &Path) -> String {
    let encoded: Vec<String> = path.as_os_str().as_bytes().iter().map(|byte| format!("%{byte:02x}")).collect();
    format!("file:{}", encoded.concat())
}

/// Whether the file system of a folder has no space left.
pub(crate) fn is_full(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|space| space.f_bavail == 0)
}
