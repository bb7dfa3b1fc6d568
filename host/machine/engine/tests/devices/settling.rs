//! What programs left in memory reaches the device before a measurement begins, on a real file system.

use crate::loop_devices::{Image, Loop, Mount};
use crate::or_skip;
use crate::trials::open;
use loadline_engine::{Control, settle};
use loadline_units::{Bytes, Duration};
use std::fs;
use std::path::Path;

const LONG: Duration = Duration::from_s(60);
const SIZE: Bytes = Bytes::mib(8);
const LEFT: u64 = 32 << 20;

/// Bytes that the device was asked to write so far: the seventh figure of its counters, in sectors of 512 bytes.
fn written_to(device: &Loop) -> u64 {
    let counters = fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
    counters.split_ascii_whitespace().nth(6).unwrap().parse::<u64>().unwrap() * 512
}

#[test]
fn what_another_program_wrote_is_on_the_device_when_the_file_system_has_settled() {
    let image = Image::in_memory(128);
    or_skip!(image.format("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image.path()), "no loop device");
    let mount = or_skip!(Mount::new(&device.node, "defaults"), "cannot mount");
    let volume = open(mount.path(), SIZE);
    crate::loop_devices::run("sync", &["-f", mount.path().to_str().unwrap()]);
    let before = written_to(&device);
    fs::write(mount.path().join("another"), vec![7; LEFT as usize]).unwrap();
    let settled = settle(&volume, LONG, &Control::new()).unwrap().expect("a file in a file system");
    assert!(settled.complete && settled.elapsed < LONG, "{settled:?}");
    let written = written_to(&device) - before;
    assert!(written >= LEFT, "{written} of {LEFT} bytes");
}

#[test]
fn whoever_has_no_time_or_is_stopped_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let volume = open(folder.path(), SIZE);
    let at_once = settle(&volume, Duration::ZERO, &Control::new()).unwrap().unwrap();
    assert!(!at_once.complete);
    let stopped = Control::new();
    stopped.stop();
    assert!(!settle(&volume, LONG, &stopped).unwrap().unwrap().complete);
}

#[test]
fn what_is_no_file_has_nothing_to_settle() {
    let nothing = open(Path::new("null"), SIZE);
    assert_eq!(settle(&nothing, LONG, &Control::new()).unwrap(), None);
}
