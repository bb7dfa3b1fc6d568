//! The disks of the machine, by the names under which they were attached, and where they are mounted.

use super::devices::{BlockDevice, KernelView};
use super::file_system::mounted_on;
use super::mounts::mounts;
use loadline_record::DeviceFacts;
use loadline_units::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A disk of the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttachedDisk {
    /// What the kernel knows of it.
    pub facts: DeviceFacts,
    /// Its names below /dev/disk, such as `azure/scsi1/lun0`.
    pub links: Vec<String>,
    /// The number of an NVMe namespace in its controller.
    pub namespace: Option<u32>,
    /// Where something is mounted that lies on it alone: the shortest path.
    pub mounted_at: Option<PathBuf>,
    /// Whether anything is built upon it or mounted from it.
    pub used: bool,
}

/// A mounted file system on several disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadVolume {
    /// Where it is mounted: the shortest path.
    pub mounted_at: PathBuf,
    /// The kernel's names of its disks.
    pub disks: Vec<String>,
    /// How it lies on them; `None` where that is not known.
    pub spread: Option<Spread>,
}

/// How a volume lies on its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Striped, in pieces of this size (RAID 0).
    Striped(Bytes),
    /// The same on each (RAID 1).
    Mirrored,
}

/// Every disk that hardware or a hypervisor gives this machine, in the order of names, and the volumes on several of them.
#[must_use]
pub fn attached() -> (Vec<AttachedDisk>, Vec<SpreadVolume>) {
    seen(&KernelView::live(), Path::new("/dev/disk"))
}

fn seen(view: &KernelView, links: &Path) -> (Vec<AttachedDisk>, Vec<SpreadVolume>) {
    let links = links_of(links);
    // What the kernel makes by itself (loop, md, dm, zram) has no device below; optical drives are SCSI's type 5.
    let is_disk = |device: &BlockDevice| {
        !device.is_partition()
            && device.attribute("device/uevent").is_some()
            && device.attribute("device/type").as_deref() != Some("5")
    };
    let found = BlockDevice::all(view).into_iter().filter(is_disk);
    let (mut disks, mut volumes): (Vec<AttachedDisk>, Vec<SpreadVolume>) = (Vec::new(), Vec::new());
    for device in found {
        let held = |d: &BlockDevice| !d.holders().is_empty();
        disks.push(AttachedDisk {
            links: links.get(&device.name).cloned().unwrap_or_default(),
            namespace: device.attribute("nsid").and_then(|text| text.parse().ok()),
            used: held(&device) || device.partitions().iter().any(held),
            mounted_at: None,
            facts: device.facts(view),
        });
    }
    let mounts = mounts(view).unwrap_or_default();
    for mount in &mounts {
        let top = mounted_on(view, &mounts, mount);
        let below = disks_below(view, &top);
        for disk in disks.iter_mut().filter(|disk| below.contains(&disk.facts.name)) {
            disk.used = true;
            if below.len() == 1 && is_shorter(&mount.point, disk.mounted_at.as_deref()) {
                disk.mounted_at = Some(mount.point.clone());
            }
        }
        if below.len() > 1 {
            match volumes.iter_mut().find(|volume| volume.disks == below) {
                Some(known) if is_shorter(&mount.point, Some(&known.mounted_at)) => {
                    known.mounted_at.clone_from(&mount.point);
                }
                Some(_) => {}
                None => {
                    let spread = spread(&top);
                    volumes.push(SpreadVolume { mounted_at: mount.point.clone(), disks: below, spread });
                }
            }
        }
    }
    (disks, volumes)
}

fn is_shorter(path: &Path, than: Option<&Path>) -> bool {
    than.is_none_or(|than| path.components().count() < than.components().count())
}

/// The names of the disks at the bottom of the devices built upon them, sorted.
fn disks_below(view: &KernelView, top: &[BlockDevice]) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = top.to_vec();
    let mut seen: Vec<String> = Vec::new();
    while let Some(device) = left.pop() {
        if seen.contains(&device.name) {
            continue;
        }
        seen.push(device.name.clone());
        let slaves = device.slaves(view);
        if slaves.is_empty() {
            names.push(device.parent().map_or(device.name, |disk| disk.name));
        }
        left.extend(slaves);
    }
    names.sort();
    names.dedup();
    names
}

/// How an array of the kernel (md) lies on its members, where it is one.
fn spread(top: &[BlockDevice]) -> Option<Spread> {
    let [device] = top else { return None };
    let array = device.parent().unwrap_or_else(|| device.clone());
    match array.attribute("md/level")?.as_str() {
        "raid0" => Some(Spread::Striped(Bytes::new(array.attribute("md/chunk_size")?.parse().ok()?))),
        "raid1" => Some(Spread::Mirrored),
        _ => None,
    }
}

/// The links below a directory by the name of the device that they lead to, sorted; two levels deep, as far as udev goes.
fn links_of(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
                continue;
            }
            let (Ok(target), Ok(name)) = (fs::read_link(&path), path.strip_prefix(root)) else { continue };
            let Some(device) = target.file_name().and_then(|name| name.to_str()) else { continue };
            found.entry(device.to_owned()).or_default().push(name.to_string_lossy().into_owned());
        }
    }
    for names in found.values_mut() {
        names.sort();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use std::os::unix::fs::symlink;

    const REAL: (&str, &str) = ("device/uevent", "");

    #[test]
    fn disks_are_found_with_their_links_and_where_they_are_mounted() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        fake::device(&view, None, "sda", "8:0", &[REAL, ("device/model", "Virtual Disk"), ("size", "62914560")]);
        fake::device(&view, Some("sda"), "sda1", "8:1", &[("size", "60000000")]);
        fake::device(&view, None, "nvme0n2", "259:2", &[REAL, ("nsid", "2"), ("size", "2147483648")]);
        fake::device(&view, None, "sr0", "11:0", &[REAL, ("device/type", "5")]);
        fake::device(&view, None, "loop0", "7:0", &[("size", "8")]);
        let links = root.path().join("disk");
        fs::create_dir_all(links.join("azure/scsi1")).unwrap();
        symlink("../../../sda", links.join("azure/scsi1/lun4")).unwrap();
        symlink("../../sda1", links.join("azure/root-part1")).unwrap();
        let mounts = "30 1 8:1 / /boot/efi rw - vfat /dev/sda1 rw\n31 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      32 1 0:5 / /proc rw - proc proc rw\n33 1 7:0 / /snap rw - squashfs /dev/loop0 ro\n";
        fs::write(view.proc.join("self/mountinfo"), mounts).unwrap();
        let (disks, volumes) = seen(&view, &links);
        let names: Vec<&str> = disks.iter().map(|disk| disk.facts.name.as_str()).collect();
        assert_eq!((names.as_slice(), volumes.len()), (["nvme0n2", "sda"].as_slice(), 0));
        assert_eq!((disks[0].namespace, disks[0].used, &disks[0].mounted_at), (Some(2), false, &None));
        assert_eq!((disks[1].links.as_slice(), disks[1].used), (["azure/scsi1/lun4".to_owned()].as_slice(), true));
        assert_eq!(disks[1].mounted_at.as_deref(), Some(Path::new("/")));
    }

    #[test]
    fn an_array_of_the_kernel_is_one_volume() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let array = fake::device(
            &view,
            None,
            "md0",
            "9:0",
            &[("md/level", "raid0"), ("md/chunk_size", "262144"), ("size", "4096")],
        );
        for (name, number) in [("nvme1n1", "259:1"), ("nvme2n1", "259:2")] {
            let disk = fake::device(&view, None, name, number, &[REAL]);
            fs::create_dir_all(disk.join("holders/md0")).unwrap();
            symlink(&disk, array.join("slaves").join(name)).unwrap();
        }
        fs::write(view.proc.join("self/mountinfo"), "40 1 9:0 / /data rw - xfs /dev/md0 rw\n").unwrap();
        let (disks, volumes) = seen(&view, root.path());
        assert!(disks.iter().all(|disk| disk.used && disk.mounted_at.is_none()), "{disks:?}");
        let expected = SpreadVolume {
            mounted_at: "/data".into(),
            disks: vec!["nvme1n1".into(), "nvme2n1".into()],
            spread: Some(Spread::Striped(Bytes::kib(256))),
        };
        assert_eq!(volumes, [expected]);
    }
}
