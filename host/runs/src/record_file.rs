//! A whole run as one file: a baseline that lies in a repository, beside what it judges.
//!
//! It has everything that a store has of the run, so that a comparison with it says the same as one within a store.

use crate::{Error, Refusal};
use loadline_record::RunRecord;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

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

/// The run in a file that [`record_text`] wrote.
///
/// # Errors
/// A [`Refusal`] of a file that cannot be read, is too large or is something else.
pub fn read_record(path: &Path) -> Result<RunRecord, Error> {
    let unreadable = |source| Refusal::UnreadableRecord { file: path.to_owned(), source };
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_string(&mut text)).map_err(unreadable)?;
    if read as u64 > FILE_MAX {
        let why = format!("it has more than {} MiB, the most that a run may have", FILE_MAX >> 20);
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidData, why)).into());
    }
    let other = |why: String| Refusal::NotARecord { file: path.to_owned(), why };
    let head: Head = serde_json::from_str(&text).map_err(|error| other(error.to_string()))?;
    match head.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(name) => return Err(other(format!("it is {name:?}, and {SCHEMA:?} is needed")).into()),
        None => return Err(other("it does not name its form".to_owned()).into()),
    }
    let whole: Whole = serde_json::from_str(&text).map_err(|error| other(error.to_string()))?;
    Ok(whole.record)
}
