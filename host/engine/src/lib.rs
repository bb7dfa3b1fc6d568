//! Our load on a real device.
//!
//! A [`Volume`] is opened once per run, under the safety rules of `docs/safety.md`; [`run_trial`] puts one load on it and
//! gives back what was measured together with what happened around it.

mod control;
mod options;
pub mod target;

pub use control::{Control, Phase, Progress};
pub use options::{EngineChoice, EngineOptions};
pub use target::{Access, TargetError, Volume};
