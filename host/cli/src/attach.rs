//! `emulate --attach` and `--detach`: volumes as files and block devices of this machine.

use crate::failure::Outcome;
use crate::output;
use loadline_emulator::{AttachError, BlockDevice, BlockDeviceMaking, Emulation, Released};
use loadline_units::Duration;
use std::path::{Path, PathBuf};
use std::time::{Duration as Span, Instant};

/// How long a block device may take to be made anew: until then `losetup` of other programs may have to wait too.
const MAKE_MAX: Span = Span::from_secs(10);
/// Of a request that takes this long a block device is not made.
const ANSWER_MAX: Duration = Duration::from_s(5);

/// What was attached: every volume as a block device, and it and its disks as files.
#[derive(Debug)]
pub(crate) struct Attached {
    folder: PathBuf,
    volumes: Vec<Volume>,
    /// For which time the storage is on.
    boot: u64,
}

#[derive(Debug)]
struct Volume {
    name: String,
    file: PathBuf,
    device: Device,
    /// The last device that it had.
    before: PathBuf,
}

#[derive(Debug)]
enum Device {
    Made(BlockDevice),
    /// To be made as soon as the disk answers.
    Wanted {
        told: bool,
    },
    Making {
        making: BlockDeviceMaking,
        begun_at: Instant,
        boot: u64,
    },
    /// It could not be made.
    Missing,
}

/// Attaches every volume under `folder`.
pub(crate) fn attach(emulation: &mut Emulation, folder: &Path) -> anyhow::Result<Attached> {
    let boot = emulation.boots();
    let files = match emulation.mount(folder) {
        // Nobody can do anything with it any more.
        Err(AttachError::Left(place)) => {
            output::tell(&format!("An emulation that was killed left {place} attached; that is taken down first."));
            loadline_emulator::detach(folder)?.iter().for_each(tell_released);
            emulation.mount(folder)?
        }
        mounted => mounted?,
    };
    let mut volumes = Vec::new();
    for (export, file) in emulation.exports().iter().zip(files) {
        // A disk's bytes under two devices at once would be two truths to the kernel: its file is there for whoever wants it.
        if !export.name.contains('/') {
            let device = BlockDevice::over(&file)?;
            let before = device.path().to_owned();
            volumes.push(Volume { name: export.name.clone(), file, device: Device::Made(device), before });
        }
    }
    Ok(Attached { folder: folder.to_owned(), volumes, boot })
}

impl Attached {
    /// One line for each device.
    pub(crate) fn tell(&self) {
        for Volume { name, file, before, .. } in &self.volumes {
            output::tell(&format!("  {}  {name}, by the file {}", before.display(), file.display()));
        }
        output::tell(way());
    }

    /// Makes the devices anew where the storage was switched off and on: the old ones are as dead as the machine that used
    /// them. Waits for nothing that a disk has to do, and is to be called again and again. `clear` is called before anything is
    /// said.
    pub(crate) fn follow(&mut self, emulation: &mut Emulation, clear: &mut dyn FnMut(), quiet: bool) {
        let boot = emulation.boots();
        if boot != self.boot {
            self.boot = boot;
            for volume in &mut self.volumes {
                if !matches!(volume.device, Device::Making { .. }) {
                    // The old one goes first of all, so that its name is free where nobody uses it.
                    volume.device = Device::Wanted { told: false };
                }
            }
        }
        let mut stuck = None;
        let mut making = false;
        for volume in &mut self.volumes {
            let news = volume.go_on(emulation, boot, making);
            making |= matches!(volume.device, Device::Making { .. });
            if let Some(news) = news.filter(|news| news.failed || !quiet) {
                clear();
                output::tell(&news.text);
            }
            if volume.is_stuck() {
                stuck = Some(volume.name.clone());
            }
        }
        if let Some(name) = stuck {
            // Ends the requests that are waited for, and with them the `losetup` that waits.
            emulation.unmount();
            self.volumes.clear();
            clear();
            output::tell(&format!(
                "{name} was switched off and on, and its storage did not answer `losetup` for {} s: {} is taken down, with all \
                 block devices, so that other programs need not wait. NBD clients are served as before; to attach again, start \
                 anew.",
                MAKE_MAX.as_secs(),
                self.folder.display()
            ));
        }
    }

    /// Releases the devices, and says which of them somebody still uses. Gives those that are still being made: they are, or fail,
    /// when the emulation has ended.
    pub(crate) fn release(self) -> Vec<BlockDeviceMaking> {
        let mut unfinished = Vec::new();
        for volume in self.volumes {
            match volume.device {
                Device::Made(device) if device.in_use() => output::tell(&format!(
                    "{} is still in use: from now on whoever uses it gets errors, and what was not written yet is lost. \
                     Unmount it first the next time.",
                    device.path().display()
                )),
                Device::Making { making, .. } => unfinished.push(making),
                Device::Made(_) | Device::Wanted { .. } | Device::Missing => {}
            }
        }
        unfinished
    }
}

/// Something to be said of a volume.
struct News {
    text: String,
    failed: bool,
}

impl Volume {
    /// Takes the next step towards a device, if there is one to be taken. Devices are made one after the other, in the order of
    /// their volumes, so that each gets the name that it had.
    fn go_on(&mut self, emulation: &Emulation, boot: u64, other_making: bool) -> Option<News> {
        match &mut self.device {
            Device::Made(_) | Device::Missing => None,
            Device::Wanted { told } => match emulation.hang(&self.name, ANSWER_MAX) {
                Some(_) if *told => None,
                Some(fault) => {
                    *told = true;
                    let text = format!(
                        "{} was switched off and on. It has no block device for now, as its disk does not answer ({fault}); it \
                         gets one when the fault is cleared.",
                        self.name
                    );
                    Some(News { text, failed: false })
                }
                None if other_making => None,
                None => match BlockDeviceMaking::start(&self.file) {
                    Ok(making) => {
                        self.device = Device::Making { making, begun_at: Instant::now(), boot };
                        None
                    }
                    Err(error) => Some(self.miss(&error)),
                },
            },
            Device::Making { making, boot: of, .. } => {
                let current = *of == boot;
                match making.poll() {
                    Ok(None) => None,
                    // Switched off once more in the meantime.
                    _ if !current => {
                        self.device = Device::Wanted { told: false };
                        None
                    }
                    Ok(Some(device)) => {
                        let text = self.moved(device.path());
                        device.path().clone_into(&mut self.before);
                        self.device = Device::Made(device);
                        Some(News { text, failed: false })
                    }
                    Err(error) => Some(self.miss(&error)),
                }
            }
        }
    }

    fn is_stuck(&self) -> bool {
        matches!(&self.device, Device::Making { begun_at, .. } if begun_at.elapsed() > MAKE_MAX)
    }

    fn miss(&mut self, error: &dyn std::error::Error) -> News {
        self.device = Device::Missing;
        let text = format!(
            "{} was switched off and on, and has no block device any more: {error}. Its file {} is there as long as the folder is, \
             and NBD clients are served as before.",
            self.name,
            self.file.display()
        );
        News { text, failed: true }
    }

    /// What is said of a new device.
    fn moved(&self, device: &Path) -> String {
        let (name, old, new) = (&self.name, self.before.display(), device.display());
        if self.before == device {
            return format!(
                "{name} was switched off and on: {new} is a new device under its old name; open or mount it again."
            );
        }
        format!(
            "{name} was switched off and on: its block device is {new} from now on, no longer {old}; whoever still has the old one \
             open gets errors."
        )
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
    loadline_emulator::detach(folder)?.iter().for_each(tell_released);
    output::tell(&format!("Nothing is attached at {} any more.", folder.display()));
    Ok(Outcome::Done)
}

fn tell_released(released: &Released) {
    output::tell(&told_released(released));
}

/// What became of a device that was left behind.
fn told_released(Released { device, in_use, mounted_at }: &Released) -> String {
    let device = device.display();
    match mounted_at.as_ref().map(|place| place.display()) {
        _ if !in_use => format!("Released {device}."),
        Some(place) => {
            format!(
                "{device} is still mounted at {place}, where whoever uses it gets errors: `umount {place}` lets it go."
            )
        }
        None => format!("{device} is still in use, and gives errors to whoever uses it: it goes when they close it."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_somebody_still_uses_is_not_called_released() {
        let mut released = Released { device: "/dev/loop5".into(), in_use: true, mounted_at: Some("/mnt/x".into()) };
        assert!(told_released(&released).contains("`umount /mnt/x`"));
        released.mounted_at = None;
        assert!(told_released(&released).contains("is still in use"));
        released.in_use = false;
        assert_eq!(told_released(&released), "Released /dev/loop5.");
    }

    #[test]
    fn a_new_device_is_told_by_its_name_and_an_old_one_by_what_it_is_still_good_for() {
        let volume = Volume {
            name: "data".into(),
            file: "/mnt/data".into(),
            device: Device::Wanted { told: false },
            before: "/dev/loop5".into(),
        };
        let same = volume.moved(Path::new("/dev/loop5"));
        assert!(same.contains("/dev/loop5 is a new device under its old name") && !same.contains("errors"), "{same}");
        let other = volume.moved(Path::new("/dev/loop6"));
        assert!(other.contains("its block device is /dev/loop6") && other.contains("no longer /dev/loop5"), "{other}");
    }
}
