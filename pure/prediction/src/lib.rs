//! What a load would do on storage as sold: one trial for each plausible environment, the ceilings of the load on it, and
//! which of them binds, by where requests waited.
//!
//! The catalog knows some figures only as intervals. [`models`] takes an environment at several places within them, the
//! middle first; [`predict`] puts a load on one of these and gives the record that a measurement would, with what the model
//! knows beside it.

mod binding;
mod bursts;
mod ceilings;
mod demand;
mod latency;
mod models;
mod reach;
mod trial;
mod volumes;
mod words;

pub use bursts::BurstWatch;
pub use ceilings::{Ceilings, ceilings};
pub use models::{DRAWS_DEFAULT, DRAWS_MAX, Limits, Model, models};
pub use reach::{Held, held, unreached};
pub use trial::{
    Going, INTERVALS_MAX, Predicted, PredictionError, Progress, Putting, SIZE_DEFAULT, account, check, fit, for_draw,
    is_filled, predict, predict_together,
};
pub use volumes::{VolumeUnknown, volume_facts, volume_names};
