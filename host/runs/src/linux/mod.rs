//! What is Linux's own: targets opened under the safety rules and loaded, watches, recordings and emulations, and what this machine is.

pub mod checkup;
mod data_folder;
mod device_frames;
pub mod emulation;
pub(crate) mod engine_watch;
mod feasibility;
mod hunted_volumes;
mod look_first;
pub(crate) mod measurement;
pub(crate) mod open_volumes;
pub(crate) mod output_place;
mod quick;
pub mod recognition;
pub mod recording;
pub(crate) mod sold_storage;
mod standing_settings;
mod start_instant;
pub(crate) mod storage_identity;
mod storage_replay;
mod verification;
mod volumes;
pub mod watch;

pub use feasibility::refusal_of;
pub use measurement::{Measurement, check_targets};
pub use quick::QuickMeasurement;
pub use storage_replay::{StorageReplay, StorageReplaySettings};
pub use verification::{VerifiedTrial, verify};

pub(crate) use data_folder::{NO_DATA_FOLDER, data_folder, make_private_folder, sync_folder};
pub(crate) use engine_watch::EngineWatch;
pub(crate) use feasibility::{Tried, refuse_impossible};
pub use loadline_emulator::{EmulationError, Refused, View};
pub use loadline_engine::{EngineError, Progress as EngineProgress, Remedy, TargetError};
pub(crate) use loadline_kernel::facts::host as host_facts;
pub(crate) use loadline_kernel::trace_instance::TraceFsError;
pub(crate) use look_first::{look_first, refuse_memory};
pub(crate) use measurement::{OpenedMeasurement, refuse_cells, work_of};
pub(crate) use volumes::MeasuredPlace;

/// Bytes of a page of memory.
#[expect(clippy::unnecessary_wraps, reason = "on other systems they are not known")]
pub(crate) fn page_bytes() -> Option<u64> {
    Some(loadline_kernel::system_calls::page_bytes())
}
