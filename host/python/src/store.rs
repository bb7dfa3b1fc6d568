//! A store of runs as Python has it.

use crate::calls::short;
use crate::errors::failed;
use crate::run::PythonRun;
use crate::table::PythonTable;
use loadline_command::library;
use loadline_record::RunRecord;
use loadline_report::frame::{self, Frame};
use loadline_runs::store_location;
use loadline_store::{Filter, Store};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A file with runs. Each call opens it anew, so that other processes may write to it meanwhile.
#[pyclass(frozen, name = "Store", module = "loadline")]
pub(crate) struct PythonStore {
    path: PathBuf,
}

impl PythonStore {
    pub(crate) fn at(path: PathBuf) -> PyResult<Self> {
        store_location::store_to_read(&path).map_err(|error| failed(&error))?;
        Ok(Self { path })
    }
    fn open(&self) -> PyResult<Store> {
        store_location::store_to_read(&self.path).map_err(|error| failed(&error))
    }
    fn ids(store: &Store, wanted: Option<&[String]>) -> PyResult<Vec<String>> {
        match wanted {
            Some(typed) => typed.iter().map(|run| store.resolve(run)).collect::<Result<_, _>>(),
            None => store.list(&Filter::default()).map(|runs| runs.into_iter().rev().map(|run| run.id).collect()),
        }
        .map_err(|error| failed(&error))
    }
    /// The rows of all runs, one run in memory at a time.
    fn table(
        &self,
        py: Python<'_>,
        runs: Option<Vec<String>>,
        rows: impl Fn(&RunRecord) -> Frame + Send + Sync,
    ) -> PyResult<PythonTable> {
        short(py, || {
            let store = self.open()?;
            let mut all = Frame::default();
            for id in Self::ids(&store, runs.as_deref())? {
                all.append(rows(&store.load(&id).map_err(|error| failed(&error))?));
            }
            Ok(PythonTable::of(all))
        })
    }
}

#[pymethods]
impl PythonStore {
    /// The store at `path`; by default the user's.
    #[new]
    #[pyo3(signature = (path = None))]
    fn new(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Self> {
        short(py, || {
            let named = path.or_else(store_location::named_by_environment);
            Self::at(store_location::store_path(named.as_deref()).map_err(|error| failed(&error))?)
        })
    }
    /// Where it is.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }
    /// The ids of its runs, oldest first.
    fn runs(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        short(py, || Self::ids(&self.open()?, None))
    }
    /// A run: by its id, the beginning of it, its name, or "last".
    #[pyo3(signature = (run = "last"))]
    fn load(&self, py: Python<'_>, run: &str) -> PyResult<PythonRun> {
        let record = short(py, || {
            let store = self.open()?;
            store.resolve(run).and_then(|id| store.load(&id)).map_err(|error| failed(&error))
        })?;
        Ok(PythonRun::of(record))
    }
    /// A row for each cell of these runs, by default of all.
    #[pyo3(signature = (runs = None))]
    fn cells(&self, py: Python<'_>, runs: Option<Vec<String>>) -> PyResult<PythonTable> {
        self.table(py, runs, |record| frame::cells(&library::summarized(record)))
    }
    /// A row for each trial of these runs, by default of all.
    #[pyo3(signature = (runs = None))]
    fn trials(&self, py: Python<'_>, runs: Option<Vec<String>>) -> PyResult<PythonTable> {
        self.table(py, runs, frame::trials)
    }
    /// A row for each second of these runs and operation, by default of all.
    #[pyo3(signature = (runs = None))]
    fn seconds(&self, py: Python<'_>, runs: Option<Vec<String>>) -> PyResult<PythonTable> {
        self.table(py, runs, frame::seconds)
    }
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.runs(py)?.len())
    }
    fn __getitem__(&self, py: Python<'_>, run: &str) -> PyResult<PythonRun> {
        self.load(py, run)
    }
    fn __repr__(&self) -> String {
        format!("<loadline.Store {}>", self.path.display())
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        Ok((py.import("loadline")?.getattr("Store")?, (self.path.clone(),)))
    }
}
