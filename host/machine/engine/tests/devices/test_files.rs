//! Test files and the facts about where they lie, on real file systems made for the purpose.

use crate::loop_devices::{Image, Loop, Mount};
use crate::or_skip;
use loadline_engine::{Access, Keep, Need, Observation, TargetError, Volume};
use loadline_kernel::facts::CacheScope;
use loadline_record::TargetKind;
use loadline_units::Bytes;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

const NO_LOOP: &str = "no loop device to be had";
const NO_MOUNT: &str = "cannot mount";

fn open(target: &Path, need: &Need) -> Result<Volume, TargetError> {
    Volume::open("data", target.to_str().unwrap(), need, &Access::default())
}
fn need(size: Bytes) -> Need {
    Need { size: Some(size), files: 1, writes: true, ..Need::default() }
}
fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
/// A fresh file system of this size, with what must be kept while it is used.
fn file_system(program: &str, arguments: &[&str], mib: u64) -> Option<(Mount, Loop, Image)> {
    let image = Image::new(mib);
    image.format(program, arguments)?;
    let device = Loop::attach(&image.path())?;
    let mount = Mount::new(&device.node, "rw")?;
    Some((mount, device, image))
}

#[test]
fn a_test_file_has_no_name_and_its_space_is_reserved() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let volume = open(directory.path(), &Need { files: 3, ..need(Bytes::mib(12)) }).unwrap();
    assert_eq!(names_in(directory.path()), [""; 0]);
    assert_eq!((volume.files.len(), volume.file_size), (3, Bytes::mib(4)));
    assert_eq!(volume.facts.kind, TargetKind::TestFile);
    assert_eq!(volume.facts.size_bytes, Some(12 << 20));
    assert!(volume.writable);
    for file in &volume.files {
        assert_eq!(file.metadata().unwrap().len(), 4 << 20);
    }
    if let Some(extents) = volume.facts.extents {
        assert_eq!(extents.written_bytes + extents.unwritten_bytes + extents.hole_bytes, 12 << 20);
        assert!(extents.written_bytes < 1 << 20, "not filled yet: {extents:?}");
    }
}

#[test]
fn a_file_too_large_for_the_space_is_refused_with_the_figures() {
    let (mount, ..) = or_skip!(file_system("mkfs.ext4", &["-q", "-F"], 64), NO_MOUNT);
    let error = open(mount.path(), &need(Bytes::mib(60))).unwrap_err();
    let TargetError::NoSpace { asked, available, reserve, .. } = &error else { panic!("{error}") };
    assert_eq!(*asked, Bytes::mib(60));
    assert!(*available < Bytes::mib(64) && *reserve > Bytes::mib(4) && *reserve < Bytes::mib(7), "{error}");
    assert!(error.to_string().contains("60 MiB"), "{error}");
    assert!(open(mount.path(), &need(Bytes::mib(30))).is_ok());
    assert_eq!(names_in(mount.path()), ["lost+found"]);
}

#[test]
fn a_small_file_system_gets_a_file_that_fits_and_a_read_only_one_says_so() {
    let (mount, device, _image) = or_skip!(file_system("mkfs.ext4", &["-q", "-F"], 120), NO_MOUNT);
    let chosen = Need { files: 1, writes: true, ..Need::default() };
    let volume = open(mount.path(), &chosen).unwrap();
    assert_eq!(volume.facts.size_bytes, Some(64 << 20));
    assert!(volume.facts.size_reason.contains("would be better"), "{}", volume.facts.size_reason);
    drop(volume);
    fs::write(mount.path().join("most"), vec![1; 90 << 20]).unwrap();
    drop(mount);
    let mount = or_skip!(Mount::new(&device.node, "ro"), NO_MOUNT);
    for need in [chosen, need(Bytes::gib(1))] {
        let error = open(mount.path(), &need).unwrap_err();
        assert!(matches!(error, TargetError::ReadOnlyFileSystem { .. }), "{error}");
        assert!(error.to_string().contains("read-only file system"), "{error}");
    }
}

#[test]
fn files_of_an_overlay_in_memory_are_never_direct() {
    let memory = or_skip!(Mount::with(&["-t", "tmpfs", "-o", "size=64M", "none"]), NO_MOUNT);
    let at = |name: &str| memory.path().join(name);
    for folder in ["upper", "work", "lower"] {
        fs::create_dir(at(folder)).unwrap();
    }
    let [upper, work, lower] = ["upper", "work", "lower"].map(|name| at(name).display().to_string());
    let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let overlay = or_skip!(Mount::with(&["-t", "overlay", "-o", &layers, "overlay"]), NO_MOUNT);
    let volume = open(overlay.path(), &need(Bytes::mib(1))).unwrap();
    let file_system = volume.facts.file_system.as_ref().unwrap();
    assert_eq!((file_system.kind.as_str(), file_system.in_memory()), ("overlay", Some("tmpfs")));
    assert!(!volume.facts.direct && volume.facts.direct_reason.as_ref().unwrap().contains("in memory"));
}

#[test]
fn what_lies_below_a_file_on_ext4_over_a_loop_device_is_known() {
    let (mount, device, image) = or_skip!(file_system("mkfs.ext4", &["-q", "-F"], 64), NO_MOUNT);
    let volume = open(mount.path(), &need(Bytes::mib(8))).unwrap();
    let facts = &volume.facts;
    assert!(facts.direct, "{:?}", facts.direct_reason);
    let file_system = facts.file_system.as_ref().unwrap();
    assert_eq!((file_system.kind.as_str(), file_system.source.as_str()), ("ext4", device.node.as_str()));
    assert_eq!(Path::new(&file_system.mount_point), fs::canonicalize(mount.path()).unwrap());
    assert!(file_system.options.contains("rw") && file_system.free_bytes.is_some_and(|f| f > 0));
    assert_eq!(facts.devices.len(), 1);
    let found = &facts.devices[0];
    assert_eq!(found.name, device.name());
    assert_eq!(found.backing_file.as_deref(), image.path().to_str());
    assert_eq!((found.size_bytes, found.logical_block_bytes), (Some(64 << 20), Some(512)));
    assert_eq!(volume.alignment().offset, Bytes::new(512));
}

#[test]
fn the_loop_device_s_own_counters_show_what_reached_it() {
    let (mount, device, _image) = or_skip!(file_system("mkfs.ext4", &["-q", "-F"], 64), NO_MOUNT);
    let volume = open(mount.path(), &need(Bytes::mib(8))).unwrap();
    let observation = Observation::begin(&volume);
    let memory = vec![1_u8; (1 << 20) + 4096];
    let start = memory.as_ptr().align_offset(4096);
    for block in 0..8 {
        volume.files[0].write_all_at(&memory[start..start + (1 << 20)], block << 20).unwrap();
    }
    volume.files[0].sync_data().unwrap();
    let seen = observation.end(&volume);
    assert_eq!(seen.devices.len(), 1);
    assert_eq!(seen.devices[0].name, device.name());
    assert!(seen.devices[0].write_bytes >= 8 << 20, "{:?}", seen.devices);
    assert!(seen.devices[0].flushes >= 1, "{:?}", seen.devices);
    let residency = seen.residency.unwrap();
    assert!(residency.after < 0.01, "direct I/O leaves nothing in the cache: {residency:?}");
    assert!(!seen.others.iter().any(|o| o.name.starts_with("kworker")), "{:?}", seen.others);
    assert_eq!(volume.extents().unwrap().written_bytes, 8 << 20);
}

#[test]
fn memory_is_never_called_direct() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let volume = open(directory.path(), &need(Bytes::mib(4))).unwrap();
    assert!(!volume.facts.direct);
    assert!(volume.facts.direct_reason.as_ref().unwrap().contains("memory"), "{:?}", volume.facts);
    assert!(volume.facts.devices.is_empty());
    let buffered = Need { buffered: true, ..need(Bytes::mib(4)) };
    let volume = open(Path::new("."), &buffered).unwrap();
    assert!(!volume.facts.direct && volume.facts.direct_reason.as_ref().unwrap().contains("asked for"));
}

#[test]
fn a_file_system_that_takes_the_flag_and_caches_all_the_same_is_found_out() {
    let image = Image::new(400);
    or_skip!(image.format("mkfs.ext4", &["-q", "-F"]), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image.path()), NO_LOOP);
    let mount = or_skip!(Mount::new(&device.node, "data=journal"), NO_MOUNT);
    let volume = open(mount.path(), &need(Bytes::mib(8))).unwrap();
    assert!(!volume.facts.direct, "ext4 with journalled data has no direct I/O");
    assert!(volume.facts.direct_reason.is_some());
    volume.files[0].write_all_at(&[1; 512], 100).expect("opened anew without the flag");
    drop(volume);
    // A size chosen for direct I/O is chosen anew, and what was made for it is gone.
    let keep = Some(Keep { file_name: None, remove_at_end: false });
    let volume = open(mount.path(), &Need { keep, writes: true, ..Need::default() }).unwrap();
    assert!(volume.facts.size_reason.contains("twice the machine's memory"), "{}", volume.facts.size_reason);
    assert_eq!(names_in(mount.path()), ["loadline-data.data", "lost+found"]);
}

#[test]
fn caches_are_dropped_and_it_is_said_what_came_of_it() {
    let (mount, ..) = or_skip!(file_system("mkfs.ext4", &["-q", "-F"], 64), NO_MOUNT);
    let volume = open(mount.path(), &Need { buffered: true, ..need(Bytes::mib(8)) }).unwrap();
    volume.files[0].write_all_at(&vec![1; 8 << 20], 0).unwrap();
    let before = volume.cached_share().unwrap();
    assert!(before > 0.99, "{before}");
    let words = volume.drop_caches(CacheScope::Files);
    assert!(words.contains("after 0.0 %"), "{words}");
}

#[test]
fn a_kept_file_replaces_nothing_and_goes_with_its_volume_unless_left() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let keep = |remove_at_end| Need { keep: Some(Keep { file_name: None, remove_at_end }), ..need(Bytes::mib(4)) };
    let volume = open(directory.path(), &keep(true)).unwrap();
    assert_eq!(names_in(directory.path()), ["loadline-data.data"]);
    let error = open(directory.path(), &keep(true)).unwrap_err();
    assert!(matches!(error, TargetError::KeptExists { .. }), "{error}");
    drop(volume);
    assert_eq!(names_in(directory.path()), [""; 0]);

    let mut volume = open(directory.path(), &keep(true)).unwrap();
    volume.leave_files();
    drop(volume);
    assert_eq!(names_in(directory.path()), ["loadline-data.data"]);

    let read_only = Access { read_only: true, ..Access::default() };
    let target = directory.path().to_str().unwrap();
    let again = Volume::open("data", target, &keep(false), &read_only).unwrap();
    assert!(!again.writable && again.facts.size_bytes == Some(4 << 20));
    drop(again);
    assert_eq!(names_in(directory.path()), ["loadline-data.data"]);
    let error = Volume::open("data", target, &Need::default(), &read_only).unwrap_err();
    assert!(matches!(error, TargetError::DirectoryReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("name an existing file"), "{error}");
}

#[test]
fn names_of_kept_files_stay_in_the_directory() {
    let directory = tempfile::tempdir_in(".").unwrap();
    for name in ["../x", "", ".", "a/b"] {
        let keep = Some(Keep { file_name: Some(name.to_owned()), remove_at_end: true });
        let error = open(directory.path(), &Need { keep, ..need(Bytes::mib(4)) }).unwrap_err();
        assert!(matches!(error, TargetError::FileName { .. }), "{error}");
    }
    let keep = Some(Keep { file_name: Some("mine".to_owned()), remove_at_end: false });
    let volume = open(directory.path(), &Need { keep, files: 2, ..need(Bytes::mib(4)) }).unwrap();
    drop(volume);
    assert_eq!(names_in(directory.path()), ["mine.0", "mine.1"]);
}
