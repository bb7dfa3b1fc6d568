//! Devices that fail, fill up or go away: every engine counts what failed, says where, and ends the trial.

use crate::bad_disks::{FileSystem, NO_LOOP, NO_MOUNT, NO_SERVER, Server, memory, wait_until};
use crate::loop_devices::{Image, Loop, run as command};
use crate::or_skip;
use crate::trials::{closed, engines, open, run, short, take_over};
use loadline_block::{ErrorKind, Operation};
use loadline_engine::{Control, EngineChoice, EngineError, EngineOptions, Filling, Remedy, Volume, fill};
use loadline_record::{Ending, TrialRecord};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{BlockShare, LoadSpec, Pattern};
use std::fs::{File, OpenOptions};
use std::path::Path;

/// The most requests that a trial of `spec` may see failing: those that end it, and what was in flight then.
const FAILURES_MAX: u64 = 64 + 8;

fn writes() -> LoadSpec {
    let (warm_up, duration) = (Duration::ZERO, Duration::from_s(600));
    LoadSpec { reads: Ratio::ZERO, arrival: closed(8), warm_up, duration, ..short() }
}
fn reads() -> LoadSpec {
    LoadSpec { reads: Ratio::ONE, ..writes() }
}

/// Checks that a trial failed by `kind`, and that its record says so in every place.
fn failed(record: &TrialRecord, kind: ErrorKind, operation: Operation, engine: EngineChoice) {
    let Ending::Failed(why) = &record.ending else { panic!("{engine:?}: {:?}", record.ending) };
    let count = record.errors.get(&kind).copied().unwrap_or_default();
    assert!((1..=FAILURES_MAX).contains(&count), "{engine:?}: {:?} {why}", record.errors);
    assert!(why.contains("offset") && why.contains(operation.name()), "{engine:?}: {why}");
    let kept = record.of(operation).unwrap_or_else(|| panic!("{engine:?}: nothing kept of {}", operation.name()));
    assert!(kept.errors >= count, "{engine:?}: {} of {count}", kept.errors);
    assert!(!record.error_samples.is_empty() && record.error_samples.len() <= 8);
    let start = format!("{} of 4096 B at offset ", operation.name());
    for sample in &record.error_samples {
        let offset = sample.strip_prefix(&start).and_then(|rest| rest.split(':').next()?.parse::<u64>().ok());
        assert!(offset.is_some_and(|offset| offset.is_multiple_of(4096)), "{engine:?}: {sample}");
    }
}

/// Checks that the same process can still measure.
fn works(volume: &mut Volume, engine: EngineChoice) {
    let record = run(volume, &LoadSpec { volume: Some(Bytes::kib(64)), ..reads() }, engine);
    assert_eq!((record.ending.clone(), record.errors_total()), (Ending::Complete, 0), "{engine:?}");
    assert!(record.count() > 0, "{engine:?}");
}

#[test]
fn a_device_that_fails_every_request_ends_the_trial_and_works_again_when_it_is_healed() {
    let server = or_skip!(Server::new(16, "100%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let mut volume = take_over(&device.node);
    for engine in engines() {
        server.fail();
        failed(&run(&mut volume, &reads(), engine), ErrorKind::Io, Operation::Read, engine);
        failed(&run(&mut volume, &writes(), engine), ErrorKind::Io, Operation::Write, engine);
        server.heal();
        works(&mut volume, engine);
    }
}

#[test]
fn a_few_failures_are_counted_and_end_nothing() {
    let server = or_skip!(Server::new(16, "2%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let mut volume = take_over(&device.node);
    server.fail();
    for engine in engines() {
        let spec = LoadSpec { volume: Some(Bytes::mib(4)), ..reads() };
        let record = run(&mut volume, &spec, engine);
        assert_eq!(record.ending, Ending::Complete, "{engine:?}: {:?}", record.errors);
        let (asked, _) = record.surroundings.asked[&Operation::Read];
        let kept = record.of(Operation::Read).unwrap();
        assert_eq!((asked, record.errors_total()), (1024, kept.errors), "{engine:?}");
        assert!(kept.errors > 0, "{engine:?}: one in fifty of 1024 should fail");
        assert_eq!(kept.count + kept.errors, asked, "{engine:?}: each request ends once");
        let in_series: u64 = record.series.seconds.iter().map(|s| s.errors).sum();
        assert_eq!(in_series, kept.errors, "{engine:?}");
    }
}

#[test]
fn a_fill_that_failed_in_places_is_an_error() {
    let server = or_skip!(Server::new(64, "20%"), NO_SERVER);
    let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
    let mut volume = take_over(&device.node);
    server.fail();
    let filled = fill(&mut volume, Bytes::mib(64), 1, Filling::default(), EngineOptions::default(), &Control::new());
    server.heal();
    let error = filled.expect_err("one write in five failed").to_string();
    assert!(error.contains("fill volume data") && error.contains("write of 1048576 B at offset"), "{error}");
    let report =
        fill(&mut volume, Bytes::mib(64), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    assert!(report.complete && report.bytes == Bytes::mib(64), "{report:?}");
}

#[test]
fn a_device_whose_store_is_full_ends_the_trial() {
    for engine in engines() {
        let mount = or_skip!(memory(8), NO_MOUNT);
        let image = mount.path().join("image");
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let device = or_skip!(Loop::attach(&image), NO_LOOP);
        let mut volume = take_over(&device.node);
        let record = run(&mut volume, &writes(), engine);
        // The loop driver passes on what its file system said.
        let kind = if record.errors.contains_key(&ErrorKind::NoSpace) { ErrorKind::NoSpace } else { ErrorKind::Io };
        failed(&record, kind, Operation::Write, engine);
        assert!(record.count() > 1_000, "{engine:?}: {} blocks of 4 KiB fit into 8 MiB", record.count());
        works(&mut volume, engine);
    }
}

/// A sparse file larger than the file system that it lies on, handed over.
fn sparse(folder: &Path, name: &str) -> Volume {
    let path = folder.join(name);
    File::create(&path).unwrap().set_len(64 << 20).unwrap();
    take_over(path.to_str().unwrap())
}

#[test]
fn a_fill_that_finds_no_room_says_how_much_was_wanted_and_what_to_do() {
    let file_system = or_skip!(FileSystem::ext4(24), NO_MOUNT);
    let mut volume = sparse(file_system.path(), "sparse");
    let filled = fill(&mut volume, Bytes::mib(64), 1, Filling::default(), EngineOptions::default(), &Control::new());
    let error = filled.expect_err("there is less than 24 MiB of room");
    let EngineError::NoRoom { wanted, written, .. } = &error else { panic!("{error}") };
    assert_eq!(*wanted, Bytes::mib(64));
    assert!(*written >= Bytes::mib(4) && *written < Bytes::mib(24), "{written}");
    let told = error.to_string();
    for part in ["no room on volume data", "64.0 MiB were to be written", "No space left"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(error.remedy(), Some(Remedy::SmallerSize));
}

#[test]
fn a_file_system_that_fills_up_under_direct_writes_ends_the_trial() {
    let file_system = or_skip!(FileSystem::ext4(24), NO_MOUNT);
    for engine in engines() {
        let mut volume = sparse(file_system.path(), "sparse");
        assert!(volume.facts.direct, "{:?}", volume.facts.direct_reason);
        let record = run(&mut volume, &LoadSpec { pattern: Pattern::Sequential { stride: None }, ..writes() }, engine);
        failed(&record, ErrorKind::NoSpace, Operation::Write, engine);
        assert!(record.count() > 500, "{engine:?}: {}", record.count());
        works(&mut volume, engine);
        drop(volume);
        std::fs::remove_file(file_system.path().join("sparse")).unwrap();
    }
}

#[test]
fn a_file_system_that_fills_up_under_buffered_writes_ends_the_trial() {
    for engine in [EngineChoice::Threads, EngineChoice::IoUring] {
        if !engines().contains(&engine) {
            continue;
        }
        let mount = or_skip!(memory(8), NO_MOUNT);
        let mut volume = sparse(mount.path(), "sparse");
        failed(&run(&mut volume, &writes(), engine), ErrorKind::NoSpace, Operation::Write, engine);
        // A write larger than what is left is cut short first.
        let block = vec![BlockShare { size: Bytes::mib(3), share: Ratio::ONE }];
        let mut volume = sparse(memory(8).unwrap().path(), "sparse");
        let large = LoadSpec { blocks: block, pattern: Pattern::Sequential { stride: None }, ..writes() };
        let record = run(&mut volume, &large, engine);
        assert!(matches!(record.ending, Ending::Failed(_)), "{engine:?}: {:?}", record.ending);
        assert!(record.errors[&ErrorKind::NoSpace] > 0, "{engine:?}: {:?}", record.errors);
        let done = record.of(Operation::Write).unwrap();
        assert!(done.count <= 2 && done.bytes == done.count * (3 << 20), "{engine:?}: {done:?}");
    }
}

#[test]
fn a_device_whose_store_is_cut_off_ends_the_trial() {
    for engine in engines() {
        let image = Image::new(32);
        let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
        let mut volume = take_over(&device.node);
        works(&mut volume, engine);
        OpenOptions::new().write(true).open(image.path()).unwrap().set_len(4096).unwrap();
        failed(&run(&mut volume, &reads(), engine), ErrorKind::Io, Operation::Read, engine);
        // Now the device itself learns that it has shrunk: nothing is there behind its first block.
        if command("losetup", &["--set-capacity", &device.node]).is_none() {
            println!("skipped: losetup cannot set the capacity");
            return;
        }
        failed(&run(&mut volume, &reads(), engine), ErrorKind::Short, Operation::Read, engine);
        failed(&run(&mut volume, &writes(), engine), ErrorKind::NoSpace, Operation::Write, engine);
    }
}

#[test]
fn a_device_that_is_detached_meanwhile_stays_until_it_is_closed() {
    let image = Image::new(32);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mut volume = take_over(&device.node);
    for engine in engines() {
        command("losetup", &["--detach", &device.node]).unwrap();
        works(&mut volume, engine);
    }
    assert!(device.shows_its_image(), "it is open");
    drop(volume);
    // The kernel takes a ring down after its owner has closed it, and the device with it.
    assert!(wait_until(|| !device.shows_its_image()), "closed, it is gone");
}

#[test]
fn a_server_that_dies_under_a_load_ends_the_trial() {
    for engine in engines() {
        let mut server = or_skip!(Server::new(16, "0%"), NO_SERVER);
        let device = or_skip!(Loop::attach_uncached(&server.disk()), NO_LOOP);
        let mut volume = take_over(&device.node);
        // A number's counts go on when another device has it.
        let before = device.written();
        let record = std::thread::scope(|scope| {
            let trial = scope.spawn(|| run(&mut volume, &writes(), engine));
            assert!(wait_until(|| device.written() > before + 100), "{engine:?}: it writes");
            server.kill();
            trial.join().unwrap()
        });
        failed(&record, ErrorKind::Io, Operation::Write, engine);
        assert!(record.count() > 0, "{engine:?}: what was done before is kept");
    }
}

#[test]
fn a_file_whose_file_system_goes_away_is_gone() {
    for engine in [EngineChoice::Threads, EngineChoice::IoUring] {
        if !engines().contains(&engine) {
            continue;
        }
        let mut server = or_skip!(Server::new(16, "0%"), NO_SERVER);
        let mut volume = take_over(server.disk().to_str().unwrap());
        let record = std::thread::scope(|scope| {
            let trial = scope.spawn(|| run(&mut volume, &LoadSpec { buffered: true, ..writes() }, engine));
            std::thread::sleep(std::time::Duration::from_millis(300));
            server.kill_fuse();
            trial.join().unwrap()
        });
        failed(&record, ErrorKind::Gone, Operation::Write, engine);
        assert_eq!(record.errors.keys().copied().collect::<Vec<_>>(), [ErrorKind::Gone], "{engine:?}");
    }
}

#[test]
fn after_every_fault_a_good_volume_is_measured_in_the_same_process() {
    let server = or_skip!(Server::new(16, "100%"), NO_SERVER);
    let folder = crate::trials::folder();
    let mut good = open(folder.path(), Bytes::mib(8));
    fill(&mut good, Bytes::mib(8), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    let mut bad = take_over(server.disk().to_str().unwrap());
    server.fail();
    for engine in engines() {
        let spec = LoadSpec { buffered: !bad.facts.direct, ..reads() };
        if engine == EngineChoice::Aio && spec.buffered {
            continue;
        }
        failed(&run(&mut bad, &spec, engine), ErrorKind::Io, Operation::Read, engine);
        works(&mut good, engine);
    }
}
