//! Whole trials on the null target and on small files, by every engine this machine has.

use loadline_block::{ErrorKind, Operation};
use loadline_engine::{
    Access, Control, EngineChoice, EngineError, EngineOptions, Filling, Need, Past, Volume, capabilities, check, fill,
    run_trial, verify_only,
};
use loadline_record::{Ending, EngineName, TrialRecord, VerifyFaultKind};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, Content, FlushCadence, FlushMethod, LoadSpec, Pattern};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

fn open(target: &str, size: Bytes) -> Volume {
    let need = Need { size: Some(size), files: 1, writes: true, ..Need::default() };
    Volume::open("data", target, &need, &Access::default()).unwrap()
}

/// A folder on whatever the build folder lies on: a real file system, not memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn short() -> LoadSpec {
    LoadSpec { warm_up: Duration::from_ms(50), duration: Duration::from_ms(300), ..LoadSpec::default() }
}

fn closed(queue_depth: u32) -> Arrival {
    Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::ZERO }
}

fn run(volume: &mut Volume, spec: &LoadSpec, engine: EngineChoice) -> TrialRecord {
    let options = EngineOptions { engine, ..EngineOptions::default() };
    run_trial(volume, spec, 0, 1, options, &Control::new()).unwrap()
}

/// The engines to test, less those that this machine forbids.
fn engines() -> Vec<EngineChoice> {
    let can = capabilities();
    let mut engines = vec![EngineChoice::Threads];
    match can.io_uring {
        Ok(()) => engines.push(EngineChoice::IoUring),
        Err(reason) => println!("skipped: io_uring ({reason})"),
    }
    match can.aio {
        Ok(()) => engines.push(EngineChoice::Aio),
        Err(reason) => println!("skipped: Linux AIO ({reason})"),
    }
    engines
}

/// The file behind a volume, opened once more.
fn behind(volume: &Volume) -> File {
    reopened(&volume.files[0])
}

fn reopened(file: &File) -> File {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

#[test]
fn the_null_target_measures_the_tool_and_counts_every_request_once() {
    let mut volume = open("null", Bytes::gib(1));
    let spec = LoadSpec { arrival: closed(32), reads: Ratio::percent(70), threads: 2, ..short() };
    let record = run(&mut volume, &spec, EngineChoice::Auto);
    assert_eq!(record.engine.name, EngineName::Null);
    assert_eq!(record.ending, Ending::Complete);
    assert_eq!(record.measured_ns, 300_000_000);
    for (operation, kept) in &record.operations {
        assert_eq!(kept.count, kept.latency.count(), "{operation:?}");
        assert_eq!(kept.bytes, kept.count * 4096);
    }
    let in_series: u64 = record.series.seconds.iter().map(loadline_record::Second::count).sum();
    assert_eq!(in_series, record.count());
    let reads = record.of(Operation::Read).unwrap().count as f64 / record.count() as f64;
    assert!((reads - 0.7).abs() < 0.02, "{reads}");
    assert_eq!(record.surroundings.threads.len(), 2);
}

#[test]
fn every_engine_reads_writes_and_flushes_a_file() {
    let folder = folder();
    for engine in engines() {
        let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(16));
        fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
        let flush = Some(FlushCadence { every: 16, how: FlushMethod::Fdatasync });
        let spec = LoadSpec { arrival: closed(8), reads: Ratio::percent(50), flush, ..short() };
        let record = run(&mut volume, &spec, engine);
        assert_eq!(record.ending, Ending::Complete, "{engine:?}");
        assert_eq!(record.errors_total(), 0, "{engine:?}: {:?}", record.error_samples);
        for operation in [Operation::Read, Operation::Write, Operation::Flush] {
            let kept = record.of(operation).unwrap_or_else(|| panic!("{engine:?} did no {}", operation.name()));
            let (asked, _) = record.surroundings.asked[&operation];
            assert!(kept.count > 0 && kept.count <= asked, "{engine:?} {operation:?}: {} of {asked}", kept.count);
        }
    }
}

#[test]
fn passes_end_a_load_and_a_flush_at_its_end_is_measured_with_it() {
    let folder = folder();
    // Linux AIO is direct only.
    for engine in engines().into_iter().filter(|engine| *engine != EngineChoice::Aio) {
        let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(4));
        let (warm_up, duration) = (Duration::ZERO, Duration::from_s(60));
        let spec = LoadSpec { arrival: closed(1), reads: Ratio::ZERO, warm_up, duration, ..short() };
        let spec = LoadSpec { buffered: true, end_flush: true, passes: Some(2), ..spec };
        let record = run(&mut volume, &spec, engine);
        assert_eq!(record.ending, Ending::Complete, "{engine:?}");
        assert_eq!(
            record.of(Operation::Write).map(|writes| writes.bytes),
            Some(8 << 20),
            "{engine:?}: twice its range"
        );
        let flushes = record.of(Operation::Flush).unwrap_or_else(|| panic!("{engine:?} did not flush"));
        assert_eq!((flushes.count, record.surroundings.asked[&Operation::Flush].0), (1, 1), "{engine:?}");
        assert!(record.measured_ns as f64 > flushes.latency.mean_ns().unwrap() * 0.9, "{engine:?}");
        // Without it nothing is flushed.
        let plain = run(&mut volume, &LoadSpec { end_flush: false, ..spec }, engine);
        assert!(plain.of(Operation::Flush).is_none(), "{engine:?}");
    }
}

#[test]
fn a_durable_write_and_a_trim_pass_through_every_engine() {
    let folder = folder();
    for engine in engines() {
        let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(4));
        let flush = Some(FlushCadence { every: 2, how: FlushMethod::Fua });
        let spec = LoadSpec { arrival: closed(4), reads: Ratio::ZERO, trims: Ratio::percent(20), flush, ..short() };
        let record = run(&mut volume, &spec, engine);
        assert_eq!(record.errors_total(), 0, "{engine:?}: {:?}", record.error_samples);
        assert!(record.of(Operation::Trim).unwrap().count > 0, "{engine:?}");
    }
}

#[test]
fn filling_writes_every_byte_also_where_the_size_is_odd() {
    let folder = folder();
    let size = Bytes::kib(4 * 777);
    let mut volume = open(folder.path().to_str().unwrap(), size);
    let size = volume.file_size;
    let report = fill(&mut volume, size, 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    assert!(report.complete);
    assert_eq!(report.bytes, size);
    let mut block = vec![0; 4096];
    let mut seen = std::collections::BTreeSet::new();
    let file = behind(&volume);
    for offset in (0..size.get()).step_by(4096) {
        file.read_exact_at(&mut block, offset).unwrap();
        assert!(block.windows(64).all(|bytes| bytes.iter().any(|b| *b != 0)), "a hole at {offset}");
        assert!(seen.insert(block.clone()), "the block at {offset} repeats another");
    }
}

#[test]
fn filling_begins_where_the_loads_do_in_each_file_and_leaves_what_stands_before() {
    let folder = folder();
    let start = Bytes::kib(12);
    let need = Need { size: Some(Bytes::mib(4) + Bytes::kib(16)), start, files: 2, writes: true, ..Need::default() };
    let mut volume = Volume::open("data", folder.path().to_str().unwrap(), &need, &Access::default()).unwrap();
    let range = volume.span();
    assert_eq!(range, Bytes::mib(4) + Bytes::kib(16) - Bytes::kib(24));
    let all = volume.extents();
    let report = fill(&mut volume, range, 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    assert_eq!((report.bytes, report.complete), (range, true));
    for file in volume.files.iter().map(reopened) {
        let mut block = vec![0; 4096];
        for offset in (0..volume.file_size.get()).step_by(4096) {
            file.read_exact_at(&mut block, offset).unwrap();
            assert_eq!(block.iter().any(|b| *b != 0), offset >= start.get(), "at {offset}");
        }
    }
    if let (Some(all), Some(left)) = (all, volume.extents()) {
        assert_eq!(all.written_bytes + all.unwritten_bytes + all.hole_bytes, range.get());
        assert_eq!((left.unwritten_bytes, left.hole_bytes), (0, 0));
    }
}

#[test]
fn a_volume_is_filled_with_the_content_that_was_asked_for() {
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(1));
    let content = Content { compressible: Ratio::percent(50), ..Content::default() };
    let filling = Filling { content, ..Filling::default() };
    fill(&mut volume, Bytes::mib(1), 1, filling, EngineOptions::default(), &Control::new()).unwrap();
    let mut block = vec![0; 4096];
    behind(&volume).read_exact_at(&mut block, 64 << 10).unwrap();
    let zeros = 4096 - block.iter().filter(|b| **b != 0).count();
    assert!((2000..2100).contains(&zeros), "{zeros} of 4096");
}

#[test]
fn a_bound_in_volume_ends_the_trial_at_that_volume() {
    let mut volume = open("null", Bytes::gib(1));
    let spec = LoadSpec {
        pattern: Pattern::Sequential { stride: None },
        volume: Some(Bytes::mib(64)),
        warm_up: Duration::ZERO,
        duration: Duration::from_s(60),
        ..LoadSpec::default()
    };
    let record = run(&mut volume, &spec, EngineChoice::Auto);
    assert_eq!(record.bytes(), Bytes::mib(64).get());
    assert!(record.measured_ns < 30_000_000_000);
    // What is in flight when the measurement begins counts, too.
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(16));
    let spec = LoadSpec {
        arrival: closed(32),
        blocks: vec![BlockShare { size: Bytes::kib(256), share: Ratio::ONE }],
        volume: Some(Bytes::mib(32)),
        warm_up: Duration::from_ms(50),
        ..spec
    };
    for engine in engines() {
        assert_eq!(run(&mut volume, &spec, engine).bytes(), Bytes::mib(32).get(), "{engine:?}");
    }
}

#[test]
fn flushes_of_an_open_loop_are_no_arrivals() {
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(4));
    let spec = LoadSpec {
        arrival: Arrival::Constant { rate: Iops::per_second(200).unwrap() },
        reads: Ratio::ZERO,
        flush: Some(FlushCadence { every: 1, how: FlushMethod::Fdatasync }),
        ..short()
    };
    for engine in engines() {
        let record = run(&mut volume, &spec, engine);
        let offered = record.offered_iops.unwrap() * record.measured_ns as f64 / 1e9;
        assert!((59.0..=61.0).contains(&offered), "{engine:?}: {offered} in 0.3 s");
        assert!(record.of(Operation::Flush).is_some_and(|flushes| flushes.count > 0), "{engine:?}");
    }
}

#[test]
#[ignore = "long: measures this machine"]
fn a_deep_queue_is_as_deep_as_it_is_said_to_be() {
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(64));
    let spec = LoadSpec { arrival: closed(512), duration: Duration::from_ms(1_500), ..short() };
    // Threads wait for one another, in an order that is the scheduler's.
    for engine in engines().into_iter().filter(|engine| *engine != EngineChoice::Threads) {
        let record = run(&mut volume, &spec, engine);
        let reads = record.of(Operation::Read).unwrap();
        // Little's law: what is outstanding is what comes in a second times what it takes, counted from when its place was free.
        let outstanding = record.iops().unwrap() * reads.latency.mean_ns().unwrap() / 1e9;
        assert!((440.0..580.0).contains(&outstanding), "{engine:?}: {outstanding} of 512");
    }
}

#[test]
fn whoever_is_to_sleep_never_waits_awake_and_the_record_says_who_may() {
    let can = capabilities();
    if let Err(reason) = can.io_uring {
        println!("skipped: io_uring ({reason})");
        return;
    }
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(8));
    if !volume.facts.direct {
        println!("skipped: no direct I/O in {}", folder.path().display());
        return;
    }
    let open_loop = Arrival::Constant { rate: Iops::per_second(500).unwrap() };
    for (arrival, sleep, may) in [
        (closed(1), false, true),
        (closed(1), true, false),
        (closed(8), true, false),
        (open_loop.clone(), false, true),
        (open_loop, true, false),
    ] {
        let options = EngineOptions { engine: EngineChoice::IoUring, wait: sleep.into(), ..EngineOptions::default() };
        let spec = LoadSpec { arrival: arrival.clone(), ..short() };
        let record = run_trial(&mut volume, &spec, 0, 1, options, &Control::new()).unwrap();
        let told = record.engine.options.iter().any(|option| option.starts_with("waiting awake"));
        assert_eq!(told, may, "{arrival:?}, {sleep}: {:?}", record.engine.options);
        let asleep = record.engine.options.iter().any(|option| option.starts_with("asleep between arrivals"));
        assert_eq!(asleep, sleep && spec.offered().is_some(), "{arrival:?}, {sleep}: {:?}", record.engine.options);
        if sleep && spec.offered().is_none() {
            assert!(record.surroundings.threads.iter().all(|thread| thread.spun == 0.0));
        }
    }
}

#[test]
fn one_request_at_a_time_through_the_page_cache_is_a_plain_call() {
    let folder = folder();
    let need = Need { size: Some(Bytes::mib(8)), files: 1, writes: true, buffered: true, ..Need::default() };
    let mut volume = Volume::open("data", folder.path().to_str().unwrap(), &need, &Access::default()).unwrap();
    for (reads, operation) in [(Ratio::ZERO, Operation::Write), (Ratio::ONE, Operation::Read)] {
        let one = LoadSpec { buffered: true, reads, arrival: closed(1), threads: 2, ..short() };
        let record = run(&mut volume, &one, EngineChoice::Auto);
        assert_eq!(record.engine.name, EngineName::Threads, "{}", record.engine.reason);
        assert!(record.engine.reason.contains("plain pread or pwrite"), "{}", record.engine.reason);
        assert!(record.of(operation).unwrap().count > 0);
        // What is asked for is done, and what need not be plain has no such reason.
        let deeper = LoadSpec { arrival: closed(2), ..one.clone() };
        for (spec, engine) in [(one, EngineChoice::IoUring), (deeper, EngineChoice::Auto)] {
            if capabilities().io_uring.is_ok() {
                let record = run(&mut volume, &spec, engine);
                assert!(!record.engine.reason.contains("plain"), "{}", record.engine.reason);
            }
        }
    }
}

#[test]
fn an_open_loop_offers_what_was_asked_and_keeps_the_waiting_apart() {
    let mut volume = open("null", Bytes::gib(1));
    let arrival = Arrival::Poisson { rate: Iops::per_second(5_000).unwrap() };
    let spec = LoadSpec { arrival, duration: Duration::from_s(1), ..short() };
    let record = run(&mut volume, &spec, EngineChoice::Auto);
    let offered = record.offered_iops.unwrap();
    assert!((offered / 5_000.0 - 1.0).abs() < 0.1, "{offered}");
    let reads = record.of(Operation::Read).unwrap();
    let (waiting, service) = (reads.waiting.as_ref().unwrap(), reads.service.as_ref().unwrap());
    assert_eq!(waiting.count(), reads.latency.count());
    assert_eq!(waiting.sum_ns() + service.sum_ns(), reads.latency.sum_ns());
}

#[test]
fn a_stopped_trial_ends_soon_and_says_so() {
    let mut volume = open("null", Bytes::gib(1));
    let control = Control::new();
    let spec = LoadSpec { duration: Duration::from_s(3600), ..short() };
    let record = std::thread::scope(|scope| {
        let trial = scope.spawn(|| run_trial(&mut volume, &spec, 0, 1, EngineOptions::default(), &control));
        std::thread::sleep(std::time::Duration::from_millis(200));
        control.stop();
        trial.join().unwrap().unwrap()
    });
    assert_eq!(record.ending, Ending::Interrupted);
    assert!(record.measured_ns < 3_000_000_000_000);
}

#[test]
fn the_same_seed_asks_for_the_same_bytes() {
    let mut volume = open("null", Bytes::gib(1));
    let spec = LoadSpec { volume: Some(Bytes::mib(8)), reads: Ratio::percent(37), warm_up: Duration::ZERO, ..short() };
    let first = run(&mut volume, &spec, EngineChoice::Auto);
    let second = run(&mut volume, &spec, EngineChoice::Auto);
    assert_eq!(first.surroundings.asked, second.surroundings.asked);
}

fn verified(queue_depth: u32) -> LoadSpec {
    LoadSpec { verify: true, reads: Ratio::percent(20), arrival: closed(queue_depth), threads: 2, ..short() }
}

#[test]
fn an_honest_device_passes_verification_on_every_engine() {
    let folder = folder();
    for engine in engines() {
        let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(8));
        // So much, however long it takes.
        let spec = LoadSpec { volume: Some(Bytes::mib(8)), duration: Duration::from_s(600), ..verified(8) };
        let record = run(&mut volume, &spec, engine);
        let verify = record.verify.unwrap();
        assert_eq!(verify.faults_total, 0, "{engine:?}: {:?}", verify.faults);
        assert!(verify.blocks_checked > 100, "{engine:?}: {} checked", verify.blocks_checked);
        let after = verify_only(&volume, &spec, 0, 1, &Past::default(), &Control::new()).unwrap().unwrap();
        assert_eq!(after.faults_total, 0, "{engine:?}: {:?}", after.faults);
        assert!(after.blocks_checked > 100, "{engine:?}: {} checked afterwards", after.blocks_checked);
    }
}

#[test]
fn a_corrupted_a_swapped_a_lost_a_torn_and_a_stale_block_are_each_found_and_named() {
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(1));
    // One thread writes 256 blocks over and over; an old copy of one of them is kept.
    let writes = LoadSpec { reads: Ratio::ZERO, threads: 1, ..verified(4) };
    let (warm_up, duration) = (Duration::ZERO, Duration::from_s(60));
    let early = LoadSpec { volume: Some(Bytes::mib(4)), warm_up, duration, ..writes };
    run(&mut volume, &early, EngineChoice::Auto);
    let mut old = vec![0; 4096];
    behind(&volume).read_exact_at(&mut old, 5 * 4096).unwrap();
    // The same stream again, and further.
    let late = LoadSpec { volume: Some(Bytes::mib(40)), ..early };
    let record = run(&mut volume, &late, EngineChoice::Auto);
    assert_eq!(record.verify.unwrap().faults_total, 0);
    let file = behind(&volume);
    let block = |number: u64| {
        let mut bytes = vec![0; 4096];
        file.read_exact_at(&mut bytes, number * 4096).unwrap();
        bytes
    };
    file.write_all_at(&old, 5 * 4096).unwrap();
    let (a, b, mut rotten) = (block(10), block(11), block(20));
    file.write_all_at(&b, 10 * 4096).unwrap();
    file.write_all_at(&a, 11 * 4096).unwrap();
    rotten[1_000] ^= 0xff;
    file.write_all_at(&rotten, 20 * 4096).unwrap();
    file.write_all_at(&vec![0; 2048], 30 * 4096).unwrap();
    file.write_all_at(&vec![0; 4096], 40 * 4096).unwrap();
    file.sync_all().unwrap();
    let found = verify_only(&volume, &late, 0, 1, &Past::default(), &Control::new()).unwrap().unwrap();
    let kinds: Vec<(u64, VerifyFaultKind)> = found.faults.iter().map(|f| (f.offset / 4096, f.kind)).collect();
    assert_eq!(
        kinds,
        [
            (5, VerifyFaultKind::Stale),
            (10, VerifyFaultKind::Misplaced),
            (11, VerifyFaultKind::Misplaced),
            (20, VerifyFaultKind::Corrupt),
            (30, VerifyFaultKind::Torn),
            (40, VerifyFaultKind::Lost),
        ],
        "{:?}",
        found.faults
    );
}

#[test]
fn verification_says_when_a_volume_holds_nothing_of_the_trial() {
    let folder = folder();
    let mut volume = open(folder.path().to_str().unwrap(), Bytes::mib(1));
    fill(&mut volume, Bytes::mib(1), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    assert_eq!(verify_only(&volume, &verified(4), 0, 1, &Past::default(), &Control::new()).unwrap(), None);
}

#[test]
fn a_load_that_writes_is_refused_on_a_volume_opened_for_reading() {
    let folder = folder();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let need = Need { files: 1, ..Need::default() };
    let access = Access { read_only: true, ..Access::default() };
    let mut volume = Volume::open("data", path.to_str().unwrap(), &need, &access).unwrap();
    let spec = LoadSpec { reads: Ratio::ZERO, ..short() };
    let refused = run_trial(&mut volume, &spec, 0, 1, EngineOptions::default(), &Control::new());
    assert!(matches!(refused, Err(EngineError::ReadOnly { .. })), "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_file_that_shrinks_ends_the_trial_with_counted_errors() {
    let folder = folder();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 8 << 20]).unwrap();
    let need = Need { files: 1, ..Need::default() };
    let mut volume = Volume::open("data", path.to_str().unwrap(), &need, &Access::default()).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    for engine in engines() {
        let spec = LoadSpec { arrival: closed(4), duration: Duration::from_s(60), ..short() };
        let record = run(&mut volume, &spec, engine);
        assert!(matches!(record.ending, Ending::Failed(_)), "{engine:?}: {:?}", record.ending);
        assert!(record.errors[&ErrorKind::Short] > 0, "{engine:?}: {:?}", record.errors);
        assert!(record.error_samples[0].contains("offset"), "{engine:?}: {:?}", record.error_samples);
    }
}

#[test]
fn a_load_too_large_for_its_volume_or_for_memory_is_refused() {
    let mut volume = open("null", Bytes::mib(1));
    let mut try_spec = |spec: LoadSpec| {
        let looked_at = check(&volume, &spec, EngineOptions::default()).unwrap_err();
        let refused = run_trial(&mut volume, &spec, 0, 1, EngineOptions::default(), &Control::new());
        assert_eq!(refused.as_ref().unwrap_err().to_string(), looked_at.to_string());
        assert!(looked_at.is_lasting());
        refused
    };
    let block = |size| vec![BlockShare { size, share: Ratio::ONE }];
    let too_large = try_spec(LoadSpec { blocks: block(Bytes::mib(2)), ..short() });
    assert!(matches!(too_large, Err(EngineError::Region { .. })), "{too_large:?}");
    let too_deep = try_spec(LoadSpec { blocks: block(Bytes::mib(1)), arrival: closed(16_000), ..short() });
    assert!(matches!(too_deep, Err(EngineError::Buffers { .. })), "{too_deep:?}");
}

#[test]
fn an_option_of_one_engine_is_refused_with_another() {
    let folder = folder();
    let mut file = open(folder.path().to_str().unwrap(), Bytes::mib(1));
    let options = EngineOptions { engine: EngineChoice::Threads, sqpoll: true, ..EngineOptions::default() };
    let refused = run_trial(&mut file, &short(), 0, 1, options, &Control::new());
    assert!(matches!(refused, Err(EngineError::Unavailable { engine: "SQPOLL", .. })), "{refused:?}");
    let looked_at = check(&file, &short(), options).unwrap_err().to_string();
    assert_eq!(refused.unwrap_err().to_string(), looked_at);
    assert_eq!(check(&file, &short(), EngineOptions::default()).map_err(|error| error.to_string()), Ok(()));
}
