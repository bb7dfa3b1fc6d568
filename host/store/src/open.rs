//! Opens a store: creates a missing one, migrates an older one, and refuses files of other programs.

use crate::error::Trouble;
use crate::reading::{AsFound, Unwritable};
use crate::unix::{FileNumber, file_uri, make_private_file, make_private_folder, real_path};
use crate::{StoreError, Tag};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Marks an SQLite file as a loadline store: "load" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x6c6f_6164;
/// How long a writer waits for another; each transaction takes milliseconds unless the disk under the store is overloaded.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// The time in which the first page of a new file is written, with a wide margin.
const SECOND_LOOK: Duration = Duration::from_millis(50);

/// One step of the format: from the version that is its place in the list to the next.
pub(crate) type Migration = fn(&Transaction<'_>) -> rusqlite::Result<()>;
/// Every step there has been. A new format is a new step at the end; older ones never change.
pub(crate) const MIGRATIONS: &[Migration] = &[
    |transaction| transaction.execute_batch(include_str!("schema/1.sql")),
    |transaction| transaction.execute_batch(include_str!("schema/2.sql")),
    |transaction| transaction.execute_batch(include_str!("schema/3.sql")),
    |transaction| transaction.execute_batch(include_str!("schema/4.sql")),
];
/// The oldest version whose tables are those of today but for the tags: what came later is views. Such a store is read as it stands by who
/// may not write to it.
pub(crate) const SAME_TABLES_SINCE: u32 = 2;
/// The first version with tags.
pub(crate) const TAGS_SINCE: u32 = 4;

/// A store of run records: one SQLite file, used by any number of processes at once.
///
/// A finished trial is on the disk when [`Store::finish_trial`] returns.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    /// Absolute, without symbolic links: every process finds the same lock files.
    pub(crate) path: PathBuf,
    /// The file's state when it was opened, if this user may only read it.
    pub(crate) only_read: Option<AsFound>,
    /// The file that was opened.
    pub(crate) file: Option<FileNumber>,
    /// What each run is given that is begun or added.
    pub(crate) new_runs: Vec<Tag>,
}

impl Store {
    /// Opens the store at `path`; creates missing folders and the file (an empty file becomes a store).
    ///
    /// # Errors
    /// A damaged file, another program's database and a store of a newer version are named and left as they are.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, MIGRATIONS)
    }

    /// [`Store::open`] with the given steps, as a version of the tool with these steps would do.
    pub(crate) fn open_with(path: &Path, steps: &[Migration]) -> Result<Self, StoreError> {
        let unreachable = |source| StoreError::Path { path: path.to_owned(), source };
        let path = std::path::absolute(path).map_err(unreachable)?;
        if let Some(folder) = path.parent() {
            make_private_folder(folder).map_err(unreachable)?;
        }
        examine(&path, steps.len() as u32)?;
        // One that is there stays. Where no file can be made, SQLite says so next.
        let _ = make_private_file(&path);
        // SQLite would open it to be read, make files beside it, and complain at the first write only.
        if let Some(why) = Unwritable::of_file(&path) {
            return Err(StoreError::Unwritable { path, why });
        }
        let told = |trouble: Trouble| trouble.tell("open", &path);
        let connection = match ready(&path, steps, Sharing::WithOthers).map_err(told) {
            // Without space for the files beside it the store is read, and runs are removed, by one process at a time.
            Err(StoreError::Full { .. }) => ready(&path, steps, Sharing::Alone).map_err(told)?,
            other => other?,
        };
        // The file is in order, so closing may move the write-ahead log into the file.
        let settled = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        settled.map_err(|error| told(error.into()))?;
        let path = real_path(&path).map_err(|source| StoreError::Path { path, source })?;
        let file = FileNumber::at(&path);
        Ok(Self { connection, path, only_read: None, file, new_runs: Vec::new() })
    }

    /// The file, as an absolute path without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does `work` in one transaction that writes; nothing of it remains when it fails.
    pub(crate) fn write<T>(
        &self,
        attempt: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        self.check_writable()?;
        let done = self.within(TransactionBehavior::Immediate, attempt, work)?;
        // SQLite writes on to a file without a name, or with another one; nobody would find the records there.
        if FileNumber::at(&self.path) != self.file {
            return Err(StoreError::Moved { attempt, path: self.path.clone() });
        }
        Ok(done)
    }

    /// Does `work` on one consistent view of the store.
    pub(crate) fn read<T>(
        &self,
        attempt: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        self.within(TransactionBehavior::Deferred, attempt, work)
    }

    fn within<T>(
        &self,
        behavior: TransactionBehavior,
        attempt: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let done = (|| {
            let transaction = Transaction::new_unchecked(&self.connection, behavior)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })();
        if let Some(found) = &self.only_read {
            found.check_unchanged(&self.path)?;
        }
        done.map_err(|trouble: Trouble| {
            let error = trouble.tell(attempt, &self.path);
            if matches!(error, StoreError::Corrupt { .. }) {
                // From here on the file stays as it is. Best effort: the caller must learn of the damage first.
                let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            }
            error
        })
    }

    /// Returns the space of removed runs to the file system. Best effort: the rest is reused or returned another time.
    pub(crate) fn give_back_space(&self) {
        let _ = (|| {
            let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
            // Each step moves one page.
            let mut rows = vacuum.query([])?;
            while rows.next()?.is_some() {}
            Ok::<_, rusqlite::Error>(())
        })();
    }
}

/// Whether other processes may use the store at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// What they need to agree is in a file beside it.
    WithOthers,
    /// It is in memory.
    Alone,
}

/// A connection to a store that is up to date.
fn ready(path: &Path, steps: &[Migration], sharing: Sharing) -> Result<Connection, Trouble> {
    let connection = connect(path, sharing)?;
    bring_up_to_date(&connection, path, steps)?;
    Ok(connection)
}

/// The marks on the first page of an SQLite file.
pub(crate) struct Marks {
    application_id: i32,
    version: u32,
    /// Zero as long as no table was ever made.
    schema_changes: i32,
}

impl Marks {
    /// Within a transaction, or another process may change the file between two marks.
    pub(crate) fn read(connection: &Transaction<'_>) -> rusqlite::Result<Self> {
        let mark = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        Ok(Self {
            application_id: mark("application_id")?,
            version: mark("user_version")?.cast_unsigned(),
            schema_changes: mark("schema_version")?,
        })
    }
    /// Whether this is a store, or empty and of no program: a store during its creation, or after an interrupted one.
    fn is_ours(&self) -> bool {
        self.application_id == APPLICATION_ID || (self.application_id == 0 && self.schema_changes == 0)
    }
    /// The version, if this is a store that can be used here.
    pub(crate) fn check(&self, path: &Path, known: u32) -> Result<u32, StoreError> {
        let (path, found) = (path.to_owned(), self.version);
        match self.is_ours() {
            false => Err(StoreError::Foreign { path }),
            true if found > known => Err(StoreError::Newer { path, found, known }),
            true => Ok(found),
        }
    }
}

/// Refuses a file at `path` that cannot be a store, and does not change it; the file may be missing.
pub(crate) fn examine(path: &Path, known: u32) -> Result<(), StoreError> {
    let unreachable = |source| Err(StoreError::Path { path: path.to_owned(), source });
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => unreachable(std::io::Error::from(std::io::ErrorKind::IsADirectory)),
        // A device has no length: SQLite would read it as an empty file, and overwrite its contents.
        Ok(found) if !found.is_file() => {
            unreachable(std::io::Error::other("is no regular file, and was left as it is"))
        }
        // SQLite reads a single byte as an empty file, and would overwrite it.
        Ok(found) if found.len() == 1 => Err(StoreError::Foreign { path: path.to_owned() }),
        Ok(found) if found.len() > 0 => recognize(path, known),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => unreachable(error),
    }
}

/// Refuses a file that does not begin as a loadline store of a known version does, without leaving a trace in it or
/// beside it.
fn recognize(path: &Path, known: u32) -> Result<(), StoreError> {
    let found = match first_page(path) {
        Ok(marks) if marks.is_ours() => Ok(marks),
        // Another process may be writing the first page of a new store right now, so look again.
        _ => {
            std::thread::sleep(SECOND_LOOK);
            first_page(path)
        }
    };
    found.map_err(|error| Trouble::Sql(error).tell("open", path))?.check(path, known).map(|_| ())
}

/// Reads the first page, without a write-ahead log.
///
/// SQLite reads the file itself (`immutable`). Opening and closing it in another way would drop the locks of other
/// connections of this process.
fn first_page(path: &Path) -> rusqlite::Result<Marks> {
    let connection = connect_to_read(path, "immutable=1")?;
    // A process killed while it moved its write-ahead log into the file leaves a file shorter than its first page says.
    // That is in order as long as the log is there. Without this pragma SQLite would call it malformed.
    connection.pragma_update(None, "writable_schema", true)?;
    Marks::read(&Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?)
}

/// Opens the file to be read only, with these parameters of SQLite's.
pub(crate) fn connect_to_read(path: &Path, parameters: &str) -> rusqlite::Result<Connection> {
    let uri = format!("{}?mode=ro&{parameters}", file_uri(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn connect(path: &Path, sharing: Sharing) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if sharing == Sharing::Alone {
        // Before anything looks at the log: what others would need to agree is made then.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    // Until the version is known to be ours, closing must not touch the file.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Each commit waits for the disk: a trial takes a minute, the flush some milliseconds.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Runs the missing steps, all in one transaction.
fn bring_up_to_date(connection: &Connection, path: &Path, steps: &[Migration]) -> Result<(), Trouble> {
    let known = steps.len() as u32;
    let marks = Marks::read(&Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?)?;
    if marks.check(path, known)? < known {
        // Lets `rm` return space. It works only before the first table, and then writes a first page at once, outside
        // the transaction below.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let version = Marks::read(&transaction)?.check(path, known)?;
        for step in &steps[version as usize..] {
            step(&transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", known)?;
        transaction.commit()?;
    }
    use_write_ahead_log(connection)?;
    // Damage shows before anything is written.
    look_at_tables(connection)?;
    Ok(())
}

/// Looks at the tables once.
pub(crate) fn look_at_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM (SELECT 1 FROM runs LIMIT 1)", [], |_| Ok(()))
}

/// Switches to the write-ahead log, once and for all; later calls change nothing. A file system without shared memory
/// refuses it: the store then works with a rollback journal, as safe but slower.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        // SQLite does not wait for others when it changes the mode.
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    const ADDS_A_COLUMN: Migration = |transaction| {
        transaction.execute_batch(
            "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'; INSERT INTO runs
            (id, name, verb, clock, started, version, status, cells, trials_planned)
            VALUES ('by-the-step', '', '', 'real', '', '', 'failed', 0, 0)",
        )
    };
    const FAILS_HALF_WAY: Migration =
        |transaction| transaction.execute_batch("DROP TABLE doubts; SELECT * FROM nowhere");

    fn next(step: Migration) -> Vec<Migration> {
        MIGRATIONS.iter().copied().chain([step]).collect()
    }
    fn notes(store: &Store) -> Vec<(String, String)> {
        let mut statement = store.connection.prepare("SELECT id, note FROM runs ORDER BY key").unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_store_and_its_folder_are_for_their_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/deep/store.db");
        let _store = Store::open(&path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
        }
        assert_eq!((mode(path.parent().unwrap()), mode(&folder.path().join("new"))), (0o700, 0o700));
        // What its user opened to others stays open.
        let shared = folder.path().join("shared.db");
        std::fs::write(&shared, "").unwrap();
        std::fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o664)).unwrap();
        let _shared = Store::open(&shared).unwrap();
        assert_eq!(mode(&shared), 0o664);
    }

    #[test]
    fn an_older_store_is_brought_up_to_date_with_its_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let insert = "INSERT INTO runs (id, name, verb, clock, started, version, status, cells, trials_planned)
                      VALUES ('old', '', '', 'real', '', '', 'failed', 0, 0)";
        Store::open(&path).unwrap().connection.execute(insert, []).unwrap();
        let newer = next(ADDS_A_COLUMN);
        let expected = [("old".to_owned(), "none".to_owned()), ("by-the-step".to_owned(), "none".to_owned())];
        // The second time there is nothing left to do.
        for _ in 0..2 {
            assert_eq!(notes(&Store::open_with(&path, &newer).unwrap()), expected);
        }
        let older = Store::open(&path).unwrap_err();
        let (found, known) = (newer.len() as u32, MIGRATIONS.len() as u32);
        assert!(matches!(older, StoreError::Newer { found: f, known: k, .. } if (f, k) == (found, known)), "{older}");
    }

    #[test]
    fn a_store_of_version_1_keeps_its_volumes_and_operations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let first = Store::open_with(&path, &MIGRATIONS[..1]).unwrap();
        let insert = "INSERT INTO runs (id, name, verb, clock, started, version, status, cells, trials_planned)
                      VALUES ('old', '', '', 'real', '', '', 'failed', 0, 0);
                      INSERT INTO volumes VALUES (1, 0, 'data', '/mnt', 4096);
                      INSERT INTO cells (run, position, id, volume, label, pattern, read_ratio, block_bytes, threads, arrival,
                                         trials_planned, document) VALUES (1, 0, 'c', 'data', '', '', 1, 1, 1, '', 1, '');
                      INSERT INTO trials (cell, trial, started_unix_s, engine, measured_ns, errors, ending, document, series)
                      VALUES (1, 0, 0, '', 0, 0, 'complete', '', x'');
                      INSERT INTO operations (trial, operation, count, bytes, errors, latency) VALUES (1, 'read', 7, 8, 0, x'01');";
        first.connection.execute_batch(insert).unwrap();
        drop(first);
        let store = Store::open(&path).unwrap();
        let row = |sql: &str| store.connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).unwrap();
        assert_eq!(row("SELECT size_bytes FROM volumes WHERE run = 1 AND name = 'data'"), Some(4096));
        assert_eq!(row("SELECT count FROM operations WHERE told IS NULL"), Some(7));
        store.connection.execute("INSERT INTO volumes VALUES (1, 1, 'more', '/x', NULL)", []).unwrap();
        store.connection.execute("DELETE FROM runs", []).unwrap();
        assert_eq!(row("SELECT count(*) FROM volumes"), Some(0), "a volume goes with its run");
    }

    #[test]
    fn a_step_that_fails_leaves_the_store_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        drop(Store::open(&path).unwrap());
        let before = std::fs::read(&path).unwrap();
        let failed = Store::open_with(&path, &next(FAILS_HALF_WAY)).unwrap_err();
        assert!(matches!(failed, StoreError::Sql { attempt: "open", .. }), "{failed}");
        assert!(std::fs::read(&path).unwrap() == before);
        let store = Store::open(&path).unwrap();
        assert_eq!(
            store.connection.query_row("SELECT count(*) FROM doubts", [], |row| row.get::<_, u32>(0)).unwrap(),
            0
        );
    }

    #[test]
    fn a_store_whose_making_was_cut_off_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        connect(&path, Sharing::WithOthers).unwrap().pragma_update(None, "auto_vacuum", "INCREMENTAL").unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 0);
        assert!(Store::open(&path).unwrap().list(&crate::Filter::default()).unwrap().is_empty());
    }

    #[test]
    fn a_commit_waits_for_the_disk_and_readers_do_not_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store.db")).unwrap();
        let pragma =
            |name| store.connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0));
        assert_eq!(pragma("synchronous").unwrap(), 2.into());
        assert_eq!(pragma("journal_mode").unwrap(), "wal".to_owned().into());
        assert_eq!(pragma("foreign_keys").unwrap(), 1.into());
        assert_eq!(pragma("application_id").unwrap(), i64::from(APPLICATION_ID).into());
    }

    #[test]
    fn a_full_disk_is_named_and_nothing_half_done_remains() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store.db")).unwrap();
        let pages: u32 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        store.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
        let insert = "INSERT INTO runs (id, name, verb, clock, started, version, status, cells, trials_planned)
                      VALUES ('a', hex(zeroblob(100000)), '', 'real', '', '', 'failed', 0, 0)";
        let full = store.write("fill the store", |transaction| Ok(transaction.execute(insert, [])?));
        assert!(matches!(full, Err(StoreError::Full { attempt: "fill the store", .. })), "{full:?}");
        assert!(!store.connection.prepare("SELECT * FROM runs").unwrap().exists([]).unwrap());
    }
}
