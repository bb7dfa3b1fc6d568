//! The questions of a page that computes in a browser, and their answers: what to buy, and what storage would do.
//!
//! A question is JSON, and so is its answer: a part of the page made by `loadline-report`, the command that gives the same in a
//! terminal, and what is wrong with fields. Figures come from the crates that the command asks; none is computed here.

mod buy;
mod command;
mod session;
mod storage;
#[cfg(test)]
mod tests;
mod text;

pub use session::{CatalogBundle, Session};
