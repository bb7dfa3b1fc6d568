//! Runs, comparisons and advice as Python has them: the JSON of the command, tables, the report.

use crate::calls::short;
use crate::errors::{Error, failed};
use crate::table::PythonTable;
use loadline_advise::Advice;
use loadline_analysis::{Comparison, RunSummary};
use loadline_command::library;
use loadline_record::{Clock, RunRecord, RunStatus};
use loadline_report::advice_document;
use loadline_report::advice_html;
use loadline_report::frame;
use loadline_runs::{record_of_text, record_text};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A run: what was measured, predicted or read, with all its trials.
#[pyclass(frozen, name = "Run", module = "loadline")]
pub(crate) struct PythonRun {
    pub(crate) record: Arc<RunRecord>,
    summary: OnceLock<RunSummary>,
}

impl PythonRun {
    pub(crate) fn of(record: RunRecord) -> Self {
        Self { record: Arc::new(record), summary: OnceLock::new() }
    }
    /// Summed up once, when it is first asked for.
    fn summary(&self, py: Python<'_>) -> PyResult<&RunSummary> {
        short(py, || Ok(self.summary.get_or_init(|| library::summarized(&self.record))))
    }
}

/// A document of JSON as Python's dictionaries and lists.
fn loaded<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

fn part<'py>(py: Python<'py>, summary: &RunSummary, key: &str) -> PyResult<Bound<'py, PyAny>> {
    loaded(py, &library::run_json(summary))?.cast_into::<PyDict>()?.as_any().get_item(key)
}

/// The text with which a class of ours is made again out of a pickle.
type Pickled<'py> = (Bound<'py, PyAny>, (String,));

fn pickled<'py>(py: Python<'py>, function: &str, text: String) -> PyResult<Pickled<'py>> {
    Ok((py.import("loadline._loadline")?.getattr(function)?, (text,)))
}

fn written(path: PathBuf, text: &str) -> PyResult<()> {
    std::fs::write(&path, text).map_err(|error| Error::new_err(format!("cannot write {}: {error}", path.display())))
}

#[pymethods]
impl PythonRun {
    /// The run's id, unique in every store.
    #[getter]
    fn id(&self) -> &str {
        &self.record.header.id
    }
    /// The plan's name, or what the run was called.
    #[getter]
    fn name(&self) -> &str {
        &self.record.header.name
    }
    /// The verb that made it: "run", "predict", "import" and so on.
    #[getter]
    fn verb(&self) -> String {
        self.record.header.verb.to_string()
    }
    /// "real" if something was measured, "virtual" if it was predicted.
    #[getter]
    fn clock(&self) -> &'static str {
        if self.record.header.clock == Clock::Real { "real" } else { "virtual" }
    }
    /// "finished", "unfinished", "interrupted" or "failed".
    #[getter]
    fn status(&self) -> &'static str {
        match self.record.status {
            RunStatus::Finished => "finished",
            RunStatus::Unfinished => "unfinished",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
        }
    }
    /// When it began: RFC 3339, in UTC.
    #[getter]
    fn started(&self) -> &str {
        &self.record.header.started
    }
    /// The seed of every random choice.
    #[getter]
    fn seed(&self) -> u64 {
        self.record.header.seed
    }
    /// A row for each cell: figures with intervals, limit, doubts.
    #[getter]
    fn cells(&self, py: Python<'_>) -> PyResult<PythonTable> {
        let summary = self.summary(py)?;
        short(py, || Ok(PythonTable::of(frame::cells(summary))))
    }
    /// A row for each trial of each cell.
    #[getter]
    fn trials(&self, py: Python<'_>) -> PyResult<PythonTable> {
        short(py, || Ok(PythonTable::of(frame::trials(&self.record))))
    }
    /// A row for each second of each trial and operation.
    #[getter]
    fn seconds(&self, py: Python<'_>) -> PyResult<PythonTable> {
        short(py, || Ok(PythonTable::of(frame::seconds(&self.record))))
    }
    /// The findings: code, text, cells.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        part(py, self.summary(py)?, "findings")
    }
    /// The verdict in a few lines; None if nothing was measured.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        part(py, self.summary(py)?, "verdict")
    }
    /// The same text as `loadline show RUN --format json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary(py)?;
        short(py, || Ok(library::run_json(summary)))
    }
    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.json(py)?)
    }
    /// The report as one HTML page; written to a file if a path is given.
    #[pyo3(signature = (path = None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<String> {
        let summary = self.summary(py)?;
        let page = short(py, || Ok(loadline_report::html(&[(&self.record, summary)])))?;
        if let Some(path) = path {
            written(path, &page)?;
        }
        Ok(page)
    }
    /// Latency against load as a chart; None if no load was varied.
    fn plot<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let summary = self.summary(py)?;
        let chart = short(py, || Ok(loadline_report::chart_svg(&self.record, summary)))?;
        chart.map(|text| py.import("loadline")?.getattr("Svg")?.call1((text,))).transpose()
    }
    /// Keeps the whole run in a file, for `read` and for `loadline compare FILE.json RUN`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = short(py, || Ok(record_text(&self.record)))?;
        written(path, &text)
    }
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary(py)?;
        short(py, || Ok(loadline_report::results_table(&self.record, summary)))
    }
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary(py)?;
        short(py, || Ok(library::run_text(summary)))
    }
    fn __repr__(&self) -> String {
        let header = &self.record.header;
        format!("<loadline.Run {} {:?}: {} cells, {}>", header.id, header.name, self.record.cells.len(), self.status())
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.record == other.record
    }
    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.record.header.id.hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickled(py, "run_from_text", record_text(&self.record))
    }
}

/// A run out of what `pickle` and `save` keep of it.
#[pyfunction]
pub(crate) fn run_from_text(py: Python<'_>, text: &str) -> PyResult<PythonRun> {
    let record = short(py, || record_of_text(text).map_err(|why| Error::new_err(format!("this is no run: {why}"))))?;
    Ok(PythonRun::of(record))
}

/// A comparison of runs with the first of them.
#[pyclass(frozen, name = "Comparison", module = "loadline")]
pub(crate) struct PythonComparison(pub(crate) Comparison);

#[pymethods]
impl PythonComparison {
    /// The verdict over all cells of all runs: "worse" if any is, then "cannot-tell", "better", "same".
    #[getter]
    fn verdict(&self) -> &'static str {
        use loadline_analysis::Verdict::{Better, CannotTell, Worse};
        let cells = || self.0.against.iter().flat_map(|of| of.cells.iter().map(|cell| cell.verdict));
        let overall = || self.0.against.iter().flat_map(|of| of.overall.iter().map(|all| all.verdict));
        let any = |verdict| overall().any(|of| of == verdict);
        if any(Worse) || cells().any(|of| of == Worse) {
            "worse"
        } else if any(CannotTell) || overall().next().is_none() {
            "cannot-tell"
        } else if any(Better) {
            "better"
        } else {
            "same"
        }
    }
    /// The same text as `loadline compare --format json`.
    fn json(&self) -> String {
        library::comparison_json(&self.0)
    }
    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.json())
    }
    fn __str__(&self) -> String {
        library::comparison_text(&self.0)
    }
    fn __repr__(&self) -> String {
        format!("<loadline.Comparison of {} runs: {}>", self.0.sides.len(), self.verdict())
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickled(py, "comparison_from_text", self.json())
    }
}

/// A comparison out of its JSON.
#[pyfunction]
pub(crate) fn comparison_from_text(text: &str) -> PyResult<PythonComparison> {
    serde_json::from_str(text).map(PythonComparison).map_err(|error| failed(&error))
}

/// A ranked list of machines, disks and layouts for a need.
#[pyclass(frozen, name = "Advice", module = "loadline")]
pub(crate) struct PythonAdvice {
    /// The JSON of the command.
    text: String,
    html: Option<String>,
    /// What was assumed.
    notes: Vec<String>,
}

impl PythonAdvice {
    pub(crate) fn of(advice: &Advice, notes: Vec<String>) -> Self {
        Self { text: library::json(&advice_document(advice)), html: Some(advice_html(advice)), notes }
    }
}

#[pymethods]
impl PythonAdvice {
    /// The rows, best first.
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("candidates")
    }
    /// The verdict in a sentence.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("verdict")
    }
    /// What was assumed where nothing was said.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
    /// The same text as `loadline advise --format json`.
    fn json(&self) -> &str {
        &self.text
    }
    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, &self.text)
    }
    fn _repr_html_(&self) -> Option<&str> {
        let page = self.html.as_deref()?;
        let (begin, end) = (page.find("<table")?, page.find("</table>")?);
        page.get(begin..end + "</table>".len())
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<loadline.Advice: {} rows>", self.candidates(py)?.len()?))
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.text == other.text
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let text = serde_json::json!([self.text, self.html, self.notes]).to_string();
        pickled(py, "advice_from_text", text)
    }
}

/// Advice out of what `pickle` keeps of it.
#[pyfunction]
pub(crate) fn advice_from_text(text: &str) -> PyResult<PythonAdvice> {
    let (text, html, notes) = serde_json::from_str(text).map_err(|error| failed(&error))?;
    Ok(PythonAdvice { text, html, notes })
}
