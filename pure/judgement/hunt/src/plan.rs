//! What a hunt varies around which cell, as it is stored with the run.

use crate::factor::Factor;
use serde::{Deserialize, Serialize};

/// What a hunt does: stored with its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HuntPlan {
    /// Id of the cell around which everything is varied.
    pub baseline: String,
    /// What is varied, each in a cell of its own.
    pub variants: Vec<HuntVariant>,
    /// Effects that are no larger are none, as a share above 0.
    pub margin: f64,
    /// What is usually varied and cannot be here.
    #[serde(default)]
    pub not_tried: Vec<SkippedSetting>,
    /// Factors that there is nothing of to vary: a model has no engine, a single disk no interleave.
    #[serde(default)]
    pub lacks: Vec<Factor>,
    /// Factors that cannot be varied around this cell, whichever were asked for, with the reasons.
    #[serde(default)]
    pub fixed: Vec<SkippedSetting>,
}

impl HuntPlan {
    /// Whether another plan varies the same settings around the same cell. Reasons for what it skips may differ.
    #[must_use]
    pub fn varies_as(&self, other: &Self) -> bool {
        let is_skipped = |plan: &Self, one: &SkippedSetting| {
            plan.not_tried.iter().any(|other| other.factor == one.factor && other.to == one.to)
        };
        self.baseline == other.baseline
            && self.variants == other.variants
            && self.margin.to_bits() == other.margin.to_bits()
            && self.lacks == other.lacks
            && self.not_tried.iter().all(|one| is_skipped(other, one))
            && other.not_tried.iter().all(|one| is_skipped(self, one))
    }
}

/// A factor that nobody asked for by name, or a usual setting of one, that does not fit the cell or its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedSetting {
    /// What would have been varied.
    pub factor: Factor,
    /// To what; `null` where no setting is possible.
    pub to: Option<String>,
    /// Why not.
    pub because: String,
}

/// One setting of one factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HuntVariant {
    /// Id of its cell.
    pub cell: String,
    /// What is varied.
    pub factor: Factor,
    /// How it is in the baseline.
    pub from: String,
    /// And how in this cell.
    pub to: String,
}
