//! What is reported against what is known: rates set by the kernel's throttle, the kernel's own counters, the memory of this
//! process, and a file whose writer was killed.

use crate::bad_disks::{FileSystem, NO_LOOP, NO_MOUNT};
use crate::loop_devices::{Image, Loop};
use crate::or_skip;
use crate::trials::{closed, engines, folder, open, run, short, take_over};
use loadline_block::Operation;
use loadline_engine::{
    Access, Control, EngineChoice, EngineOptions, Filling, Keep, Need, Past, Volume, fill, run_trial, verify_only,
};
use loadline_record::{Ending, VerifyFaultKind};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{BlockShare, LoadSpec};
use std::collections::hash_map::RandomState;
use std::fs::{self, OpenOptions};
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a child is to do, in the environment.
const TASK: &str = "LOADLINE_TEST_CHILD";
const CGROUPS: &str = "/sys/fs/cgroup/blkio";
/// So often is a device read until nobody else reads from it meanwhile.
const ATTEMPTS: u32 = 3;

/// Starts this program anew to do one thing in a process of its own.
fn child(task: &str, arguments: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ground_truth::a_process_of_its_own", "--ignored", "--nocapture"])
        .env(TASK, task)
        .envs(arguments.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Waits for a child; the number that it printed behind `name=`.
fn answer(child: Child, name: &str) -> f64 {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let value = text.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("{name} is not in: {text}")).parse().unwrap()
}

#[test]
#[ignore = "other tests start it"]
fn a_process_of_its_own() {
    let argument = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    match std::env::var(TASK).as_deref() {
        Ok("throttled") => throttled(&argument("GROUP"), &argument("DEVICE"), &argument("LOAD")),
        Ok("memory") => memory(),
        Ok("reader") => reader(&argument("DEVICE")),
        Ok("closer") => closer(&argument("DEVICE")),
        Ok("killed") => killed(&argument("FOLDER"), argument("SEED").parse().unwrap()),
        Ok(other) => panic!("{other} is not known"),
        Err(_) => println!("skipped: only other tests start this"),
    }
}

/// A control group that limits block I/O.
struct Group {
    path: PathBuf,
}

impl Group {
    /// Limits one device: `limit` is the name of a file of the throttle, behind its prefix.
    fn new(name: &str, device: &Loop, limit: &str, rate: u64) -> Option<Self> {
        let path = Path::new(CGROUPS).join(format!("loadline-test-{}-{name}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self { path };
        let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name())).unwrap();
        let rule = format!("{} {rate}", number.trim());
        fs::write(group.path.join(format!("blkio.throttle.{limit}")), rule).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be on its way out.
        for _ in 0..100 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        println!("{} is left behind", self.path.display());
    }
}

/// The child: joins the group and reads or writes at depth 32.
fn throttled(group: &str, device: &str, load: &str) {
    fs::write(Path::new(group).join("cgroup.procs"), std::process::id().to_string()).unwrap();
    let mut words = load.split(' ');
    let mut word = || words.next().expect("operation, engine, block");
    let reads = if word() == "read" { Ratio::ONE } else { Ratio::ZERO };
    let engine = if word() == "io_uring" { EngineChoice::IoUring } else { EngineChoice::Threads };
    let blocks = vec![BlockShare { size: word().parse::<u64>().map(Bytes::kib).unwrap(), share: Ratio::ONE }];
    let (warm_up, duration, arrival) = (Duration::from_ms(1_500), Duration::from_s(16), closed(32));
    let spec = LoadSpec { reads, blocks, warm_up, duration, arrival, ..short() };
    let mut volume = take_over(device);
    let record = run(&mut volume, &spec, engine);
    assert_eq!((&record.ending, record.errors_total()), (&Ending::Complete, 0));
    println!("iops={} bytes_per_s={}", record.iops().unwrap(), record.bytes_per_s().unwrap());
}

#[test]
#[ignore = "long: measures this machine"]
fn a_rate_that_the_kernel_sets_is_reported_within_one_percent() {
    const IOPS: u64 = 1_500;
    const BYTES_PER_S: u64 = 20_000_000;
    // All at once, each on a device and in a group of its own.
    let cases = [
        ("read io_uring 4", "read_iops_device", IOPS, "iops"),
        ("read io_uring 8", "read_iops_device", IOPS, "iops"),
        ("read threads 4", "read_iops_device", IOPS, "iops"),
        ("read threads 8", "read_iops_device", IOPS, "iops"),
        ("write io_uring 64", "write_bps_device", BYTES_PER_S, "bytes_per_s"),
    ];
    let cases =
        cases.into_iter().filter(|case| !case.0.contains("io_uring") || engines().contains(&EngineChoice::IoUring));
    let mut cases: Vec<_> = cases.collect();
    // A machine that keeps the load from running for longer than its queue lasts makes it lose its share: once more then.
    for attempt in 1..=3 {
        let mut started = Vec::new();
        for (number, case) in cases.into_iter().enumerate() {
            let (load, limit, rate, figure) = case;
            let image = Image::in_memory(64);
            let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
            let group = or_skip!(Group::new(&format!("{attempt}-{number}"), &device, limit, rate), "no blkio.throttle");
            let path = group.path.to_str().unwrap().to_owned();
            let child = child("throttled", &[("GROUP", &path), ("DEVICE", &device.node), ("LOAD", load)]);
            started.push((case, (child, figure), (group, device, image)));
        }
        cases = Vec::new();
        for (case, (child, figure), _held) in started {
            let (load, _, rate, _) = case;
            let ratio = answer(child, figure) / rate as f64;
            println!("attempt {attempt}, {load}: {ratio:.4} of {rate}");
            if (ratio - 1.0).abs() > 0.01 {
                cases.push(case);
            }
        }
        if cases.is_empty() {
            return;
        }
    }
    panic!("three times off by more than one percent: {cases:?}");
}

/// The child: how much its memory grew from a trial of a second to one of five.
fn memory() {
    let resident = || {
        let text = fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0 / f64::from(1 << 20)
    };
    let mut volume = open(Path::new("null"), Bytes::gib(1));
    let mut trial = |duration| {
        let spec = LoadSpec { arrival: closed(32), threads: 2, reads: Ratio::percent(50), duration, ..short() };
        drop(run(&mut volume, &spec, EngineChoice::Auto));
        resident()
    };
    // What the first trial touches for the first time is not of its length.
    let first = trial(Duration::from_ms(200));
    let (short, long) = (trial(Duration::from_s(1)), trial(Duration::from_s(5)));
    println!("first={first} short={short} grown={}", long - short);
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_trial() {
    let grown = answer(child("memory", &[]), "grown");
    assert!(grown < 4.0, "{grown} MiB more after five seconds than after one");
}

fn kept() -> Need {
    let keep = Some(Keep { file_name: None, remove_at_end: false });
    Need { size: Some(Bytes::kib(512)), files: 1, writes: true, keep, ..Need::default() }
}

fn verified() -> LoadSpec {
    let (arrival, duration) = (closed(8), Duration::from_s(60));
    LoadSpec {
        verify: true,
        reads: Ratio::percent(20),
        threads: 2,
        arrival,
        duration,
        warm_up: Duration::ZERO,
        ..short()
    }
}

/// The child: writes until it is killed.
fn killed(folder: &str, seed: u64) {
    let mut volume = Volume::open("data", folder, &kept(), &Access::default()).unwrap();
    println!("begins");
    let engines = engines();
    let engine = engines[seed as usize % engines.len()];
    let options = EngineOptions { engine, ..EngineOptions::default() };
    run_trial(&mut volume, &verified(), 0, seed, options, &Control::new()).unwrap();
}

#[test]
fn a_load_killed_at_any_moment_leaves_nothing_that_verification_calls_a_fault() {
    let seed = RandomState::new().hash_one(0);
    println!("seed {seed}");
    let (mut checked, mut damaged) = (0, 0);
    for round in 0..100 {
        // A busy machine needs longer to write anything: until a file was written far enough.
        if round >= 10 && damaged > 0 {
            break;
        }
        let seed = seed.wrapping_add(round);
        let folder = folder();
        let target = folder.path().to_str().unwrap();
        let mut writer = child("killed", &[("FOLDER", target), ("SEED", &seed.to_string())]);
        // The child's first lines are those of the test harness.
        let said =
            BufReader::new(writer.stdout.take().unwrap()).lines().any(|line| line.is_ok_and(|l| l.ends_with("begins")));
        assert!(said, "the child has begun");
        let moment =
            std::time::Duration::from_micros(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (400_000 * (1 + round / 10)));
        std::thread::sleep(moment);
        writer.kill().unwrap();
        writer.wait().unwrap();
        let access = Access { read_only: true, ..Access::default() };
        let volume = Volume::open("data", target, &kept(), &access).unwrap();
        let found = verify_only(&volume, &verified(), 0, seed, &Past::default(), &Control::new()).unwrap();
        let Some(found) = found else { continue };
        assert_eq!(found.faults_total, 0, "seed {seed}, killed after {moment:?}: {:?}", found.faults);
        checked += found.blocks_checked;
        // The check is not blind: a block that is overwritten is found, or, where its write may have been under way, told as
        // one that cannot be judged.
        drop(volume);
        if found.blocks_unknown > 0 {
            continue;
        }
        let file = OpenOptions::new().write(true).open(folder.path().join("loadline-data.data")).unwrap();
        file.write_all_at(&[0xff; 4096], 77 * 4096).unwrap();
        file.sync_all().unwrap();
        let volume = Volume::open("data", target, &kept(), &access).unwrap();
        let found = verify_only(&volume, &verified(), 0, seed, &Past::default(), &Control::new()).unwrap().unwrap();
        assert_eq!(found.faults_total + found.blocks_unknown, 1, "seed {seed}: {:?}", found.faults);
        if found.blocks_unknown > 0 {
            continue;
        }
        assert_eq!((found.faults[0].offset, found.faults[0].kind), (77 * 4096, VerifyFaultKind::Lost));
        damaged += 1;
    }
    println!("{checked} blocks checked, {damaged} files damaged");
    assert!(damaged > 0, "no file was written far enough to be damaged");
    assert!(checked > 0, "no block was checked");
}

#[test]
fn the_devices_counters_match_what_was_asked_directly() {
    let image = Image::in_memory(64);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mut volume = take_over(&device.node);
    let bound = Some(Bytes::mib(16));
    let base = LoadSpec { volume: bound, warm_up: Duration::ZERO, duration: Duration::from_s(60), ..short() };
    for engine in engines() {
        let spec = LoadSpec { reads: Ratio::percent(50), arrival: closed(8), ..base.clone() };
        // A program that lists the machine's disks meanwhile reads from this one too, which only adds to what it counts.
        let alone = (0..ATTEMPTS).any(|_| {
            let record = run(&mut volume, &spec, engine);
            let asked = |operation| record.surroundings.asked.get(&operation).copied().unwrap_or_default();
            let (reads, writes) = (asked(Operation::Read), asked(Operation::Write));
            assert_eq!(reads.1 + writes.1, 16 << 20, "{engine:?}");
            let counted = &record.surroundings.devices[0];
            assert_eq!(counted.name, device.name());
            assert_eq!(counted.write_bytes, writes.1, "{engine:?}");
            // Neighbours that meet in the queue may be merged, which the kernel counts.
            assert_eq!(counted.writes + counted.writes_merged, writes.0, "{engine:?}: {counted:?}");
            let read = (counted.reads + counted.reads_merged, counted.read_bytes);
            assert!(read.0 >= reads.0 && read.1 >= reads.1, "{engine:?}: {counted:?}, asked {reads:?}");
            let residency = record.surroundings.residency;
            assert!(read != reads || residency.is_none_or(|r| r.after < 0.01), "{engine:?}: {residency:?}");
            read == reads
        });
        assert!(alone, "{engine:?}: the device counts more reads than were asked for, {ATTEMPTS} times");
    }
}

#[test]
fn trims_of_a_device_reach_it_as_discards_and_nothing_more_is_written() {
    let image = Image::in_memory(64);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mut volume = take_over(&device.node);
    let (reads, trims, bound) = (Ratio::ZERO, Ratio::percent(50), Some(Bytes::mib(16)));
    for engine in engines() {
        let spec = LoadSpec {
            reads,
            trims,
            volume: bound,
            arrival: closed(8),
            warm_up: Duration::ZERO,
            duration: Duration::from_s(60),
            ..short()
        };
        let record = run(&mut volume, &spec, engine);
        assert_eq!(record.errors_total(), 0, "{engine:?}: {:?}", record.error_samples);
        let asked = |operation| record.surroundings.asked[&operation];
        let counted = &record.surroundings.devices[0];
        assert!(asked(Operation::Trim).1 > 4 << 20, "{engine:?}: {:?}", record.surroundings.asked);
        assert_eq!(counted.discard_bytes, asked(Operation::Trim).1, "{engine:?}: {counted:?}");
        assert_eq!(counted.write_bytes, asked(Operation::Write).1, "{engine:?}: {counted:?}");
    }
}

#[test]
fn a_buffered_load_shows_in_the_page_cache_and_not_on_the_device() {
    let file_system = or_skip!(FileSystem::ext4(96), NO_MOUNT);
    let need = Need { size: Some(Bytes::mib(16)), files: 1, writes: true, buffered: true, ..Need::default() };
    let mut volume = Volume::open("data", file_system.path().to_str().unwrap(), &need, &Access::default()).unwrap();
    fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for engine in [EngineChoice::Threads, EngineChoice::IoUring] {
        if !engines().contains(&engine) {
            continue;
        }
        // Twice the file, however long that takes.
        let (bound, duration) = (Some(Bytes::mib(32)), Duration::from_s(60));
        let spec = LoadSpec { buffered: true, arrival: closed(4), volume: bound, duration, ..short() };
        let record = run(&mut volume, &spec, engine);
        assert_eq!(record.errors_total(), 0, "{engine:?}: {:?}", record.error_samples);
        let residency = record.surroundings.residency.expect("this kernel tells");
        assert!(residency.after > 0.99, "{engine:?}: {residency:?}");
        let (_, asked) = record.surroundings.asked[&Operation::Read];
        let reached: u64 = record.surroundings.devices.iter().map(|d| d.read_bytes).sum();
        assert!(asked >= 32 << 20 && reached < asked / 10, "{engine:?}: {reached} of {asked} B reached the device");
    }
}

#[test]
fn buffered_writes_that_the_kernel_gives_to_its_workers_are_all_answered_as_they_were_written() {
    let file_system = or_skip!(FileSystem::ext4(96), NO_MOUNT);
    let need = Need { size: Some(Bytes::mib(16)), files: 1, writes: true, buffered: true, ..Need::default() };
    let mut volume = Volume::open("data", file_system.path().to_str().unwrap(), &need, &Access::default()).unwrap();
    for engine in engines() {
        if engine == EngineChoice::Aio {
            // It takes direct I/O only.
            continue;
        }
        for (depth, reads) in [(1, Ratio::ZERO), (2, Ratio::percent(50)), (32, Ratio::ZERO), (128, Ratio::percent(50))]
        {
            let spec = LoadSpec { buffered: true, verify: true, reads, arrival: closed(depth), ..short() };
            let record = run(&mut volume, &spec, engine);
            assert_eq!(record.ending, Ending::Complete, "{engine:?}, depth {depth}");
            assert_eq!(record.errors_total(), 0, "{engine:?}, depth {depth}: {:?}", record.error_samples);
            let verify = record.verify.as_ref().expect("it was asked for");
            assert_eq!(verify.faults_total, 0, "{engine:?}, depth {depth}: {:?}", verify.faults);
            assert!(verify.blocks_checked > 0, "{engine:?}, depth {depth}");
            let (asked, _) = record.surroundings.asked[&Operation::Write];
            let streams = &verify.streams;
            assert_eq!(streams.iter().map(|s| u64::from(s.issued)).sum::<u64>(), asked, "{engine:?}, depth {depth}");
            assert!(streams.iter().all(|s| s.acknowledged == s.issued), "{engine:?}, depth {depth}: {streams:?}");
        }
    }
}

#[test]
#[ignore = "long: measures this machine"]
fn waiting_awake_is_told_apart_from_work() {
    let image = Image::in_memory(64);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mut volume = take_over(&device.node);
    for engine in engines() {
        for queue_depth in [1, 8] {
            let spec = LoadSpec { warm_up: Duration::ZERO, arrival: closed(queue_depth), ..short() };
            let record = run(&mut volume, &spec, engine);
            assert_eq!((&record.ending, record.errors_total()), (&Ending::Complete, 0), "{:?}", record.error_samples);
            // Every ring with direct I/O tries it when it begins; no other engine ever does.
            let threads = &record.surroundings.threads;
            let waited = threads.iter().any(|thread| thread.spun > 0.0);
            assert_eq!(waited, engine == EngineChoice::IoUring, "{engine:?}, depth {queue_depth}: {threads:?}");
            assert!(threads.iter().all(|thread| thread.busy + thread.spun < 1.05), "{threads:?}");
        }
    }
}

#[test]
fn another_reader_of_the_device_is_seen_and_named() {
    let image = Image::in_memory(64);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mut volume = take_over(&device.node);
    let spec = LoadSpec { duration: Duration::from_ms(1_200), arrival: closed(2), ..short() };
    // A child that reads the device past the page cache, and is there until it is told to go.
    let mut other = child("reader", &[("DEVICE", &device.node)]);
    let record = run(&mut volume, &spec, EngineChoice::Auto);
    let pid = other.id();
    other.kill().unwrap();
    other.wait().unwrap();
    let (_, asked) = record.surroundings.asked[&Operation::Read];
    let counted = &record.surroundings.devices[0];
    assert!(counted.read_bytes > asked + (1 << 20), "{asked} B asked, {counted:?}");
    let found = record.surroundings.others.iter().find(|o| o.pid == pid);
    // Where others are busier still, five of them are named.
    let seen = found.is_some_and(|o| o.read_bytes > 1 << 20) || record.surroundings.others.len() == 5;
    assert!(seen, "{pid} is not among {:?}", record.surroundings.others);
}

/// The child: reads a device until it is killed.
fn reader(device: &str) {
    let access = Access { read_only: true, ..Access::default() };
    let spec = LoadSpec { duration: Duration::from_s(30), arrival: closed(2), ..short() };
    let need = Need { files: 1, ..Need::default() };
    let mut volume = Volume::open("data", device, &need, &access).unwrap();
    run(&mut volume, &spec, EngineChoice::Threads);
}

#[test]
fn a_device_is_free_as_soon_as_its_volume_is_closed() {
    let image = Image::in_memory(16);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    // In a process of its own: a child that another test starts holds all files of this one until it has become another program.
    let ended = child("closer", &[("DEVICE", &device.node)]).wait().unwrap();
    assert!(ended.success(), "{ended}");
}

/// The child: opens and closes a device, which must be free each time.
fn closer(device: &str) {
    use std::os::unix::fs::OpenOptionsExt;
    for engine in engines() {
        for attempt in 0..5 {
            let mut volume = take_over(device);
            run(&mut volume, &LoadSpec { arrival: closed(32), duration: Duration::from_ms(20), ..short() }, engine);
            drop(volume);
            let exclusive = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device);
            assert!(exclusive.is_ok(), "{engine:?}, attempt {attempt}: {exclusive:?}");
        }
    }
}
