//! The storage and the loads whose simulation is timed.

use loadline_disk::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, HostCache, HostCacheSpec, IopsBudget, Latency, LatencySpec,
    Layout, Limit, ThroughputBudget, VmSpec, VolumeSpec,
};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, LoadSpec};

/// The windows of cloud limits.
const WINDOW: Enforcement = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(2) };
const BUCKET: Enforcement = Enforcement::Bucket { depth: Duration::from_s(1) };

/// A load on storage, and how many requests a second are wanted of its simulation.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Millions a second and core; `None` without a goal.
    pub(super) goal: Option<f64>,
    pub(super) environment: EnvironmentSpec,
    pub(super) load: LoadSpec,
}

/// Nothing that is allowed nothing: a rate of zero is none.
fn limit(requests: u64, bytes: u64, enforcement: Enforcement) -> Limit {
    Limit {
        iops: Iops::per_second(requests).map(|rate| Directions::Together(IopsBudget::steady(rate))),
        throughput: ByteRate::per_second(bytes).map(|rate| Directions::Together(ThroughputBudget::steady(rate))),
        counted_size: Some(Bytes::kib(256)),
        enforcement,
        ..Limit::default()
    }
}

fn disk(limit: Limit) -> DiskSpec {
    let latency =
        LatencySpec { median: Duration::from_us(1_000), p99: Duration::from_us(2_500), per_kib: Duration::from_us(5) };
    let latency = Latency { read: latency, write: latency, flush: None };
    DiskSpec { size: Some(Bytes::gib(1024)), limit, latency, ..DiskSpec::default() }
}

fn environment(vm: Option<VmSpec>, disks: u32, each: &DiskSpec, cache: HostCache) -> EnvironmentSpec {
    let interleave = Bytes::kib(64);
    let volume = VolumeSpec {
        name: "data".to_owned(),
        disks: vec![each.clone(); disks as usize],
        layout: if disks == 1 { Layout::Single } else { Layout::Stripe { columns: disks, interleave } },
        host_cache: HostCacheSpec {
            mode: cache,
            latency: LatencySpec {
                median: Duration::from_us(100),
                p99: Duration::from_us(300),
                per_kib: Duration::ZERO,
            },
            ..HostCacheSpec::default()
        },
    };
    EnvironmentSpec { vm, volumes: vec![volume], ..EnvironmentSpec::default() }
}

/// Random reads, 32 at once.
fn load(seconds: u64) -> LoadSpec {
    LoadSpec {
        arrival: Arrival::Closed { queue_depth: 32, rate_max: None, think_time: Duration::ZERO },
        duration: Duration::from_s(seconds),
        ..LoadSpec::default()
    }
}

/// One disk of 5,000 requests and 200 MB a second.
fn single(name: &'static str, goal: Option<f64>, enforcement: Enforcement) -> Case {
    let each = disk(limit(5_000, 200_000_000, enforcement));
    Case { name, goal, environment: environment(None, 1, &each, HostCache::None), load: load(2_000) }
}

/// Four columns of 64 KiB behind the budgets of a virtual machine, seven in ten requests reads.
fn striped(name: &'static str, goal: Option<f64>, cache: HostCache, blocks: &[(u64, u32)]) -> Case {
    let vm = VmSpec {
        uncached: Some(limit(12_800, 192_000_000, WINDOW)),
        cached: Some(limit(16_000, 256 << 20, WINDOW)),
        cache_size: Some(Bytes::gib(86)),
        ..VmSpec::default()
    };
    let each = disk(limit(5_000, 200_000_000, WINDOW));
    let blocks = blocks.iter().map(|(kib, share)| BlockShare { size: Bytes::kib(*kib), share: Ratio::percent(*share) });
    let load = LoadSpec {
        reads: Ratio::percent(70),
        blocks: blocks.collect(),
        size: (cache != HostCache::None).then_some(Bytes::gib(32)),
        ..load(500)
    };
    Case { name, goal, environment: environment(Some(vm), 4, &each, cache), load }
}

/// Every case that is timed.
pub(super) fn all() -> Vec<Case> {
    const MIXED: &[(u64, u32)] = &[(4, 60), (64, 30), (256, 10)];
    vec![
        single("one disk, smooth", Some(20.0), Enforcement::Smooth),
        single("one disk, bucket of 1 s", Some(20.0), BUCKET),
        single("one disk, windows of 50 ms", None, WINDOW),
        striped("4 columns behind a VM, 4 KiB", Some(5.0), HostCache::None, &[(4, 100)]),
        striped("4 columns behind a VM, 4 to 256 KiB", Some(5.0), HostCache::None, MIXED),
        striped("4 cached columns behind a VM, 4 KiB", Some(5.0), HostCache::ReadOnly, &[(4, 100)]),
        striped("4 cached columns behind a VM, 4 to 256 KiB", Some(5.0), HostCache::ReadOnly, MIXED),
    ]
}

/// A day or more of a slow disk: its data must not grow with time.
pub(super) fn slow(days: u64) -> Case {
    let each = disk(limit(20, 0, BUCKET));
    let load = load(days * 86_400);
    Case { name: "slow", goal: None, environment: environment(None, 1, &each, HostCache::None), load }
}
