//! Up to which load a latency is kept.

use super::seen::InFlight;
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::DoubtCode;
use serde::{Deserialize, Serialize};

/// A latency to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveRule {
    /// Of which figure.
    pub figure: LatencyFigure,
    /// At most, ns.
    pub limit_ns: u64,
    /// Whether the user set it; otherwise it is what database vendors commonly recommend.
    pub chosen: bool,
}

/// Where the loads of a curve lose an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveSeen {
    /// The load's name.
    pub load: String,
    /// The objective.
    pub objective: ObjectiveRule,
    /// Where.
    pub turn: ObjectiveTurn,
    /// Lighter loads that missed it: more load cannot have mended what less load suffered from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<StrayLoad>,
    /// What a search found of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchedTurn>,
    /// Of what the shares in the names of the loads are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<SharesOfAnother>,
    /// Doubts of the loads that it rests on.
    pub doubts: Vec<DoubtCode>,
}

/// Where an objective is lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ObjectiveTurn {
    /// Between two depths.
    BetweenDepths {
        /// The deepest that keeps it.
        kept: DepthResult,
        /// The next, which does not.
        lost: DepthResult,
        /// Requests in flight that take as long as it allows, where the rate is level at both.
        level_in_flight: Option<f64>,
    },
    /// Not even the shallowest depth keeps it.
    MissedAtDepths {
        /// The shallowest.
        lost: DepthResult,
    },
    /// The deepest keeps it.
    KeptAtDeepest {
        /// The deepest.
        kept: DepthResult,
    },
    /// Between two rates.
    BetweenRates {
        /// The highest that keeps it.
        kept: ArrivalsResult,
        /// The next, which does not.
        lost: ArrivalsResult,
    },
    /// Not even the lowest rate keeps it.
    MissedAtRates {
        /// The lowest.
        lost: ArrivalsResult,
    },
    /// The highest rate keeps it.
    KeptAtHighest {
        /// The highest.
        kept: ArrivalsResult,
    },
}

/// What a depth came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DepthResult {
    /// Requests in flight.
    pub in_flight: InFlight,
    /// The objective's figure, ns.
    pub latency_ns: f64,
    /// Of which operation it is, where there are several.
    pub operation: Option<Operation>,
    /// Requests per second that last.
    pub iops: f64,
    /// Requests per second before, and for how long, ns; the latter missing where the load ended before.
    pub before: Option<(f64, Option<u64>)>,
}

/// What a rate of arrivals came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsResult {
    /// Arrivals per second.
    pub offered_iops: f64,
    /// The most that can be had, requests per second.
    pub most_iops: f64,
    /// Whether rates level off there; otherwise it is the most that was seen.
    pub is_level: bool,
    /// The objective's figure, ns.
    pub latency_ns: Option<f64>,
    /// The share of the arrivals that was answered in time.
    pub answered: f64,
}

/// A load that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriedLoad {
    /// A closed loop.
    InFlight(InFlight),
    /// Arrivals per second.
    OfferedIops(f64),
}

/// A lighter load that missed an objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StrayLoad {
    /// The load.
    pub load: TriedLoad,
    /// Where its latency keeps it: what it misses it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<UnansweredShare>,
}

/// An objective that is not missed by latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UnansweredShare {
    /// The objective's figure, ns.
    pub latency_ns: f64,
    /// The share of the arrivals that was answered in time.
    pub answered: f64,
}

/// Between which loads a search knows the turn to lie, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchedTurn {
    /// The heaviest that surely keeps it.
    pub kept: Option<TriedLoad>,
    /// The lightest that surely loses it.
    pub lost: Option<TriedLoad>,
    /// Of a model: in how many draws of it the heaviest load keeps it.
    pub draws: Option<SearchDraws>,
}

/// Draws of a model that keep an objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchDraws {
    /// The heaviest load tried.
    pub load: TriedLoad,
    /// So many draws keep it there.
    pub kept: usize,
    /// Of so many.
    pub of: usize,
    /// The heaviest load at which all keep it.
    pub all_keep: Option<TriedLoad>,
}

/// The shares in the names of loads are of a rate that was reached before the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharesOfAnother {
    /// Requests per second reached before.
    pub before_iops: f64,
    /// Requests per second that the run reached.
    pub reached_iops: f64,
}

/// A load that keeps an objective as far as was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeptLoad {
    /// A closed loop.
    Closed {
        /// Its name.
        load: String,
        /// The deepest.
        deepest: DepthResult,
    },
    /// An open one.
    Open {
        /// Its name.
        load: String,
        /// The highest rate.
        highest: ArrivalsResult,
        /// Of what the shares in the names of the loads are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shares: Option<SharesOfAnother>,
    },
}
