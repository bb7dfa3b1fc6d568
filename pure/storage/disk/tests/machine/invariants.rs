//! Invariants of all environments and requests: none is lost or overtaken, none is answered too early, no budget is
//! exceeded over any stretch by more than its savings.

use crate::drive::{constant, disk, environment, volume};
use crate::replay::{environments, requests};
use loadline_block::{Completion, Operation, Request};
use loadline_disk::{
    Directions, Enforcement, EnvironmentSpec, Holds, HostCache, InitialState, IopsBudget, IopsBurst, Latency,
    LatencySpec, Layout, Limit, Machine, RequestId, ThroughputBudget, ThroughputBurst,
};
use loadline_units::{ByteRate, Bytes, Duration, Instant, Iops, NS_PER_S};
use proptest::prelude::*;

/// Submits each request when it is due and collects answers as they come. Returns the numbers, and the answers in their
/// order.
fn answers(machine: &mut Machine, requests: &[Request]) -> (Vec<RequestId>, Vec<(RequestId, Completion)>) {
    let target = machine.target("data").unwrap();
    let (mut given, mut answers) = (Vec::new(), Vec::new());
    let mut take = |machine: &mut Machine, until: Instant| {
        while let Some(at) = machine.next_event_at().filter(|at| *at <= until) {
            answers.extend(machine.pop_completed(at));
        }
    };
    for request in requests {
        take(machine, request.due_at);
        given.push(machine.submit(request.due_at, target, *request));
    }
    take(machine, Instant::MAX);
    (given, answers)
}

/// A machine with fixed service times: 0.7 ms and 3 us for each KiB, 0.1 ms in a cache.
fn without_spread(environment: &mut EnvironmentSpec) {
    let exact = |us, per_kib| {
        let median = Duration::from_us(us);
        LatencySpec { median, p99: median, per_kib: Duration::from_us(per_kib) }
    };
    for volume in &mut environment.volumes {
        volume.host_cache.latency = exact(100, 0);
        for disk in &mut volume.disks {
            disk.latency = Latency { read: exact(700, 3), write: exact(700, 3), flush: None };
        }
    }
}

/// Makes the limits of disks that do not spin delay answers.
fn hold_answers(environment: &mut EnvironmentSpec) {
    for disk in environment.volumes.iter_mut().flat_map(|volume| &mut volume.disks) {
        if disk.spinning.is_none() {
            disk.holds = Holds::Answers;
        }
    }
}

fn budgets() -> impl Strategy<Value = Limit> {
    let enforcement = prop_oneof![
        Just(Enforcement::Smooth),
        (0u64..500).prop_map(|ms| Enforcement::Bucket { depth: Duration::from_ms(ms) }),
        (5u64..100, 0u64..45).prop_map(|(ms, share)| Enforcement::Window {
            length: Duration::from_ms(ms),
            jitter: Duration::from_us(ms * 10 * share),
        }),
    ];
    // One of the two budgets only, so that the moment of admission is that of this budget.
    let burst = prop::option::of((1u64..5, 0u64..200));
    (enforcement, any::<bool>(), 50u64..20_000, burst).prop_map(|(enforcement, requests, rate, burst)| {
        let iops = IopsBudget {
            rate: Iops::per_second(rate).unwrap(),
            burst: burst.map(|(times, credits)| IopsBurst { rate: Iops::per_second(rate * times).unwrap(), credits }),
        };
        let byte_rate = |times| ByteRate::per_second(rate * 16_384 * times).unwrap();
        let throughput = ThroughputBudget {
            rate: byte_rate(1),
            burst: burst.map(|(times, credits)| ThroughputBurst {
                rate: byte_rate(times),
                credits: Bytes::new(credits * 16_384),
            }),
        };
        Limit {
            iops: requests.then_some(Directions::Together(iops)),
            throughput: (!requests).then_some(Directions::Together(throughput)),
            counted_size: Some(Bytes::kib(16)),
            enforcement,
            ..Limit::default()
        }
    })
}

/// The allowance of a limit over `span` ns at `rate` with `saved` on top, in nano-tokens. Some of a window's quota may
/// be used at either end.
fn allowed(enforcement: Enforcement, rate: u64, saved: u64, span: u64) -> u128 {
    let (rate, span) = (u128::from(rate), u128::from(span));
    let depth = match enforcement {
        Enforcement::Smooth => span,
        Enforcement::Bucket { depth } => span + u128::from(depth.as_ns()),
        Enforcement::Window { length, jitter } => {
            let length = u128::from(length.as_ns());
            ((span + 2 * u128::from(jitter.as_ns())) / length + 2) * length
        }
    };
    depth * rate + u128::from(saved) * u128::from(NS_PER_S) + rate
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_request_is_answered_once_and_answers_come_in_the_order_of_time(
        environment in environments(), requests in requests(), seed in any::<u64>(),
    ) {
        let mut machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        let (given, answers) = answers(&mut machine, &requests);
        prop_assert_eq!(answers.len(), requests.len());
        prop_assert_eq!((machine.outstanding(), machine.next_event_at()), (0, None));
        prop_assert!(answers.is_sorted_by_key(|(_, answer)| answer.completed_at));
        // A number is used again once its request was answered: the earliest request of a number is answered first.
        let mut open: Vec<(RequestId, Request)> = given.into_iter().zip(requests).collect();
        for (id, answer) in answers {
            let place = open.iter().position(|(other, _)| *other == id);
            let (_, asked) = open.remove(place.expect("nothing is answered twice"));
            prop_assert_eq!(asked, answer.request);
            prop_assert_eq!(answer.submitted_at, asked.due_at);
        }
    }

    #[test]
    fn nothing_completes_before_its_service_time(
        environment in environments(), requests in requests(), seed in any::<u64>(),
    ) {
        let mut environment = environment;
        without_spread(&mut environment);
        let volume = &environment.volumes[0];
        let cached = volume.host_cache.mode != HostCache::None;
        let whole = volume.layout.columns() == 1;
        let mut machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        for (_, answer) in answers(&mut machine, &requests).1 {
            let moves = matches!(answer.request.operation, Operation::Read | Operation::Write);
            let kib = if moves && whole { u64::from(answer.request.length) / 1024 } else { 0 };
            let service = if cached { Duration::from_us(100) } else { Duration::from_us(700 + 3 * kib) };
            prop_assert!(answer.admitted_at >= answer.submitted_at);
            prop_assert!(answer.completed_at.since(answer.admitted_at) >= service, "{:?}", answer);
        }
    }

    /// If limits delay answers, service begins at once. An answer comes neither before its end nor before it has passed
    /// the limit.
    #[test]
    fn held_back_answers_come_after_their_service_and_their_limits(
        environment in environments(), requests in requests(), seed in any::<u64>(),
    ) {
        let mut environment = environment;
        without_spread(&mut environment);
        hold_answers(&mut environment);
        environment.volumes[0].host_cache.mode = HostCache::None;
        let whole = environment.volumes[0].layout.columns() == 1;
        let mut machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        let answers = answers(&mut machine, &requests).1;
        prop_assert_eq!(answers.len(), requests.len());
        for (_, answer) in answers {
            let moves = matches!(answer.request.operation, Operation::Read | Operation::Write);
            let kib = if moves && whole { u64::from(answer.request.length) / 1024 } else { 0 };
            let service = Duration::from_us(700 + 3 * kib);
            prop_assert!(answer.completed_at >= answer.admitted_at && answer.admitted_at >= answer.submitted_at);
            prop_assert!(answer.completed_at.since(answer.submitted_at) >= service, "{:?}", answer);
        }
    }

    #[test]
    fn what_waits_at_one_disks_limits_is_let_through_in_its_order(
        environment in environments(), requests in requests(), seed in any::<u64>(),
    ) {
        let mut environment = environment;
        let volume = &mut environment.volumes[0];
        volume.disks.truncate(1);
        (volume.layout, volume.host_cache.mode, volume.disks[0].spinning) = (Layout::Single, HostCache::None, None);
        let mut machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        // A flush is not counted and passes by; a trim has no bytes and passes by those that wait for bytes.
        let held = |request: &&Request| matches!(request.operation, Operation::Read | Operation::Write);
        let requests: Vec<Request> = requests.iter().filter(held).copied().collect();
        let mut answers = answers(&mut machine, &requests).1;
        answers.sort_by_key(|(_, answer)| answer.admitted_at);
        let order = |a: &Completion, b: &Completion| a.submitted_at <= b.submitted_at || a.admitted_at == b.admitted_at;
        prop_assert!(answers.is_sorted_by(|(_, a), (_, b)| order(a, b)));
    }

    /// Over any stretch no more is admitted than the rates, the savings, and one request allow.
    #[test]
    fn no_stretch_of_time_gives_more_than_the_budget(
        limit in budgets(), asked in prop::collection::vec((0u64..4_000_000, 1u32..65), 2..300), seed in any::<u64>(),
        answers_held in any::<bool>(),
    ) {
        let mut one = disk(limit.clone());
        one.latency = constant(Duration::from_us(500));
        one.holds = if answers_held { Holds::Answers } else { Holds::Requests };
        let environment = environment(vec![volume("data", &one, 1)]);
        let mut machine = Machine::new(&environment, seed, InitialState::default()).unwrap();
        let mut now = 0;
        let request = |(gap, sectors): (u64, u32)| {
            // Bursts of requests at once, and pauses in which something is saved up.
            now += if sectors % 3 == 0 { gap } else { 0 };
            let due_at = Instant::from_ns(now);
            Request { operation: Operation::Read, durable: false, length: sectors * 512, offset: 0, due_at }
        };
        let requests: Vec<Request> = asked.into_iter().map(request).collect();
        let mut answers = answers(&mut machine, &requests).1;
        answers.sort_by_key(|(_, answer)| answer.admitted_at);
        let units = |answer: &Completion| {
            let length = u64::from(answer.request.length);
            if limit.iops.is_some() { length.div_ceil(16_384) } else { length }
        };
        let (base, burst) = match (limit.iops, limit.throughput) {
            (Some(Directions::Together(budget)), None) =>
                (budget.rate.get(), budget.burst.map(|burst| (burst.rate.get(), burst.credits))),
            (None, Some(Directions::Together(budget))) =>
                (budget.rate.get(), budget.burst.map(|burst| (burst.rate.get(), burst.credits.get()))),
            _ => unreachable!("one budget for both directions"),
        };
        for (index, (_, first)) in answers.iter().enumerate() {
            let (begin, largest) = (first.admitted_at, u128::from(units(first)) * u128::from(NS_PER_S));
            let mut sum = 0;
            for (_, answer) in &answers[index..] {
                // The last one of a stretch may exceed the rest: later ones pay its debt.
                let span = answer.admitted_at.since(begin).as_ns();
                let fast = burst.map_or(base, |(rate, _)| rate);
                prop_assert!(sum <= allowed(limit.enforcement, fast, 0, span) + largest, "{sum} in {span} ns");
                if let Some((_, credits)) = burst {
                    prop_assert!(sum <= allowed(limit.enforcement, base, credits, span) + largest, "{sum} with credits");
                }
                sum += u128::from(units(answer)) * u128::from(NS_PER_S);
            }
        }
    }
}
