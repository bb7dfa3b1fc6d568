//! A whole run as one file: a baseline that lies in a repository, beside what it judges.
//!
//! It has everything that a store has of the run, so that a comparison with it says the same as one within a store.

use super::input_file::as_text;
use loadline_record::RunRecord;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The name of the form, with its version.
const SCHEMA: &str = "loadline.record/1";
/// The largest file that is read.
const FILE_MAX: u64 = 256 << 20;

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    record: &'a RunRecord,
}

#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

#[derive(Deserialize)]
struct Whole {
    record: RunRecord,
}

/// The run as JSON on one line.
#[must_use]
pub fn record_text(record: &RunRecord) -> String {
    serde_json::to_string(&Written { schema: SCHEMA, record }).expect("names are text") + "\n"
}

/// Why a file gives no run.
#[derive(Debug, thiserror::Error)]
pub enum RecordFileError {
    /// It cannot be read, or is too large.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is no whole run: {source}", file.display())]
    Other {
        /// The file.
        file: PathBuf,
        /// What it is instead.
        source: RecordTextError,
    },
}

/// Why a text is no run that [`record_text`] wrote.
#[derive(Debug, thiserror::Error)]
pub enum RecordTextError {
    /// It has another form.
    #[error("it is {found:?}, and {SCHEMA:?} is needed")]
    Form {
        /// The form that it names; empty if it names none.
        found: String,
    },
    /// It is no JSON, or lacks a part.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// The run in a file that [`record_text`] wrote.
///
/// # Errors
/// A file that cannot be read, is too large or is something else.
pub fn read_record(path: impl AsRef<Path>) -> Result<RunRecord, RecordFileError> {
    let file = path.as_ref();
    let unreadable = |source| RecordFileError::Unreadable { file: file.to_owned(), source };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    let read = opened.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if read as u64 > FILE_MAX {
        let why = format!("it has more than {} MiB, the most that a run may have", FILE_MAX >> 20);
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidData, why)));
    }
    let text = as_text(bytes).map_err(unreadable)?;
    record_of_text(&text).map_err(|source| RecordFileError::Other { file: file.to_owned(), source })
}

/// The run in a text of [`record_text`].
///
/// # Errors
/// A text that is something else.
pub fn record_of_text(text: &str) -> Result<RunRecord, RecordTextError> {
    let head: Head = serde_json::from_str(text)?;
    match head.schema {
        Some(name) if name == SCHEMA => {}
        other => return Err(RecordTextError::Form { found: other.unwrap_or_default() }),
    }
    let whole: Whole = serde_json::from_str(text)?;
    Ok(whole.record)
}
