//! One factor at a time around a load: what moves its ceiling, what is ruled out, and which limits remain possible.
//!
//! 1. [`variations`] changes one property at a time: of the load, the layout of its volume, the virtual machine, or the
//!    way to the device. It serves any search for a better setup, and knows nothing of hunts.
//! 2. [`HuntDesign`] makes a cell of the baseline and of each variation, and the [`HuntPlan`] that is stored with a run.
//! 3. [`HuntRounds`] is asked which trial comes next, until the effect of every setting is decided.
//! 4. [`hunted`] turns the trials of the run into a [`HuntResult`]: an [`Effect`] for each setting, and a [`Suspect`] for
//!    each limit.

mod design;
mod effect;
mod factor;
mod plan;
mod result;
mod rounds;
mod step;
mod suspects;
mod vary;

pub use design::{HuntDesign, HuntLoad};
pub use effect::{Effect, HUNT_LOOKS, Judged, judge, round_log};
pub use factor::{Factor, IoEngine};
pub use plan::{HuntPlan, HuntVariant, SkippedSetting};
pub use result::{
    HUNT_SCHEMA, HuntCause, HuntEvidence, HuntInstead, HuntResult, HuntRow, HuntSetting, LeftToVary, NothingBound,
    Standing, Suspect, hunted,
};
pub use rounds::{HuntEnd, HuntLook, HuntRounds, NextTrial, PlannedTrial};
pub use step::HuntStep;
pub use vary::{Baseline, BaselineStorage, FactorRequest, Obstacle, Variation, Variations, VaryError, variations};
