//! The crawl's database: a row for each item, in transactions that end with an epoch.

use crate::error::CrawlError;
use crate::item::{FoundLink, Identity, ItemOnWay};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::{Path, PathBuf};

/// Version of the tables.
const VERSION: i64 = 1;
/// Bytes of a page.
const PAGE: u64 = 4_096;
/// A frame of the log: a page with its header.
const FRAME: u64 = PAGE + 24;

const TABLES: &str = "
    CREATE TABLE about (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE sources (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE items (
        id INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL, state INTEGER NOT NULL, crawl INTEGER NOT NULL,
        due INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL, depth INTEGER NOT NULL, reason TEXT, title TEXT, size INTEGER, text_bytes INTEGER,
        mtime_ns INTEGER, ctime_ns INTEGER, device INTEGER, inode INTEGER, etag TEXT, last_modified TEXT, hash BLOB,
        UNIQUE (source, key));
";

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemState {
    /// A link to it was found, and it was not fetched yet.
    Found = 0,
    /// It stands in the index.
    Indexed = 1,
    /// It failed.
    Failed = 2,
}

/// What the database knows of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownItem {
    /// The crawl that saw it last.
    pub(crate) crawl: u64,
    pub(crate) state: ItemState,
    pub(crate) identity: Identity,
}

/// The database, opened for writing.
#[derive(Debug)]
pub(crate) struct CrawlDatabase {
    connection: Connection,
    log: PathBuf,
    /// The number of this crawl.
    crawl: u64,
    epoch: u64,
    log_size: u64,
}

/// A reader beside the writer.
#[derive(Debug)]
pub(crate) struct KnownItems {
    connection: Connection,
    crawl: u64,
}

/// How a crawl begins: with an empty index, or with the existing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CrawlNumber {
    /// Its number in this database, from 1.
    pub(crate) crawl: u64,
    /// The last epoch that is durable.
    pub(crate) epoch: u64,
    /// It goes on with one that did not end.
    pub(crate) goes_on: bool,
}

/// The file of the data.
pub(crate) const DATABASE_FILE: &str = "crawl.db";

fn file_of(folder: &Path) -> PathBuf {
    folder.join(DATABASE_FILE)
}

fn about(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    let value: Option<i64> =
        connection.query_row("SELECT value FROM about WHERE name = ?1", [name], |row| row.get(0)).optional()?;
    Ok(value.unwrap_or(0).cast_unsigned())
}

fn set_about(connection: &Connection, name: &str, value: u64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO about VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
        params![name, value.cast_signed()],
    )?;
    Ok(())
}

impl CrawlDatabase {
    /// Opens the database in `folder`, or makes it; with `reset` it is made anew.
    pub(crate) fn open(folder: &Path, reset: bool, log_size: u64) -> Result<(Self, CrawlNumber), CrawlError> {
        std::fs::create_dir_all(folder).map_err(CrawlError::folder("make the folder of the database,", folder))?;
        let file = file_of(folder);
        let log = folder.join("crawl.db-wal");
        if reset {
            for old in [file.clone(), log.clone(), folder.join("crawl.db-shm")] {
                match std::fs::remove_file(&old) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        // A file that is bound here from another volume is emptied.
                        std::fs::write(&old, []).map_err(CrawlError::folder("empty", &old))?;
                    }
                    _ => {}
                }
            }
        }
        let open = CrawlError::database;
        let connection = Connection::open(&file).map_err(open("open"))?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
                 PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;",
            )
            .map_err(open("open"))?;
        connection.busy_timeout(std::time::Duration::from_secs(60)).map_err(open("open"))?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(open("read"))?;
        if version == 0 {
            connection
                .execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))
                .map_err(open("make the tables of"))?;
        }
        let read = || open("read");
        let (last, is_complete) =
            (about(&connection, "crawl").map_err(read())?, about(&connection, "complete").map_err(read())? == 1);
        let epoch = about(&connection, "epoch").map_err(read())?;
        let goes_on = last > 0 && !is_complete;
        let crawl = if goes_on { last } else { last + 1 };
        set_about(&connection, "crawl", crawl).map_err(open("write to"))?;
        set_about(&connection, "complete", 0).map_err(open("write to"))?;
        connection.execute_batch("BEGIN").map_err(open("begin an epoch in"))?;
        let database = Self { connection, log, crawl, epoch, log_size };
        Ok((database, CrawlNumber { crawl, epoch, goes_on }))
    }
    /// A reader for what is known.
    pub(crate) fn known_items(folder: &Path, crawl: u64) -> Result<KnownItems, CrawlError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file_of(folder), flags).map_err(CrawlError::database("open"))?;
        connection.busy_timeout(std::time::Duration::from_secs(60)).map_err(CrawlError::database("open"))?;
        Ok(KnownItems { connection, crawl })
    }
    /// Gives each source its number.
    pub(crate) fn sources(&self, names: &[String]) -> Result<Vec<i64>, CrawlError> {
        let number = |name: &String| {
            self.connection.execute("INSERT OR IGNORE INTO sources (name) VALUES (?1)", [name])?;
            self.connection.query_row("SELECT number FROM sources WHERE name = ?1", [name], |row| row.get(0))
        };
        names.iter().map(number).collect::<Result<_, _>>().map_err(CrawlError::database("write to"))
    }
    /// Writes an item that is done, or failed for `reason`.
    pub(crate) fn write(
        &self,
        source: i64,
        item: &ItemOnWay,
        title: &str,
        reason: Option<&str>,
    ) -> Result<(), CrawlError> {
        let Identity { size, mtime_ns, ctime_ns, device, inode, etag, last_modified, hash, .. } = &item.identity;
        let state = if reason.is_some() { ItemState::Failed } else { ItemState::Indexed };
        let mut statement = self
            .connection
            .prepare_cached(
                "INSERT INTO items (source, key, state, crawl, epoch, depth, reason, title, size, text_bytes, mtime_ns, \
                 ctime_ns, device, inode, etag, last_modified, hash) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) \
                 ON CONFLICT (source, key) DO UPDATE SET state = ?3, crawl = ?4, epoch = ?5, depth = ?6, reason = ?7, \
                 title = ?8, size = ?9, text_bytes = ?10, mtime_ns = ?11, ctime_ns = ?12, device = ?13, inode = ?14, \
                 etag = ?15, last_modified = ?16, hash = ?17",
            )
            .map_err(CrawlError::database("write to"))?;
        let values = params![
            source,
            item.key,
            state as i64,
            self.crawl.cast_signed(),
            (self.epoch + 1).cast_signed(),
            item.depth,
            reason,
            title,
            size.cast_signed(),
            item.record.text_bytes.cast_signed(),
            mtime_ns,
            ctime_ns,
            device.cast_signed(),
            inode.cast_signed(),
            etag,
            last_modified,
            hash.as_ref().map(|hash| &hash[..]),
        ];
        statement.execute(values).map_err(CrawlError::database("write to"))?;
        Ok(())
    }
    /// Notes that an item of an earlier crawl is as it was.
    pub(crate) fn touch(&self, source: i64, item: &ItemOnWay) -> Result<(), CrawlError> {
        let Identity { size, mtime_ns, ctime_ns, device, inode, .. } = &item.identity;
        let mut statement = self
            .connection
            .prepare_cached(
                "UPDATE items SET crawl = ?3, size = ?4, mtime_ns = ?5, ctime_ns = ?6, device = ?7, inode = ?8 \
                 WHERE source = ?1 AND key = ?2",
            )
            .map_err(CrawlError::database("write to"))?;
        let values = params![
            source,
            item.key,
            self.crawl.cast_signed(),
            size.cast_signed(),
            mtime_ns,
            ctime_ns,
            device.cast_signed(),
            inode.cast_signed()
        ];
        statement.execute(values).map_err(CrawlError::database("write to"))?;
        Ok(())
    }
    /// Notes links that are to be fetched.
    pub(crate) fn found(&self, source: i64, links: &[FoundLink]) -> Result<(), CrawlError> {
        if links.is_empty() {
            return Ok(());
        }
        let mut statement = self
            .connection
            .prepare_cached(
                // An item of an earlier crawl stands in the index until it is fetched again.
                "INSERT INTO items (source, key, state, crawl, due, epoch, depth) VALUES (?1, ?2, 0, 0, ?3, 0, ?4) \
                 ON CONFLICT (source, key) DO UPDATE SET due = ?3",
            )
            .map_err(CrawlError::database("write to"))?;
        for link in links {
            statement
                .execute(params![source, link.key, self.crawl.cast_signed(), link.depth])
                .map_err(CrawlError::database("write to"))?;
        }
        Ok(())
    }
    /// Bytes of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |facts| facts.len())
    }
    /// Requests of so many bytes of the log.
    pub(crate) const fn log_writes(bytes: u64) -> u64 {
        bytes.div_ceil(FRAME)
    }
    /// Makes the epoch durable, and begins the next.
    pub(crate) fn commit(&mut self, epoch: u64) -> Result<(), CrawlError> {
        set_about(&self.connection, "epoch", epoch).map_err(CrawlError::database("write to"))?;
        self.connection.execute_batch("COMMIT").map_err(CrawlError::database("commit"))?;
        self.epoch = epoch;
        self.connection.execute_batch("BEGIN").map_err(CrawlError::database("begin an epoch in"))
    }
    /// Has the data take in the log where it has become large. Returns whether it did.
    pub(crate) fn checkpoint(&self, whatever_size: bool) -> Result<bool, CrawlError> {
        if !whatever_size && self.log_bytes() < self.log_size {
            return Ok(false);
        }
        let failed = || CrawlError::database("write the log into");
        self.connection.execute_batch("COMMIT").map_err(CrawlError::database("commit"))?;
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            .map_err(failed())?;
        self.connection.execute_batch("BEGIN").map_err(failed())?;
        Ok(true)
    }
    /// Items that this crawl did not see any more, of a source: they are removed. Returns their keys, `most` at a time, with the
    /// epochs since which they stand in the index.
    pub(crate) fn take_unseen(&self, source: i64, most: u32) -> Result<Vec<(String, Option<u64>)>, CrawlError> {
        let read = || CrawlError::database("read");
        let mut statement = self
            .connection
            .prepare_cached("SELECT id, key, state, epoch FROM items WHERE source = ?1 AND crawl < ?2 LIMIT ?3")
            .map_err(read())?;
        let rows = statement
            .query_map(params![source, self.crawl.cast_signed(), most], |row| {
                let is_indexed = row.get::<_, i64>(2)? == ItemState::Indexed as i64;
                let epoch = row.get::<_, i64>(3)?.cast_unsigned();
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, is_indexed.then_some(epoch)))
            })
            .map_err(read())?
            .collect::<Result<Vec<_>, _>>()
            .map_err(read())?;
        let mut removal = self
            .connection
            .prepare_cached("DELETE FROM items WHERE id = ?1")
            .map_err(CrawlError::database("write to"))?;
        for (id, ..) in &rows {
            removal.execute([id]).map_err(CrawlError::database("write to"))?;
        }
        Ok(rows.into_iter().map(|(_, key, epoch)| (key, epoch)).collect())
    }
    /// The crawl is over: every item was seen.
    pub(crate) fn complete(&self) -> Result<(), CrawlError> {
        set_about(&self.connection, "complete", 1).map_err(CrawlError::database("write to"))
    }
    /// Ends it; what is not committed goes.
    pub(crate) fn close(self) -> Result<(), CrawlError> {
        self.connection.execute_batch("ROLLBACK").map_err(CrawlError::database("close"))?;
        self.connection.close().map_err(|(_, error)| CrawlError::database("close")(error))
    }
}

impl KnownItems {
    /// What is known of an item.
    pub(crate) fn find(&self, source: i64, key: &str) -> Result<Option<KnownItem>, CrawlError> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT crawl, state, size, mtime_ns, ctime_ns, device, inode, etag, last_modified, hash, epoch FROM items \
                 WHERE source = ?1 AND key = ?2",
            )
            .map_err(CrawlError::database("read"))?;
        let number = |row: &rusqlite::Row<'_>, column: usize| -> rusqlite::Result<u64> {
            Ok(row.get::<_, Option<i64>>(column)?.unwrap_or(0).cast_unsigned())
        };
        statement
            .query_row(params![source, key], |row| {
                let hash: Option<Vec<u8>> = row.get(9)?;
                Ok(KnownItem {
                    crawl: number(row, 0)?,
                    state: state_of(row.get(1)?),
                    identity: Identity {
                        size: number(row, 2)?,
                        mtime_ns: row.get::<_, Option<i64>>(3)?.unwrap_or(0),
                        ctime_ns: row.get::<_, Option<i64>>(4)?.unwrap_or(0),
                        device: number(row, 5)?,
                        inode: number(row, 6)?,
                        etag: row.get(7)?,
                        last_modified: row.get(8)?,
                        hash: hash.and_then(|hash| hash.try_into().ok()),
                        epoch: number(row, 10)?,
                    },
                })
            })
            .optional()
            .map_err(CrawlError::database("read"))
    }
    /// Whether anything is known at all: of a new database nothing has to be looked up.
    pub(crate) fn is_empty(&self) -> Result<bool, CrawlError> {
        let any: Option<i64> = self
            .connection
            .query_row("SELECT 1 FROM items LIMIT 1", [], |row| row.get(0))
            .optional()
            .map_err(CrawlError::database("read"))?;
        Ok(any.is_none())
    }
    /// Links of this crawl that wait, with their depth.
    pub(crate) fn waiting(&self, source: i64) -> Result<Vec<FoundLink>, CrawlError> {
        self.links("SELECT key, depth FROM items WHERE source = ?1 AND due = ?2 AND crawl < ?2 ORDER BY id", source)
    }
    /// Items of earlier crawls that stand in the index, with their depth.
    pub(crate) fn earlier(&self, source: i64) -> Result<Vec<FoundLink>, CrawlError> {
        self.links("SELECT key, depth FROM items WHERE source = ?1 AND crawl < ?2 AND state = 1 ORDER BY id", source)
    }
    fn links(&self, query: &str, source: i64) -> Result<Vec<FoundLink>, CrawlError> {
        let read = || CrawlError::database("read");
        let mut statement = self.connection.prepare(query).map_err(read())?;
        let rows = statement
            .query_map(params![source, self.crawl.cast_signed()], |row| {
                Ok(FoundLink { key: row.get(0)?, depth: row.get(1)? })
            })
            .map_err(read())?;
        rows.collect::<Result<_, _>>().map_err(read())
    }
    /// Keys that this crawl is done with.
    pub(crate) fn done(&self, source: i64) -> Result<Vec<String>, CrawlError> {
        let read = || CrawlError::database("read");
        let mut statement = self
            .connection
            .prepare("SELECT key FROM items WHERE source = ?1 AND crawl = ?2 AND state > 0")
            .map_err(read())?;
        let rows = statement.query_map(params![source, self.crawl.cast_signed()], |row| row.get(0)).map_err(read())?;
        rows.collect::<Result<_, _>>().map_err(read())
    }
    /// Keys of every item that stands in the index, in their order.
    pub(crate) fn indexed(&self) -> Result<Vec<String>, CrawlError> {
        let read = || CrawlError::database("read");
        let mut statement =
            self.connection.prepare("SELECT key FROM items WHERE state = 1 ORDER BY key").map_err(read())?;
        let rows = statement.query_map([], |row| row.get(0)).map_err(read())?;
        rows.collect::<Result<_, _>>().map_err(read())
    }
    /// The number of the crawl, for what is known of its items.
    pub(crate) const fn crawl(&self) -> u64 {
        self.crawl
    }
}

const fn state_of(stored: i64) -> ItemState {
    match stored {
        0 => ItemState::Found,
        1 => ItemState::Indexed,
        _ => ItemState::Failed,
    }
}
