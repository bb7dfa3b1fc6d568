//! `run` for other programs in the same process.

use crate::arguments::Verb;
use crate::library::{CommandError, line, store_of};
use crate::run as running;
use loadline_runs::{Observer, RunOutcome};
use std::ffi::OsString;
use std::path::PathBuf;

/// `run` with these words behind it. `store` is as in [`predict`](crate::library::predict).
///
/// # Errors
/// What the command would have said.
pub fn run(
    words: &[OsString],
    store: Option<PathBuf>,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, CommandError> {
    let line = line("run", words)?;
    let Verb::Run(arguments) = &line.verb else { unreachable!("the verb is run") };
    let (measurement, options) = running::prepared(arguments, || store.map_or_else(|| store_of(&line), Ok))?;
    Ok(measurement.run(&options, observer)?)
}

/// Whether `run` with these words behind it would be refused: its targets are opened and closed again.
///
/// # Errors
/// What the command would have said.
pub fn check_run(words: &[OsString], observer: &mut dyn Observer) -> Result<String, CommandError> {
    let line = line("run", words)?;
    let Verb::Run(arguments) = &line.verb else { unreachable!("the verb is run") };
    let (measurement, _) = running::prepared(arguments, || store_of(&line))?;
    Ok(measurement.check(observer)?)
}
