//! Where a shelter's data is saved, and what is done there besides saving.

use super::{Shelter, read_bounded};
use crate::durable::{now_ns, write_durably};
use crate::error::ShelterError;
use crate::repository_copy::{RepositoryCopy, Upkeep};
use crate::repository_place::{PassphraseFile, RepositoryPlace};
use loadline_shelter_policy::config::Destination;
use loadline_shelter_policy::start::DestinationSeen;
use loadline_shelter_policy::upkeep::UpkeepSchedule;
use loadline_shelter_repository::{
    LocalStorage, ObjectStorage, Pacing, RepositoryError, RepositoryStorage, StorageError, StorageTraffic, StoreAccess,
    StoreVariables,
};
use loadline_units::Bytes;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of the state folder that have a time of day.
pub(crate) const DRILL: &str = "drill";
const PRUNED: &str = "pruned";
/// What the service did besides saving.
const SCHEDULE: &str = "upkeep.json";

impl Shelter {
    /// Where saved data is; `None` if there is no destination.
    pub(crate) fn place(&self) -> Result<Option<RepositoryPlace>, ShelterError> {
        let (name, folder) = match &self.config.destination {
            None => return Ok(None),
            Some(Destination::FolderRepository(path)) => (PathBuf::from(path), Some(PathBuf::from(path))),
            Some(Destination::ObjectStore { url, .. }) => (PathBuf::from(url), None),
        };
        let secret = PassphraseFile::of(self.config.passphrase_file.as_deref(), folder.as_deref());
        if self.probe.is_on_disk(&self.config, &secret.path) {
            return Err(ShelterError::Unsupported(format!(
                "the passphrase file {} is on the disk that forgets: with it the saved data would be lost too",
                secret.path.display()
            )));
        }
        let storage = self.storage()?;
        let (source, disk) = (self.config.name.clone(), self.disk().to_path_buf());
        Ok(Some(RepositoryPlace { storage, name, folder, source, disk, secret }))
    }

    /// The storage of a repository. It is opened once: an object store has connections that are kept.
    fn storage(&self) -> Result<Arc<dyn RepositoryStorage>, ShelterError> {
        if let Some(storage) = self.storage.get() {
            return Ok(Arc::clone(storage));
        }
        let storage: Arc<dyn RepositoryStorage> = match &self.config.destination {
            Some(Destination::ObjectStore { url, endpoint, credentials_file }) => {
                Arc::new(self.object_store(url, endpoint.as_ref(), credentials_file.as_ref())?)
            }
            Some(Destination::FolderRepository(path)) => Arc::new(LocalStorage::new(Path::new(path))),
            None => return Err(ShelterError::Unsupported("the configuration has no destination".to_owned())),
        };
        Ok(Arc::clone(self.storage.get_or_init(|| storage)))
    }

    fn object_store(
        &self,
        url: &str,
        endpoint: Option<&String>,
        credentials_file: Option<&String>,
    ) -> Result<ObjectStorage, ShelterError> {
        let failed = |error: StorageError| ShelterError::Repository {
            path: PathBuf::from(url),
            source: Box::new(RepositoryError::from(error)),
        };
        let variables = match credentials_file {
            Some(path) => StoreVariables::read(Path::new(path)).map_err(failed)?,
            None => StoreVariables::from_environment(),
        };
        let forgotten = variables.files().into_iter().find(|file| self.probe.is_on_disk(&self.config, file));
        if let Some(file) = forgotten {
            return Err(ShelterError::Unsupported(format!(
                "the credentials file {} is on the disk that forgets: name one on another disk",
                file.display()
            )));
        }
        let access = StoreAccess { endpoint: endpoint.cloned(), ..StoreAccess::new(variables) };
        ObjectStorage::open(url, &access).map_err(failed)
    }

    /// Requests to the destination so far; `None` if it is a folder.
    pub(crate) fn traffic(&self) -> Option<StorageTraffic> {
        self.storage.get()?.traffic()
    }

    /// What the marker says who writes.
    #[cfg(test)]
    pub(crate) fn claim(&self) -> String {
        self.marker.as_ref().map(|marker| marker.claim.clone()).unwrap_or_default()
    }

    /// The destination, once it is open.
    #[cfg(test)]
    pub(crate) fn copy_mut(&mut self) -> Option<&mut RepositoryCopy> {
        self.copy.as_deref_mut()
    }

    /// The configuration, to be changed by a test.
    #[cfg(test)]
    pub(crate) fn config_mut(&mut self) -> &mut loadline_shelter_policy::config::ShelterConfig {
        &mut self.config
    }

    /// Uses another storage than the configured one: one that misbehaves.
    #[cfg(test)]
    pub(crate) fn lie_in(&mut self, storage: Arc<dyn RepositoryStorage>) {
        self.storage = storage.into();
    }

    /// The passphrase file and its mode, if others than its owner may read it.
    #[must_use]
    pub fn readable_passphrase(&self) -> Option<(PathBuf, u32)> {
        let path = self.place().ok()??.secret.path;
        let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then_some((path, mode))
    }

    /// What the destination has.
    pub(super) fn destination(&self) -> Result<DestinationSeen, ShelterError> {
        match self.place()? {
            None => Ok(DestinationSeen::NotWanted),
            Some(place) => {
                let (seen, opened) = RepositoryCopy::look(&place);
                *self.opened.lock() = opened.map(Box::new);
                Ok(seen)
            }
        }
    }

    /// A repository, opened anew or by the last look.
    pub(crate) fn repository(&self, place: &RepositoryPlace) -> Result<Box<RepositoryCopy>, ShelterError> {
        let opened = self.opened.lock().take();
        match opened {
            Some(opened) => Ok(opened),
            None => Ok(Box::new(RepositoryCopy::open_or_create(place)?)),
        }
    }

    /// Removes generations that no rule keeps.
    pub(crate) fn forget(&mut self) -> Result<Upkeep, ShelterError> {
        let (Some(copy), Some(marker)) = (&mut self.copy, &self.marker) else {
            return Ok(Upkeep::default());
        };
        Ok(Upkeep { forgotten: copy.forget(self.config.keep, &marker.claim)?, ..Upkeep::default() })
    }

    /// Removes what no generation needs, and writes packs anew up to so many bytes.
    pub(crate) fn prune(&mut self, rewritten: Bytes, pacing: &dyn Pacing) -> Result<Upkeep, ShelterError> {
        let (Some(copy), Some(marker)) = (&mut self.copy, &self.marker) else {
            return Ok(Upkeep::default());
        };
        let done = copy.prune(&marker.claim, rewritten, pacing)?;
        if done.bytes_left == 0 {
            self.note_now(PRUNED)?;
        }
        Ok(done)
    }

    /// When the last drill was passed, in seconds since 1970.
    pub(crate) fn last_drill(&self) -> Option<i64> {
        self.noted(DRILL)
    }

    /// When the repository was pruned last, in seconds since 1970.
    pub(crate) fn last_prune(&self) -> Option<i64> {
        self.noted(PRUNED)
    }

    /// What the service did besides saving, and when; nothing yet if that is not known.
    pub(crate) fn schedule(&self) -> UpkeepSchedule {
        let bytes = read_bounded(&self.state(SCHEDULE), 4096).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub(crate) fn keep_schedule(&self, schedule: &UpkeepSchedule) -> Result<(), ShelterError> {
        let path = self.state(SCHEDULE);
        let text = serde_json::to_string(schedule).expect("numbers can be written");
        write_durably(&path, text.as_bytes()).map_err(ShelterError::io("write", &path))
    }

    fn noted(&self, name: &str) -> Option<i64> {
        let bytes = read_bounded(&self.state(name), 64).ok()??;
        String::from_utf8(bytes).ok()?.trim().parse().ok()
    }

    /// Notes the time of day in the state folder.
    pub(crate) fn note_now(&self, name: &str) -> Result<(), ShelterError> {
        let path = self.state(name);
        let text = format!("{}\n", now_ns() / 1_000_000_000);
        write_durably(&path, text.as_bytes()).map_err(ShelterError::io("write", &path))
    }
}
