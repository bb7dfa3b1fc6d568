//! Rows of a SQLite table: keys in pages, then each row by its key.

use super::{Feeding, FetchAnswer, FetchPhase, FetchTimer, Fetcher};
use crate::error::CrawlError;
use crate::frontier::NewTarget;
use crate::item::{ContentKind, CrawlTarget, Identity, ItemFailure};
use loadline_pipeline::CrawlCaps;
use loadline_record::WorkerState;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keys that are read at once.
const KEYS_AT_ONCE: i64 = 1_000;

/// A table whose rows are items.
#[derive(Debug, Clone)]
pub(crate) struct RowTable {
    pub(crate) source: String,
    pub(crate) database: PathBuf,
    pub(crate) table: String,
    pub(crate) key: String,
    pub(crate) columns: Vec<String>,
    pub(crate) caps: CrawlCaps,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl RowTable {
    fn open(&self) -> Result<Connection, CrawlError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.database, flags).map_err(|error| self.wrong(&error))
    }
    fn wrong(&self, error: &rusqlite::Error) -> CrawlError {
        let place = self.database.display();
        CrawlError::Source { name: self.source.clone(), why: format!("table {} of {place}: {error}", self.table) }
    }
    /// Finds out whether the table can be read.
    pub(crate) fn check(&self) -> Result<(), CrawlError> {
        let connection = self.open()?;
        connection.prepare(&self.row_query()).map(drop).map_err(|error| self.wrong(&error))
    }
    fn row_query(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(column)).collect();
        let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
        format!("SELECT {columns} FROM {} WHERE {} = ?1", quoted(&self.table), quoted(&self.key))
    }
    /// Adds every key, page by page.
    pub(crate) fn feed(&self, feeding: &mut Feeding<'_>, stop: &AtomicBool) -> Result<(), CrawlError> {
        let connection = self.open()?;
        let (table, key) = (quoted(&self.table), quoted(&self.key));
        let query = format!("SELECT {key} FROM {table} WHERE {key} >= ?1 ORDER BY {key} LIMIT {KEYS_AT_ONCE}");
        let mut statement = connection.prepare(&query).map_err(|error| self.wrong(&error))?;
        let mut next = Some(i64::MIN);
        while let Some(first) = next.filter(|_| !stop.load(Ordering::Relaxed)) {
            let rows = statement.query_map([first], |row| row.get::<_, i64>(0)).map_err(|error| self.wrong(&error))?;
            let keys = rows.collect::<Result<Vec<i64>, _>>().map_err(|error| self.wrong(&error))?;
            next = keys.last().and_then(|last| last.checked_add(1));
            for key in keys {
                feeding.add(NewTarget { key: format!("{}/{key}", self.table), ..NewTarget::default() })?;
            }
        }
        Ok(())
    }
}

/// Reads rows in one slot, over a connection of its own.
#[derive(Debug)]
pub(crate) struct RowFetcher {
    table: RowTable,
    connection: Option<Connection>,
}

impl RowFetcher {
    pub(crate) const fn new(table: RowTable) -> Self {
        Self { table, connection: None }
    }
    fn read(&mut self, target: &CrawlTarget) -> Result<FetchAnswer, ItemFailure> {
        let failed = |_| ItemFailure::of("the row cannot be read");
        let table = &self.table;
        let key = target.key.rsplit('/').next().and_then(|key| key.parse::<i64>().ok());
        let key = key.ok_or_else(|| ItemFailure::of("its key is no number"))?;
        if self.connection.is_none() {
            self.connection = Some(table.open().map_err(|_| ItemFailure::of("the database cannot be opened"))?);
        }
        let connection = self.connection.as_ref().expect("it was opened");
        let mut statement = connection.prepare_cached(&table.row_query()).map_err(failed)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([key]).map_err(failed)?;
        let Some(row) = rows.next().map_err(failed)? else { return Err(ItemFailure::of("the row is gone")) };
        let mut text = String::new();
        for (place, name) in names.iter().enumerate() {
            let written = match row.get_ref(place).map_err(failed)? {
                ValueRef::Null | ValueRef::Blob(_) => Ok(()),
                ValueRef::Integer(value) => writeln!(text, "{name}: {value}"),
                ValueRef::Real(value) => writeln!(text, "{name}: {value}"),
                ValueRef::Text(value) => writeln!(text, "{name}: {}", String::from_utf8_lossy(value)),
            };
            written.expect("a text takes more");
            if text.len() as u64 > table.caps.bytes.get() {
                return Err(ItemFailure::of("larger than caps.bytes"));
            }
        }
        Ok(FetchAnswer::Content {
            identity: Identity { size: text.len() as u64, ..Identity::default() },
            body: text.into_bytes(),
            kind: Some(ContentKind::Text),
            charset: Some("utf-8".to_owned()),
            base: None,
            is_compressed: false,
        })
    }
}

impl Fetcher for RowFetcher {
    fn fetch(&mut self, target: &CrawlTarget, timer: &mut FetchTimer<'_>) -> Result<FetchAnswer, ItemFailure> {
        let read = self.read(target);
        if let Ok(FetchAnswer::Content { body, .. }) = &read {
            timer.received = body.len() as u64;
        }
        timer.ends(FetchPhase::FirstByte(WorkerState::Device));
        read
    }
}
