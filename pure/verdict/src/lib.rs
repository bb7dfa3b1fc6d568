//! What is judged, as values: the limit that binds, what was seen of it, how sure that is. `pure/report` makes sentences of them.

mod binding;
mod evidence;
mod limit;
mod rate;
mod throttle;
mod watch;

pub use binding::Binding;
pub use evidence::{Evidence, Fact, Written};
pub use limit::{Ceiling, Limit};
pub use rate::Rate;
pub use throttle::{EXCEEDED_MIN, KernelThrottle, THROTTLE_REACHED, ThrottledQuantity, ThrottledRequests};
pub use watch::{WatchCause, WatchFact, WatchGain, WatchedLoop};
