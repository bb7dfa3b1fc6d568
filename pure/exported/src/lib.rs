//! Exports runs in the formats of other tools: fio's results and OpenMetrics.
//!
//! Doubts stand with their figures in every form. Facts without an equivalent are stated in words, not left out.

pub mod fio;
mod openmetrics;

pub use openmetrics::openmetrics;
