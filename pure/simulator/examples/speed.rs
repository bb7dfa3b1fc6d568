//! Prints how many requests are simulated in a second of one core's time, of all cases or of those whose name holds a text:
//! `cargo run --release -p loadline-simulator --example speed -- "one disk"`.

#![expect(clippy::disallowed_methods, reason = "it measures its own speed")]

use loadline_disk::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, HostCache, HostCacheSpec, InitialState, IopsBudget, Latency,
    LatencySpec, Layout, Limit, Machine, ThroughputBudget, VmSpec, VolumeSpec, Warmth,
};
use loadline_simulator::{TrialSetup, simulate};
use loadline_units::{ByteRate, Bytes, Duration, Iops};
use loadline_workload::{Arrival, LoadSpec};

fn limit(iops: u64, bytes_per_s: u64, enforcement: Enforcement) -> Limit {
    Limit {
        iops: Iops::per_second(iops).map(|rate| Directions::Together(IopsBudget::steady(rate))),
        throughput: ByteRate::per_second(bytes_per_s).map(|rate| Directions::Together(ThroughputBudget::steady(rate))),
        counted_size: Some(Bytes::kib(256)),
        enforcement,
        ..Limit::default()
    }
}

fn disk(enforcement: Enforcement) -> DiskSpec {
    let latency =
        LatencySpec { median: Duration::from_us(1_000), p99: Duration::from_us(2_500), per_kib: Duration::from_us(5) };
    DiskSpec {
        size: Some(Bytes::gib(1024)),
        limit: limit(5_000, 200_000_000, enforcement),
        latency: Latency { read: latency, write: latency, flush: None },
        ..DiskSpec::default()
    }
}

fn volume(disks: u32, cache: HostCache, enforcement: Enforcement) -> VolumeSpec {
    let layout = match disks {
        1 => Layout::Single,
        columns => Layout::Stripe { columns, interleave: Bytes::kib(64) },
    };
    VolumeSpec {
        name: "data".to_owned(),
        disks: vec![disk(enforcement); disks as usize],
        layout,
        host_cache: HostCacheSpec {
            mode: cache,
            latency: LatencySpec {
                median: Duration::from_us(100),
                p99: Duration::from_us(300),
                per_kib: Duration::ZERO,
            },
            ..HostCacheSpec::default()
        },
    }
}

/// Time that this thread has run, so that other work on the machine counts as little as it can.
fn core_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells a thread's time");
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("the first field is a number");
    Duration::from_ns(ns)
}

fn main() {
    let window = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(2) };
    let bucket = Enforcement::Bucket { depth: Duration::from_s(1) };
    let vm = VmSpec {
        uncached: Some(limit(12_800, 192_000_000, window)),
        cached: Some(limit(16_000, 256 << 20, window)),
        cache_size: Some(Bytes::gib(200)),
        ..VmSpec::default()
    };
    let cases = [
        ("one disk, smooth", 1, HostCache::None, Enforcement::Smooth, None, 4),
        ("one disk, bucket of 1 s", 1, HostCache::None, bucket, None, 4),
        ("one disk, windows of 50 ms", 1, HostCache::None, window, None, 4),
        ("four columns behind a VM", 4, HostCache::None, window, Some(&vm), 4),
        ("four columns behind a VM, 256 KiB", 4, HostCache::None, window, Some(&vm), 256),
        ("four cached columns, first 100 GiB", 4, HostCache::ReadOnly, window, Some(&vm), 4),
    ];
    println!("{:38} {:>5} {:>12} {:>16}", "", "depth", "requests", "a second");
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, disks, cache, enforcement, vm, block) in cases.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        for depth in [1, 32, 256] {
            let environment = EnvironmentSpec {
                vm: vm.cloned(),
                volumes: vec![volume(disks, cache, enforcement)],
                ..EnvironmentSpec::default()
            };
            let initial = InitialState { caches: Warmth::Cold, ..InitialState::default() };
            let mut load = LoadSpec {
                arrival: Arrival::Closed { queue_depth: depth, rate_max: None, think_time: Duration::ZERO },
                duration: Duration::from_s(if depth == 1 { 3_000 } else { 800 }),
                ..LoadSpec::default()
            };
            load.blocks[0].size = Bytes::kib(block);
            load.size = (cache != HostCache::None).then_some(Bytes::gib(100));
            let machine = Machine::new(&environment, 1, initial).expect("the environment holds its own rules");
            let target = machine.target("data").expect("there is a volume");
            let begun = core_time();
            let setup = TrialSetup { trial: 0, seed: 1, started_unix_s: 0 };
            let simulated = simulate(&load, machine, target, setup).expect("the load fits");
            let took = core_time().saturating_sub(begun);
            let count = simulated.record.surroundings.asked.values().map(|(count, _)| count).sum::<u64>();
            println!("{name:38} {depth:>5} {count:>12} {:>16.0}", count as f64 / took.as_s_f64());
        }
    }
}
