//! What cannot be recorded is refused, and nothing is left where a recording cannot begin.

use crate::support::applications::Application;
use crate::support::devices::{Group, Loop, MemoryGroup, run};
use crate::support::{Bench, built_in, complete, doubts};
use crate::{folder, or_skip};
use loadline_analysis::{RunVerdict, run_verdict, summarize};
use loadline_block::Operation;
use loadline_demand::{AtLimit, demand_of_run, demand_of_trace};
use loadline_disk::BurstCredits;
use loadline_emulation::replay::Dependence;
use loadline_record::{DoubtCode, SourceLimit};
use loadline_runs::recording::{RecordSettings, Recorder, read_trace};
use loadline_runs::replay_run::{ReplayOptions, ReplayRun};
use loadline_runs::{Error, Event, Observer, RecordError, WatchError};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn settings(device: &str, file: std::path::PathBuf) -> RecordSettings {
    RecordSettings {
        device: device.to_owned(),
        file,
        duration: None,
        size_max: RecordSettings::SIZE_MAX,
        buffer: RecordSettings::BUFFER,
    }
}

#[test]
fn what_is_no_device_is_refused_before_a_file_is_made() {
    let folder = folder();
    let file = folder.path().join("app.trace");
    let error = Recorder::prepare(settings("no-such-disk", file.clone())).unwrap_err();
    assert!(matches!(error, Error::Watch(WatchError::NoTarget { .. })), "{error}");
    assert!(!file.exists());
}

#[test]
fn the_device_of_a_process_is_recorded_and_of_several_one_must_be_named() {
    let folder = folder();
    let backing = |name: &str| {
        let path = folder.path().join(name);
        fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
        path
    };
    let one = or_skip!(Loop::attach(&backing("one")), "it takes root and a loop device");
    let other = or_skip!(Loop::attach(&backing("other")), "it takes root and a loop device");
    let opened = |node: &str| fs::File::open(node).unwrap();
    let prepared = |sleep: &mut std::process::Command| {
        let mut program = sleep.spawn().unwrap();
        // While it starts, it has the files of its libraries open.
        let place = format!("/proc/{}/wchan", program.id());
        let is_asleep = || fs::read_to_string(&place).is_ok_and(|place| place.contains("nanosleep"));
        let patience = Instant::now() + Duration::from_secs(60);
        while !is_asleep() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
        }
        let prepared = Recorder::prepare(settings(&program.id().to_string(), folder.path().join("app.trace")));
        program.kill().unwrap();
        program.wait().unwrap();
        prepared
    };
    // Files that these tests were started with are none of the program's.
    let sleep = || {
        let mut sleep = std::process::Command::new("sh");
        sleep.args(["-c", "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec sleep 600"]);
        sleep
    };
    let several = prepared(sleep().stdin(opened(&one.node)).stdout(opened(&other.node))).map(drop);
    let Err(Error::Record(RecordError::SeveralDevices { devices, .. })) = several else { panic!("{several:?}") };
    assert!(devices.contains(&one.node) && devices.contains(&other.node), "{devices:?}");
    let alone =
        prepared(sleep().stdin(opened(&one.node)).stdout(std::process::Stdio::null()).stderr(opened(&one.node)));
    let has_no_events = matches!(&alone, Err(Error::Record(RecordError::Events(_) | RecordError::EventsDenied(_))));
    let alone = or_skip!((!has_no_events).then_some(alone), "it takes tracefs").unwrap();
    assert_eq!(format!("/dev/{}", alone.device()), one.node);
}

#[test]
fn a_trace_on_the_recorded_device_is_refused_and_so_is_one_that_exists() {
    let folder = folder();
    let file = folder.path().join("app.trace");
    fs::write(&file, "").unwrap();
    let found = |name: &str| Recorder::prepare(settings(name, file.clone())).map(drop);
    let disks = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let mut disks: Vec<String> = disks.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    disks.sort();
    for disk in &disks {
        assert!(matches!(found(disk), Err(Error::Record(RecordError::Exists { .. }))), "{disk}");
    }
    fs::remove_file(&file).unwrap();
    // The disk below this folder, where it shows one, is the only one that is refused.
    let refused = disks.iter().filter(|disk| matches!(found(disk), Err(Error::Record(RecordError::Feedback { .. }))));
    let opened = fs::File::open(folder.path()).unwrap();
    let view = loadline_kernel::facts::KernelView::live();
    let below = loadline_kernel::facts::Storage::below(&view, &opened, folder.path());
    let refused: Vec<&String> = refused.collect();
    assert!(below.counted.iter().all(|name| refused.contains(&name)), "{refused:?} of {:?}", below.counted);
    assert!(!file.exists());
}

/// Wants an end when the load is over.
struct Until<'a>(&'a AtomicBool);

impl Observer for Until<'_> {
    fn wants_an_end(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[test]
fn every_kind_of_request_that_the_kernel_counts_is_in_the_trace() {
    let folder = folder();
    let backing = folder.path().join("backing");
    fs::File::create(&backing).unwrap().set_len(16 << 20).unwrap();
    let device = or_skip!(Loop::attach(&backing), "it takes root and a loop device");
    let file = folder.path().join("app.trace");
    let recorder = Recorder::prepare(settings(&device.node, file.clone())).unwrap();
    let over = AtomicBool::new(false);
    let (outcome, loads) = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            // The recording begins when its file is there.
            while !file.exists() && !over.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let output = format!("of={}", device.node);
            let done = [
                run("dd", &["if=/dev/zero", &output, "bs=64k", "count=16", "oflag=direct", "conv=fsync,notrunc"]),
                run("dd", &["if=/dev/zero", &output, "bs=4k", "count=16", "oflag=direct,dsync", "conv=notrunc"]),
                run("blkdiscard", &["--zeroout", "--step", "262144", &device.node]),
                run("blkdiscard", &["--length", "1048576", &device.node]),
                run("dd", &[&format!("if={}", device.node), "of=/dev/null", "bs=64k", "count=16", "iflag=direct"]),
            ];
            over.store(true, Ordering::Release);
            done.iter().filter(|done| done.is_some()).count()
        });
        let outcome = recorder.run(&mut Until(&over));
        over.store(true, Ordering::Release);
        (outcome, load.join().unwrap())
    });
    let outcome = or_skip!(outcome.ok(), "it takes tracefs");
    assert_eq!(loads, 5);
    let notes = &outcome.notes;
    assert_eq!((notes.missing(), notes.events_lost), (Some(0), 0), "{notes:?}");
    let (trace, _) = read_trace(&file).unwrap();
    let count = |operation| trace.records.iter().filter(|record| record.operation == operation).count();
    assert!(count(Operation::Read) >= 16 && count(Operation::Write) >= 32 && count(Operation::Flush) >= 16);
    // 64 steps of zeroes without data, and the discard.
    assert!(count(Operation::Trim) >= 65, "{}", count(Operation::Trim));
}

#[test]
fn a_throttle_that_held_the_recorded_application_back_is_in_the_trace_and_in_all_that_is_made_of_it() {
    let folder = folder();
    let backing = folder.path().join("backing");
    fs::write(&backing, vec![1; 16 << 20]).unwrap();
    let device = or_skip!(Loop::attach(&backing), "it takes root and a loop device");
    let group = or_skip!(Group::new("recorded", &[(&device, "write_iops_device", 30)]), "it takes control groups");
    let file = folder.path().join("app.trace");
    let recorder = Recorder::prepare(settings(&device.node, file.clone())).unwrap();
    let over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !file.exists() && !over.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let output = format!("of={}", device.node);
            let write = ["if=/dev/zero", &output, "bs=4k", "count=150", "oflag=direct", "conv=notrunc"];
            let done = group.within(|| run("dd", &write));
            over.store(true, Ordering::Release);
            assert!(done.is_some());
        });
        let outcome = recorder.run(&mut Until(&over));
        over.store(true, Ordering::Release);
        outcome
    });
    let outcome = or_skip!(outcome.ok(), "it takes tracefs");
    let at_throttle = |limit: &SourceLimit| matches!(limit, SourceLimit::Throttle { limit, .. } if limit.per_s == 30 && limit.group.contains("recorded"));
    let (limit, share) = outcome.notes.source_limit().expect("the throttle is in the trace");
    assert!(at_throttle(&limit) && share > 0.1, "{limit:?}, {share}");
    let name = device.node.trim_start_matches("/dev/");
    let run = outcome.notes.surroundings.as_ref().unwrap();
    let volume = &summarize(run).verdict.expect("it is judged as a watch").volumes[0];
    assert!(volume.throttle.as_ref().is_some_and(|held| held.device == name && held.limit.per_s == 30), "{volume:?}");

    let (trace, _) = read_trace(&file).unwrap();
    let demand = demand_of_trace(&trace, "app.trace", &[]).unwrap();
    assert!(demand.limited_share() > 0.1, "{:?}", demand.intervals);
    assert_eq!(demand.limited_by(), Some(AtLimit::Throttled));
    let mut bare = trace.clone();
    bare.recording.as_mut().unwrap().surroundings = None;
    let notes = demand_of_trace(&bare, "app.trace", &[]).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("no surroundings")), "{notes:?}");

    let bench = Bench::new();
    let options = |file: &std::path::Path| ReplayOptions {
        name: None,
        file: file.to_owned(),
        dependence: Dependence::Time,
        seed: 1,
        credits: BurstCredits::FULL,
    };
    let replay = ReplayRun::prepare(trace, &built_in("ds3-p30"), options(&file)).unwrap();
    let record = complete(replay.run(bench.store()));
    assert!(doubts(&record).any(|doubt| doubt.code == DoubtCode::SourceLimited));
    assert_eq!(run_verdict(&record), RunVerdict::Unknown);
    let source = summarize(&record).verdict.unwrap().source.expect("the verdict speaks of the source");
    assert!(at_throttle(&source.limit), "{source:?}");
    assert_eq!(demand_of_run(&record, None, None).unwrap().limited_by(), Some(AtLimit::Throttled));
}

/// Wants an end after so many requests, or a minute.
#[derive(Default)]
struct Enough {
    requests: u64,
    is_over: bool,
}

impl Observer for Enough {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Live(frame) = event {
            let patience = loadline_units::Duration::from_s(60);
            let requests = frame.trace.expect("a recording says how far its trace is").requests;
            self.is_over |= requests >= self.requests || frame.elapsed_ns > patience.as_ns();
        }
    }
    fn wants_an_end(&self) -> bool {
        self.is_over
    }
}

#[test]
fn a_page_cache_that_a_memory_limit_keeps_small_is_in_the_trace_and_in_all_that_is_made_of_it() {
    let folder = folder();
    let backing = folder.path().join("backing");
    fs::write(&backing, vec![1; 64 << 20]).unwrap();
    let device = or_skip!(Loop::attach(&backing), "it takes root and a loop device");
    let group = or_skip!(MemoryGroup::new("recorded", 24), "it takes control groups of the first version");
    let file = folder.path().join("app.trace");
    let recorder = Recorder::prepare(settings(&device.node, file.clone())).unwrap();
    // A map of what was read would empty the cache whenever it is full.
    let arguments = ["--rw=randread", "--bs=64k", "--direct=0", "--ioengine=psync", "--norandommap"];
    let application = group.within(|| Application::fio(&device.node, &arguments));
    let _application = or_skip!(application, "it takes fio");
    let outcome = recorder.run(&mut Enough { requests: 30_000, is_over: false });
    let outcome = or_skip!(outcome.ok(), "it takes tracefs");
    let at_limit = |limit: &SourceLimit| matches!(limit, SourceLimit::Memory { limit, .. } if limit.bytes == 24 << 20);
    let (limit, share) = outcome.notes.source_limit().expect("the limit is in the trace");
    assert!(at_limit(&limit) && share > 0.0, "{limit:?}, {share}");
    let run = outcome.notes.surroundings.as_ref().unwrap();
    // Whether it held the application most of the time depends on what else the machine does.
    let cell = &summarize(run).cells[0];
    let causes = &cell.watch.as_ref().expect("a recording watches").causes;
    let memory = causes.iter().find(|cause| cause.limit == Some(loadline_record::Limit::Memory));
    assert!(memory.is_some_and(|cause| cause.share > 0.0), "{causes:?}");

    let (trace, _) = read_trace(&file).unwrap();
    let demand = demand_of_trace(&trace, "app.trace", &[]).unwrap();
    assert_eq!(demand.limited_by(), Some(AtLimit::Memory), "{:?}", demand.intervals);
    let options =
        ReplayOptions { name: None, file, dependence: Dependence::Time, seed: 1, credits: BurstCredits::FULL };
    let replay = ReplayRun::prepare(trace, &built_in("ds3-p30"), options).unwrap();
    let record = complete(replay.run(Bench::new().store()));
    let source = summarize(&record).verdict.unwrap().source.expect("the verdict speaks of the source");
    assert!(at_limit(&source.limit), "{source:?}");
}
