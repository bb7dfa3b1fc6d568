//! Devices that stop answering: every engine ends the trial soon after the limit and says what it waited for, and a stall
//! that passes shows in full in the latencies of an open loop.

use crate::bad_disks::{FileSystem, Frozen, NO_LOOP, NO_MOUNT, NO_SERVER, Server};
use crate::loop_devices::Loop;
use crate::or_skip;
use crate::trials::{closed, engines, folder, open, run, short, take_over};
use loadline_block::{ErrorKind, Operation};
use loadline_engine::{
    Control, EngineChoice, EngineError, EngineOptions, Filling, Past, Phase, Volume, fill, run_trial, verify_only,
};
use loadline_record::{Ending, TrialRecord};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, LoadSpec};
use std::thread::{scope, sleep};
use std::time::Instant;

/// Whoever has not ended so long after its hang limit hangs itself. A load lasts ten times as long.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

fn span(duration: Duration) -> std::time::Duration {
    duration.into()
}

/// Much longer than the limit of a second after which a request counts as hung.
fn long(reads: Ratio, queue_depth: u32) -> LoadSpec {
    LoadSpec {
        reads,
        arrival: closed(queue_depth),
        warm_up: Duration::ZERO,
        duration: Duration::from_s(600),
        hang_limit: Duration::from_s(1),
        ..short()
    }
}

/// Runs a trial during which, after `before`, `stop` is called; what that gives is kept until the trial has ended.
fn run_and_stop<Stopped>(
    volume: &mut Volume,
    spec: &LoadSpec,
    engine: EngineChoice,
    before: Duration,
    stop: impl FnOnce() -> Stopped,
) -> TrialRecord {
    let limit = span(before) + span(spec.hang_limit) + PATIENCE;
    scope(|scope| {
        let (ended, ending) = std::sync::mpsc::channel();
        scope.spawn(move || ended.send(run(volume, spec, engine)).is_ok());
        sleep(span(before));
        let stopped = stop();
        let record = ending.recv_timeout(limit);
        // Set going again before this can panic, so that the thread ends in any case.
        drop(stopped);
        record.unwrap_or_else(|_| panic!("{engine:?} did not end within {limit:?}"))
    })
}

/// Checks that a trial hung, and that its record says what was waited for, where, and how many times.
fn hung(record: &TrialRecord, operation: Operation, outstanding: u64, engine: EngineChoice) {
    let Ending::Hung(why) = &record.ending else { panic!("{engine:?}: {:?}", record.ending) };
    let unanswered = record.errors.get(&ErrorKind::TimedOut).copied().unwrap_or_default();
    assert_eq!(record.errors_total(), unanswered, "{engine:?}: {:?}", record.errors);
    assert!(!record.error_samples.is_empty(), "{engine:?}: {why}");
    if engine == EngineChoice::Aio && why.contains("held in the kernel") {
        // The submission itself waits, so the requests are not known apart.
        assert!(unanswered >= 1, "{why}");
        return;
    }
    let start = format!("{} of 4096 B at offset ", operation.name());
    for sample in record.error_samples.iter().chain([why]) {
        assert!(sample.starts_with(&start) && sample.contains("not answered for"), "{engine:?}: {sample}");
    }
    assert_eq!(unanswered, outstanding, "{engine:?}: {why}");
    assert_eq!(record.of(operation).unwrap().errors, unanswered, "{engine:?}");
}

/// Checks that the same process can still measure.
fn works(volume: &mut Volume, reads: Ratio, engine: EngineChoice) {
    let volume_asked = Some(Bytes::kib(64));
    let spec = LoadSpec { volume: volume_asked, hang_limit: Duration::from_s(60), ..long(reads, 4) };
    let record = run(volume, &spec, engine);
    assert_eq!((record.ending.clone(), record.errors_total()), (Ending::Complete, 0), "{engine:?}");
    assert!(record.count() > 0, "{engine:?}");
}

#[test]
fn a_device_that_stops_answering_ends_the_trial_and_is_measured_again_when_it_is_back() {
    let server = or_skip!(Server::new(16, "0%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let mut volume = take_over(&device.node);
    for engine in engines() {
        let stop = || server.pause();
        let record = run_and_stop(&mut volume, &long(Ratio::ONE, 8), engine, Duration::from_ms(1200), stop);
        hung(&record, Operation::Read, 8, engine);
        assert!(record.count() > 0, "{engine:?}: what was done before is kept");
        works(&mut volume, Ratio::ZERO, engine);
    }
}

#[test]
fn a_frozen_file_system_ends_the_trial() {
    let file_system = or_skip!(FileSystem::ext4(64), NO_MOUNT);
    let mut volume = open(file_system.path(), Bytes::mib(16));
    fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for engine in engines() {
        let stop = || Frozen::new(file_system.path()).expect("ext4 can be frozen");
        let record = run_and_stop(&mut volume, &long(Ratio::ZERO, 8), engine, Duration::from_ms(500), stop);
        hung(&record, Operation::Write, 8, engine);
        works(&mut volume, Ratio::ZERO, engine);
    }
}

#[test]
fn one_hung_request_among_many_that_are_answered_ends_the_trial() {
    let file_system = or_skip!(FileSystem::ext4(64), NO_MOUNT);
    let mut volume = open(file_system.path(), Bytes::mib(16));
    fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for engine in engines() {
        // Reads go on in a frozen file system, and writes are rare.
        let spec = LoadSpec { reads: "99.98 %".parse().unwrap(), ..long(Ratio::ONE, 64) };
        let frozen = Frozen::new(file_system.path()).expect("ext4 can be frozen");
        let record = run_and_stop(&mut volume, &spec, engine, Duration::ZERO, || ());
        drop(frozen);
        let Ending::Hung(why) = &record.ending else { panic!("{engine:?}: {:?}", record.ending) };
        assert!(record.errors[&ErrorKind::TimedOut] >= 1, "{engine:?}: {:?}", record.errors);
        // Submitting a write to a frozen file system holds the thread of Linux AIO, with what it has not told yet.
        if engine != EngineChoice::Aio {
            let hung = record.error_samples.iter().any(|sample| sample.starts_with("write of 4096 B at"));
            assert!(hung && why.contains("was not answered for"), "{engine:?}: {why}; {:?}", record.error_samples);
            assert!(record.of(Operation::Read).is_some_and(|r| r.count > 100), "{engine:?}: reads are kept");
        }
    }
}

/// Threads of this process that make load.
fn load_threads() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "load").count() as u64
}

#[test]
fn more_requests_than_the_devices_queue_holds_hang_no_longer_than_the_limit() {
    let server = or_skip!(Server::new(16, "0%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let queue = std::fs::read_to_string(format!("/sys/block/{}/queue/nr_requests", device.name())).unwrap();
    let queue: u32 = queue.trim().parse().unwrap();
    let mut volume = take_over(&device.node);
    for engine in engines() {
        // Each request may have its thread: a busy machine takes its time to begin them all, and each to ask for the first time.
        let hang_limit = Duration::from_s(if engine == EngineChoice::Threads { 12 } else { 4 });
        let spec = LoadSpec { hang_limit, ..long(Ratio::ZERO, queue * 3) };
        let all = u64::from(queue) * 3;
        let stop = || {
            let begun = Instant::now();
            while engine == EngineChoice::Threads && load_threads() < all && begun.elapsed() < PATIENCE {
                std::thread::yield_now();
            }
            server.pause()
        };
        let record = run_and_stop(&mut volume, &spec, engine, Duration::from_ms(500), stop);
        hung(&record, Operation::Write, all, engine);
        works(&mut volume, Ratio::ZERO, engine);
    }
}

#[test]
fn a_good_volume_is_measured_while_another_hangs() {
    let server = or_skip!(Server::new(16, "0%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let folder = folder();
    let mut good = open(folder.path(), Bytes::mib(8));
    let mut bad = take_over(&device.node);
    for engine in engines() {
        let _paused = server.pause();
        let record = run_and_stop(&mut bad, &long(Ratio::ONE, 4), engine, Duration::ZERO, || ());
        hung(&record, Operation::Read, 4, engine);
        works(&mut good, Ratio::ZERO, engine);
    }
}

#[test]
fn reading_back_from_a_device_that_stops_answering_ends_too() {
    let server = or_skip!(Server::new(16, "0%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let mut volume = take_over(&device.node);
    let spec = LoadSpec { verify: true, volume: Some(Bytes::mib(8)), ..long(Ratio::ZERO, 4) };
    let control = Control::new();
    let record = run(&mut volume, &spec, EngineChoice::Threads);
    assert_eq!(record.verify.as_ref().map(|v| v.faults_total), Some(0), "{:?}", record.ending);
    // A check after the fact.
    let paused = server.pause();
    let error = scope(|scope| {
        let (ended, ending) = std::sync::mpsc::channel();
        let (volume, spec, control) = (&volume, &spec, &control);
        scope.spawn(move || ended.send(verify_only(volume, spec, 0, 1, &Past::default(), control)).is_ok());
        let outcome = ending.recv_timeout(span(spec.hang_limit) + PATIENCE);
        drop(paused);
        outcome.expect("it ends within the limit").unwrap_err()
    });
    assert!(matches!(error, EngineError::Os { .. }), "{error}");
    assert!(error.to_string().contains("read of 4096 B at offset 0 was not answered for"), "{error}");
    let found = verify_only(&volume, &spec, 0, 1, &Past::default(), &control).unwrap().unwrap();
    assert_eq!(found.faults_total, 0, "{:?}", found.faults);
    // The same while a trial reads back: the server stops as soon as the trial says so.
    let control = Control::new();
    let record = scope(|scope| {
        let (ended, ending) = std::sync::mpsc::channel();
        let (volume, spec, control) = (&mut volume, &spec, &control);
        scope.spawn(move || ended.send(run_trial(volume, spec, 0, 1, EngineOptions::default(), control)).is_ok());
        let mut record = None;
        while control.progress().phase != Phase::Verifying && record.is_none() {
            record = ending.try_recv().ok();
        }
        let paused = server.pause();
        let record = record.map_or_else(|| ending.recv_timeout(span(spec.hang_limit) + PATIENCE), Ok);
        drop(paused);
        record.expect("it ends within the limit").unwrap()
    });
    if record.ending == Ending::Complete {
        println!("skipped: reading back was faster than the signal");
        return;
    }
    assert!(matches!(&record.ending, Ending::Hung(why) if why.contains("read of 4096 B")), "{:?}", record.ending);
    let verify = record.verify.unwrap();
    assert_eq!(verify.faults_total, 0, "what could not be read in time is no fault: {:?}", verify.faults);
}

#[test]
#[ignore = "long: measures this machine"]
fn a_stall_shows_in_full_in_every_request_that_was_due_meanwhile() {
    let file_system = or_skip!(FileSystem::ext4(64), NO_MOUNT);
    let mut volume = open(file_system.path(), Bytes::mib(16));
    fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for engine in engines() {
        let arrival = Arrival::Poisson { rate: Iops::per_second(1_000).unwrap() };
        let hang_limit = Duration::from_s(30);
        let duration = Duration::from_s(4);
        let spec = LoadSpec { arrival, duration, hang_limit, ..long(Ratio::ZERO, 1) };
        let (record, stall_s) = scope(|scope| {
            let trial = scope.spawn(|| run(&mut volume, &spec, engine));
            sleep(std::time::Duration::from_millis(1200));
            let began = Instant::now();
            let frozen = Frozen::new(file_system.path()).expect("ext4 can be frozen");
            sleep(std::time::Duration::from_secs(1));
            drop(frozen);
            let stalled = began.elapsed().as_secs_f64();
            (trial.join().unwrap(), stalled)
        });
        assert_eq!((&record.ending, record.errors_total()), (&Ending::Complete, 0), "{engine:?}");
        let writes = record.of(Operation::Write).unwrap();
        let offered = record.offered_iops.unwrap() * 4.0;
        let kept = writes.latency.count() + record.missed;
        assert!((kept as f64 - offered).abs() < 0.5, "{engine:?}: some of {offered} escape");
        let p99 = writes.latency.quantile(0.99).unwrap().as_s_f64();
        let slow = writes.latency.share_above(Duration::from_ms(100));
        let max = writes.latency.max().unwrap().as_s_f64();
        // Arrivals spread evenly over the stall wait from all of it down to nothing.
        println!("{engine:?}: p99 {p99:.3} s, above 0.1 s {slow:.3}, longest {max:.3} s");
        assert!(p99 > 0.7, "{engine:?}: p99 {p99} s");
        assert!(slow > 0.7 * (1.0 - 0.1) / 4.0, "{engine:?}: {slow} above 0.1 s");
        assert!(max > 0.9 && slow < (stall_s + 2.0) / 4.0, "{engine:?}: {max} s at most, {slow} above 0.1 s");
    }
}

#[test]
#[ignore = "long: measures this machine"]
fn what_is_outstanding_in_a_stall_is_told_second_by_second() {
    let server = or_skip!(Server::new(16, "0%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let mut volume = take_over(&device.node);
    for engine in engines() {
        let (duration, hang_limit) = (Duration::from_s(3), Duration::from_s(30));
        let spec = LoadSpec { duration, hang_limit, ..long(Ratio::ONE, 4) };
        let record = scope(|scope| {
            let trial = scope.spawn(|| run(&mut volume, &spec, engine));
            sleep(std::time::Duration::from_millis(500));
            let paused = server.pause();
            sleep(std::time::Duration::from_secs(2));
            drop(paused);
            trial.join().unwrap()
        });
        let outstanding: Vec<f64> = record.series.seconds.iter().map(|second| second.outstanding).collect();
        assert_eq!(outstanding.len(), 3, "{engine:?}");
        assert!(outstanding.iter().all(|o| *o < 4.05), "{engine:?}: {outstanding:?}");
        // The second second lies within the stall.
        assert!(outstanding[1] > 3.9, "{engine:?}: {outstanding:?}");
        let counts: Vec<u64> = record.series.seconds.iter().map(loadline_record::Second::count).collect();
        assert!(counts[0] > 0 && counts[1] == 0 && counts[2] > 0, "{engine:?}: {counts:?}");
        assert_eq!(counts.iter().sum::<u64>(), record.count(), "{engine:?}: {counts:?}");
    }
}
