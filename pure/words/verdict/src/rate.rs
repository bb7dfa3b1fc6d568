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

impl Rate {
    /// Of another amount.
    #[must_use]
    pub fn map(self, amount: impl FnOnce(f64) -> f64) -> Self {
        match self {
            Self::Iops(iops) => Self::Iops(amount(iops)),
            Self::BytesPerS(bytes) => Self::BytesPerS(amount(bytes)),
        }
    }
}
