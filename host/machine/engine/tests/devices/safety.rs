//! Every refusal of docs/safety.md, on real loop devices, mounts and swap.
//!
//! Holders (device mapper, RAID) are tested beside the reader of sysfs, with a sysfs made by hand: not every kernel has a
//! device mapper. Where a test cannot run (no root, no loop devices, a program missing), it says so and passes.

use crate::loop_devices::{Image, Loop, Mount, Swap, run};
use crate::or_skip;
use loadline_engine::{Access, Need, Remedy, TargetError, Volume};
use loadline_kernel::facts::in_use::{InUse, Use};
use loadline_units::Bytes;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

const EXT4: &[&str] = &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
const NO_LOOP: &str = "no loop device to be had";

fn to_write() -> Need {
    Need { writes: true, ..Need::default() }
}
fn to_read() -> Need {
    Need::default()
}
/// Handed over by name and by these identities.
fn handed_over(target: &str, identities: &[&str]) -> Access {
    Access {
        read_only: false,
        overwrite: vec![target.to_owned()],
        identities: identities.iter().map(|&i| i.to_owned()).collect(),
    }
}
fn open(target: &str, need: &Need, access: &Access) -> Result<Volume, TargetError> {
    Volume::open("data", target, need, access)
}
/// The refusal of an attempt to write to a target that was handed over in every way.
fn refusal(target: &str, identities: &[&str]) -> TargetError {
    open(target, &to_write(), &handed_over(target, identities)).map(drop).expect_err(target)
}
fn in_use(error: &TargetError) -> &InUse {
    match error {
        TargetError::InUse { in_use, .. } => in_use,
        other => panic!("refused for another reason: {other}"),
    }
}
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
/// An MBR with disk identifier deadbeef and one partition of 16 MiB at 1 MiB.
fn write_partition_table(image: &Image) {
    let mut sector = [0_u8; 512];
    sector[440..444].copy_from_slice(&0xDEAD_BEEF_u32.to_le_bytes());
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    sector[458..462].copy_from_slice(&32_768_u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    OpenOptions::new().write(true).open(image.path()).unwrap().write_all_at(&sector, 0).unwrap();
}

#[test]
fn a_mounted_device_is_refused_even_when_handed_over() {
    let image = Image::new(32);
    let uuid = "11111111-2222-4333-8444-555555555555";
    or_skip!(image.format("mkfs.ext4", &[EXT4, &["-U", uuid]].concat()), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mount = or_skip!(Mount::new(&device.node, "ro"), "cannot mount");
    let before = image.contents();
    let error = refusal(&device.node, &[uuid]);
    let point = fs::canonicalize(mount.path()).unwrap();
    assert_eq!(*in_use(&error), InUse { what: device.name().to_owned(), how: Use::Mounted { at: Some(point) } });
    for word in [device.node.as_str(), "is mounted on", "cannot be overridden", "umount"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let link = image.beside("link");
    symlink(&device.node, &link).unwrap();
    assert!(matches!(in_use(&refusal(text(&link), &[uuid])).how, Use::Mounted { .. }));
    assert_eq!(image.contents(), before);
}

#[test]
fn a_mounted_device_may_be_read() {
    let image = Image::new(32);
    or_skip!(image.format("mkfs.ext4", EXT4), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let _mount = or_skip!(Mount::new(&device.node, "ro"), "cannot mount");
    let before = image.contents();
    let access = Access { read_only: true, ..Access::default() };
    for need in [to_read(), to_write()] {
        let volume = open(&device.node, &need, &access).unwrap();
        assert!(!volume.writable);
        assert_eq!(volume.facts.size_bytes, Some(32 << 20));
        assert!(volume.files[0].write_at(&[1; 4096], 0).is_err(), "the kernel itself refuses");
    }
    assert_eq!(image.contents(), before);
}

#[test]
fn the_disk_of_a_mounted_partition_and_the_partition_are_refused() {
    let image = Image::new(32);
    write_partition_table(&image);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let partition = or_skip!(device.first_partition(2048, 32_768), "the kernel makes no partition on it");
    or_skip!(run("mkfs.ext4", &[EXT4, &[&partition]].concat()), "no mkfs.ext4");
    let before = image.contents();
    {
        // Not mounted, the table alone protects the disk.
        let error = refusal(&device.node, &[]);
        assert!(matches!(&error, TargetError::Signed { .. }) && error.to_string().contains("deadbeef"), "{error}");
    }
    let mount = or_skip!(Mount::new(&partition, "ro"), "cannot mount");
    let point = fs::canonicalize(mount.path()).unwrap();
    let expected =
        InUse { what: partition.trim_start_matches("/dev/").to_owned(), how: Use::Mounted { at: Some(point) } };
    assert_eq!(*in_use(&refusal(&device.node, &["deadbeef"])), expected);
    assert_eq!(*in_use(&refusal(&partition, &["deadbeef"])), expected);
    assert_eq!(image.contents(), before);
}

#[test]
fn swap_is_refused() {
    let image = Image::new(16);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let _swap = or_skip!(Swap::on(&device.node), "cannot swap to a loop device");
    let uuid = run("blkid", &["-p", "-o", "value", "-s", "UUID", &device.node]).unwrap_or_default();
    let error = refusal(&device.node, &[&uuid]);
    assert_eq!(*in_use(&error), InUse { what: device.name().to_owned(), how: Use::Swap });
    assert!(error.to_string().contains("swapoff"), "{error}");
}

#[test]
fn a_swap_file_is_refused() {
    let image = Image::new(32);
    or_skip!(image.format("mkfs.ext4", EXT4), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mount = or_skip!(Mount::new(&device.node, "rw"), "cannot mount");
    let file = mount.path().join("swap");
    fs::write(&file, vec![0; 4 << 20]).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let _swap = or_skip!(Swap::on(text(&file)), "cannot swap to a file");
    assert_eq!(in_use(&refusal(text(&file), &[])).how, Use::Swap);
}

#[test]
fn a_partition_table_wants_its_identity() {
    let image = Image::new(32);
    write_partition_table(&image);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let before = image.contents();
    let error = refusal(&device.node, &["cafebabe", ""]);
    let TargetError::Signed { signatures, .. } = &error else { panic!("{error}") };
    assert_eq!((signatures[0].kind, signatures[0].identity.as_str()), ("MBR partition table", "deadbeef"));
    assert_eq!(error.remedy(), Some(Remedy::HandOver(vec![device.node.clone(), "deadbeef".to_owned()])), "{error}");
    assert_eq!(image.contents(), before);
    let volume = open(&device.node, &to_write(), &handed_over(&device.node, &["DEADBEEF"])).unwrap();
    assert!(volume.writable && volume.facts.direct, "{:?}", volume.facts);
    drop(volume);
    assert_eq!(image.contents(), before, "opening alone changes nothing");
}

#[test]
fn partitions_by_a_table_that_is_not_recognised_want_an_identity_too() {
    let image = Image::new(32);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let partition = or_skip!(device.first_partition(2048, 32_768), "the kernel makes no partition on it");
    let error = refusal(&device.node, &[]);
    let TargetError::Signed { signatures, .. } = &error else { panic!("{error}") };
    let identity = signatures[0].identity.clone();
    assert!(identity.contains(partition.trim_start_matches("/dev/")), "{error}");
    assert!(open(&device.node, &to_write(), &handed_over(&device.node, &[&identity])).is_ok());
}

#[test]
fn a_file_system_wants_its_uuid() {
    let programs: [(&str, &[&str], &str); 4] = [
        ("mkfs.ext4", EXT4, "ext4"),
        ("mkfs.btrfs", &["-q", "-f"], "btrfs"),
        ("mkfs.xfs", &["-q", "-f"], "XFS"),
        ("mkswap", &[], "swap"),
    ];
    for (program, arguments, kind) in programs {
        let image = Image::new(320);
        let Some(()) = image.format(program, arguments) else {
            println!("skipped in part: no {program}");
            continue;
        };
        let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
        let before = image.contents();
        assert!(matches!(open(&device.node, &to_write(), &Access::default()), Err(TargetError::NotHandedOver { .. })));
        let error = refusal(&device.node, &[]);
        let TargetError::Signed { signatures, .. } = &error else { panic!("{error}") };
        assert_eq!(signatures.len(), 1, "{signatures:?}");
        assert_eq!(signatures[0].kind, kind);
        let identity = signatures[0].identity.clone();
        assert!(error.to_string().contains(&identity), "{error}");
        if let Some(uuid) = run("blkid", &["-p", "-o", "value", "-s", "UUID", &device.node]) {
            assert_eq!(identity, uuid, "{kind}");
        }
        let open_handed_over = open(&device.node, &to_write(), &handed_over(&device.node, &[&identity]));
        assert!(open_handed_over.unwrap().writable);
        assert_eq!(image.contents(), before);
    }
}

#[test]
fn every_member_of_a_mounted_btrfs_is_refused() {
    let (first, second) = (Image::new(128), Image::new(128));
    let (one, two) = (or_skip!(Loop::attach(&first.path()), NO_LOOP), or_skip!(Loop::attach(&second.path()), NO_LOOP));
    or_skip!(run("mkfs.btrfs", &["-q", "-f", "-d", "raid0", "-m", "raid1", &one.node, &two.node]), "no mkfs.btrfs");
    let mount =
        or_skip!(Mount::new(&one.node, &format!("device={}", two.node)), "this kernel mounts no btrfs of two devices");
    for device in [&one, &two] {
        assert!(matches!(in_use(&refusal(&device.node, &[])).how, Use::Mounted { .. }), "{}", device.node);
    }
    // What was found in the refusal is found in the facts as well.
    let need = Need { size: Some(Bytes::mib(4)), ..to_write() };
    let volume = open(text(mount.path()), &need, &Access::default()).unwrap();
    let mut names: Vec<&str> = volume.facts.devices.iter().map(|d| d.name.as_str()).collect();
    names.sort_unstable();
    let mut expected = [one.name(), two.name()];
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(volume.facts.file_system.as_ref().unwrap().kind, "btrfs");
}

#[test]
fn a_mount_that_this_process_does_not_see_makes_the_device_busy() {
    let image = Image::new(32);
    let uuid = "11111111-2222-4333-8444-666666666666";
    or_skip!(image.format("mkfs.ext4", &[EXT4, &["-U", uuid]].concat()), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let point = image.beside("point");
    fs::create_dir(&point).unwrap();
    let script = format!("mount -o ro {} {} && echo mounted && read line", device.node, text(&point));
    let mut hidden = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = [0; 7];
    let mounted = hidden.stdout.as_mut().unwrap().read_exact(&mut answer).is_ok();
    let before = image.contents();
    let attempt = open(&device.node, &to_write(), &handed_over(&device.node, &[uuid])).map(drop);
    hidden.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    hidden.wait().unwrap();
    if !mounted {
        println!("skipped: no mount namespaces here");
        return;
    }
    assert!(matches!(attempt, Err(TargetError::Busy { .. })), "{attempt:?}");
    assert_eq!(image.contents(), before);
}

#[test]
fn an_exclusively_opened_device_is_busy_and_so_is_one_under_measurement() {
    let image = Image::new(16);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&device.node).unwrap();
    assert!(matches!(refusal(&device.node, &[]), TargetError::Busy { .. }));
    let reading = open(&device.node, &to_read(), &Access::default());
    assert!(reading.is_ok(), "reading harms nobody: {reading:?}");
    drop((holder, reading));
    let _volume = open(&device.node, &to_write(), &handed_over(&device.node, &[])).unwrap();
    assert!(matches!(refusal(&device.node, &[]), TargetError::Busy { .. }));
    assert!(Mount::new(&device.node, "ro").is_none());
}

#[test]
fn a_holder_that_is_about_to_end_is_waited_for() {
    // As after a kill: the kernel closes what the process had open a little later.
    let image = Image::new(16);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&device.node).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(60));
            drop(holder);
        });
        open(&device.node, &to_write(), &handed_over(&device.node, &[])).unwrap();
    });
}

#[test]
fn a_device_that_the_kernel_has_read_only_is_refused_however_it_is_named() {
    let image = Image::new(16);
    let device = or_skip!(Loop::attach_read_only(&image.path()), NO_LOOP);
    for access in [Access::default(), handed_over(&device.node, &[])] {
        let error = open(&device.node, &to_write(), &access).unwrap_err();
        assert!(matches!(error, TargetError::WriteProtected { .. }), "{error}");
        assert!(matches!(error.remedy(), Some(Remedy::ReadOnly)), "{error}");
    }
    assert!(open(&device.node, &to_read(), &Access::default()).is_ok());
    // The next to get the device may write to it.
    drop(device);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    assert!(open(&device.node, &to_write(), &handed_over(&device.node, &[])).is_ok());
}

#[test]
fn the_contents_of_a_loop_device_are_refused_as_a_file_and_through_another() {
    let image = Image::new(32);
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let before = image.contents();
    let path = image.path();
    let backs = |device: &Loop| Use::BacksLoop { device: device.name().to_owned() };
    assert_eq!(in_use(&refusal(text(&path), &[])).how, backs(&device));
    let (link, hard_link) = (image.beside("link"), image.beside("hard"));
    symlink(&path, &link).unwrap();
    fs::hard_link(&path, &hard_link).unwrap();
    assert_eq!(in_use(&refusal(text(&link), &[])).how, backs(&device));
    assert_eq!(in_use(&refusal(text(&hard_link), &[])).how, backs(&device));
    let second = or_skip!(Loop::attach(&path), NO_LOOP);
    assert_eq!(in_use(&refusal(&second.node, &[])).how, backs(&device));
    // A file that was renamed since is still known to the kernel.
    drop(second);
    let renamed = image.beside("renamed");
    fs::rename(&path, &renamed).unwrap();
    assert!(matches!(in_use(&refusal(text(&renamed), &[])).how, Use::BacksLoop { .. }));
    fs::rename(&renamed, &path).unwrap();
    assert_eq!(image.contents(), before);
}

#[test]
fn an_existing_file_must_be_named_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious");
    let contents = vec![7_u8; 1 << 20];
    fs::write(&path, &contents).unwrap();
    let target = text(&path);
    let link = directory.path().join("link");
    symlink(&path, &link).unwrap();
    for named in [target, text(&link)] {
        let error = open(named, &to_write(), &Access::default()).unwrap_err();
        assert!(matches!(error, TargetError::NotHandedOver { .. }), "{error}");
        assert_eq!(error.remedy(), Some(Remedy::HandOver(vec![named.to_owned()])), "{error}");
        let other = handed_over(text(directory.path()), &[]);
        assert!(matches!(open(named, &to_write(), &other), Err(TargetError::NotHandedOver { .. })));
    }
    for (named, second) in [(target, target), (target, text(&link)), (text(&link), target)] {
        let volume = open(named, &to_write(), &handed_over(second, &[])).unwrap();
        assert!(volume.writable && volume.facts.size_bytes == Some(1 << 20));
    }
    let read_only = Access { read_only: true, ..handed_over(target, &[]) };
    let volume = open(target, &to_write(), &read_only).unwrap();
    assert!(!volume.writable);
    assert!(volume.files[0].write_at(&[0; 4096], 0).is_err(), "the kernel itself refuses");
    let volume = open(target, &to_read(), &Access::default()).unwrap();
    assert!(!volume.writable && volume.files[0].write_at(&[0; 4096], 0).is_err());
    let larger = Need { size: Some(Bytes::mib(2)), ..to_read() };
    assert!(matches!(open(target, &larger, &Access::default()), Err(TargetError::Smaller { .. })));
    assert_eq!(fs::read(&path).unwrap(), contents);
}

#[test]
fn a_file_that_others_have_open_or_know_by_other_names_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("database");
    fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
    let target = text(&path);
    let opened = File::open(&path).unwrap();
    match open(target, &to_write(), &handed_over(target, &[])) {
        Err(TargetError::OpenElsewhere { .. }) => {}
        Ok(_) => println!("skipped in part: this file system grants no leases"),
        Err(other) => panic!("{other}"),
    }
    drop(opened);
    fs::hard_link(&path, directory.path().join("snapshot")).unwrap();
    let error = refusal(target, &[]);
    let TargetError::HardLinked { links: 2, identity, .. } = &error else { panic!("{error}") };
    open(target, &to_write(), &handed_over(target, &[identity])).unwrap();
    assert_eq!(fs::read(&path).unwrap(), vec![7_u8; 1 << 20]);
}

#[test]
fn an_image_with_a_file_system_is_treated_like_a_device() {
    let image = Image::new(32);
    let uuid = "11111111-2222-4333-8444-777777777777";
    or_skip!(image.format("mkfs.ext4", &[EXT4, &["-U", uuid]].concat()), "no mkfs.ext4");
    let before = image.contents();
    let path = image.path();
    let error = refusal(text(&path), &[]);
    assert!(matches!(error, TargetError::Signed { .. }) && error.to_string().contains(uuid), "{error}");
    assert!(open(text(&path), &to_write(), &handed_over(text(&path), &[uuid])).is_ok());
    assert_eq!(image.contents(), before);
}

#[test]
fn what_is_no_storage_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let mut targets = vec![text(&socket).to_owned(), "/dev/null".to_owned(), "/dev/zero".to_owned()];
    let pipe = directory.path().join("pipe");
    if run("mkfifo", &[text(&pipe)]).is_some() {
        targets.push(text(&pipe).to_owned());
    }
    for target in &targets {
        let error = open(target, &to_read(), &Access::default()).unwrap_err();
        assert!(matches!(error, TargetError::NotStorage { .. }), "{target}: {error}");
    }
    for target in ["/proc/version", "/proc", "/sys", "/dev", "/proc/self/mountinfo"] {
        for need in [to_read(), to_write()] {
            let error = open(target, &need, &handed_over(target, &[])).unwrap_err();
            assert!(matches!(error, TargetError::KernelInterface { .. }), "{target}: {error}");
        }
    }
    for (target, word) in
        [("/no/such/place", "exists"), ("nbd://127.0.0.1:1/x", "NBD server"), ("null:12", "null:100 GiB")]
    {
        let error = open(target, &to_read(), &Access::default()).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_loop_device_without_contents_is_empty() {
    let node = or_skip!(run("losetup", &["--find"]), "no losetup, or no free loop device");
    match open(&node, &to_read(), &Access::default()) {
        Err(TargetError::Empty { .. } | TargetError::Open { .. }) => {}
        // Somebody else may have attached it meanwhile.
        other => println!("not free any more: {other:?}"),
    }
}
