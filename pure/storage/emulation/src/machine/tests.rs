//! What faults do to requests, in virtual time.

use super::*;
use loadline_disk::{DiskSpec, Latency, LatencySpec, Layout, VolumeSpec};
use loadline_units::Bytes;
use proptest::prelude::*;

const MS: Duration = Duration::from_ms(1);

/// Disks of which each request takes 1 ms.
fn environment(layout: Layout, disks: usize) -> EnvironmentSpec {
    let spec = LatencySpec { median: MS, p99: MS, ..LatencySpec::default() };
    let latency = Latency { read: spec, write: spec, flush: None };
    let disk = DiskSpec { size: Some(Bytes::mib(64)), latency, ..DiskSpec::default() };
    let volume = VolumeSpec { name: "data".into(), disks: vec![disk; disks], layout, ..VolumeSpec::default() };
    EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() }
}

fn model(layout: Layout, disks: usize) -> FaultyMachine {
    FaultyMachine::new(&environment(layout, disks), 1, InitialState::default()).unwrap()
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

fn fault(on: &str, kind: FaultKind) -> Fault {
    Fault { on: on.into(), kind, operations: Vec::new(), from: Bytes::ZERO, until: None, share: Ratio::ONE }
}

fn request(operation: Operation, offset: u64, now: Instant) -> Request {
    Request { operation, durable: false, length: 4_096, offset, due_at: now }
}

/// How one request ends that comes at `now`; `None`: it does not.
fn one(
    model: &mut FaultyMachine,
    now: Instant,
    export: usize,
    operation: Operation,
    offset: u64,
) -> Option<RequestEnd> {
    let id = model.submit(now, export, request(operation, offset, now));
    let mut ended = None;
    while let Some(next) = model.next_event_at() {
        while let Some((other, end)) = model.pop_ended(next) {
            ended = ended.or((other == id).then_some(end));
        }
    }
    ended
}

#[test]
fn errors_befall_their_operations_and_range_only() {
    let mut model = model(Layout::Single, 1);
    let wrong = Fault {
        operations: vec![Operation::Read],
        from: Bytes::kib(8),
        until: Some(Bytes::kib(12)),
        ..fault("data", FaultKind::Error(ErrorKind::NoSpace))
    };
    assert_eq!(model.change(at(0), &Change::Begin(wrong)), Ok(Some(1)));
    let cases = [
        (Operation::Read, 8_192, Some(ErrorKind::NoSpace)),
        (Operation::Read, 4_096, None),
        (Operation::Read, 12_288, None),
        (Operation::Write, 8_192, None),
    ];
    for (number, (operation, offset, error)) in cases.into_iter().enumerate() {
        let now = at(10 * (number as u64 + 1));
        let ended = one(&mut model, now, 0, operation, offset).unwrap();
        assert_eq!(ended, RequestEnd { at: now + MS, error }, "{operation:?} at {offset}");
    }
    model.change(at(100), &Change::Clear(FaultSelection::Number(1))).unwrap();
    assert_eq!(one(&mut model, at(100), 0, Operation::Read, 8_192).unwrap().error, None);
    assert_eq!(model.change(at(200), &Change::Clear(FaultSelection::Number(1))), Err(ChangeError::NoFault(1)));
}

#[test]
fn a_share_of_requests_fails_by_the_seed() {
    let mut model = model(Layout::Single, 1);
    let some = Fault { share: Ratio::percent(10), ..fault("data", FaultKind::Error(ErrorKind::Io)) };
    model.change(at(0), &Change::Begin(some)).unwrap();
    let failed =
        (0..10_000).filter(|number| one(&mut model, at(number * 10), 0, Operation::Read, 0).unwrap().error.is_some());
    let failed = failed.count();
    // Ten thousand throws with one in ten: the standard deviation is 30.
    assert!((850..1_150).contains(&failed), "{failed}");
}

#[test]
fn delays_add_up_and_stalls_end_together() {
    let mut model = model(Layout::Single, 1);
    for by in [2, 3] {
        model.change(at(0), &Change::Begin(fault("data", FaultKind::Delay(MS * by)))).unwrap();
    }
    assert_eq!(one(&mut model, at(10), 0, Operation::Write, 0).unwrap().at, at(16));
    model.change(at(20), &Change::Clear(FaultSelection::All)).unwrap();
    let stall = FaultKind::Stall { lasting: MS * 5, every: Some(MS * 20) };
    model.change(at(100), &Change::Begin(fault("data", stall))).unwrap();
    for (asked, answered) in [(100, 105), (121, 125), (144, 145), (166, 167), (179, 185), (1_001, 1_005)] {
        assert_eq!(one(&mut model, at(asked), 0, Operation::Read, 0).unwrap().at, at(answered), "{asked}");
    }
}

#[test]
fn a_hung_disk_answers_when_it_is_released() {
    let mut model = model(Layout::Stripe { columns: 2, interleave: Bytes::kib(64) }, 2);
    model.change(at(0), &Change::Begin(fault("data/1", FaultKind::Hang))).unwrap();
    assert_eq!(one(&mut model, at(1), 0, Operation::Read, 0).unwrap().at, at(2));
    assert_eq!(one(&mut model, at(10), 0, Operation::Read, 64 << 10), None);
    assert_eq!(one(&mut model, at(20), 2, Operation::Read, 0), None);
    // One that the disk would answer after the release.
    model.submit(at(99), 0, request(Operation::Write, 64 << 10, at(99)));
    model.change(at(99) + Duration::from_us(500), &Change::Clear(FaultSelection::On("data/1".into()))).unwrap();
    let mut times = Vec::new();
    while let Some(next) = model.next_event_at() {
        while let Some((_, ended)) = model.pop_ended(next) {
            times.push(ended.at);
        }
    }
    let released = at(99) + Duration::from_us(500);
    assert_eq!(times, [released, released, at(100)]);
}

/// How everything ends that is under way, by the numbers of the requests.
fn all(model: &mut FaultyMachine) -> Vec<(usize, RequestEnd)> {
    let mut ended = Vec::new();
    while let Some(next) = model.next_event_at() {
        while let Some(end) = model.pop_ended(next) {
            ended.push(end);
        }
    }
    ended
}

fn clear(model: &mut FaultyMachine, now: Instant, number: u32) {
    model.change(now, &Change::Clear(FaultSelection::Number(number))).unwrap();
}

const STALL: FaultKind = FaultKind::Stall { lasting: Duration::from_s(3_600), every: None };
const DELAY: FaultKind = FaultKind::Delay(Duration::from_s(3_600));

#[test]
fn what_is_held_is_answered_when_that_is_cleared_whatever_held_it() {
    for kind in [STALL, DELAY, FaultKind::Hang] {
        let mut model = model(Layout::Single, 1);
        model.change(at(0), &Change::Begin(fault("data", kind))).unwrap();
        let answered = model.submit(at(1), 0, request(Operation::Read, 0, at(1)));
        let seen = model.submit(at(1), 0, request(Operation::Read, 0, at(1)));
        let under_way = model.submit(at(20), 0, request(Operation::Write, 0, at(20)));
        assert_eq!(model.pop_ended(at(10)), None);
        let now = at(20) + Duration::from_us(500);
        assert_eq!((model.pop_ended(now), model.account(now, 0).requests), (None, 0));
        clear(&mut model, now, 1);
        let late = model.submit(now, 0, request(Operation::Read, 0, now));
        let ended = |at| RequestEnd { at, error: None };
        let expected =
            [(answered, ended(now)), (seen, ended(now)), (under_way, ended(at(21))), (late, ended(now + MS))];
        assert_eq!(all(&mut model), expected, "{kind:?}");
        let account = model.account(at(3_000), 0);
        assert_eq!((account.requests, account.asked_time), (4, account.at_disk + account.faults));
        assert_eq!(account.at_disk, MS * 4);
    }
}

#[test]
fn the_last_of_the_faults_that_hold_a_request_releases_it() {
    for (first, second) in
        [(FaultKind::Hang, FaultKind::Hang), (FaultKind::Hang, STALL), (STALL, DELAY), (DELAY, DELAY)]
    {
        for order in [[1, 2], [2, 1]] {
            let mut model = model(Layout::Single, 1);
            for kind in [first, second] {
                model.change(at(0), &Change::Begin(fault("data", kind))).unwrap();
            }
            let id = model.submit(at(1), 0, request(Operation::Read, 0, at(1)));
            clear(&mut model, at(10), order[0]);
            assert_eq!(model.pop_ended(at(10)), None, "{first:?} {second:?} {order:?}");
            // A place that is free again is not taken for the fault that had it.
            model.change(at(11), &Change::Begin(fault("data", FaultKind::Hang))).unwrap();
            assert_eq!(model.pop_ended(at(19)), None);
            clear(&mut model, at(20), order[1]);
            assert_eq!(
                all(&mut model),
                [(id, RequestEnd { at: at(20), error: None })],
                "{first:?} {second:?} {order:?}"
            );
        }
    }
}

#[test]
fn a_short_stall_ends_no_longer_one() {
    let stall = |ms| FaultKind::Stall { lasting: MS * ms, every: None };
    for (volume, disk) in [(4, 20), (20, 4)] {
        let mut model = model(Layout::Single, 1);
        model.change(at(0), &Change::Begin(fault("data", stall(volume)))).unwrap();
        model.change(at(0), &Change::Begin(fault("data/0", stall(disk)))).unwrap();
        assert_eq!(one(&mut model, at(1), 0, Operation::Read, 0).unwrap().at, at(20));
        assert_eq!(one(&mut model, at(30), 0, Operation::Read, 0).unwrap().at, at(31));
    }
    // One that begins before the other ends goes on with what that held.
    let mut model = model(Layout::Single, 1);
    model.change(at(0), &Change::Begin(fault("data", stall(8)))).unwrap();
    model.change(at(5), &Change::Begin(fault("data", stall(8)))).unwrap();
    assert_eq!(one(&mut model, at(6), 0, Operation::Read, 0).unwrap().at, at(13));
    // What is released within a stall waits for its end.
    model.change(at(20), &Change::Begin(fault("data", FaultKind::Hang))).unwrap();
    let every = FaultKind::Stall { lasting: MS * 5, every: Some(MS * 10) };
    model.change(at(20), &Change::Begin(fault("data", every))).unwrap();
    assert_eq!(one(&mut model, at(21), 0, Operation::Read, 0), None);
    clear(&mut model, at(42), 3);
    assert_eq!(all(&mut model)[0].1.at, at(45));
}

#[test]
fn two_stalls_without_a_gap_between_them_come_to_an_end() {
    let mut model = model(Layout::Single, 1);
    for begun in [0, 5] {
        let stall = FaultKind::Stall { lasting: MS * 5, every: Some(MS * 10) };
        model.change(at(begun), &Change::Begin(fault("data", stall))).unwrap();
    }
    assert!(one(&mut model, at(7), 0, Operation::Read, 0).is_some());
}

#[test]
fn what_hangs_is_outstanding_and_held_by_the_fault_before_it_is_answered() {
    let mut model = model(Layout::Single, 1);
    assert!(one(&mut model, at(0), 0, Operation::Read, 0).is_some());
    model.change(at(10), &Change::Begin(fault("data", FaultKind::Hang))).unwrap();
    for _ in 0..3 {
        model.submit(at(20), 0, request(Operation::Read, 0, at(20)));
    }
    while let Some(next) = model.next_event_at() {
        assert_eq!(model.pop_ended(next), None);
    }
    let second = model.account(at(1_020), 0).since(&model.account(at(20), 0));
    assert_eq!((second.requests, second.asked_time), (0, MS * 3_000));
    let held = second.shares_over(MS * 1_000);
    assert_eq!(crate::time_shares::TimeShare::words(&held.shares), "faults 100 %");
    // Released, they count once.
    model.change(at(1_020), &Change::Clear(FaultSelection::All)).unwrap();
    while let Some(next) = model.next_event_at() {
        while model.pop_ended(next).is_some() {}
    }
    let all = model.account(at(2_000), 0);
    assert_eq!((all.requests, all.asked_time), (4, MS * 3_001));
    assert_eq!(all.at_disk + all.faults, all.asked_time);
}

#[test]
fn smaller_disks_keep_the_size_of_those_before_and_go_at_their_own_pace() {
    let mut model = model(Layout::Single, 1);
    let mut other = environment(Layout::Single, 1);
    let disk = &mut other.volumes[0].disks[0];
    disk.size = Some(Bytes::mib(1));
    (disk.latency.read.median, disk.latency.read.p99) = (MS * 7, MS * 7);
    model.change(at(0), &Change::Environment(Box::new(other.clone()))).unwrap();
    assert_eq!(model.size(0), Some(Bytes::mib(64)));
    assert_eq!(one(&mut model, at(10), 0, Operation::Read, 63 << 20).unwrap(), RequestEnd { at: at(17), error: None });
    other.volumes[0].disks[0].size = Some(Bytes::mib(128));
    model.change(at(100), &Change::Environment(Box::new(other))).unwrap();
    assert_eq!(model.size(0), Some(Bytes::mib(128)));
}

#[test]
fn clearing_a_volume_ends_the_faults_of_its_disks_too() {
    let mut model = model(Layout::Mirror { copies: 2 }, 2);
    for on in ["data", "data/0", "data/1"] {
        model.change(at(0), &Change::Begin(fault(on, FaultKind::Delay(MS)))).unwrap();
    }
    let left = |model: &FaultyMachine| model.faults().map(|(number, _)| number).collect::<Vec<_>>();
    model.change(at(1), &Change::Clear(FaultSelection::On("data/1".into()))).unwrap();
    assert_eq!(left(&model), [1, 2]);
    model.change(at(2), &Change::Clear(FaultSelection::On("data".into()))).unwrap();
    assert_eq!(left(&model), [0; 0]);
}

#[test]
fn a_stripe_fails_with_its_disk_and_a_mirror_with_all_of_its_copies() {
    let mut stripe = model(Layout::Stripe { columns: 2, interleave: Bytes::kib(64) }, 2);
    stripe.change(at(0), &Change::Begin(fault("data/1", FaultKind::Lost))).unwrap();
    assert_eq!(one(&mut stripe, at(1), 0, Operation::Read, 0).unwrap().error, None);
    let ended = one(&mut stripe, at(10), 0, Operation::Read, 64 << 10).unwrap();
    assert_eq!(ended, RequestEnd { at: at(10), error: Some(ErrorKind::Io) });
    assert_eq!(one(&mut stripe, at(20), 0, Operation::Flush, 0).unwrap().error, Some(ErrorKind::Io));

    let mut mirror = model(Layout::Mirror { copies: 2 }, 2);
    for (disk, error) in [("data/0", None), ("data/1", Some(ErrorKind::Io))] {
        mirror.change(mirror.current().machine.now(), &Change::Begin(fault(disk, FaultKind::Lost))).unwrap();
        for operation in [Operation::Read, Operation::Write, Operation::Flush, Operation::Read] {
            let now = mirror.current().machine.now() + MS;
            assert_eq!(one(&mut mirror, now, 0, operation, 0).unwrap().error, error, "{disk} {operation:?}");
        }
    }
    // The disk by itself is gone all the while.
    let now = mirror.current().machine.now() + MS;
    assert_eq!(one(&mut mirror, now, 1, Operation::Read, 0).unwrap().error, Some(ErrorKind::Io));
}

#[test]
fn what_is_wrong_with_a_copy_befalls_nobody_once_it_is_not_there() {
    for gone in [FaultKind::Lost, FaultKind::Detached] {
        let mut mirror = model(Layout::Mirror { copies: 2 }, 2);
        mirror.change(at(0), &Change::Begin(fault("data/0", FaultKind::Hang))).unwrap();
        assert_eq!(one(&mut mirror, at(1), 0, Operation::Write, 0), None, "the copy is there, and hangs");
        mirror.change(at(10), &Change::Begin(fault("data/0", gone))).unwrap();
        mirror.change(at(10), &Change::Begin(fault("data/0", FaultKind::Delay(MS * 50)))).unwrap();
        for operation in [Operation::Write, Operation::Flush, Operation::Trim, Operation::Read] {
            let now = mirror.current().machine.now() + MS;
            let ended = one(&mut mirror, now, 0, operation, 0).expect("the other copy answers");
            assert_eq!((ended.error, ended.at <= now + MS), (None, true), "{gone:?} {operation:?}");
        }
    }
}

#[test]
fn every_read_meets_what_is_wrong_with_the_only_copy_that_is_left() {
    let mut mirror = model(Layout::Mirror { copies: 3 }, 3);
    for disk in ["data/0", "data/2"] {
        mirror.change(at(0), &Change::Begin(fault(disk, FaultKind::Detached))).unwrap();
    }
    mirror.change(at(0), &Change::Begin(fault("data/1", FaultKind::Delay(MS * 50)))).unwrap();
    for number in 0..20 {
        let now = at(1 + 100 * number);
        assert_eq!(one(&mut mirror, now, 0, Operation::Read, 0), Some(RequestEnd { at: now + MS * 51, error: None }));
    }
}

#[test]
fn another_environment_takes_over_and_the_old_one_ends_what_it_has() {
    let mut model = model(Layout::Single, 1);
    model.submit(at(1), 0, request(Operation::Read, 0, at(1)));
    let mut slower = environment(Layout::Single, 1);
    slower.volumes[0].disks[0].latency.read = LatencySpec { median: MS * 7, p99: MS * 7, ..LatencySpec::default() };
    model.change(at(1), &Change::Environment(Box::new(slower))).unwrap();
    model.submit(at(1), 0, request(Operation::Read, 0, at(1)));
    let mut times = Vec::new();
    while let Some(next) = model.next_event_at() {
        while let Some((_, ended)) = model.pop_ended(next) {
            times.push(ended.at);
        }
    }
    assert_eq!(times, [at(2), at(8)]);
    let other = environment(Layout::Mirror { copies: 2 }, 2);
    let refusal = model.change(at(20), &Change::Environment(Box::new(other))).unwrap_err();
    assert!(matches!(refusal, ChangeError::OtherVolumes(_)), "{refusal}");
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut model = model(Layout::Mirror { copies: 2 }, 2);
    let mut refused = |fault: Fault| model.change(at(0), &Change::Begin(fault)).unwrap_err().to_string();
    assert!(refused(fault("log", FaultKind::Hang)).contains("there are data, data/0, data/1"));
    assert!(refused(fault("data", FaultKind::Lost)).contains("such as data/0"));
    assert!(refused(Fault { share: Ratio::ZERO, ..fault("data", FaultKind::Hang) }).contains("0 %"));
    let until = Some(Bytes::kib(1));
    assert!(
        refused(Fault { from: Bytes::kib(1), until, ..fault("data", FaultKind::Hang) }).contains("before it begins")
    );
    assert!(refused(Fault { until, ..fault("data/0", FaultKind::Lost) }).contains("as a whole"));
    let stall = FaultKind::Stall { lasting: MS, every: Some(MS) };
    assert!(refused(fault("data", stall)).contains("must end"));
    assert_eq!(model.faults().count(), 0);
}

#[test]
fn what_a_change_found_answered_can_be_taken_at_its_own_time() {
    let mut model = model(Layout::Single, 1);
    model.submit(at(1), 0, request(Operation::Read, 0, at(1)));
    model.change(at(9), &Change::DropCaches(None)).unwrap();
    assert_eq!(model.next_event_at(), Some(at(2)));
    assert_eq!(model.pop_ended(at(2)).unwrap().1.at, at(2));
}

fn any_fault() -> impl Strategy<Value = Fault> {
    let kind = prop_oneof![
        Just(FaultKind::Error(ErrorKind::Io)),
        (1u64..20).prop_map(|ms| FaultKind::Delay(MS * ms)),
        (1u64..9).prop_map(|ms| FaultKind::Stall { lasting: MS * ms, every: Some(MS * 10) }),
        Just(FaultKind::Hang),
    ];
    let on = prop_oneof![Just("data"), Just("data/0"), Just("data/1")];
    (on, kind, 1u32..=100, any::<bool>()).prop_map(|(on, kind, percent, reads)| Fault {
        operations: if reads { vec![Operation::Read] } else { Vec::new() },
        share: Ratio::percent(percent),
        ..fault(on, kind)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn how_often_it_is_asked_changes_nothing(
        steps in prop::collection::vec((0u64..3_000, prop::option::weighted(0.2, any_fault()), any::<bool>(), 0u64..64), 1..60),
        looks in prop::collection::vec(1u64..2_000_000, 1..40),
    ) {
        let run = |looks: &[u64]| {
            let mut model = model(Layout::Stripe { columns: 2, interleave: Bytes::kib(64) }, 2);
            let (mut now, mut ids, mut ended) = (Instant::ZERO, Vec::new(), Vec::new());
            let mut look = looks.iter().cycle();
            for (number, (gap, wrong, clear, place)) in steps.iter().enumerate() {
                let next = now + Duration::from_us(*gap);
                while let Some(step) = look.next().filter(|step| now + Duration::from_ns(**step) < next) {
                    now = now + Duration::from_ns(*step);
                    while let Some((id, end)) = model.pop_ended(now) {
                        ended[ids[id]] = Some(end);
                    }
                }
                now = next;
                // Before anything new comes, so that numbers are not used twice.
                while let Some((id, end)) = model.pop_ended(now) {
                    ended[ids[id]] = Some(end);
                }
                if let Some(fault) = wrong {
                    model.change(now, &Change::Begin(fault.clone())).unwrap();
                } else if *clear {
                    // One of those in force, or all.
                    let numbers: Vec<u32> = model.faults().map(|(number, _)| number).collect();
                    let one = numbers.get(*place as usize % 4).map_or(FaultSelection::All, |number| FaultSelection::Number(*number));
                    model.change(now, &Change::Clear(one)).unwrap();
                }
                let operation = if number % 3 == 0 { Operation::Write } else { Operation::Read };
                let id = model.submit(now, 0, request(operation, place * 32_768, now));
                ids.resize(ids.len().max(id + 1), 0);
                ids[id] = ended.len();
                ended.push(None);
            }
            while let Some(next) = model.next_event_at() {
                while let Some((id, end)) = model.pop_ended(next) {
                    ended[ids[id]] = Some(end);
                }
            }
            ended
        };
        prop_assert_eq!(run(&looks), run(&[1 << 40]));
    }
}

#[test]
fn what_is_under_way_when_the_power_goes_ends_then_and_holds_up_nobody_after() {
    for change in [Change::PowerCut { seed: 1 }, Change::Redeploy] {
        let mut environment = environment(Layout::Single, 1);
        let rate = loadline_units::Iops::per_second(100).map(loadline_disk::IopsBudget::steady);
        environment.volumes[0].disks[0].limit.iops = rate.map(loadline_disk::Directions::Together);
        let mut model = FaultyMachine::new(&environment, 1, InitialState::default()).unwrap();
        let queued: Vec<usize> =
            (0..1_000).map(|number| model.submit(at(0), 0, request(Operation::Write, number * 4_096, at(0)))).collect();
        // Ten seconds of a queue, of which the first of a hang is told of as well.
        model.change(at(50), &Change::Begin(fault("data", FaultKind::Hang))).unwrap();
        let hangs = model.submit(at(60), 0, request(Operation::Read, 0, at(60)));
        model.change(at(105), &change).unwrap();
        let mut ended = Vec::new();
        while let Some((id, end)) = model.pop_ended(at(105)) {
            ended.push((id, end));
        }
        assert_eq!(model.next_event_at(), None);
        let (answered, gone): (Vec<_>, Vec<_>) = ended.into_iter().partition(|(_, end)| end.error.is_none());
        // One each 10 ms, and 1 ms of service.
        assert_eq!(answered.len(), 11, "{change:?}");
        assert!(answered.iter().all(|(_, end)| end.at <= at(105)));
        assert_eq!(gone.len(), queued.len() + 1 - answered.len());
        assert!(gone.iter().any(|(id, _)| *id == hangs));
        assert!(gone.iter().all(|(_, end)| *end == RequestEnd { at: at(105), error: Some(ErrorKind::Gone) }));
        model.change(at(200), &Change::Clear(FaultSelection::All)).unwrap();
        let next = one(&mut model, at(200), 0, Operation::Read, 0).unwrap();
        assert_eq!(next, RequestEnd { at: at(201), error: None });
        let account = model.account(at(300), 0);
        assert_eq!((account.requests, account.asked_time), (1_002, account.at_disk + account.faults));
    }
}
