//! Predicts a load on cloud storage: one trial for each plausible environment, the load's ceilings on it, and its
//! limit, by where requests waited.
//!
//! The catalog has some figures only as intervals. [`models`] draws environments from them, the middle first.
//! [`predict`] runs a load on one of these and returns the record of a measurement, with the model's own knowledge
//! beside it.

mod binding;
mod bursts;
mod ceilings;
mod credits;
mod demand;
mod fluid;
mod initially;
mod latency;
mod models;
mod reach;
mod rows;
mod saving;
mod trial;
mod volume_limit;
mod volumes;

pub use bursts::BurstWatch;
pub use ceilings::{Ceilings, ceilings};
pub use credits::{CreditsReading, CreditsWatch};
pub use fluid::{FluidCourse, FluidPhase, fluid};
pub use initially::Initially;
pub use models::{DRAWS_DEFAULT, DRAWS_MAX, Limits, Model, models, most_plausible};
pub use reach::{EntryGroup, entry_groups, unreached};
pub use rows::{PredictionRow, RowFigures, RowMaker, SweepMethod};
pub use saving::{
    ApplicationLatency, Copying, Transfer, VolumeRate, application_latency, application_load, transfer_rate,
};
pub use trial::{
    Going, INTERVALS_MAX, Predicted, PredictionError, Progress, Putting, SIZE_DEFAULT, account, check, fit, for_draw,
    is_filled, predict, predict_together,
};
pub use volume_limit::{VolumeLimit, volume_limit};
pub use volumes::{VolumeUnknown, volume_facts, volume_names};
