//! Long calls: without the interpreter's lock, stopped by Ctrl-C, and no panic gets out.

use crate::errors::{Bug, Forked};
use loadline_runs::{Concern, Consent, Observer};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often signals are looked for: a run needs some time of its own to end after one.
const LOOK: Duration = Duration::from_millis(10);
/// The process that imported the package.
static IMPORTED_BY: AtomicU32 = AtomicU32::new(0);

/// Notes which process imports the package.
pub(crate) fn note_process() {
    IMPORTED_BY.store(std::process::id(), Ordering::Relaxed);
}

/// Refuses a process that was forked after the import: it has none of the threads and locks, and shares the open stores.
pub(crate) fn refuse_fork() -> PyResult<()> {
    if IMPORTED_BY.load(Ordering::Relaxed) == std::process::id() {
        return Ok(());
    }
    Err(Forked::new_err(
        "this process was forked after loadline was imported, and shares its files and locks with the other; start workers \
         with multiprocessing.get_context(\"spawn\"), or import loadline in the worker",
    ))
}

/// What signals that arrived have to say: an interrupt is `KeyboardInterrupt`.
fn signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Runs `work` on a thread of its own while this one looks for signals. An interrupt raises the flag and waits for the end, since what
/// is under way must be cleaned up.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> PyResult<T> + Send,
) -> PyResult<T> {
    refuse_fork()?;
    let stop = Arc::new(AtomicBool::new(false));
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, ended) = sync_channel(1);
            let flag = Arc::clone(&stop);
            let thread = scope.spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(&flag)));
                // The receiver waits until then.
                let _ = done.send(());
                result
            });
            let mut interrupt = None;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Err(signal) = Python::attach(signals) {
                    stop.store(true, Ordering::Relaxed);
                    interrupt.get_or_insert(signal);
                }
            }
            let result = thread.join().unwrap_or_else(Err);
            match interrupt {
                Some(signal) => Err(signal),
                None => result.unwrap_or_else(|panic| Err(bug(&*panic))),
            }
        })
    })
}

/// Runs `work`, which changes nothing outside itself, on a thread that is left alone after an interrupt.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    refuse_fork()?;
    py.detach(|| {
        let (done, ended) = sync_channel(1);
        std::thread::spawn(move || {
            // Nobody listens after an interrupt.
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        });
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(result) => return result.unwrap_or_else(|panic| Err(bug(&*panic))),
                Err(RecvTimeoutError::Timeout) => Python::attach(signals)?,
                Err(RecvTimeoutError::Disconnected) => return Err(Bug::new_err("a thread ended without an answer")),
            }
        }
    })
}

/// Runs short `work` without the lock.
pub(crate) fn short<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    refuse_fork()?;
    py.detach(|| catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(bug(&*panic))))
}

fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Bug::new_err(format!("a mistake in loadline: {}", words.unwrap_or("it panicked without a word")))
}

/// Follows a run of the package: shows nothing, ends with the flag.
pub(crate) struct Follower {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) agrees: bool,
}

impl Observer for Follower {
    fn consents(&mut self, _: &Concern) -> Consent {
        if self.agrees { Consent::Given } else { Consent::NotAsked }
    }
    fn wants_an_end(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
