//! Verbs for other programs in the same process, as the Python package: typed in the words of the command line, returned and not printed.
//!
//! So an option means here what it means there, and a refusal has the same sentence.

use crate::arguments::{CommandLine, Verb};
pub use crate::library_run::{check_run, run};
use crate::{advise as advising, compare as comparing, failure, output, predict as predicting, recommendations};
use loadline_advise::{Advice, Need};
use loadline_analysis::{Comparison, RunSummary};
use loadline_record::RunRecord;
use loadline_report::frame::Frame;
use loadline_runs::sweep::{Stopped, SweepProgress, SweptEnvironment, SweptNeed, advice_frame, prediction_frame};
use loadline_runs::{Observer, RunOutcome, store_location};
use std::ffi::OsString;
use std::path::PathBuf;

/// Why a verb returned nothing.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct CommandError {
    /// What the command would have printed, without its name in front.
    pub words: String,
    /// The exit status that the command would have had: 1 failed, 2 refused, 130 stopped.
    pub status: u8,
    /// Whether nothing was done: it was refused, or what was asked for is not there or may not be touched.
    pub nothing_done: bool,
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        let (words, status) = failure::told(&error);
        Self { words, status, nothing_done: failure::is_before_all(&error) }
    }
}

impl From<loadline_runs::Error> for CommandError {
    fn from(error: loadline_runs::Error) -> Self {
        anyhow::Error::new(error).into()
    }
}

/// Whether nothing was done before an error: what was asked for was refused, is not there, or may not be touched.
#[must_use]
pub fn nothing_done(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(crate::words::is_before_all)
}

/// A command line that begins with this verb.
pub(crate) fn line(verb: &str, words: &[OsString]) -> Result<CommandLine, CommandError> {
    let all: Vec<OsString> = ["loadline".into(), verb.into()].into_iter().chain(words.iter().cloned()).collect();
    let (mut line, ..) = crate::parsed(&all).map_err(|error| CommandError {
        words: error.to_string().trim().trim_start_matches("error: ").to_owned(),
        status: failure::USAGE,
        nothing_done: true,
    })?;
    line.common.store = line.common.store.or_else(store_location::named_by_environment);
    Ok(line)
}

pub(crate) fn store_of(line: &CommandLine) -> anyhow::Result<PathBuf> {
    Ok(store_location::store_path(line.common.store.as_deref())?)
}

/// `predict` with these words behind it. `store` keeps the run in place of the store that the words name, or the user's.
///
/// # Errors
/// What the command would have said.
pub fn predict(
    words: &[OsString],
    store: Option<PathBuf>,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, CommandError> {
    let line = line("predict", words)?;
    let Verb::Predict(arguments) = &line.verb else { unreachable!("the verb is predict") };
    let (prediction, options) = predicting::prepared(arguments, || store.map_or_else(|| store_of(&line), Ok))?;
    Ok(prediction.run(&options, observer)?)
}

/// `advise` with these words behind it, and what it assumed.
///
/// # Errors
/// What the command would have said.
pub fn advise(words: &[OsString]) -> Result<(Advice, Vec<String>), CommandError> {
    let line = line("advise", words)?;
    let Verb::Advise(arguments) = &line.verb else { unreachable!("the verb is advise") };
    Ok(advising::advised(arguments, &|| store_of(&line))?)
}

/// `predict` with these words behind it, but on these environments: a row for each of them, volume and load.
///
/// # Errors
/// What the command would have said.
pub fn predict_many(
    words: &[OsString],
    environments: Vec<SweptEnvironment>,
    progress: &dyn SweepProgress,
) -> Result<Frame, CommandError> {
    let place = ["--env".into(), ".".into()];
    let line = line("predict", &[words, &place].concat())?;
    let Verb::Predict(arguments) = &line.verb else { unreachable!("the verb is predict") };
    let sweep = predicting::sweep_of(arguments, environments)?;
    let rows = sweep.run(arguments.sweep.part(), arguments.sweep.threads, progress).map_err(stopped)?;
    Ok(prediction_frame(&rows))
}

/// `advise` with these words behind it, for each of these needs: a row for each choice.
///
/// # Errors
/// What the command would have said.
pub fn advise_many(
    words: &[OsString],
    needs: Vec<SweptNeed>,
    progress: &dyn SweepProgress,
) -> Result<Frame, CommandError> {
    let line = line("advise", words)?;
    let Verb::Advise(arguments) = &line.verb else { unreachable!("the verb is advise") };
    let sweep = advising::sweep_of(arguments, needs)?;
    let complete = |need: &mut Need| advising::completed(arguments, need).map_err(|error| error.to_string());
    let rows = sweep.run(arguments.sweep.part(), &complete, arguments.sweep.threads, progress).map_err(stopped)?;
    Ok(advice_frame(&rows))
}

fn stopped(stopped: Stopped) -> CommandError {
    CommandError { words: stopped.to_string(), status: failure::Outcome::Interrupted.status(), nothing_done: false }
}

/// `compare` of these runs, the baseline first, with the options in `words`.
///
/// # Errors
/// What the command would have said.
pub fn compare(records: Vec<RunRecord>, words: &[OsString]) -> Result<Comparison, CommandError> {
    let ids: Vec<OsString> = records.iter().map(|record| record.header.id.clone().into()).collect();
    let line = line("compare", &[&ids[..], words].concat())?;
    let Verb::Compare(arguments) = &line.verb else { unreachable!("the verb is compare") };
    Ok(comparing::of_records(arguments, records)?)
}

/// The run summed up, with the commands that are recommended, as `show` and `report` have it.
#[must_use]
pub fn summarized(record: &RunRecord) -> RunSummary {
    recommendations::summarized(record)
}

/// A run as `--format json` prints it.
#[must_use]
pub fn run_json(summary: &RunSummary) -> String {
    crate::printing::summary(summary, crate::arguments::Format::Json)
}

/// A comparison as `--format json` prints it.
#[must_use]
pub fn comparison_json(comparison: &Comparison) -> String {
    crate::printing::comparison(comparison, crate::arguments::Format::Json)
}

/// The text that `--format json` prints.
#[must_use]
pub fn json(value: &impl serde::Serialize) -> String {
    output::pretty(value)
}

/// A comparison as the table that the command prints.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    crate::printing::comparison(comparison, crate::arguments::Format::Table)
}

/// A run as the table that the command prints.
#[must_use]
pub fn run_text(summary: &RunSummary) -> String {
    crate::printing::summary(summary, crate::arguments::Format::Table)
}
