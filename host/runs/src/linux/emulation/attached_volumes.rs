//! The volumes of an emulation as block devices of this machine.
//!
//! A power cut or a move to another host ends the devices, as it would those of a real machine.
//! [`AttachedVolumes::follow`] makes them anew.

use super::event::AttachEvent;
use crate::begin::attach_method::AttachMethod;
use loadline_emulator::{
    AttachError, AttachedDevice, AttachedDeviceMaking, BlockDeviceMaking, Emulation, Links, detach, ublk_is_here,
};
use loadline_kernel::ublk::UblkError;
use loadline_units::Duration;
use std::path::{Path, PathBuf};
use std::time::{Duration as Span, Instant};

/// How long a block device may take to be made anew: until then `losetup` of other programs may have to wait too.
const MAKE_MAX: Span = Span::from_secs(10);
/// Of a request that takes this long a block device is not made.
const ANSWER_MAX: Duration = Duration::from_s(5);

/// How volumes were attached, and why so.
#[derive(Debug)]
pub enum AttachedBy {
    /// By ublk.
    Ublk,
    /// By FUSE and loop devices, as asked.
    FuseAsAsked,
    /// By FUSE and loop devices, because ublk is not to be had.
    FuseWithoutUblk(UblkError),
}

/// Receives events.
pub type AttachEvents<'a> = &'a mut dyn FnMut(AttachEvent);

/// What was attached: every volume as a block device; by FUSE, it and its disks as files too.
#[derive(Debug)]
pub struct AttachedVolumes {
    folder: PathBuf,
    // Go before what leads to them.
    volumes: Vec<Volume>,
    method: Method,
    by: AttachedBy,
    /// For which time the storage is on.
    boot: u64,
}

/// How they were attached.
#[derive(Debug)]
enum Method {
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
        reported: bool,
    },
    Making {
        making: AttachedDeviceMaking,
        begun_at: Instant,
        boot: u64,
    },
    /// It could not be made.
    Missing,
}

/// Attaches every volume of an emulation under `folder`. What a killed emulation left there is taken down first.
///
/// # Errors
/// [`AttachError`].
pub fn attach_volumes(
    emulation: &mut Emulation,
    folder: &Path,
    method: AttachMethod,
    events: AttachEvents<'_>,
) -> Result<AttachedVolumes, AttachError> {
    let by = match method {
        AttachMethod::Fuse => AttachedBy::FuseAsAsked,
        AttachMethod::Ublk => return attach_by_ublk(emulation, folder, events),
        AttachMethod::Auto => {
            let attached =
                ublk_is_here().map_err(AttachError::from).and_then(|()| attach_by_ublk(emulation, folder, events));
            match attached {
                Err(AttachError::Ublk(error)) => AttachedBy::FuseWithoutUblk(error),
                attached => return attached,
            }
        }
    };
    let boot = emulation.boots();
    let files = taking_down(folder, || emulation.mount(folder), events)?;
    let mut volumes = Vec::new();
    for (export, file) in emulation.exports().iter().zip(files) {
        // A disk's bytes under two devices at once would be two truths to the kernel: its file is there for whoever wants it.
        if !export.name.contains('/') {
            let making = AttachedDeviceMaking::Loop(BlockDeviceMaking::start(&file)?);
            volumes.push(Volume::made(export.name.clone(), file, making.wait()?));
        }
    }
    Ok(AttachedVolumes { folder: folder.to_owned(), volumes, method: Method::Fuse, by, boot })
}

fn attach_by_ublk(
    emulation: &Emulation,
    folder: &Path,
    events: AttachEvents<'_>,
) -> Result<AttachedVolumes, AttachError> {
    let boot = emulation.boots();
    let links = taking_down(folder, || emulation.link(folder), events)?;
    let mut volumes = Vec::new();
    for export in emulation.exports().iter().filter(|export| !export.name.contains('/')) {
        let making = AttachedDeviceMaking::Ublk(Some(emulation.start_device(&export.name, &links, None)?));
        let device = making.wait()?;
        links.lead(&export.name, device.path())?;
        volumes.push(Volume::made(export.name.clone(), links.place(&export.name), device));
    }
    Ok(AttachedVolumes { folder: folder.to_owned(), volumes, method: Method::Ublk(links), by: AttachedBy::Ublk, boot })
}

/// Attaches; what a killed emulation left is taken down first.
fn taking_down<T>(
    folder: &Path,
    mut attach: impl FnMut() -> Result<T, AttachError>,
    events: AttachEvents<'_>,
) -> Result<T, AttachError> {
    match attach() {
        // Nobody can do anything with it any more.
        Err(AttachError::Left(place)) => {
            events(AttachEvent::LeftBehind { place });
            for released in detach(folder)? {
                events(AttachEvent::TakenDown(released));
            }
            attach()
        }
        attached => attached,
    }
}

impl AttachedVolumes {
    /// How they were attached.
    #[must_use]
    pub const fn by(&self) -> &AttachedBy {
        &self.by
    }

    /// Every volume with its device, and its file or the link to the device.
    pub fn devices(&self) -> impl Iterator<Item = (&str, &Path, &Path)> {
        self.volumes.iter().map(|volume| (volume.name.as_str(), volume.before.as_path(), volume.place.as_path()))
    }

    /// Makes the devices anew where the storage was switched off and on: the old ones are as dead as the machine that used
    /// them. Waits for nothing that a disk has to do, and is to be called again and again.
    pub fn follow(&mut self, emulation: &mut Emulation, events: AttachEvents<'_>) {
        let boot = emulation.boots();
        if boot != self.boot {
            self.boot = boot;
            for volume in &mut self.volumes {
                if !matches!(volume.device, Device::Making { .. }) {
                    // The old one goes first of all, so that its name is free where nobody uses it.
                    volume.device = Device::Wanted { reported: false };
                }
            }
        }
        let mut stuck = None;
        let mut making = false;
        for volume in &mut self.volumes {
            let event = volume.go_on(emulation, &self.method, boot, making);
            making |= matches!(volume.device, Device::Making { .. });
            if let Some(event) = event {
                events(event);
            }
            if volume.is_stuck() {
                stuck = Some(volume.name.clone());
            }
        }
        if let Some(volume) = stuck {
            // Ends the requests that are waited for, and with them the `losetup` that waits.
            emulation.unmount();
            self.volumes.clear();
            events(AttachEvent::GivenUp { volume, folder: self.folder.clone(), seconds: MAKE_MAX.as_secs() });
        }
    }

    /// Releases the devices, and reports those that somebody still uses. Gives those that are still being made: they are, or
    /// fail, when the emulation has ended.
    pub fn release(self, events: AttachEvents<'_>) -> Vec<AttachedDeviceMaking> {
        let mut unfinished = Vec::new();
        for volume in self.volumes {
            match volume.device {
                Device::Made(device) if device.in_use() => events(AttachEvent::StillInUse {
                    device: device.path().to_owned(),
                    loses: matches!(device, AttachedDevice::Loop(_)),
                }),
                Device::Making { making: making @ AttachedDeviceMaking::Loop(_), .. } => unfinished.push(making),
                // By ublk nothing waits for an answer any more once it is dropped.
                Device::Making { .. } | Device::Made(_) | Device::Wanted { .. } | Device::Missing => {}
            }
        }
        unfinished
    }
}

impl Volume {
    fn made(name: String, place: PathBuf, device: AttachedDevice) -> Self {
        let before = device.path().to_owned();
        Self { name, place, device: Device::Made(device), before }
    }

    /// Begins to make its device anew.
    fn start(&self, emulation: &Emulation, method: &Method) -> Result<AttachedDeviceMaking, AttachError> {
        Ok(match method {
            Method::Fuse => AttachedDeviceMaking::Loop(BlockDeviceMaking::start(&self.place)?),
            Method::Ublk(links) => {
                let device = emulation.start_device(&self.name, links, number(&self.before))?;
                AttachedDeviceMaking::Ublk(Some(device))
            }
        })
    }

    /// Takes the next step towards a device, if there is one to be taken. Devices are made one after the other, in the order of
    /// their volumes, so that each gets the name that it had.
    fn go_on(&mut self, emulation: &Emulation, method: &Method, boot: u64, other_making: bool) -> Option<AttachEvent> {
        match &mut self.device {
            Device::Made(_) | Device::Missing => None,
            Device::Wanted { reported } => match emulation.hang(&self.name, ANSWER_MAX) {
                Some(_) if *reported => None,
                Some(fault) => {
                    *reported = true;
                    Some(AttachEvent::NoAnswer { volume: self.name.clone(), fault: fault.to_string() })
                }
                None if other_making => None,
                None => match self.start(emulation, method) {
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
                        self.device = Device::Wanted { reported: false };
                        None
                    }
                    Ok(Some(device)) => {
                        let led = if let Method::Ublk(links) = method {
                            links.lead(&self.name, device.path())
                        } else {
                            Ok(())
                        };
                        if let Err(error) = led {
                            return Some(self.miss(&error));
                        }
                        let new = device.path().to_owned();
                        let old = std::mem::replace(&mut self.before, new.clone());
                        self.device = Device::Made(device);
                        Some(AttachEvent::NewDevice { volume: self.name.clone(), old, new })
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

    fn miss(&mut self, error: &dyn std::error::Error) -> AttachEvent {
        self.device = Device::Missing;
        AttachEvent::NoDevice { volume: self.name.clone(), place: self.place.clone(), cause: error.to_string() }
    }
}

/// N of `/dev/ublkbN`.
fn number(device: &Path) -> Option<u32> {
    device.file_name()?.to_str()?.strip_prefix("ublkb")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_device_is_asked_for_again() {
        assert_eq!(number(Path::new("/dev/ublkb17")), Some(17));
        assert_eq!(number(Path::new("/dev/loop0")), None);
    }
}
