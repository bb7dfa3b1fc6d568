//! What a model knows of the requests that it answered.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use crate::{CeilingSource, Limit, LoadShare, Stage, ThrottledQuantity};
use serde::{Deserialize, Serialize};

/// What a model knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelFact {
    /// Where requests waited, and what of all waiting that was.
    Waited { most: WaitedShare, each: WaitedEach, source: Option<CeilingSource>, beside: Vec<WaitedShare> },
    /// Requests follow on each other under a head, as fast as they pass by.
    PassesByHead { source: CeilingSource },
    /// No limit held them: their own latency, or the mechanics of a disk.
    ModelledLatency { depth: Option<u64>, latency_ns: f64, rate_iops: f64, waited: WaitedBeside },
    /// Other volumes waited for the same budget.
    VolumesWaited { volumes: Vec<String> },
    /// Loads on the same volume took of the limit, too.
    LimitShared { own_share: f64, others: Vec<LoadShare> },
    /// In others of so many trials other limits bound.
    DrawsDiffer { trials: u64, others: Vec<LimitDraws> },
    /// What the time of an application's requests went to.
    Account { reason: Option<AccountReason>, shares: Vec<TimeHeld> },
    /// Nothing was answered for so long, the longest of so many times.
    NothingAnswered { lasting_ns: u64, from_ns: u64, times: u64 },
}

/// A place at which requests wait, and for what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitPlace {
    /// Where.
    pub stage: Stage,
    /// What is counted there.
    pub counted: ThrottledQuantity,
    /// Whether credits were spent.
    pub credits_spent: bool,
}

/// A place with its share of all waiting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WaitedShare {
    /// Where.
    pub at: WaitPlace,
    /// Of all waiting.
    pub share: f64,
    /// Nearly all of it before or after a burst's end.
    pub burst: Option<BurstSide>,
}

/// The side of a burst's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstSide {
    /// Before so much of the time.
    BeforeNs(u64),
    /// After it.
    AfterNs(u64),
}

/// How long each request waited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitedEach {
    /// Most waited beyond the end: the run is shorter than its queue takes.
    BeyondTheEnd { depth: u64, rate_iops: f64 },
    /// So much of what it took.
    Of { waited_ns: f64, latency_ns: f64 },
}

/// What was beside the requests' own time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitedBeside {
    /// The mechanics of a spinning disk.
    Mechanics,
    /// None waited.
    Nothing,
    /// This share of it was waiting.
    Share(f64),
}

/// In how many trials a limit bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitDraws {
    /// Its name.
    pub limit: Limit,
    /// Trials.
    pub trials: u64,
}

/// Why no limit is named by an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccountReason {
    /// For half of the time or more nothing was asked for.
    LittleAsked,
    /// Faults that were made on purpose held it.
    Faults,
}

/// A share of time, and the name of what held it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimeHeld {
    /// "disk-iops", "idle".
    pub by: String,
    /// Of the time.
    pub share: f64,
}
