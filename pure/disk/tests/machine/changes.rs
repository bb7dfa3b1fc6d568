//! What changes in a machine while it runs.

use crate::drive::{MIB, disk, environment, limit, volume};
use loadline_block::{Operation, Request};
use loadline_disk::{
    Directions, DiskSpec, EnvironmentSpec, Fullness, HostCache, InitialState, IopsBudget, IopsBurst, Layout, Limit,
    Machine, Target, Warmth,
};
use loadline_units::{Bytes, Duration, Instant, Iops, Ratio};

const NEW: InitialState = InitialState { bursts: Fullness::Full, vm_bursts: None, caches: Warmth::Cold };

fn machine(environment: &EnvironmentSpec) -> (Machine, Target) {
    let machine = Machine::new(environment, 1, NEW).unwrap();
    let target = machine.target("data").unwrap();
    (machine, target)
}

/// How long until `count` requests, all asked for at `now`, are answered.
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
    for enforcement in [
        loadline_disk::Enforcement::Smooth,
        loadline_disk::Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::ZERO },
    ] {
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
