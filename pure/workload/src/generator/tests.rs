//! What every stream of requests keeps.

use super::*;
use crate::{Arrival, BlockShare, Distribution, FlushCadence, Walk, Zone};
use loadline_units::{Duration, Iops, Ratio};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn region(files: u32, size: u64) -> Region {
    Region { files, file_size: Bytes::new(size), start: Bytes::ZERO, size: Bytes::new(size) }
}

fn requests(generator: &mut LoadGenerator, count: usize) -> Vec<Request> {
    (0..count).map(|_| generator.replay()).collect()
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Random(Distribution::Uniform)),
        Just(Pattern::Random(Distribution::Permutation)),
        (1u32..3_000).prop_map(|theta_milli| Pattern::Random(Distribution::Zipf { theta_milli })),
        (1u32..=100, 1u32..100).prop_map(|(r, b)| Pattern::Random(Distribution::HotCold {
            requests: Ratio::percent(r),
            blocks: Ratio::percent(b),
        })),
        (1u32..1_000).prop_map(|h_milli| Pattern::Random(Distribution::Pareto { h_milli })),
        (1u32..100, 1u32..100).prop_map(|(r, b)| {
            let zone = |requests, blocks| Zone { requests: Ratio::percent(requests), blocks: Ratio::percent(blocks) };
            Pattern::Random(Distribution::Zoned { zones: vec![zone(r, b), zone(100 - r, 100 - b)] })
        }),
        Just(Pattern::Sequential { stride: None }),
        (2u64..6).prop_map(|n| Pattern::Sequential { stride: Some(Bytes::kib(64 * n)) }),
    ]
}

proptest! {
    #[test]
    fn every_request_lies_in_one_file_of_the_region(
        pattern in any_pattern(), walk in prop_oneof![Just(Walk::Onward), Just(Walk::Again), Just(Walk::Back)],
        overlap in any::<bool>(), files in 1u32..4, blocks in 16u64..200, threads in 1u32..4, mixed in any::<bool>(), seed in any::<u64>(),
    ) {
        let small = BlockShare { size: Bytes::kib(4), share: Ratio::percent(60) };
        let large = BlockShare { size: Bytes::kib(64), share: Ratio::percent(40) };
        let fixed = BlockShare { size: Bytes::kib(64), share: Ratio::ONE };
        let spec = LoadSpec { pattern, walk, overlap, threads, files, blocks: if mixed { vec![small, large] } else { vec![fixed] }, ..LoadSpec::default() };
        let region = Region {
            files, file_size: Bytes::kib(64 * blocks + 128), start: Bytes::kib(64), size: Bytes::kib(64 * blocks),
        };
        for thread in 0..threads {
            let mut generator = LoadGenerator::new(&spec, &region, thread, seed, Instant::ZERO).unwrap();
            for request in requests(&mut generator, 300) {
                let (file, within) = (request.offset / region.file_size.get(), request.offset % region.file_size.get());
                prop_assert!(file < u64::from(files));
                prop_assert!(within >= region.start.get());
                prop_assert!(within + u64::from(request.length) <= region.start.get() + region.size.get());
                prop_assert_eq!(request.offset % 4096, 0);
            }
        }
    }

    #[test]
    fn a_stream_is_the_same_whatever_the_time(pattern in any_pattern(), seed in any::<u64>(), gaps in prop::collection::vec(0u64..1_000_000, 50)) {
        let spec = LoadSpec {
            pattern, reads: Ratio::percent(50), flush: Some(FlushCadence { every: 3, how: FlushMethod::Fdatasync }),
            blocks: vec![BlockShare { size: Bytes::kib(64), share: Ratio::ONE }],
            arrival: Arrival::Poisson { rate: Iops::per_second(100_000).unwrap() }, ..LoadSpec::default()
        };
        let region = region(1, 64 << 20);
        let mut timed = LoadGenerator::new(&spec, &region, 0, seed, Instant::ZERO).unwrap();
        let mut replayed = timed.clone();
        let mut now = Instant::ZERO;
        for gap in gaps {
            now = now + Duration::from_ns(gap);
            while let Next::Request(request) = timed.next(now) {
                let again = replayed.replay();
                prop_assert_eq!((request.operation, request.offset, request.length), (again.operation, again.offset, again.length));
                prop_assert!(request.due_at <= now);
            }
        }
    }

    /// Whatever the load, a request that follows at once is the one that completing and asking would have given; and asking gives no
    /// second one.
    #[test]
    fn a_request_that_follows_at_once_is_the_next_one(
        pattern in any_pattern(), depth in 1u32..9, percent in 0u32..=100, every in prop::option::of(1u64..4), separate in any::<bool>(),
        paced in any::<bool>(), seed in any::<u64>(),
    ) {
        let how = if separate { FlushMethod::Fdatasync } else { FlushMethod::Fua };
        let think_time = if paced { Duration::from_us(10) } else { Duration::ZERO };
        let spec = LoadSpec {
            pattern, reads: Ratio::percent(percent), flush: every.map(|every| FlushCadence { every, how }),
            arrival: Arrival::Closed { queue_depth: depth, rate_max: None, think_time }, ..LoadSpec::default()
        };
        let mut asked = LoadGenerator::new(&spec, &region(1, 1 << 26), 0, seed, Instant::ZERO).unwrap();
        prop_assert_eq!(asked.follows_at_once(), !(paced || separate && every.is_some()));
        prop_assume!(asked.follows_at_once());
        for _ in 0..depth {
            prop_assert!(matches!(asked.next(Instant::ZERO), Next::Request(_)));
        }
        let mut follows = asked.clone();
        for number in 1..100u64 {
            let now = Instant::from_ns(number * 1_000);
            asked.complete(now);
            prop_assert_eq!(asked.next(now), Next::Request(follows.follow(now)));
            prop_assert_eq!(asked.next(now), Next::Blocked);
        }
    }

    #[test]
    fn each_once_covers_every_block_before_any_repeats(blocks in 1u64..500, threads in 1u32..4, files in 1u32..3, seed in any::<u64>()) {
        let spec = LoadSpec { pattern: Pattern::Random(Distribution::Permutation), threads, files, ..LoadSpec::default() };
        let region = region(files, blocks * 4096);
        let total = blocks * u64::from(files);
        prop_assume!(total >= u64::from(threads));
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        for thread in 0..threads {
            let share = total * u64::from(thread + 1) / u64::from(threads) - total * u64::from(thread) / u64::from(threads);
            let mut generator = LoadGenerator::new(&spec, &region, thread, seed, Instant::ZERO).unwrap();
            for request in requests(&mut generator, share as usize) {
                *seen.entry(request.offset).or_default() += 1;
            }
        }
        prop_assert_eq!(seen.len() as u64, total);
    }

    #[test]
    fn threads_of_a_verified_load_keep_to_themselves(pattern in any_pattern(), threads in 2u32..5, seed in any::<u64>()) {
        let spec = LoadSpec { pattern, threads, verify: true, blocks: vec![BlockShare { size: Bytes::kib(64), share: Ratio::ONE }], ..LoadSpec::default() };
        let mut owner: BTreeMap<u64, u32> = BTreeMap::new();
        for thread in 0..threads {
            let mut generator = LoadGenerator::new(&spec, &region(1, 64 << 16), thread, seed, Instant::ZERO).unwrap();
            for request in requests(&mut generator, 200) {
                prop_assert_eq!(*owner.entry(request.offset).or_insert(thread), thread);
            }
        }
    }
}

#[test]
fn a_closed_loop_keeps_its_depth_and_no_more() {
    let arrival = Arrival::Closed { queue_depth: 3, rate_max: None, think_time: Duration::ZERO };
    let spec = LoadSpec { arrival, ..LoadSpec::default() };
    let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), 0, 1, Instant::ZERO).unwrap();
    let now = Instant::from_ns(5);
    generator.begin(now);
    // Whoever else begins later changes nothing.
    generator.begin(Instant::from_ns(8));
    for _ in 0..3 {
        assert!(matches!(generator.next(now), Next::Request(r) if r.due_at == now));
    }
    assert_eq!(generator.next(now), Next::Blocked);
    generator.complete(now);
    assert!(matches!(generator.next(now), Next::Request(_)));
}

#[test]
fn a_request_of_a_closed_loop_is_due_when_its_place_became_free_however_late_it_is_taken() {
    let arrival = Arrival::Closed { queue_depth: 4, rate_max: None, think_time: Duration::ZERO };
    let flush = Some(FlushCadence { every: 3, how: FlushMethod::Fdatasync });
    let spec = LoadSpec { arrival, flush, reads: Ratio::ZERO, ..LoadSpec::default() };
    let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), 0, 1, Instant::ZERO).unwrap();
    let at = Instant::from_ns;
    let mut take = |now: u64, freed: &[u64]| {
        for freed in freed {
            generator.complete(at(*freed));
        }
        match generator.next(at(now)) {
            Next::Request(request) => Some((request.operation, request.due_at.as_ns())),
            _ => None,
        }
    };
    let write = |due_at| Some((Operation::Write, due_at));
    assert_eq!([take(0, &[]), take(7, &[])], [write(0), write(0)]);
    // Two are free from the beginning; then two of 10 and one of 20.
    assert_eq!(take(30, &[10, 10]), write(0));
    assert_eq!(take(30, &[]), Some((Operation::Flush, 0)));
    assert_eq!(take(31, &[20]), write(10));
    assert_eq!(take(40, &[]), write(10));
    assert_eq!(take(41, &[]), write(20));
    // A flush comes in the place that is free next, not before it was.
    assert_eq!(take(50, &[]), None);
    assert_eq!(take(60, &[55]), Some((Operation::Flush, 55)));
}

#[test]
fn think_time_delays_the_next_request_of_a_place() {
    let arrival = Arrival::Closed { queue_depth: 1, rate_max: None, think_time: Duration::from_ms(2) };
    let spec = LoadSpec { arrival, ..LoadSpec::default() };
    let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), 0, 1, Instant::ZERO).unwrap();
    assert!(matches!(generator.next(Instant::ZERO), Next::Request(_)));
    generator.complete(Instant::from_ns(1_000_000));
    assert_eq!(generator.next(Instant::from_ns(1_000_000)), Next::At(Instant::from_ns(3_000_000)));
}

#[test]
fn a_rate_ceiling_is_kept_exactly_in_the_long_run() {
    let rate = Iops::per_second(7_000);
    let arrival = Arrival::Closed { queue_depth: 4, rate_max: rate, think_time: Duration::ZERO };
    let spec = LoadSpec { arrival, threads: 3, ..LoadSpec::default() };
    let mut given = 0;
    for thread in 0..3 {
        let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), thread, 1, Instant::ZERO).unwrap();
        for us in (0..10_000_000u64).step_by(50) {
            let now = Instant::from_ns(us * 1_000);
            while let Next::Request(_) = generator.next(now) {
                given += 1;
                generator.complete(now);
            }
        }
    }
    assert!((69_990..=70_003).contains(&given), "{given} in ten seconds");
}

#[test]
fn constant_arrivals_of_all_threads_together_are_evenly_spaced() {
    let spec = LoadSpec {
        arrival: Arrival::Constant { rate: Iops::per_second(1_000).unwrap() },
        threads: 4,
        ..LoadSpec::default()
    };
    let mut due = Vec::new();
    for thread in 0..4 {
        let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), thread, 1, Instant::ZERO).unwrap();
        while let Next::Request(request) = generator.next(Instant::from_ns(999_999_999)) {
            due.push(request.due_at.as_ns());
        }
    }
    due.sort_unstable();
    assert_eq!(due, (0..1_000).map(|n| n * 1_000_000).collect::<Vec<_>>());
}

#[test]
fn poisson_gaps_have_the_mean_and_the_spread_of_the_law() {
    let spec = LoadSpec { arrival: Arrival::Poisson { rate: Iops::per_second(1_000).unwrap() }, ..LoadSpec::default() };
    let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), 0, 3, Instant::ZERO).unwrap();
    let mut gaps = Vec::new();
    let mut last = 0;
    while let Next::Request(request) = generator.next(Instant::from_ns(100_000_000_000)) {
        gaps.push((request.due_at.as_ns() - last) as f64 / 1e6);
        last = request.due_at.as_ns();
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.01, "mean {mean}");
    assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
}

#[test]
fn a_flush_follows_every_third_write() {
    let spec = LoadSpec {
        reads: Ratio::ZERO,
        flush: Some(FlushCadence { every: 3, how: FlushMethod::Fdatasync }),
        ..LoadSpec::default()
    };
    let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 20), 0, 1, Instant::ZERO).unwrap();
    let mut kinds = Vec::new();
    for step in 0..8 {
        let now = Instant::from_ns(step);
        if let Next::Request(request) = generator.next(now) {
            kinds.push(request.operation.name());
            generator.complete(now);
        }
    }
    assert_eq!(kinds, ["write", "write", "write", "flush", "write", "write", "write", "flush"]);
}

#[test]
fn shares_of_operations_and_sizes_are_those_asked() {
    let share = |size, percent| BlockShare { size: Bytes::kib(size), share: Ratio::percent(percent) };
    let spec = LoadSpec {
        reads: Ratio::percent(70),
        trims: Ratio::percent(10),
        blocks: vec![share(4, 25), share(8, 75)],
        ..LoadSpec::default()
    };
    let mut generator = LoadGenerator::new(&spec, &region(1, 1 << 24), 0, 1, Instant::ZERO).unwrap();
    let all = requests(&mut generator, 100_000);
    let share = |test: &dyn Fn(&Request) -> bool| all.iter().filter(|r| test(r)).count() as f64 / 1e5;
    assert!((share(&|r| r.operation == Operation::Trim) - 0.10).abs() < 0.01);
    assert!((share(&|r| r.operation == Operation::Read) - 0.63).abs() < 0.01);
    assert!((share(&|r| r.length == 4096) - 0.25).abs() < 0.01);
}

#[test]
fn sequential_threads_walk_their_own_stretches_and_come_round() {
    let spec = LoadSpec { pattern: Pattern::Sequential { stride: None }, threads: 2, ..LoadSpec::default() };
    let offsets = |thread| {
        let mut generator = LoadGenerator::new(&spec, &region(1, 4 * 4096), thread, 1, Instant::ZERO).unwrap();
        requests(&mut generator, 3).iter().map(|r| r.offset / 4096).collect::<Vec<_>>()
    };
    assert_eq!(offsets(0), [0, 1, 0]);
    assert_eq!(offsets(1), [2, 3, 2]);
}

#[test]
fn a_region_too_small_is_named() {
    let spec = LoadSpec::default();
    assert!(LoadGenerator::new(&spec, &region(1, 2048), 0, 1, Instant::ZERO).is_err());
}

/// What three threads ask, up to what each of them moves of 128 blocks.
fn of_three(spec: &LoadSpec, size: Bytes) -> [Vec<u64>; 3] {
    let spec = LoadSpec { threads: 3, size: Some(size), blocks: one_block(Bytes::kib(16)), ..spec.clone() };
    spec.check().unwrap();
    let of = |thread| {
        let mut generator = LoadGenerator::new(&spec, &region(1, size.get()), thread, 5, Instant::ZERO).unwrap();
        let count = spec.volume_of(thread, Bytes::mib(6)).get() / Bytes::kib(16).get();
        requests(&mut generator, count as usize).iter().map(|request| request.offset).collect()
    };
    [of(0), of(1), of(2)]
}

fn one_block(size: Bytes) -> Vec<BlockShare> {
    vec![BlockShare { size, share: Ratio::ONE }]
}

#[test]
fn random_threads_that_begin_apart_ask_each_block_of_their_own_once() {
    let step = Bytes::mib(2);
    let pattern = Pattern::Random(Distribution::Permutation);
    let staggered = Some(crate::Staggered { step, length: Some(step) });
    let all = of_three(&LoadSpec { pattern, staggered, ..LoadSpec::default() }, step * 3);
    for (thread, offsets) in all.iter().enumerate() {
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        let begin = thread as u64 * step.get();
        assert_eq!(sorted, (0..128).map(|block| begin + block * (16 << 10)).collect::<Vec<_>>());
        assert_ne!(*offsets, sorted);
    }
    let order = |thread: usize| all[thread].iter().map(|offset| offset % step.get()).collect::<Vec<_>>();
    assert_ne!(order(0), order(1));
}

#[test]
fn random_threads_over_the_same_blocks_each_have_an_order_of_their_own() {
    let pattern = Pattern::Random(Distribution::Permutation);
    let all = of_three(&LoadSpec { pattern, overlap: true, ..LoadSpec::default() }, Bytes::mib(2));
    for offsets in &all {
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..128).map(|block| block * (16 << 10)).collect::<Vec<_>>());
    }
    assert!(all[0] != all[1] && all[1] != all[2]);
}

#[test]
fn the_threads_share_out_what_they_move() {
    for (threads, volume) in [(3, 128 * 3), (3, 100), (4, 3), (1, 7)] {
        let spec = LoadSpec { threads, ..LoadSpec::default() };
        let volume = Bytes::kib(4) * volume + Bytes::new(512);
        let each: Vec<u64> = (0..threads).map(|thread| spec.volume_of(thread, volume).get()).collect();
        assert_eq!(each.iter().sum::<u64>(), volume.get());
        let blocks = || each.iter().map(|bytes| bytes >> 12);
        assert!(blocks().max() <= blocks().min().map(|least| least + 1), "{each:?}");
    }
}
