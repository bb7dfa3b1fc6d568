//! What stands at the place of a file that is to be written, as any system shows it, and names that are no file to Windows.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What Windows answers of a file that another program holds open (`ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`).
const HELD: [i32; 2] = [32, 33];
/// Names of devices in every folder, whatever follows a dot; those with a digit from 0 to 9 have it behind them.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
const NUMBERED_DEVICES: [&str; 2] = ["COM", "LPT"];
/// Digits behind them: raised ones count as well.
const DIGITS: &str = "0123456789\u{b9}\u{b2}\u{b3}";
/// The beginnings of paths that lead past the names of files: to devices,
const DEVICE_PATH: &str = r"\\.\";
/// and to whatever the system has, files of drives and of other machines among it.
const PLAIN_PATH: &str = r"\\?\";
const OF_MACHINES: &str = r"UNC\";

/// Why no file can have this name.
pub(crate) fn no_file(path: &Path) -> Option<&'static str> {
    if cfg!(windows) { no_file_of_windows(&path.to_string_lossy()) } else { None }
}

fn no_file_of_windows(path: &str) -> Option<&'static str> {
    let path = path.replace('/', r"\");
    let has_drive =
        |rest: &str| rest.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && rest[1..].starts_with(':');
    let is_past_files =
        path.strip_prefix(PLAIN_PATH).is_some_and(|rest| !has_drive(rest) && !rest.starts_with(OF_MACHINES));
    if path.starts_with(DEVICE_PATH) || is_past_files {
        return Some("it leads to a device, and what is on it would be lost");
    }
    let name = path.rsplit('\\').next().unwrap_or_default();
    // A drive letter may stand before the first name.
    let name = if has_drive(name) { &name[2..] } else { name };
    if name.contains(':') {
        return Some("a name with a colon is a stream within another file");
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = || {
        let rest = NUMBERED_DEVICES.iter().find_map(|device| stem.strip_prefix(device));
        rest.is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(|c| DIGITS.contains(c)))
    };
    (DEVICES.contains(&stem.as_str()) || numbered()).then_some("Windows keeps this name for a device")
}

/// Whether it is a block device: their paths are refused by name.
pub(crate) const fn is_block_device(_: &Metadata) -> bool {
    false
}

/// Whether another process holds the file so that it cannot be written.
pub(crate) fn is_written(_: &File, at: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(at);
    opened.is_err_and(|error| error.raw_os_error().is_some_and(|code| HELD.contains(&code)))
}

/// What the system uses a file for: it does not tell.
///
/// # Errors
/// None.
pub(crate) const fn use_of_system(_: &Path, _: &Metadata) -> io::Result<Option<String>> {
    Ok(None)
}

/// Gives a new file the permissions of the one that it replaces.
///
/// # Errors
/// They cannot be set.
pub(crate) fn make_alike(file: &File, before: &Metadata) -> io::Result<()> {
    file.set_permissions(before.permissions())
}

/// Renames, unless something has come to stand there.
///
/// # Errors
/// `AlreadyExists`; the system's.
pub(crate) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {
            // A second name that stays does no harm: the next who writes there removes it.
            let _ = fs::remove_file(from);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // The file system knows no second name.
        Err(_) if to.symlink_metadata().is_err() => fs::rename(from, to),
        Err(_) => Err(ErrorKind::AlreadyExists.into()),
    }
}

/// Whether it is where this process's own output goes: the system does not tell.
pub(crate) const fn is_own_output(_: &Metadata) -> bool {
    false
}

/// The path without this ending of its name.
pub(crate) fn without_ending(path: &Path, ending: &str) -> Option<PathBuf> {
    path.to_str()?.strip_suffix(ending).map(PathBuf::from)
}
