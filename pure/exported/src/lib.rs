//! Exports runs in the formats of other tools: fio's results, OpenMetrics, and what CI systems read.
//!
//! Doubts stand with their figures in every form. Facts without an equivalent are stated in words, not left out.

mod benchmarks;
pub mod fio;
mod junit;
mod openmetrics;

pub use benchmarks::{Improvement, benchmarks};
pub use junit::{JUNIT_MARK, junit};
pub use openmetrics::openmetrics;
