//! The report over made-up runs: golden files, well-formedness, hostile texts, size.
#![allow(clippy::disallowed_methods, reason = "the tests read and write their golden files")]

mod advice;
mod best;
mod comparison;
mod comparison_schema;
mod conclusions;
mod doubts;
mod emulated;
mod figures;
mod findings;
mod folder;
mod golden;
mod hosts;
mod live;
mod made_up;
mod run_schema;
mod screen;
mod sentences;
mod side_by_side;
mod size;
mod told_apart;
mod trials;
mod well_formed;
