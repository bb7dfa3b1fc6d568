//! Finds runs and reads them, exactly as they were stored.

use crate::checksum::{Checksum, Stored};
use crate::error::{PartError, Trouble};
use crate::tag_rows::tags_of;
use crate::write::{OperationParts, TrialParts, find_run, status_name};
use crate::{Store, StoreError, Tag, series};
use loadline_block::Operation;
use loadline_record::{
    CellRecord, Clock, Doubt, DoubtCode, DoubtEvidence, Histogram, OperationRecord, RunHeader, RunRecord, RunStatus,
    RunVerb, TrialRecord,
};
use rusqlite::{Row, Transaction, named_params, params};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// Candidates that an ambiguous text names.
const CANDIDATES_MAX: usize = 5;
/// Digits of a run's number.
const NUMBER_DIGITS_MAX: usize = 6;

/// A filter for the list of runs; `None` passes every run. Texts are compared without ASCII case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The run's name contains this.
    pub name: Option<String>,
    /// Made by this verb.
    pub verb: Option<RunVerb>,
    /// Has come this far.
    pub status: Option<RunStatus>,
    /// Started at this time in UTC or later: a date, or RFC 3339 with `Z`, of any precision.
    pub since: Option<String>,
    /// The name or the target of one of its volumes contains this.
    pub volume: Option<String>,
    /// Each of these words is in its id, name, verb or start, in a name or target of its volumes, or in a tag.
    pub words: Vec<String>,
    /// It has each of these tags: those without a value with any.
    pub tags: Vec<Tag>,
    /// At most this many, those added last.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Its number in this store, from 1 in the order in which runs were added.
    pub number: u64,
    /// Unique id.
    pub id: String,
    /// The plan's name, or the user's name for it.
    pub name: String,
    /// The verb that made it.
    pub verb: RunVerb,
    /// Measured or predicted.
    pub clock: Clock,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// How far it has come.
    pub status: RunStatus,
    /// Its volumes.
    pub volumes: Vec<VolumeLine>,
    /// Cells of the plan.
    pub cells: u64,
    /// Trials stored.
    pub trials_done: u64,
    /// Trials planned.
    pub trials_planned: u64,
    /// Different doubts of each cell, summed over the cells.
    pub doubts: u64,
    /// What the user says of it, by key.
    pub tags: Vec<Tag>,
}

/// A volume in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeLine {
    /// Its name in the plan.
    pub name: String,
    /// The target as the user wrote it.
    pub target: String,
}

/// Whether this is the number of a run in the list. Ids begin with a date, of which people type more than [`NUMBER_DIGITS_MAX`] digits.
fn is_number(text: &str) -> bool {
    (1..=NUMBER_DIGITS_MAX).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether `word` is in what a list shows of `runs`.
const IS_FOUND: &str = "instr(lower(runs.id || ' ' || runs.name || ' ' || runs.verb || ' ' || runs.started), lower(word.value))
    OR EXISTS (SELECT 1 FROM volumes AS v WHERE v.run = runs.key AND instr(lower(v.name || '=' || v.target), lower(word.value)))
    OR EXISTS (SELECT 1 FROM tags AS t WHERE t.run = runs.key AND instr(lower(t.key || '=' || t.value), lower(word.value)))";

/// Words as SQLite takes a list of them.
fn json(list: &impl serde::Serialize) -> String {
    serde_json::to_string(list).expect("a list of texts")
}

/// Names of runs that a mistyped one is held against.
const NAMES_MAX: usize = 1_000;

impl Store {
    /// The id of the run that `text` stands for. These are tried in order: an id, `last` (the run added last), a number
    /// of the list, the beginning of one id, a name (of several runs the one added last). The run added last may have
    /// started long before the others: an import.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or [`StoreError::Ambiguous`] with the candidates.
    pub fn resolve(&self, text: &str) -> Result<String, StoreError> {
        self.read("look up a run", |transaction| {
            if find_run(transaction, text)?.is_some() {
                return Ok(text.to_owned());
            }
            let added_last = |condition: &str, limit: usize| {
                transaction
                    .prepare(&format!("SELECT id FROM runs WHERE {condition} ORDER BY key DESC LIMIT {limit}"))?
                    .query_map([text], |row| row.get(0))?
                    .collect::<rusqlite::Result<Vec<String>>>()
            };
            let numbered = if is_number(text) { added_last("key = CAST(?1 AS INTEGER)", 1)? } else { Vec::new() };
            let mut fitting = match text {
                "" => Vec::new(),
                "last" => added_last("?1 = 'last'", 1)?,
                _ if !numbered.is_empty() => numbered,
                _ => added_last("substr(id, 1, length(?1)) = ?1", CANDIDATES_MAX)?,
            };
            if fitting.len() != 1 {
                fitting = match added_last("name = ?1 AND name <> ''", 1)? {
                    named if named.is_empty() => fitting,
                    named => named,
                };
            }
            match fitting.len() {
                0 => {
                    let nearest = nearest_name(transaction, text)?;
                    Err(StoreError::NoSuchRun { run: text.to_owned(), nearest }.into())
                }
                1 => Ok(fitting.remove(0)),
                _ => Err(StoreError::Ambiguous { text: text.to_owned(), candidates: fitting }.into()),
            }
        })
    }

    /// Everything that is stored of the run with this id. The parts of a recorder's hour are one trial a device, as in any watch.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Unreadable`], or trouble with the file.
    pub fn load(&self, run: &str) -> Result<RunRecord, StoreError> {
        let reader = Reader { store: self, run };
        let stored =
            self.read("load a run", |transaction| reader.run(transaction).map_err(|trouble| reader.named(trouble)));
        Ok(stored?.into_watched())
    }

    /// The trials that the run has already: cell id and trial number.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or trouble with the file.
    pub fn finished_trials(&self, run: &str) -> Result<BTreeSet<(String, u32)>, StoreError> {
        self.read("look up finished trials", |transaction| {
            let key = require_run(transaction, run)?;
            let mut statement = transaction.prepare_cached(
                "SELECT cells.id, trials.trial FROM trials JOIN cells ON cells.key = trials.cell WHERE cells.run = ?",
            )?;
            let trials = statement.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(trials.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The runs that pass `filter`, newest first.
    ///
    /// # Errors
    /// [`StoreError::BadTime`] for a `since` that is no time, or trouble with the file.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunLine>, StoreError> {
        filter.since.as_deref().map_or(Ok(()), check_since)?;
        self.read("list runs", |transaction| {
            // `since` is the beginning of an RFC 3339 text, which sorts by time. It has no Z, so that 14:22:33Z is not
            // before a start at 14:22:33.5Z.
            let mut statement = transaction.prepare_cached(&format!(
                "SELECT r.key, r.id, r.name, r.verb, r.clock, r.started, r.status, r.cells, r.trials_done,
                        r.trials_planned, r.doubts, volumes.name, volumes.target
                 FROM (SELECT * FROM runs
                       WHERE (:name IS NULL OR instr(lower(name), lower(:name)))
                         AND (:verb IS NULL OR lower(verb) = lower(:verb))
                         AND (:status IS NULL OR status = :status)
                         AND (:since IS NULL OR started >= :since)
                         AND (:volume IS NULL OR EXISTS (
                               SELECT 1 FROM volumes AS v WHERE v.run = runs.key
                                AND (instr(lower(v.name), lower(:volume)) OR instr(lower(v.target), lower(:volume)))))
                         AND NOT EXISTS (SELECT 1 FROM json_each(:words) AS word WHERE NOT ({IS_FOUND}))
                         AND NOT EXISTS (
                               SELECT 1 FROM json_each(:tags) AS wanted WHERE NOT EXISTS (
                                 SELECT 1 FROM tags AS t WHERE t.run = runs.key AND t.key = wanted.value ->> 0
                                  AND (wanted.value ->> 1 = '' OR t.value = wanted.value ->> 1)))
                       ORDER BY key DESC LIMIT :limit) AS r
                 LEFT JOIN volumes ON volumes.run = r.key
                 ORDER BY r.key DESC, volumes.position",
            ))?;
            let wanted: Vec<[&str; 2]> = filter.tags.iter().map(|tag| [tag.key.as_str(), &tag.value]).collect();
            let mut rows = statement.query(named_params! {
                ":name": filter.name, ":verb": filter.verb.as_ref().map(RunVerb::name), ":status": filter.status.map(status_name),
                ":since": filter.since.as_ref().map(|text| text.trim_end_matches('Z')), ":volume": filter.volume,
                ":words": json(&filter.words), ":tags": json(&wanted),
                // SQLite reads a negative limit as none.
                ":limit": filter.limit.map_or(-1, i64::from),
            })?;
            let mut lines: Vec<RunLine> = Vec::new();
            let mut last_key = None;
            while let Some(row) = rows.next()? {
                let key: i64 = row.get(0)?;
                if last_key != Some(key) {
                    lines.push(RunLine { tags: tags_of(transaction, key)?, ..self.line(row)? });
                    last_key = Some(key);
                }
                if let (Some(name), Some(line)) = (row.get(11)?, lines.last_mut()) {
                    line.volumes.push(VolumeLine { name, target: row.get(12)? });
                }
            }
            Ok(lines)
        })
    }

    /// A text for each run that changes when what is stored of it does, but for its tags. Nothing of it is read but its length: a record
    /// only grows, and an hour of a recorder shrinks when it is thinned.
    ///
    /// # Errors
    /// Trouble with the file.
    pub fn states(&self) -> Result<BTreeMap<String, String>, StoreError> {
        self.read("look at runs", |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT runs.id, runs.status || ' ' || octet_length(headers.document) || ' '
                        || coalesce(stored.trials || ' ' || stored.octets, '')
                 FROM runs JOIN headers ON headers.run = runs.key
                 LEFT JOIN (SELECT cells.run AS run, count(*) AS trials,
                                   sum(octet_length(trials.document) + coalesce(octet_length(trials.series), 0)) AS octets
                            FROM cells JOIN trials ON trials.cell = cells.key GROUP BY cells.run) AS stored
                   ON stored.run = runs.key",
            )?;
            let states = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(states.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn line(&self, row: &Row<'_>) -> Result<RunLine, Trouble> {
        let id: String = row.get(1)?;
        let reader = Reader { store: self, run: &id };
        Ok(RunLine {
            number: count(row, 0)?,
            name: row.get(2)?,
            verb: row.get::<_, String>(3)?.into(),
            clock: reader.clock(row.get(4)?)?,
            started: row.get(5)?,
            status: reader.status(row.get(6)?)?,
            volumes: Vec::new(),
            cells: count(row, 7)?,
            trials_done: count(row, 8)?,
            trials_planned: count(row, 9)?,
            doubts: count(row, 10)?,
            tags: Vec::new(),
            id,
        })
    }
}

/// Reads the parts of one run, with errors for unreadable ones.
#[derive(Clone, Copy)]
struct Reader<'a> {
    store: &'a Store,
    run: &'a str,
}

impl Reader<'_> {
    fn run(self, transaction: &Transaction<'_>) -> Result<RunRecord, Trouble> {
        let key = require_run(transaction, self.run)?;
        let (status, document): (String, String) = transaction.query_row(
            "SELECT status, document FROM runs JOIN headers ON headers.run = runs.key WHERE runs.key = ?",
            [key],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let header: RunHeader = self.document("the header", &document)?;
        let status = self.status(status)?;
        let mut cells = Vec::new();
        let mut place_of = BTreeMap::new();
        let mut statement =
            transaction.prepare_cached("SELECT key, document FROM cells WHERE run = ? ORDER BY position")?;
        let mut rows = statement.query([key])?;
        while let Some(row) = rows.next()? {
            place_of.insert(row.get::<_, i64>(0)?, cells.len());
            cells.push(self.document::<CellRecord>("a cell", &row.get::<_, String>(1)?)?);
        }
        let mut statement = transaction.prepare_cached(
            "SELECT trials.cell, trials.key, trials.document, trials.series
             FROM trials JOIN cells ON cells.key = trials.cell
             WHERE cells.run = ? ORDER BY trials.cell, trials.trial",
        )?;
        let mut rows = statement.query([key])?;
        while let Some(row) = rows.next()? {
            let trial = self.trial(transaction, row)?;
            cells[place_of[&row.get::<_, i64>(0)?]].trials.push(trial);
        }
        Ok(RunRecord { header, status, cells })
    }

    fn trial(self, transaction: &Transaction<'_>, row: &Row<'_>) -> Result<TrialRecord, Trouble> {
        let key: i64 = row.get(1)?;
        let text: String = row.get(2)?;
        let stored = Stored::new(&text);
        let mut parts = TrialParts { series: row.get(3)?, ..TrialParts::default() };
        let mut statement = transaction.prepare_cached(
            "SELECT operation, count, bytes, errors, latency, waiting, service, told FROM operations WHERE trial = ?",
        )?;
        let mut rows = statement.query(params![key])?;
        while let Some(row) = rows.next()? {
            let operation = OperationParts {
                numbers: [count(row, 1)?, count(row, 2)?, count(row, 3)?],
                latency: row.get(4)?,
                waiting: row.get(5)?,
                service: row.get(6)?,
                told: row.get(7)?,
            };
            parts.operations.insert(row.get(0)?, operation);
        }
        let mut statement =
            transaction.prepare_cached("SELECT code, detail FROM doubts WHERE trial = ? ORDER BY position")?;
        let mut rows = statement.query(params![key])?;
        while let Some(row) = rows.next()? {
            parts.doubts.push((row.get(0)?, row.get(1)?));
        }
        if stored.is_checked() && !stored.is_whole(parts.checksum(&stored.document)) {
            return Err(self.unreadable("a trial", PartError::Damaged).into());
        }
        let mut trial: TrialRecord = self.parsed("a trial", &stored.document)?;
        trial.series = series::decode(&parts.series).map_err(|error| self.unreadable("a series", error))?;
        for (word, parts) in parts.operations {
            let operation = Operation::ALL.into_iter().find(|o| o.name() == word);
            let operation = operation.ok_or_else(|| self.unreadable("an operation", PartError::Word(word)))?;
            let [count, bytes, errors] = parts.numbers;
            let record = OperationRecord {
                count,
                bytes,
                errors,
                latency: self.histogram(&parts.latency)?,
                waiting: parts.waiting.map(|bytes| self.histogram(&bytes)).transpose()?,
                service: parts.service.map(|bytes| self.histogram(&bytes)).transpose()?,
                told: parts.told.map(|text| self.parsed("the latencies of an operation", &text)).transpose()?,
            };
            trial.operations.insert(operation, record);
        }
        for (word, detail) in parts.doubts {
            let code = DoubtCode::ALL.into_iter().find(|c| c.name() == word);
            let code = code.ok_or_else(|| self.unreadable("a doubt", PartError::Word(word)))?;
            // Earlier versions wrote a sentence, which is no JSON.
            let seen = serde_json::from_str(&detail).unwrap_or(DoubtEvidence::Written { text: detail });
            trial.doubts.push(Doubt { code, seen });
        }
        Ok(trial)
    }

    /// Says of which run a column is that holds no text, or none that can be.
    fn named(self, trouble: Trouble) -> Trouble {
        use rusqlite::Error as Sql;
        match trouble {
            Trouble::Sql(
                error @ (Sql::FromSqlConversionFailure(..)
                | Sql::InvalidColumnType(..)
                | Sql::IntegralValueOutOfRange(..)
                | Sql::Utf8Error(..)),
            ) => self.unreadable("a record", PartError::Column(Box::new(error))).into(),
            other => other,
        }
    }

    fn histogram(self, bytes: &[u8]) -> Result<Histogram, StoreError> {
        Histogram::decode(bytes).map_err(|error| self.unreadable("a histogram", error))
    }

    /// A document with a checksum of its own.
    fn document<T: DeserializeOwned>(self, part: &'static str, text: &str) -> Result<T, StoreError> {
        let stored = Stored::new(text);
        if stored.is_checked() && !stored.is_whole(Checksum::of(&stored.document)) {
            return Err(self.unreadable(part, PartError::Damaged));
        }
        self.parsed(part, &stored.document)
    }

    fn parsed<T: DeserializeOwned>(self, part: &'static str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.unreadable(part, error))
    }

    fn status(self, word: String) -> Result<RunStatus, StoreError> {
        status_of(&word).ok_or_else(|| self.unreadable("the status", PartError::Word(word)))
    }

    fn clock(self, word: String) -> Result<Clock, StoreError> {
        match word.as_str() {
            "real" => Ok(Clock::Real),
            "virtual" => Ok(Clock::Virtual),
            _ => Err(self.unreadable("the clock", PartError::Word(word))),
        }
    }

    fn unreadable(self, part: &'static str, source: impl Into<PartError>) -> StoreError {
        StoreError::Unreadable {
            path: self.store.path().to_owned(),
            run: self.run.to_owned(),
            part,
            source: source.into(),
        }
    }
}

/// The name of a run that is nearest to `text`, of those added last; or `last`.
fn nearest_name(transaction: &Transaction<'_>, text: &str) -> rusqlite::Result<Option<String>> {
    let query = format!("SELECT DISTINCT name FROM runs WHERE name <> '' ORDER BY key DESC LIMIT {NAMES_MAX}");
    let names: Vec<String> =
        transaction.prepare(&query)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let known = names.iter().map(String::as_str).chain(["last"]);
    Ok(loadline_document::nearest(text, known).map(str::to_owned))
}

pub(crate) fn require_run(transaction: &Transaction<'_>, run: &str) -> Result<i64, Trouble> {
    find_run(transaction, run)?.ok_or_else(|| StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into())
}

/// The status of this name.
pub(crate) fn status_of(word: &str) -> Option<RunStatus> {
    let all = [RunStatus::Unfinished, RunStatus::Finished, RunStatus::Interrupted, RunStatus::Failed];
    all.into_iter().find(|status| status_name(*status) == word)
}

/// An unsigned figure as it was stored.
pub(crate) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(i64::cast_unsigned)
}

/// Refuses texts that [`Filter::since`] cannot use: it needs a calendar date and time, cut short anywhere behind the
/// date.
///
/// # Errors
/// [`StoreError::BadTime`], with the problem.
pub fn check_since(text: &str) -> Result<(), StoreError> {
    match wrong_with_time(text) {
        Some(why) => Err(StoreError::BadTime { text: text.to_owned(), why }),
        None => Ok(()),
    }
}

fn wrong_with_time(text: &str) -> Option<String> {
    const FORM: &str = "0000-00-00T00:00:00.000000000";
    let text = text.strip_suffix('Z').unwrap_or(text);
    let has_form = (10..=FORM.len()).contains(&text.len())
        && text.bytes().zip(FORM.bytes()).all(|(t, f)| if f == b'0' { t.is_ascii_digit() } else { t == f });
    if !has_form {
        return Some("it is written otherwise".to_owned());
    }
    // `None` if the text ends before.
    let number = |place: std::ops::Range<usize>| text.get(place).and_then(|digits| digits.parse::<u32>().ok());
    let (year, month) = (number(0..4)?, number(5..7)?);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    // A leap second has the number 60.
    let parts =
        [("month", 5, 1, 12), ("day", 8, 1, days), ("hour", 11, 0, 23), ("minute", 14, 0, 59), ("second", 17, 0, 60)];
    parts.into_iter().find_map(|(name, at, first, last)| {
        let wrong = number(at..at + 2).filter(|found| !(first..=last).contains(found))?;
        Some(format!("there is no {name} {wrong:02}, only {first:02} to {last:02}"))
    })
}
