//! How a rate went while it was measured.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use serde::{Deserialize, Serialize};

/// What is seen of the course of a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CourseFact {
    /// What was saved up was spent.
    BurstSpent { at_ns: u64, before_iops: f64, after_iops: f64, earlier: Vec<FallAt> },
    /// The rate fell, so much later than the load began.
    FellFrom { at_ns: u64, before_iops: f64 },
    /// The rate began higher: a bucket that was full, or a limit set anew.
    BeganHigher { at_ns: u64, before_iops: f64, after_iops: f64 },
    /// The rate rose from level to level.
    Rose { levels: Vec<RateHeld> },
    /// The device stood still for this share of the time; so much of what it asks for the load lacks.
    StoodStill { share: f64, lacks_share: Option<f64> },
    /// Reads got faster from trial to trial.
    GotFaster { trials: u64, first_iops: f64, last_iops: f64, share: f64 },
}

/// The rate before a fall, and when that was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FallAt {
    /// Requests per second.
    pub before_iops: f64,
    /// Since the load began.
    pub at_ns: u64,
}

/// A rate, and for how long it was held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateHeld {
    /// Requests per second.
    pub rate_iops: f64,
    /// For so long.
    pub length_ns: u64,
}
