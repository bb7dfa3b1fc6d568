//! After a trial: the store of a run, how it ended, and files that it left.

pub mod leftovers;
pub(crate) mod pending_store;
pub(crate) mod run_outcome;
