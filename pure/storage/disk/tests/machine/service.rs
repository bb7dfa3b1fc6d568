//! Service: latencies, places, spinning disks, and refused requests.

use crate::drive::{Load, constant, disk, environment, limit, rates, reads, run, volume, writes};
use loadline_block::{ErrorKind, Operation, Request};
use loadline_disk::{
    DeviceQueues, Directions, DiskSpec, Enforcement, EnvironmentSpec, Holds, InitialState, IopsBudget, Latency,
    LatencySpec, Layout, Limit, Machine, Parallelism, Spinning, VolumeSpec,
};
use loadline_units::{ByteRate, Bytes, Duration, Instant, Iops};

const NEW: InitialState =
    InitialState { bursts: loadline_disk::Fullness::Full, vm_bursts: None, caches: loadline_disk::Warmth::Cold };

fn single(disk: DiskSpec) -> EnvironmentSpec {
    environment(vec![VolumeSpec { name: "data".to_owned(), disks: vec![disk], ..VolumeSpec::default() }])
}

#[test]
fn a_single_stream_is_bound_by_its_own_service_time() {
    let latency =
        LatencySpec { median: Duration::from_us(2_500), p99: Duration::from_us(2_500), per_kib: Duration::from_us(20) };
    let one = DiskSpec { latency: Latency { read: latency, write: latency, flush: None }, ..disk(Limit::default()) };
    // 2.5 ms and 20 us for each of 256 KiB: 7.62 ms.
    assert_eq!(rates(&single(one.clone()), NEW, &[reads("data", 256 << 10, 1)]), [131]);
    assert_eq!(rates(&single(one), NEW, &[reads("data", 256 << 10, 10)]), [1_312]);
}

#[test]
fn places_and_the_pipe_bound_what_is_served_at_once() {
    let places = Parallelism { requests: Some(4), throughput: None };
    let one = DiskSpec { parallelism: places, ..disk(Limit::default()) };
    assert_eq!(rates(&single(one), NEW, &[reads("data", 4096, 64)]), [4_000]);
    let pipe = Parallelism { requests: None, throughput: ByteRate::per_second(100 << 20) };
    let one = DiskSpec { parallelism: pipe, ..disk(Limit::default()) };
    assert_eq!(rates(&single(one.clone()), NEW, &[reads("data", 64 << 10, 64)]), [1_600]);
    assert_eq!(rates(&single(one), NEW, &[reads("data", 4 << 10, 1)]), [1_000]);
}

/// Reads at 100 a second and writes at 1,000, for one place with 1 ms of service.
fn one_place(enforcement: Enforcement) -> DiskSpec {
    let rate = |rate| Iops::per_second(rate).map(IopsBudget::steady);
    let iops = Some(Directions::Apart { read: rate(100), write: rate(1_000) });
    let parallelism = Parallelism { requests: Some(1), throughput: None };
    DiskSpec { parallelism, ..disk(Limit { iops, enforcement, ..Limit::default() }) }
}

#[test]
fn what_a_limit_holds_back_keeps_no_place_from_what_passes_meanwhile() {
    let loads = [reads("data", 4096, 16), Load { rate: Some(500), ..writes("data", 4096, 1) }];
    for enforcement in
        [Enforcement::Smooth, Enforcement::Window { length: Duration::from_ms(100), jitter: Duration::ZERO }]
    {
        let mut machine = Machine::new(&single(one_place(enforcement)), 1, NEW).unwrap();
        let mut achieved = run(&mut machine, &loads, Duration::from_s(2), Duration::from_s(12));
        let [of_reads, of_writes] = &mut achieved[..] else { unreachable!("two loads") };
        assert!(of_reads.count.abs_diff(1_000) <= 20, "{enforcement:?}: {}", of_reads.count);
        assert!(of_writes.count.abs_diff(5_000) <= 20, "{enforcement:?}: {}", of_writes.count);
        // 16 reads wait for the limit all the time; a write finds at most those before it that have passed, 10 in a window.
        assert!(of_writes.percentile(0.5) < 1.1, "{enforcement:?}: {} ms", of_writes.percentile(0.5));
        assert!(of_writes.percentile(1.0) < 25.0, "{enforcement:?}: {} ms", of_writes.percentile(1.0));
    }
}

#[test]
fn what_passes_a_limit_together_waits_for_one_another_at_a_place() {
    let window = Enforcement::Window { length: Duration::from_ms(100), jitter: Duration::ZERO };
    let mut machine = Machine::new(&single(one_place(window)), 1, NEW).unwrap();
    let target = machine.target("data").unwrap();
    for _ in 0..30 {
        let request =
            Request { operation: Operation::Read, durable: false, length: 4096, offset: 0, due_at: Instant::ZERO };
        machine.submit(Instant::ZERO, target, request);
    }
    let mut answers = Vec::new();
    while let Some(at) = machine.next_event_at() {
        answers.extend(machine.pop_completed(at).map(|(_, answer)| answer));
    }
    // Ten of a window pass at the same time, and are served one after the other.
    for ten in answers.chunks(10).skip(1) {
        for (number, answer) in ten.iter().enumerate() {
            assert_eq!(answer.admitted_at, ten[0].admitted_at, "{number}");
            assert_eq!(answer.completed_at, answer.admitted_at + Duration::from_ms(number as u64 + 1), "{number}");
        }
    }
    // 45 ms for each ten: the waits for the place are counted as such.
    assert_eq!(machine.waits(target).service.iops, Duration::from_ms(3 * 45));
}

fn spinning(queue_depth: u32) -> DiskSpec {
    let spinning = Spinning {
        revolutions_per_minute: 7_200,
        seek_min: Duration::from_us(800),
        seek_max: Duration::from_ms(16),
        transfer: ByteRate::per_second(150_000_000).unwrap(),
        queue_depth,
    };
    DiskSpec {
        size: Some(Bytes::gib(1024)),
        latency: constant(Duration::from_us(100)),
        spinning: Some(spinning),
        ..DiskSpec::default()
    }
}

#[test]
fn a_spinning_disk_streams_at_its_transfer_rate_and_seeks_at_random() {
    let in_sequence = Load { sequential: true, span: 1 << 40, ..reads("data", 1 << 20, 4) };
    assert_eq!(rates(&single(spinning(32)), NEW, &[in_sequence]), [143]);
    let at_random = |depth| Load { span: 1 << 40, ..reads("data", 4096, depth) };
    let shallow = rates(&single(spinning(32)), NEW, &[at_random(1)])[0];
    // Mean seek 0.8 + 15.2 x 8/15 = 8.9 ms, half a revolution 4.2 ms, 0.1 ms on the way.
    assert!((73..=78).contains(&shallow), "{shallow}");
    let deep = rates(&single(spinning(32)), NEW, &[at_random(32)])[0];
    let unsorted = rates(&single(spinning(1)), NEW, &[at_random(32)])[0];
    assert!(deep > 2 * shallow, "{deep} for {shallow}");
    assert!(unsorted.abs_diff(shallow) <= 3, "{unsorted} for {shallow}");
}

#[test]
fn no_request_to_a_spinning_disk_is_passed_over_for_ever() {
    let mut machine = Machine::new(&single(spinning(32)), 1, NEW).unwrap();
    let near = Load { span: 1 << 20, ..reads("data", 4096, 31) };
    let target = machine.target("data").unwrap();
    let far = Request {
        operation: Operation::Read,
        durable: false,
        length: 4096,
        offset: (1 << 40) - 4096,
        due_at: Instant::ZERO,
    };
    let achieved = run(
        &mut machine,
        &[near, Load { span: 1 << 40, ..reads("data", 4096, 1) }],
        Duration::ZERO,
        Duration::from_s(10),
    );
    assert!(achieved[1].count > 1, "{}", achieved[1].count);
    machine.submit(machine.now(), target, far);
    while machine.outstanding() > 0 {
        let at = machine.next_event_at().unwrap();
        machine.pop_completed(at);
    }
}

#[test]
fn nothing_completes_before_its_service_time() {
    for environment in
        [single(disk(limit(500, 1 << 20))), environment(vec![volume("data", &disk(limit(500, 1 << 30)), 4)])]
    {
        let mut machine = Machine::new(&environment, 3, NEW).unwrap();
        let load = Load { operation: Operation::Write, ..reads("data", 96 << 10, 16) };
        let achieved = run(&mut machine, &[load], Duration::ZERO, Duration::from_s(5));
        assert!(achieved[0].count > 0);
        assert!(achieved[0].latencies.iter().all(|latency| *latency >= 1_000_000));
    }
}

#[test]
fn a_request_past_the_end_is_refused_at_once() {
    let environment = environment(vec![volume("data", &disk(Limit::default()), 4)]);
    let mut machine = Machine::new(&environment, 1, NEW).unwrap();
    let target = machine.target("data").unwrap();
    assert_eq!(machine.size(target), Some(Bytes::gib(4 * 1024)));
    let end = Bytes::gib(4 * 1024).get();
    let request =
        |offset| Request { operation: Operation::Read, durable: false, length: 4096, offset, due_at: Instant::ZERO };
    for (offset, outcome) in
        [(end - 4096, Ok(())), (end - 4095, Err(ErrorKind::Refused)), (u64::MAX, Err(ErrorKind::Refused))]
    {
        let now = machine.now();
        machine.submit(now, target, request(offset));
        let at = machine.next_event_at().unwrap();
        let (_, completion) = machine.pop_completed(at).unwrap();
        assert_eq!(completion.outcome, outcome, "{offset}");
        assert_eq!(at == now, outcome.is_err());
    }
}

#[test]
fn a_disk_of_a_volume_can_be_asked_by_itself() {
    let environment = environment(vec![volume("data", &disk(limit(500, 1 << 30)), 4)]);
    assert_eq!(rates(&environment, NEW, &[reads("data/2", 4096, 32)]), [500]);
    assert!(Machine::new(&environment, 1, NEW).unwrap().target("data/4").is_none());
}

#[test]
fn an_environment_that_contradicts_itself_is_refused_with_its_place() {
    let mut stripe = volume("data", &disk(Limit::default()), 4);
    stripe.disks.pop();
    let error = Machine::new(&environment(vec![stripe.clone()]), 1, NEW).unwrap_err();
    assert_eq!((error.place.as_str(), error.reason.as_str()), ("volume data", "its layout needs 4 disks, it has 3"));
    stripe.layout = Layout::Single;
    stripe.disks.truncate(1);
    stripe.disks[0].latency.read =
        LatencySpec { median: Duration::from_ms(2), p99: Duration::from_ms(1), ..LatencySpec::default() };
    let error = Machine::new(&environment(vec![stripe]), 1, NEW).unwrap_err();
    assert_eq!(error.place, "volume data, disk 0, read latency");
}

/// The copies of a column share their places; columns have their own. Without queues there is no bound.
#[test]
fn a_volume_tells_the_queues_before_each_of_its_columns() {
    let queues = |queues, depth| DeviceQueues { queues, depth };
    let mut one = disk(Limit::default());
    one.device_queues = Some(queues(4, 31));
    let machine = Machine::new(&environment(vec![volume("data", &one, 3)]), 1, NEW).unwrap();
    assert_eq!(machine.device_queues(machine.target("data").unwrap()), Some(vec![queues(4, 31); 3]));
    assert_eq!(machine.device_queues(machine.target("data/1").unwrap()), Some(vec![queues(4, 31)]));
    let mut mirror = volume("data", &one, 2);
    mirror.layout = Layout::Mirror { copies: 2 };
    mirror.disks[1].device_queues = Some(queues(2, 31));
    let machine = Machine::new(&environment(vec![mirror]), 1, NEW).unwrap();
    assert_eq!(machine.device_queues(machine.target("data").unwrap()), Some(vec![queues(2, 62)]));
    one.device_queues = None;
    let machine = Machine::new(&single(one), 1, NEW).unwrap();
    assert_eq!(machine.device_queues(machine.target("data").unwrap()), None);
}

/// Of requests at the same moment the first passes at once and is served; later ones pass during its service.
#[test]
fn a_limit_that_holds_back_answers_lets_requests_be_served_meanwhile() {
    let limit = Limit {
        iops: Some(Directions::Together(IopsBudget::steady(Iops::per_second(1_000).unwrap()))),
        ..Limit::default()
    };
    let answered = |holds| {
        let one = DiskSpec { holds, latency: constant(Duration::from_us(2_500)), ..disk(limit.clone()) };
        let mut machine = Machine::new(&single(one), 1, NEW).unwrap();
        let target = machine.target("data").unwrap();
        let read =
            Request { operation: Operation::Read, durable: false, length: 4096, offset: 0, due_at: Instant::ZERO };
        for _ in 0..5 {
            machine.submit(Instant::ZERO, target, read);
        }
        let mut times = Vec::new();
        while let Some(at) = machine.next_event_at() {
            times.extend(machine.pop_completed(at).map(|(_, answer)| answer.completed_at.as_ns() / 1_000));
        }
        times
    };
    assert_eq!(answered(Holds::Answers), [2_500, 2_500, 2_500, 3_000, 4_000]);
    assert_eq!(answered(Holds::Requests), [2_500, 3_500, 4_500, 5_500, 6_500]);
}
