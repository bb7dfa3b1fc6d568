//! On this machine's own mounts and devices; root only.

use crate::error::ShelterError;
use crate::machine_probe::MachineProbe;
use crate::shelter::Shelter;
use loadline_shelter_policy::config::{Destination, ShelterConfig};
use loadline_shelter_policy::start::{Awaited, DeviceSeen, StartRefusal, StartVerdict};
use loadline_shelter_repository::{LocalStorage, Repository, ScryptCost, Timestamp};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
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

    pub(super) fn config(&self, format: &str, moment: &str) -> ShelterConfig {
        let root = self.folder.path().display();
        let format = if format.is_empty() { String::new() } else { format!("format = \"{format}\"\n") };
        let text = format!(
            "schema = 1\nname = \"loop\"\nstate = \"{root}/state\"\n[disk]\npath = \"{root}/disk\"\n\
             device = \"backing:{root}/image\"\n{format}[destination]\nfolder = \"{root}/saved\"\nlayout = \"plain\"\n\
             [group.data]\nclass = \"files\"\npaths = [\"data\"]\n{moment}"
        );
        ShelterConfig::parse(&text, "loop").unwrap()
    }
}

impl LoopWorld {
    /// The same with a repository, which is there already: its key costs less than one that a shelter makes.
    pub(super) fn config_of_repository(&self, format: &str, group: &str) -> ShelterConfig {
        let mut config = self.config(format, group);
        fs::write(self.path("secret"), "a long passphrase\n").unwrap();
        config.destination = Some(Destination::FolderRepository(self.path("saved").display().to_string()));
        config.passphrase_file = Some(self.path("secret").display().to_string());
        let storage = Arc::new(LocalStorage::new(self.path("saved")));
        let cost = ScryptCost { log_n: 4, r: 8, p: 1 };
        Repository::create(storage, b"a long passphrase", cost, Timestamp::new(0, 0)).unwrap();
        config
    }
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
