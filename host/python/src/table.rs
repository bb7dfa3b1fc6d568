//! Tables as Python has them: named columns, and Arrow's capsules for data frames.

use crate::arrow::{ArrowSchema, ArrowStream};
use crate::calls::{refuse_fork, short};
use crate::frame_bytes::{bytes_of, frame_of};
use loadline_report::frame::{Frame, FrameColumn, FrameValues};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};
use std::sync::Arc;

/// A table of runs, cells, trials or seconds. Data frames take it through Arrow, without a copy.
#[pyclass(frozen, name = "Table", module = "loadline")]
pub(crate) struct PythonTable {
    pub(crate) frame: Arc<Frame>,
}

impl PythonTable {
    pub(crate) fn of(frame: Frame) -> Self {
        Self { frame: Arc::new(frame) }
    }
    fn column(&self, name: &str) -> PyResult<&FrameColumn> {
        let found = self.frame.columns().iter().find(|column| column.name == name);
        found.ok_or_else(|| PyKeyError::new_err(format!("there is no column {name:?}; `columns` lists them")))
    }
}

/// The values of a column as Python's: text, integers, floats, booleans; points in time are `datetime` in UTC, what is missing is None.
fn values<'py>(py: Python<'py>, of: &FrameValues) -> PyResult<Bound<'py, PyList>> {
    match of {
        FrameValues::Text(words) => PyList::new(py, (0..words.rows().len()).map(|row| words.get(row))),
        FrameValues::Float(of) => PyList::new(py, (0..of.len()).map(|row| of.get(row))),
        FrameValues::Whole(of) => PyList::new(py, (0..of.len()).map(|row| of.get(row))),
        FrameValues::Flag(of) => PyList::new(py, (0..of.len()).map(|row| of.get(row))),
        FrameValues::Moment(of) => {
            let datetime = py.import("datetime")?;
            let (class, utc) = (datetime.getattr("datetime")?, datetime.getattr("timezone")?.getattr("utc")?);
            let (epoch, delta) = (class.call1((1970, 1, 1, 0, 0, 0, 0, utc))?, datetime.getattr("timedelta")?);
            let moment = |us: i64| {
                epoch.call_method1("__add__", (delta.call1((0, us.div_euclid(1_000_000), us.rem_euclid(1_000_000)))?,))
            };
            let all = (0..of.len()).map(|row| of.get(row).map(moment).transpose()).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, all)
        }
    }
}

#[pymethods]
impl PythonTable {
    /// The names of the columns, with their units.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.frame.columns().iter().map(|column| column.name.as_str()).collect()
    }
    fn __len__(&self) -> usize {
        self.frame.rows()
    }
    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        values(py, &self.column(name)?.values)
    }
    fn __contains__(&self, name: &str) -> bool {
        self.column(name).is_ok()
    }
    /// A dictionary for each row.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.frame.columns();
        let all = columns.iter().map(|column| values(py, &column.values)).collect::<PyResult<Vec<_>>>()?;
        let rows = PyList::empty(py);
        for row in 0..self.frame.rows() {
            let dict = PyDict::new(py);
            for (column, values) in columns.iter().zip(&all) {
                dict.set_item(&column.name, values.get_item(row)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows)
    }
    /// A `polars.DataFrame`.
    fn to_polars(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }
    /// A `pyarrow.Table`.
    fn to_arrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }
    /// A `pandas.DataFrame`, through pyarrow if it is there.
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        let pandas = py.import("pandas")?;
        if let Ok(pyarrow) = py.import("pyarrow") {
            return pyarrow.call_method1("table", (slf,))?.call_method0("to_pandas");
        }
        let table = slf.get();
        let columns = PyDict::new(py);
        for column in table.frame.columns() {
            columns.set_item(&column.name, values(py, &column.values)?)?;
        }
        pandas.call_method1("DataFrame", (columns,))
    }
    /// Arrow's capsule of the columns' types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        refuse_fork()?;
        PyCapsule::new_with_value(py, ArrowSchema::of(&self.frame), c"arrow_schema")
    }
    /// Arrow's capsule of the rows; another schema than the table's own is not made.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        refuse_fork()?;
        PyCapsule::new_with_value(py, ArrowStream::of(Arc::clone(&self.frame)), c"arrow_array_stream")
    }
    fn __repr__(&self) -> String {
        format!("<loadline.Table: {} rows, {} columns>", self.frame.rows(), self.frame.columns().len())
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.frame == other.frame
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = short(py, || Ok(bytes_of(&self.frame)))?;
        Ok((py.import("loadline._loadline")?.getattr("table_from_bytes")?, (PyBytes::new(py, &bytes),)))
    }
}

/// A table out of what `pickle` keeps of it.
#[pyfunction]
pub(crate) fn table_from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<PythonTable> {
    let found = short(py, || Ok(frame_of(bytes)))?;
    found.map(PythonTable::of).ok_or_else(|| crate::errors::Error::new_err("these bytes are no table of loadline"))
}

/// The rows of all these tables, one after the other.
#[pyfunction]
pub(crate) fn join_tables(py: Python<'_>, tables: Vec<PyRef<'_, PythonTable>>) -> PyResult<PythonTable> {
    let frames: Vec<Arc<Frame>> = tables.iter().map(|table| Arc::clone(&table.frame)).collect();
    short(py, || {
        let mut all = Frame::default();
        for frame in &frames {
            all.append((**frame).clone());
        }
        Ok(PythonTable::of(all))
    })
}
