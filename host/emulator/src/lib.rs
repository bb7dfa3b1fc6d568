//! The disk model in real time: the volumes and disks of an environment as NBD exports, for programs that know nothing of
//! loadline.
//!
//! A client's thread reads its requests, keeps or clears contents at once, and hands the requests to the model under the
//! real clock. Answers that are due by then leave in the same turn; for the others an alarm is set, and one thread delivers
//! them when it goes off. When a request completes follows from the model alone; how late its answer left is counted.

mod answer;
mod attach;
mod clock;
mod connection;
mod contents;
mod driver;
mod emulation;
mod export;
mod listening;
mod made;
mod meter;
mod outgoing;
pub mod protocol;
mod serving;
mod store;
mod trace;

pub use attach::{ATTACHED_IN_FLIGHT_MAX, AttachError, BlockDevice, BlockDeviceError, detach};
pub use connection::{IN_FLIGHT_MAX, NEGOTIATION_MAX};
pub use emulation::{Backing, Emulation, EmulationError, Settings};
pub use listening::ListenError;
pub use meter::{Active, Figures, OperationFigures};
pub use serving::CONNECTIONS_MAX;
pub use store::FolderError;
pub use trace::{Record, Trace, TraceError, TraceSettings, replay};
