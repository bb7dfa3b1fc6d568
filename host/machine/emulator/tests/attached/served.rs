//! An emulation whose volume is attached.

use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, Layout, VolumeSpec};
use loadline_emulator::{AttachError, Backing, Emulation, EmulationSettings};
use loadline_units::Bytes;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An attached volume `data`, in a folder of its own.
pub(crate) struct Served {
    pub(crate) emulation: Emulation,
    pub(crate) files: Vec<PathBuf>,
    folder: tempfile::TempDir,
}

/// A disk without limits.
pub(crate) fn disk(size: Bytes) -> DiskSpec {
    DiskSpec { size: Some(size), ..DiskSpec::default() }
}

impl Served {
    /// `None`, and said so: this machine cannot.
    pub(crate) fn start(disk: DiskSpec, layout: Layout) -> Option<Self> {
        Self::start_with(disk, layout, false)
    }

    pub(crate) fn start_with(disk: DiskSpec, layout: Layout, lie_about_flush: bool) -> Option<Self> {
        let volume =
            VolumeSpec { name: "data".into(), disks: vec![disk; layout.disks()], layout, ..VolumeSpec::default() };
        let environment = EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() };
        let backing = Backing::Memory { max: Bytes::gib(2) };
        let settings = EmulationSettings {
            seed: 1,
            initial: InitialState::default(),
            backing,
            trace: None,
            write_cache: Bytes::mib(16),
            lie_about_flush,
            spin: false,
            hasten: true,
        };
        let folder = tempfile::tempdir().unwrap();
        let mut emulation = Emulation::start(&environment, &settings).unwrap();
        match emulation.mount(&folder.path().join("files")) {
            Ok(files) => Some(Self { emulation, files, folder }),
            Err(AttachError::System { what, error, .. }) => {
                println!("skipped: volumes as files (cannot {what}: {error})");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Runs a program that is to succeed; gives what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a program is there.
pub(crate) fn is_there(program: &str) -> bool {
    let there = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    there.is_ok_and(|output| output.status.success())
}

/// A mounted file system; unmounted when dropped.
pub(crate) struct Mounted(pub(crate) PathBuf);

impl Mounted {
    pub(crate) fn mount(device: &Path, folder: PathBuf) -> Self {
        Self::try_mount(device, folder).expect("a file system is mounted")
    }

    /// `None`: it is none any more.
    pub(crate) fn try_mount(device: &Path, folder: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&folder).unwrap();
        let output = Command::new("mount").arg(device).arg(&folder).output().unwrap();
        print!("{}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(Self(folder))
    }

    /// Nobody may use it any more.
    pub(crate) fn unmount(self) {
        // A program that another test starts holds this one's files until it is one of its own.
        let begun = Instant::now();
        while !Command::new("umount").arg(&self.0).stderr(Stdio::null()).status().unwrap().success() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} stays busy", self.0.display());
            std::thread::sleep(Duration::from_millis(10));
        }
        std::mem::forget(self);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
