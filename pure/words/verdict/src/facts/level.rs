//! Levels: rates that more requests at once do not raise, and what they are limits of.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use super::load::Asked;
use crate::{RateFigure, ThrottledQuantity};
use serde::{Deserialize, Serialize};

/// What is seen of a level and of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LevelFact {
    /// The rate levels off; where the load offers arrivals, with what it offers.
    Plateau { rate_iops: f64, bytes_per_s: f64, from_depth: u64, offered: Option<Asked>, shown: LevelShown },
    /// Larger requests of the kind move more bytes, so that those are not what is limited.
    LargerMoveMore { load: String, bytes_per_s: f64 },
    /// No other block size levels off at the rate.
    NoOtherSize,
    /// It moves as many bytes as another load does at its level.
    BytesOfLevel { bytes_per_s: f64, load: String, level_bytes_per_s: f64 },
    /// It completes as many requests as another load does at its level, of which `shown` tells the kind.
    RequestsOfLevel { rate_iops: f64, load: String, level_iops: f64, shown: Option<KindShown> },
    /// Another block size moves as many bytes, though more or fewer are outstanding.
    EqualBytes { load: String, amount: String, bytes_per_s: f64, other_bytes: f64, own_bytes: f64 },
    /// Another block size completes as many requests, though more or fewer are outstanding.
    EqualRequests { load: String, amount: String, rate_iops: f64, other_depth: f64, own_depth: f64 },
    /// Reads and writes of this size have one rate, and those of another size another.
    BothDirections {
        load: String,
        rate_iops: f64,
        bytes_per_s: f64,
        other: String,
        other_iops: f64,
        other_bytes_per_s: f64,
    },
    /// This pair of limits, or this one limit, explains all loads of the kind.
    ExplainsAll { rate_iops: Option<f64>, bytes_per_s: Option<f64> },
    /// Loads of another kind show the limit.
    LimitOfAnother { load: String, rate_iops: f64 },
    /// Presumed to count requests, since larger ones move more bytes.
    PresumedByLarger { load: String, bytes_per_s: f64, next_block_bytes: u64 },
    /// Presumed to count one of the two.
    Presumed { counted: ThrottledQuantity, by: PresumedBy, others: OtherSizes, next_block_bytes: u64 },
    /// What so many requests served at once make.
    WholePlaces { places: f64 },
    /// The limit of one direction of a mix binds it.
    OneDirection {
        direction: crate::ThrottledRequests,
        rate_iops: f64,
        level_iops: f64,
        latency_ns: f64,
        other_latency_ns: f64,
        share: f64,
        ceiling_iops: f64,
    },
    /// Volumes of other numbers of devices stop at the same level.
    VolumesAlike {
        volume: String,
        devices: u64,
        own_devices: u64,
        level: RateFigure,
        each: Option<super::LevelOnEach>,
        shown: super::DevicesAlike,
    },
    /// Other loads of the volume show that this level is none of its devices.
    NoLimitOfDevices { level: RateFigure },
}

/// What stands beside a level in its sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelShown {
    /// Nothing.
    Alone,
    /// The page cache took part.
    PageCache,
    /// A throttle's turns, though other loads of the run show another limit.
    Turns,
    /// What its kind follows from.
    Kind(KindShown),
}

/// What shows whether a level is one of requests or of bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum KindShown {
    /// Requests of another size reach as many of these.
    OtherSize { load: String, counted: ThrottledQuantity },
    /// Another load of the size levels off there, and of it the kind is known.
    AnotherLoad { load: String, shown: Box<Self> },
    /// Another load stops at the rate, and larger requests move more bytes.
    Agreement { load: String, larger: String, larger_bytes_per_s: f64 },
}

/// Why one of the two is presumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PresumedBy {
    /// In bytes it is a round figure.
    RoundFigure { figure: f64, unit: RoundUnit },
    /// Disks as they are sold.
    AsSold,
}

/// The unit of a round figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoundUnit {
    /// MiB/s.
    #[serde(rename = "MiB/s")]
    MibPerS,
    /// MB/s.
    #[serde(rename = "MB/s")]
    MbPerS,
}

/// What other block sizes of a load show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtherSizes {
    /// They wait, at other rates.
    WaitAtOtherRates,
    /// None was measured at a limit.
    NotAtALimit,
}
