//! What devices had that was not asked of them, and what they had otherwise.

use super::{GIB, KIB4, Scene, is_about, seen};
use crate::example::closed;
use loadline_block::Operation;
use loadline_record::{
    DoubtCode, DoubtEvidence, Excess, FileSystemFacts, InFlight, KernelThrottle, OtherLoad, OthersWaited, QueueFacts,
    Recut, TargetKind, ThreadBusy, ThrottledQuantity, ThrottledRequests,
};

/// Whether so many bytes were written in excess, and nothing else.
fn written(excess: &[Excess], wanted: u64) -> bool {
    matches!(excess, [Excess { operation: Operation::Write, bytes, requests: None }] if is_about(*bytes as f64, wanted as f64))
}

/// Whether an operation has so many requests in excess.
fn more_requests(excess: &[Excess], of: Operation, wanted: f64) -> bool {
    matches!(excess, [Excess { operation, requests: Some(requests), .. }] if *operation == of && is_about(*requests, wanted))
}

/// Evidence of requests that reached the device in another size, in KiB.
fn parts_of(kib: f64) -> impl Fn(&DoubtEvidence) -> bool {
    move |seen| matches!(seen, DoubtEvidence::OtherRequests { recut, .. } if is_about(recut[0].device_size(), kib * 1024.0))
}

#[test]
fn the_depth_that_was_not_reached_is_told_with_where_the_requests_were() {
    let shallow = || Scene::reads().changed(|s| s.counters().queue_ms /= 10);
    let others = |scene: &Scene| match scene.seen(DoubtCode::DepthNotReached) {
        Some(DoubtEvidence::OtherRequests { in_flight: Some(of), .. }) => of.others,
        other => panic!("{other:?}"),
    };
    assert_eq!(others(&shallow()), OthersWaited::Unknown);
    let busy =
        shallow().changed(|s| s.trial.surroundings.threads = vec![ThreadBusy { busy: 0.97, ..ThreadBusy::default() }]);
    assert_eq!(others(&busy), OthersWaited::ToolBusy);
    // A throttle that is known and reached comes first, and one that is far away explains nothing.
    let throttled = |per_s: u64| {
        shallow().changed(|s| {
            s.trial.surroundings.threads = vec![ThreadBusy { busy: 0.97, ..ThreadBusy::default() }];
            s.volume.devices[0].throttles = vec![KernelThrottle {
                requests: ThrottledRequests::Reads,
                counts: ThrottledQuantity::Requests,
                per_s,
                group: "/db".into(),
                file: "/sys/fs/cgroup/db/io.max".into(),
                lifted_by: "7:0 riops=max".into(),
            }];
        })
    };
    let rate = throttled(1).trial.surroundings.devices[0].reads / 60;
    let reached = others(&throttled(rate));
    assert!(
        matches!(&reached, OthersWaited::Throttle { device, devices: 1, limit }
            if device == "vda" && limit.group == "/db" && limit.per_s == rate),
        "{reached:?}"
    );
    assert_eq!(others(&throttled(rate * 2)), OthersWaited::ToolBusy);
    // Holes, or a cache.
    assert_eq!(others(&shallow().changed(|s| s.counters().read_bytes /= 100)), OthersWaited::NeverCame);
}

#[test]
fn bytes_that_nobody_asked_for_are_another_load() {
    let extra = |bytes: u64| {
        Scene::reads().changed(|s| {
            s.counters().write_bytes += bytes;
            s.counters().writes += bytes / (64 << 10);
            s.trial.surroundings.others = vec![
                OtherLoad { pid: 7, name: "kworker/u8:1".into(), read_bytes: 0, write_bytes: 9 * GIB },
                OtherLoad { pid: 42, name: "postgres".into(), read_bytes: 0, write_bytes: bytes },
            ];
        })
    };
    extra(GIB).earns(
        DoubtCode::OtherLoad,
        seen!(DoubtEvidence::MovedMore { devices, excess, busiest: Some(OtherLoad { pid: 42, .. }) }
            if devices == &["vda"] && written(excess, GIB)),
    );
    // The journal of a minute.
    extra(10 << 20).lacks(DoubtCode::OtherLoad);
}

#[test]
fn what_a_journal_writes_for_each_flush_is_no_other_load() {
    // A transaction of the journal for each of 20,000 flushes: so many blocks of 4 KiB, and requests.
    let flushed = |kind: TargetKind, blocks: u64, requests: u64| {
        Scene::writes().changed(|s| {
            s.volume.kind = kind;
            s.trial.surroundings.asked.insert(Operation::Flush, (20_000, 0));
            s.counters().writes += 20_000 * requests;
            s.counters().write_bytes += 20_000 * blocks * KIB4;
        })
    };
    let code = DoubtCode::OtherLoad;
    flushed(TargetKind::TestFile, 6, 3).lacks(code);
    // More than a journal does, in bytes or in requests; and a device without a file system has no journal.
    let excess_of = |bytes: u64| move |seen: &DoubtEvidence| matches!(seen, DoubtEvidence::MovedMore { excess, .. } if written(excess, bytes));
    flushed(TargetKind::TestFile, 24, 3).earns(code, excess_of(20_000 * 24 * KIB4));
    flushed(TargetKind::TestFile, 12, 12).earns(
        code,
        seen!(DoubtEvidence::MovedMore { excess, .. } if more_requests(excess, Operation::Write, 240_000.0)),
    );
    flushed(TargetKind::BlockDevice, 6, 3).earns(code, excess_of(20_000 * 6 * KIB4));
}

#[test]
fn trims_of_the_load_are_no_other_load_however_they_reach_the_device() {
    let trimming = |as_writes: u64, as_discards: u64| {
        Scene::writes().changed(|s| {
            s.trial.surroundings.asked.insert(Operation::Trim, (100_000, 100_000 * KIB4));
            let counters = s.counters();
            counters.writes += as_writes;
            counters.write_bytes += as_writes * KIB4;
            counters.discards += as_discards;
            counters.discard_bytes += as_discards * KIB4;
        })
    };
    trimming(100_000, 0).lacks(DoubtCode::OtherLoad);
    trimming(0, 100_000).lacks(DoubtCode::OtherLoad);
    trimming(0, 0).lacks(DoubtCode::OtherLoad);
    let excess_of = |requests: u64| move |seen: &DoubtEvidence| matches!(seen, DoubtEvidence::MovedMore { excess, .. } if written(excess, requests * KIB4));
    trimming(400_000, 0).earns(DoubtCode::OtherLoad, excess_of(300_000));
    trimming(100_000, 100_000).earns(DoubtCode::OtherLoad, excess_of(100_000));
}

#[test]
fn small_foreign_requests_are_another_load_and_split_ones_are_not() {
    let large = || Scene::of(closed("sequential", 1.0, 1 << 20, 8));
    large()
        .changed(|s| {
            s.counters().reads += 20_000;
            s.counters().read_bytes += 20_000 * 4096;
        })
        .earns(
            DoubtCode::OtherLoad,
            seen!(DoubtEvidence::MovedMore { excess, .. } if more_requests(excess, Operation::Read, 20_000.0)),
        );
    large().changed(|s| s.counters().reads *= 8).lacks(DoubtCode::OtherLoad);
    // A queue that cuts each request in four is not a stranger either.
    large()
        .changed(|s| {
            s.volume.devices[0].request_bytes_max = Some(256 << 10);
            s.counters().reads *= 4;
            s.counters().read_bytes += 3 << 20;
        })
        .lacks(DoubtCode::OtherLoad);
}

#[test]
fn what_a_copy_on_write_file_system_adds_is_its_own() {
    let doubled = |kind: &str| {
        let kind = kind.to_owned();
        Scene::writes().changed(move |s| {
            s.counters().write_bytes *= 2;
            s.volume.file_system = Some(FileSystemFacts { kind, ..FileSystemFacts::default() });
        })
    };
    doubled("btrfs").lacks(DoubtCode::OtherLoad);
    doubled("xfs").earns(
        DoubtCode::OtherLoad,
        seen!(DoubtEvidence::MovedMore { excess, .. } if excess[0].operation == Operation::Write),
    );
}

#[test]
fn without_counters_other_processes_must_do() {
    const ALL: u64 = 10 * GIB;
    let beside = |write_bytes| {
        Scene::reads().changed(|s| {
            s.trial.surroundings.devices.clear();
            s.trial.surroundings.others = vec![OtherLoad { pid: 9, name: "rsync".into(), read_bytes: 0, write_bytes }];
        })
    };
    beside(ALL).earns(
        DoubtCode::OtherLoad,
        seen!(DoubtEvidence::OthersMoved { bytes: ALL, busiest: Some(OtherLoad { pid: 9, .. }) }),
    );
    beside(1 << 20).lacks(DoubtCode::OtherLoad);
    // With counters that fit, the other process was busy elsewhere.
    Scene::reads()
        .changed(|s| {
            s.trial.surroundings.others =
                vec![OtherLoad { pid: 9, name: "rsync".into(), read_bytes: 0, write_bytes: 10 * GIB }];
        })
        .lacks(DoubtCode::OtherLoad);
}

#[test]
fn devices_side_by_side_add_up() {
    let halves = |share: u64| {
        Scene::reads().changed(|s| {
            let mut one = s.trial.surroundings.devices[0].clone();
            (one.reads, one.read_bytes, one.queue_ms) =
                (one.reads / share, one.read_bytes / share, one.queue_ms / share);
            let named = |name: &str| loadline_record::DeviceCounters { name: name.into(), ..one.clone() };
            s.trial.surroundings.devices = vec![named("sda"), named("sdb")];
        })
    };
    assert_eq!(halves(2).codes(), []);
    halves(1)
        .earns(DoubtCode::OtherLoad, seen!(DoubtEvidence::MovedMore { devices, .. } if devices == &["sda", "sdb"]));
}

#[test]
fn requests_that_were_merged_did_not_wait_before_the_device() {
    // A third as many requests, each three times as long, and a third of the depth: all 32 were there.
    let merged = |queued: f64| {
        Scene::reads().changed(|s| {
            let counters = s.counters();
            counters.reads /= 3;
            counters.queue_ms = (60_000.0 * 32.0 / 3.0 * queued) as u64;
        })
    };
    let is_merged = |recut: &[Recut]| matches!(recut, [one] if one.device_size() > one.asked_size());
    merged(1.0).earns(
        DoubtCode::DepthNotReached,
        seen!(DoubtEvidence::OtherRequests { recut, in_flight: None, .. } if is_merged(recut)),
    );
    merged(0.1).earns(
        DoubtCode::DepthNotReached,
        seen!(DoubtEvidence::OtherRequests { in_flight: Some(InFlight { outstanding: 32.0, on_devices, devices, .. }), .. }
            if is_about(*on_devices, 3.2) && devices == &["vda"]),
    );
}

#[test]
fn requests_that_wait_before_the_device_do_not_make_its_depth() {
    let in_flight = |share: f64| Scene::reads().changed(|s| s.counters().queue_ms = (60_000.0 * 32.0 * share) as u64);
    in_flight(0.01).earns(
        DoubtCode::DepthNotReached,
        seen!(DoubtEvidence::OtherRequests { recut, in_flight: Some(of), queues }
            if recut.is_empty() && is_about(of.on_devices, 0.32)
                && matches!(&queues[..], [QueueFacts { requests: Some(256), scheduler: Some(name), .. }] if name == "none")),
    );
    in_flight(0.8).lacks(DoubtCode::DepthNotReached);
    // The milliseconds around a trial of milliseconds are no depth that was not reached.
    in_flight(0.01)
        .changed(|s| {
            s.trial.surroundings.elapsed_ns = 20_000_000;
            s.counters().queue_ms = 20;
        })
        .lacks(DoubtCode::DepthNotReached);
    // One at a time, or paced, there is no depth to reach.
    Scene::of(closed("random", 1.0, KIB4, 1)).changed(|s| s.counters().queue_ms = 0).lacks(DoubtCode::DepthNotReached);
    in_flight(0.01).changed(|s| s.load.rate_iops = Some(100.0)).lacks(DoubtCode::DepthNotReached);
}

#[test]
fn merged_and_split_requests_are_told() {
    let cut = |times: f64| Scene::reads().changed(|s| s.counters().reads = (s.counters().reads as f64 * times) as u64);
    cut(0.25).earns(DoubtCode::DepthNotReached, parts_of(16.0));
    cut(4.0).earns(DoubtCode::DepthNotReached, parts_of(1.0));
    cut(0.95).lacks(DoubtCode::DepthNotReached);
    // Half of the reads came from a cache: those that came were whole.
    Scene::reads()
        .changed(|s| {
            s.counters().reads /= 2;
            s.counters().read_bytes /= 2;
        })
        .lacks(DoubtCode::DepthNotReached);
}

#[test]
fn flushes_that_a_device_counts_as_writes_are_no_split_writes() {
    let flushed = |flushes_counted: u64| {
        Scene::writes().changed(|s| {
            (s.volume.file_system, s.volume.kind) = (None, TargetKind::BlockDevice);
            let (writes, _) = s.asked(Operation::Write);
            s.trial.surroundings.asked.insert(Operation::Flush, (writes, 0));
            s.counters().writes += writes * flushes_counted;
        })
    };
    flushed(1).lacks(DoubtCode::DepthNotReached);
    flushed(3).earns(DoubtCode::DepthNotReached, parts_of(4.0 / 3.0));
}

#[test]
fn flushes_behind_durable_writes_are_no_split_writes() {
    let durable = |every: Option<u64>| {
        Scene::writes().changed(|s| {
            (s.volume.file_system, s.volume.kind) = (None, TargetKind::BlockDevice);
            s.load.flush_every = every;
            let (writes, _) = s.asked(Operation::Write);
            s.counters().writes += writes / 4;
        })
    };
    durable(Some(4)).lacks(DoubtCode::DepthNotReached);
    durable(None).earns(DoubtCode::DepthNotReached, parts_of(4.0 * 0.8));
}

#[test]
fn a_strangers_requests_are_neither_merged_nor_split_ones() {
    let beside = |block: u64, requests: u64, bytes_each: u64| {
        Scene::of(closed("random", 1.0, block, 1)).changed(|s| {
            s.counters().reads += requests;
            s.counters().read_bytes += requests * bytes_each;
        })
    };
    for scene in [beside(KIB4, 6_000, 1 << 20), beside(64 << 10, 60_000, KIB4)] {
        scene.lacks(DoubtCode::DepthNotReached);
        scene.earns(DoubtCode::OtherLoad, seen!(DoubtEvidence::MovedMore { .. }));
    }
}
