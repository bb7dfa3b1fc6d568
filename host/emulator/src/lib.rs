//! The disk model in real time: the volumes and disks of an environment as NBD exports, for programs that know nothing of
//! loadline.
//!
//! A client's thread reads its requests, keeps or clears contents at once, and hands the requests to the model under the
//! real clock. Answers that are due by then leave in the same turn; for the others an alarm is set, and one thread delivers
//! them when it goes off. When a request completes follows from the model alone; how late its answer left is counted.

mod answer;
mod arriving;
mod attach;
mod changing;
mod clock;
mod connection;
mod contents;
mod control;
mod descriptors;
mod driver;
mod emulation;
mod export;
mod haste;
mod lead;
mod listening;
mod made;
mod meter;
mod metrics;
mod outgoing;
mod pace;
mod refusal;
mod serving;
mod store;
mod tls;
mod trace_file;
mod view;

pub use attach::{
    ATTACHED_IN_FLIGHT_MAX, AttachError, AttachedDevice, AttachedDeviceMaking, BlockDevice, BlockDeviceError,
    BlockDeviceMaking, Links, Released, UblkDevice, detach, ublk_is_here,
};
pub use changing::{ChangeFailure, Changed};
pub use connection::{IN_FLIGHT_BYTES_MAX, IN_FLIGHT_MAX, NEGOTIATION_MAX};
pub use contents::ContentsState;
pub use control::{
    CONTROL_CONNECTIONS_MAX, CONTROL_LINE_MAX, ControlAnswer, ControlRequest, NumberedFault, ask_control, parse_control,
};
pub use emulation::{Backing, Emulation, EmulationError, Settings};
pub use listening::ListenError;
pub use loadline_kernel::scheduling::Turns;
pub use meter::{Figures, OperationFigures};
pub use metrics::SCRAPES_MAX;
pub use refusal::{Peer, REFUSALS_MAX, Reason, RefusalRemedy, Refused};
pub use serving::CONNECTIONS_MAX;
pub use store::FolderError;
pub use store::Losses;
pub use tls::{Tls, TlsError};
pub use trace_file::TraceSettings;
pub use view::{ExportView, View};
