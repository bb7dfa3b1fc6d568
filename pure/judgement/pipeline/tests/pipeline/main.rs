//! The replay against closed forms and properties, what it names against known truth, and what changes bring.

mod against_ciw;
mod changes;
mod closed_forms;
mod known_truth;
mod made_up;
mod properties;
mod sampling;
mod two_crawls;
mod volumes;
