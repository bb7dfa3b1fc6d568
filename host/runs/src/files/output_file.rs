//! Files that a user named for results: nothing is lost by writing one.
//!
//! A file that exists is replaced only if the caller allows it. Some files are never replaced: a store, a file that another
//! process writes, swap, and a file behind a loop device. A file is written beside its place and renamed, so that its
//! place holds the old contents or the new ones at every moment.

use crate::output_place;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The bytes at the beginning of a file in which a mark of ours stands.
const MARK_WITHIN: u64 = 4096;
/// The beginning of every SQLite database, a store among them.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// The endings of the files that SQLite has beside a database.
const BESIDE_A_DATABASE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The mark of a file on its way to its place.
const ON_ITS_WAY: &str = ".loadline-";
/// Links that lead to links, as the kernel bounds them.
const LINKS_MAX: u32 = 40;
/// Attempts to make a file beside the place.
const NAMES_MAX: u32 = 100;

/// Which file that exists may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// None.
    Nothing,
    /// One of the same kind: each of these texts stands at its beginning, in one of the groups.
    OneOfOurs(&'static [&'static [&'static str]]),
    /// Any that is not in use: the user asked for it.
    Anything,
}

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Something is there.
    #[error("{} is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Something is there that is not of the kind that may be replaced.
    #[error("{} exists and is no {kind} of loadline, so it is left alone", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The kind.
        kind: &'static str,
    },
    /// A block device.
    #[error("{} is a block device, and what is on it would be lost", path.display())]
    Device {
        /// The device.
        path: PathBuf,
    },
    /// A folder.
    #[error("{} is a folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A store, or another program's database.
    #[error("{} is a database or belongs to one, and what is stored there would be lost", path.display())]
    Database {
        /// The file.
        path: PathBuf,
    },
    /// In use by the system or another process.
    #[error("{} {how}, so it is left alone", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The use.
        how: String,
    },
    /// A name that the system keeps for something else than a file.
    #[error("{} is no place for a file: {why}", path.display())]
    NoFile {
        /// As named.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// The folder of the file is missing.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The system refuses.
    #[error("cannot {attempt} {}: {source}", path.display())]
    System {
        /// The attempt.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl OutputError {
    /// Whether the request itself is refused, as opposed to a system that fails.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::System { .. })
    }
}

/// A place for results, found free or replaceable.
#[derive(Debug)]
pub struct OutputFile {
    typed: PathBuf,
    replace: Replace,
    kind: &'static str,
}

/// What a path leads to.
enum Destination {
    /// A pipe or a terminal: what is written goes on, and nothing is replaced.
    Stream,
    /// Nothing yet.
    Free(PathBuf),
    /// A regular file without its symbolic links, to be replaced.
    Taken(PathBuf, Metadata),
}

impl OutputFile {
    /// Looks at `path`, before the work whose result it will hold. `kind` is what the result is, such as "report".
    ///
    /// # Errors
    /// A refusal of this place, or the system's.
    pub fn claim(path: &Path, replace: Replace, kind: &'static str) -> Result<Self, OutputError> {
        let claimed = Self { typed: path.to_owned(), replace, kind };
        if let Destination::Free(at) | Destination::Taken(at, _) = claimed.look()? {
            let (beside, _) = claimed.beside(&at)?;
            fs::remove_file(&beside).map_err(|source| claimed.failed("write", source))?;
        }
        Ok(claimed)
    }

    /// The place as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.typed
    }

    /// Writes `contents`. The place holds either all of them or what was there before.
    ///
    /// # Errors
    /// Something else stands there by now, or the system refuses.
    pub fn write(&self, contents: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let failed = |source| self.failed("write", source);
        let (at, before) = match self.look()? {
            Destination::Stream => {
                let mut stream = OpenOptions::new().write(true).open(&self.typed).map_err(failed)?;
                return stream.write_all(contents.as_ref()).map_err(failed);
            }
            Destination::Free(at) => (at, None),
            Destination::Taken(at, before) => (at, Some(before)),
        };
        let (beside, mut file) = self.beside(&at)?;
        let moved = (|| {
            file.write_all(contents.as_ref())?;
            if let Some(before) = &before {
                output_place::make_alike(&file, before)?;
            }
            file.sync_all()?;
            if before.is_some() || self.replace == Replace::Anything {
                fs::rename(&beside, &at)?;
            } else {
                output_place::rename_to_free(&beside, &at)?;
            }
            // The name is on the disk as soon as its folder is. Some file systems have no such thing.
            let _ = crate::sync_folder(&folder_of(&at));
            Ok(())
        })();
        moved.map_err(|error: io::Error| {
            let _ = fs::remove_file(&beside);
            match error.kind() {
                ErrorKind::AlreadyExists => OutputError::Exists { path: self.typed.clone() },
                _ => failed(error),
            }
        })
    }

    fn failed(&self, attempt: &'static str, source: io::Error) -> OutputError {
        OutputError::System { attempt, path: self.typed.clone(), source }
    }

    /// What is at the place, if it may be written to.
    fn look(&self) -> Result<Destination, OutputError> {
        let path = || self.typed.clone();
        if let Some(why) = output_place::no_file(&self.typed) {
            return Err(OutputError::NoFile { path: path(), why });
        }
        let found = match fs::metadata(&self.typed) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.look_at_nothing(),
            Err(error) => return Err(self.failed("look at", error)),
        };
        let kind = found.file_type();
        if output_place::is_block_device(&found) {
            return Err(OutputError::Device { path: path() });
        }
        if kind.is_dir() {
            return Err(OutputError::Folder { path: path() });
        }
        if !kind.is_file() || output_place::is_own_output(&found) {
            return Ok(Destination::Stream);
        }
        let at = fs::canonicalize(&self.typed).map_err(|error| self.failed("look at", error))?;
        let beginning = match File::open(&at) {
            Ok(file) => {
                // Before the beginning is read: a store may be in use as well, and that says more.
                let beginning = beginning(&file).map_err(|error| self.failed("read", error))?;
                if beginning.starts_with(DATABASE) || belongs_to_a_database(&at) {
                    return Err(OutputError::Database { path: path() });
                }
                if output_place::is_written(&file, &at) {
                    return Err(OutputError::InUse {
                        path: path(),
                        how: "is being written by another process".to_owned(),
                    });
                }
                beginning
            }
            // A file that cannot be read may be a store.
            Err(error) => return Err(self.failed("look into", error)),
        };
        let used = output_place::use_of_system(&at, &found);
        if let Some(how) = used.map_err(|error| self.failed("find out whether the system uses", error))? {
            return Err(OutputError::InUse { path: path(), how });
        }
        match self.replace {
            // An empty file holds nothing: scripts make one to have its name (mktemp).
            _ if found.len() == 0 => {}
            Replace::Anything => {}
            Replace::Nothing => return Err(OutputError::Exists { path: path() }),
            Replace::OneOfOurs(marks) => {
                let text = String::from_utf8_lossy(&beginning);
                if !marks.iter().any(|group| group.iter().all(|mark| text.contains(mark))) {
                    return Err(OutputError::Foreign { path: path(), kind: self.kind });
                }
            }
        }
        Ok(Destination::Taken(at, found))
    }

    fn look_at_nothing(&self) -> Result<Destination, OutputError> {
        // A symbolic link to nothing is somebody's, too.
        if self.typed.symlink_metadata().is_ok() && self.replace != Replace::Anything {
            return Err(OutputError::Exists { path: self.typed.clone() });
        }
        let at = end_of_links(&self.typed).map_err(|error| self.failed("look at", error))?;
        let folder = folder_of(&at);
        if !folder.is_dir() {
            return Err(OutputError::NoFolder { path: self.typed.clone(), folder });
        }
        if belongs_to_a_database(&at) {
            return Err(OutputError::Database { path: self.typed.clone() });
        }
        Ok(Destination::Free(at))
    }

    /// A new file in the same folder, locked as long as it is open. What a killed process left there is removed.
    fn beside(&self, at: &Path) -> Result<(PathBuf, File), OutputError> {
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(at.file_name().unwrap_or_default());
        prefix.push(ON_ITS_WAY);
        let folder = folder_of(at);
        for left in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if left.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                let is_dead = File::open(left.path()).is_ok_and(|file| file.try_lock().is_ok());
                if is_dead {
                    let _ = fs::remove_file(left.path());
                }
            }
        }
        for number in 0..NAMES_MAX {
            let mut name = prefix.clone();
            let _ = write!(name, "{}-{number}", std::process::id());
            let beside = folder.join(name);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&beside) {
                Ok(file) => {
                    let _ = file.try_lock();
                    return Ok((beside, file));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed("write", error)),
            }
        }
        Err(self.failed("write", io::Error::other("every name for a file beside it is taken")))
    }
}

/// Where the links at a place lead, though nothing is there yet: a link stays one.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&at) {
            Ok(to) => at = folder_of(&at).join(to),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn beginning(file: &File) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    file.take(MARK_WITHIN).read_to_end(&mut beginning)?;
    Ok(beginning)
}

/// Whether a file of this name is one that SQLite has beside a database that is there.
fn belongs_to_a_database(path: &Path) -> bool {
    BESIDE_A_DATABASE.iter().any(|ending| {
        let Some(database) = output_place::without_ending(path, ending) else { return false };
        File::open(database).and_then(|file| beginning(&file)).is_ok_and(|begins| begins.starts_with(DATABASE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_kernel::system_calls::without_writer;
    use loadline_store::Store;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    const MARK: Replace = Replace::OneOfOurs(&[&["<!-- mine -->"]]);

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
    fn write(path: &Path, replace: Replace, text: &str) -> Result<(), OutputError> {
        OutputFile::claim(path, replace, "report")?.write(text)
    }

    #[test]
    fn what_exists_is_replaced_only_if_it_may_be() {
        let folder = folder();
        let path = folder.path().join("out");
        write(&path, Replace::Nothing, "one").unwrap();
        assert!(matches!(write(&path, Replace::Nothing, "two"), Err(OutputError::Exists { .. })));
        assert!(matches!(write(&path, MARK, "two"), Err(OutputError::Foreign { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write(&path, Replace::Anything, "<!-- mine --> two").unwrap();
        write(&path, MARK, "three").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        fs::write(&path, "").unwrap();
        write(&path, Replace::Nothing, "four").unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), names(folder.path())),
            ("four", vec!["out".to_owned()])
        );
    }

    #[test]
    fn what_comes_to_stand_there_after_the_claim_is_left_alone() {
        let folder = folder();
        let path = folder.path().join("out");
        let claimed = OutputFile::claim(&path, Replace::Nothing, "report").unwrap();
        assert_eq!(names(folder.path()).len(), 0, "a claim leaves nothing");
        fs::write(&path, "somebody's").unwrap();
        assert!(claimed.write("mine").is_err());
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("somebody's", 1));
    }

    #[test]
    fn a_store_is_never_replaced_nor_what_it_has_beside_it() {
        let folder = folder();
        let path = folder.path().join("r.html");
        let store = Store::open(&path).unwrap();
        for name in ["r.html", "r.html-wal", "r.html-shm", "r.html-journal"] {
            let refused = write(&folder.path().join(name), Replace::Anything, "x");
            assert!(matches!(refused, Err(OutputError::Database { .. })), "{name}: {refused:?}");
        }
        drop(store);
        let refused = write(&path, Replace::Anything, "x");
        assert!(matches!(refused, Err(OutputError::Database { .. })), "{refused:?}");
        assert!(Store::open(&path).is_ok());
    }

    #[test]
    fn a_file_that_somebody_writes_is_never_replaced() {
        let folder = folder();
        let path = folder.path().join("trace");
        let mut trace = File::create(&path).unwrap();
        trace.write_all(b"half of it").unwrap();
        if without_writer(&File::open(&path).unwrap()).is_none() {
            println!("skipped: this file system grants no leases");
            return;
        }
        assert!(matches!(write(&path, Replace::Anything, "x"), Err(OutputError::InUse { .. })));
        drop(trace);
        write(&path, Replace::Anything, "x").unwrap();
    }

    #[test]
    fn the_mode_and_symbolic_links_stay() {
        let folder = folder();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("out", &link).unwrap();
        write(&link, Replace::Anything, "two").unwrap();
        assert!(link.symlink_metadata().unwrap().file_type().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        let nowhere = folder.path().join("nowhere");
        std::os::unix::fs::symlink("missing", &nowhere).unwrap();
        assert!(matches!(write(&nowhere, Replace::Nothing, "x"), Err(OutputError::Exists { .. })));
        write(&nowhere, Replace::Anything, "x").unwrap();
        assert!(nowhere.symlink_metadata().unwrap().file_type().is_symlink());
        assert_eq!(fs::read_to_string(folder.path().join("missing")).unwrap(), "x");
        std::os::unix::fs::symlink("around", folder.path().join("around")).unwrap();
        assert!(matches!(
            write(&folder.path().join("around"), Replace::Anything, "x"),
            Err(OutputError::System { .. })
        ));
    }

    #[test]
    fn what_a_killed_process_left_beside_is_removed_by_the_next() {
        let folder = folder();
        let path = folder.path().join("out");
        fs::write(folder.path().join(".out.loadline-1-0"), "half").unwrap();
        fs::write(folder.path().join(".other.loadline-1-0"), "another's").unwrap();
        write(&path, Replace::Nothing, "whole").unwrap();
        assert_eq!(names(folder.path()), [".other.loadline-1-0", "out"]);
    }

    #[test]
    fn a_full_file_system_leaves_the_old_file() {
        let folder = folder();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        assert!(matches!(write(Path::new("/dev/full"), Replace::Nothing, "x"), Err(OutputError::System { .. })));
        // A folder of that name is refused by name.
        assert!(matches!(write(folder.path(), Replace::Anything, "x"), Err(OutputError::Folder { .. })));
        let missing = folder.path().join("no/out");
        assert!(matches!(write(&missing, Replace::Anything, "x"), Err(OutputError::NoFolder { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
}
