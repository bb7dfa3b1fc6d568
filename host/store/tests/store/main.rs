//! The store from outside: round trips, files of other programs, and processes that die.

mod arbitrary;
mod damage;
mod files;
mod hours;
mod kept;
mod made;
mod processes;
mod rules;
mod tags;
