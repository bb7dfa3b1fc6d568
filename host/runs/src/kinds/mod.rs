//! One file for each kind of run, and how a stored one is carried on.

pub(crate) mod application;
pub(crate) mod hunt;
pub(crate) mod objective_search;
pub(crate) mod prediction;
pub(crate) mod record_settings;
pub(crate) mod repeated;
pub mod replay_run;
pub(crate) mod stored_run;
pub(crate) mod stored_watch;
