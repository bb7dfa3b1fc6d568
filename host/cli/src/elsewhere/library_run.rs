//! `run` for other programs in the same process: refused.

use crate::library::CommandError;
use loadline_runs::{Error, Observer, Refusal, RunOutcome};
use std::ffi::OsString;
use std::path::PathBuf;

/// `run` with these words behind it.
///
/// # Errors
/// Always: storage is measured on Linux.
pub fn run(_: &[OsString], _: Option<PathBuf>, _: &mut dyn Observer) -> Result<RunOutcome, CommandError> {
    Err(Error::from(Refusal::NoRealStorage).into())
}

/// Whether `run` with these words behind it would be refused: it would.
///
/// # Errors
/// Always: storage is measured on Linux.
pub fn check_run(_: &[OsString], _: &mut dyn Observer) -> Result<String, CommandError> {
    Err(Error::from(Refusal::NoRealStorage).into())
}
