//! Where runs are kept.

use crate::failure::Usage;
use anyhow::{Context, bail};
use loadline_store::{Store, StoreError};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The store that `LOADLINE_STORE` names; set to nothing it is as if it were not set.
pub(crate) fn named_by_environment() -> Option<PathBuf> {
    std::env::var_os("LOADLINE_STORE").filter(|named| !named.is_empty()).map(PathBuf::from)
}

/// Where the store is that the user named, or the default one.
///
/// # Errors
/// There is no home directory to put it in.
pub(crate) fn store_path(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => default_path(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME")),
    }
}

/// Opens the store at `path`; makes it where it is missing.
///
/// # Errors
/// Its directory cannot be made, or the store itself refuses.
pub(crate) fn open_store(path: &Path) -> anyhow::Result<Store> {
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).with_context(|| {
            format!("cannot make {} for the store; name another place with --store FILE", directory.display())
        })?;
    }
    Ok(Store::open(path)?)
}

/// Opens the store at `path` for a verb that needs what is in it, and makes nothing where there is none.
///
/// # Errors
/// [`Usage`] where there is no store; or the store itself refuses.
pub(crate) fn existing_store(path: &Path) -> anyhow::Result<Store> {
    existing(path, Store::open)
}

/// The same for a verb that writes nothing to it: the store may be another user's, or on a read-only file system.
///
/// # Errors
/// As of [`existing_store`].
pub(crate) fn store_to_read(path: &Path) -> anyhow::Result<Store> {
    existing(path, Store::open_to_read)
}

fn existing(path: &Path, open: fn(&Path) -> Result<Store, StoreError>) -> anyhow::Result<Store> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(open(path)?),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(missing(path)),
        Err(error) => Err(error).with_context(|| format!("cannot look at the store {}", path.display())),
    }
}

fn missing(path: &Path) -> anyhow::Error {
    let text = format!(
        "there is no store at {}: name the one that is meant with --store FILE; `loadline quick` or `loadline run` makes one",
        path.display()
    );
    Usage(text).into()
}

/// By the XDG base directory specification 0.8: relative values are to be ignored.
fn default_path(data_home: Option<OsString>, home: Option<OsString>) -> anyhow::Result<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute(data_home).or_else(|| absolute(home).map(|home| home.join(".local/share")));
    match data {
        Some(data) => Ok(data.join("loadline/runs.db")),
        None => bail!("neither XDG_DATA_HOME nor HOME says where runs are to be kept; name a place with --store FILE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_wins_over_home_unless_it_is_relative() {
        let path = |data: Option<&str>, home: Option<&str>| default_path(data.map(Into::into), home.map(Into::into));
        assert_eq!(path(Some("/d"), Some("/h")).unwrap(), Path::new("/d/loadline/runs.db"));
        assert_eq!(path(Some("d"), Some("/h")).unwrap(), Path::new("/h/.local/share/loadline/runs.db"));
        assert!(path(None, None).is_err());
    }
}
