//! Block devices whose requests a program answers (ublk): the driver's control device, and queues of requests.
//!
//! Commands go through `io_uring`, which takes memory by its address; here is what is unsafe about it, behind calls that are not.

mod control;
mod layout;
mod queue;

pub use control::{Control, UblkError};
pub use layout::{Information, Operation, Parameters, Request, bytes_at};
pub use queue::{Queue, State};
