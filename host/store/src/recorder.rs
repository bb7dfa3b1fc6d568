//! Hours of a recorder: found by what their runs say of themselves, and put into another form. No other run is ever touched.

use crate::error::Trouble;
use crate::read::{count, status_of};
use crate::tag_rows::{insert_tags, tags_of};
use crate::write::{Whole, find_run};
use crate::{Store, StoreError};
use loadline_record::{RecordedHour, RunRecord, RunStatus, RunVerb};
use rusqlite::params;

/// What a trial takes beside its document and its series, about.
const TRIAL_BYTES: u64 = 1_024;

/// A stored watch in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchLine {
    /// Its run.
    pub run: String,
    /// The hour of a recorder that it is, as it says itself.
    pub hour: Option<RecordedHour>,
    /// The machine, where it is known.
    pub hostname: Option<String>,
    /// How far it has come.
    pub status: RunStatus,
    /// The first sample, seconds since 1970.
    pub begun_unix_s: u64,
    /// The last one at the earliest: times in which nothing was watched are not in it.
    pub ended_unix_s: u64,
    /// The parts in which each device is stored.
    pub parts: u32,
    /// What it takes in the store, about.
    pub bytes: u64,
}

impl Store {
    /// The stored watches that have samples, in the order in which they were added.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn watches(&self) -> Result<Vec<WatchLine>, StoreError> {
        self.read("list watches", |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT runs.id, json_extract(headers.document, '$.settings.recorder'),
                        json_extract(headers.document, '$.host.hostname'), runs.status,
                        min(trials.started_unix_s), max(trials.started_unix_s + (trials.measured_ns + 999999999) / 1000000000),
                        max(trials.trial) + 1, sum(octet_length(trials.document) + octet_length(trials.series)), count(*)
                 FROM runs
                 JOIN headers ON headers.run = runs.key
                 JOIN cells ON cells.run = runs.key
                 JOIN trials ON trials.cell = cells.key
                 WHERE runs.verb = ? AND json_valid(headers.document) GROUP BY runs.key ORDER BY runs.key",
            )?;
            let mut rows = statement.query([RunVerb::Watch.name()])?;
            let mut lines = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(status) = status_of(&row.get::<_, String>(3)?) else { continue };
                lines.push(WatchLine {
                    run: row.get(0)?,
                    hour: row.get::<_, Option<String>>(1)?.and_then(|text| serde_json::from_str(&text).ok()),
                    hostname: row.get(2)?,
                    status,
                    begun_unix_s: count(row, 4)?,
                    ended_unix_s: count(row, 5)?,
                    parts: row.get(6)?,
                    bytes: count(row, 7)? + count(row, 8)? * TRIAL_BYTES,
                });
            }
            Ok(lines)
        })
    }

    /// Puts an hour of a recorder into another form: its parts as one, or coarser. It keeps its id and its place in the list.
    ///
    /// # Errors
    /// [`StoreError::NoRecorder`] if the stored run, or this one, is no hour of a recorder; [`StoreError::NoSuchRun`]; or trouble with the
    /// file. The stored run stays as it was then.
    pub fn replace_hour(&self, record: &RunRecord) -> Result<(), StoreError> {
        let whole = Whole::of(record)?;
        let run = &record.header.id;
        let no_recorder = || Trouble::from(StoreError::NoRecorder { run: run.clone() });
        self.write("thin an hour of a recorder", |transaction| {
            let Some(key) = find_run(transaction, run)? else {
                return Err(StoreError::NoSuchRun { run: run.clone(), nearest: None }.into());
            };
            let is_hour: bool = transaction.query_row(
                "SELECT json_valid(document) AND json_extract(document, '$.settings.recorder') IS NOT NULL FROM headers
                 WHERE run = ?",
                [key],
                |row| row.get(0),
            )?;
            if !is_hour || RecordedHour::of_settings(&record.header.settings).is_none() {
                return Err(no_recorder());
            }
            let tags = tags_of(transaction, key)?;
            transaction.execute("DELETE FROM runs WHERE key = ?", params![key])?;
            whole.insert(transaction, Some(key))?;
            insert_tags(transaction, (run, key), &tags)
        })
    }
}
