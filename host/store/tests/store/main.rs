//! The store from outside: round trips, files that are not ours, and processes that die.

mod arbitrary;
mod files;
mod made;
mod processes;
mod rules;
