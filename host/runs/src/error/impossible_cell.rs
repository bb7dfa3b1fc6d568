//! Cells that cannot be run where they are to be.

use crate::EngineError;

/// A cell that cannot be run.
#[derive(Debug)]
pub struct ImpossibleCell {
    /// For people.
    pub label: String,
    /// The engine's reason.
    pub why: EngineError,
}
