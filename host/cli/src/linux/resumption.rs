//! Runs that are carried on with, a crawl among them.

use crate::crawl::document_reader;
use loadline_runs::{Error, Observer, RunOutcome, StoredRun};

/// Carries on with a run, whatever kind it is.
///
/// # Errors
/// As of `loadline_crawl::resume`.
pub(crate) fn carry_on(run: StoredRun, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
    loadline_crawl::resume(run, document_reader(), observer)
}
