//! Adds runs and trials, each in one transaction, and removes runs.

use crate::checksum::Checksum;
use crate::claim::check_id;
use crate::error::Trouble;
use crate::tag_rows::{insert_tags, tags_of};
use crate::{Store, StoreError, series};
use loadline_record::{
    CellRecord, Clock, Doubt, Ending, Histogram, RunHeader, RunRecord, RunStatus, Series, Tag, TrialRecord,
};
use rusqlite::{OptionalExtension, Transaction, named_params, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

impl Store {
    /// Writes to the file without changing what it says: shows that a run could be stored.
    ///
    /// # Errors
    /// Trouble with the file: no permission, no space, a device that does not answer.
    pub fn prove_writable(&self) -> Result<(), StoreError> {
        self.write("write to the store", |transaction| {
            // The header of the file is written anew with the same number.
            let number: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok(transaction.pragma_update(None, "user_version", number)?)
        })
    }

    /// Stores a new run with its cells, in plan order and without trials yet; its status is
    /// [`Unfinished`](RunStatus::Unfinished).
    ///
    /// # Errors
    /// A used or invalid id, two cells of one id, or a problem with the file; nothing is stored then.
    pub fn begin_run(&self, header: &RunHeader, cells: &[CellRecord]) -> Result<(), StoreError> {
        check_id(&header.id)?;
        let run = &header.id;
        let document = checked_document(header, || format!("the header of run {run}"))?;
        self.write("begin a run", |transaction| {
            begin(transaction, None, header, &document, cells)?;
            tag_new(transaction, run, &self.new_runs)
        })
    }

    /// Stores a finished trial whole, in one transaction: when this returns, it is on the disk.
    ///
    /// # Errors
    /// [`StoreError::TrialExists`] for a second record of the same trial, which never overwrites the first;
    /// [`StoreError::RunFinished`], [`StoreError::NoSuchRun`], [`StoreError::NoSuchCell`],
    /// [`StoreError::TrialNotPlanned`]; or trouble with the file. Nothing is stored then.
    pub fn finish_trial(&self, run: &str, cell: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        self.finish_trials(run, &[(cell, trial)])
    }

    /// Stores finished trials, each with the id of its cell, in one transaction.
    ///
    /// # Errors
    /// As of [`Store::finish_trial`]. Nothing is stored then.
    pub fn finish_trials(&self, run: &str, trials: &[(&str, &TrialRecord)]) -> Result<(), StoreError> {
        let documents = trials.iter().map(|(cell, trial)| document_of(run, cell, trial));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        self.write("store a trial", |transaction| {
            let run_key = open_run(transaction, run)?;
            for ((cell, trial), document) in trials.iter().zip(&documents) {
                finish(transaction, run_key, (run, cell), trial, document)?;
            }
            Ok(())
        })
    }

    /// Stores a run that is finished already, with all its trials, in one transaction.
    ///
    /// # Errors
    /// As those of [`Store::begin_run`], [`Store::finish_trial`] and [`Store::set_status`]; nothing is stored then.
    pub fn add_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        let whole = Whole::of(record)?;
        self.write("store a run", |transaction| {
            whole.insert(transaction, None)?;
            tag_new(transaction, &record.header.id, &self.new_runs)
        })
    }

    /// Stores a run with all its trials, and replaces its earlier state, in one transaction: for runs that are stored
    /// while they go on. Until its end the run counts as added at its beginning ([`Store::resolve`]'s `last`), and then
    /// as added anew.
    ///
    /// # Errors
    /// Those of [`Store::add_run`]; [`StoreError::RunFinished`] if the earlier state is finished. That state stays
    /// then.
    pub fn replace_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        let whole = Whole::of(record)?;
        let run = &record.header.id;
        self.write("store a run as it stands", |transaction| {
            let (mut place, mut tags) = (None, self.new_runs.clone());
            if find_run(transaction, run)?.is_some() {
                let key = open_run(transaction, run)?;
                tags = tags_of(transaction, key)?;
                // ON DELETE CASCADE removes the rest.
                transaction.execute("DELETE FROM runs WHERE key = ?", [key])?;
                place = (record.status == RunStatus::Unfinished).then_some(key);
            }
            whole.insert(transaction, place)?;
            tag_new(transaction, run, &tags)
        })
    }

    /// Sets the status of the run.
    ///
    /// # Errors
    /// [`StoreError::RunFinished`] when it is finished, which is never edited again; [`StoreError::TrialsMissing`] when it
    /// is to be finished and trials are missing; [`StoreError::NoSuchRun`]; or trouble with the file.
    pub fn set_status(&self, run: &str, status: RunStatus) -> Result<(), StoreError> {
        self.write("set the status of a run", |transaction| mark(transaction, run, status))
    }

    /// Adds a cell at the end, to a run that chooses its loads by its results.
    ///
    /// # Errors
    /// [`StoreError::RunFinished`], [`StoreError::NoSuchRun`], [`StoreError::CellExists`]; or trouble with the file. Nothing is
    /// stored then.
    pub fn add_cell(&self, run: &str, cell: &CellRecord) -> Result<(), StoreError> {
        self.write("add a cell to a run", |transaction| {
            let key = open_run(transaction, run)?;
            let position: i64 =
                transaction.query_row("SELECT cells FROM runs WHERE key = ?", [key], |row| row.get(0))?;
            insert_cell(transaction, key, run, position.cast_unsigned(), cell)?;
            transaction.execute(
                "UPDATE runs SET cells = cells + 1, trials_planned = trials_planned + ? WHERE key = ?",
                params![cell.trials_planned, key],
            )?;
            Ok(())
        })
    }

    /// Finishes a run that only knew the most trials that it would need: those that it has are all.
    ///
    /// # Errors
    /// [`StoreError::RunFinished`], [`StoreError::NoSuchRun`]; or trouble with the file.
    pub fn finish_with_what_there_is(&self, run: &str) -> Result<(), StoreError> {
        self.write("finish a run", |transaction| {
            let key = open_run(transaction, run)?;
            transaction.execute(
                "UPDATE runs SET status = ?, trials_planned = trials_done WHERE key = ?",
                params![status_name(RunStatus::Finished), key],
            )?;
            Ok(())
        })
    }

    /// Removes the run with all that belongs to it.
    ///
    /// # Errors
    /// [`StoreError::Claimed`] while anyone adds trials to it; [`StoreError::NoSuchRun`]; or trouble with the file.
    pub fn remove(&self, run: &str) -> Result<(), StoreError> {
        let claim = self.claim(run)?;
        let removed = self.write("remove a run", |transaction| {
            // ON DELETE CASCADE removes the rest.
            let removed = transaction.execute("DELETE FROM runs WHERE id = ?", [run])?;
            if removed == 0 { Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into()) } else { Ok(()) }
        });
        match removed {
            Err(StoreError::Full { .. }) => self.remove_without_space(run)?,
            other => {
                other?;
                self.give_back_space();
            }
        }
        drop(claim);
        Ok(())
    }
}

/// A run with all its trials, as documents.
pub(crate) struct Whole<'a> {
    record: &'a RunRecord,
    header: String,
    /// Without their trials.
    cells: Vec<CellRecord>,
    trials: Vec<(&'a str, &'a TrialRecord, String)>,
}

impl<'a> Whole<'a> {
    pub(crate) fn of(record: &'a RunRecord) -> Result<Self, StoreError> {
        let run = &record.header.id;
        check_id(run)?;
        let header = checked_document(&record.header, || format!("the header of run {run}"))?;
        let without = |cell: &CellRecord| CellRecord { trials: Vec::new(), ..cell.clone() };
        let trials = record.cells.iter().flat_map(|cell| cell.trials.iter().map(|trial| (cell.id.as_str(), trial)));
        let trials: Result<_, StoreError> =
            trials.map(|(cell, trial)| Ok((cell, trial, document_of(run, cell, trial)?))).collect();
        Ok(Self { record, header, cells: record.cells.iter().map(without).collect(), trials: trials? })
    }

    /// `place`: the key that it had, or a new one.
    pub(crate) fn insert(&self, transaction: &Transaction<'_>, place: Option<i64>) -> Result<(), Trouble> {
        let (header, run) = (&self.record.header, &self.record.header.id);
        begin(transaction, place, header, &self.header, &self.cells)?;
        let run_key = open_run(transaction, run)?;
        for (cell, trial, document) in &self.trials {
            finish(transaction, run_key, (run, cell), trial, document)?;
        }
        mark(transaction, run, self.record.status)
    }
}

/// A new run, its volumes and its cells; `place`: its key, or the next one.
fn begin(
    transaction: &Transaction<'_>,
    place: Option<i64>,
    header: &RunHeader,
    document: &str,
    cells: &[CellRecord],
) -> Result<(), Trouble> {
    let run = &header.id;
    if find_run(transaction, run)?.is_some() {
        return Err(StoreError::RunExists { run: run.clone() }.into());
    }
    let planned: u64 = cells.iter().map(|c| u64::from(c.trials_planned)).sum();
    transaction
        .prepare_cached(
            "INSERT INTO runs (key, id, name, verb, clock, started, version, status, cells, trials_planned)
         VALUES (:key, :id, :name, :verb, :clock, :started, :version, :status, :cells, :planned)",
        )?
        .execute(named_params! {
            ":key": place, ":id": run, ":name": header.name, ":verb": header.verb.name(), ":clock": clock_name(header.clock),
            ":started": header.started, ":version": header.version, ":status": status_name(RunStatus::Unfinished),
            ":cells": column(cells.len() as u64), ":planned": column(planned),
        })?;
    let key = transaction.last_insert_rowid();
    transaction.execute("INSERT INTO headers (run, document) VALUES (?, ?)", params![key, document])?;
    for (position, volume) in header.volumes.iter().enumerate() {
        transaction.prepare_cached("INSERT INTO volumes VALUES (?, ?, ?, ?, ?)")?.execute(params![
            key,
            column(position as u64),
            volume.name,
            volume.target,
            volume.size_bytes.map(column)
        ])?;
    }
    for (position, cell) in cells.iter().enumerate() {
        insert_cell(transaction, key, run, position as u64, cell)?;
    }
    Ok(())
}

/// A trial as JSON, without the parts that have their own tables; its checksum is over those, too.
fn document_of(run: &str, cell: &str, trial: &TrialRecord) -> Result<String, StoreError> {
    let rest =
        TrialRecord { operations: BTreeMap::new(), series: Series::default(), doubts: Vec::new(), ..trial.clone() };
    let document = to_document(&rest, || format!("trial {} of cell {cell:?} of run {run}", trial.trial))?;
    let mut parts = TrialParts { series: series::encode(&trial.series), ..TrialParts::default() };
    for (operation, record) in &trial.operations {
        let told = record.told.as_ref().map(|told| to_document(told, || format!("{} of a trial", operation.name())));
        parts.operations.insert(
            operation.name().to_owned(),
            OperationParts {
                numbers: [record.count, record.bytes, record.errors],
                latency: record.latency.encode(),
                waiting: record.waiting.as_ref().map(Histogram::encode),
                service: record.service.as_ref().map(Histogram::encode),
                told: told.transpose()?,
            },
        );
    }
    for doubt in &trial.doubts {
        parts.doubts.push((doubt.code.name().to_owned(), seen_document(doubt)?));
    }
    Ok(parts.checksum(&document).append_to(&document))
}

/// The parts of a trial that have their own columns, as they are stored.
#[derive(Debug, Default)]
pub(crate) struct TrialParts {
    pub(crate) series: Vec<u8>,
    pub(crate) operations: BTreeMap<String, OperationParts>,
    pub(crate) doubts: Vec<(String, String)>,
}

/// Those of an operation: requests, bytes and errors, and latencies.
#[derive(Debug)]
pub(crate) struct OperationParts {
    pub(crate) numbers: [u64; 3],
    pub(crate) latency: Vec<u8>,
    pub(crate) waiting: Option<Vec<u8>>,
    pub(crate) service: Option<Vec<u8>>,
    pub(crate) told: Option<String>,
}

impl TrialParts {
    /// Over the document and all of them.
    pub(crate) fn checksum(&self, document: &str) -> Checksum {
        let mut sum = Checksum::of(document);
        sum.add(&self.series);
        for (name, operation) in &self.operations {
            sum.add(name.as_bytes());
            for number in operation.numbers {
                sum.add(&number.to_le_bytes());
            }
            sum.add(&operation.latency);
            sum.add_optional(operation.waiting.as_deref());
            sum.add_optional(operation.service.as_deref());
            sum.add_optional(operation.told.as_deref().map(str::as_bytes));
        }
        for (code, detail) in &self.doubts {
            sum.add(code.as_bytes());
            sum.add(detail.as_bytes());
        }
        sum
    }
}

/// A document with its own checksum.
fn checked_document(
    value: &(impl Serialize + DeserializeOwned + PartialEq),
    part: impl Fn() -> String,
) -> Result<String, StoreError> {
    let document = to_document(value, part)?;
    Ok(Checksum::of(&document).append_to(&document))
}

/// A trial of a run that may still change.
fn finish(
    transaction: &Transaction<'_>,
    run_key: i64,
    (run, cell): (&str, &str),
    trial: &TrialRecord,
    document: &str,
) -> Result<(), Trouble> {
    let found = transaction
        .prepare_cached("SELECT key, trials_planned FROM cells WHERE run = ? AND id = ?")?
        .query_row(params![run_key, cell], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)))
        .optional()?;
    let Some((cell_key, planned)) = found else {
        return Err(StoreError::NoSuchCell { run: run.to_owned(), cell: cell.to_owned() }.into());
    };
    let (run, cell) = (|| run.to_owned(), || cell.to_owned());
    if trial.trial >= planned {
        let trial = trial.trial;
        return Err(StoreError::TrialNotPlanned { run: run(), cell: cell(), trial, planned }.into());
    }
    let mut known = transaction.prepare_cached("SELECT 1 FROM trials WHERE cell = ? AND trial = ?")?;
    if known.exists(params![cell_key, trial.trial])? {
        return Err(StoreError::TrialExists { run: run(), cell: cell(), trial: trial.trial }.into());
    }
    let doubts_before = count_doubts(transaction, cell_key)?;
    insert_trial(transaction, cell_key, trial, document)?;
    let doubts = count_doubts(transaction, cell_key)? - doubts_before;
    transaction
        .prepare_cached("UPDATE runs SET trials_done = trials_done + 1, doubts = doubts + ? WHERE key = ?")?
        .execute(params![doubts, run_key])?;
    Ok(())
}

/// Sets the status of a run.
fn mark(transaction: &Transaction<'_>, run: &str, status: RunStatus) -> Result<(), Trouble> {
    let key = open_run(transaction, run)?;
    if status == RunStatus::Finished {
        let (done, planned) =
            transaction.query_row("SELECT trials_done, trials_planned FROM runs WHERE key = ?", [key], |row| {
                Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned()))
            })?;
        if done < planned {
            return Err(StoreError::TrialsMissing { run: run.to_owned(), done, planned }.into());
        }
    }
    transaction.execute("UPDATE runs SET status = ? WHERE key = ?", params![status_name(status), key])?;
    Ok(())
}

fn insert_cell(
    transaction: &Transaction<'_>,
    run_key: i64,
    run: &str,
    position: u64,
    cell: &CellRecord,
) -> Result<(), Trouble> {
    assert!(cell.trials.is_empty(), "cell {:?} of run {run}: a run begins without trials", cell.id);
    let load = cell.load.figures();
    let document = checked_document(cell, || format!("cell {:?} of run {run}", cell.id))?;
    let inserted = transaction
        .prepare_cached(
            "INSERT INTO cells (run, position, id, volume, label, pattern, read_ratio, block_bytes, queue_depth, threads,
                                arrival, rate_iops, trials_planned, document)
             VALUES (:run, :position, :id, :volume, :label, :pattern, :read_ratio, :block_bytes, :queue_depth, :threads,
                     :arrival, :rate_iops, :trials_planned, :document)
             ON CONFLICT (run, id) DO NOTHING",
        )?
        .execute(named_params! {
            ":run": run_key, ":position": column(position), ":id": cell.id, ":volume": cell.volume,
            ":label": cell.label, ":pattern": load.pattern.name(), ":read_ratio": load.read_ratio,
            ":block_bytes": column(load.block_bytes), ":queue_depth": load.queue_depth,
            ":threads": load.threads, ":arrival": load.arrival.name(), ":rate_iops": load.rate_iops,
            ":trials_planned": cell.trials_planned, ":document": document,
        })?;
    if inserted == 0 {
        return Err(StoreError::CellExists { run: run.to_owned(), cell: cell.id.clone() }.into());
    }
    Ok(())
}

fn insert_trial(
    transaction: &Transaction<'_>,
    cell_key: i64,
    trial: &TrialRecord,
    document: &str,
) -> Result<(), Trouble> {
    transaction
        .prepare_cached(
            "INSERT INTO trials (cell, trial, started_unix_s, engine, measured_ns, offered_iops, iops, bytes_per_s, errors,
                                 ending, document, series)
             VALUES (:cell, :trial, :started, :engine, :measured, :offered, :iops, :bytes_per_s, :errors,
                     :ending, :document, :series)",
        )?
        .execute(named_params! {
            ":cell": cell_key, ":trial": trial.trial, ":started": column(trial.started_unix_s),
            ":engine": trial.engine.name.name(), ":measured": column(trial.measured_ns), ":offered": trial.offered_iops,
            ":iops": trial.iops(), ":bytes_per_s": trial.bytes_per_s(), ":errors": column(trial.errors_total()),
            ":ending": ending_name(&trial.ending), ":document": document, ":series": series::encode(&trial.series),
        })?;
    let key = transaction.last_insert_rowid();
    let per_second = |count: u64| (trial.measured_ns > 0).then(|| count as f64 * 1e9 / trial.measured_ns as f64);
    for (operation, record) in &trial.operations {
        let figures = record.figures();
        let told = record.told.as_ref().map(|told| to_document(told, || format!("{} of a trial", operation.name())));
        let figure =
            |of: fn(&loadline_record::HistogramSnapshot) -> Option<u64>| figures.as_ref().and_then(of).map(column);
        transaction
            .prepare_cached(
                "INSERT INTO operations VALUES (:trial, :operation, :count, :bytes, :errors, :iops, :bytes_per_s, :mean,
                                                :p50, :p90, :p95, :p99, :p99_9, :p99_99, :max,
                                                :latency, :waiting, :service, :told)",
            )?
            .execute(named_params! {
                ":trial": key, ":operation": operation.name(), ":count": column(record.count),
                ":bytes": column(record.bytes), ":errors": column(record.errors), ":iops": per_second(record.count),
                ":bytes_per_s": per_second(record.bytes), ":mean": figures.as_ref().map(|f| f.mean),
                ":p50": figure(|f| f.p50), ":p90": figure(|f| f.p90), ":p95": figure(|f| f.p95),
                ":p99": figure(|f| f.p99), ":p99_9": figure(|f| f.p99_9), ":p99_99": figure(|f| f.p99_99),
                ":max": figure(|f| Some(f.max)), ":latency": record.latency.encode(),
                ":waiting": record.waiting.as_ref().map(Histogram::encode),
                ":service": record.service.as_ref().map(Histogram::encode), ":told": told.transpose()?,
            })?;
    }
    for (position, doubt) in trial.doubts.iter().enumerate() {
        transaction.prepare_cached("INSERT INTO doubts VALUES (?, ?, ?, ?)")?.execute(params![
            key,
            column(position as u64),
            doubt.code.name(),
            seen_document(doubt)?
        ])?;
    }
    Ok(())
}

/// The key of the run with exactly this id.
pub(crate) fn find_run(transaction: &Transaction<'_>, run: &str) -> Result<Option<i64>, Trouble> {
    let mut statement = transaction.prepare_cached("SELECT key FROM runs WHERE id = ?")?;
    Ok(statement.query_row([run], |row| row.get(0)).optional()?)
}

/// Gives the run that was just stored these tags.
fn tag_new(transaction: &Transaction<'_>, run: &str, tags: &[Tag]) -> Result<(), Trouble> {
    find_run(transaction, run)?.map_or(Ok(()), |key| insert_tags(transaction, (run, key), tags))
}

/// The key of a run that may still change.
fn open_run(transaction: &Transaction<'_>, run: &str) -> Result<i64, Trouble> {
    let mut statement = transaction.prepare_cached("SELECT key, status = 'finished' FROM runs WHERE id = ?")?;
    match statement.query_row([run], |row| Ok((row.get(0)?, row.get(1)?))).optional()? {
        Some((key, false)) => Ok(key),
        Some((_, true)) => Err(StoreError::RunFinished { run: run.to_owned() }.into()),
        None => Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into()),
    }
}

/// Different doubts of a cell's trials, as [`CellRecord::doubts`] counts them.
fn count_doubts(transaction: &Transaction<'_>, cell_key: i64) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached(
            "SELECT count(DISTINCT code) FROM trials JOIN doubts ON doubts.trial = trials.key WHERE trials.cell = ?",
        )?
        .query_row([cell_key], |row| row.get(0))
}

/// What was seen, as it stands in the column `detail`.
fn seen_document(doubt: &Doubt) -> Result<String, StoreError> {
    to_document(&doubt.seen, || format!("the doubt {} of a trial", doubt.code))
}

/// The value as JSON that gives back exactly the same value.
///
/// JSON has no infinities and no NaN, and silently makes them null: an error here is better than a wrong figure later.
fn to_document<T: Serialize + DeserializeOwned + PartialEq>(
    value: &T,
    part: impl FnOnce() -> String,
) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .ok()
        .filter(|text| serde_json::from_str::<T>(text).is_ok_and(|back| back == *value))
        .ok_or_else(|| StoreError::Inexact { part: part() })
}

/// SQLite's integers are signed. Figures from 2^63 on, which no run reaches, look negative in a shell and are read back
/// exactly.
fn column(value: u64) -> i64 {
    value.cast_signed()
}

const fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Real => "real",
        Clock::Virtual => "virtual",
    }
}

pub(crate) const fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Unfinished => "unfinished",
        RunStatus::Finished => "finished",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

const fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Interrupted => "interrupted",
        Ending::Failed(_) => "failed",
        Ending::Hung(_) => "hung",
    }
}
