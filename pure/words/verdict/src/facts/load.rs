//! What a load asks for by itself: its offer, its depth, its think time, its flushes.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use crate::Doubt;
use serde::{Deserialize, Serialize};

/// What is seen of a load by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LoadFact {
    /// So many of the arrivals that it offers were completed.
    Offered(Asked),
    /// So many of those that its own ceiling allows were completed.
    OwnCeiling(Asked),
    /// Less than was offered was completed, and no cell shows why.
    UnmetWithoutCause { share: f64 },
    /// It waits by its own will.
    Paced,
    /// Its rate grows less than the depth does, and did not level off.
    GrowsLess,
    /// It was measured at one depth.
    OneDepth,
    /// One request at a time makes this rate; deeper, where it was measured.
    SingleRequests { latency_ns: f64, rate_iops: f64, deeper: Option<DepthRate> },
    /// The rate still grows with the depth.
    GrowsWithDepth { depth: u64, latency_ns: f64, from: DepthRate, to: DepthRate },
    /// Depth over latency is the rate.
    OwnTime { depth: u64, latency_ns: f64, rate_iops: f64, shown: OwnTimeShown },
    /// Twice the depth would make twice the rate.
    TwiceAsMany { depth: u64 },
    /// Nearly all of its time is think time.
    Thinks { share: f64, depth: f64, think_ns: f64, asked_iops: f64, rate_iops: f64 },
    /// Most of its time is think time; where fewer are outstanding, requests take less.
    ThinksAndWaits {
        share: f64,
        depth: f64,
        think_ns: f64,
        latency_ns: f64,
        fewer_ns: Option<f64>,
        asked_iops: f64,
        rate_iops: f64,
    },
    /// Its requests' own latency is the larger part of its time.
    ThinksLess { share: f64, depth: f64, think_ns: f64, latency_ns: f64, rate_iops: f64 },
    /// Think time takes this share of its time, and it comes to a limit all the same: the next fact.
    ThinksAtLimit { share: f64 },
    /// Of the time from one request to the next so much is its latency, as it was reported.
    ShareOfTurn { turn_ns: f64, latency_ns: f64 },
    /// By its rate and what its requests took it had fewer in flight than it may have.
    HeldItselfBack { in_flight: f64, depth: f64, latency_ns: f64, rate_iops: f64 },
    /// Flushes take this share of its time.
    Flushes { share: f64, flushes_per_s: f64, latency_ns: f64 },
    /// Flushes are this share of all that it asks; how long each takes is not known.
    FlushesCounted { share: f64, flushes_per_s: f64 },
    /// The devices wrote more requests than were asked.
    Amplified { written_iops: f64, asked_iops: f64, times: f64 },
    /// The target is nothing.
    NullTarget,
    /// Failures ended each trial.
    Failed { detail: String },
    /// A doubt about its figures says it.
    Doubted { doubt: Doubt },
}

/// What was asked for, and what was completed of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Requests per second that were asked for.
    pub asked_iops: f64,
    /// That were completed.
    pub completed_iops: f64,
}

/// The rate at a depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DepthRate {
    /// Requests outstanding.
    pub depth: u64,
    /// Requests per second.
    pub rate_iops: f64,
}

/// What shows beside a depth, a latency and the rate that they make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnTimeShown {
    /// Something counts them out, though no limit of other loads comes to this rate.
    CountedOut,
    /// They take longer the more there are: the device serves only so many at once.
    SoManyAtOnce,
    /// They take longer the more there are, and no limit explains the rate.
    TakeLonger,
    /// Nothing shows that they wait.
    NothingWaits,
}
