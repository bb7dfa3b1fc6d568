//! Opens stores that this user may only read: another user's, or one on a read-only file system. No files are created
//! beside them: they would belong to the reader, and stop the owner.

use crate::error::Trouble;
use crate::open::{MIGRATIONS, Marks, SAME_TABLES_SINCE, TAGS_SINCE, connect_to_read, examine, look_at_tables};
use crate::unix::{FileState, real_path};
use crate::{Store, StoreError};
use rusqlite::{ErrorCode, Transaction, TransactionBehavior};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a store cannot be written by this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritable {
    /// Nobody can write there.
    ReadOnlyFileSystem,
    /// It is another user's, without write permission.
    OtherUser,
    /// It is this user's own, with a mode that forbids it.
    WriteProtected,
    /// The files that SQLite needs beside it cannot be made.
    Folder,
    /// Another user left this one beside it.
    Beside(PathBuf),
}

impl fmt::Display for Unwritable {
    /// Follows the store's name, and precedes "and cannot be written".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnlyFileSystem => f.write_str("is on a read-only file system"),
            Self::OtherUser => f.write_str("belongs to another user"),
            Self::WriteProtected => f.write_str("is write-protected"),
            Self::Folder => f.write_str("is in a folder that this user may not write to"),
            Self::Beside(path) => write!(
                f,
                "has {} of another user beside it (a -shm file and an empty -wal file hold no data, and may be removed once \
                 nothing uses the store)",
                path.display()
            ),
        }
    }
}

impl Unwritable {
    /// The first reason why this user cannot write to the store at `path`.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let beside = || {
            let files = [log(path), index(path), journal(path)];
            files.into_iter().find(|file| Self::of_file(file).is_some()).map(Self::Beside)
        };
        Self::of_file(path).or_else(|| Self::of_folder(path)).or_else(beside)
    }
}

/// The state of a file: the data read from it is valid as long as this does not change.
#[derive(Debug)]
pub(crate) struct AsFound {
    why: Unwritable,
    /// `None` if SQLite's locks ensure it.
    state: Option<FileState>,
}

impl AsFound {
    /// # Errors
    /// [`StoreError::Changed`].
    pub(crate) fn check_unchanged(&self, path: &Path) -> Result<(), StoreError> {
        match self.state {
            Some(before) if FileState::of(path).ok() != Some(before) => {
                Err(StoreError::Changed { path: path.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

impl Store {
    /// Opens the store at `path` for reading. A store that this user may write is opened as by [`Store::open`]. Any
    /// other is not changed, no file is created beside it, and writing calls are refused.
    ///
    /// # Errors
    /// Those of [`Store::open`]; and if a read-only store cannot be read without writing.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let unreachable = |source| StoreError::Path { path: path.to_owned(), source };
        // SQLite, too, looks beside the file to which a symbolic link leads.
        let real = real_path(path).map_err(unreachable)?;
        match Unwritable::of_file(&real).or_else(|| Unwritable::of_folder(&real)) {
            Some(why) => open_unwritable(real, why),
            None => match Self::open(path) {
                Err(StoreError::Unwritable { why, .. }) => open_unwritable(real, why),
                other => other,
            },
        }
    }

    /// # Errors
    /// [`StoreError::Unwritable`] of a store that this user may only read.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        match &self.only_read {
            Some(AsFound { why, .. }) => Err(StoreError::Unwritable { path: self.path.clone(), why: why.clone() }),
            None => Ok(()),
        }
    }
}

fn open_unwritable(path: PathBuf, why: Unwritable) -> Result<Store, StoreError> {
    let known = MIGRATIONS.len() as u32;
    examine(&path, known)?;
    // Before it is seen whether there is a log: a writer that begins in between leaves the file alone until its log is full.
    let before = FileState::of(&path).map_err(|source| StoreError::Path { path: path.clone(), source })?;
    let is_filled = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
    let (log, index, journal) = (log(&path), index(&path), journal(&path));
    let (parameters, state) = if log.exists() && index.exists() {
        // In use, or left by a killed process: the log is read with the index of the writers, or without one if there
        // is none; neither is written to.
        ("readonly_shm=1", None)
    } else if is_filled(&log) {
        return Err(StoreError::Open { path, beside: log, index });
    } else if is_filled(&journal) {
        // A store without a write-ahead log, which a process may be writing to right now: its locks are waited for.
        ("cache=private", None)
    } else {
        ("immutable=1", Some(before))
    };
    let found = AsFound { why, state };
    let opened = (|| {
        let connection = connect_to_read(&path, parameters)?;
        let version = Marks::read(&Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?)?
            .check(&path, known)?;
        if version < SAME_TABLES_SINCE {
            return Err(StoreError::Older { path: path.clone(), found: version, known }.into());
        }
        look_at_tables(&connection)?;
        if version < TAGS_SINCE {
            // Nothing is said of its runs.
            connection.execute_batch("CREATE TEMP TABLE tags (run INTEGER, key TEXT, value TEXT)")?;
        }
        Ok::<_, Trouble>(connection)
    })();
    found.check_unchanged(&path)?;
    match opened {
        Ok(connection) => Ok(Store { connection, path, only_read: Some(found), file: None, new_runs: Vec::new() }),
        Err(Trouble::Sql(error))
            if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) =>
        {
            let beside = if is_filled(&journal) { journal } else { log };
            if beside.exists() {
                Err(StoreError::Open { path, beside, index })
            } else {
                Err(StoreError::Sql { attempt: "open", path, source: error })
            }
        }
        Err(trouble) => Err(trouble.tell("open", &path)),
    }
}

fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn index(path: &Path) -> PathBuf {
    beside(path, "-shm")
}

fn journal(path: &Path) -> PathBuf {
    beside(path, "-journal")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;
    use crate::open::Migration;

    /// As another user's store, whichever user runs this.
    fn others(path: &Path) -> Result<Store, StoreError> {
        open_unwritable(path.to_owned(), Unwritable::OtherUser)
    }
    fn add(store: &Store, id: &str) {
        let insert = "INSERT INTO runs (id, name, verb, clock, started, version, status, cells, trials_planned)
                      VALUES (?, '', '', 'real', '', '', 'failed', 0, 0)";
        store.connection.execute(insert, [id]).unwrap();
    }
    fn count(store: &Store) -> usize {
        store.list(&Filter::default()).unwrap().len()
    }
    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_store_that_may_only_be_read_is_read_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store ?%41#.db");
        add(&Store::open(&path).unwrap(), "a");
        let bytes = std::fs::read(&path).unwrap();
        let store = others(&path).unwrap();
        assert_eq!((count(&store), store.resolve("last").unwrap().as_str()), (1, "a"));
        assert!(matches!(store.remove("a"), Err(StoreError::Unwritable { why: Unwritable::OtherUser, .. })));
        assert!(matches!(store.claim("b"), Err(StoreError::Unwritable { .. })));
        assert_eq!(names(folder.path()), ["store ?%41#.db"]);
        drop(store);
        assert_eq!(names(folder.path()), ["store ?%41#.db"]);
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn what_was_written_to_while_it_was_read_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        drop(Store::open(&path).unwrap());
        let store = others(&path).unwrap();
        assert_eq!(count(&store), 0);
        let owner = Store::open(&path).unwrap();
        (0..200).for_each(|number| add(&owner, &format!("run-{number}")));
        drop(owner);
        let found = store.list(&Filter::default());
        assert!(matches!(found, Err(StoreError::Changed { .. })), "{found:?}");
        assert_eq!(count(&others(&path).unwrap()), 200);
    }

    #[test]
    fn a_store_in_use_is_read_with_its_log_and_left_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let owner = Store::open(&path).unwrap();
        add(&owner, "a");
        let index = std::fs::read(index(&path)).unwrap();
        let store = others(&path).unwrap();
        assert_eq!(count(&store), 1);
        add(&owner, "b");
        assert_eq!(count(&store), 2);
        assert_eq!(std::fs::read(super::index(&path)).unwrap().len(), index.len());
        drop(store);
        add(&owner, "c");
        drop(owner);
        assert_eq!(names(folder.path()), ["store.db"]);
    }

    #[test]
    fn what_a_killed_process_left_is_read_with_its_index_and_refused_without() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let owner = Store::open(&path).unwrap();
        add(&owner, "a");
        let left = tempfile::tempdir().unwrap();
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            std::fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
        }
        let path = left.path().join("store.db");
        let before = std::fs::read(index(&path)).unwrap();
        assert_eq!(count(&others(&path).unwrap()), 1);
        assert_eq!(names(left.path()), ["store.db", "store.db-shm", "store.db-wal"]);
        assert!(std::fs::read(index(&path)).unwrap() == before);
        std::fs::remove_file(index(&path)).unwrap();
        let refused = others(&path).unwrap_err();
        assert!(matches!(refused, StoreError::Open { .. }), "{refused}");
        assert!(refused.to_string().contains("copy both files"), "{refused}");
        assert_eq!(names(left.path()), ["store.db", "store.db-wal"]);
        std::fs::write(log(&path), b"").unwrap();
        assert_eq!(count(&others(&path).unwrap()), 0, "an empty log holds nothing");
    }

    #[test]
    fn an_older_store_with_the_same_tables_is_read_as_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        add(&Store::open_with(&path, &MIGRATIONS[..SAME_TABLES_SINCE as usize]).unwrap(), "a");
        let bytes = std::fs::read(&path).unwrap();
        let store = others(&path).unwrap();
        assert_eq!((count(&store), store.resolve("last").unwrap().as_str()), (1, "a"));
        assert!(std::fs::read(&path).unwrap() == bytes, "it stays a store of its version");
    }

    #[test]
    fn an_older_store_that_may_only_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let first: &[Migration] = &MIGRATIONS[..1];
        drop(Store::open_with(&path, first).unwrap());
        assert!(matches!(others(&path), Err(StoreError::Older { found: 1, known: 4, .. })));
        std::fs::write(&path, b"").unwrap();
        assert!(matches!(others(&path), Err(StoreError::Older { found: 0, .. })));
    }
}
