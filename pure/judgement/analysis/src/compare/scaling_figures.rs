//! How rates grow with the number of disks, in figures.

use super::figure::Figure;
use serde::{Deserialize, Serialize};

/// How rates grow with the number of disks. Closed loops only: an open loop's rate is asked for, not found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Disks of each side.
    pub disks: Vec<u32>,
    /// Cells that the baseline and at least one other side have.
    pub cells: Vec<ScalingCell>,
    /// All cells of each side together, by the overall verdict.
    pub overall: Vec<ScalingPoint>,
    /// What reads, writes and mixes reach at most, and where that levels off.
    pub totals: Vec<ScalingTotal>,
}

/// One cell over the numbers of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalingCell {
    /// The baseline's id.
    pub baseline_id: String,
    /// The load, for people.
    pub label: String,
    /// Requests per second on each side; `null` where it has none.
    pub iops: Vec<Option<f64>>,
    /// One for each side after the first that has the cell.
    pub points: Vec<ScalingPoint>,
    /// Whether a side is in doubt.
    pub doubted: bool,
}

/// A rate at some number of disks, against the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// Disks.
    pub disks: u32,
    /// Rate over the baseline's.
    pub ratio: f64,
    /// The ratio over that of linear scaling.
    pub efficiency: f64,
    /// Lower end of its 95 % interval.
    pub efficiency_low: Option<f64>,
    /// Upper end.
    pub efficiency_high: Option<f64>,
    /// What the disks brought.
    pub gain: Gain,
}

/// What more disks bring to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// A higher rate.
    Gains,
    /// A lower rate.
    Loses,
    /// The same rate, within the margin.
    Unchanged,
    /// Neither can be said.
    CannotTell,
}

impl Gain {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Gains => "gains",
            Self::Loses => "loses",
            Self::Unchanged => "unchanged",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// What a kind of load reaches at most: the cell that is best with the most disks, followed over all sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalingTotal {
    /// `read`, `write` or `mixed`.
    pub operations: String,
    /// Requests or bytes per second.
    pub figure: Figure,
    /// The load, for people.
    pub label: String,
    /// The figure on each side.
    pub values: Vec<f64>,
    /// From each number of disks to the next.
    pub steps: Vec<ScalingStep>,
    /// The number of disks beyond which no step brings half of linear scaling; `null` where the last does.
    pub levels_off_at: Option<u32>,
    /// Whether the intervals of those steps, or of the last step where it pays, leave no doubt about it.
    pub clear: bool,
    /// Loads of this kind that were left out because a side is in doubt.
    #[serde(default)]
    pub doubted_left_out: u32,
    /// Whether this load is in doubt itself: then all of its kind are.
    #[serde(default)]
    pub doubted: bool,
}

/// From one number of disks to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalingStep {
    /// From so many disks.
    pub from: u32,
    /// To so many.
    pub to: u32,
    /// The gain as a share of that of linear scaling: 1 for all of it, 0 for nothing.
    pub share: f64,
    /// Lower end of its 95 % interval.
    pub share_low: Option<f64>,
    /// Upper end.
    pub share_high: Option<f64>,
}
