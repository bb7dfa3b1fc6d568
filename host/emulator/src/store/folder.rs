//! A folder with one sparse file for each disk, kept from one emulation to the next.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The file that says what the folder is and for which disks; locked while in use.
const LIST: &str = "loadline-disks.txt";
/// The first line of that file.
const HEADING: &str = "loadline disks 1\n";
/// The file that names disks which missed writes that a copy of theirs has, a line each, and what it is while it is written.
const BEHIND: &str = "loadline-behind.txt";
const BEHIND_NEW: &str = "loadline-behind.new";

/// Why a folder cannot be used for contents.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system's answer.
    #[error("cannot {what} {path}: {error}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: String,
        /// The answer.
        error: io::Error,
    },
    /// Somebody else's files.
    #[error("{0} is not empty and was not made by loadline; name a folder that is new or empty")]
    Foreign(String),
    /// Disks of another shape.
    #[error("{path} holds the disks of another environment ({there}), wanted are {wanted}; name another folder")]
    Different {
        /// The folder.
        path: String,
        /// What it holds.
        there: String,
        /// What is wanted.
        wanted: String,
    },
    /// In use.
    #[error("{0} is in use by another emulation; end that, or name another folder")]
    Busy(String),
}

/// The open folder; others are kept out as long as it lives.
#[derive(Debug)]
pub(crate) struct Folder {
    _lock: File,
    path: PathBuf,
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.display().to_string();
    move |error| FolderError::System { what, path, error }
}

impl Folder {
    /// Opens the files of the disks, by name and size in bytes, or makes them where the folder is new or empty.
    ///
    /// # Errors
    /// A folder with anything else in it, with other disks, or in use.
    pub(crate) fn open(path: &Path, disks: &[(String, u64)]) -> Result<(Self, Vec<File>), FolderError> {
        std::fs::create_dir_all(path).map_err(failed("make the folder", path))?;
        let list = path.join(LIST);
        if !list.exists() {
            let mut entries = std::fs::read_dir(path).map_err(failed("read the folder", path))?;
            if entries.next().is_some() {
                return Err(FolderError::Foreign(path.display().to_string()));
            }
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut lock = options.open(&list).map_err(failed("open", &list))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::Busy(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &list)(error)),
        }
        let lines: Vec<String> = disks.iter().map(|(name, size)| format!("{name} {size}\n")).collect();
        let wanted = lines.concat();
        let mut there = String::new();
        lock.read_to_string(&mut there).map_err(failed("read", &list))?;
        if there.is_empty() {
            lock.write_all(format!("{HEADING}{wanted}").as_bytes()).map_err(failed("write", &list))?;
        } else if there.strip_prefix(HEADING) != Some(&wanted) {
            let in_line = |text: &str| text.trim_end().replace('\n', ", ");
            return Err(FolderError::Different {
                path: path.display().to_string(),
                there: in_line(there.strip_prefix(HEADING).unwrap_or(&there)),
                wanted: in_line(&wanted),
            });
        }
        let mut files = Vec::with_capacity(disks.len());
        for (name, size) in disks {
            let path = file_of(path, name);
            let file = options.open(&path).map_err(failed("open", &path))?;
            file.set_len(*size).map_err(failed("set the length of", &path))?;
            files.push(file);
        }
        Ok((Self { _lock: lock, path: path.to_owned() }, files))
    }

    /// Disks that missed writes when the folder was last used, by name.
    ///
    /// # Errors
    /// The file that names them cannot be read.
    pub(crate) fn behind(&self) -> Result<Vec<String>, FolderError> {
        let path = self.path.join(BEHIND);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    /// Names the disks that miss writes from now on, for whoever uses the folder after this process was killed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn set_behind(&self, disks: &[String]) -> Result<(), FolderError> {
        let (path, new) = (self.path.join(BEHIND), self.path.join(BEHIND_NEW));
        if disks.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path)(error)),
                _ => Ok(()),
            };
        }
        // At no moment is there half of it.
        let lines: Vec<String> = disks.iter().map(|disk| format!("{disk}\n")).collect();
        std::fs::write(&new, lines.concat()).map_err(failed("write", &new))?;
        std::fs::rename(&new, &path).map_err(failed("make", &path))
    }
}

/// The file of the disk `volume/number`.
fn file_of(folder: &Path, disk: &str) -> PathBuf {
    folder.join(format!("{}.img", disk.replace('/', ".")))
}
