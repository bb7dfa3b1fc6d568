//! Errors of a store: the attempt, the file, and why. How another store is named is up to the program that asked.

use crate::SeriesError;
use crate::reading::Unwritable;
use loadline_record::DecodeError;
use std::path::{Path, PathBuf};

/// A store that cannot do the request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder of the store cannot be made, or the path cannot be looked at.
    #[error("cannot reach the store {}: {source}; check the path", path.display())]
    Path {
        /// The store.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is no SQLite database, or a damaged one.
    #[error(
        "the store {} is damaged or no store at all ({detail}); it was left as it is",
        path.display()
    )]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// SQLite's finding.
        detail: String,
    },
    /// A file of another program, such as its SQLite database.
    #[error(
        "{} is another program's file, not a loadline store; it was left as it is",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer version of the tool.
    #[error(
        "the store {} has format {found}, this version of loadline reads up to {known}; it was left as it is: \
         use the newer loadline",
        path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// This user may read it at most.
    #[error("the store {} {why} and cannot be written", path.display())]
    Unwritable {
        /// The store.
        path: PathBuf,
        /// The reason.
        why: Unwritable,
    },
    /// This user may only read it, and part of it is in a file beside it that only who may write can make sense of.
    #[error(
        "the store {} was not closed, this user may only read it, and what is in {} cannot be read that way: copy both files, \
         and {} if it is there, and name the copy",
        path.display(), beside.display(), index.display()
    )]
    Open {
        /// The store.
        path: PathBuf,
        /// Its log.
        beside: PathBuf,
        /// The expected place of the log's index.
        index: PathBuf,
    },
    /// This user may only read it, and it is of an older version, or empty.
    #[error(
        "the store {} has format {found} and would have to be brought up to format {known}, which this user may not do: copy it \
         and name the copy",
        path.display()
    )]
    Older {
        /// The store.
        path: PathBuf,
        /// Its format; 0 of an empty file.
        found: u32,
        /// The format known here.
        known: u32,
    },
    /// This user may only read it, and its owner wrote to it meanwhile.
    #[error("the store {} was written to while it was read; try again", path.display())]
    Changed {
        /// The store.
        path: PathBuf,
    },
    /// The file that was opened is not at its path any more.
    #[error(
        "could not {attempt}: the store {} was removed, moved or replaced while it was in use; try again with the store in its place",
        path.display()
    )]
    Moved {
        /// The attempt.
        attempt: &'static str,
        /// The place.
        path: PathBuf,
    },
    /// Another process used the store for too long.
    #[error("could not {attempt}: another process is writing to the store {} and did not finish; try again", path.display())]
    Busy {
        /// The attempt.
        attempt: &'static str,
        /// The store.
        path: PathBuf,
    },
    /// No space left.
    #[error("could not {attempt}: no space left for the store {}; make room, what is stored already is kept", path.display())]
    Full {
        /// The attempt.
        attempt: &'static str,
        /// The store.
        path: PathBuf,
    },
    /// Anything else that SQLite reports.
    #[error("could not {attempt} in the store {}: {source}", path.display())]
    Sql {
        /// The attempt.
        attempt: &'static str,
        /// The store.
        path: PathBuf,
        /// SQLite's message.
        source: rusqlite::Error,
    },
    /// No run of that id, prefix or name.
    #[error("no run {run:?} in the store{}", .nearest.as_ref().map_or_else(String::new, |near| format!(" (did you mean {near:?}?)")))]
    NoSuchRun {
        /// The requested run.
        run: String,
        /// What may have been meant: the name of a run, or `last`.
        nearest: Option<String>,
    },
    /// Several runs begin like that.
    #[error("{text:?} fits several runs: {}; write more of the id", candidates.join(", "))]
    Ambiguous {
        /// The requested text.
        text: String,
        /// Some of the ids that fit, the newest first.
        candidates: Vec<String>,
    },
    /// The run has no such cell.
    #[error("run {run} has no cell {cell:?}: the plan differs from the one that the run began with")]
    NoSuchCell {
        /// The run.
        run: String,
        /// The cell looked for.
        cell: String,
    },
    /// An id that cannot name a run.
    #[error("{run:?} cannot be a run's id: use letters, digits, '-', '_' and '.', but not \"last\"")]
    BadId {
        /// The id.
        run: String,
    },
    /// A run of that id is stored already.
    #[error("a run {run} is in the store already")]
    RunExists {
        /// The run.
        run: String,
    },
    /// Two cells of one run share an id.
    #[error("run {run} has two cells {cell:?}: make their ids differ")]
    CellExists {
        /// The run.
        run: String,
        /// The id that occurs twice.
        cell: String,
    },
    /// That trial is stored already; the first record stays.
    #[error("trial {trial} of cell {cell:?} of run {run} is in the store already and was kept as it is")]
    TrialExists {
        /// The run.
        run: String,
        /// The cell.
        cell: String,
        /// The trial, from 0.
        trial: u32,
    },
    /// A trial beyond those planned.
    #[error(
        "trial {trial} of cell {cell:?} of run {run} was not planned: the cell has {planned} trial(s), counted from 0"
    )]
    TrialNotPlanned {
        /// The run.
        run: String,
        /// The cell.
        cell: String,
        /// The trial, from 0.
        trial: u32,
        /// Trials planned.
        planned: u32,
    },
    /// Trials are missing, so the run is not finished.
    #[error(
        "run {run} cannot be marked finished: {done} of {planned} trials are stored; resume it, or mark it interrupted or failed"
    )]
    TrialsMissing {
        /// The run.
        run: String,
        /// Trials stored.
        done: u64,
        /// Trials planned.
        planned: u64,
    },
    /// A finished record is never edited.
    #[error("run {run} is finished and is never changed again; begin a new run")]
    RunFinished {
        /// The run.
        run: String,
    },
    /// More is said of a run than a list can show.
    #[error("run {run} has {most} tags at most: take one away first")]
    ManyTags {
        /// The run.
        run: String,
        /// The most.
        most: u64,
    },
    /// Only hours of a recorder are put into another form.
    #[error("run {run} is no hour of a recorder, and stays as it is")]
    NoRecorder {
        /// The run.
        run: String,
    },
    /// A figure that is not a finite number, or settings nested too deep: it would not come back as it was.
    #[error("{part} cannot be stored exactly: it holds a figure that is not a finite number, or is nested too deep")]
    Inexact {
        /// The part of the record.
        part: String,
    },
    /// The run is being written, or removed, by someone else.
    #[error(
        "run {run} is in use{}; wait for it or stop it, then try again (lock: {})",
        pid.map(|pid| format!(" by process {pid}")).unwrap_or_default(),
        lock.display()
    )]
    Claimed {
        /// The run.
        run: String,
        /// The process with the claim, if known.
        pid: Option<u32>,
        /// The lock file.
        lock: PathBuf,
    },
    /// The lock file cannot be made or locked.
    #[error("cannot lock run {run} with {}: {source}; the folder of the store must be writable and its file system must know flock", lock.display())]
    Lock {
        /// The run.
        run: String,
        /// The lock file.
        lock: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A stored part that this version cannot read.
    #[error("cannot read {part} of run {run} in the store {}: {source}", path.display())]
    Unreadable {
        /// The store.
        path: PathBuf,
        /// The run.
        run: String,
        /// Which part.
        part: &'static str,
        /// Why not.
        source: PartError,
    },
    /// Not a point in time as runs have it.
    #[error("{text:?} is not a time in UTC such as 2026-01-31 or 2026-01-31T14:22:33Z: {why}")]
    BadTime {
        /// The text.
        text: String,
        /// The problem with it.
        why: String,
    },
}

/// Why a stored part cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// Its document.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    /// A histogram.
    #[error(transparent)]
    Histogram(#[from] DecodeError),
    /// Its series.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// A word that has no meaning in this version.
    #[error("{0:?} is unknown to this version")]
    Word(String),
    /// The bytes are not those that were written.
    #[error("it does not fit its checksum: the file was damaged after it was written")]
    Damaged,
    /// A column holds something else than it should.
    #[error("{0}; the file was damaged after it was written")]
    Column(Box<rusqlite::Error>),
}

/// An error within a transaction: SQLite's still lacks the attempt and the file.
pub(crate) enum Trouble {
    Sql(rusqlite::Error),
    Told(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}
impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Told(error)
    }
}

impl Trouble {
    /// The error for the caller.
    pub(crate) fn tell(self, attempt: &'static str, path: &Path) -> StoreError {
        use rusqlite::ErrorCode as Code;
        let source = match self {
            Self::Told(error) => return error,
            Self::Sql(source) => source,
        };
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
                StoreError::Corrupt { path, detail: source.to_string() }
            }
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Busy { attempt, path },
            Some(Code::DiskFull) => StoreError::Full { attempt, path },
            // The files beside the store could not be made or grow.
            Some(Code::SystemIoFailure) if is_out_of_space(&source, &path) => StoreError::Full { attempt, path },
            Some(Code::ReadOnly | Code::CannotOpen) => match Unwritable::of(&path) {
                Some(why) => StoreError::Unwritable { path, why },
                None => StoreError::Sql { attempt, path, source },
            },
            _ => StoreError::Sql { attempt, path, source },
        }
    }
}

/// Whether an I/O error of SQLite's means that there was no space for the files beside the store.
fn is_out_of_space(error: &rusqlite::Error, path: &Path) -> bool {
    let is_shared_memory = error.sqlite_error().is_some_and(|error| {
        [rusqlite::ffi::SQLITE_IOERR_SHMSIZE, rusqlite::ffi::SQLITE_IOERR_SHMMAP].contains(&error.extended_code)
    });
    let folder = path.parent().unwrap_or(path);
    is_shared_memory || crate::unix::is_full(folder)
}
