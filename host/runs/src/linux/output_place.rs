//! What stands at the place of a file that is to be written, as Linux shows it.

use loadline_kernel::facts::KernelView;
use loadline_kernel::facts::in_use::Uses;
use loadline_kernel::system_calls::without_writer;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Why no file can have this name; every name is one of a file here.
pub(crate) const fn no_file(_: &Path) -> Option<&'static str> {
    None
}

/// Whether it is a block device.
pub(crate) fn is_block_device(found: &Metadata) -> bool {
    found.file_type().is_block_device()
}

/// Whether another process writes the file that is open.
pub(crate) fn is_written(file: &File, _: &Path) -> bool {
    without_writer(file) == Some(false)
}

/// What the system uses a file for: swap, a loop device.
///
/// # Errors
/// The system does not tell.
pub(crate) fn use_of_system(at: &Path, found: &Metadata) -> io::Result<Option<String>> {
    Ok(Uses::read(&KernelView::live())?.of_file(at, found).map(|used| used.how.to_string()))
}

/// Gives a new file the owner and the mode of the one that it replaces.
///
/// # Errors
/// The mode cannot be set.
pub(crate) fn make_alike(file: &File, before: &Metadata) -> io::Result<()> {
    // Best effort: only root may give a file to somebody else.
    if (before.uid(), before.gid()) != (rustix::process::geteuid().as_raw(), file.metadata()?.gid()) {
        let _ = fchown(file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(Permissions::from_mode(before.mode() & 0o777))
}

/// Renames, unless something has come to stand there.
///
/// # Errors
/// `AlreadyExists`; the system's.
pub(crate) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system knows no such renaming.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if to.symlink_metadata().is_err() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(ErrorKind::AlreadyExists.into()),
        other => other.map_err(Into::into),
    }
}

/// Whether it is where this process's own output goes, as of `-o /dev/stdout >> FILE`.
pub(crate) fn is_own_output(found: &Metadata) -> bool {
    let is_it = |status: rustix::io::Result<rustix::fs::Stat>| {
        status.is_ok_and(|status| (status.st_dev, status.st_ino) == (found.dev(), found.ino()))
    };
    is_it(rustix::fs::fstat(io::stdout())) || is_it(rustix::fs::fstat(io::stderr()))
}

/// The path without this ending of its name.
pub(crate) fn without_ending(path: &Path, ending: &str) -> Option<PathBuf> {
    let name = path.as_os_str().as_encoded_bytes().strip_suffix(ending.as_bytes())?;
    Some(OsStr::from_bytes(name).into())
}
