//! A repository in a folder of this machine, in restic's layout.

use super::{FileKind, LeaseVersion, ListedFile, RepositoryStorage, StorageError, StorageErrorKind, StoredFile};
use loadline_shelter_format::ObjectId;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const LEASE: &str = "loadline/lease";
const LEASE_LOCK: &str = "loadline/lease.lock";
/// What restic puts into the names of files that are not yet whole.
const UNFINISHED: &str = "-tmp-";

/// A folder. Files are written beside their place, synced and renamed; the folder is synced too.
#[derive(Debug)]
pub struct LocalStorage {
    root: PathBuf,
    unfinished: AtomicU64,
}

impl LocalStorage {
    /// A repository in this folder, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), unfinished: AtomicU64::new(0) }
    }

    fn path(&self, file: StoredFile) -> PathBuf {
        self.root.join(file.path())
    }

    /// Writes beside, syncs, renames, syncs the folder.
    fn put(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(&self.root);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = self.unfinished.fetch_add(1, Ordering::Relaxed);
        let beside = folder.join(format!("{name}{UNFINISHED}{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = match options.open(&beside) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_folder(folder)?;
                options.open(&beside)?
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // An earlier process with our number was killed here.
                std::fs::remove_file(&beside)?;
                options.open(&beside)?
            }
            other => other?,
        };
        let written = file.set_permissions(Permissions::from_mode(0o600)).and_then(|()| {
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&beside, path)
        });
        if let Err(error) = written {
            let _ = std::fs::remove_file(&beside);
            return Err(error);
        }
        sync_folder(folder)
    }
}

/// Makes a folder and those above it for the owner alone, and syncs each entry.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    above.map_or(Ok(()), make_folder)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        other => other?,
    }
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    above.map_or(Ok(()), sync_folder)
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

fn listed(folder: &Path, files: &mut Vec<ListedFile>, below: bool) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if below && kind.is_dir() {
            listed(&entry.path(), files, false)?;
        }
        let id = entry.file_name().to_str().and_then(|name| name.parse::<ObjectId>().ok());
        if let (Some(id), true) = (id, kind.is_file()) {
            match entry.metadata() {
                Ok(metadata) => files.push(ListedFile { id, length: metadata.len() }),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

impl RepositoryStorage for LocalStorage {
    fn list(&self, kind: FileKind) -> Result<Vec<ListedFile>, StorageError> {
        let mut files = Vec::new();
        listed(&self.root.join(kind.folder()), &mut files, kind == FileKind::Pack)
            .map_err(|error| StorageError::of_io("list", kind.folder(), error))?;
        Ok(files)
    }

    fn read(&self, file: StoredFile) -> Result<Vec<u8>, StorageError> {
        std::fs::read(self.path(file)).map_err(|error| StorageError::of_io("read", file.path(), error))
    }

    fn read_range(&self, file: StoredFile, offset: u64, length: u64) -> Result<Vec<u8>, StorageError> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut source = File::open(self.path(file))?;
            source.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::with_capacity(usize::try_from(length.min(1 << 26)).unwrap_or(0));
            source.take(length).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == length { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
        };
        read().map_err(|error| StorageError::of_io("read a part of", file.path(), error))
    }

    fn write(&self, file: StoredFile, bytes: &[u8]) -> Result<(), StorageError> {
        self.put(&self.path(file), bytes).map_err(|error| StorageError::of_io("write", file.path(), error))
    }

    fn delete(&self, file: StoredFile) -> Result<(), StorageError> {
        match std::fs::remove_file(self.path(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StorageError::of_io("delete", file.path(), error)),
            _ => Ok(()),
        }
    }

    fn read_lease(&self) -> Result<Option<(Vec<u8>, LeaseVersion)>, StorageError> {
        match std::fs::read(self.root.join(LEASE)) {
            Ok(bytes) => {
                let version = LeaseVersion(ObjectId::of(&bytes).to_string());
                Ok(Some((bytes, version)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::of_io("read", LEASE, error)),
        }
    }

    fn replace_lease(&self, expected: Option<&LeaseVersion>, bytes: &[u8]) -> Result<LeaseVersion, StorageError> {
        let lock = || -> std::io::Result<File> {
            make_folder(&self.root.join("loadline"))?;
            let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(self.root.join(LEASE_LOCK))?;
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
            Ok(lock)
        };
        // Given back when it is dropped.
        let _lock = lock().map_err(|error| StorageError::of_io("lock", LEASE, error))?;
        let current = self.read_lease()?.map(|(_, version)| version);
        if current.as_ref() != expected {
            let reason = "somebody else has taken the lease";
            return Err(StorageError::new("replace", LEASE, StorageErrorKind::Conflict, reason));
        }
        self.put(&self.root.join(LEASE), bytes).map_err(|error| StorageError::of_io("write", LEASE, error))?;
        Ok(LeaseVersion(ObjectId::of(bytes).to_string()))
    }
}
