//! SQLite databases while others write to them.

use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The wait before a backup that met a lock goes on.
const LOCKED: Duration = Duration::from_millis(5);

/// What SQLite keeps beside a database while it is used.
pub(super) const BESIDE: [&str; 2] = ["-wal", "-journal"];
/// The index of the write-ahead log: SQLite makes it anew.
pub(super) const SHARED: &str = "-shm";

fn connect(database: &Path, timeout: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(timeout)?;
    // The log is the application's: it stays as it is when this is the last connection.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

fn about(database: &Path) -> impl FnOnce(rusqlite::Error) -> String {
    let name = database.display().to_string();
    move |error| format!("{name}: {error}")
}

/// Databases to which nobody writes until this is dropped.
///
/// The locks belong to this process: closing any other handle of such a file gives them back. So handles that are opened meanwhile
/// must be kept until the end.
pub(super) struct StillDatabases(Vec<Connection>);

impl StillDatabases {
    /// Waits until nobody writes, and takes the right to write to each database.
    pub(super) fn lock(databases: &[PathBuf], timeout: Duration) -> Result<Self, String> {
        let locked = databases.iter().map(|database| {
            let connection = connect(database, timeout).map_err(about(database))?;
            connection.execute_batch("begin immediate").map_err(about(database))?;
            Ok(connection)
        });
        locked.collect::<Result<_, _>>().map(Self)
    }

    /// Others may write again.
    pub(super) fn release(self) -> Result<(), String> {
        self.0.iter().try_for_each(|connection| connection.execute_batch("rollback").map_err(|error| error.to_string()))
    }
}

/// Copies a database by SQLite's own backup into an empty file. Those who use a write-ahead log can write meanwhile.
pub(super) fn back_up(database: &Path, into: &Path, timeout: Duration) -> Result<(), String> {
    let source = connect(database, timeout).map_err(about(database))?;
    let mut target = Connection::open(into).map_err(about(into))?;
    // The copy is read once and removed.
    target.execute_batch("pragma journal_mode = off; pragma synchronous = off").map_err(about(into))?;
    let backup = Backup::new(&source, &mut target).map_err(about(database))?;
    let end = Instant::now() + timeout;
    loop {
        match backup.step(-1).map_err(about(database))? {
            StepResult::Done => return Ok(()),
            _ if Instant::now() < end => std::thread::sleep(LOCKED),
            _ => return Err(format!("{}: others had it locked all the time", database.display())),
        }
    }
}

/// What SQLite finds wrong with a database; `None` if it is whole.
pub(super) fn trouble_of(database: &Path) -> Option<String> {
    let said =
        Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .and_then(|connection| {
                connection.query_row("pragma integrity_check(1)", [], |row| row.get::<_, String>(0))
            });
    match said {
        Ok(said) if said == "ok" => None,
        Ok(said) => Some(said),
        Err(error) => Some(error.to_string()),
    }
}
