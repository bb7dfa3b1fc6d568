//! What follows from a run's figures, as values; `pure/report` makes the sentences.

mod code;
mod hosts;
mod objective;
mod seen;
mod watch;

pub use code::FindingCode;
pub use hosts::HostsTogether;
pub use objective::{
    ArrivalsResult, DepthResult, KeptLoad, ObjectiveRule, ObjectiveSeen, ObjectiveTurn, SearchDraws, SearchedTurn,
    SharesOfAnother, StrayLoad, TriedLoad, UnansweredShare,
};
pub use seen::{
    AloneLatency, CameTo, CellDoubts, DamageAt, DepthAndThreads, FindingSeen, FlushRule, InFlight, LoadAt, MostOf,
    PlateauLimit, PlateauSeen, RateCourse, RateStep, RiseSeen, StallsSeen, TogetherLatency, TogetherLoad, TrialLevels,
    TrialsApart,
};
pub use watch::{CeilingUse, DeviceMoves, EventsCost, WatchSeen};

use serde::{Deserialize, Serialize};

/// Something that follows from the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable code.
    pub code: FindingCode,
    /// The volume that it is about, where the run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// What was seen.
    pub seen: FindingSeen,
    /// Ids of the cells that it rests on.
    pub cells: Vec<String>,
}
