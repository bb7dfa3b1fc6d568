//! What the kernel's block events show, joined into requests.
//!
//! Bytes of a ring buffer go in ([`page`]), events come out ([`event`]), and [`Join`] puts the arrival, the submission and the
//! completion of each request together. Nothing here reads a file or a clock.

mod clusters;
pub mod event;
pub mod formats;
mod join;
pub mod page;

pub use clusters::{AnswerClusters, clusters};
pub use join::{Join, JoinCounts, Stacking};
