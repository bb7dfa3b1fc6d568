//! Results of other tools, read into the trials of loads: what they measured, as far as they tell it.
//!
//! Nothing is made up. A figure that a tool does not tell is missing, and what cannot be put as a load of ours is left out and said.

mod error;
pub mod fio;
mod value;

pub use error::ImportError;

use loadline_record::TrialRecord;
use loadline_workload::LoadSpec;

/// What one file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The tool that measured: `fio`.
    pub tool: String,
    /// Its version, where it tells it.
    pub version: Option<String>,
    /// Loads with their trials, in the order of the file.
    pub jobs: Vec<Job>,
    /// What could not be taken, with the reason.
    pub left_out: Vec<LeftOut>,
    /// How the file was read, in sentences.
    pub notes: Vec<String>,
}

/// One load that a tool ran, with what it measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name in the tool's results.
    pub name: String,
    /// What it asked of storage; one trial.
    pub spec: LoadSpec,
    /// What it was run on, where that is told.
    pub target: Option<String>,
    /// Whether it was run on nothing at all.
    pub is_null: bool,
    /// When it began and ended, ms since 1970, as well as that is known.
    pub span_ms: (u64, u64),
    /// What was measured, as trial 0, without the doubts that every measurement is asked about. Its doubts are those that only the
    /// tool's own figures give.
    pub trial: TrialRecord,
    /// What is not known of it that a measurement of loadline's would tell, in sentences.
    pub unknown: Vec<String>,
}

/// A load that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name in the tool's results.
    pub name: String,
    /// Why, with the option that is to blame.
    pub why: String,
}

/// Reads a file of results; `source` names it in errors. Where results do not tell their time they are taken to end at
/// `written_unix_s`, seconds since 1970.
///
/// # Errors
/// A text that is of no known form, cut off, or holds figures that cannot be, with the place.
pub fn read(text: &str, source: &str, written_unix_s: u64) -> Result<Results, ImportError> {
    fio::read(text, source, written_unix_s)
}
