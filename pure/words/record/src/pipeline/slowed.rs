//! Stations that were slowed on purpose while a crawl ran, and what came of it.

use super::Station;
use serde::{Deserialize, Serialize};

/// One station at a time was slowed, in windows drawn at random.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowedWindows {
    /// By how much of its own work a station was slowed: 0.1 is a tenth.
    pub share: f64,
    /// Windows of a block. Each block has every station once.
    pub block: u32,
    /// Whole windows, in their order.
    pub windows: Vec<SlowedWindow>,
}

/// A stretch of time in which one station was slowed, or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowedWindow {
    /// When it ended, ns since the crawl began.
    pub end_ns: u64,
    /// The station; `None`: all ran as they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<SlowedStation>,
    /// Items of each source that passed the last station. An item counts in parts where it took more than one window.
    pub passed: Vec<f64>,
}

/// A station that was slowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "station", content = "of")]
pub enum SlowedStation {
    /// The slots of a source, by its place.
    Fetch(u32),
    /// A station that sources share.
    Line(Station),
}
