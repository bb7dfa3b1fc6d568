//! The database's log on a volume of its own.
//!
//! SQLite keeps its log beside its data. So the database is opened in the log's folder, where the file of the data is bound from its
//! own volume (a bind mount).

use crate::database::DATABASE_FILE;
use crate::error::CrawlError;
use crate::folders::CrawlFolders;
use rustix::mount::{UnmountFlags, mount_bind, unmount};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The folder in which the database is opened. What was bound there goes with it.
#[derive(Debug)]
pub(crate) struct DatabaseFolder {
    path: PathBuf,
    bound: Option<PathBuf>,
}

fn touch(file: &Path) -> Result<File, CrawlError> {
    let open = OpenOptions::new().create(true).append(true).open(file);
    open.map_err(CrawlError::folder("make", file))
}

impl DatabaseFolder {
    /// Binds the data into the log's folder, if the log has one.
    pub(crate) fn open(folders: &CrawlFolders) -> Result<Self, CrawlError> {
        let Some(log) = &folders.log else { return Ok(Self { path: folders.data.clone(), bound: None }) };
        let (data, place) = (folders.data.join(DATABASE_FILE), log.join(DATABASE_FILE));
        let facts = |file: File| file.metadata().map(|facts| (facts.dev(), facts.ino()));
        let of_data = facts(touch(&data)?).map_err(CrawlError::folder("read", &data))?;
        let of_place = facts(touch(&place)?).map_err(CrawlError::folder("read", &place))?;
        // A crawl that was killed leaves it bound.
        if of_data != of_place {
            mount_bind(&data, &place).map_err(|error| CrawlError::LogVolume {
                data: folders.data.clone(),
                log: log.clone(),
                source: error.into(),
            })?;
        }
        Ok(Self { path: log.clone(), bound: Some(place) })
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DatabaseFolder {
    fn drop(&mut self) {
        if let Some(bound) = &self.bound {
            // Where it stays bound, the next crawl takes it as it is.
            let _ = unmount(bound, UnmountFlags::empty());
        }
    }
}
