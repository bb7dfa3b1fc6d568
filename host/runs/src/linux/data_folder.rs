//! Where this user's data lies, and folders for them alone.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What says nothing of where data lies, where nothing does.
pub(crate) const NO_DATA_FOLDER: &str = "neither XDG_DATA_HOME nor HOME";

/// The folder of this user's data.
pub(crate) fn data_folder() -> Option<PathBuf> {
    by_specification(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
}

/// By the XDG base directory specification 0.8: relative values are to be ignored.
fn by_specification(data_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(data_home).or_else(|| absolute(home).map(|home| home.join(".local/share")))
}

/// Makes a folder and those that lead to it, for their user alone.
///
/// # Errors
/// The system's.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Waits until the names in a folder are on its disk.
///
/// # Errors
/// The system's; some file systems have no such thing.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_wins_over_home_unless_it_is_relative() {
        let path =
            |data: Option<&str>, home: Option<&str>| by_specification(data.map(Into::into), home.map(Into::into));
        assert_eq!(path(Some("/d"), Some("/h")).unwrap(), Path::new("/d"));
        assert_eq!(path(Some("d"), Some("/h")).unwrap(), Path::new("/h/.local/share"));
        assert!(path(None, None).is_none());
    }
}
