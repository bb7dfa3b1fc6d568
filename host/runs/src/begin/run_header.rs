//! The header with which every run begins.

use crate::wall_clock::{self, fresh_seed, run_id};
use loadline_record::{Clock, HostFacts, RunHeader, RunVerb};
use loadline_units::Timestamp;

/// A run that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its id.
    pub id: String,
    /// What to call it.
    pub name: String,
    /// What makes it: `run`, `quick`, `predict`.
    pub verb: RunVerb,
    /// Which clock.
    pub clock: Clock,
    /// The seed of every random choice.
    pub seed: u64,
    /// When it begins.
    pub started: Timestamp,
}

impl NewRun {
    /// A run that begins now, with an id of its own. Without a seed, one is drawn.
    #[must_use]
    pub fn now(name: String, verb: RunVerb, clock: Clock, seed: Option<u64>) -> Self {
        let started = wall_clock::now();
        Self { id: run_id(started), name, verb, clock, seed: seed.unwrap_or_else(fresh_seed), started }
    }

    /// Its header, on this machine, without plans, environment, volumes and settings.
    #[must_use]
    pub fn header(&self) -> RunHeader {
        self.header_on(crate::host_facts())
    }

    /// The same of a run that was carried out on `host`.
    #[must_use]
    pub fn header_on(&self, host: HostFacts) -> RunHeader {
        RunHeader {
            id: self.id.clone(),
            name: self.name.clone(),
            verb: self.verb.clone(),
            clock: self.clock,
            started: self.started.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.seed,
            imported: None,
            host,
            plans: Vec::new(),
            environment: None,
            volumes: Vec::new(),
            settings: serde_json::Value::Null,
        }
    }
}
