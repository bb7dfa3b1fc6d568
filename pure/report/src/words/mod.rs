//! Sentences of what is judged. Nothing else in the house makes one, and nothing reads one.

pub mod advice;
mod application;
mod ceiling;
pub(crate) mod certainty;
pub mod checkup;
pub mod clocks;
pub(crate) mod comparison;
mod conclusion;
pub mod crawl;
pub(crate) mod disks;
mod doubt;
pub mod emulation;
pub(crate) mod evidence;
pub(crate) mod finding;
pub mod fit;
pub(crate) mod held_limits;
pub(crate) mod hosts;
pub mod hunt;
pub mod imports;
mod limit;
mod limit_source;
mod model;
pub mod price_update;
mod prices;
#[cfg(feature = "shelter")]
pub mod shelter;
mod step;
pub mod sweep;
pub(crate) mod throttle;
pub mod trace;
pub(crate) mod verdict;
pub(crate) mod watch;

pub use ceiling::ceiling_source;
pub use comparison::{note, undecided};
pub use conclusion::{meaning, next, reached};
pub use doubt::{TRACE_CUT_SHORT, doubt_detail};
pub use evidence::evidence;
pub use finding::finding;
pub(crate) use finding::how_long;
pub use limit_source::limit_source;
pub use prices::price_problem;
pub use throttle::standing;
pub use verdict::holder;

/// Of more loads than this the rest is only counted, where a sentence lists them.
const NAMED_MAX: usize = 4;
