//! What a model knows of a trial in virtual time and no measurement can: where requests waited, and for what.

use crate::{Binding, Ceiling, KnownDeviation, Stage};
use serde::{Deserialize, Serialize};

/// The model's own account of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// Which of the plausible environments this is.
    pub draw: DrawTaken,
    /// Decides the model's service times and where its windows begin.
    pub seed: u64,
    /// In which state the storage was when the load began.
    pub initial: StateTaken,
    /// Where requests waited within the measured time; only stages at which any did.
    pub waits: Vec<StageWait>,
    /// What the hosts' caches answered within the measured time; `None` without a cache.
    pub cache: Option<CacheUse>,
    /// Every ceiling of this load on this storage, lowest first.
    pub ceilings: Vec<Ceiling>,
    /// What bound it, as the waiting shows; `None` where nothing was measured.
    pub binding: Option<Binding>,
    /// Bursts that ended while the load went on, in the order of their ends.
    pub bursts_ended: Vec<BurstEnd>,
    /// Depth of the deepest token bucket on the way, as time at its rate, ns; 0 where no limit is held by one.
    #[serde(default)]
    pub bucket_ns: u64,
    /// Length of the longest window in which a limit on the way counts, ns; 0 where none is held by windows.
    #[serde(default)]
    pub window_ns: u64,
    /// Limits that must be there and were not published, where requests passed them, and what they were taken for; in words.
    #[serde(default)]
    pub limits_unknown: Vec<String>,
    /// Measurements elsewhere that the model is known to miss, where they are of such storage under such a load.
    #[serde(default)]
    pub known_deviations: Vec<KnownDeviation>,
    /// The other volumes of the machine that were loaded at the same time.
    #[serde(default)]
    pub beside: Vec<String>,
}

/// Where in their intervals the uncertain parameters were taken, in parts per million: 0 at the low end, 500,000 in the
/// middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawTaken {
    /// 0 for the middle of everything, the most plausible; the others show what else is plausible.
    pub number: u32,
    /// Of latencies.
    pub latency_ppm: u32,
    /// Of the windows and buckets that hold limits.
    pub enforcement_ppm: u32,
    /// Of what is delivered of the published limits; `None`: exactly what is published.
    pub delivered_ppm: Option<u32>,
    /// Of the size of buckets of credits.
    #[serde(default = "middle")]
    pub bursts_ppm: u32,
}

/// Where records of earlier versions took what they did not vary.
const fn middle() -> u32 {
    500_000
}

/// The state of the storage when the load began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateTaken {
    /// Whether buckets of credits were full.
    pub bursts_full: bool,
    /// Whether those of the virtual machine were; `None`: as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_bursts_full: Option<bool>,
    /// Whether the hosts' caches were warm.
    pub caches_warm: bool,
    /// Whether the state was the one in which the trial before left the storage; the other two then tell of the first.
    pub carried: bool,
}

/// How long requests waited at a stage, ns, all of them together; parts of a request wait each for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageWait {
    /// Where.
    pub stage: Stage,
    /// For requests per second; at the disks themselves for a place; at a cache for its writes.
    pub requests_ns: u64,
    /// For bytes per second.
    pub bytes_ns: u64,
    /// Of both, because saved-up credits were spent.
    pub credits_ns: u64,
}

/// What the hosts' caches answered of a trial's reads. Parts of a request count each for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// Reads that it answered.
    pub hits: u64,
    /// Reads that went on to a disk.
    pub misses: u64,
}

/// A burst that ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BurstEnd {
    /// Whose.
    pub stage: Stage,
    /// How long the load had lasted by then, warm-up included, ns.
    pub at_ns: u64,
    /// Requests per second in the measured time before it; `None` where there was none.
    pub iops_before: Option<f64>,
    /// Likewise after it.
    pub iops_after: Option<f64>,
    /// Bytes per second before it.
    pub bytes_per_s_before: Option<f64>,
    /// Likewise after it.
    pub bytes_per_s_after: Option<f64>,
}

impl StageWait {
    /// In all, ns.
    #[must_use]
    pub const fn total_ns(&self) -> u64 {
        self.requests_ns + self.bytes_ns
    }
}

impl CacheUse {
    /// Share of the reads that the caches answered (0.0 to 1.0); `None` without a read.
    #[must_use]
    pub fn hit_share(&self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all > 0).then(|| self.hits as f64 / all as f64)
    }
}
