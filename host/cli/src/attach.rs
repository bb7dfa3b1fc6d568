//! `emulate --attach` and `--detach`: volumes as files and block devices of this machine.

use crate::failure::Outcome;
use crate::output;
use loadline_emulator::{
    AttachError, AttachedDevice, AttachedDeviceMaking, BlockDeviceMaking, Emulation, Links, Released, ublk_is_here,
};
use loadline_kernel::ublk::UblkError;
use loadline_units::Duration;
use std::path::{Path, PathBuf};
use std::time::{Duration as Span, Instant};

/// How long a block device may take to be made anew: until then `losetup` of other programs may have to wait too.
const MAKE_MAX: Span = Span::from_secs(10);
/// Of a request that takes this long a block device is not made.
const ANSWER_MAX: Duration = Duration::from_s(5);

/// How volumes become block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AttachBy {
    // By ublk where the kernel has it, else by FUSE. The help says what these are: with a line for each it would be twice as long.
    Auto,
    Ublk,
    // And loop devices.
    Fuse,
}

/// What was attached: every volume as a block device; by FUSE, it and its disks as files too.
#[derive(Debug)]
pub(crate) struct Attached {
    folder: PathBuf,
    // Go before what leads to them.
    volumes: Vec<Volume>,
    way: Way,
    /// What is said of it.
    told: String,
    /// For which time the storage is on.
    boot: u64,
}

/// How they were attached.
#[derive(Debug)]
enum Way {
    Ublk(Links),
    Fuse,
}

#[derive(Debug)]
struct Volume {
    name: String,
    /// Its file, or the link to its device.
    place: PathBuf,
    device: Device,
    /// The last device that it had.
    before: PathBuf,
}

#[derive(Debug)]
enum Device {
    Made(AttachedDevice),
    /// To be made as soon as the disk answers.
    Wanted {
        told: bool,
    },
    Making {
        making: AttachedDeviceMaking,
        begun_at: Instant,
        boot: u64,
    },
    /// It could not be made.
    Missing,
}

/// Attaches every volume under `folder`.
pub(crate) fn attach(emulation: &mut Emulation, folder: &Path, by: AttachBy) -> anyhow::Result<Attached> {
    let told = match by {
        AttachBy::Fuse => "Attached by FUSE and loop devices, as asked.".to_owned(),
        AttachBy::Ublk => return Ok(attach_by_ublk(emulation, folder)?),
        AttachBy::Auto => {
            match ublk_is_here().map_err(AttachError::from).and_then(|()| attach_by_ublk(emulation, folder)) {
                Err(AttachError::Ublk(error)) => without_ublk(&error),
                attached => return Ok(attached?),
            }
        }
    };
    let boot = emulation.boots();
    let files = taking_down(folder, || emulation.mount(folder))?;
    let mut volumes = Vec::new();
    for (export, file) in emulation.exports().iter().zip(files) {
        // A disk's bytes under two devices at once would be two truths to the kernel: its file is there for whoever wants it.
        if !export.name.contains('/') {
            let making = AttachedDeviceMaking::Loop(BlockDeviceMaking::start(&file)?);
            volumes.push(Volume::made(export.name.clone(), file, making.wait()?));
        }
    }
    Ok(Attached { folder: folder.to_owned(), volumes, way: Way::Fuse, told, boot })
}

fn attach_by_ublk(emulation: &Emulation, folder: &Path) -> Result<Attached, AttachError> {
    let boot = emulation.boots();
    let links = taking_down(folder, || emulation.link(folder))?;
    let mut volumes = Vec::new();
    for export in emulation.exports().iter().filter(|export| !export.name.contains('/')) {
        let making = AttachedDeviceMaking::Ublk(Some(emulation.start_device(&export.name, &links, None)?));
        let device = making.wait()?;
        links.lead(&export.name, device.path())?;
        volumes.push(Volume::made(export.name.clone(), links.place(&export.name), device));
    }
    Ok(Attached { folder: folder.to_owned(), volumes, way: Way::Ublk(links), told: "Attached by ublk.".into(), boot })
}

/// Attaches; what an emulation that was killed left is taken down first.
fn taking_down<T>(folder: &Path, mut attach: impl FnMut() -> Result<T, AttachError>) -> Result<T, AttachError> {
    match attach() {
        // Nobody can do anything with it any more.
        Err(AttachError::Left(place)) => {
            output::tell(&format!("An emulation that was killed left {place} attached; that is taken down first."));
            loadline_emulator::detach(folder)?.iter().for_each(tell_released);
            attach()
        }
        attached => attached,
    }
}

impl Attached {
    /// One line for each device.
    pub(crate) fn tell(&self) {
        let kind = if matches!(self.way, Way::Fuse) { "file" } else { "link" };
        for Volume { name, place, before, .. } in &self.volumes {
            output::tell(&format!("  {}  {name}, by the {kind} {}", before.display(), place.display()));
        }
        output::tell(&self.told);
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
            let news = volume.go_on(emulation, &self.way, boot, making);
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
    pub(crate) fn release(self) -> Vec<AttachedDeviceMaking> {
        let mut unfinished = Vec::new();
        for volume in self.volumes {
            match volume.device {
                Device::Made(device) if device.in_use() => output::tell(&format!(
                    "{} is still in use: from now on whoever uses it gets errors, and what was not written yet {}. Unmount it first the \
                     next time.",
                    device.path().display(),
                    if matches!(device, AttachedDevice::Loop(_)) { "is lost" } else { "may be lost" }
                )),
                Device::Making { making: making @ AttachedDeviceMaking::Loop(_), .. } => unfinished.push(making),
                // By ublk nothing waits for an answer any more once it is dropped.
                Device::Making { .. } | Device::Made(_) | Device::Wanted { .. } | Device::Missing => {}
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
    fn made(name: String, place: PathBuf, device: AttachedDevice) -> Self {
        let before = device.path().to_owned();
        Self { name, place, device: Device::Made(device), before }
    }

    /// Begins to make its device anew.
    fn start(&self, emulation: &Emulation, way: &Way) -> Result<AttachedDeviceMaking, AttachError> {
        Ok(match way {
            Way::Fuse => AttachedDeviceMaking::Loop(BlockDeviceMaking::start(&self.place)?),
            Way::Ublk(links) => {
                let device = emulation.start_device(&self.name, links, number(&self.before))?;
                AttachedDeviceMaking::Ublk(Some(device))
            }
        })
    }

    /// Takes the next step towards a device, if there is one to be taken. Devices are made one after the other, in the order of
    /// their volumes, so that each gets the name that it had.
    fn go_on(&mut self, emulation: &Emulation, way: &Way, boot: u64, other_making: bool) -> Option<News> {
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
                None => match self.start(emulation, way) {
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
                        let led =
                            if let Way::Ublk(links) = way { links.lead(&self.name, device.path()) } else { Ok(()) };
                        if let Err(error) = led {
                            return Some(self.miss(&error));
                        }
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

    /// Others wait for it, and no longer.
    fn is_stuck(&self) -> bool {
        let making = matches!(&self.device, Device::Making { making: AttachedDeviceMaking::Loop(_), .. });
        making && matches!(&self.device, Device::Making { begun_at, .. } if begun_at.elapsed() > MAKE_MAX)
    }

    fn miss(&mut self, error: &dyn std::error::Error) -> News {
        self.device = Device::Missing;
        let text = format!(
            "{} was switched off and on, and has no block device any more: {error}. {} is there as long as the folder is, and NBD \
             clients are served as before.",
            self.name,
            self.place.display()
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

/// N of `/dev/ublkbN`.
fn number(device: &Path) -> Option<u32> {
    device.file_name()?.to_str()?.strip_prefix("ublkb")?.parse().ok()
}

/// What is said where volumes are attached without ublk, and why; what else of the kernel's own ways this machine has.
fn without_ublk(error: &UblkError) -> String {
    let nbd = Path::new("/sys/module/nbd").exists();
    match error {
        UblkError::Absent if nbd => {
            "Attached by FUSE and loop devices; this machine has nbd too, so that `nbd-client -unix SOCKET -name \
                                     VOLUME /dev/nbd0` is another way."
                .into()
        }
        UblkError::Absent => "Attached by FUSE and loop devices, as this machine has neither ublk nor nbd.".into(),
        _ => format!("Attached by FUSE and loop devices, not by ublk: {error}."),
    }
}

/// Takes down what a killed emulation left behind.
pub(crate) fn detach(folder: &Path) -> anyhow::Result<Outcome> {
    let released = loadline_emulator::detach(folder)?;
    released.iter().for_each(tell_released);
    if !released.is_empty() {
        output::tell(
            "The emulation that left it was killed. Unless it was to keep no record, what it did is in the store (loadline list) up to some \
             seconds before that, or up to a twentieth of its time; --trace keeps every request, also then.",
        );
    }
    let what = if released.iter().any(|released| released.in_use) { "Nothing else" } else { "Nothing" };
    output::tell(&format!("{what} is attached at {} any more.", folder.display()));
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
    fn what_keeps_ublk_from_being_used_is_told() {
        let old = without_ublk(&UblkError::Old);
        assert!(old.contains("not by ublk") && old.contains("older than Linux 6.5"), "{old}");
        let absent = without_ublk(&UblkError::Absent);
        assert!(absent.starts_with("Attached by FUSE and loop devices") && !absent.contains("not by ublk"), "{absent}");
    }

    #[test]
    fn the_number_of_a_device_is_asked_for_again() {
        assert_eq!(number(Path::new("/dev/ublkb17")), Some(17));
        assert_eq!(number(Path::new("/dev/loop0")), None);
    }

    #[test]
    fn a_new_device_is_told_by_its_name_and_an_old_one_by_what_it_is_still_good_for() {
        let volume = Volume {
            name: "data".into(),
            place: "/mnt/data".into(),
            device: Device::Wanted { told: false },
            before: "/dev/loop5".into(),
        };
        let same = volume.moved(Path::new("/dev/loop5"));
        assert!(same.contains("/dev/loop5 is a new device under its old name") && !same.contains("errors"), "{same}");
        let other = volume.moved(Path::new("/dev/loop6"));
        assert!(other.contains("its block device is /dev/loop6") && other.contains("no longer /dev/loop5"), "{other}");
    }
}
