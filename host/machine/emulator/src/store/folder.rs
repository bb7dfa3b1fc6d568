//! A folder with one sparse file for each disk, kept from one emulation to the next.

use loadline_units::Bytes;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that says what the folder is and for which disks; locked while in use.
const LIST: &str = "loadline-disks.txt";
/// The first line of that file.
const HEADING: &str = "loadline disks 2\n";
/// That of before, when the file said nothing of layouts.
const HEADING_BEFORE: &str = "loadline disks 1\n";
/// The file that names disks which missed writes that a copy of theirs has, a line each, and what it is while it is written.
const BEHIND: &str = "loadline-behind.txt";
const BEHIND_NEW: &str = "loadline-behind.new";
/// Contents are for their user alone, in files and folders.
const PRIVATE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;
/// Bytes of a list of disks that are read at most; it has a line for each.
const LIST_MAX: u64 = 16 << 20;

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
    /// There is no folder to make it in.
    #[error("cannot make the folder {path} for contents: {parent} is not there; make that, or name another place")]
    NoParent {
        /// The folder.
        path: String,
        /// Where it was to be made.
        parent: String,
    },
    /// Somebody else's files.
    #[error("{0} is not empty and was not made by loadline; name a folder that is new or empty")]
    Foreign(String),
    /// Disks of another shape, or laid out in another way.
    #[error(
        "{path} holds the disks of another environment ({there}), wanted are {wanted}; name another folder, or take the environment that it was made for"
    )]
    Different {
        /// The folder.
        path: String,
        /// What it holds.
        there: String,
        /// What is wanted.
        wanted: String,
    },
    /// What a disk held is not there any more.
    #[error("{image} is missing, which held the disk {disk}: put it back, or name another folder")]
    Missing {
        /// The file.
        image: String,
        /// The disk.
        disk: String,
    },
    /// A file is not as long as its disk.
    #[error(
        "{image} is {length} long, and its disk {disk} holds {size}: put the file back that was there, or name another folder"
    )]
    Length {
        /// The file.
        image: String,
        /// The disk.
        disk: String,
        /// How long the file is.
        length: Bytes,
        /// How long it was.
        size: Bytes,
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
    /// Opens the files of the disks, by name and size in bytes, or makes them where the folder is new or empty. `volumes`: their
    /// names, and what lays them over the disks, in words.
    ///
    /// # Errors
    /// A folder with anything else in it, with other disks, another layout or files that are not as they were, or in use.
    pub(crate) fn open(
        path: &Path,
        volumes: &[(String, String)],
        disks: &[(String, u64)],
    ) -> Result<(Self, Vec<File>), FolderError> {
        if !path.is_dir() {
            // One that is misspelt is not made with all that leads to it.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir());
            if let Some(parent) = parent.map(|parent| parent.display().to_string()) {
                return Err(FolderError::NoParent { path: path.display().to_string(), parent });
            }
            DirBuilder::new().mode(PRIVATE_FOLDER).create(path).map_err(failed("make the folder", path))?;
        }
        let list = path.join(LIST);
        if !list.exists() {
            let mut entries = std::fs::read_dir(path).map_err(failed("read the folder", path))?;
            if entries.next().is_some() {
                return Err(FolderError::Foreign(path.display().to_string()));
            }
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
        let mut lock = options.open(&list).map_err(failed("open", &list))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::Busy(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &list)(error)),
        }
        let of_disks: Vec<String> =
            disks.iter().map(|(name, size)| format!("{name}: {}\n", Bytes::new(*size))).collect();
        let of_volumes: Vec<String> = volumes.iter().map(|(name, laid)| format!("{name}: {laid}\n")).collect();
        let (of_disks, of_volumes) = (of_disks.concat(), of_volumes.concat());
        let wanted = format!("{of_volumes}{of_disks}");
        let mut text = String::new();
        (&lock).take(LIST_MAX).read_to_string(&mut text).map_err(failed("read", &list))?;
        // A list is written when its files have been made: without one they are made, or made again.
        let known = if text.is_empty() { None } else { Some(listed(&text)) };
        let same = match &known {
            None => true,
            Some(Listed::Whole(there)) => *there == wanted,
            Some(Listed::Disks(there)) => *there == of_disks,
        };
        if let (Some(known), false) = (&known, same) {
            let in_line = |text: &str| text.trim_end().replace('\n', "; ");
            return Err(FolderError::Different {
                path: path.display().to_string(),
                there: in_line(known.text()),
                wanted: in_line(&wanted),
            });
        }
        let mut files = Vec::with_capacity(disks.len());
        for (disk, size) in disks {
            files.push(image(path, disk, *size, known.is_some())?);
        }
        if !matches!(known, Some(Listed::Whole(_))) {
            let rewritten = lock.rewind().and_then(|()| {
                lock.set_len(0)?;
                lock.write_all(format!("{HEADING}{wanted}").as_bytes())
            });
            rewritten.map_err(failed("write", &list))?;
        }
        Ok((Self { _lock: lock, path: path.to_owned() }, files))
    }

    /// Disks that missed writes when the folder was last used, by name.
    ///
    /// # Errors
    /// The file that names them cannot be read.
    pub(crate) fn behind(&self) -> Result<Vec<String>, FolderError> {
        let path = self.path.join(BEHIND);
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(LIST_MAX).read_to_string(&mut text)) {
            Ok(_) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    /// Names the disks that miss writes from now on, for the next user of the folder if this process is killed.
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
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(&new);
        file.and_then(|mut file| file.write_all(lines.concat().as_bytes())).map_err(failed("write", &new))?;
        std::fs::rename(&new, &path).map_err(failed("make", &path))
    }
}

/// What a list says that is there.
enum Listed {
    /// Volumes and disks.
    Whole(String),
    /// Disks alone, as lists of before did.
    Disks(String),
}

impl Listed {
    fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Disks(text) => text,
        }
    }
}

fn listed(text: &str) -> Listed {
    let Some(before) = text.strip_prefix(HEADING_BEFORE) else {
        return Listed::Whole(text.strip_prefix(HEADING).unwrap_or(text).to_owned());
    };
    let line = |line: &str| match line.split_once(' ').map(|(disk, size)| (disk, size.parse())) {
        Some((disk, Ok(size))) => format!("{disk}: {}\n", Bytes::new(size)),
        _ => format!("{line}\n"),
    };
    let lines: Vec<String> = before.lines().map(line).collect();
    Listed::Disks(lines.concat())
}

/// The file of a disk, as long as the disk. One that was there is taken as it is.
fn image(folder: &Path, disk: &str, size: u64, was_there: bool) -> Result<File, FolderError> {
    let path = file_of(folder, disk);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(!was_there).truncate(false).mode(PRIVATE);
    let file = match options.open(&path) {
        Err(error) if was_there && error.kind() == io::ErrorKind::NotFound => {
            return Err(FolderError::Missing { image: path.display().to_string(), disk: disk.to_owned() });
        }
        opened => opened.map_err(failed("open", &path))?,
    };
    if !was_there {
        file.set_len(size).map_err(failed("set the length of", &path))?;
        return Ok(file);
    }
    let length = file.metadata().map_err(failed("look at", &path))?.len();
    if length == size {
        return Ok(file);
    }
    let image = path.display().to_string();
    Err(FolderError::Length { image, disk: disk.to_owned(), length: Bytes::new(length), size: Bytes::new(size) })
}

/// The file of the disk `volume/number`.
fn file_of(folder: &Path, disk: &str) -> PathBuf {
    folder.join(format!("{}.img", disk.replace('/', ".")))
}
