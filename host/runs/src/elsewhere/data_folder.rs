//! Where this user's data lies: `%LOCALAPPDATA%` of Windows, or a folder of the home directory.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What says nothing of where data lies, where nothing does.
pub(crate) const NO_DATA_FOLDER: &str = "neither LOCALAPPDATA nor HOME";

/// The folder of this user's data.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let of_windows = || absolute(std::env::var_os("LOCALAPPDATA"));
    of_windows().or_else(|| absolute(std::env::var_os("HOME")).map(|home| home.join(".local").join("share")))
}

/// Makes a folder and those that lead to it. Below the user's own data it is theirs alone.
///
/// # Errors
/// The system's.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Nothing can be waited for: names of a folder are on the disk when the system puts them there.
///
/// # Errors
/// None.
pub(crate) const fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
