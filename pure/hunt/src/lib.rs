//! One factor at a time around a load: what moves its ceiling, what is ruled out, and which limits remain possible.
//!
//! A [`HuntPlan`] names the baseline and the settings that are varied. Each round tries the baseline and every setting
//! once. [`judge`] compares them round by round, and [`hunted`] turns a run's trials into a [`HuntResult`].

mod effect;
mod factor;
mod plan;
mod result;
mod suspects;

pub use effect::{Effect, HUNT_LOOKS, Judged, judge, round_log};
pub use factor::Factor;
pub use plan::{HuntPlan, HuntVariant, NotTried};
pub use result::{HUNT_SCHEMA, HuntResult, HuntRow, Standing, Suspect, hunted, nothing_bound};
