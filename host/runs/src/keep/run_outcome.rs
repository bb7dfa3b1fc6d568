//! How a run came to its end.

use crate::{Error, Loss};
use loadline_record::{RunRecord, RunStatus};

/// What a run left in the store when it came to its end.
#[derive(Debug)]
pub struct RunOutcome {
    /// All that is stored of it.
    pub record: RunRecord,
    /// Whether it is complete.
    pub ended: Ended,
}

/// How the execution ended.
#[derive(Debug)]
pub enum Ended {
    /// Every trial was run; how each of them ended is in its record.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// Trials are missing because going on made no sense.
    Broken {
        /// Volumes that stopped answering, each with how that shows.
        given_up: Vec<(String, Loss)>,
        /// Trials that the system did not let begin.
        not_started: Vec<Error>,
    },
}

impl Ended {
    /// Whether every trial was run.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self, Self::Complete)
    }
    /// How the run of these trials stands in the store.
    #[must_use]
    pub fn status(result: &Result<Self, Error>) -> RunStatus {
        match result {
            Ok(Self::Complete) => RunStatus::Finished,
            Ok(Self::Interrupted) => RunStatus::Interrupted,
            Ok(Self::Broken { .. }) | Err(_) => RunStatus::Failed,
        }
    }
}

/// What a run knew of its trials when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialsPlanned {
    /// Every one of them.
    All,
    /// The most that it would need: each is chosen by those before it.
    AtMost,
}
