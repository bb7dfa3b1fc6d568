//! Where runs are kept.

use crate::{Error, Refusal, data_folder, make_private_folder, output_place};
use loadline_store::{Store, StoreError, Tag};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// The store that `LOADLINE_STORE` names. An empty value counts as none.
#[must_use]
pub fn named_by_environment() -> Option<PathBuf> {
    std::env::var_os("LOADLINE_STORE").filter(|named| !named.is_empty()).map(PathBuf::from)
}

/// Where the store is that the user named, or the default one.
///
/// # Errors
/// There is no home directory to put it in.
pub fn store_path(named: Option<&Path>) -> Result<PathBuf, Error> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => Ok(data_folder().ok_or(Error::NoHome)?.join("loadline").join("runs.db")),
    }
}

/// What the command gives each run that it makes.
static NEW_RUNS: RwLock<Vec<Tag>> = RwLock::new(Vec::new());

/// Runs that are begun or added from now on, in stores that are opened from now on, have these tags.
pub fn tag_new_runs(tags: Vec<Tag>) {
    *NEW_RUNS.write().unwrap_or_else(PoisonError::into_inner) = tags;
}

/// Opens the store at `path`; makes it where it is missing.
///
/// # Errors
/// Its directory cannot be made, or the store itself refuses.
pub fn open_store(path: &Path) -> Result<Store, Error> {
    refuse_name(path)?;
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        make_private_folder(directory).map_err(|source| Error::StoreFolder { folder: directory.to_owned(), source })?;
    }
    let tags = NEW_RUNS.read().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Store::open(path)?.with_tags(tags))
}

/// Opens the store at `path` for a verb that needs what is in it, and makes nothing where there is none.
///
/// # Errors
/// [`Refusal::NoStore`]; or the store itself refuses.
pub fn existing_store(path: &Path) -> Result<Store, Error> {
    existing(path, Store::open)
}

/// The same for a verb that writes nothing to it: the store may be another user's, or on a read-only file system.
///
/// # Errors
/// As of [`existing_store`].
pub fn store_to_read(path: &Path) -> Result<Store, Error> {
    existing(path, Store::open_to_read)
}

fn existing(path: &Path, open: fn(&Path) -> Result<Store, StoreError>) -> Result<Store, Error> {
    refuse_name(path)?;
    match std::fs::metadata(path) {
        Ok(_) => Ok(open(path)?),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(Refusal::NoStore { path: path.to_owned() }.into())
        }
        Err(source) => Err(Error::StorePath { path: path.to_owned(), source }),
    }
}

/// Refuses a name that no file has on this system.
fn refuse_name(path: &Path) -> Result<(), Error> {
    match output_place::no_file(path) {
        Some(why) => Err(Error::StorePath { path: path.to_owned(), source: std::io::Error::other(why) }),
        None => Ok(()),
    }
}
