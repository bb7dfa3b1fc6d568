//! Runs of several hosts that loaded one storage together: merged into one record, and what their shares tell.

mod clocks;
mod evidence;
mod merging;
mod time_line;
pub(crate) mod view;

pub use clocks::{ClockExchange, ClockReading, ClockState, clock_at};
pub(crate) use evidence::hosts_view;
pub use merging::{ClockOffset, HostRun, MergeError, merge_hosts};
pub use view::{HostView, HostsView, Straggler};
