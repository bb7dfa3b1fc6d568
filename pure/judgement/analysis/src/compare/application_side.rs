//! An application at its own pace, as a side of a comparison.

use crate::verdict_block::Holder;
use serde::{Deserialize, Serialize};

/// A side in which an application set the pace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplicationSide {
    /// Its place among the sides.
    pub side: u32,
    /// The volume that was waited for most.
    pub volume: String,
    /// Other volumes of the run.
    pub volumes_more: u32,
    /// Reads and writes per second.
    pub iops: f64,
    /// Mean size of a read or write, bytes.
    pub mean_bytes: f64,
    /// Share of reads.
    pub read_share: f64,
    /// How long a read or write took, ns; where it waited above the device, as the application saw it.
    pub waits_ns: f64,
    /// Whether that is what the application waited, and not the device's part of it.
    pub is_whole_wait: bool,
    /// Share of the time in which storage was waited for; `null` of an emulation, which sees requests alone.
    pub storage_share: Option<f64>,
    /// What the application counted in a second.
    pub counted_per_s: Option<f64>,
    /// What held it.
    #[serde(skip)]
    pub held_by: Option<Holder>,
}
