//! Laws for any storage and load: Little's law, and independence of steps.

use crate::environments::{SETUP, blocks, closed, disk, latency, limit};
use loadline_disk::{
    DeviceQueues, Enforcement, EnvironmentSpec, Fullness, Holds, HostCache, InitialState, Layout, Machine, VmSpec,
    VolumeSpec, Warmth,
};
use loadline_record::TrialRecord;
use loadline_simulator::{Simulation, Together, simulate};
use loadline_units::{Bytes, Duration, Instant, Iops, Ratio};
use loadline_workload::{Arrival, FlushCadence, FlushMethod, GroupEnd, LoadSpec, Pattern};
use proptest::prelude::*;

fn environments() -> impl Strategy<Value = EnvironmentSpec> {
    let cache = prop_oneof![Just(HostCache::None), Just(HostCache::ReadOnly), Just(HostCache::ReadWrite)];
    let layout = prop_oneof![
        Just(Layout::Single),
        (2u32..5).prop_map(|columns| Layout::Stripe { columns, interleave: Bytes::kib(64) }),
        Just(Layout::Mirror { copies: 2 }),
    ];
    let enforcement = prop_oneof![
        Just(Enforcement::Smooth),
        Just(Enforcement::Bucket { depth: Duration::from_ms(200) }),
        Just(Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(4) }),
    ];
    let queues = prop::option::of((1u32..5, 1u32..16).prop_map(|(queues, depth)| DeviceQueues { queues, depth }));
    let guest = (queues, prop_oneof![Just(Holds::Requests), Just(Holds::Answers)]);
    (cache, layout, enforcement, 500u64..20_000, 200u64..4_000, guest).prop_map(
        |(mode, layout, enforcement, rate, median, guest)| {
            let median = Duration::from_us(median);
            let mut one = disk(limit(rate, rate * 65_536, enforcement), latency(median, median * 3));
            (one.device_queues, one.holds) = guest;
            let mut data = VolumeSpec {
                name: "data".to_owned(),
                disks: vec![one; layout.disks()],
                layout,
                ..VolumeSpec::default()
            };
            data.host_cache.mode = mode;
            let vm = VmSpec {
                uncached: Some(limit(12_800, 192 << 20, enforcement)),
                cached: Some(limit(16_000, 256 << 20, enforcement)),
                cache_size: Some(Bytes::mib(512)),
                ..VmSpec::default()
            };
            EnvironmentSpec { vm: Some(vm), volumes: vec![data], ..EnvironmentSpec::default() }
        },
    )
}

fn loads() -> impl Strategy<Value = LoadSpec> {
    let pattern = prop_oneof![Just(LoadSpec::default().pattern), Just(Pattern::Sequential { stride: None }),];
    let block = prop_oneof![Just(4u64), Just(8), Just(64), Just(256), Just(1_024)];
    let arrival = prop_oneof![
        (1u32..33).prop_map(closed),
        (1u32..33, 100u64..5_000, 0u64..5_000).prop_map(|(queue_depth, rate, think)| Arrival::Closed {
            queue_depth,
            rate_max: Iops::per_second(rate),
            think_time: Duration::from_us(think),
        }),
        (10u64..3_000).prop_map(|rate| Arrival::Poisson { rate: Iops::per_second(rate).unwrap() }),
        (10u64..3_000).prop_map(|rate| Arrival::Constant { rate: Iops::per_second(rate).unwrap() }),
    ];
    (pattern, 0u32..=100, block, arrival, 1u32..4, any::<bool>()).prop_map(
        |(pattern, reads, kib, arrival, threads, flushes)| LoadSpec {
            pattern,
            reads: Ratio::percent(reads),
            blocks: blocks(Bytes::kib(kib)),
            arrival,
            threads,
            size: Some(Bytes::gib(2)),
            flush: flushes.then_some(FlushCadence { every: 50, how: FlushMethod::Fdatasync }),
            warm_up: Duration::from_ms(1_500),
            cool_down: Duration::from_ms(300),
            duration: Duration::from_ms(2_700),
            ..LoadSpec::default()
        },
    )
}

fn in_steps(load: &LoadSpec, machine: Machine, steps: &[u64]) -> TrialRecord {
    let target = machine.target("data").unwrap();
    let mut simulation = Simulation::new(load, machine, target, SETUP).unwrap();
    let mut until = 0;
    for step in steps.iter().cycle() {
        until += step;
        if simulation.run_until(Instant::from_ns(until)).unwrap() {
            return simulation.finish().record;
        }
    }
    unreachable!("the steps go on for ever")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn in_steps_is_as_in_one_go(
        environment in environments(), load in loads(), seed in any::<u64>(),
        steps in prop::collection::vec(1u64..700_000_000, 1..20),
    ) {
        let machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        let target = machine.target("data").unwrap();
        let whole = simulate(&load, machine.clone(), target, SETUP).unwrap().record;
        prop_assert_eq!(in_steps(&load, machine, &steps), whole);
    }

    /// A load that is alone among several places is as by itself, in one go and in steps.
    #[test]
    fn alone_together_is_as_by_itself(
        environment in environments(), load in loads(), seed in any::<u64>(),
        steps in prop::collection::vec(1u64..700_000_000, 1..20),
    ) {
        let machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        let target = machine.target("data").unwrap();
        let whole = simulate(&load, machine.clone(), target, SETUP).unwrap();
        let mut together = Together::new(&[(&load, target, SETUP)], GroupEnd::Each, machine).unwrap();
        let mut until = 0;
        for step in steps.iter().cycle() {
            until += step;
            if together.run_until(Instant::from_ns(until)).unwrap() {
                break;
            }
        }
        let (records, _) = together.finish();
        prop_assert_eq!(&records[0].0, &whole.record);
        prop_assert_eq!(&records[0].1, &whole.waits);
    }

    /// Requests outstanding are the rate times the latency.
    #[test]
    fn littles_law_holds(environment in environments(), each in 1u32..65, threads in 1u32..4, kib in 1u64..33, reads in 0u32..=100, warm in any::<bool>()) {
        let caches = if warm { Warmth::Warm } else { Warmth::Cold };
        let machine = Machine::new(&environment, 5, InitialState { bursts: Fullness::Full, vm_bursts: None, caches }).unwrap();
        let target = machine.target("data").unwrap();
        let depth = each * threads;
        let load = LoadSpec {
            reads: Ratio::percent(reads),
            blocks: blocks(Bytes::kib(4 * kib)),
            arrival: closed(each),
            threads,
            size: Some(Bytes::gib(2)),
            warm_up: Duration::from_s(2),
            duration: Duration::from_s(10),
            ..LoadSpec::default()
        };
        let record = simulate(&load, machine, target, SETUP).unwrap().record;
        let sum: u128 = record.operations.values().map(|operation| operation.latency.sum_ns()).sum();
        let outstanding = sum as f64 / record.measured_ns as f64;
        // Of each place in the queue, one request begins before the measurement and one ends after it.
        let longest = record.operations.values().filter_map(|o| o.latency.max()).max().unwrap().as_s_f64();
        let slack = (longest / 10.0).max(0.001) * f64::from(depth);
        prop_assert!((outstanding - f64::from(depth)).abs() <= slack, "{outstanding} of {depth}, slack {slack}");
        for second in &record.series.seconds {
            prop_assert!((second.outstanding - f64::from(depth)).abs() < 1e-9);
        }
    }

    /// No second gives more than the budgets, their depth, and the requests in flight allow.
    #[test]
    fn no_second_passes_the_limit(environment in environments(), depth in 1u32..200) {
        let mut environment = environment;
        environment.volumes[0].host_cache.mode = HostCache::None;
        let machine = Machine::new(&environment, 9, InitialState::default()).unwrap();
        let target = machine.target("data").unwrap();
        let load = LoadSpec { arrival: closed(depth), duration: Duration::from_s(5), ..LoadSpec::default() };
        let record = simulate(&load, machine, target, SETUP).unwrap().record;
        // The virtual machine's 12,800 with a window more at either end.
        prop_assert!(record.series.seconds.iter().all(|s| s.count() <= 12_800 + 12_800 / 4 + u64::from(depth)));
        let rate = record.iops().unwrap();
        prop_assert!(rate <= 12_800.0 * 1.02, "{rate}");
    }
}
