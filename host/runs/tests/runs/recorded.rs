//! What cannot be recorded is refused, and nothing is left where a recording cannot begin.

use crate::support::devices::{Loop, run};
use crate::{folder, or_skip};
use loadline_block::Operation;
use loadline_runs::recording::{RecordSettings, Recorder, read_trace};
use loadline_runs::{Error, Observer, RecordError, WatchError};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

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
        let mut program = sleep.arg("600").spawn().unwrap();
        let prepared = Recorder::prepare(settings(&program.id().to_string(), folder.path().join("app.trace")));
        program.kill().unwrap();
        program.wait().unwrap();
        prepared
    };
    let sleep = || std::process::Command::new("sleep");
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
