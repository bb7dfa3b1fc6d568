//! Where a repository is, and the passphrase that opens it.

use crate::durable::{read_bounded, write_for_owner};
use crate::error::ShelterError;
use loadline_shelter_policy::start::DestinationSeen;
use loadline_shelter_repository::{FileKind, RepositoryError, RepositoryStorage, StorageErrorKind, StoredFile};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a passphrase, at most.
const PASSPHRASE_MAX: u64 = 4096;
/// The passphrase of a repository in a folder, if the configuration names no file: who has the disk has both.
const OWN_PASSPHRASE: &str = "loadline/passphrase";
/// What a folder may have in which nothing was ever saved: what an interrupted creation left, and what a new file system has.
const UNFINISHED: [&str; 7] = ["data", "index", "keys", "loadline", "locks", "lost+found", "snapshots"];

/// The file with a passphrase.
#[derive(Debug, Clone)]
pub(crate) struct PassphraseFile {
    pub(crate) path: PathBuf,
    /// It is made with the repository, for the configuration names none.
    pub(crate) is_own: bool,
}

impl PassphraseFile {
    /// The one that is named, or the own one of a repository in a folder.
    pub(crate) fn of(named: Option<&str>, folder: Option<&Path>) -> Self {
        match (named, folder) {
            (None, Some(folder)) => Self { path: folder.join(OWN_PASSPHRASE), is_own: true },
            (named, _) => Self { path: PathBuf::from(named.unwrap_or_default()), is_own: false },
        }
    }
}

/// Where a repository is, and what opens it.
#[derive(Debug, Clone)]
pub(crate) struct RepositoryPlace {
    pub(crate) storage: Arc<dyn RepositoryStorage>,
    /// As messages name it: a folder or an address.
    pub(crate) name: PathBuf,
    /// The folder of one that is local. It must be there before anything is written.
    pub(crate) folder: Option<PathBuf>,
    /// Name of the shelter.
    pub(crate) source: String,
    /// Where the disk is mounted.
    pub(crate) disk: PathBuf,
    /// The file with the passphrase.
    pub(crate) secret: PassphraseFile,
}

impl RepositoryPlace {
    /// The passphrase, without the line's end.
    pub(crate) fn passphrase(&self) -> Result<Vec<u8>, ShelterError> {
        let path = &self.secret.path;
        let bytes = read_bounded(path, PASSPHRASE_MAX).map_err(ShelterError::io("read the passphrase in", path))?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let mut bytes = bytes.ok_or_else(missing).map_err(ShelterError::io("read the passphrase in", path))?;
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        if bytes.is_empty() {
            let reason = "it has no passphrase in its first line".to_owned();
            return Err(ShelterError::Record { path: path.clone(), reason });
        }
        Ok(bytes)
    }

    /// The same for a new repository: its own passphrase is made, unless an interrupted creation left one.
    pub(crate) fn make_passphrase(&self) -> Result<Vec<u8>, ShelterError> {
        let path = &self.secret.path;
        if self.secret.is_own && !path.exists() {
            let drawn = Path::new("/proc/sys/kernel/random/uuid");
            let draw = || fs::read_to_string(drawn).map_err(ShelterError::io("read", drawn));
            let text = format!("{}-{}\n", draw()?.trim(), draw()?.trim());
            let folder = path.parent().unwrap_or(path);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(ShelterError::io("make the folder", folder))?;
            write_for_owner(path, text.as_bytes()).map_err(ShelterError::io("write", path))?;
        }
        self.passphrase()
    }

    pub(crate) fn has_config(&self) -> Result<bool, RepositoryError> {
        match self.storage.read(StoredFile::Config) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == StorageErrorKind::Absent => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What is there if there is no repository.
    pub(crate) fn without_repository(&self) -> Result<DestinationSeen, String> {
        let foreign = || Ok(DestinationSeen::Foreign("files that are no repository".to_owned()));
        if let Some(folder) = &self.folder {
            for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
                let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
                if !UNFINISHED.iter().any(|name| entry.file_name() == *name) {
                    return foreign();
                }
            }
        }
        // Keys alone are what an interrupted creation leaves.
        for kind in [FileKind::Snapshot, FileKind::Index, FileKind::Pack] {
            let listed = self.storage.list(kind).map_err(|error| format!("{}: {error}", self.name.display()))?;
            if !listed.is_empty() {
                return foreign();
            }
        }
        Ok(DestinationSeen::Unused { repository: String::new() })
    }

    /// Whether a folder that is missing may be made: the one above it is there.
    pub(crate) fn can_be_made(&self) -> bool {
        let is_new = |folder: &Path| !folder.exists() && folder.parent().is_some_and(Path::is_dir);
        self.folder.as_deref().is_some_and(is_new)
    }

    /// Makes the place ready for a new repository: keys of an interrupted creation would open with the same passphrase, and fit nothing.
    pub(crate) fn prepare(&self) -> Result<(), RepositoryError> {
        for key in self.storage.list(FileKind::Key)? {
            self.storage.delete(StoredFile::Named(FileKind::Key, key.id))?;
        }
        Ok(())
    }
}
