//! Loads, processes and volumes beside the one that is judged.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use crate::{CeilingSource, RateFigure};
use serde::{Deserialize, Serialize};

/// What is seen of those beside a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BesideFact {
    /// Others used the devices as well; `process` was the busiest.
    Others { share: f64, others_iops: f64, rate_iops: f64, process: Option<String> },
    /// Both together come to one level.
    OneLevelTogether { rate_iops: f64 },
    /// What the limit is if theirs is the same.
    SameLimit { rate_iops: f64 },
    /// What limits the load beside them is not known.
    OthersHide,
    /// What loads of the run took of a limit together.
    Together { share: f64, limit_iops: f64, beside: Vec<LoadShare>, all_share: f64, limit: LimitShown },
    /// One request at a time beside others.
    SingleBeside { latency_ns: f64, beside: Vec<LoadRate> },
    /// Loads had together what each of them had by itself.
    SumAsAlone { sum_iops: f64, alone_iops: f64, beside: Vec<LoadRate> },
    /// Which limit loads share does not show.
    RanBeside { beside: Vec<LoadRate> },
}

/// What a load took of a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadShare {
    /// The load.
    pub load: String,
    /// Of the limit.
    pub share: f64,
}

/// A load and its rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRate {
    /// The load.
    pub load: String,
    /// Requests per second.
    pub rate_iops: Option<f64>,
}

/// Where a limit that loads share is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitShown {
    /// It is declared.
    Declared(CeilingSource),
    /// A load had it that ran by itself.
    ByItself { load: String },
}

/// What each device of a volume did of a level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelOnEach {
    /// On each.
    pub level: RateFigure,
    /// Devices of the volume.
    pub devices: u64,
}

/// What is known of devices of volumes with one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DevicesAlike {
    /// Requests wait above them.
    WaitAbove,
    /// They are of one kind.
    OneKind,
    /// Nothing.
    Unknown,
}
