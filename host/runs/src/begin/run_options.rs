//! How a run is begun: all that has a default, the same for every kind of run.

use crate::{Error, NewRun, files::store_location};
use loadline_record::{Clock, RunVerb};
use std::path::PathBuf;

/// The name, the seed and the store of a run that is about to begin.
///
/// ```
/// let options = loadline_runs::RunOptions::default().named("before the move").seeded(1).stored_in("runs.db");
/// assert_eq!(options.seed, Some(1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// What to call it. By default it has the names of its plans and of its environment.
    pub name: Option<String>,
    /// The seed of every random choice. By default one is drawn.
    pub seed: Option<u64>,
    /// The store that keeps it, which is made where it is missing. By default it is the user's.
    pub store: Option<PathBuf>,
}

impl RunOptions {
    /// Calls the run so.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes every random choice by this seed.
    #[must_use]
    pub const fn seeded(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Keeps the run in this store.
    #[must_use]
    pub fn stored_in(mut self, store: impl Into<PathBuf>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// A run that begins now.
    #[must_use]
    pub fn new_run(&self, name: impl FnOnce() -> String, verb: RunVerb, clock: Clock) -> NewRun {
        NewRun::now(self.name.clone().unwrap_or_else(name), verb, clock, self.seed)
    }

    /// Where the run is kept.
    ///
    /// # Errors
    /// Nothing says where.
    pub fn store_path(&self) -> Result<PathBuf, Error> {
        store_location::store_path(self.store.as_deref())
    }
}
