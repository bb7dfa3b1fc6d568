//! A stored run, to be carried on with: what kind it is, and how it goes on.

use crate::{
    Ended, Error, HostsRefusal, Observer, Refusal, RunOutcome, RunStore, kinds::hunt, kinds::objective_search,
    kinds::prediction, measurement,
};
use loadline_record::{Clock, RunRecord, RunStatus, RunVerb};
use loadline_store::{Claim, Store};

/// A run that this process has claimed.
#[derive(Debug)]
pub struct StoredRun {
    store: Store,
    claim: Claim,
    record: RunRecord,
}

/// What kind of run it is, by what it does when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Plans on targets.
    Measurement,
    /// Plans on models.
    Prediction,
    /// The deepest queue or the highest rate that keeps a latency.
    Search,
    /// One factor varied at a time.
    Hunt,
    /// An application on an emulated disk, which nobody can ask once more.
    Emulation,
    /// Runs of several hosts as one.
    Merged,
    /// Content sources into an index and a database.
    Crawl,
}

impl RunKind {
    /// Of a run.
    #[must_use]
    pub const fn of(record: &RunRecord) -> Self {
        match (&record.header.verb, record.header.clock) {
            (RunVerb::Hunt, _) => Self::Hunt,
            (RunVerb::Search, _) => Self::Search,
            (RunVerb::Emulate, _) => Self::Emulation,
            (RunVerb::Merge, _) => Self::Merged,
            (RunVerb::Crawl, _) => Self::Crawl,
            (_, Clock::Real) => Self::Measurement,
            (_, Clock::Virtual) => Self::Prediction,
        }
    }
}

/// Resumes a run that was interrupted or killed: finished trials are taken as they are, the others are carried out. `run`
/// is an id, the beginning of one, or what else the store knows a run by.
///
/// # Errors
/// No such run, or one that another process is at work on; see [`StoredRun::resume`].
pub fn resume(store: Store, run: &str, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
    StoredRun::claim(store, run)?.resume(observer)
}

impl StoredRun {
    /// The run, claimed for this process.
    ///
    /// # Errors
    /// No such run, or one that another process is at work on.
    pub fn claim(store: Store, run: &str) -> Result<Self, Error> {
        let id = store.resolve(run)?;
        let claim = store.claim(&id)?;
        let record = store.load(&id)?;
        Ok(Self { store, claim, record })
    }

    /// All that is stored of it.
    #[must_use]
    pub const fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.record.status == RunStatus::Finished
    }

    /// What kind of run it is.
    #[must_use]
    pub const fn kind(&self) -> RunKind {
        RunKind::of(&self.record)
    }

    /// What is stored of it, and the store that it is carried on with in, for a program with a load of its own.
    #[must_use]
    pub fn into_parts(self) -> (RunRecord, RunStore) {
        (self.record, RunStore::ready(self.store, self.claim))
    }

    /// Carries out what is left. A finished run is as it is. Crawls are resumed by `loadline-crawl`, which stands on this crate.
    ///
    /// # Errors
    /// A [`Refusal`] of an emulation or a crawl; a run of another version; targets that are not what they were; what ended the run
    /// early.
    pub fn resume(self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        if self.is_finished() {
            return Ok(RunOutcome { record: self.record, ended: Ended::Complete });
        }
        let kind = self.kind();
        let Self { store, claim, record } = self;
        let store = RunStore::ready(store, claim);
        match kind {
            RunKind::Measurement => measurement::resume(&record, store, observer),
            RunKind::Prediction => prediction::resume(&record, store, observer),
            RunKind::Search => objective_search::resume(&record, store, observer),
            RunKind::Hunt => hunt::resume(&record, store, observer),
            RunKind::Merged => Err(Refusal::from(HostsRefusal::IsMerged { run: record.header.id }).into()),
            RunKind::Crawl => Err(Refusal::IsCrawl { run: record.header.id }.into()),
            RunKind::Emulation => Err(Refusal::IsEmulation { run: record.header.id }.into()),
        }
    }
}
