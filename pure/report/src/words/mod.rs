//! Sentences of what is judged. Nothing else in the house makes one, and nothing reads one.

pub mod advice;
pub(crate) mod certainty;
pub(crate) mod comparison;
pub mod crawl;
mod doubt;
pub(crate) mod evidence;
pub(crate) mod finding;
pub(crate) mod hosts;
pub mod hunt;
mod limit;
mod limit_source;
mod model;
pub(crate) mod verdict;
pub(crate) mod watch;

pub use comparison::{note, undecided};
pub use doubt::{TRACE_CUT_SHORT, doubt_detail};
pub use evidence::evidence;
pub use finding::finding;
pub use limit_source::limit_source;
pub use loadline_analysis::ceiling_source;
pub use verdict::{holder, stop};
