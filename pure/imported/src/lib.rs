//! Reads results of other tools into loads with their trials.
//!
//! Nothing is made up. A figure that a tool does not report is missing. A load without an equivalent is left out, and
//! the caller learns of it.

mod error;
pub mod fio;
mod value;

pub use error::ImportError;

use loadline_record::TrialRecord;
use loadline_workload::LoadSpec;

/// The contents of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The tool that measured: `fio`.
    pub tool: String,
    /// Its version, if reported.
    pub version: Option<String>,
    /// Loads with their trials, in the order of the file.
    pub jobs: Vec<Job>,
    /// Loads that were left out, with the reason.
    pub left_out: Vec<LeftOut>,
    /// How the file was read, in sentences.
    pub notes: Vec<String>,
}

/// One load of a tool, with its results.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name in the tool's results.
    pub name: String,
    /// The load; one trial.
    pub spec: LoadSpec,
    /// Its target, if reported.
    pub target: Option<String>,
    /// Whether it was run on nothing at all.
    pub is_null: bool,
    /// When it began and ended, ms since 1970, as well as that is known.
    pub span_ms: (u64, u64),
    /// The results, as trial 0, without the doubts that loadline checks for every measurement. Its doubts are those
    /// that only the tool's own figures show.
    pub trial: TrialRecord,
    /// Facts that a measurement of loadline's would have, in sentences.
    pub unknown: Vec<String>,
}

/// A load that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name in the tool's results.
    pub name: String,
    /// Why, with the option that is to blame.
    pub why: String,
}

/// The text of a file: UTF-8, or UTF-16 as Windows writes it, with the mark of its byte order.
///
/// # Errors
/// Where it is no text: the byte from which on.
pub fn text(bytes: Vec<u8>) -> Result<String, usize> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty()).ok_or(2)
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => wide(&bytes, u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(&bytes, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            std::str::from_utf8(rest).map(str::to_owned).map_err(|error| error.valid_up_to() + 3)
        }
        _ => String::from_utf8(bytes).map_err(|error| error.utf8_error().valid_up_to()),
    }
}

/// Reads a file of results; `source` names it in errors. Results without a time are assumed to end at `written_unix_s`,
/// seconds since 1970.
///
/// # Errors
/// A text of no known form, cut off, or with impossible figures, with the place.
pub fn read(text: &str, source: &str, written_unix_s: u64) -> Result<Results, ImportError> {
    fio::read(text, source, written_unix_s)
}
