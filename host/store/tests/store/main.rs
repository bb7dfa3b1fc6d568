//! The store from outside: round trips, files of other programs, and processes that die.

mod arbitrary;
mod damage;
mod files;
mod kept;
mod made;
mod processes;
mod rules;
