//! Storage as data: disks, virtual machines, caches, layouts and environments. Mechanisms only; no product is named here.
//!
//! Every rate is what is *enforced*. Where a provider is known to deliver more or less than it publishes, the published
//! figure stays with the catalog entry and the enforced one comes here.

use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use serde::{Deserialize, Serialize};

/// Everything that a load runs on: a virtual machine and the volumes attached to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvironmentSpec {
    /// Its name.
    pub name: String,
    /// The virtual machine's own limits; `None` where it has none.
    pub vm: Option<VmSpec>,
    /// Budgets that several disks share, such as one for all disks of a type on a virtual machine.
    pub pools: Vec<PoolSpec>,
    /// The volumes, each under a name of its own.
    pub volumes: Vec<VolumeSpec>,
}

/// What a virtual machine allows all its disks together.
///
/// The two budgets add: what is answered by the host's cache counts against `cached`, what goes to network disks against
/// `uncached`, a miss of the cache against both (azure-docs, disks-performance).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VmSpec {
    /// The size's name, for messages.
    pub name: String,
    /// What goes to network disks.
    pub uncached: Option<Limit>,
    /// What goes through the host: cached disks, and disks of [`Place::Local`].
    pub cached: Option<Limit>,
    /// Whether `cached` is an estimate, for want of a published figure: then it holds for what the host's cache answers alone. What
    /// goes beyond the cache has the limits of its way there, and disks in the host have limits of their own.
    pub cached_estimated: bool,
    /// Data disks at most.
    pub disks_max: Option<u32>,
    /// The host's cache, shared by every disk whose cache has no capacity of its own; `None`: without bound.
    pub cache_size: Option<Bytes>,
    /// Processors, where known.
    pub vcpus: Option<u32>,
}

/// A budget that several disks share beside their own limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PoolSpec {
    /// What disks call it by in [`DiskSpec::pool`] or [`DiskSpec::allowance`].
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
    /// Its disks, in the layout's order. A stripe of mirrors takes the copies of its first column first.
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
    /// Every disk has everything: a write goes to all, a read to one of them in turn.
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

/// What the virtual machine's host caches of a disk.
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
    /// What is cached.
    pub mode: HostCache,
    /// Capacity for each disk; `None`: all such disks share [`VmSpec::cache_size`].
    pub capacity: Option<Bytes>,
    /// How long a hit, or a write taken by the cache, is in service.
    pub latency: LatencySpec,
    /// Share of the capacity that may hold writes not yet on the disk. When it is used up, writes stall.
    pub dirty_max: Ratio,
    /// Stalled writes go on when what is not yet on the disk has fallen to this share of what may be.
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
    /// Capacity; `None`: as much as is asked for.
    pub size: Option<Bytes>,
    /// How it hangs on the virtual machine.
    pub place: Place,
    /// What the provider allows it.
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
    /// What its limits hold back.
    pub holds: Holds,
    /// The queues through which the guest's operating system reaches it; `None`: they hold whatever is asked, or give it out in
    /// order, which is the same. Loads wait for a place in them; the disk itself does not know them.
    pub device_queues: Option<DeviceQueues>,
}

/// What a disk's limits hold back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Requests: they are served once they have passed.
    #[default]
    Requests,
    /// Answers: requests are served at once, and answered when they have passed, so that the wait covers the service.
    Answers,
}

/// The queues of a block device in the guest: one for each of some processors, each with places of its own.
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

/// What may pass: a disk's limits, a virtual machine's budget, or a pool's.
///
/// A trim counts as one request and no bytes; a flush as nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// Requests per second, in counted units.
    pub iops: Option<Directions<IopsBudget>>,
    /// Bytes per second.
    pub throughput: Option<Directions<ThroughputBudget>>,
    /// A request counts as one unit for each started piece of this size; `None`: as one whatever its size.
    pub counted_size: Option<Bytes>,
    /// Requests that follow one another on the disk are counted together.
    pub merge: Option<Merge>,
    /// A request that is not merged costs at least so many bytes of the throughput.
    pub least_charge: Option<Bytes>,
    /// How the rates are held.
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
    /// One budget whose price differs: with reads at rate `r` and writes at rate `w`, `r / read + w / write <= 1`. Neither
    /// may burst.
    Traded {
        /// What reads alone may do.
        read: T,
        /// What writes alone may do.
        write: T,
    },
}

/// Requests per second, with what may be saved up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IopsBudget {
    /// For good.
    pub rate: Iops,
    /// While credits last.
    #[serde(default)]
    pub burst: Option<IopsBurst>,
}

/// A faster rate while saved-up credits last. What `rate` allows and is not used is saved, up to `credits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IopsBurst {
    /// The most while credits last.
    pub rate: Iops,
    /// Counted requests that can be saved up; a request takes as many as it counts for.
    pub credits: u64,
}

/// Bytes per second, with what may be saved up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThroughputBudget {
    /// For good.
    pub rate: ByteRate,
    /// While credits last.
    #[serde(default)]
    pub burst: Option<ThroughputBurst>,
}

/// A faster rate while saved-up credits last. What `rate` allows and is not used is saved, up to `credits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThroughputBurst {
    /// The most while credits last.
    pub rate: ByteRate,
    /// What can be saved up.
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

/// What a rate per second gives in `span`, rounded down.
fn saved(rate: u64, span: Duration) -> u64 {
    let product = u128::from(rate) * u128::from(span.as_ns()) / u128::from(loadline_units::NS_PER_S);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Requests that follow one another without a gap, in one direction, count together until [`Limit::counted_size`] is full:
/// 8 x 32 KiB in sequence count as one request of 256 KiB (EBS user guide, I/O characteristics).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// Only requests larger than this are merged; 0 B for all.
    pub larger_than: Bytes,
}

/// How a rate is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Enforcement {
    /// Evenly: each request waits until the one before is paid for.
    #[default]
    Smooth,
    /// A token bucket: what is not used is saved for `depth`, then lost.
    Bucket {
        /// How much can be saved, as time at the rate.
        depth: Duration,
    },
    /// A quota in each window, spent as fast as requests come; what is left at its end is lost.
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
    /// Added for each KiB: what bounds a single stream.
    pub per_kib: Duration,
}

/// How much a disk has in service at once; `None` is without bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parallelism {
    /// Requests in service at once; the others wait in order. A spinning disk serves one at a time whatever is said here.
    pub requests: Option<u32>,
    /// What all requests in service transfer together, read and written.
    pub throughput: Option<ByteRate>,
}

/// The mechanics of a spinning disk: seek, rotation, transfer, and a queue from which the nearest request is taken.
///
/// A seek over the share `d` of the disk takes `seek_min + (seek_max - seek_min) x sqrt(d)` (Ruemmler and Wilkes 1994,
/// for the longer seeks of a disk that spends most of them accelerating). The disk under the head is where time and speed
/// have turned it. A request that begins where the one before ended waits for neither.
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
    /// Requests among which the nearest is taken; 1 for none but the first.
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

/// What caches hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warmth {
    /// Nothing.
    #[default]
    Cold,
    /// The beginning of each disk, as far as the capacity goes.
    Warm,
}
