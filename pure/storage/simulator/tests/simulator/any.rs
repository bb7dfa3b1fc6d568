//! Numbered environments and loads that never change, so that their results can be stored.

use crate::environments::{blocks, byte_rate, closed, iops};
use loadline_disk::{
    DeviceQueues, Directions, DiskSpec, Enforcement, EnvironmentSpec, Fullness, Holds, HostCache, HostCacheSpec,
    InitialState, IopsBudget, IopsBurst, Latency, LatencySpec, Layout, Limit, Merge, Parallelism, Place, PoolSpec,
    Spinning, ThroughputBudget, ThroughputBurst, VmSpec, VolumeSpec, Warmth,
};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{
    Arrival, BlockShare, Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern, SteadyStateRule,
};

/// Draws by SplitMix64, written out here so that no new version of a library changes stored results.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(number: u64) -> Self {
        Self(number.wrapping_mul(0xd134_2543_de82_ef95))
    }
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// From `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }
    /// Once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.next() % choices.len() as u64) as usize]
    }
    fn us(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_us(self.within(low, high))
    }
}

fn enforcement(draws: &mut Draws) -> Enforcement {
    match draws.within(0, 2) {
        0 => Enforcement::Smooth,
        1 => Enforcement::Bucket { depth: draws.us(0, 1_000_000) },
        _ => {
            let length = draws.within(5, 100);
            let jitter = draws.one_of(&[0, length * 1_000 / 25, length * 1_000 / 3]);
            Enforcement::Window { length: Duration::from_ms(length), jitter: Duration::from_us(jitter) }
        }
    }
}

fn requests(draws: &mut Draws, rate: u64) -> Directions<IopsBudget> {
    let burst = |draws: &mut Draws| {
        draws
            .once_in(3)
            .then(|| IopsBurst { rate: iops(rate * draws.within(1, 5)), credits: draws.within(0, rate * 4) })
    };
    match draws.within(0, 5) {
        0 => {
            let read = draws.once_in(2).then_some(IopsBudget { rate: iops(rate), burst: burst(draws) });
            Directions::Apart { read, write: Some(IopsBudget { rate: iops(rate / 2 + 1), burst: burst(draws) }) }
        }
        1 => Directions::Traded {
            read: IopsBudget::steady(iops(rate)),
            write: IopsBudget::steady(iops(rate.div_ceil(draws.within(2, 4)))),
        },
        _ => Directions::Together(IopsBudget { rate: iops(rate), burst: burst(draws) }),
    }
}

fn bytes(draws: &mut Draws, rate: u64) -> Directions<ThroughputBudget> {
    let burst = |draws: &mut Draws| {
        draws.once_in(3).then(|| ThroughputBurst {
            rate: byte_rate(rate * draws.within(1, 3)),
            credits: Bytes::new(draws.within(0, rate * 4)),
        })
    };
    if draws.once_in(5) {
        let read = Some(ThroughputBudget { rate: byte_rate(rate), burst: burst(draws) });
        return Directions::Apart {
            read,
            write: draws.once_in(2).then_some(ThroughputBudget::steady(byte_rate(rate))),
        };
    }
    Directions::Together(ThroughputBudget { rate: byte_rate(rate), burst: burst(draws) })
}

fn limit(draws: &mut Draws, rate: u64) -> Limit {
    let bytes_per_s = rate * draws.one_of(&[4_096, 65_536, 262_144]) + draws.within(0, 999);
    Limit {
        iops: (!draws.once_in(8)).then(|| requests(draws, rate)),
        throughput: (!draws.once_in(8)).then(|| bytes(draws, bytes_per_s)),
        counted_size: (!draws.once_in(4)).then(|| Bytes::kib(draws.one_of(&[16, 64, 256]))),
        merge: None,
        least_charge: draws.once_in(6).then(|| Bytes::kib(8)),
        enforcement: enforcement(draws),
    }
}

fn latency_spec(draws: &mut Draws) -> LatencySpec {
    let median = draws.us(0, 3_000);
    let p99 = if draws.once_in(3) { median } else { median * draws.within(1, 6) };
    let per_kib = if draws.once_in(2) { Duration::ZERO } else { draws.us(0, 20) };
    LatencySpec { median, p99, per_kib }
}

fn disk(draws: &mut Draws, pool: bool) -> DiskSpec {
    let rate = draws.one_of(&[313, 500, 2_300, 5_000, 20_000]);
    let mut limit = limit(draws, rate);
    limit.merge = draws.once_in(4).then(|| Merge { larger_than: Bytes::kib(draws.one_of(&[0, 16])) });
    let one = latency_spec(draws);
    let spinning = draws.once_in(8).then(|| Spinning {
        revolutions_per_minute: draws.one_of(&[5_400, 7_200]) as u32,
        seek_min: Duration::from_us(800),
        seek_max: Duration::from_ms(16),
        transfer: byte_rate(150_000_000),
        queue_depth: draws.within(1, 32) as u32,
    });
    DiskSpec {
        name: String::new(),
        size: (spinning.is_some() || !draws.once_in(8)).then(|| Bytes::gib(draws.within(4, 1_024))),
        place: if draws.once_in(6) { Place::Local } else { Place::Network },
        limit,
        pool: pool.then(|| "pool".to_owned()),
        allowance: None,
        latency: Latency {
            read: one,
            write: if draws.once_in(2) { one } else { latency_spec(draws) },
            flush: draws.once_in(3).then(|| latency_spec(draws)),
        },
        parallelism: Parallelism {
            requests: draws.once_in(4).then(|| draws.within(1, 40) as u32),
            throughput: draws.once_in(4).then(|| byte_rate(draws.within(30_000_000, 400_000_000))),
        },
        spinning,
        ..DiskSpec::default()
    }
}

fn layout(draws: &mut Draws) -> Layout {
    let interleave = Bytes::new(draws.one_of(&[64 << 10, 256 << 10, 48 << 10, 4 << 10]));
    let columns = draws.within(1, 5) as u32;
    match draws.within(0, 5) {
        0 | 1 => Layout::Single,
        2 | 3 => Layout::Stripe { columns, interleave },
        4 => Layout::Mirror { copies: draws.within(1, 3) as u32 },
        _ => Layout::StripeOfMirrors { columns, copies: 2, interleave },
    }
}

/// Storage with each stage present or absent.
pub(crate) fn environment(draws: &mut Draws) -> EnvironmentSpec {
    let pool = draws.once_in(4);
    let layout = layout(draws);
    let one = disk(draws, pool);
    let mut disks = vec![one; layout.disks()];
    if draws.once_in(4) {
        // Disks of one volume need not be alike.
        disks.fill_with(|| disk(draws, pool));
    }
    let mode = draws.one_of(&[HostCache::None, HostCache::None, HostCache::ReadOnly, HostCache::ReadWrite]);
    let host_cache = HostCacheSpec {
        mode,
        capacity: draws.once_in(2).then(|| Bytes::mib(draws.within(1, 64))),
        latency: latency_spec(draws),
        dirty_max: Ratio::percent(draws.within(1, 100) as u32),
        resume_at: Ratio::percent(draws.within(0, 100) as u32),
    };
    let vm = (!draws.once_in(3)).then(|| VmSpec {
        uncached: (!draws.once_in(4)).then(|| limit(draws, 6_400)),
        cached: (!draws.once_in(4)).then(|| limit(draws, 16_000)),
        cache_size: draws.once_in(2).then(|| Bytes::mib(draws.within(1, 512))),
        ..VmSpec::default()
    });
    let pools = pool.then(|| PoolSpec { name: "pool".to_owned(), limit: limit(draws, 4_000) });
    EnvironmentSpec {
        name: String::new(),
        vm,
        pools: pools.into_iter().collect(),
        volumes: vec![VolumeSpec { name: "data".to_owned(), disks, layout, host_cache }],
    }
}

/// A state to begin in.
pub(crate) fn initial(draws: &mut Draws) -> InitialState {
    InitialState {
        bursts: draws.one_of(&[Fullness::Full, Fullness::Full, Fullness::Empty]),
        vm_bursts: None,
        caches: draws.one_of(&[Warmth::Cold, Warmth::Warm]),
    }
}

fn sizes(draws: &mut Draws) -> Vec<BlockShare> {
    if draws.once_in(2) {
        return blocks(Bytes::new(draws.one_of(&[512, 4 << 10, 4 << 10, 8 << 10, 64 << 10, 96 << 10, 1 << 20])));
    }
    let first = draws.within(1, 99) as u32;
    vec![
        BlockShare { size: Bytes::kib(4), share: Ratio::percent(first) },
        BlockShare { size: Bytes::kib(draws.one_of(&[12, 100, 256])), share: Ratio::percent(100 - first) },
    ]
}

fn pattern(draws: &mut Draws) -> Pattern {
    match draws.within(0, 7) {
        0 => Pattern::Sequential { stride: None },
        1 => Pattern::Sequential { stride: Some(Bytes::mib(2)) },
        2 => Pattern::Random(Distribution::Permutation),
        3 => Pattern::Random(Distribution::Zipf { theta_milli: draws.within(500, 1_300) as u32 }),
        4 => Pattern::Random(Distribution::HotCold { requests: Ratio::percent(90), blocks: Ratio::percent(10) }),
        _ => Pattern::Random(Distribution::Uniform),
    }
}

fn arrival(draws: &mut Draws) -> Arrival {
    let queue_depth = draws.one_of(&[1, 2, 3, 8, 16, 32, 100]);
    match draws.within(0, 7) {
        0 => Arrival::Poisson { rate: iops(draws.within(10, 8_000)) },
        1 => Arrival::Constant { rate: iops(draws.within(10, 8_000)) },
        2 => Arrival::Closed {
            queue_depth,
            rate_max: draws.once_in(2).then(|| iops(draws.within(100, 5_000))),
            think_time: draws.us(0, 3_000),
        },
        _ => closed(queue_depth),
    }
}

/// Gives disks few places, and makes some limits delay answers.
pub(crate) fn crowd(draws: &mut Draws, environment: &mut EnvironmentSpec) {
    for disk in environment.volumes.iter_mut().flat_map(|volume| &mut volume.disks) {
        disk.device_queues =
            Some(DeviceQueues { queues: draws.within(1, 4) as u32, depth: draws.one_of(&[1, 3, 8]) as u32 });
        if disk.spinning.is_none() && draws.once_in(2) {
            disk.holds = Holds::Answers;
        }
    }
}

/// A load of a few seconds that fits on any of the environments.
pub(crate) fn load(draws: &mut Draws) -> LoadSpec {
    let mut load = LoadSpec {
        pattern: pattern(draws),
        reads: Ratio::percent(draws.one_of(&[100, 100, 0, 50, 70, 93])),
        trims: Ratio::percent(draws.one_of(&[0, 0, 0, 5])),
        blocks: sizes(draws),
        align: draws.once_in(5).then(|| Bytes::new(512)),
        arrival: arrival(draws),
        threads: draws.one_of(&[1, 1, 2, 3]),
        size: (!draws.once_in(4)).then(|| Bytes::mib(draws.one_of(&[32, 256, 2_048]))),
        start: Bytes::kib(draws.one_of(&[0, 0, 1_000])),
        files: draws.one_of(&[1, 1, 1, 3]),
        warm_up: Duration::from_ms(draws.one_of(&[0, 300, 1_000])),
        cool_down: Duration::from_ms(draws.one_of(&[0, 200])),
        duration: Duration::from_ms(draws.within(900, 2_600)),
        pause: Duration::from_ms(draws.one_of(&[0, 0, 777])),
        ..LoadSpec::default()
    };
    if draws.once_in(3) {
        let how = draws.one_of(&[FlushMethod::Fdatasync, FlushMethod::Fua]);
        load.flush = Some(FlushCadence { every: draws.within(1, 60), how });
    }
    if draws.once_in(12) {
        load.volume = Some(Bytes::mib(draws.within(1, 20)));
    }
    if draws.once_in(12) {
        let rule =
            SteadyStateRule { round: Duration::from_s(1), rounds: 3, rounds_max: 6, ..SteadyStateRule::default() };
        load.steady_state = Some(rule);
    }
    load
}
