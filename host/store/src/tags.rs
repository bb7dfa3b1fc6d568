//! Runs are tagged and their tags read: apart from the records, which never change.

use crate::read::require_run;
use crate::tag_rows::{insert_tags, tags_of};
use crate::{Store, StoreError};
use loadline_record::Tag;
use rusqlite::params;

impl Store {
    /// Each run that is begun or added from now on has these tags.
    #[must_use]
    pub fn with_tags(self, new_runs: Vec<Tag>) -> Self {
        Self { new_runs, ..self }
    }

    /// What is said of a run, by key.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or trouble with the file.
    pub fn tags(&self, run: &str) -> Result<Vec<Tag>, StoreError> {
        self.read("read tags", |transaction| tags_of(transaction, require_run(transaction, run)?))
    }

    /// Gives a run tags, in place of those with the same key, and takes those with these keys away.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::ManyTags`], or trouble with the file. Nothing is changed then.
    pub fn tag(&self, run: &str, given: &[Tag], taken: &[String]) -> Result<Vec<Tag>, StoreError> {
        self.write("tag a run", |transaction| {
            let key = require_run(transaction, run)?;
            for taken in taken {
                transaction.execute("DELETE FROM tags WHERE run = ? AND key = ?", params![key, taken])?;
            }
            insert_tags(transaction, (run, key), given)?;
            tags_of(transaction, key)
        })
    }
}
