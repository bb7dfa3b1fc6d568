//! The verbs: `run`, `predict`, `advise`, `compare`, `read`, and the command itself.

use crate::calls::{Follower, abandonable, refuse_fork, short, stoppable};
use crate::errors::{Refused, exception, failed};
use crate::run::{PythonAdvice, PythonComparison, PythonRun};
use crate::store::PythonStore;
use crate::table::PythonTable;
use loadline_catalog::environment_text as built_in_environment;
use loadline_command::library::{self, CommandError};
use loadline_runs::sweep::{SweptEnvironment, SweptNeed};
use loadline_runs::{Import, Observer, RunOutcome, read_record};
use loadline_workload::preset;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// How a store begins.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// How much of a record's file names its form.
const FORM_WITHIN: u64 = 64;

/// A verb that makes a run.
type Verb = fn(&[OsString], Option<PathBuf>, &mut dyn Observer) -> Result<RunOutcome, CommandError>;

/// Carries out a verb. Without a store the run is kept nowhere but in the object.
fn made(py: Python<'_>, verb: Verb, words: Vec<OsString>, keep: bool, agrees: bool) -> PyResult<PythonRun> {
    let outcome = stoppable(py, move |stop| {
        let folder = (!keep).then(tempfile::tempdir).transpose().map_err(|error| failed(&error))?;
        let store = folder.as_ref().map(|folder| folder.path().join("runs.db"));
        let mut follower = Follower { stop: stop.clone(), agrees };
        verb(&words, store, &mut follower).map_err(exception)
    })?;
    Ok(PythonRun::of(outcome.record))
}

/// `loadline run` with these words. `keep`: in the store that the words name, or the user's.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, words: Vec<OsString>, keep: bool, agrees: bool) -> PyResult<PythonRun> {
    made(py, library::run, words, keep, agrees)
}

/// Whether `loadline run` with these words would be refused; nothing is written. A fingerprint of what hosts that run it together must
/// have in common.
#[pyfunction]
pub(crate) fn check_run(py: Python<'_>, words: Vec<OsString>, agrees: bool) -> PyResult<String> {
    stoppable(py, move |stop| {
        let mut follower = Follower { stop: stop.clone(), agrees };
        library::check_run(&words, &mut follower).map_err(exception)
    })
}

/// `loadline predict` with these words.
#[pyfunction]
pub(crate) fn predict(py: Python<'_>, words: Vec<OsString>, keep: bool) -> PyResult<PythonRun> {
    made(py, library::predict, words, keep, false)
}

/// `loadline advise` with these words.
#[pyfunction]
pub(crate) fn advise(py: Python<'_>, words: Vec<OsString>) -> PyResult<PythonAdvice> {
    abandonable(py, move || {
        let (advice, notes) = library::advise(&words).map_err(exception)?;
        Ok(PythonAdvice::of(&advice, notes))
    })
}

/// What is predicted or advised on: its name, and its text where it is no file.
type Named = (String, Option<String>);

/// `loadline predict` with these words on each of these environments: a row for each of them, volume and load.
#[pyfunction]
pub(crate) fn predict_many(py: Python<'_>, words: Vec<OsString>, environments: Vec<Named>) -> PyResult<PythonTable> {
    stoppable(py, move |stop| {
        let environments = environments.into_iter().map(|(name, text)| match text {
            Some(text) => SweptEnvironment::Text { name, text },
            None => SweptEnvironment::Named(name),
        });
        let goes_on = |_, _| !stop.load(Ordering::Relaxed);
        library::predict_many(&words, environments.collect(), &goes_on).map(PythonTable::of).map_err(exception)
    })
}

/// `loadline advise` with these words for each of these needs: a row for each choice.
#[pyfunction]
pub(crate) fn advise_many(py: Python<'_>, words: Vec<OsString>, needs: Vec<Named>) -> PyResult<PythonTable> {
    stoppable(py, move |stop| {
        let needs = needs.into_iter().map(|(name, text)| match text {
            Some(text) => SweptNeed::Text { name, text },
            None => SweptNeed::File(PathBuf::from(name)),
        });
        let goes_on = |_, _| !stop.load(Ordering::Relaxed);
        library::advise_many(&words, needs.collect(), &goes_on).map(PythonTable::of).map_err(exception)
    })
}

/// `loadline compare` of these runs with these options.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    runs: Vec<PyRef<'_, PythonRun>>,
    words: Vec<OsString>,
) -> PyResult<PythonComparison> {
    let records: Vec<_> = runs.iter().map(|run| (*run.record).clone()).collect();
    abandonable(py, move || library::compare(records, &words).map(PythonComparison).map_err(exception))
}

/// What a file is: a store, a run that was saved, or results of another tool.
enum Form {
    Store,
    Record,
    Results,
}

fn form_of(path: &Path) -> PyResult<Form> {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(FORM_WITHIN).read_to_end(&mut head));
    read.map_err(|error| Refused::new_err(format!("cannot read {}: {error}", path.display())))?;
    let is_record = || String::from_utf8_lossy(&head).contains("\"loadline.record/");
    Ok(if head.starts_with(DATABASE) {
        Form::Store
    } else if is_record() {
        Form::Record
    } else {
        Form::Results
    })
}

/// A store, a saved run, or results of other tools as one run.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, paths: Vec<PathBuf>, name: Option<String>) -> PyResult<Py<PyAny>> {
    refuse_fork()?;
    if let [path] = &paths[..] {
        match form_of(path)? {
            Form::Store => return Ok(Py::new(py, PythonStore::at(path.clone())?)?.into_any()),
            Form::Record => {
                let record = short(py, || read_record(path).map_err(|error| failed(&error)))?;
                return Ok(Py::new(py, PythonRun::of(record))?.into_any());
            }
            Form::Results => {}
        }
    }
    let outcome = stoppable(py, |_| {
        let import = Import::read(&paths).map_err(|error| exception(CommandError::from(error)))?;
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let stored = import.store(name, &[], None, &folder.path().join("runs.db"));
        stored.map_err(|error| exception(CommandError::from(error)))
    })?;
    Ok(Py::new(py, PythonRun::of(outcome.record))?.into_any())
}

/// The text of a plan that comes with loadline.
#[pyfunction]
pub(crate) fn plan_text(name: &str) -> PyResult<&'static str> {
    preset(name)
        .map(|preset| preset.text)
        .ok_or_else(|| Refused::new_err(format!("no plan that comes with loadline is called {name:?}")))
}

/// The text of an environment that comes with loadline.
#[pyfunction]
pub(crate) fn environment_text(name: &str) -> PyResult<&'static str> {
    built_in_environment(name)
        .ok_or_else(|| Refused::new_err(format!("no environment that comes with loadline is called {name:?}")))
}

/// The `loadline` command: prints, and returns the exit status.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
    refuse_fork()?;
    let status = py.detach(|| loadline_command::command(words.into_iter()));
    Ok(status)
}
