//! Runs in the words of other tools: as fio would have told them, and as OpenMetrics.
//!
//! Doubts go with their figures in every form, and what a form has no word for is said rather than left out.

pub mod fio;
mod openmetrics;

pub use openmetrics::openmetrics;
