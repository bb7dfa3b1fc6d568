//! Where a repository lies: what it asks of a folder or an object store.

mod faulty;
mod local;
#[cfg(feature = "shelter")]
mod object;

pub use faulty::{FaultyStorage, StorageFault};
pub use local::LocalStorage;
#[cfg(feature = "shelter")]
pub use object::{ObjectStorage, RetryBounds, StoreAccess, StoreVariables};

use loadline_shelter_format::ObjectId;
use std::fmt;

/// The kinds of files that are named by a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// Keys, sealed by passwords.
    Key,
    /// Snapshots.
    Snapshot,
    /// Which blob lies where.
    Index,
    /// Blobs.
    Pack,
    /// Marks of restic that it is at work.
    Lock,
}

impl FileKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Key, Self::Snapshot, Self::Index, Self::Pack, Self::Lock];

    /// The folder of restic's layout.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Key => "keys",
            Self::Snapshot => "snapshots",
            Self::Index => "index",
            Self::Pack => "data",
            Self::Lock => "locks",
        }
    }
}

/// A file of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoredFile {
    /// What the repository is.
    Config,
    /// A file that is named by a hash.
    Named(FileKind, ObjectId),
}

impl StoredFile {
    /// Its path in restic's layout.
    #[must_use]
    pub fn path(self) -> String {
        match self {
            Self::Config => "config".to_owned(),
            Self::Named(FileKind::Pack, id) => format!("data/{id:.2}/{id}"),
            Self::Named(kind, id) => format!("{}/{id}", kind.folder()),
        }
    }
}

impl fmt::Display for StoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

/// A file as a listing has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name.
    pub id: ObjectId,
    /// How long it is.
    pub length: u64,
}

/// What a lease was when it was read: an opaque tag of the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseVersion(pub String);

/// The kinds of failures that callers tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageErrorKind {
    /// The file is not there.
    Absent,
    /// Somebody else changed the lease.
    Conflict,
    /// The storage is full.
    Full,
    /// The storage does not let us.
    Denied,
    /// No answer in time.
    TimedOut,
    /// Anything else.
    Other,
}

/// A storage that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempt} {what}: {source}")]
pub struct StorageError {
    /// What was attempted.
    pub attempt: &'static str,
    /// On what: a path within the repository.
    pub what: String,
    /// The kind of failure.
    pub kind: StorageErrorKind,
    /// The reason.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl StorageError {
    /// A failure of the operating system.
    #[must_use]
    pub fn of_io(attempt: &'static str, what: impl Into<String>, source: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let kind = match source.kind() {
            ErrorKind::NotFound => StorageErrorKind::Absent,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageErrorKind::Full,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StorageErrorKind::Denied,
            ErrorKind::TimedOut => StorageErrorKind::TimedOut,
            _ => StorageErrorKind::Other,
        };
        Self { attempt, what: what.into(), kind, source: Box::new(source) }
    }

    /// A failure with a reason in words.
    #[must_use]
    pub fn new(
        attempt: &'static str,
        what: impl Into<String>,
        kind: StorageErrorKind,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { attempt, what: what.into(), kind, source: source.into() }
    }
}

/// Requests to a storage that is not of this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageTraffic {
    /// All that were sent, repetitions included.
    pub requests: u64,
    /// Those without an answer, or with an error of the server: each is repeated within bounds.
    pub failed: u64,
    /// Those that the server put off because there were too many.
    pub throttled: u64,
}

/// Where a repository lies. All methods are called from several threads.
pub trait RepositoryStorage: Send + Sync + fmt::Debug {
    /// All files of a kind.
    ///
    /// # Errors
    /// The storage fails. A folder that is not there has no files.
    fn list(&self, kind: FileKind) -> Result<Vec<ListedFile>, StorageError>;

    /// A whole file.
    ///
    /// # Errors
    /// It is not there, or the storage fails.
    fn read(&self, file: StoredFile) -> Result<Vec<u8>, StorageError>;

    /// Exactly this part of a file.
    ///
    /// # Errors
    /// The part is not there, or the storage fails.
    fn read_range(&self, file: StoredFile, offset: u64, length: u64) -> Result<Vec<u8>, StorageError>;

    /// A whole new file: afterwards it is there as a whole and survives a power cut, or it is not there.
    ///
    /// # Errors
    /// The storage fails. Then the file may be there or not, but never a part of it.
    fn write(&self, file: StoredFile, bytes: &[u8]) -> Result<(), StorageError>;

    /// Removes a file; one that is not there is removed already.
    ///
    /// # Errors
    /// The storage fails.
    fn delete(&self, file: StoredFile) -> Result<(), StorageError>;

    /// The lease of who may write, if there was ever one.
    ///
    /// # Errors
    /// The storage fails.
    fn read_lease(&self) -> Result<Option<(Vec<u8>, LeaseVersion)>, StorageError>;

    /// Replaces the lease if it still is what was read; with `None`, if there is none yet.
    ///
    /// # Errors
    /// [`StorageErrorKind::Conflict`] when somebody else replaced it; otherwise the storage fails.
    fn replace_lease(&self, expected: Option<&LeaseVersion>, bytes: &[u8]) -> Result<LeaseVersion, StorageError>;

    /// How many files are best written at once.
    fn writers(&self) -> usize {
        1
    }

    /// Requests so far; `None` for a storage of this machine.
    fn traffic(&self) -> Option<StorageTraffic> {
        None
    }
}
