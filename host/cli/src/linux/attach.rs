//! `emulate --attach` and `--detach`: what is said of volumes that are block devices of this machine.

use crate::failure::Outcome;
use crate::output;
use loadline_emulator::Released;
use loadline_kernel::ublk::UblkError;
use loadline_runs::emulation::{AttachEvent, AttachedBy, AttachedVolumes};
use std::path::Path;

/// One line for each device, and how they were made.
pub(crate) fn tell(attached: &AttachedVolumes) {
    let kind = if matches!(attached.by(), AttachedBy::Ublk) { "link" } else { "file" };
    for (name, device, place) in attached.devices() {
        output::tell(&format!("  {}  {name}, by the {kind} {}", device.display(), place.display()));
    }
    output::tell(&match attached.by() {
        AttachedBy::Ublk => "Attached by ublk.".to_owned(),
        AttachedBy::FuseAsAsked => "Attached by FUSE and loop devices, as asked.".to_owned(),
        AttachedBy::FuseWithoutUblk(error) => without_ublk(error),
    });
}

/// Whether an event is worth a line with `--quiet`, too: something failed.
pub(crate) const fn is_failure(event: &AttachEvent) -> bool {
    !matches!(event, AttachEvent::NoAnswer { .. } | AttachEvent::NewDevice { .. })
}

/// An event, in a sentence.
pub(crate) fn line(event: &AttachEvent) -> String {
    match event {
        AttachEvent::LeftBehind { place } => {
            format!("An emulation that was killed left {place} attached; that is taken down first.")
        }
        AttachEvent::TakenDown(released) => released_line(released),
        AttachEvent::NoAnswer { volume, fault } => format!(
            "{volume} was switched off and on. It has no block device for now, as its disk does not answer ({fault}); it \
             gets one when the fault is cleared."
        ),
        AttachEvent::NewDevice { volume, old, new } if old == new => format!(
            "{volume} was switched off and on: {} is a new device under its old name; open or mount it again.",
            new.display()
        ),
        AttachEvent::NewDevice { volume, old, new } => format!(
            "{volume} was switched off and on: its block device is {} from now on, no longer {}; whoever still has the old one \
             open gets errors.",
            new.display(),
            old.display()
        ),
        AttachEvent::NoDevice { volume, place, cause } => format!(
            "{volume} was switched off and on, and has no block device any more: {cause}. {} is there as long as the folder is, and NBD \
             clients are served as before.",
            place.display()
        ),
        AttachEvent::GivenUp { volume, folder, seconds } => format!(
            "{volume} was switched off and on, and its storage did not answer `losetup` for {seconds} s: {} is taken down, with all \
             block devices, so that other programs need not wait. NBD clients are served as before; to attach again, start \
             anew.",
            folder.display()
        ),
        AttachEvent::StillInUse { device, loses } => format!(
            "{} is still in use: from now on whoever uses it gets errors, and what was not written yet {}. Unmount it first the \
             next time.",
            device.display(),
            if *loses { "is lost" } else { "may be lost" }
        ),
    }
}

/// Why volumes are attached without ublk, and what else of the kernel's own ways this machine has.
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
    for one in &released {
        output::tell(&released_line(one));
    }
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

/// The fate of a device that was left behind.
fn released_line(Released { device, in_use, mounted_at }: &Released) -> String {
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
        assert!(released_line(&released).contains("`umount /mnt/x`"));
        released.mounted_at = None;
        assert!(released_line(&released).contains("is still in use"));
        released.in_use = false;
        assert_eq!(released_line(&released), "Released /dev/loop5.");
    }

    #[test]
    fn the_reason_against_ublk_is_in_the_line() {
        let old = without_ublk(&UblkError::Old);
        assert!(old.contains("not by ublk") && old.contains("older than Linux 6.5"), "{old}");
        let absent = without_ublk(&UblkError::Absent);
        assert!(absent.starts_with("Attached by FUSE and loop devices") && !absent.contains("not by ublk"), "{absent}");
    }

    #[test]
    fn a_new_device_is_told_by_its_name_and_an_old_one_by_what_it_is_still_good_for() {
        let moved = |new: &str| {
            line(&AttachEvent::NewDevice { volume: "data".into(), old: "/dev/loop5".into(), new: new.into() })
        };
        let same = moved("/dev/loop5");
        assert!(same.contains("/dev/loop5 is a new device under its old name") && !same.contains("errors"), "{same}");
        let other = moved("/dev/loop6");
        assert!(other.contains("its block device is /dev/loop6") && other.contains("no longer /dev/loop5"), "{other}");
    }
}
