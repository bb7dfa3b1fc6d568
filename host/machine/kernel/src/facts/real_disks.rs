//! The disks of this machine that are storage, and the folders where files on them can be made.

use super::{BlockDevice, KernelView, Mount, mounted_on, mounts};
use loadline_record::RealDisk;
use loadline_units::Bytes;

/// Beginnings of the names of devices that are no disk: files, memory, and remote or removable media.
const NO_DISKS: [&str; 7] = ["loop", "ram", "zram", "sr", "fd", "nbd", "ublkb"];
/// Folders named for one disk at most.
const FOLDERS_MAX: usize = 3;

/// The disks of this machine that are neither memory nor files, in the order of their names.
#[must_use]
pub fn real_disks(view: &KernelView) -> Vec<RealDisk> {
    let mounts = mounts(view).unwrap_or_default();
    let mut disks: Vec<RealDisk> =
        BlockDevice::all(view).into_iter().filter_map(|device| real_disk(view, &mounts, &device)).collect();
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    disks
}

fn real_disk(view: &KernelView, mounts: &[Mount], device: &BlockDevice) -> Option<RealDisk> {
    let is_none = |name: &str| {
        let rest = device.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    };
    if device.is_partition() || !device.slaves(view).is_empty() || NO_DISKS.into_iter().any(is_none) {
        return None;
    }
    let sectors: u64 = device.attribute("size")?.parse().ok()?;
    let size = Bytes::new(sectors.checked_mul(512)?);
    let lies_on = |mount: &&Mount| mounted_on(view, mounts, mount).iter().any(|found| is_below(view, found, device));
    let mut folders: Vec<String> = mounts
        .iter()
        .filter(|mount| mount.point.is_dir() && !mount.options.split(',').any(|option| option == "ro"))
        .filter(lies_on)
        .map(|mount| mount.point.to_string_lossy().into_owned())
        .collect();
    folders.sort_by_key(|folder| (folder.len(), folder.clone()));
    folders.dedup();
    folders.truncate(FOLDERS_MAX);
    (size > Bytes::ZERO).then_some(RealDisk { name: device.name.clone(), size, folders })
}

/// Whether `top` is the disk, a part of it, or built upon it.
fn is_below(view: &KernelView, top: &BlockDevice, disk: &BlockDevice) -> bool {
    top == disk
        || top.parent().as_ref() == Some(disk)
        || top.slaves(view).iter().any(|slave| is_below(view, slave, disk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn disks_are_named_with_their_folders_and_memory_and_files_are_none() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let size = [("size", "2048")];
        let below = fake::device(&view, None, "sda", "8:0", &size);
        fake::device(&view, Some("sda"), "sda1", "8:1", &size);
        fake::device(&view, None, "nvme0n1", "259:0", &size);
        fake::device(&view, None, "zram0", "252:0", &size);
        fake::device(&view, None, "loop3", "7:3", &size);
        fake::device(&view, None, "sdb", "8:16", &[("size", "0")]);
        let top = fake::device(&view, None, "dm-0", "253:0", &size);
        std::os::unix::fs::symlink(&below, top.join("slaves/sda")).unwrap();
        let folder = |name: &str| {
            let path = root.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path.display().to_string()
        };
        let (data, deep, sealed) = (folder("data"), folder("data-of-lvm"), folder("sealed"));
        let lines = [("8:1", &data, "rw"), ("253:0", &deep, "rw"), ("8:1", &sealed, "ro")];
        let text: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(id, (number, point, how))| format!("{id} 1 {number} / {point} {how} - ext4 x {how}\n"))
            .collect();
        let text = text.concat();
        std::fs::write(view.proc.join("self/mountinfo"), text).unwrap();
        let disk = |name: &str, folders: Vec<String>| RealDisk { name: name.into(), size: Bytes::MIB, folders };
        assert_eq!(real_disks(&view), [disk("nvme0n1", vec![]), disk("sda", vec![data, deep])]);
    }
}
