//! On this machine's own mounts and devices; root only.

use super::world::{PASSPHRASE, cheap_repository};
use crate::error::ShelterError;
use crate::machine_probe::MachineProbe;
use crate::probe::{DiskProbe, FolderSeen};
use crate::shelter::Shelter;
use loadline_shelter_policy::config::ShelterConfig;
use loadline_shelter_policy::start::{Awaited, DeviceSeen, StartRefusal, StartVerdict};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a disk may be in use after its last user was stopped.
const IN_USE_MAX: Duration = Duration::from_secs(60);

/// A disk in a file behind a loop device, with everything around it.
pub(super) struct LoopWorld {
    folder: tempfile::TempDir,
    device: Option<PathBuf>,
}

pub(super) fn run(program: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(words).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Waits until something is so; `false` where it never is.
fn awaited(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > IN_USE_MAX {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

impl LoopWorld {
    /// `None`, with a word why, where loop devices cannot be made.
    pub(super) fn new() -> Option<Self> {
        let mut world = Self { folder: tempfile::tempdir().unwrap(), device: None };
        for name in ["saved", "disk"] {
            fs::create_dir(world.path(name)).unwrap();
        }
        if rustix::process::geteuid().is_root() && world.insert().is_ok() {
            return Some(world);
        }
        println!("skipped: it needs root and loop devices");
        None
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new disk, with nothing on it.
    pub(super) fn insert(&mut self) -> Result<(), String> {
        let image = self.path("image");
        let _ = fs::remove_file(&image);
        fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let device = run("losetup", &["--find", "--show", image.to_str().unwrap()])?;
        self.device = Some(PathBuf::from(device));
        Ok(())
    }

    /// The disk goes, as with a machine that is stopped.
    pub(super) fn lose(&mut self) {
        // A program that another test just starts has copies of our open files until it runs.
        let busy = |said: &Result<String, String>| said.as_ref().is_err_and(|reason| reason.contains("busy"));
        let unmounted = || !busy(&run("umount", &[self.path("disk").to_str().unwrap()]));
        let mut is_gone = awaited(unmounted);
        if let Some(device) = self.device.take() {
            let _ = run("losetup", &["--detach", device.to_str().unwrap()]);
            let number = device.file_name().unwrap().to_str().unwrap().to_owned();
            let image = self.path("image");
            let shown = || fs::read_to_string(format!("/sys/block/{number}/loop/backing_file"));
            is_gone &= awaited(|| !shown().is_ok_and(|file| file.contains(image.to_str().unwrap())));
        }
        // While a test panics, its own message is the one to read.
        assert!(is_gone || std::thread::panicking(), "the disk is still in use");
    }

    /// A configuration, and its repository.
    pub(super) fn config(&self, format: &str, moment: &str) -> ShelterConfig {
        if !self.path("saved/config").exists() {
            fs::write(self.path("secret"), PASSPHRASE).unwrap();
            cheap_repository(&self.path("saved"));
        }
        config_at(self.folder.path(), format, moment)
    }
}

/// The configuration of a world at this folder.
fn config_at(root: &Path, format: &str, moment: &str) -> ShelterConfig {
    let root = root.display();
    let format = if format.is_empty() { String::new() } else { format!("format = \"{format}\"\n") };
    let text = format!(
        "schema = 1\nname = \"loop\"\nstate = \"{root}/state\"\n[disk]\npath = \"{root}/disk\"\n\
         device = \"backing:{root}/image\"\n{format}[destination]\nfolder = \"{root}/saved\"\n\
         passphrase_file = \"{root}/secret\"\n\
         [group.data]\nclass = \"files\"\npaths = [\"data\"]\n{moment}"
    );
    ShelterConfig::parse(&text, "loop").unwrap()
}

impl Drop for LoopWorld {
    fn drop(&mut self) {
        self.lose();
    }
}

pub(super) fn shelter(config: &ShelterConfig) -> Shelter {
    Shelter::new(config.clone(), Box::new(MachineProbe::default()))
}

#[test]
fn a_raw_disk_is_formatted_and_filled_after_each_loss() {
    for format in ["xfs", "ext4", "btrfs"] {
        let Some(mut world) = LoopWorld::new() else { return };
        if !["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(format!("mkfs.{format}")).exists()) {
            println!("skipped: there is no mkfs.{format}");
            continue;
        }
        let moment = if format == "ext4" { "" } else { "moment = \"reflink\"\n" };
        let config = world.config(format, moment);
        let mut first = shelter(&config);
        first.restore().unwrap();
        fs::create_dir(world.path("disk/data")).unwrap();
        for index in 0..20 {
            fs::write(world.path(&format!("disk/data/{index}")), index.to_string().repeat(1_000)).unwrap();
        }
        let report = super::save(&mut first).unwrap();
        assert_eq!(report.fuzzy.is_empty(), format != "ext4", "{format}: {:?}", report.fuzzy);
        let before = super::tree(&world.path("disk/data"));
        drop(first);
        world.lose();
        let waits = shelter(&config).restore();
        assert!(matches!(waits, Err(ShelterError::NotReady(Awaited::Device))), "{waits:?}");
        world.insert().unwrap();
        let mut second = shelter(&config);
        let restored = second.restore().unwrap().restored.unwrap();
        assert_eq!((restored.generation, restored.files), (1, 20));
        assert_eq!(super::tree(&world.path("disk/data")), before);
        drop(second);
        // Unmounted but kept, as after a reboot: it is mounted again, not formatted.
        run("umount", &[world.path("disk").to_str().unwrap()]).unwrap();
        let third = shelter(&config);
        assert_eq!(third.look().unwrap().1, StartVerdict::Mount);
        let mut third = third;
        assert!(third.restore().unwrap().restored.is_none());
        assert_eq!(super::tree(&world.path("disk/data")), before);
    }
}

#[test]
fn a_device_with_one_byte_on_it_or_a_file_system_of_others_is_not_touched() {
    use std::os::unix::fs::FileExt;
    let Some(world) = LoopWorld::new() else { return };
    let config = world.config("xfs", "");
    let image = world.path("image");
    let size = fs::metadata(&image).unwrap().len();
    let device = world.device.clone().unwrap();
    assert_eq!(shelter(&config).look().unwrap().1, StartVerdict::Format);
    let node = fs::OpenOptions::new().write(true).open(&device).unwrap();
    for at in [0, 4096, (1 << 20) - 1, size - (1 << 20), size - 1] {
        node.write_all_at(b"x", at).unwrap();
        node.sync_all().unwrap();
        let verdict = shelter(&config).look().unwrap().1;
        assert!(matches!(verdict, StartVerdict::Refuse(StartRefusal::DeviceNotRaw(_))), "{at}: {verdict:?}");
        assert!(shelter(&config).restore().is_err());
        node.write_all_at(&[0], at).unwrap();
        node.sync_all().unwrap();
    }
    assert_eq!(shelter(&config).look().unwrap().1, StartVerdict::Format);
    // Without the wish for a file system it waits until another program makes one.
    assert_eq!(shelter(&world.config("", "")).look().unwrap().1, StartVerdict::Wait(Awaited::Mounted));
    run("mkfs.ext4", &["-q", device.to_str().unwrap()]).unwrap();
    let seen = shelter(&config).look().unwrap();
    assert!(matches!(seen.0.device, DeviceSeen::FileSystem(_)), "{seen:?}");
    assert!(matches!(seen.1, StartVerdict::Refuse(StartRefusal::DeviceNotRaw(_))), "{seen:?}");
    // Mounted by its owner, with a file of its owner.
    run("mount", &[device.to_str().unwrap(), world.path("disk").to_str().unwrap()]).unwrap();
    fs::write(world.path("disk/theirs"), "x").unwrap();
    let verdict = shelter(&config).look().unwrap().1;
    assert_eq!(verdict, StartVerdict::Refuse(StartRefusal::OtherEntries(1)));
    fs::remove_file(world.path("disk/theirs")).unwrap();
    assert_eq!(shelter(&config).look().unwrap().1, StartVerdict::Begin, "lost+found alone is a blank file system");
    run("mount", &["-o", "remount,ro", world.path("disk").to_str().unwrap()]).unwrap();
    assert_eq!(shelter(&config).look().unwrap().1, StartVerdict::Refuse(StartRefusal::ReadOnly));
}

#[test]
fn another_device_at_the_same_place_is_refused() {
    let Some(mut world) = LoopWorld::new() else { return };
    let config = world.config("ext4", "");
    let mut first = shelter(&config);
    first.restore().unwrap();
    drop(first);
    run("umount", &[world.path("disk").to_str().unwrap()]).unwrap();
    let other = world.path("other");
    fs::File::create(&other).unwrap().set_len(64 << 20).unwrap();
    run("mkfs.ext4", &["-q", "-F", other.to_str().unwrap()]).unwrap();
    run("mount", &["-o", "loop", other.to_str().unwrap(), world.path("disk").to_str().unwrap()]).unwrap();
    let verdict = shelter(&config).look().unwrap().1;
    assert_eq!(verdict, StartVerdict::Refuse(StartRefusal::OtherDevice));
    world.lose();
}

#[test]
fn a_folder_of_the_system_disk_is_never_taken_for_the_ephemeral_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let text = format!(
        "schema = 1\nname = \"a\"\nstate = \"{root}/state\"\n[disk]\npath = \"{root}/disk\"\n\
         [group.t]\nclass = \"recreate\"\npaths = [\"t\"]\n"
    );
    let config = ShelterConfig::parse(&text, "a").unwrap();
    assert_eq!(shelter(&config).look().unwrap().1, StartVerdict::Wait(Awaited::Mounted));
    assert!(!folder.path().join("state").exists(), "a look writes nothing");
}

/// Where a start is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Killed {
    BeforeMaking,
    /// Something is on the device that nobody recognises.
    WithinMaking,
    /// The file system is recognised, and cannot be mounted.
    HalfMade,
    BeforeMounting,
    AfterMounting,
}

/// This machine, until it is killed.
struct KilledProbe {
    inner: MachineProbe,
    device: PathBuf,
    at: Killed,
}

impl KilledProbe {
    fn dies<T>(&self) -> Result<T, ShelterError> {
        Err(ShelterError::Unsupported(format!("killed: {:?}", self.at)))
    }
}

impl DiskProbe for KilledProbe {
    fn folder(&self, config: &ShelterConfig) -> Result<FolderSeen, ShelterError> {
        self.inner.folder(config)
    }
    fn device(&self, config: &ShelterConfig) -> Result<DeviceSeen, ShelterError> {
        self.inner.device(config)
    }
    fn machine(&self) -> String {
        self.inner.machine()
    }
    fn format(&self, config: &ShelterConfig, uuid: &str, left: Option<&str>) -> Result<(), ShelterError> {
        use std::os::unix::fs::FileExt as _;
        if self.at == Killed::BeforeMaking {
            return self.dies();
        }
        self.inner.format(config, uuid, left)?;
        let node = fs::OpenOptions::new().write(true).open(&self.device).unwrap();
        let zeros = vec![0; 128 << 10];
        if self.at == Killed::WithinMaking {
            node.write_all_at(&zeros, 0).unwrap();
            node.write_all_at(b"half", 200 << 10).unwrap();
        } else if self.at == Killed::HalfMade {
            // All but the first superblock and its copies of XFS.
            node.write_all_at(&zeros[..60 << 10], 2048).unwrap();
            node.write_all_at(&[1], 126).unwrap();
        }
        node.sync_all().unwrap();
        if matches!(self.at, Killed::WithinMaking | Killed::HalfMade) { self.dies() } else { Ok(()) }
    }
    fn mount(&self, config: &ShelterConfig) -> Result<(), ShelterError> {
        if self.at == Killed::BeforeMounting {
            return self.dies();
        }
        self.inner.mount(config)?;
        self.dies()
    }
    fn device_name(&self, config: &ShelterConfig) -> Option<String> {
        self.inner.device_name(config)
    }
}

#[test]
fn a_start_that_is_killed_while_it_makes_or_mounts_the_disk_is_made_up_for_by_the_next() {
    for format in ["ext4", "xfs"] {
        let Some(mut world) = LoopWorld::new() else { return };
        let config = world.config(format, "");
        let mut first = shelter(&config);
        if let Err(error) = first.restore() {
            println!("skipped: no {format} here: {error}");
            continue;
        }
        fs::create_dir(world.path("disk/data")).unwrap();
        fs::write(world.path("disk/data/a"), "saved").unwrap();
        super::save(&mut first).unwrap();
        drop(first);
        for at in [
            Killed::BeforeMaking,
            Killed::WithinMaking,
            Killed::HalfMade,
            Killed::BeforeMounting,
            Killed::AfterMounting,
        ] {
            world.lose();
            world.insert().unwrap();
            let probe = KilledProbe { inner: MachineProbe::default(), device: world.device.clone().unwrap(), at };
            let killed = Shelter::new(config.clone(), Box::new(probe)).restore();
            assert!(matches!(&killed, Err(ShelterError::Unsupported(_))), "{format}, {at:?}: {killed:?}");
            let prepared = shelter(&config).restore();
            assert!(prepared.is_ok(), "{format}, {at:?}: {prepared:?}");
            assert_eq!(fs::read(world.path("disk/data/a")).unwrap(), b"saved", "{format}, {at:?}");
            assert!(!world.path("state/making").exists());
        }
    }
}

/// Names the world's folder to the process that restores.
const ROOT: &str = "LOADLINE_SHELTER_TEST_LOOP";
/// Kills in the gate, and with LOADLINE_TEST_LONG.
const KILLS: u64 = 6;
const KILLS_LONG: u64 = 139;
/// The longest time after which the process is killed, in microseconds.
const KILLED_WITHIN_US: u64 = 400_000;

/// No test of its own: the other one starts this program again with this name, to be killed.
#[test]
fn restore_to_be_killed() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let _ = shelter(&config_at(&root, "ext4", "")).restore();
}

#[test]
fn a_restore_that_is_killed_at_any_moment_is_made_up_for_by_the_next() {
    let is_long = std::env::var_os("LOADLINE_TEST_LONG").is_some_and(|value| value == "1");
    let Some(mut world) = LoopWorld::new() else { return };
    let config = world.config("ext4", "");
    let mut first = shelter(&config);
    first.restore().unwrap();
    fs::create_dir(world.path("disk/data")).unwrap();
    for file in 0..300_u64 {
        fs::write(world.path(&format!("disk/data/{file}")), super::world::noise(20_000, file)).unwrap();
    }
    super::save(&mut first).unwrap();
    drop(first);
    let before = super::tree(&world.path("disk/data"));
    let mut seed: u64 = 88_172_645_463_325_252;
    for round in 0..(if is_long { KILLS_LONG } else { KILLS }) {
        world.lose();
        world.insert().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::machine::restore_to_be_killed"]).env(ROOT, world.folder.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(seed % KILLED_WITHIN_US));
        // It is gone already, if it was quicker.
        let _ = child.kill();
        child.wait().unwrap();
        // A program that it had started goes on for a while: the service starts again until that has ended.
        let is_done = awaited(|| match shelter(&config).restore() {
            Ok(_) => true,
            Err(ShelterError::Program { .. } | ShelterError::Unsupported(_)) => false,
            Err(other) => panic!("round {round}: {other}"),
        });
        assert!(is_done, "round {round}");
        assert_eq!(super::tree(&world.path("disk/data")), before, "round {round}");
    }
}
