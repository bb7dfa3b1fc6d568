//! Results as programs read them: the values that were judged, and beside them the sentences for people.

mod run;

pub use run::{RunDocument, run_document};
