//! Our load on a real device.
//!
//! A [`Volume`] is opened once per run, under the safety rules of `docs/safety.md`; [`run_trial`] puts one load on it and
//! gives back what was measured together with what happened around it.

mod backend;
mod buffers;
mod choose;
mod control;
mod drive;
mod error;
mod nbd;
mod remedy;
mod surroundings;
pub mod target;
mod verify;

pub use choose::{Capabilities, capabilities};
pub use control::{Control, LoadCounts, Phase, Progress};
pub use drive::{
    FillReport, Filling, Ground, LoadOnVolume, RECORDED_LENGTH_MAX, RecordedAnswer, RecordedIo, RecordedRun,
    RecordedSource, Settled, check, fill, replay_recorded, run_together, run_trial, settle, verify_only, wait_until,
};
pub use error::EngineError;
pub use loadline_record::{EngineChoice, EngineOptions, WaitMode};
pub use remedy::Remedy;
pub use surroundings::Observation;
pub use target::{Access, Keep, Need, TargetError, Volume};
pub use verify::Past;
