//! The host's caches: hits, counting, and how writes fill them and stall.

use crate::drive::{Load, MIB, constant, disk, environment, limit, rates, reads, run, volume, writes};
use loadline_block::{Operation, Request};
use loadline_disk::{EnvironmentSpec, Fullness, HostCache, InitialState, Machine, VmSpec, Warmth};
use loadline_units::{Bytes, Duration, Instant, Ratio};

const COLD: InitialState = InitialState { bursts: Fullness::Full, vm_bursts: None, caches: Warmth::Cold };
const WARM: InitialState = InitialState { bursts: Fullness::Full, vm_bursts: None, caches: Warmth::Warm };

fn setup(mode: HostCache, cache_size: Option<Bytes>) -> EnvironmentSpec {
    let mut data = volume("data", &disk(limit(500, 100 * MIB)), 1);
    data.host_cache.mode = mode;
    let vm = VmSpec {
        uncached: Some(limit(3_000, 128 * MIB)),
        cached: Some(limit(8_000, 66 * MIB)),
        cache_size,
        ..VmSpec::default()
    };
    EnvironmentSpec { vm: Some(vm), ..environment(vec![data]) }
}

#[test]
fn hits_are_bound_by_the_cached_budget_and_misses_by_the_disk() {
    let environment = setup(HostCache::ReadOnly, None);
    assert_eq!(rates(&environment, WARM, &[reads("data", 4096, 32)]), [8_000]);
    let misses = Load { span: 1 << 39, ..reads("data", 4096, 32) };
    assert_eq!(rates(&environment, COLD, &[misses]), [500]);
}

#[test]
fn writes_go_through_a_read_only_cache_and_are_then_in_it() {
    let environment = setup(HostCache::ReadOnly, None);
    assert_eq!(rates(&environment, COLD, &[writes("data", 4096, 32)]), [500]);
    let mut machine = Machine::new(&environment, 1, COLD).unwrap();
    let small = |load: Load| Load { span: 1 << 20, ..load };
    run(&mut machine, &[small(writes("data", 4096, 32))], Duration::ZERO, Duration::from_s(2));
    let mut machine = drained(machine);
    let read = run(&mut machine, &[small(reads("data", 4096, 32))], Duration::ZERO, Duration::from_s(1));
    assert!(read[0].count.abs_diff(8_000) <= 40, "{}", read[0].count);
}

/// A published cached limit counts misses and writes too; an estimate covers answers of the cache alone.
#[test]
fn an_estimated_limit_holds_for_what_the_cache_answers_alone() {
    let mut environment = setup(HostCache::ReadOnly, None);
    environment.volumes[0].disks[0].limit = limit(2_000, 100 * MIB);
    let misses = Load { span: 1 << 39, ..reads("data", 4096, 32) };
    for (estimated, beyond) in [(false, 300), (true, 2_000)] {
        let vm = environment.vm.as_mut().unwrap();
        (vm.cached, vm.cached_estimated) = (Some(limit(300, 66 * MIB)), estimated);
        assert_eq!(rates(&environment, WARM, &[reads("data", 4096, 32)]), [300]);
        assert_eq!(rates(&environment, COLD, &[writes("data", 4096, 32)]), [beyond]);
        assert_eq!(rates(&environment, COLD, &[misses]), [beyond]);
    }
    environment.volumes[0].host_cache.mode = HostCache::ReadWrite;
    assert_eq!(rates(&environment, COLD, &[writes("data", 4096, 32)]), [300], "what the cache takes is answered by it");
}

/// A machine with nothing outstanding.
fn drained(mut machine: Machine) -> Machine {
    while machine.outstanding() > 0 {
        let at = machine.next_event_at().unwrap();
        machine.pop_completed(at);
    }
    machine
}

#[test]
fn a_cold_cache_warms_by_what_was_asked_for() {
    let environment = setup(HostCache::ReadOnly, None);
    let mut machine = Machine::new(&environment, 1, COLD).unwrap();
    // 4,096 blocks at 500 a second are all there within some ten seconds; then hits alone.
    let load = Load { sequential: true, span: 16 << 20, ..reads("data", 4096, 32) };
    let achieved = run(&mut machine, &[load], Duration::from_s(20), Duration::from_s(30));
    assert!(achieved[0].count.abs_diff(80_000) <= 10, "{}", achieved[0].count);
}

#[test]
fn what_does_not_fit_gives_way() {
    let environment = setup(HostCache::ReadOnly, Some(Bytes::mib(64)));
    let mut machine = Machine::new(&environment, 1, WARM).unwrap();
    // Half of 128 MiB fits: half of the reads hit, so the disk's 500 are half of all.
    let load = Load { span: 128 << 20, ..reads("data", 4096, 32) };
    let achieved = run(&mut machine, &[load], Duration::from_s(60), Duration::from_s(120));
    let rate = achieved[0].count as f64 / 60.0;
    assert!((rate / 1_000.0 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn a_read_write_cache_takes_writes_at_its_own_rate_until_it_is_full_and_stalls() {
    let mut environment = setup(HostCache::ReadWrite, Some(Bytes::mib(256)));
    environment.volumes[0].host_cache.dirty_max = Ratio::percent(50);
    let mut machine = Machine::new(&environment, 1, COLD).unwrap();
    // 128 MiB may be dirty: 32,768 blocks, filled at 8,000 a second less the disk's own rate.
    let load = Load { span: 1 << 39, ..writes("data", 4096, 32) };
    let first = run(&mut machine, &[load], Duration::ZERO, Duration::from_s(4));
    assert_eq!(first[0].count / 100, 320);
    let mut machine = drained(machine);
    let later = run(&mut machine, &[load], Duration::from_s(6), Duration::from_s(26));
    assert!(later[0].count.abs_diff(20 * 500) <= 100, "{}", later[0].count);
    assert!(machine.waits(machine.target("data").unwrap()).cache > Duration::ZERO);
}

#[test]
fn stalled_writes_wait_for_the_share_that_was_asked_for() {
    let mut environment = setup(HostCache::ReadWrite, Some(Bytes::mib(32)));
    environment.volumes[0].host_cache.resume_at = Ratio::percent(10);
    let mut machine = Machine::new(&environment, 1, COLD).unwrap();
    let load = Load { span: 1 << 39, ..writes("data", 4096, 32) };
    let mut achieved = run(&mut machine, &[load], Duration::ZERO, Duration::from_s(60));
    // 90 % of 8,192 blocks at 500 a second: a stall of about 14.7 s.
    let longest = achieved[0].percentile(1.0) / 1e3;
    assert!((longest - 14.7).abs() < 0.5, "{longest} s");
}

#[test]
fn a_flush_waits_until_what_was_written_is_on_the_disk() {
    let environment = setup(HostCache::ReadWrite, None);
    let mut machine = Machine::new(&environment, 1, COLD).unwrap();
    let target = machine.target("data").unwrap();
    let now = Instant::ZERO;
    let request = |operation, number: u64, durable| Request {
        operation,
        durable,
        length: if operation == Operation::Flush { 0 } else { 4096 },
        offset: if operation == Operation::Flush { 0 } else { number << 20 },
        due_at: now,
    };
    for number in 0..1_000 {
        machine.submit(now, target, request(Operation::Write, number, false));
    }
    let flush = machine.submit(now, target, request(Operation::Flush, 0, false));
    let durable = machine.submit(now, target, request(Operation::Write, 5_000, true));
    let (mut last_write, mut flushed, mut written_through) = (now, now, now);
    while machine.outstanding() > 0 {
        let at = machine.next_event_at().unwrap();
        match machine.pop_completed(at) {
            Some((id, _)) if id == flush => flushed = at,
            Some((id, _)) if id == durable => written_through = at,
            Some(_) => last_write = last_write.max(at),
            None => {}
        }
    }
    // The cache's rate is 8,000 a second, the disk's 500.
    assert!(last_write.as_ns() < 200_000_000, "{last_write:?}");
    assert!(flushed.as_ns() > 1_990_000_000 && flushed.as_ns() < 2_200_000_000, "{flushed:?}");
    assert!(written_through.as_ns() >= constant(Duration::from_ms(1)).write.median.as_ns());
}

#[test]
fn what_no_cache_can_hold_is_written_through() {
    let environment = setup(HostCache::ReadWrite, None);
    let mut environment = environment;
    environment.volumes[0].disks[0].size = None;
    let mut machine = Machine::new(&environment, 1, COLD).unwrap();
    let target = machine.target("data").unwrap();
    let request =
        Request { operation: Operation::Write, durable: false, length: 4096, offset: 1 << 60, due_at: Instant::ZERO };
    machine.submit(Instant::ZERO, target, request);
    let at = machine.next_event_at().unwrap();
    assert_eq!(at, Instant::from_ns(1_000_000));
    assert!(machine.pop_completed(at).is_some());
}
