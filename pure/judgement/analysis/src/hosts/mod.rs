//! Runs of several hosts that loaded one storage together: merged into one record, and what their shares tell.

mod belonging;
mod clocks;
mod evidence;
mod merging;
mod scaling;
mod steps;
mod time_line;
pub(crate) mod view;

pub use belonging::MergeError;
pub use clocks::{ClockExchange, ClockReading, ClockState, clock_at};
pub(crate) use evidence::hosts_view;
pub use merging::{ClockOffset, HostRun, merge_hosts};
pub(crate) use scaling::hosts_scaling;
pub use steps::name_on_hosts;
pub use view::{HostView, HostsLimit, HostsPoint, HostsScaling, HostsView, Straggler, StragglerSeen};
