//! The exceptions of the package.

use loadline_command::library::{CommandError, nothing_done};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};

create_exception!(
    loadline,
    Error,
    PyException,
    "What failed: the text names what was attempted, on what, and why not."
);
create_exception!(
    loadline,
    Refused,
    Error,
    "Nothing was done: something that was asked for contradicts itself, is not safe or is not there."
);
create_exception!(loadline, Forked, Error, "The process was forked after loadline was imported.");
create_exception!(loadline, Bug, Error, "A mistake in loadline itself.");

/// The exit status of what the user stopped.
const STOPPED: u8 = 130;

/// The exception for what a verb answered.
pub(crate) fn exception(error: CommandError) -> PyErr {
    match error.status {
        STOPPED => PyKeyboardInterrupt::new_err(error.words),
        _ if error.nothing_done => Refused::new_err(error.words),
        _ => Error::new_err(error.words),
    }
}

/// The exception for any other error: `Refused` if nothing was done before it. With its causes.
pub(crate) fn failed(error: &(dyn std::error::Error + 'static)) -> PyErr {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(of) = cause {
        let more = of.to_string();
        if !words.contains(&more) {
            words += ": ";
            words += &more;
        }
        cause = of.source();
    }
    if nothing_done(error) { Refused::new_err(words) } else { Error::new_err(words) }
}
