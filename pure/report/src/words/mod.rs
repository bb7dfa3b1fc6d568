//! Sentences of what is judged. Nothing else in the house makes one, and nothing reads one.

pub(crate) mod certainty;
pub(crate) mod evidence;
pub(crate) mod finding;
mod watch;

pub use evidence::evidence;
pub use finding::finding;
