//! The rows of tags: those of a run read, and given.

use crate::StoreError;
use crate::error::Trouble;
use loadline_record::Tag;
use rusqlite::{Transaction, params};

/// Tags of a run at most.
const TAGS_MAX: i64 = 64;

/// The tags of the run with this key, by theirs.
pub(crate) fn tags_of(transaction: &Transaction<'_>, key: i64) -> Result<Vec<Tag>, Trouble> {
    let mut statement = transaction.prepare_cached("SELECT key, value FROM tags WHERE run = ? ORDER BY key")?;
    let tags = statement.query_map([key], |row| Ok(Tag { key: row.get(0)?, value: row.get(1)? }))?;
    Ok(tags.collect::<rusqlite::Result<_>>()?)
}

/// Gives the run with this key these tags.
pub(crate) fn insert_tags(transaction: &Transaction<'_>, run: (&str, i64), given: &[Tag]) -> Result<(), Trouble> {
    let (run, key) = run;
    for Tag { key: of, value } in given {
        transaction
            .execute("INSERT OR REPLACE INTO tags (run, key, value) VALUES (?, ?, ?)", params![key, of, value])?;
    }
    let count: i64 = transaction.query_row("SELECT count(*) FROM tags WHERE run = ?", [key], |row| row.get(0))?;
    if count > TAGS_MAX {
        return Err(StoreError::ManyTags { run: run.to_owned(), most: TAGS_MAX.unsigned_abs() }.into());
    }
    Ok(())
}
