//! A pipeline as it is set: sources with slots, stations with workers and bounded queues, segments, commits.

use loadline_units::{ByteRate, Bytes, Duration};
use serde::{Deserialize, Serialize};

/// A station of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Station {
    /// Gets an item from its repository. Its workers are the slots of a source.
    Fetch,
    /// Makes text of the item.
    Extract,
    /// Adds the text to a segment of the index, and writes full segments.
    Index,
    /// Writes the item's row.
    Database,
    /// Makes an epoch durable in index and database.
    Commit,
    /// Joins segments of the index.
    Merge,
}

impl Station {
    /// Every station, in the order in which an item passes.
    pub const ALL: [Self; 6] = [Self::Fetch, Self::Extract, Self::Index, Self::Database, Self::Commit, Self::Merge];
    /// The stations that sources share and every item passes.
    pub const LINE: [Self; 3] = [Self::Extract, Self::Index, Self::Database];

    /// Its place in [`Station::LINE`].
    ///
    /// # Panics
    /// Not every item passes it, or sources do not share it.
    #[must_use]
    pub const fn place_in_line(self) -> usize {
        match self {
            Self::Extract => 0,
            Self::Index => 1,
            Self::Database => 2,
            Self::Fetch | Self::Commit | Self::Merge => panic!("this station is not in line"),
        }
    }
    /// As it is stored, printed and typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Extract => "extract",
            Self::Index => "index",
            Self::Database => "database",
            Self::Commit => "commit",
            Self::Merge => "merge",
        }
    }
}

impl std::fmt::Display for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// What a volume is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeRole {
    /// Segments of the index.
    Index,
    /// Rows of the database.
    Data,
    /// The database's log.
    Log,
}

impl VolumeRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Index, Self::Data, Self::Log];

    /// As it is stored, printed and typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Data => "data",
            Self::Log => "log",
        }
    }
}

impl std::fmt::Display for VolumeRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Why the gate keeps an eligible item back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateRule {
    /// The host was asked less than the crawl delay ago.
    CrawlDelay,
    /// The host has as many fetches in flight as it may.
    PerHost,
    /// The host asked to be left alone for a while.
    RetryAfter,
}

impl GateRule {
    /// Every rule, in the order of [`GateRule::index`].
    pub const ALL: [Self; 3] = [Self::CrawlDelay, Self::PerHost, Self::RetryAfter];

    /// A dense index for tables.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CrawlDelay => "crawl delay",
            Self::PerHost => "limit per host",
            Self::RetryAfter => "Retry-After",
        }
    }
}

/// A pipeline: sources side by side, each with its fetch slots, into one line of stations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineSpec {
    /// Processors that all stations share.
    pub cores: u32,
    /// The network that all fetches share; `None`: not known, or far from its limit.
    pub network: Option<ByteRate>,
    /// Where items come from, all at once.
    pub sources: Vec<SourceSpec>,
    /// The station that makes text.
    pub extract: StationSpec,
    /// The station that indexes.
    pub index: StationSpec,
    /// The station that writes rows.
    pub database: StationSpec,
    /// Segments of the index; `None`: nothing is written but by each item's own work.
    pub segments: Option<SegmentSpec>,
    /// Epochs; `None`: nothing waits for durability.
    pub commit: Option<CommitSpec>,
}

/// Where items come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSpec {
    /// Its name.
    pub name: String,
    /// Fetches in flight at most.
    pub slots: u32,
    /// What its hosts may be asked.
    #[serde(default)]
    pub politeness: Politeness,
    /// Connections, or streams of one, at most; `None`: as many as slots.
    #[serde(default)]
    pub connections: Option<u32>,
}

/// What the hosts of a source may be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Politeness {
    /// From the start of one fetch to the start of the next, for each host.
    pub crawl_delay: Option<Duration>,
    /// Fetches in flight at most, for each host.
    pub per_host: Option<u32>,
}

/// A station that sources share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationSpec {
    /// Workers side by side.
    pub workers: u32,
    /// The queue before it.
    pub queue: QueueBound,
}

/// How much a queue holds. An item larger than `bytes` enters an empty queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueBound {
    /// Items at most; at least 1.
    pub items: u32,
    /// Bytes at most.
    pub bytes: Bytes,
}

/// How the index comes to its volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSpec {
    /// Text that each index worker gathers before it writes a segment.
    pub budget: Bytes,
    /// Cost of writing a segment, by KiB of text.
    pub flush: BatchCost,
    /// How segments are joined; `None`: never.
    pub merge: Option<MergeSpec>,
}

/// How segments are joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeSpec {
    /// Segments of a size that become one.
    pub factor: u32,
    /// Merges at once.
    pub threads: u32,
    /// Merges under way or waiting, at which writing segments pauses.
    pub pending_max: u32,
    /// Cost of a merge, by KiB of text.
    pub cost: BatchCost,
}

/// Epochs: index and database become durable together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSpec {
    /// After so many items.
    pub every_items: Option<u64>,
    /// After so much time since the last.
    pub every: Option<Duration>,
    /// Cost of making the index durable; its units are items.
    pub index: BatchCost,
    /// Cost of the transaction, on the log's volume; its units are items.
    pub database: BatchCost,
}

/// What a batch of work costs: so much for each unit, and once for durability.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCost {
    /// Processor time of a unit, ns.
    pub cpu_per_unit_ns: u64,
    /// Processor time, once for the batch, ns.
    #[serde(default, skip_serializing_if = "super::items::is_zero")]
    pub cpu_ns: u64,
    /// Waiting for writes of a unit, ns.
    pub write_per_unit_ns: u64,
    /// Waiting for writes, once for the batch, ns.
    #[serde(default, skip_serializing_if = "super::items::is_zero")]
    pub write_ns: u64,
    /// Waiting for durability, once for the batch, ns.
    pub sync_ns: u64,
    /// What it asks of the volume: on a model, these requests take the place of the two waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<BatchRequests>,
}

/// What a batch asks of its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRequests {
    /// Written for each unit.
    pub bytes_per_unit: Bytes,
    /// Size of a write.
    pub write: Bytes,
    /// Writes in flight.
    pub queue_depth: u32,
    /// Flushes, one after the other, when all is written.
    pub syncs: u32,
}
