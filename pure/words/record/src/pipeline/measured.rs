//! What was measured of a pipeline: clocks, queues and items, of sources, stations, processors and volumes.

use super::{ItemRecord, PipelineSpec, Station, StationClock, VolumeRole, WORKER_STATES};
use crate::RunRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything measured of one crawl. It stands with its trial beside the named steps, which tables show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PipelineRecord {
    /// How it was set.
    pub spec: PipelineSpec,
    /// From the start to the end of the last commit, ns.
    pub wall_ns: u64,
    /// Length of an interval of the series, ns; the last is shorter.
    pub interval_ns: u64,
    /// By their place in the pipeline.
    pub sources: Vec<SourceRecord>,
    /// Stations that sources share, in the order in which an item passes.
    pub stations: Vec<StationRecord>,
    /// The machine's processors.
    pub cpu: CpuRecord,
    /// Bytes that fetches received, by interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub received_bytes: Vec<u64>,
    /// The volumes, where their counters are known.
    pub volumes: Vec<VolumeUse>,
    /// Segments written, merges and commits: a sample, bounded like the items.
    pub batches: Vec<BatchRecord>,
    /// A sample of items, by source and number.
    pub items: Vec<ItemRecord>,
    /// How late the scheduler woke the crawler's fetch threads, 99th percentile, ns; `None`: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_ns: Option<u64>,
    /// What came of slowing stations on purpose; `None`: none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<super::SlowedWindows>,
    /// Its surroundings: what `watch` would have stored of its volumes' devices and the same time. `None`: of an earlier version, or of
    /// devices that count nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Box<RunRecord>>,
}

/// A source over the whole crawl.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Its name.
    pub name: String,
    /// Items that passed every station.
    pub items: u64,
    /// Items that failed, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Items that were as an earlier crawl had found them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unchanged: u64,
    /// Items of an earlier crawl that were not found any more.
    #[serde(default, skip_serializing_if = "is_none")]
    pub removed: u64,
    /// Caps that struck and what else is of note, by name, with how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, u64>,
    /// When its last item had passed the last station, ns since the crawl began.
    pub ended_ns: u64,
    /// When its last item became eligible, ns since the crawl began.
    pub frontier_dry_ns: u64,
    /// Its slots. After the end they are starved.
    pub clock: StationClock,
    /// Gated time by [`GateRule::index`](super::GateRule::index), ns.
    pub gated_by_ns: [u64; 3],
    /// Eligible items that no slot had taken, integrated over time, item x µs.
    pub waiting_item_us: u64,
    /// Hosts with items waiting or in flight, at the end of each interval.
    pub hosts_left: Vec<u32>,
    /// By interval.
    pub series: Vec<StationInterval>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_none(value: &u64) -> bool {
    *value == 0
}

impl SourceRecord {
    /// Failures of every reason.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

/// A shared station over the whole crawl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationRecord {
    /// Which.
    pub station: Station,
    /// Its workers.
    pub workers: u32,
    /// How they spent their time.
    pub clock: StationClock,
    /// The queue before it.
    pub queue: QueueIntegral,
    /// Items that passed; of commits and merges their number.
    pub passed: u64,
    /// Items in it, queue included, integrated over time, item x µs.
    pub inside_item_us: u64,
    /// Of the blocked time, that before writing a segment because too many merges were pending, ns.
    #[serde(default)]
    pub blocked_by_merges_ns: u64,
    /// Working time by source, ns; empty where it works for none alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy_by_source_ns: Vec<u64>,
    /// By interval.
    pub series: Vec<StationInterval>,
}

/// A queue over the whole crawl.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueIntegral {
    /// Items waiting, integrated over time, item x µs.
    pub item_us: u64,
    /// Bytes waiting, integrated over time, byte x µs.
    pub byte_us: u64,
    /// Time with no item, ns.
    pub empty_ns: u64,
    /// Time in which somebody could not put an item, ns.
    pub full_ns: u64,
}

/// One interval of a station or of a source's slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationInterval {
    /// Time of all workers by [`WorkerState::index`](super::WorkerState::index), ns.
    pub times_ns: [u64; WORKER_STATES],
    /// Items that left it.
    pub passed: u64,
}

/// The machine's processors over the crawl.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuRecord {
    /// Used by the crawl, all processors together, ns.
    pub crawl_ns: u64,
    /// Used by other processes, ns.
    pub others_ns: u64,
    /// Taken by the hypervisor, ns.
    pub steal_ns: u64,
    /// Time in which the crawl had used up its quota, ns.
    pub throttled_ns: u64,
}

/// A volume over the crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeUse {
    /// What for.
    pub role: VolumeRole,
    /// Its name in the plan.
    pub name: String,
    /// The kernel's names of its devices. None of records that did not note them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// By interval.
    pub series: Vec<VolumeSecond>,
}

/// One interval of a volume: the change of its device's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSecond {
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time of all requests together, ns.
    pub latency_ns: u64,
    /// Time with a request in flight, ns.
    pub busy_ns: u64,
}

/// A segment written, a merge, or one half of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRecord {
    /// Index: a segment written; merge: a merge; commit: the index' half; database: the transaction.
    pub station: Station,
    /// KiB of text of a segment or merge, items of a commit.
    pub units: u64,
    /// When it began, ns since the crawl began.
    pub start_ns: u64,
    /// When it was done.
    pub end_ns: u64,
    /// On a processor, ns.
    pub cpu_ns: u64,
    /// Waiting for writes, ns.
    pub write_ns: u64,
    /// Waiting for durability, ns.
    pub sync_ns: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Requests that wrote them.
    pub writes: u64,
    /// Flushes.
    pub syncs: u64,
    /// Bytes of text in the segment when its worker began to write it were below the budget: a commit asked for it.
    #[serde(default)]
    pub early: bool,
}
