//! A rate with what it counts.

use serde::{Deserialize, Serialize};

/// Requests or bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Requests per second.
    Iops(f64),
    /// Bytes per second.
    BytesPerS(f64),
}
