//! Waiting is counted for the target whose requests wait.

use crate::drive::{MIB, constant, disk, environment, limit, reads, run, volume, writes};
use crate::replay::{environments, requests};
use loadline_block::{Operation, Request};
use loadline_disk::{EnvironmentSpec, HostCache, InitialState, Layout, Machine, VmSpec, WaitTimes, Waits};
use loadline_units::{Bytes, Duration, Instant};
use proptest::prelude::*;

fn total(waited: WaitTimes) -> Duration {
    waited.iops + waited.throughput
}

fn at_limits(waits: &Waits) -> Duration {
    let Waits { vm_cached, vm_uncached, allowances, pools, disks, .. } = *waits;
    [vm_cached, vm_uncached, allowances, pools, disks].into_iter().map(total).fold(Duration::ZERO, |sum, one| sum + one)
}

/// Two disks of 1,000 IOPS each behind a machine with a limit of 1,500.
fn shared() -> EnvironmentSpec {
    let one = disk(limit(1_000, 1 << 40));
    let vm = VmSpec { uncached: Some(limit(1_500, 1 << 40)), ..VmSpec::default() };
    EnvironmentSpec { vm: Some(vm), ..environment(vec![volume("a", &one, 1), volume("b", &one, 1)]) }
}

fn accounted(environment: &EnvironmentSpec) -> Machine {
    let mut machine = Machine::new(environment, 1, InitialState::default()).unwrap();
    machine.keep_accounts();
    machine
}

fn held(machine: &Machine, name: &str) -> Waits {
    machine.held(machine.target(name).unwrap()).unwrap()
}

#[test]
fn without_accounts_nothing_is_told() {
    let machine = Machine::new(&shared(), 1, InitialState::default()).unwrap();
    assert_eq!(machine.held(machine.target("a").unwrap()), None);
}

#[test]
fn what_volumes_share_is_told_apart() {
    let mut machine = accounted(&shared());
    // One load is deep and limited by its own disk; the other gets the rest of the machine's budget.
    let loads = [reads("a", 4_096, 64), reads("b", 4_096, 2)];
    run(&mut machine, &loads, Duration::ZERO, Duration::from_s(5));
    let all = machine.waits(machine.target("a").unwrap());
    let (a, b) = (held(&machine, "a"), held(&machine, "b"));
    assert_eq!(total(a.vm_uncached) + total(b.vm_uncached), total(all.vm_uncached));
    assert!(total(a.vm_uncached) > total(b.vm_uncached) && total(b.vm_uncached) > Duration::ZERO, "{a:?} {b:?}");
    assert_eq!(total(a.disks), total(all.disks));
    assert_eq!(held(&machine, "a/0"), Waits::default());
}

#[test]
fn of_a_request_in_parts_the_last_one_counts() {
    let mut one = disk(limit(100, 1 << 40));
    one.latency = constant(Duration::ZERO);
    let mut machine = accounted(&environment(vec![volume("data", &one, 4)]));
    let target = machine.target("data").unwrap();
    // Four parts of 64 KiB, a disk each, twice: the second ones wait for 10 ms, all at once.
    for _ in 0..2 {
        let request =
            Request { operation: Operation::Read, durable: false, length: 256 << 10, offset: 0, due_at: Instant::ZERO };
        machine.submit(Instant::ZERO, target, request);
    }
    assert_eq!(total(held(&machine, "data").disks), Duration::from_ms(10));
    assert_eq!(total(machine.waits(target).disks), Duration::from_ms(40));
}

#[test]
fn writes_that_a_full_cache_holds_and_flushes_behind_them_wait_for_the_cache() {
    let one = disk(limit(1_000, 10 << 20));
    let mut environment = environment(vec![volume("data", &one, 1)]);
    environment.volumes[0].host_cache.mode = HostCache::ReadWrite;
    environment.volumes[0].host_cache.capacity = Some(Bytes::new(8 * MIB));
    let mut machine = accounted(&environment);
    let achieved = run(&mut machine, &[writes("data", 65_536, 8)], Duration::ZERO, Duration::from_s(10));
    let waits = held(&machine, "data");
    let spent: u64 = achieved[0].latencies.iter().sum();
    assert!(waits.cache.as_ns() * 10 > spent * 9, "{waits:?} of {spent} ns");
    assert_eq!(total(waits.disks), Duration::ZERO, "nobody waits for what the cache writes back");
    let (now, before) = (machine.now(), waits.cache);
    let target = machine.target("data").unwrap();
    let flush = Request { operation: Operation::Flush, durable: false, length: 0, offset: 0, due_at: now };
    machine.submit(now, target, flush);
    let (mut last, mut flushed) = (now, now);
    while let Some(at) = machine.next_event_at() {
        last = at;
        while let Some((_, answer)) = machine.pop_completed(at) {
            if answer.request.operation == Operation::Flush {
                flushed = answer.completed_at;
            }
        }
    }
    let waited = held(&machine, "data").cache.saturating_sub(before);
    assert!(flushed > now && last >= flushed);
    // Writes that stalled before it went on meanwhile, and waited too.
    assert!(waited + Duration::from_ms(1) >= flushed.since(now), "{waited:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Accounts change no answer. On one disk without a cache they have each request's exact delay.
    #[test]
    fn accounts_tell_what_answers_tell(
        environment in environments(), requests in requests(), seed in any::<u64>(), single in any::<bool>(),
    ) {
        let mut environment = environment;
        if single {
            let volume = &mut environment.volumes[0];
            volume.disks.truncate(1);
            (volume.layout, volume.host_cache.mode) = (Layout::Single, HostCache::None);
        }
        let mut plain = Machine::new(&environment, seed, InitialState::default()).unwrap();
        let mut machine = plain.clone();
        machine.keep_accounts();
        let (target, mut expected) = (machine.target("data").unwrap(), Duration::ZERO);
        for request in &requests {
            for machine in [&mut plain, &mut machine] {
                machine.submit(request.due_at, target, *request);
            }
            while let Some(answer) = plain.pop_completed(request.due_at) {
                prop_assert_eq!(machine.pop_completed(request.due_at), Some(answer));
                expected = expected + answer.1.admitted_at.since(answer.1.submitted_at);
            }
        }
        while let Some(at) = plain.next_event_at() {
            let answer = plain.pop_completed(at);
            prop_assert_eq!(machine.pop_completed(at), answer);
            expected = expected + answer.map_or(Duration::ZERO, |(_, answer)| answer.admitted_at.since(answer.submitted_at));
        }
        let waits = machine.held(target).unwrap();
        if single {
            prop_assert_eq!(at_limits(&waits), expected);
            prop_assert_eq!(waits, machine.waits(target));
        }
        prop_assert!(total(waits.disks) <= total(machine.waits(target).disks));
    }
}
