//! Files as Windows shows them: less is known of who may read them.

use crate::reading::Unwritable;
use same_file::Handle;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Before a path that Windows takes as it stands, and before one of another machine.
const AS_IT_STANDS: &str = r"\\?\";
const OF_ANOTHER: &str = r"UNC\";

/// Which file it is, whatever its name: a hash of its disk's number and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileNumber(u64);

impl FileNumber {
    /// Of the file at `path`, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Handle::from_path(path).ok().as_ref().map(Self::of)
    }

    /// Of a file that is open.
    pub(crate) fn of_open(file: &File) -> Option<Self> {
        Handle::from_file(file.try_clone().ok()?).ok().as_ref().map(Self::of)
    }

    fn of(handle: &Handle) -> Self {
        let mut hasher = DefaultHasher::new();
        handle.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Which file system it is: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskNumber;

impl DiskNumber {
    /// Of the file or folder at `path`.
    pub(crate) const fn of(_: &Path) -> Option<Self> {
        None
    }
}

/// Folders that may be on another file system than a store: none is known.
pub(crate) const fn other_folders() -> Vec<PathBuf> {
    Vec::new()
}

/// A file when it was read: its length and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState(u64, Option<SystemTime>);

impl FileState {
    /// # Errors
    /// The system's.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|found| Self(found.len(), found.modified().ok()))
    }
}

/// Who else may open a file that is made beside a store: as its folder says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileSharing;

impl FileSharing {
    /// Those who may open this one.
    pub(crate) const fn of(_: &Path) -> Self {
        Self
    }

    /// Opens a file that may be there already.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn open(self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    }
}

impl Unwritable {
    /// The reason why this user cannot write to the file at `path`, if the file exists.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        if found.permissions().readonly() {
            return Some(Self::WriteProtected);
        }
        match OpenOptions::new().write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Some(Self::OtherUser),
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnlyFileSystem),
            _ => None,
        }
    }

    /// The same for the files that SQLite creates in its folder: SQLite says so.
    pub(crate) const fn of_folder(_: &Path) -> Option<Self> {
        None
    }
}

/// Makes the folder and those that lead to it; leaves those that are there as they are.
///
/// # Errors
/// The system's.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Makes the file.
///
/// # Errors
/// One is there; the system's.
pub(crate) fn make_private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path).map(drop)
}

/// The path without symbolic links, from the root or the drive on, as people write it.
///
/// # Errors
/// Nothing is there; the system's.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = std::fs::canonicalize(path)?;
    let Some(plain) = real.to_str().and_then(|text| text.strip_prefix(AS_IT_STANDS)) else { return Ok(real) };
    Ok(plain.strip_prefix(OF_ANOTHER).map_or_else(|| PathBuf::from(plain), |rest| PathBuf::from(format!(r"\\{rest}"))))
}

/// The file as a URI that SQLite reads, without parameters.
pub(crate) fn file_uri(path: &Path) -> String {
    let encoded: Vec<String> = path.to_string_lossy().bytes().map(|byte| format!("%{byte:02x}")).collect();
    format!("file:{}", encoded.concat())
}

/// Whether the file system of a folder has no space left: SQLite says so.
pub(crate) const fn is_full(_: &Path) -> bool {
    false
}
