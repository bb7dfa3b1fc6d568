//! What holds of closed and open loops whatever the machine does: on the null target and on small files, also while all
//! CPUs are busy.

use crate::trials::{closed, engines, folder, open, run, short};
use loadline_block::Operation;
use loadline_engine::{
    Access, Control, EngineChoice, EngineOptions, Filling, Need, Past, Phase, Volume, fill, run_trial, verify_only,
};
use loadline_record::{Ending, TrialRecord};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, FlushCadence, FlushMethod, LoadSpec, Pattern, SteadyStateRule};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn null() -> Volume {
    open(Path::new("null"), Bytes::gib(1))
}

fn per_second(rate: u64) -> Iops {
    Iops::per_second(rate).unwrap()
}

/// Runs `body` while four threads keep the CPUs busy.
fn under_pressure<T>(body: impl FnOnce() -> T) -> T {
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        busy.store(false, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What every complete trial without errors keeps to.
fn consistent(record: &TrialRecord, spec: &LoadSpec) {
    assert_eq!((&record.ending, record.errors_total()), (&Ending::Complete, 0), "{:?}", record.error_samples);
    assert_eq!((record.warm_up_ns, record.measured_ns), (spec.warm_up.as_ns(), spec.duration.as_ns()));
    for (operation, kept) in &record.operations {
        let (asked, bytes) = record.surroundings.asked[operation];
        assert!(kept.count <= asked && kept.bytes <= bytes, "{operation:?}: {} of {asked}", kept.count);
        let in_series: u64 = record.series.seconds.iter().map(|second| second.of(*operation).count).sum();
        assert_eq!(in_series, kept.count, "{operation:?}");
        if spec.offered().is_none() {
            assert_eq!(kept.latency.count(), kept.count, "{operation:?}");
        }
        if let (Some(waiting), Some(service)) = (&kept.waiting, &kept.service) {
            assert_eq!(waiting.count(), kept.latency.count());
            assert_eq!(waiting.sum_ns() + service.sum_ns(), kept.latency.sum_ns());
        }
    }
    let depth = spec.outstanding().unwrap_or(u64::MAX) as f64;
    for second in &record.series.seconds {
        assert!(second.outstanding <= depth * 1.01, "{} outstanding of {depth}", second.outstanding);
    }
}

/// Every arrival due within the measured time was answered or is counted as missed.
fn none_escapes(record: &TrialRecord, arrivals: u64) {
    let answered: u64 = record.operations.values().map(|kept| kept.latency.count()).sum();
    assert_eq!(answered + record.missed, arrivals);
    let offered = record.offered_iops.unwrap() * record.measured_ns as f64 / 1e9;
    assert!((offered - arrivals as f64).abs() < 0.5, "{offered} of {arrivals}");
}

#[test]
fn loops_keep_their_books_while_the_cpus_are_busy() {
    under_pressure(|| {
        let base = LoadSpec { reads: Ratio::percent(60), threads: 2, ..short() };
        for queue_depth in [1, 7, 64] {
            let spec = LoadSpec { arrival: closed(queue_depth), ..base.clone() };
            consistent(&run(&mut null(), &spec, EngineChoice::Auto), &spec);
        }
        let rate = per_second(20_000);
        let spec = LoadSpec { arrival: Arrival::Constant { rate }, ..base.clone() };
        let record = run(&mut null(), &spec, EngineChoice::Auto);
        consistent(&record, &spec);
        none_escapes(&record, 6_000);
        let arrival = Arrival::Closed { queue_depth: 8, rate_max: Some(rate), think_time: Duration::ZERO };
        let spec = LoadSpec { arrival, ..base.clone() };
        let record = run(&mut null(), &spec, EngineChoice::Auto);
        consistent(&record, &spec);
        // A ceiling may catch up for ten milliseconds, and each thread may begin with one request.
        assert!(record.count() <= 6_000 + 200 + 2, "{} pass the ceiling", record.count());
        let think_time = Duration::from_ms(10);
        let arrival = Arrival::Closed { queue_depth: 4, rate_max: None, think_time };
        let spec = LoadSpec { arrival, ..base };
        let record = run(&mut null(), &spec, EngineChoice::Auto);
        consistent(&record, &spec);
        assert!(record.count() <= 8 * 31, "{} without thinking", record.count());
    });
}

#[test]
fn open_loops_on_a_file_lose_no_arrival_by_any_engine() {
    let folder = folder();
    let mut volume = open(folder.path(), Bytes::mib(8));
    fill(&mut volume, Bytes::mib(8), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for engine in engines() {
        let arrival = Arrival::Constant { rate: per_second(2_000) };
        let spec = LoadSpec { arrival, threads: 2, duration: Duration::from_ms(500), ..short() };
        let record = run(&mut volume, &spec, engine);
        consistent(&record, &spec);
        none_escapes(&record, 1_000);
    }
}

#[test]
#[ignore = "long: measures this machine"]
fn an_idle_engine_issues_what_is_due_without_waiting_for_its_own_workers() {
    let folder = folder();
    let mut volume = open(folder.path(), Bytes::mib(8));
    fill(&mut volume, Bytes::mib(8), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for engine in engines() {
        let arrival = Arrival::Poisson { rate: per_second(1_000) };
        let spec = LoadSpec { arrival, duration: Duration::from_s(2), ..short() };
        let record = run(&mut volume, &spec, engine);
        let waiting = record.of(Operation::Read).unwrap().waiting.as_ref().unwrap();
        let median = waiting.quantile(0.5).unwrap();
        // Far more than any machine needs, far less than a queue of late workers builds up.
        assert!(median < Duration::from_ms(50), "{engine:?}: half of the requests waited {median} or longer");
    }
}

#[test]
fn what_was_due_and_never_issued_is_missed_also_where_requests_wait_for_each_other() {
    let folder = folder();
    for engine in engines() {
        // Writes of one block wait for each other where every block is checked, so most arrivals come too late.
        let mut volume = open(folder.path(), Bytes::kib(8));
        let arrival = Arrival::Constant { rate: per_second(100_000) };
        let spec = LoadSpec { arrival, reads: Ratio::ZERO, verify: true, threads: 2, ..short() };
        let record = run(&mut volume, &spec, engine);
        none_escapes(&record, 30_000);
        assert!(record.missed > 0, "{engine:?}");
        assert_eq!(record.verify.map(|v| v.faults_total), Some(0), "{engine:?}");
        // The same where the user stops it halfway.
        let control = Control::new();
        let spec = LoadSpec { duration: Duration::from_s(60), ..spec };
        let options = EngineOptions { engine, ..EngineOptions::default() };
        let record = stopped_in(Phase::Measuring, Duration::from_ms(400), &control, || {
            run_trial(&mut volume, &spec, 0, 1, options, &control).unwrap()
        });
        assert_eq!(record.ending, Ending::Interrupted, "{engine:?}");
        // The clock that says how many were due is read apart from the one that says when it ended.
        let offered = record.offered_iops.unwrap() * record.measured_ns as f64 / 1e9;
        none_escapes(&record, offered.round() as u64);
    }
}

/// Stops what `body` does some time after it has come to a phase.
fn stopped_in<T>(phase: Phase, span: Duration, control: &Control, body: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while control.progress().phase != phase {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::thread::sleep(span.into());
            control.stop();
        });
        body()
    })
}

#[test]
fn a_bound_in_volume_counts_from_the_begin_of_the_measurement() {
    let bound = Bytes::mib(16);
    let spec = LoadSpec {
        arrival: closed(8),
        volume: Some(bound),
        warm_up: Duration::from_ms(300),
        duration: Duration::from_s(60),
        ..short()
    };
    let mut file = open(folder().path(), Bytes::mib(8));
    fill(&mut file, Bytes::mib(8), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    let null = (null(), vec![EngineChoice::Auto]);
    for (mut volume, engines) in [null, (file, engines())] {
        for engine in engines {
            let record = run(&mut volume, &spec, engine);
            assert_eq!((&record.ending, record.warm_up_ns), (&Ending::Complete, 300_000_000), "{engine:?}");
            // Those in flight when the measurement begins come on top.
            let most = bound.get() + 2 * 32 * 4096;
            assert!((bound.get()..=most).contains(&record.bytes()), "{engine:?}: {} B", record.bytes());
            assert!(record.measured_ns > 0 && record.measured_ns < 30_000_000_000, "{engine:?}");
        }
    }
}

#[test]
fn an_open_loop_that_ends_at_its_volume_misses_nothing_that_was_due_later() {
    let arrival = Arrival::Constant { rate: per_second(10_000) };
    let (volume, duration) = (Some(Bytes::kib(4 * 1_000)), Duration::from_s(600));
    let spec = LoadSpec { arrival, volume, duration, warm_up: Duration::ZERO, ..short() };
    let record = run(&mut null(), &spec, EngineChoice::Auto);
    assert_eq!((&record.ending, record.count()), (&Ending::Complete, 1_000));
    // Of the six million that would have been due until the bound in time, those until its end alone.
    let due = record.offered_iops.unwrap() * record.measured_ns as f64 / 1e9;
    none_escapes(&record, due.round() as u64);
    assert!(record.measured_ns < spec.duration.as_ns());
}

#[test]
fn a_bound_in_time_that_comes_before_the_bound_in_volume_ends_the_trial() {
    let spec = LoadSpec { volume: Some(Bytes::gib(1 << 20)), ..short() };
    consistent(&run(&mut null(), &spec, EngineChoice::Auto), &spec);
}

#[test]
fn a_trial_stopped_while_it_warms_up_measured_nothing_and_says_how_far_it_came() {
    for steady_state in [None, Some(SteadyStateRule::default())] {
        let control = Control::new();
        let spec = LoadSpec { warm_up: Duration::from_s(60), steady_state, ..short() };
        let record = stopped_in(Phase::WarmUp, Duration::from_ms(200), &control, || {
            run_trial(&mut null(), &spec, 0, 1, EngineOptions::default(), &control).unwrap()
        });
        assert_eq!((record.ending, record.measured_ns), (Ending::Interrupted, 0));
        assert!((100_000_000..30_000_000_000).contains(&record.warm_up_ns), "{} ns", record.warm_up_ns);
        assert!(record.operations.is_empty() && record.series.seconds.is_empty(), "{:?}", record.series);
    }
}

#[test]
#[ignore = "long: measures this machine"]
fn a_steady_load_is_steady_after_as_many_rounds_as_are_looked_at() {
    let arrival = Arrival::Closed { queue_depth: 8, rate_max: Some(per_second(2_000)), think_time: Duration::ZERO };
    let round = Duration::from_s(1);
    let allowed = Ratio::percent(60);
    let rule = SteadyStateRule { round, rounds: 3, rounds_max: 12, range: allowed, slope: allowed };
    let spec = LoadSpec { arrival, steady_state: Some(rule), ..short() };
    let record = run(&mut null(), &spec, EngineChoice::Auto);
    let steady = record.steady_state.unwrap();
    assert!(steady.reached, "{:?}", steady.rounds);
    assert!(steady.rounds.iter().all(|rate| (500.0..4_000.0).contains(rate)), "{:?}", steady.rounds);
    assert_eq!(steady.round_ns, 1_000_000_000);
    assert!(record.warm_up_ns > 3_000_000_000 && record.measured_ns == 300_000_000);
}

#[test]
fn several_files_take_reads_writes_trims_and_flushes_by_every_engine() {
    let folder = folder();
    let need = Need { size: Some(Bytes::mib(12)), files: 3, writes: true, ..Need::default() };
    for engine in engines() {
        let mut volume = Volume::open("data", folder.path().to_str().unwrap(), &need, &Access::default()).unwrap();
        fill(&mut volume, Bytes::mib(12), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
        assert_eq!(volume.extents().map_or(12 << 20, |extents| extents.written_bytes), 12 << 20);
        let flush = Some(FlushCadence { every: 20, how: FlushMethod::Fdatasync });
        let (reads, trims) = (Ratio::percent(50), Ratio::percent(5));
        let (bound, duration) = (Some(Bytes::mib(16)), Duration::from_s(600));
        let spec = LoadSpec {
            arrival: closed(4),
            threads: 2,
            files: 3,
            reads,
            trims,
            flush,
            volume: bound,
            duration,
            ..short()
        };
        let record = run(&mut volume, &spec, engine);
        consistent(&record, &LoadSpec { duration: Duration::from_ns(record.measured_ns), ..spec });
        assert_eq!(record.operations.len(), 4, "{engine:?}: {:?}", record.surroundings.asked);
        let holes = volume.files.iter().filter(|file| has_zeros(file)).count();
        assert_eq!(holes, 3, "{engine:?}: every file was trimmed somewhere");
    }
}

/// Whether a block of a file is all zeros.
fn has_zeros(file: &std::fs::File) -> bool {
    use std::os::fd::AsRawFd;
    let contents = std::fs::read(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
    contents.chunks(4096).any(|block| block.iter().all(|byte| *byte == 0))
}

#[test]
fn verification_raises_no_false_alarm_whatever_the_shape_of_the_load() {
    let folder = folder();
    let flush = Some(FlushCadence { every: 3, how: FlushMethod::Fdatasync });
    // As many requests on every machine.
    let (volume, duration) = (Some(Bytes::mib(1)), Duration::from_s(60));
    let base = LoadSpec { verify: true, reads: Ratio::percent(30), volume, duration, ..short() };
    let shapes = [
        LoadSpec { arrival: closed(1), threads: 4, ..base.clone() },
        LoadSpec { arrival: closed(16), threads: 3, files: 2, ..base.clone() },
        // Few blocks, so that requests wait for each other all the time, and flushes between them.
        LoadSpec { arrival: closed(16), size: Some(Bytes::kib(64)), files: 2, flush, ..base.clone() },
        LoadSpec { arrival: closed(4), pattern: Pattern::Sequential { stride: None }, threads: 2, ..base.clone() },
        LoadSpec { arrival: closed(4), start: Bytes::kib(4), align: Some(Bytes::kib(8)), ..base.clone() },
        LoadSpec { arrival: Arrival::Poisson { rate: per_second(3_000) }, threads: 2, ..base },
    ];
    for engine in engines() {
        for (number, spec) in shapes.iter().enumerate() {
            let need = Need { size: Some(Bytes::mib(2)), files: spec.files, writes: true, ..Need::default() };
            let mut volume = Volume::open("data", folder.path().to_str().unwrap(), &need, &Access::default()).unwrap();
            let record = run(&mut volume, spec, engine);
            assert_eq!((&record.ending, record.errors_total()), (&Ending::Complete, 0), "{engine:?} {spec}");
            let verify = record.verify.unwrap();
            assert_eq!(verify.faults_total, 0, "{engine:?} shape {number}: {:?}", verify.faults);
            let after = verify_only(&volume, spec, 0, 1, &Past::default(), &Control::new()).unwrap().unwrap();
            assert_eq!(after.faults_total, 0, "{engine:?} shape {number} afterwards: {:?}", after.faults);
            assert!(verify.blocks_checked > 3, "{engine:?} shape {number}: {verify:?}");
            // An open loop may have so many writes in flight that none of these few is certain to have been answered.
            let certain = after.blocks_checked > 0 || spec.offered().is_some();
            assert!(certain, "{engine:?} shape {number} afterwards: {after:?}");
        }
    }
}
