//! `emulate --attach` and `--detach`: volumes as files and block devices of this machine.

use crate::failure::Outcome;
use crate::output;
use loadline_emulator::{BlockDevice, Emulation};
use std::path::{Path, PathBuf};

/// What was attached: every volume as a block device, and it and its disks as files.
#[derive(Debug)]
pub(crate) struct Attached {
    volumes: Vec<Volume>,
    /// For which time the storage is on.
    boot: u64,
}

#[derive(Debug)]
struct Volume {
    name: String,
    file: PathBuf,
    device: BlockDevice,
}

/// Attaches every volume under `folder`.
pub(crate) fn attach(emulation: &mut Emulation, folder: &Path) -> anyhow::Result<Attached> {
    let boot = emulation.boots();
    let files = emulation.mount(folder)?;
    let mut volumes = Vec::new();
    for (export, file) in emulation.exports().iter().zip(files) {
        // A disk's bytes under two devices at once would be two truths to the kernel: its file is there for whoever wants it.
        if !export.name.contains('/') {
            let device = BlockDevice::over(&file)?;
            volumes.push(Volume { name: export.name.clone(), file, device });
        }
    }
    Ok(Attached { volumes, boot })
}

impl Attached {
    /// One line for each device.
    pub(crate) fn tell(&self) {
        for Volume { name, file, device } in &self.volumes {
            output::tell(&format!("  {}  {name}, by the file {}", device.path().display(), file.display()));
        }
        output::tell(way());
    }

    /// Makes the devices anew where the storage was switched off and on: the old ones are as dead as the machine that used
    /// them. `clear` is called before anything is said.
    pub(crate) fn follow(&mut self, emulation: &Emulation, clear: &mut dyn FnMut(), quiet: bool) -> anyhow::Result<()> {
        let boot = emulation.boots();
        if boot == self.boot {
            return Ok(());
        }
        self.boot = boot;
        for volume in std::mem::take(&mut self.volumes) {
            let Volume { name, file, device } = volume;
            let old = device.path().to_owned();
            // First of all, so that its name is free where nobody uses it.
            drop(device);
            let device = BlockDevice::over(&file)?;
            if !quiet {
                clear();
                output::tell(&format!(
                    "{name} was switched off and on: {} is over, {} is new.",
                    old.display(),
                    device.path().display()
                ));
            }
            self.volumes.push(Volume { name, file, device });
        }
        Ok(())
    }

    /// Releases the devices, and says which of them somebody still uses.
    pub(crate) fn release(self) {
        for volume in self.volumes {
            if volume.device.in_use() {
                output::tell(&format!(
                    "{} is still in use: from now on whoever uses it gets errors, and what was not written yet is lost. \
                     Unmount it first the next time.",
                    volume.device.path().display()
                ));
            }
        }
    }
}

/// What of the kernel's own ways this machine has.
fn way() -> &'static str {
    if Path::new("/dev/ublk-control").exists() {
        "Attached by FUSE and loop devices: this machine has ublk, which loadline does not use yet."
    } else if Path::new("/sys/module/nbd").exists() {
        "Attached by FUSE and loop devices; this machine has nbd too, so that `nbd-client -unix SOCKET -name VOLUME /dev/nbd0` \
         is another way."
    } else {
        "Attached by FUSE and loop devices, as this machine has neither ublk nor nbd."
    }
}

/// Takes down what a killed emulation left behind.
pub(crate) fn detach(folder: &Path) -> anyhow::Result<Outcome> {
    let devices = loadline_emulator::detach(folder)?;
    for device in &devices {
        output::tell(&format!("Released {}.", device.display()));
    }
    output::tell(&format!("Nothing is attached at {} any more.", folder.display()));
    Ok(Outcome::Done)
}
