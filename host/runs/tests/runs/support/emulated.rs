//! An emulated disk with its record, over NBD and as block devices of this machine.

use super::devices::wait_until;
use super::{Bench, environment};
use loadline_emulation::{Change, Fault, FaultKind};
use loadline_emulator::ChangeOutcome;
use loadline_runs::emulation::{
    AttachEvent, AttachMethod, AttachedVolumes, EmulationOptions, EmulationRun, EndedEmulation, attach_volumes,
};
use loadline_units::{Bytes, Ratio};
use std::path::PathBuf;

/// An emulation that listens on a socket in a folder of its own, and keeps its record there.
pub(crate) struct Emulated {
    pub(crate) run: EmulationRun,
    pub(crate) bench: Bench,
}

impl Emulated {
    pub(crate) fn new(text: &str) -> Self {
        Self::with(text, Bench::new(), |_| {})
    }
    /// In that folder, with options of its own.
    pub(crate) fn with(text: &str, bench: Bench, change: impl FnOnce(&mut EmulationOptions)) -> Self {
        let mut options = EmulationOptions::in_memory(1, Bytes::gib(1));
        change(&mut options);
        let mut run = EmulationRun::begin(&environment(text), options).unwrap();
        run.keep_in(&bench.store()).unwrap();
        run.emulation_mut().listen_unix(&bench.path("s")).unwrap();
        Self { run, bench }
    }
    pub(crate) fn socket(&self) -> PathBuf {
        self.bench.path("s")
    }
    /// Its volume "data" as a target.
    pub(crate) fn uri(&self) -> String {
        format!("nbd+unix:///data?socket={}", self.socket().display())
    }
    pub(crate) fn change(&self, change: &Change) -> ChangeOutcome {
        self.run.emulation().change(change).unwrap()
    }
    /// Begins a fault of everything on a volume or disk.
    pub(crate) fn begin(&self, on: &str, kind: FaultKind) -> ChangeOutcome {
        let (from, until, share) = (Bytes::ZERO, None, Ratio::ONE);
        self.change(&Change::Begin(Fault { on: on.into(), kind, operations: Vec::new(), from, until, share }))
    }
    pub(crate) fn end(self) -> (EndedEmulation, Bench) {
        (self.run.end(), self.bench)
    }
}

/// An emulation whose volumes are attached, and what was told of them.
pub(crate) struct Attached {
    pub(crate) emulated: Emulated,
    volumes: Option<AttachedVolumes>,
    pub(crate) folder: PathBuf,
    pub(crate) told: Vec<AttachEvent>,
}

impl Attached {
    /// With options of its own. `None`, and said so: this machine cannot.
    pub(crate) fn new(text: &str, change: impl FnOnce(&mut EmulationOptions)) -> Option<Self> {
        let bench = Bench::new();
        let folder = bench.path("files");
        let mut emulated = Emulated::with(text, bench, |options| {
            options.attached = true;
            change(options);
        });
        let mut told = Vec::new();
        let attached =
            attach_volumes(emulated.run.emulation_mut(), &folder, AttachMethod::Fuse, &mut |event| told.push(event));
        match attached {
            Ok(volumes) => Some(Self { emulated, volumes: Some(volumes), folder, told }),
            Err(error) => {
                println!("skipped: volumes as block devices ({error})");
                None
            }
        }
    }
    /// The block device of a volume.
    pub(crate) fn node(&self, volume: &str) -> String {
        let mut all = self.volumes.as_ref().unwrap().devices();
        let (_, device, _) = all.find(|(name, ..)| *name == volume).expect("it is attached");
        device.display().to_string()
    }
    /// Follows the volumes until something was told so often.
    pub(crate) fn follows(&mut self, times: usize, is_it: fn(&AttachEvent) -> bool) {
        let heard = wait_until(|| {
            let volumes = self.volumes.as_mut().unwrap();
            volumes.follow(self.emulated.run.emulation_mut(), &mut |event| self.told.push(event));
            self.told.iter().filter(|event| is_it(event)).count() >= times
        });
        assert!(heard, "{:?}", self.told);
    }
    /// The loop devices over the file of a volume.
    pub(crate) fn devices(&self, volume: &str) -> usize {
        let file = self.folder.join(volume).display().to_string();
        let devices = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
        let over = devices.filter(|device| {
            std::fs::read_to_string(device.join("loop/backing_file")).is_ok_and(|over| over.trim_end() == file)
        });
        over.count()
    }
    pub(crate) fn release(&mut self) {
        let making = self.volumes.take().map(|volumes| volumes.release(&mut |event| self.told.push(event)));
        self.emulated.run.emulation_mut().close();
        drop(making);
        self.emulated.run.emulation_mut().unmount();
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.release();
    }
}
