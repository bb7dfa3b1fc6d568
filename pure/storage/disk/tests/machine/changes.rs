//! What changes in a machine while it runs.

use crate::drive::{MIB, disk, environment, limit, volume};
use loadline_block::{Operation, Request};
use loadline_disk::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, Fullness, HostCache, InitialState, IopsBudget, IopsBurst,
    Layout, Limit, Machine, Parallelism, Spinning, Target, Warmth,
};
use loadline_units::{ByteRate, Bytes, Duration, Instant, Iops, Ratio};

const NEW: InitialState = InitialState { bursts: Fullness::Full, vm_bursts: None, caches: Warmth::Cold };

fn machine(environment: &EnvironmentSpec) -> (Machine, Target) {
    let machine = Machine::new(environment, 1, NEW).unwrap();
    let target = machine.target("data").unwrap();
    (machine, target)
}

/// The time until `count` requests, all submitted at `now`, are answered.
fn all(machine: &mut Machine, target: Target, now: Instant, operation: Operation, count: u64) -> Duration {
    for number in 0..count {
        let request = Request { operation, durable: false, length: 4_096, offset: number * 4_096, due_at: now };
        machine.submit(now, target, request);
    }
    let mut last = now;
    while let Some(next) = machine.next_event_at() {
        while let Some((_, completion)) = machine.pop_completed(next) {
            last = completion.completed_at;
        }
    }
    last.since(now)
}

#[test]
fn a_mirror_that_lost_a_copy_reads_at_the_rate_of_one_disk() {
    let mut environment = environment(vec![volume("data", &disk(limit(1_000, 100 * MIB)), 2)]);
    environment.volumes[0].layout = Layout::Mirror { copies: 2 };
    let (mut machine, data) = machine(&environment);
    let both = all(&mut machine, data, Instant::ZERO, Operation::Read, 2_000);
    assert_eq!(both, Duration::from_s(1));
    let now = Instant::ZERO + Duration::from_s(10);
    machine.set_absent(now, data, 0, true);
    assert_eq!(all(&mut machine, data, now, Operation::Read, 2_000), Duration::from_s(2));
    let now = now + Duration::from_s(10);
    machine.set_absent(now, data, 0, false);
    assert_eq!(all(&mut machine, data, now, Operation::Read, 2_000), Duration::from_s(1));
}

#[test]
fn credits_are_told_and_can_be_spent_at_any_time() {
    let burst = IopsBurst { rate: Iops::per_second(3_000).unwrap(), credits: 100_000 };
    let budget = IopsBudget { burst: Some(burst), ..IopsBudget::steady(Iops::per_second(100).unwrap()) };
    for enforcement in
        [Enforcement::Smooth, Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::ZERO }]
    {
        let limit = Limit { iops: Some(Directions::Together(budget)), enforcement, ..Limit::default() };
        let environment = environment(vec![volume("data", &DiskSpec { limit, ..disk(Limit::default()) }, 1)]);
        let (mut machine, data) = machine(&environment);
        let now = Instant::ZERO + Duration::from_s(1_000);
        assert_eq!(machine.credits(now, data), Some(Ratio::ONE), "{enforcement:?}");
        machine.spend_credits(now, data);
        assert_eq!(machine.credits(now, data), Some(Ratio::ZERO), "{enforcement:?}");
        let took = all(&mut machine, data, now, Operation::Read, 1_000);
        assert!(took >= Duration::from_ms(9_800), "{took:?} {enforcement:?}");
        // A hundred a second fill a thousandth of the credits in each.
        let later = machine.now() + Duration::from_s(500);
        let left = machine.credits(later, data).unwrap();
        assert!(left >= Ratio::percent(49) && left <= Ratio::percent(51), "{left:?} {enforcement:?}");
    }
    let (machine, data) = machine(&environment(vec![volume("data", &disk(limit(10, MIB)), 1)]));
    assert_eq!(machine.credits(Instant::ZERO, data), None);
}

#[test]
fn a_dropped_cache_fetches_again() {
    let mut environment = environment(vec![volume("data", &disk(limit(1_000, 100 * MIB)), 1)]);
    environment.volumes[0].host_cache.mode = HostCache::ReadOnly;
    environment.volumes[0].host_cache.capacity = Some(Bytes::mib(64));
    let (mut machine, data) = machine(&environment);
    let mut now = Instant::ZERO;
    for (misses, drops) in [(100, false), (100, true), (200, false)] {
        all(&mut machine, data, now, Operation::Read, 100);
        assert_eq!(machine.waits(data).cache_misses, misses);
        now = machine.now() + Duration::from_s(1);
        if drops {
            machine.drop_caches(now, data);
        }
    }
    assert_eq!(machine.waits(data).cache_hits, 100);
}

#[test]
fn who_comes_after_a_break_waits_for_nothing_that_came_before() {
    let burst = IopsBurst { rate: Iops::per_second(500).unwrap(), credits: 100 };
    let bursting = IopsBudget { burst: Some(burst), ..IopsBudget::steady(Iops::per_second(100).unwrap()) };
    let windows = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(5) };
    let spinning = Spinning {
        revolutions_per_minute: 7_200,
        seek_min: Duration::from_ms(1),
        seek_max: Duration::from_ms(16),
        transfer: ByteRate::per_second(150_000_000).unwrap(),
        queue_depth: 32,
    };
    let plain = disk(limit(100, MIB));
    let with = |enforcement| DiskSpec { limit: Limit { enforcement, ..limit(100, MIB) }, ..plain.clone() };
    let of_bursts = Limit { iops: Some(Directions::Together(bursting)), ..Limit::default() };
    let pipe = ByteRate::per_second(1 << 20);
    let disks = [
        plain.clone(),
        with(windows),
        with(Enforcement::Bucket { depth: Duration::from_ms(100) }),
        disk(of_bursts.clone()),
        disk(Limit { enforcement: windows, ..of_bursts }),
        DiskSpec { parallelism: Parallelism { requests: Some(1), throughput: pipe }, ..disk(Limit::default()) },
        DiskSpec { parallelism: Parallelism { requests: Some(1), throughput: None }, ..plain.clone() },
        DiskSpec { spinning: Some(spinning), ..plain },
    ];
    for (number, one) in disks.iter().enumerate() {
        for mode in [HostCache::None, HostCache::ReadOnly, HostCache::ReadWrite] {
            let mut environment = environment(vec![volume("data", one, 1)]);
            environment.volumes[0].host_cache.mode = mode;
            environment.volumes[0].host_cache.capacity = (mode != HostCache::None).then_some(Bytes::mib(1));
            let (mut machine, data) = machine(&environment);
            let ask = |operation, number: u64| Request {
                operation,
                durable: false,
                length: 65_536,
                offset: number * 65_536,
                due_at: Instant::ZERO,
            };
            let mut now = Instant::ZERO;
            for round in 0..3 {
                for number in 0..1_000 {
                    let operation = if number % 2 == 0 { Operation::Write } else { Operation::Read };
                    machine.submit(now, data, ask(operation, number));
                }
                machine.submit(now, data, ask(Operation::Flush, 0));
                now = now + Duration::from_ms(300);
                while machine.pop_completed(now).is_some() {}
                assert!(machine.outstanding() > 100, "disk {number}, {mode:?}: all were answered");
                machine.break_off(now);
                assert_eq!(machine.outstanding(), 0);
                // Write-back in flight, and at most one turn of each limited resource.
                let took = all(&mut machine, data, now, Operation::Read, 1);
                assert!(took < Duration::from_s(2), "disk {number}, {mode:?}, round {round}: {took:?}");
                now = machine.now() + Duration::from_s(1);
            }
            let flushed = {
                let begin = machine.now() + Duration::from_s(1);
                machine.submit(begin, data, ask(Operation::Flush, 0));
                let mut end = begin;
                while let Some(next) = machine.next_event_at() {
                    while let Some((_, completion)) = machine.pop_completed(next) {
                        end = completion.completed_at;
                    }
                }
                end.since(begin)
            };
            assert!(flushed < Duration::from_s(2), "disk {number}, {mode:?}: a flush took {flushed:?}");
        }
    }
}
