//! Storage as data: disks, virtual machines, caches, layouts and environments. Mechanisms only; no product is named here.
//!
//! Every rate is the *enforced* one. Some providers deliver more or less than they publish. Then the catalog entry has
//! the published figure, and this specification the enforced one.

use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use serde::{Deserialize, Serialize};

/// Everything that a load runs on: a virtual machine and the volumes attached to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvironmentSpec {
    /// Its name.
    pub name: String,
    /// The virtual machine's own limits; `None`: it has none.
    pub vm: Option<VmSpec>,
    /// Budgets that several disks share, such as one for all disks of a type on a virtual machine.
    pub pools: Vec<PoolSpec>,
    /// The volumes, with unique names.
    pub volumes: Vec<VolumeSpec>,
}

/// The total that a virtual machine allows its disks.
///
/// The two budgets add. Answers of the host's cache count against `cached`, requests to network disks against
/// `uncached`, a cache miss against both (azure-docs, disks-performance).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VmSpec {
    /// The size's name, for messages.
    pub name: String,
    /// The budget for network disks.
    pub uncached: Option<Limit>,
    /// The budget for the host: cached disks, and disks of [`Place::Local`].
    pub cached: Option<Limit>,
    /// Whether `cached` is an estimate, without a published figure. Then it covers only answers of the host's cache.
    /// Misses have the limits of their way, and disks in the host have limits of their own.
    pub cached_estimated: bool,
    /// Data disks at most.
    pub disks_max: Option<u32>,
    /// The host's cache, shared by all disks without their own capacity; `None`: no bound.
    pub cache_size: Option<Bytes>,
    /// Processors, if known.
    pub vcpus: Option<u32>,
}

/// A budget that several disks share beside their own limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PoolSpec {
    /// The name that disks use in [`DiskSpec::pool`] or [`DiskSpec::allowance`].
    pub name: String,
    /// The budget.
    pub limit: Limit,
}

/// One volume: a disk, or a layout over several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VolumeSpec {
    /// Its name in the environment.
    pub name: String,
    /// Its disks, in the layout's order. In a stripe of mirrors the copies of the first column come first.
    pub disks: Vec<DiskSpec>,
    /// How the guest lays data over them.
    pub layout: Layout,
    /// The host's cache in front of each of the disks.
    pub host_cache: HostCacheSpec,
}

/// How the guest lays a volume over its disks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layout {
    /// One disk.
    #[default]
    Single,
    /// Pieces of `interleave` go to `columns` disks in turn.
    Stripe {
        /// Disks side by side.
        columns: u32,
        /// Length of a piece.
        interleave: Bytes,
    },
    /// Every disk has all data: a write goes to all, a read to one of them in turn.
    Mirror {
        /// Disks alike.
        copies: u32,
    },
    /// A stripe whose columns are mirrors.
    StripeOfMirrors {
        /// Mirrors side by side.
        columns: u32,
        /// Disks alike in each.
        copies: u32,
        /// Length of a piece.
        interleave: Bytes,
    },
}

impl Layout {
    /// Length of a piece, where there is more than one column.
    #[must_use]
    pub fn interleave(self) -> Option<Bytes> {
        match self {
            Self::Single | Self::Mirror { .. } => None,
            Self::Stripe { interleave, .. } | Self::StripeOfMirrors { interleave, .. } => {
                Some(interleave).filter(|_| self.columns() > 1)
            }
        }
    }
}

/// How the virtual machine's host caches a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostCache {
    /// Nothing.
    #[default]
    None,
    /// Reads; writes go through to the disk.
    ReadOnly,
    /// Reads and writes; writes reach the disk later.
    ReadWrite,
}

/// The host's cache in front of each disk of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostCacheSpec {
    /// The cached operations.
    pub mode: HostCache,
    /// Capacity for each disk; `None`: all such disks share [`VmSpec::cache_size`].
    pub capacity: Option<Bytes>,
    /// Service time of a hit, or of a write that the cache accepts.
    pub latency: LatencySpec,
    /// Share of the capacity for dirty blocks. When it is used up, writes stall.
    pub dirty_max: Ratio,
    /// Stalled writes resume when dirty blocks have fallen to this share of their maximum.
    pub resume_at: Ratio,
}

impl Default for HostCacheSpec {
    /// No cache; were there one, it would answer at once and might be filled with writes to the last block.
    fn default() -> Self {
        Self {
            mode: HostCache::None,
            capacity: None,
            latency: LatencySpec::default(),
            dirty_max: Ratio::ONE,
            resume_at: Ratio::ONE,
        }
    }
}

/// One disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiskSpec {
    /// The product's name, for messages; empty for a disk given in full.
    pub name: String,
    /// Capacity; `None`: unlimited.
    pub size: Option<Bytes>,
    /// How it hangs on the virtual machine.
    pub place: Place,
    /// The provider's limit.
    pub limit: Limit,
    /// A budget shared with other disks, by its name in [`EnvironmentSpec::pools`].
    pub pool: Option<String>,
    /// What the virtual machine allows all disks like this one together, by its name in [`EnvironmentSpec::pools`].
    pub allowance: Option<String>,
    /// How long a request is in service once it has passed the limits.
    pub latency: Latency,
    /// How many requests and bytes are in service at once.
    pub parallelism: Parallelism,
    /// The mechanics of a spinning disk, added to `latency`.
    pub spinning: Option<Spinning>,
    /// Whether its limits delay requests or answers.
    pub holds: Holds,
    /// The guest's device queues to it; `None`: they accept any number, or serve in order, which is the same. Loads
    /// wait for a place in them; the disk itself does not know them.
    pub device_queues: Option<DeviceQueues>,
}

/// Whether a disk's limits delay requests or answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Requests: they are served once they have passed.
    #[default]
    Requests,
    /// Answers: requests are served at once, and answered when they have passed, so that the wait covers the service.
    Answers,
}

/// The queues of a block device in the guest: one per group of processors, each with its own places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceQueues {
    /// Queues.
    pub queues: u32,
    /// Requests that each has room for until they are answered.
    pub depth: u32,
}

/// How a disk hangs on the virtual machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Over the network: counts against [`VmSpec::uncached`].
    #[default]
    Network,
    /// In the host, as temporary disks: counts against [`VmSpec::cached`] and is never cached itself.
    Local,
}

/// A rate limit: of a disk, of a virtual machine's budget, or of a pool.
///
/// A trim counts as one request and no bytes; a flush as nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// Requests per second, in counted units.
    pub iops: Option<Directions<IopsBudget>>,
    /// Bytes per second.
    pub throughput: Option<Directions<ThroughputBudget>>,
    /// A request counts as one unit for each started piece of this size; `None`: as one, whatever its size.
    pub counted_size: Option<Bytes>,
    /// Requests that follow one another on the disk are counted together.
    pub merge: Option<Merge>,
    /// An unmerged request costs at least this many bytes of the throughput.
    pub least_charge: Option<Bytes>,
    /// The mechanism of the rates.
    pub enforcement: Enforcement,
}

/// Whether reads and writes draw on one budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Directions<T> {
    /// One budget for both.
    Together(T),
    /// One for each; `None` is without limit.
    Apart {
        /// For reads.
        read: Option<T>,
        /// For writes and trims.
        write: Option<T>,
    },
    /// One budget with two prices: with reads at rate `r` and writes at rate `w`, `r / read + w / write <= 1`. Neither
    /// may burst.
    Traded {
        /// The rate of reads alone.
        read: T,
        /// The rate of writes alone.
        write: T,
    },
}

/// Requests per second, with saved-up credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IopsBudget {
    /// For good.
    pub rate: Iops,
    /// While credits last.
    #[serde(default)]
    pub burst: Option<IopsBurst>,
}

/// A faster rate while saved-up credits last. Unused `rate` is saved, up to `credits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IopsBurst {
    /// The most while credits last.
    pub rate: Iops,
    /// Counted requests that can be saved up; a request spends its units.
    pub credits: u64,
}

/// Bytes per second, with saved-up credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThroughputBudget {
    /// For good.
    pub rate: ByteRate,
    /// While credits last.
    #[serde(default)]
    pub burst: Option<ThroughputBurst>,
}

/// A faster rate while saved-up credits last. Unused `rate` is saved, up to `credits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThroughputBurst {
    /// The most while credits last.
    pub rate: ByteRate,
    /// The most that can be saved up.
    pub credits: Bytes,
}

impl IopsBudget {
    /// A rate without burst.
    #[must_use]
    pub const fn steady(rate: Iops) -> Self {
        Self { rate, burst: None }
    }
    /// A budget whose full bucket lasts for `span` at the full burst: `(burst - rate) x span` credits.
    #[must_use]
    pub fn bursting(rate: Iops, burst: Iops, span: Duration) -> Self {
        let credits = saved(burst.get().saturating_sub(rate.get()), span);
        Self { rate, burst: Some(IopsBurst { rate: burst, credits }) }
    }
}

impl ThroughputBudget {
    /// A rate without burst.
    #[must_use]
    pub const fn steady(rate: ByteRate) -> Self {
        Self { rate, burst: None }
    }
    /// A budget whose full bucket lasts for `span` at the full burst: `(burst - rate) x span` bytes.
    #[must_use]
    pub fn bursting(rate: ByteRate, burst: ByteRate, span: Duration) -> Self {
        let credits = Bytes::new(saved(burst.get().saturating_sub(rate.get()), span));
        Self { rate, burst: Some(ThroughputBurst { rate: burst, credits }) }
    }
}

/// The product of a rate per second and `span`, rounded down.
fn saved(rate: u64, span: Duration) -> u64 {
    let product = u128::from(rate) * u128::from(span.as_ns()) / u128::from(loadline_units::NS_PER_S);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Contiguous requests in one direction count together until [`Limit::counted_size`] is full. 8 x 32 KiB in sequence
/// count as one request of 256 KiB (EBS user guide, I/O characteristics).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// Only requests larger than this are merged; 0 B for all.
    pub larger_than: Bytes,
}

/// The mechanism of a rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Enforcement {
    /// Evenly: each request waits until the one before is paid for.
    #[default]
    Smooth,
    /// A token bucket: unused rate is saved for `depth`, then lost.
    Bucket {
        /// How much can be saved, as time at the rate.
        depth: Duration,
    },
    /// A quota in each window, spent as fast as requests come; the rest is lost at its end.
    Window {
        /// Length of a window.
        length: Duration,
        /// How far a window's edge may lie from its place, early or late; less than half the length.
        #[serde(default)]
        jitter: Duration,
    },
}

/// How long requests are in service, by operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// Reads.
    pub read: LatencySpec,
    /// Writes, and trims as writes of no bytes.
    pub write: LatencySpec,
    /// Flushes; `None`: as a write of no bytes.
    pub flush: Option<LatencySpec>,
}

/// A log-normal time by its median and 99th percentile, plus a fixed time for each KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LatencySpec {
    /// Half of all draws are shorter. Without the time for the bytes.
    pub median: Duration,
    /// 99 of 100 draws are shorter; not below `median`. Equal: no spread.
    pub p99: Duration,
    /// Added for each KiB: the limit of a single stream.
    pub per_kib: Duration,
}

/// How much a disk has in service at once; `None`: no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parallelism {
    /// Requests in service at once; the others wait in order. A spinning disk always serves one at a time.
    pub requests: Option<u32>,
    /// The total transfer rate of all requests in service, read and written.
    pub throughput: Option<ByteRate>,
}

/// The mechanics of a spinning disk: seek, rotation, transfer, and a queue in which the nearest request is next.
///
/// A seek over the share `d` of the disk takes `seek_min + (seek_max - seek_min) x sqrt(d)` (Ruemmler and Wilkes 1994,
/// for the longer seeks of a disk that spends most of them accelerating). The angle under the head follows from time
/// and speed. A request that begins at the end of the one before waits for neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spinning {
    /// Revolutions per minute.
    pub revolutions_per_minute: u32,
    /// To the next track.
    pub seek_min: Duration,
    /// Over the whole disk.
    pub seek_max: Duration,
    /// While the head is over the data.
    pub transfer: ByteRate,
    /// The nearest of so many requests is next; 1: the first.
    pub queue_depth: u32,
}

/// In which state an environment is when a load begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InitialState {
    /// Credits of bursts.
    pub bursts: Fullness,
    /// Those of the virtual machine; `None`: as `bursts`.
    pub vm_bursts: Option<Fullness>,
    /// The hosts' caches.
    pub caches: Warmth,
}

/// How full buckets of credits are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fullness {
    /// To the brim, as on a new disk.
    #[default]
    Full,
    /// Spent.
    Empty,
}

/// The initial contents of caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warmth {
    /// Nothing.
    #[default]
    Cold,
    /// The beginning of each disk, up to the capacity.
    Warm,
}
