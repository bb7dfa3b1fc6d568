//! Constructed samples, each with the cause that it must be put down to.

mod application;
mod memory;
mod quota;
mod shares;

use super::{WatchBeside, WatchHeld, WatchHolder, WatchNext, WatchStep};
use crate::example::{self, ExampleDisk};
use crate::verdict_block::{Advised, Because, Certainty, Holder, VolumeVerdict};
use crate::{
    AdvisedStep, DeviceMoves, EventsCost, Finding, FindingCode, FindingSeen, RunSummary, WatchSeen, summarize,
};
use loadline_record::{
    AnswersInClusters, Ceiling, EventAsker, Evidence, Exceeded, Fact, HiddenProcesses, KernelThrottle, Limit,
    ProgramSecond, Rate, RunRecord, RunVerb, ThrottledQuantity, ThrottledRequests, WatchCause, WatchCost, WatchEvents,
    WatchFact, WatchGain, WatchRecord, WatchSecond, WatchTick, WatchedCpu, WatchedLoop, WatchedProgram,
    WatchedThrottle,
};

/// What a finding shows.
fn shown(finding: &Finding) -> &WatchSeen {
    let FindingSeen::Watched(seen) = &finding.seen else { panic!("{finding:?}") };
    seen
}

/// What the first finding of a code shows.
fn shown_of(summary: &RunSummary, code: FindingCode) -> Option<&WatchSeen> {
    summary.findings.iter().find(|finding| finding.code == code).map(shown)
}

/// What a device did in a second.
#[derive(Clone, Copy)]
struct Did {
    reads: f64,
    writes: f64,
    flushes: f64,
    block: f64,
    /// Requests outstanding.
    depth: f64,
    busy: f64,
    flush_share: f64,
}

const fn reads(iops: f64, depth: f64, busy: f64) -> Did {
    Did { reads: iops, writes: 0.0, flushes: 0.0, block: 4096.0, depth, busy, flush_share: 0.0 }
}

fn watch(seconds: &[Did]) -> WatchRecord {
    let tick = |did: &Did| {
        let waited_ms = did.depth * 100.0;
        WatchTick {
            elapsed_us: 100_000,
            reads: (did.reads / 10.0) as u64,
            writes: (did.writes / 10.0) as u64,
            flushes: (did.flushes / 10.0) as u64,
            read_bytes: (did.reads / 10.0 * did.block) as u64,
            write_bytes: (did.writes / 10.0 * did.block) as u64,
            read_ms: if did.reads > 0.0 { waited_ms as u64 } else { 0 },
            write_ms: if did.reads > 0.0 { 0 } else { (waited_ms * (1.0 - did.flush_share)) as u64 },
            flush_ms: (waited_ms * did.flush_share) as u64,
            busy_ms: (did.busy * 100.0) as u64,
            in_flight: did.depth as u64,
            ..WatchTick::default()
        }
    };
    WatchRecord {
        ticks: seconds.iter().flat_map(|did| vec![tick(did); 10]).collect(),
        seconds: vec![WatchSecond { ticks: 10, ..WatchSecond::default() }; seconds.len()],
        ..WatchRecord::default()
    }
}

fn program(name: &str, pid: u32, seconds: usize, did: ProgramSecond) -> WatchedProgram {
    WatchedProgram { name: name.into(), pid, processes: 1, seconds: vec![did; seconds], ..WatchedProgram::default() }
}

fn summary(watch: WatchRecord, ceilings: Vec<Ceiling>) -> RunSummary {
    summarize(&record(watch, ceilings))
}

fn record(watch: WatchRecord, ceilings: Vec<Ceiling>) -> RunRecord {
    let mut record: RunRecord =
        example::run(vec![example::cell(example::closed("random", 1.0, 4096, 1), &ExampleDisk::default(), &[1.0])]);
    record.header.verb = RunVerb::Watch;
    record.cells[0].ceilings = ceilings;
    record.cells[0].trials[0].watched = Some(Box::new(watch));
    record
}

#[track_caller]
fn bound(summary: &RunSummary, limit: Limit, share: std::ops::RangeInclusive<f64>) {
    let cell = &summary.cells[0];
    let binding = cell.binding.as_ref().expect("named");
    assert_eq!(binding.limit, limit, "{:?}", binding.seen);
    let found = cell.binding_share.expect("a watch has a share");
    assert!(share.contains(&found), "{found}: {:?}", cell.watch.as_ref().unwrap().causes);
    let verdict = summary.verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.volumes[0].limit, Some(limit));
}

fn throttle(per_s: u64, asked: &[u64]) -> WatchedThrottle {
    WatchedThrottle {
        limit: KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s,
            group: "/db".into(),
            file: "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".into(),
            lifted_by: "7:0 0".into(),
        },
        asked: Some(asked.to_vec()),
    }
}

#[test]
fn a_throttle_binds_for_as_long_as_its_group_asks_for_all_of_it() {
    // The device is idle for most of the time: the requests wait above it.
    let mut did = vec![reads(1_000.0, 0.1, 0.1); 14];
    did.extend([reads(300.0, 0.1, 0.1); 6]);
    let mut seen = watch(&did);
    seen.throttles = vec![throttle(1_000, &[[1_000; 14].as_slice(), &[300; 6]].concat())];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::DiskIops, 0.69..=0.71);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    let (WatchHeld::Storage { throttle: Some(held), share_of_time, .. }, _) = held(volume) else {
        panic!("{volume:?}")
    };
    assert_eq!((held.limit.group.as_str(), (share_of_time * 10.0).round()), ("/db", 7.0));
    assert_eq!(
        volume.command.as_deref(),
        Some("echo '7:0 0' | sudo tee /sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device")
    );
}

/// What has most of the time of a device, and what else has it.
#[track_caller]
fn held(volume: &VolumeVerdict) -> (&WatchHeld, &WatchBeside) {
    let Holder::Watch(WatchHolder::Held { by, beside, .. }) = &volume.held_by else { panic!("{volume:?}") };
    (by.as_ref(), beside.as_ref())
}

#[test]
fn what_requests_wait_before_the_device_is_said_beside_what_it_takes() {
    // 8 threads, 50 reads/s: each waits 160 ms, of which the device has 2.
    let throttled = |blocked_us| {
        let mut seen = watch(&[reads(50.0, 0.1, 0.1); 10]);
        seen.throttles = vec![throttle(50, &[50; 10])];
        let did = ProgramSecond { read_bytes: 204_800, blocked_us, ..ProgramSecond::default() };
        seen.programs = vec![program("db", 7, 10, did)];
        summary(seen, Vec::new())
    };
    let told = |summary: &RunSummary| {
        shown_of(summary, FindingCode::WatchedAboveDevice).map(|seen| match seen {
            WatchSeen::AboveDevice { wait, .. } => wait.clone(),
            other => panic!("{other:?}"),
        })
    };
    let seen = throttled(8_000_000);
    let wait = seen.verdict.as_ref().unwrap().volumes[0].latency.clone().expect("said");
    assert_eq!((wait.application_ns, wait.device_ns), (Some(160e6), 2e6));
    assert_eq!((wait.threads_blocked, told(&seen)), (Some(8.0), Some(wait)));
    // Requests without a thread each that waits for them leave nothing to see.
    let unseen = throttled(0);
    let wait = unseen.verdict.as_ref().unwrap().volumes[0].latency.clone().expect("said");
    assert_eq!((wait.application_ns, wait.device_ns), (None, 2e6));
    assert_eq!((wait.pid, told(&unseen)), (Some(7), Some(wait)));
    // Without a throttle the device's latency is all there is.
    let mut free = watch(&[reads(50.0, 0.1, 0.1); 10]);
    free.throttles = vec![throttle(5_000, &[50; 10])];
    let free = summary(free, Vec::new());
    assert_eq!((told(&free), free.verdict.unwrap().volumes[0].latency.clone()), (None, None));
}

#[test]
fn a_program_that_moves_more_than_its_device_is_explained() {
    let whose = |read_bytes, written| {
        let mut seen = watch(&[reads(1_000.0, 1.0, 1.0); 10]);
        let did = ProgramSecond { read_bytes, write_bytes: written, ..ProgramSecond::default() };
        seen.programs = vec![program("db", 7, 10, did)];
        let found = summary(seen, Vec::new());
        match shown_of(&found, FindingCode::WatchedPrograms) {
            Some(WatchSeen::Programs { device_moves, .. }) => *device_moves,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(whose(4_096_000, 0), None);
    for (read, written) in [(8_000_000, 0), (4_096_000, 9_000_000)] {
        let DeviceMoves { read_bytes_per_s, write_bytes_per_s } = whose(read, written).expect("it is less");
        assert_eq!(((read_bytes_per_s / 1e4).round(), write_bytes_per_s), (410.0, 0.0));
    }
}

#[test]
fn a_throttle_that_is_reached_for_parts_of_each_second_binds_for_those() {
    let mut seen = watch(&[reads(500.0, 0.1, 0.1); 10]);
    for (place, tick) in seen.ticks.iter_mut().enumerate() {
        let on = place % 10 < 5;
        tick.reads = if on { 100 } else { 0 };
    }
    seen.throttles = vec![throttle(1_000, &[500; 10])];
    bound(&summary(seen, Vec::new()), Limit::DiskIops, 0.35..=0.65);
}

#[test]
fn a_throttle_far_away_binds_nothing() {
    let mut seen = watch(&[reads(200.0, 0.1, 0.1); 10]);
    seen.throttles = vec![throttle(1_000, &[200; 10])];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::Arrival, 0.85..=0.95);
    let Some(WatchSeen::Limits { throttles, .. }) = shown_of(&found, FindingCode::WatchedLimits) else {
        panic!("{:?}", found.findings)
    };
    assert!(throttles[0].asked_per_s.is_some_and(|asked| (asked - 200.0).abs() < 0.1), "{throttles:?}");
}

#[test]
fn a_volume_that_counts_its_excess_names_the_limit() {
    let mut seen = watch(&[reads(3_000.0, 20.0, 1.0); 10]);
    for (place, second) in seen.seconds.iter_mut().enumerate() {
        let us = if place < 4 { 900_000 } else { 0 };
        let device = "nvme1n1".to_owned();
        second.exceeded = vec![Exceeded { device, instance_throughput_us: us, ..Exceeded::default() }];
    }
    // Level or not, what the volume counts comes first in those seconds; in the others the level is seen.
    let found = summary(seen, Vec::new());
    let causes = &found.cells[0].watch.as_ref().unwrap().causes;
    assert!(
        causes.iter().any(|cause| cause.limit == Some(Limit::VmUncachedThroughput) && cause.share > 0.35),
        "{causes:?}"
    );
}

#[test]
fn a_declared_ceiling_binds_when_the_rate_is_at_it() {
    let ceiling = |limit, iops| Ceiling { limit, iops, source: "P10".into() };
    let ceilings = vec![ceiling(Limit::DiskIops, 500.0), ceiling(Limit::VmUncachedIops, 3_200.0)];
    bound(&summary(watch(&[reads(500.0, 1.2, 1.0); 10]), ceilings.clone()), Limit::DiskIops, 0.99..=1.0);
    bound(&summary(watch(&[reads(200.0, 0.2, 0.2); 10]), ceilings), Limit::Arrival, 0.7..=0.9);
}

#[test]
fn a_rate_that_stays_while_the_queue_grows_is_a_limit_nobody_declared() {
    let did: Vec<Did> =
        (0..20).map(|second| reads(1_733.0 + f64::from(second % 3) * 5.0, 4.0 + f64::from(second), 1.0)).collect();
    let found = summary(watch(&did), Vec::new());
    bound(&found, Limit::DiskIops, 0.95..=1.0);
    assert!(!found.cells[0].binding.as_ref().unwrap().presumed);
    let large: Vec<Did> = (0..20)
        .map(|second| Did {
            block: if second % 2 == 0 { 262_144.0 } else { 131_072.0 },
            ..reads(if second % 2 == 0 { 400.0 } else { 800.0 }, 4.0 + f64::from(second), 1.0)
        })
        .collect();
    bound(&summary(watch(&large), Vec::new()), Limit::DiskThroughput, 0.9..=1.0);
}

#[test]
fn an_even_rate_of_requests_of_one_size_is_the_limit_that_disks_of_that_rate_have() {
    // 512 requests of 8 KiB a second are 4 MiB: round in bytes, and far below what a disk of 512 IOPS moves.
    let mut seen = watch(&[Did { block: 8192.0, ..reads(510.0, 8.0, 1.0) }; 12]);
    for tick in seen.ticks.iter_mut().step_by(5) {
        tick.reads += 1;
        tick.read_bytes += 8192;
    }
    let found = summary(seen, Vec::new());
    bound(&found, Limit::DiskIops, 0.99..=1.0);
    assert!(found.cells[0].binding.as_ref().unwrap().presumed);
}

#[test]
fn answers_in_clusters_make_an_even_rate_a_level_whatever_its_figure() {
    let mut seen = watch(&[reads(8_700.0, 32.0, 1.0); 12]);
    seen.events = Some(WatchEvents {
        clusters: Some(AnswersInClusters { answers: 435.0, every_us: 50_000, share: 0.95 }),
        ..WatchEvents::default()
    });
    let found = summary(seen, Vec::new());
    bound(&found, Limit::DiskIops, 0.99..=1.0);
    assert!(!found.cells[0].binding.as_ref().unwrap().presumed);
}

#[test]
fn a_steady_round_rate_under_a_constant_queue_is_presumed_to_be_a_limit_and_any_other_is_not() {
    let found = summary(watch(&[reads(500.0, 32.0, 1.0); 12]), Vec::new());
    bound(&found, Limit::DiskIops, 0.99..=1.0);
    assert!(found.cells[0].binding.as_ref().unwrap().presumed);
    assert_eq!(found.verdict.as_ref().unwrap().volumes[0].certainty, Certainty::Doubtful);
    bound(&summary(watch(&[reads(8_700.0, 32.0, 1.0); 12]), Vec::new()), Limit::Latency, 0.99..=1.0);
}

#[test]
fn a_rate_that_does_not_follow_what_waits_is_presumed_to_be_a_limit_and_one_that_does_is_not() {
    // As a P10 at a depth of 16 shows itself on a busy machine: 510 requests a second are no round figure.
    let seen = |rate: fn(f64) -> f64| {
        let did: Vec<Did> =
            [15.2, 14.1, 13.2, 14.9, 13.5, 14.4, 12.9, 15.0].map(|depth| reads(rate(depth), depth, 0.95)).to_vec();
        let found = summary(watch(&did), Vec::new());
        let binding = found.cells[0].binding.clone().unwrap();
        (binding.limit, binding.presumed)
    };
    assert_eq!(seen(|depth| 510.0 + depth / 10.0), (Limit::DiskIops, true));
    assert_eq!(seen(|depth| 436.0 * depth), (Limit::Latency, false));
}

#[test]
fn a_baseline_that_is_far_surpassed_does_not_limit() {
    let ceiling = |limit, iops| Ceiling { limit, iops, source: "P10".into() };
    let ceilings = vec![ceiling(Limit::BurstExhausted, 510.0), ceiling(Limit::DiskIops, 3_570.0)];
    bound(&summary(watch(&[reads(3_560.0, 31.0, 1.0); 10]), ceilings.clone()), Limit::DiskIops, 0.99..=1.0);
    bound(&summary(watch(&[reads(510.0, 31.0, 1.0); 10]), ceilings), Limit::BurstExhausted, 0.99..=1.0);
}

#[test]
fn a_limit_of_the_machine_is_reached_by_all_its_volumes_together() {
    let cell = || example::cell(example::closed("random", 1.0, 4096, 1), &ExampleDisk::default(), &[1.0]);
    let mut record: RunRecord = example::run(vec![cell(), cell()]);
    record.header.verb = RunVerb::Watch;
    for (cell, (name, iops)) in record.cells.iter_mut().zip([("sda", 400.0), ("sdb", 200.0)]) {
        cell.id = name.into();
        cell.ceilings = vec![
            Ceiling { limit: Limit::DiskIops, iops: 2_000.0, source: "a disk".into() },
            Ceiling { limit: Limit::VmUncachedIops, iops: 600.0, source: "the machine".into() },
        ];
        cell.trials[0].watched = Some(Box::new(watch(&[reads(iops, 8.0, 1.0); 10])));
    }
    let limits = |record: &RunRecord| -> Vec<(Limit, Evidence)> {
        let cells = summarize(record).cells;
        cells.into_iter().filter_map(|cell| cell.binding.map(|own| (own.limit, own.seen))).collect()
    };
    let found = limits(&record);
    assert!(found.iter().all(|(limit, _)| *limit == Limit::VmUncachedIops), "{found:?}");
    let Fact::Watch(WatchFact::CeilingReached { with_others, ceiling_iops, .. }) = &found[0].1.facts()[0] else {
        panic!("{found:?}")
    };
    assert_eq!((*with_others, *ceiling_iops), (true, Some(600.0)));
    record.cells[1].trials[0].watched = Some(Box::new(watch(&[reads(0.0, 0.0, 0.0); 10])));
    assert_ne!(limits(&record)[0].0, Limit::VmUncachedIops);
}

#[test]
fn a_level_of_all_volumes_together_is_presumed_to_be_the_machines() {
    let cell = || example::cell(example::closed("random", 1.0, 4096, 1), &ExampleDisk::default(), &[1.0]);
    // What one asks for less the other asks for more; requests of several sizes are no level of bytes.
    let seen = |total: fn(usize) -> f64| {
        let mut record: RunRecord = example::run(vec![cell(), cell()]);
        record.header.verb = RunVerb::Watch;
        for (number, cell) in record.cells.iter_mut().enumerate() {
            let did: Vec<Did> = (0..10)
                .map(|second| {
                    let share = [0.7, 0.6, 0.75, 0.55, 0.66][second % 5];
                    let share = if number == 0 { share } else { 1.0 - share };
                    let block = [4_096.0, 9_000.0, 6_000.0][second % 3];
                    Did { block, ..reads(total(second) * share, 16.0 * share + (second % 4) as f64, 1.0) }
                })
                .collect();
            cell.id = format!("watch-{number}");
            cell.trials[0].watched = Some(Box::new(watch(&did)));
        }
        let bindings = summarize(&record).cells.into_iter().map(|cell| cell.binding.unwrap());
        bindings.map(|binding| (binding.limit, binding.presumed)).collect::<Vec<_>>()
    };
    assert_eq!(seen(|_| 733.0), [(Limit::VmUncachedIops, true); 2]);
    assert_eq!(seen(|second| 500.0 + 90.0 * (second % 4) as f64), [(Limit::Latency, false); 2]);
}

#[test]
fn writes_and_flushes_that_follow_one_another_are_commits() {
    // Writes take as long as flushes, and there are two of them to each flush.
    let commit =
        Did { reads: 0.0, writes: 200.0, flushes: 100.0, block: 4096.0, depth: 0.8, busy: 0.8, flush_share: 0.2 };
    bound(&summary(watch(&[commit; 12]), Vec::new()), Limit::Flush, 0.75..=0.85);
    // Many at once are no commits that wait for one another.
    let many = Did { writes: 210.0, depth: 12.0, busy: 1.0, ..commit };
    bound(&summary(watch(&[many; 12]), Vec::new()), Limit::Latency, 0.9..=1.0);
}

#[test]
fn a_device_that_waits_for_a_program_that_waits_for_a_cpu_is_not_the_storage() {
    // Many requests at once are outstanding for 45 % of the time: in the rest the program wants a CPU and gets none.
    let did = ProgramSecond { read_bytes: 4_096_000, cpu_us: 60_000, cpu_wait_us: 550_000, ..ProgramSecond::default() };
    let mut seen = watch(&[reads(1_000.0, 5.0, 0.45); 10]);
    seen.programs = vec![program("db", 7, 10, did)];
    bound(&summary(seen.clone(), Vec::new()), Limit::Cpu, 0.5..=0.6);
    // One that sleeps in the rest has nothing to do.
    seen.programs = vec![program("db", 7, 10, ProgramSecond { cpu_wait_us: 20_000, ..did })];
    bound(&summary(seen.clone(), Vec::new()), Limit::Arrival, 0.5..=0.6);
    // Another one, with a hundred times the bytes of the device, has its work elsewhere.
    let elsewhere = ProgramSecond { read_bytes: 400_000_000, cpu_us: 100_000, cpu_wait_us: 800_000, ..did };
    seen.programs.push(program("compiler", 8, 10, elsewhere));
    bound(&summary(seen, Vec::new()), Limit::Arrival, 0.5..=0.6);
}

#[test]
fn a_burst_that_ends_leaves_its_baseline() {
    let mut did = vec![reads(3_500.0, 31.0, 1.0); 8];
    did.extend([reads(500.0, 31.0, 1.0); 24]);
    let found = summary(watch(&did), Vec::new());
    bound(&found, Limit::BurstExhausted, 0.7..=0.8);
    let seen = found.cells[0].binding.as_ref().unwrap().seen.facts();
    let [Fact::Watch(WatchFact::RateEven { rate: Rate::Iops(500.0), .. }), before] = seen else { panic!("{seen:?}") };
    assert_eq!(*before, WatchFact::BurstBefore { rate: Rate::Iops(3_500.0) }.into());
    // Also where its figure is none that limits have.
    let mut did = vec![reads(1_190.0, 15.0, 1.0); 4];
    did.extend([reads(409.0, 15.0, 1.0); 5]);
    bound(&summary(watch(&did), Vec::new()), Limit::BurstExhausted, 0.5..=0.6);
}

#[test]
fn one_request_at_a_time_waits_for_answers() {
    let did: Vec<Did> = (0..15).map(|second| reads(900.0 + f64::from(second % 5) * 40.0, 0.97, 0.97)).collect();
    let found = summary(watch(&did), Vec::new());
    bound(&found, Limit::Latency, 0.9..=1.0);
    assert_eq!(found.cells[0].watch.as_ref().unwrap().arrivals, WatchedLoop::Unknown);
}

#[test]
fn commits_wait_for_flushes() {
    let commit =
        Did { reads: 0.0, writes: 400.0, flushes: 200.0, block: 8192.0, depth: 0.9, busy: 0.6, flush_share: 0.7 };
    bound(&summary(watch(&[commit; 12]), Vec::new()), Limit::Flush, 0.85..=0.95);
    // Few flushes among many writes are no commits.
    let copy = Did { writes: 4_000.0, flushes: 10.0, flush_share: 0.05, ..commit };
    bound(&summary(watch(&[copy; 12]), Vec::new()), Limit::Latency, 0.5..=0.95);
}

#[test]
fn busy_processors_and_the_page_cache_are_not_the_storage_either() {
    let busy = |did| {
        let mut seen = watch(&[reads(100.0, 0.1, 0.1); 10]);
        for second in &mut seen.seconds {
            second.cpu = Some(WatchedCpu { busy_ppm: 990_000, steal_ppm: 0 });
        }
        seen.programs = vec![program("db", 7, 10, did)];
        summary(seen, Vec::new())
    };
    let did = ProgramSecond { read_bytes: 400_000, cpu_us: 300_000, cpu_wait_us: 600_000, ..ProgramSecond::default() };
    bound(&busy(did), Limit::Cpu, 0.99..=1.0);
    // Busy with what gives way to the program is not busy for it.
    bound(&busy(ProgramSecond { cpu_wait_us: 9_000, ..did }), Limit::Arrival, 0.85..=0.95);

    let did =
        ProgramSecond { asked_read_bytes: 80_000_000, read_bytes: 4_096, cpu_us: 300_000, ..ProgramSecond::default() };
    let mut seen = watch(&[reads(1.0, 0.0, 0.0); 10]);
    seen.programs = vec![program("grep", 7, 10, did)];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::Cache, 0.99..=1.0);
    let cached =
        WatchFact::CacheAnswers { program: "grep".to_owned(), asked_bytes_per_s: 80e6, storage_bytes_per_s: 4_096.0 };
    assert_eq!(found.cells[0].binding.as_ref().unwrap().seen, cached.into());
}

#[test]
fn several_processes_that_wait_for_cpus_less_than_for_storage_are_held_by_storage() {
    // Ten processes wait 0.6 s for CPUs in a second, and 2.5 of them for the device at any time.
    let did =
        ProgramSecond { write_bytes: 4_000_000, cpu_us: 120_000, cpu_wait_us: 600_000, ..ProgramSecond::default() };
    let mut seen = watch(&[Did { writes: 640.0, reads: 0.0, block: 6_144.0, ..reads(0.0, 2.5, 0.84) }; 12]);
    seen.programs = vec![program("postgres", 640, 12, did)];
    bound(&summary(seen, Vec::new()), Limit::Latency, 0.8..=0.9);
}

#[test]
fn events_name_the_programs_and_answers_in_clusters_make_a_level_sure() {
    let mut seen = watch(&[reads(1_000.0, 16.0, 1.0); 12]);
    let presumed = |seen: WatchRecord| {
        let found = summary(seen, Vec::new());
        let binding = found.cells[0].binding.clone().unwrap();
        (binding.limit, binding.presumed, binding.seen)
    };
    let (limit, by_counters, _) = presumed(seen.clone());
    assert_eq!((limit, by_counters), (Limit::DiskIops, true));
    seen.cost = WatchCost { cpu_us: 24_000, elapsed_us: 12_000_000 };
    seen.events = Some(WatchEvents {
        requests: 12_000,
        askers: vec![EventAsker {
            name: "db".to_owned(),
            pid: 7,
            reads: 12_000,
            read_bytes: 12_000 * 4_096,
            latency_mean_ns: 16_000_000,
            latency_p99_ns: 99_000_000,
            ..EventAsker::default()
        }],
        clusters: Some(AnswersInClusters { every_us: 100_000, answers: 100.0, share: 0.97 }),
        cpu_us: 12_000,
        ..WatchEvents::default()
    });
    let (limit, by_events, evidence) = presumed(seen.clone());
    assert_eq!((limit, by_events), (Limit::DiskIops, false));
    let clusters = WatchFact::AnswersInClusters { answers: 100.0, every_us: 100_000, share: 0.97 };
    assert_eq!(evidence.facts().last(), Some(&clusters.into()));
    let found = summary(seen, Vec::new());
    let Some(WatchSeen::Requests { askers, .. }) = shown_of(&found, FindingCode::WatchedRequests) else {
        panic!("{:?}", found.findings)
    };
    assert_eq!(askers.iter().map(|asker| asker.pid).collect::<Vec<_>>(), [7]);
    let cost =
        WatchSeen::Cost { cpu_share: 0.002, events: Some(EventsCost { cpu_share: 0.001, requests: 12_000, lost: 0 }) };
    assert_eq!(shown_of(&found, FindingCode::WatchedCost), Some(&cost));
}

#[test]
fn an_idle_device_is_said_to_wait() {
    let mut idle = record(watch(&[reads(0.0, 0.0, 0.0); 10]), Vec::new());
    idle.cells[0].trials[0].operations.clear();
    let found = summarize(&idle);
    bound(&found, Limit::Arrival, 0.99..=1.0);
    let gain = WatchSeen::Gain { gain: WatchGain::Nothing { asked: false } };
    assert_eq!(shown_of(&found, FindingCode::WatchedGain), Some(&gain));
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    assert!(matches!(volume.held_by, Holder::Watch(WatchHolder::NoRequest { .. })), "{:?}", volume.held_by);
    assert!(
        matches!(volume.next, Some(Advised::Watch { step: WatchNext::WatchAtWork { .. }, .. })),
        "{:?}",
        volume.next
    );
}

/// A program that was named, db, beside one with most of the bytes of a device.
fn beside_a_backup(did: Did, only_here: Option<bool>) -> WatchRecord {
    let moved = |bytes| ProgramSecond { read_bytes: bytes, asked_read_bytes: bytes, ..ProgramSecond::default() };
    let mut seen = watch(&[did; 10]);
    seen.programs = vec![program("backup", 9, 10, moved(3_600_000)), program("db", 7, 10, moved(400_000))];
    seen.programs[0].only_here = only_here;
    seen.subject = Some(1);
    seen
}

#[test]
fn another_process_that_takes_the_disk_is_named_where_its_share_is_known() {
    let said = |seen| {
        let found = summary(seen, Vec::new());
        bound(&found, Limit::Latency, 0.9..=1.0);
        let volume = found.verdict.unwrap().volumes.remove(0);
        let Holder::Watch(WatchHolder::Held { crowd, .. }) = volume.held_by else { panic!("{volume:?}") };
        (crowd, volume.next.unwrap())
    };
    let is_said = |next: &Advised| matches!(next, Advised::Watch { step: WatchNext::SeeProgram { .. }, .. });
    let did = Did { reads: 999.0, ..reads(999.0, 1.0, 1.0) };
    let (crowd, next) = said(beside_a_backup(did, Some(true)));
    let crowd = crowd.expect("it is known");
    assert_eq!((crowd.program.as_str(), crowd.pid, (crowd.share_of_bytes * 100.0).round()), ("backup", 9, 88.0));
    assert!(is_said(&next), "{next:?}");
    // Its bytes may be another device's.
    for unknown in [None, Some(false)] {
        let (crowd, next) = said(beside_a_backup(did, unknown));
        assert!(crowd.is_none() && !is_said(&next), "{crowd:?}; {next:?}");
    }
    // The kernel's events show whose requests they are.
    let mut seen = beside_a_backup(did, Some(false));
    let asker = EventAsker { name: "backup".into(), pid: 9, read_bytes: 30_000_000, ..EventAsker::default() };
    seen.events = Some(WatchEvents { askers: vec![asker], ..WatchEvents::default() });
    assert_eq!(said(seen).0.map(|crowd| (crowd.share_of_bytes * 100.0).round()), Some(73.0));
}

#[test]
fn a_known_throttle_is_lifted_whoever_else_uses_the_device() {
    let mut seen = beside_a_backup(reads(1_000.0, 0.1, 0.1), Some(true));
    seen.throttles = vec![throttle(1_000, &[1_000; 10])];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::DiskIops, 0.99..=1.0);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    let Holder::Watch(WatchHolder::Held { crowd: Some(crowd), .. }) = &volume.held_by else { panic!("{volume:?}") };
    assert_eq!(crowd.program, "backup");
    assert_eq!(volume.next, Some(Advised::Watch { step: WatchNext::LiftThrottle, record: false }));
    assert!(volume.command.as_ref().unwrap().contains("read_iops_device"));
    let conclusion = &found.conclusions[0];
    assert_eq!(conclusion.steps, [AdvisedStep::WatchNext { step: WatchNext::LiftThrottle }]);
    assert_eq!(conclusion.commands.len(), 1);
}

#[test]
fn processes_that_cannot_be_seen_make_what_rests_on_programs_doubtful() {
    let said = |by_root, subject| {
        let mut seen = watch(&[reads(200.0, 0.2, 0.2); 10]);
        let did = ProgramSecond { read_bytes: 100_000, asked_read_bytes: 100_000, ..ProgramSecond::default() };
        seen.programs = vec![program("mine", 7, 10, did)];
        seen.subject = subject;
        seen.hidden = Some(HiddenProcesses { processes: 12, by_root });
        let found = summary(seen, Vec::new());
        let Some(WatchSeen::Programs { hidden, .. }) = shown_of(&found, FindingCode::WatchedPrograms) else {
            panic!("{:?}", found.findings)
        };
        let hidden = *hidden;
        let volume = found.verdict.unwrap().volumes.remove(0);
        (volume.certainty, volume.because, hidden)
    };
    let (certainty, because, others) = said(false, None);
    assert_eq!(certainty, Certainty::Doubtful);
    let seen = HiddenProcesses { processes: 12, by_root: false };
    assert!(matches!(because, Because::Watched { hidden: Some(hidden), .. } if hidden == seen), "{because:?}");
    assert_eq!(others, Some(seen));
    // What was named is seen, whatever others do.
    assert_eq!(said(false, Some(0)).0, Certainty::Likely);
}

#[test]
fn storage_and_application_with_about_half_of_the_time_each_are_both_named() {
    let said = |busy: f64| {
        let found = summary(watch(&[reads(200.0, busy, busy); 10]), Vec::new());
        found.verdict.unwrap().volumes.remove(0)
    };
    let saves = |volume: &VolumeVerdict| {
        let Some(Advised::Watch { step: WatchNext::Step { storage_saves, .. }, .. }) = volume.next else {
            panic!("{volume:?}")
        };
        storage_saves.map(|share| (share * 100.0).round())
    };
    for (busy, limit) in [(0.55, Limit::Latency), (0.50, Limit::Latency), (0.45, Limit::Arrival)] {
        let volume = said(busy);
        assert_eq!(volume.limit, Some(limit));
        assert!(matches!(held(&volume).1, WatchBeside::AsMuch { .. }), "{volume:?}");
        assert_eq!(saves(&volume), Some((busy * 100.0).round()));
    }
    let volume = said(0.25);
    assert!(matches!(held(&volume).1, WatchBeside::SomeStorage { .. }), "{volume:?}");
    assert_eq!(saves(&volume), Some(25.0));
    let volume = said(0.05);
    let WatchBeside::NoStorage { busy_share } = held(&volume).1 else { panic!("{volume:?}") };
    assert!((busy_share - 0.05).abs() < 1e-9, "{busy_share}");
    assert_eq!(volume.next, Some(Advised::Watch { step: WatchNext::LookElsewhere, record: false }));
    assert!(!matches!(held(&said(0.80)).1, WatchBeside::AsMuch { .. }));
}

#[test]
fn a_throttle_that_is_reached_seldom_is_said_with_the_rest_of_the_time() {
    let mut did = vec![reads(1_000.0, 0.0, 0.0); 2];
    did.extend([reads(100.0, 0.0, 0.0); 8]);
    let mut seen = watch(&did);
    seen.throttles = vec![throttle(1_000, &[[1_000; 2].as_slice(), &[100; 8]].concat())];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::DiskIops, 0.19..=0.21);
    let WatchBeside::Otherwise { other } = held(&found.verdict.as_ref().unwrap().volumes[0]).1 else {
        panic!("{:?}", found.verdict)
    };
    assert_eq!((&other.cause, (other.share * 10.0).round()), (&WatchCause::NoWork, 8.0));
}

#[test]
fn a_quota_beside_storage_does_not_say_that_other_storage_changes_nothing() {
    let did = ProgramSecond { read_bytes: 400_000, quota_periods: 10, ..ProgramSecond::default() };
    let mut seen = watch(&[reads(1_000.0, 5.0, 0.45); 10]);
    seen.programs = vec![program("db", 7, 10, ProgramSecond { quota_used_up: 2, ..did })];
    let found = summary(seen, Vec::new());
    bound(&found, Limit::Cpu, 0.5..=0.6);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    let WatchBeside::AsMuch { other } = held(volume).1 else { panic!("{volume:?}") };
    assert_eq!(other.cause, WatchCause::Answers);
    let Some(Advised::Watch { step: WatchNext::Step { step: WatchStep::MoreCpu, storage_saves: Some(saved) }, .. }) =
        volume.next
    else {
        panic!("{volume:?}")
    };
    assert!((saved - 0.45).abs() < 0.01, "{saved}");
}

#[test]
fn loops_are_told_apart_by_what_waits() {
    let kind = |did: &[Did]| summary(watch(did), Vec::new()).cells[0].watch.as_ref().unwrap().arrivals;
    assert_eq!(kind(&[reads(8_700.0, 16.0, 1.0); 12]), WatchedLoop::Closed);
    let varies: Vec<Did> = (0..12).map(|second| reads(2_000.0, [2.0, 40.0, 9.0][second % 3], 0.9)).collect();
    assert_eq!(kind(&varies), WatchedLoop::Open);
    assert_eq!(kind(&[reads(10.0, 0.0, 0.0); 12]), WatchedLoop::Unknown);
}

#[test]
fn a_program_that_asked_nothing_is_not_said_to_be_waited_for() {
    let mut seen = watch(&[reads(800.0, 0.2, 0.2); 8]);
    let busy = ProgramSecond { read_bytes: 3_000_000, asked_read_bytes: 3_000_000, ..ProgramSecond::default() };
    seen.programs = vec![program("fio", 7, 8, busy), program("sleep", 8, 8, ProgramSecond::default())];
    seen.subject = Some(1);
    let summary = summary(seen, Vec::new());
    bound(&summary, Limit::Arrival, 0.7..=1.0);
    let [Fact::Watch(WatchFact::ProgramAskedNothing { program, duration_ns, .. })] =
        summary.cells[0].binding.as_ref().unwrap().seen.facts()
    else {
        panic!("{:?}", summary.cells[0].binding)
    };
    assert_eq!((program.as_str(), *duration_ns), ("sleep", 8_000_000_000));
}
