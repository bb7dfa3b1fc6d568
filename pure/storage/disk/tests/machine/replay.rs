//! Exact replay: the same requests at the same times complete at the same nanosecond, however often the machine is
//! polled. Splitting preserves bytes, and a specification survives serialization.

use crate::drive::{disk, environment, limit, volume};
use loadline_block::{Completion, Operation, Request};
use loadline_disk::{
    Enforcement, EnvironmentSpec, Fullness, Holds, HostCache, InitialState, Latency, LatencySpec, Layout, Machine,
    Spinning, VmSpec, Warmth,
};
use loadline_units::{ByteRate, Bytes, Duration, Instant};
use proptest::prelude::*;

/// Environments in which every stage has something to do.
pub(crate) fn environments() -> impl Strategy<Value = EnvironmentSpec> {
    let cache = prop_oneof![Just(HostCache::None), Just(HostCache::ReadOnly), Just(HostCache::ReadWrite)];
    let layout = prop_oneof![
        Just(Layout::Single),
        (2u32..5).prop_map(|columns| Layout::Stripe { columns, interleave: Bytes::kib(64) }),
        (2u32..4).prop_map(|copies| Layout::Mirror { copies }),
        Just(Layout::StripeOfMirrors { columns: 2, copies: 2, interleave: Bytes::kib(16) }),
    ];
    let enforcement = prop_oneof![
        Just(Enforcement::Smooth),
        Just(Enforcement::Bucket { depth: Duration::from_ms(100) }),
        Just(Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(4) }),
    ];
    (cache, layout, enforcement, any::<bool>(), 200u64..20_000).prop_map(
        |(mode, layout, enforcement, spinning, iops)| {
            let mut one = disk(limit(iops, iops * 32_768));
            one.limit.enforcement = enforcement;
            let latency = LatencySpec {
                median: Duration::from_us(700),
                p99: Duration::from_ms(4),
                per_kib: Duration::from_us(3),
            };
            one.latency = Latency { read: latency, write: latency, flush: None };
            one.spinning = spinning.then_some(Spinning {
                revolutions_per_minute: 7_200,
                seek_min: Duration::from_us(800),
                seek_max: Duration::from_ms(16),
                transfer: ByteRate::per_second(150_000_000).unwrap(),
                queue_depth: 8,
            });
            let mut data = volume("data", &one, 1);
            data.disks = vec![one; layout.disks()];
            data.layout = layout;
            data.host_cache.mode = mode;
            data.host_cache.capacity = Some(Bytes::mib(1));
            let vm = VmSpec {
                uncached: Some(limit(8_000, 100 << 20)),
                cached: Some(limit(16_000, 200 << 20)),
                ..VmSpec::default()
            };
            EnvironmentSpec { vm: Some(vm), ..environment(vec![data]) }
        },
    )
}

pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (0u64..3_000_000, 0usize..20, 1u32..300, 0u64..4_096, any::<bool>());
    prop::collection::vec(one, 1..200).prop_map(|asked| {
        let mut now = 0;
        let request = |(gap, kind, length, block, durable): (u64, usize, u32, u64, bool)| {
            now += gap;
            let operation = match kind {
                0 => Operation::Flush,
                1 => Operation::Trim,
                2..11 => Operation::Write,
                _ => Operation::Read,
            };
            let flush = operation == Operation::Flush;
            Request {
                operation,
                durable: durable && operation == Operation::Write && block % 4 == 0,
                length: if flush { 0 } else { length * 512 },
                offset: if flush { 0 } else { block * 4_096 },
                due_at: Instant::from_ns(now),
            }
        };
        asked.into_iter().map(request).collect()
    })
}

/// Submits at the due times; `looks` also polls in between, at every event and half-way to the next arrival.
fn answers(machine: &mut Machine, requests: &[Request], looks: bool) -> Vec<Completion> {
    let target = machine.target("data").unwrap();
    let mut answers = Vec::new();
    for request in requests {
        if looks {
            let half = Instant::from_ns(u64::midpoint(machine.now().as_ns(), request.due_at.as_ns()));
            while let Some(at) = machine.next_event_at().filter(|at| *at <= half) {
                answers.extend(machine.pop_completed(at.max(machine.now())).map(|(_, completion)| completion));
            }
            answers.extend(machine.pop_completed(half).map(|(_, completion)| completion));
        }
        machine.submit(request.due_at, target, *request);
    }
    while machine.outstanding() > 0 {
        let at = machine.next_event_at().unwrap();
        let now = at.max(machine.now());
        answers.extend(machine.pop_completed(now).map(|(_, completion)| completion));
    }
    answers.sort_by_key(|c| (c.completed_at, c.submitted_at, c.request.offset, c.request.length));
    answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn how_often_the_machine_is_asked_changes_nothing(
        environment in environments(), requests in requests(), seed in any::<u64>(), warm in any::<bool>(),
        answers_held in any::<bool>(),
    ) {
        let mut environment = environment;
        for disk in environment.volumes.iter_mut().flat_map(|volume| &mut volume.disks) {
            if answers_held && disk.spinning.is_none() {
                disk.holds = Holds::Answers;
            }
        }
        let caches = if warm { Warmth::Warm } else { Warmth::Cold };
        let machine = Machine::new(&environment, seed, InitialState { bursts: Fullness::Full, vm_bursts: None, caches }).unwrap();
        let rarely = answers(&mut machine.clone(), &requests, false);
        let often = answers(&mut machine.clone(), &requests, true);
        prop_assert_eq!(rarely.len(), requests.len(), "no request is lost");
        prop_assert_eq!(&rarely, &often);
        let bytes = |completions: &[Completion]| completions.iter().map(|c| u64::from(c.request.length)).sum::<u64>();
        prop_assert_eq!(bytes(&rarely), requests.iter().map(|r| u64::from(r.length)).sum::<u64>());
        for completion in rarely {
            prop_assert!(completion.submitted_at <= completion.admitted_at);
            prop_assert!(completion.admitted_at <= completion.completed_at);
            prop_assert_eq!(completion.outcome, Ok(()));
        }
    }

    #[test]
    fn a_specification_survives_being_written_down(environment in environments()) {
        let text = serde_json::to_string(&environment).unwrap();
        prop_assert_eq!(serde_json::from_str::<EnvironmentSpec>(&text).unwrap(), environment);
    }

    #[test]
    fn another_seed_gives_other_times(environment in environments(), requests in requests()) {
        let machine = |seed| Machine::new(&environment, seed, InitialState::default()).unwrap();
        // A read-write cache accepts writes, and answers reads of them, in its own time, which may have no spread.
        let takes_writes = environment.volumes.iter().any(|volume| volume.host_cache.mode == HostCache::ReadWrite);
        let moved = requests.iter().any(|r| match r.operation {
            Operation::Read | Operation::Write => !takes_writes,
            Operation::Trim => true,
            Operation::Flush => false,
        });
        let (one, other) = (answers(&mut machine(1), &requests, false), answers(&mut machine(2), &requests, false));
        prop_assert!(!moved || one != other);
    }
}
