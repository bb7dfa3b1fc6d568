//! Trials: one loop carries them out at a place, judges them and keeps them.
//!
//! A [`TrialPlace`] carries out one round at a time and knows nothing of stores and doubts. [`MeasuredPlace`](crate::MeasuredPlace) has open
//! volumes, [`ModelledPlace`](crate::ModelledPlace) models. A remote rank or an application's load is one more. The [`TrialLoop`] does the
//! rest, the same for all of them.

pub(crate) mod frames;
mod hunted;
mod lanes;
mod place;
mod schedule;
mod searched;
mod trial_loop;
mod under_way;

pub use frames::RunFrames;
pub(crate) use hunted::measure_hunt;
pub use place::{NoTrial, TrialPlace, TrialRound};
pub use schedule::TrialSchedule;
pub(crate) use searched::answer_question;
pub use trial_loop::TrialLoop;
pub use under_way::RunUnderWay;
