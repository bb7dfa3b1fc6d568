//! The disk model in real time: the volumes and disks of an environment as NBD exports, for programs that know nothing of
//! loadline.
//!
//! A client's thread (`client`) reads its requests (`request_reader`), stores or clears contents at once (`contents`), and submits
//! the requests to the model under the real clock (`driver`). Answers that are due by then leave at once (`send_queue`). For the
//! others an alarm is set, and one thread delivers them when it goes off (`service`). When a request completes follows from the
//! model alone; how late its answer left is counted (`meter`).

mod answer;
mod attach;
mod changes;
mod client;
mod clients;
mod clock;
mod connection;
mod contents;
mod control;
mod descriptors;
mod disks;
mod driver;
mod early_send;
mod emulation;
mod export;
mod listener;
mod meter;
mod priority;
mod receive_buffer;
mod receive_policy;
mod refusal;
mod request_reader;
mod send_buffer;
mod send_queue;
mod service;
mod store;
mod tls;
mod trace_file;
mod view;

pub use attach::{
    ATTACHED_IN_FLIGHT_MAX, AttachError, AttachedDevice, AttachedDeviceMaking, BlockDevice, BlockDeviceError,
    BlockDeviceMaking, Links, Released, UblkDevice, detach, ublk_is_here,
};
pub use changes::{ChangeFailure, ChangeOutcome};
pub use clients::CONNECTIONS_MAX;
pub use connection::{IN_FLIGHT_BYTES_MAX, IN_FLIGHT_MAX};
pub use contents::ContentsState;
pub use control::{
    CONTROL_CONNECTIONS_MAX, CONTROL_LINE_MAX, ControlAnswer, ControlRequest, ask_control, parse_control,
};
pub use emulation::{Backing, Emulation, EmulationError, EmulationSettings};
pub use listener::{ListenError, Listener, Welcome, unix as listen_unix};
pub use loadline_kernel::scheduling::Turns;
pub use meter::{ExportFigures, OperationFigures};
pub use refusal::{NEGOTIATION_MAX, Peer, REFUSALS_MAX, Reason, RefusalRemedy, Refused};
pub use store::FolderError;
pub use store::Losses;
pub use tls::{Tls, TlsError};
pub use trace_file::TraceSettings;
pub use view::{ExportTotals, ExportView, NumberedFault, View};
