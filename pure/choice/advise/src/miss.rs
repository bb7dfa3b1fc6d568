//! A choice that just misses a need: what it misses, by how much, and the change that would make it do.

use crate::advice::{Candidate, DiskChoice, LatencyRange, ReplayedFigures, ScenariosMet};
use serde::Serialize;

/// A choice that just misses.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    /// The choice.
    pub candidate: Candidate,
    /// What it misses.
    pub seen: Shortfall,
    /// By how much: 1.2 for 20 % too much asked, or the latency as a multiple of the objective.
    pub by: f64,
    /// The cheapest change that makes it meet the limits, and what the whole costs then.
    pub fix: Option<Fix>,
}

/// What a choice misses, with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Shortfall {
    /// The objective in some scenarios.
    Latency {
        /// Over the scenarios.
        latency_ns: LatencyRange,
        /// Those that keep it.
        scenarios: ScenariosMet,
    },
    /// The objective for the recorded requests; requests at random times keep it.
    RecordedLatency {
        /// What they would meet at best.
        replayed: ReplayedFigures,
    },
    /// The recorded requests come slower than they did, each after the answer that it waited for.
    RecordedPace {
        /// Over their recorded pace.
        pace: f64,
        /// What they would meet.
        replayed: ReplayedFigures,
    },
    /// More is asked of a limit than lasts.
    Limit {
        /// Its name: "disk-iops".
        limit: String,
        /// The share of it that is asked, above 1.
        used: f64,
        /// Whose it is: "each of 2 disks".
        of: String,
        /// Its figure: "5,000 IOPS".
        figure: String,
    },
    /// A part of a recorded time, at a limit.
    Time {
        /// That part, 0 to 1.
        short_share: f64,
        /// Whose limit it is.
        of: String,
        /// Its figure.
        figure: String,
    },
    /// A part of a recorded time, after a burst.
    Burst {
        /// That part, 0 to 1.
        short_share: f64,
        /// When the burst ends, from the start.
        ends_s: f64,
        /// Whose it is.
        of: String,
    },
}

impl Shortfall {
    /// What is missed, as in the JSON: a limit's name, "latency", "pace" or "time".
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Latency { .. } | Self::RecordedLatency { .. } => "latency",
            Self::RecordedPace { .. } => "pace",
            Self::Limit { limit, .. } => limit,
            Self::Time { .. } | Self::Burst { .. } => "time",
        }
    }
}

/// A change that makes a choice meet the need.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// What to change.
    pub change: FixChange,
    /// A month of the changed choice.
    pub amount: f64,
    /// Whether a part of that is an estimate.
    pub estimated: bool,
}

/// One part of a choice in place of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FixChange {
    /// Another machine for the same disks.
    Machine {
        /// The one that would do.
        to: String,
        /// The one of the choice.
        from: String,
    },
    /// Other disks on the same machine.
    Disks {
        /// Those that would do.
        to: DiskChoice,
        /// Those of the choice.
        from: DiskChoice,
    },
}
