//! What this machine can do, and what would spoil a measurement on it.

mod machine;
mod target;

pub use machine::{check_engines, check_machine};
pub use target::check_target;

/// How a thing looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suitability {
    /// Would spoil a measurement, or keep it from being made.
    Trouble,
    /// To be known when figures are read.
    Note,
    /// As it should be.
    Good,
}

impl Suitability {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Trouble => "trouble",
        }
    }
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineCheck {
    /// What was looked at.
    pub what: String,
    /// How it looks.
    pub verdict: Suitability,
    /// What was seen, and what to do.
    pub detail: String,
}

impl MachineCheck {
    /// A thing, as it was seen.
    pub fn new(what: impl Into<String>, verdict: Suitability, detail: impl Into<String>) -> Self {
        Self { what: what.into(), verdict, detail: detail.into() }
    }
    /// What is good where it is there, and looks like `bad` otherwise.
    #[must_use]
    pub fn good_or(what: &str, result: Result<String, String>, bad: Suitability) -> Self {
        match result {
            Ok(detail) => Self::new(what, Suitability::Good, detail),
            Err(detail) => Self::new(what, bad, detail),
        }
    }
}
