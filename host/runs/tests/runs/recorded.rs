//! What cannot be recorded is refused, and nothing is left where a recording cannot begin.

use crate::folder;
use loadline_runs::recording::{RecordSettings, Recorder};
use loadline_runs::{Error, RecordError};
use std::fs;

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
    assert!(matches!(error, Error::Record(RecordError::NoDevice { .. })), "{error}");
    assert!(!file.exists());
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
