//! The extension module of the Python package `loadline`: thin objects over the library, no figure of its own.
//!
//! Long calls give up the interpreter's lock and look for Ctrl-C. An error is a typed exception, a panic as well. Tables leave through
//! Arrow's C interface without a copy.

mod arrow;
mod calls;
mod emulation;
mod errors;
mod frame_bytes;
mod run;
mod store;
mod table;
mod verbs;

use pyo3::prelude::*;

/// The extension module.
#[pymodule(gil_used = false)]
mod _loadline {
    #[pymodule_export]
    use crate::emulation::PythonEmulation;
    #[pymodule_export]
    use crate::errors::{Bug, Error, Forked, Refused};
    #[pymodule_export]
    use crate::run::{
        PythonAdvice, PythonComparison, PythonRun, advice_from_text, comparison_from_text, run_from_text,
    };
    #[pymodule_export]
    use crate::store::PythonStore;
    #[pymodule_export]
    use crate::table::{PythonTable, join_tables, table_from_bytes};
    #[pymodule_export]
    use crate::verbs::{
        advise, advise_many, check_run, command, compare, environment_text, plan_text, predict, predict_many, read, run,
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::calls::note_process();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
