//! Volumes as files and block devices of this machine: needs root, FUSE and loop devices.

mod database;
mod power;
mod served;

use loadline_disk::Layout;
use loadline_emulation::{Change, Fault, FaultKind};
use loadline_emulator::{AttachError, BlockDevice, BlockDeviceMaking, detach};
use loadline_units::Bytes;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use served::{Mounted, Served, disk, is_there, run};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn stripe() -> Layout {
    Layout::Stripe { columns: 2, interleave: Bytes::kib(64) }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn bytes(count: u64, seed: u8) -> Vec<u8> {
    (0..count).map(|at| (at / 512 % 251) as u8 ^ seed ^ (at % 7) as u8).collect()
}

fn refused(result: io::Result<usize>) -> Errno {
    Errno::from_io_error(&result.unwrap_err()).unwrap()
}

#[test]
fn files_hold_what_the_disks_hold() {
    let Some(served) = Served::start(disk(Bytes::mib(32)), stripe()) else { return };
    let names: Vec<_> = served.files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["data", "data.0", "data.1"]);
    let listed = std::fs::read_dir(served.files[0].parent().unwrap()).unwrap();
    assert_eq!(listed.count(), 3);
    let [volume, first, second] = [0, 1, 2].map(|file| open(&served.files[file]));
    assert_eq!(volume.metadata().unwrap().len(), 64 * MIB);
    assert_eq!(first.metadata().unwrap().len(), 32 * MIB);
    // Longer than the kernel hands over at once, and across disks.
    let written = bytes(3 * MIB + 512, 5);
    volume.write_all_at(&written, 512).unwrap();
    let mut read = vec![0; written.len()];
    volume.read_exact_at(&mut read, 512).unwrap();
    assert!(read == written);
    let mut piece = vec![0; 64 << 10];
    second.read_exact_at(&mut piece, 64 * KIB).unwrap();
    assert!(piece == written[(192 << 10) - 512..(256 << 10) - 512], "the layout puts this piece on the second disk");
    first.write_all_at(&bytes(64 * KIB, 9), 128 * KIB).unwrap();
    volume.read_exact_at(&mut piece, 256 * KIB).unwrap();
    assert!(piece == bytes(64 * KIB, 9), "what is written to a disk is in the volume");
    // Requests are counted once they were answered, by the thread that answered: wait for all of them.
    let requests = || served.emulation.figures().iter().map(loadline_emulator::ExportFigures::requests).sum::<u64>();
    let deadline = Instant::now() + Duration::from_secs(120);
    while requests() < 8 + 3 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(requests() >= 8 + 3, "{} requests reached the model", requests());
}

#[test]
fn what_files_cannot_do_is_an_error() {
    let Some(served) = Served::start(disk(Bytes::mib(1)), Layout::Single) else { return };
    let file = open(&served.files[0]);
    let mut buffer = vec![1; 4_096];
    assert_eq!(refused(file.write_at(&buffer, MIB)), Errno::NOSPC);
    assert_eq!(file.read_at(&mut buffer, MIB).unwrap(), 0);
    assert_eq!(file.read_at(&mut buffer, MIB - 512).unwrap(), 512);
    assert!(file.set_len(10).is_err());
    assert!(file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644)).is_err());
    // Who opens a file to write it anew truncates it. As a block device it keeps its size.
    file.write_all_at(&buffer, 0).unwrap();
    let anew = OpenOptions::new().write(true).truncate(true).open(&served.files[0]).unwrap();
    anew.write_all_at(&[9; 512], 0).unwrap();
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!((&buffer[..512], &buffer[512..1_024]), (&[9; 512][..], &[1; 512][..]));
    file.set_len(MIB).unwrap();
    assert!(File::create(served.files[0].with_file_name("other")).is_err());
    assert_eq!(std::fs::metadata(&served.files[0]).unwrap().len(), MIB);
}

#[test]
fn holes_are_made_and_found() {
    let Some(served) = Served::start(disk(Bytes::mib(8)), stripe()) else { return };
    let file = open(&served.files[0]);
    file.write_all_at(&bytes(4 * MIB, 1), MIB).unwrap();
    file.write_all_at(b"any byte", MIB + 1_001).unwrap();
    let mut piece = [0; 10];
    file.read_exact_at(&mut piece, MIB + 1_000).unwrap();
    assert_eq!(&piece[1..9], b"any byte");
    let kept = served.emulation.memory();
    fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 2 * MIB, MIB).unwrap();
    assert!(served.emulation.memory().get() + MIB <= kept.get(), "the space is given back");
    assert_eq!(seek(&file, SeekFrom::Data(0)), Ok(MIB));
    assert_eq!(seek(&file, SeekFrom::Hole(MIB)), Ok(2 * MIB));
    assert_eq!(seek(&file, SeekFrom::Data(2 * MIB)), Ok(3 * MIB));
    assert_eq!(seek(&file, SeekFrom::Data(5 * MIB)), Err(Errno::NXIO));
    let mut read = vec![1; MIB as usize];
    file.read_exact_at(&mut read, 2 * MIB).unwrap();
    assert!(read.iter().all(|byte| *byte == 0));
    fallocate(&file, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE, MIB, 4_096).unwrap();
    file.read_exact_at(&mut read[..4_096], MIB).unwrap();
    assert!(read[..4_096].iter().all(|byte| *byte == 0));
    assert_eq!(seek(&file, SeekFrom::Data(0)), Ok(MIB), "zeroes that keep their space are data");
    file.sync_all().unwrap();
}

#[test]
fn a_file_system_lives_on_the_block_device() {
    let Some(served) = Served::start(disk(Bytes::mib(256)), stripe()) else { return };
    let device = BlockDevice::over(&served.files[0]).unwrap();
    run(Command::new("mkfs.ext4").arg("-q").arg(device.path()));
    let content = bytes(64 * MIB, 3);
    for round in 0..2 {
        let mounted = Mounted::mount(device.path(), served.path("mounted"));
        let file = mounted.0.join("file");
        if round == 0 {
            std::fs::write(&file, &content).unwrap();
            continue;
        }
        assert!(std::fs::read(&file).unwrap() == content);
        let before = served.emulation.memory();
        std::fs::remove_file(&file).unwrap();
        rustix::fs::sync();
        run(Command::new("fstrim").arg(&mounted.0));
        assert!(served.emulation.memory().get() + 60 * MIB < before.get(), "what was trimmed is given back");
    }
    assert!(!device.in_use());
    run(Command::new("fsck.ext4").args(["-f", "-n"]).arg(device.path()));
}

#[test]
fn fio_finds_what_it_wrote() {
    let Some(served) = Served::start(disk(Bytes::mib(64)), stripe()) else { return };
    if !is_there("fio") {
        println!("skipped: fio on an attached volume (fio is not there)");
        return;
    }
    let device = BlockDevice::over(&served.files[0]).unwrap();
    let name = format!("--filename={}", device.path().display());
    let words = ["--name=t", &name, "--direct=1", "--ioengine=libaio", "--iodepth=32", "--size=64M", "--verify=crc32c"];
    let mix =
        ["--rw=randwrite", "--bsrange=512-256k", "--verify_fatal=1", "--verify_state_save=0", "--output-format=terse"];
    run(Command::new("fio").args(words).args(mix));
}

#[test]
fn at_the_end_nothing_is_left_and_nobody_hangs() {
    let Some(served) = Served::start(disk(Bytes::mib(64)), Layout::Single) else { return };
    let files = &served.files;
    let folder = files[0].parent().unwrap().to_owned();
    let taken = Served::start(disk(Bytes::mib(1)), Layout::Single).map(|mut other| other.emulation.mount(&folder));
    assert!(matches!(taken, Some(Err(AttachError::Alive { .. }))), "{taken:?}");
    let device = BlockDevice::over(&files[0]).unwrap();
    let (node, held) = (device.path().to_owned(), open(device.path()));
    let file = open(&files[0]);
    drop(device);
    served.emulation.end().unwrap();
    let mut buffer = vec![0; 4_096];
    assert!(file.read_at(&mut buffer, 0).is_err(), "a file whose emulation is over");
    // The kernel's page cache may know the beginning.
    assert!(held.read_at(&mut buffer, 32 * MIB).is_err(), "a block device whose emulation is over");
    drop((file, held));
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!table.contains(folder.to_str().unwrap()) && !folder.exists());
    let backing = Path::new("/sys/block").join(node.file_name().unwrap()).join("loop/backing_file");
    let backing = std::fs::read_to_string(backing).unwrap_or_default();
    assert!(!backing.starts_with(folder.to_str().unwrap()), "{} is still there", node.display());
}

#[test]
fn what_a_living_emulation_shows_is_not_detached() {
    let Some(served) = Served::start(disk(Bytes::mib(1)), Layout::Single) else { return };
    let refused = detach(served.files[0].parent().unwrap());
    let own = std::process::id();
    assert!(matches!(refused, Err(AttachError::Alive { process, .. }) if process == own), "{refused:?}");
    open(&served.files[0]).write_all_at(&[1; 512], 0).unwrap();
}

#[test]
fn a_block_device_of_a_disk_that_hangs_ends_with_the_mount() {
    let Some(mut served) = Served::start(disk(Bytes::mib(1)), Layout::Single) else { return };
    let second = loadline_units::Duration::from_s(1);
    assert_eq!(served.emulation.hang("data", second), None);
    let hang = Fault::of_all("data/0", FaultKind::Hang);
    served.emulation.change(&Change::Begin(hang.clone())).unwrap();
    assert_eq!(served.emulation.hang("data", second), Some(hang));
    assert_eq!(served.emulation.hang("dat", second), None);
    let file = served.files[0].clone();
    let mut making = BlockDeviceMaking::start(&file).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let early = making.poll();
    // From here on nothing of this machine waits, whatever is found.
    served.emulation.unmount();
    if !matches!(early, Ok(None)) {
        println!("skipped: losetup over a disk that hangs (this kernel does not sync the file: {early:?})");
        return;
    }
    let begun = Instant::now();
    let made = loop {
        match making.poll() {
            Ok(None) => assert!(begun.elapsed() < Duration::from_secs(120), "losetup still waits"),
            ended => break ended,
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    drop((early, made));
    run(Command::new("losetup").arg("--find"));
    assert!(!file.exists());
}

#[test]
fn a_mirror_of_btrfs_survives_a_lost_disk() {
    let Some(served) = Served::start(disk(Bytes::mib(300)), stripe()) else { return };
    if !is_there("mkfs.btrfs") {
        println!("skipped: btrfs over emulated disks (mkfs.btrfs is not there)");
        return;
    }
    let devices = [1, 2].map(|file| BlockDevice::over(&served.files[file]).unwrap());
    let paths = devices.each_ref().map(|device| device.path().to_owned());
    run(Command::new("mkfs.btrfs").args(["-q", "-f", "-d", "raid1", "-m", "raid1"]).args(&paths));
    run(Command::new("btrfs").args(["device", "scan"]).args(&paths));
    let mounted = Mounted::mount(&paths[0], served.path("mounted"));
    let content = bytes(48 * MIB, 6);
    std::fs::write(mounted.0.join("before"), &content).unwrap();
    run(Command::new("sync").arg("-f").arg(&mounted.0));
    let lost = Fault::of_all("data/1", FaultKind::Lost);
    served.emulation.change(&Change::Begin(lost)).unwrap();
    std::fs::write(mounted.0.join("after"), &content).unwrap();
    run(Command::new("sync").arg("-f").arg(&mounted.0));
    run(Command::new("sh").args(["-c", "echo 3 > /proc/sys/vm/drop_caches"]));
    for name in ["before", "after"] {
        assert!(std::fs::read(mounted.0.join(name)).unwrap() == content, "{name} is not as it was written");
    }
    let told = run(Command::new("btrfs").args(["device", "stats"]).arg(&mounted.0));
    let errors: u64 = told.lines().filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum();
    assert!(errors > 0, "btrfs noticed nothing: {told}");
    mounted.unmount();
}
