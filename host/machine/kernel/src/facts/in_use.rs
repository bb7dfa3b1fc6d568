//! Whether a device or file serves something already, so that writing to it would destroy what is in use.
//!
//! Fails closed: where the kernel does not show what must be known, that is an error, never "not in use".

use super::mounts::{Mount, mounts, parse_mounts, parse_swaps};
use super::{BlockDevice, DeviceNumber, KernelView, btrfs_groups};
use crate::system_calls;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What a device or file serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// A mounted file system.
    Mounted {
        /// Where, as far as this process sees it.
        at: Option<PathBuf>,
    },
    /// Swap.
    Swap,
    /// A device built upon it: device mapper, RAID, bcache.
    Held {
        /// The holder's kernel name.
        by: String,
    },
    /// The contents of an attached loop device.
    BacksLoop {
        /// The loop device's kernel name.
        device: String,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { at: Some(at) } => write!(f, "is mounted on {}", at.display()),
            Self::Mounted { at: None } => {
                f.write_str("belongs to a file system that is mounted where this process does not see it")
            }
            Self::Swap => f.write_str("is active swap"),
            Self::Held { by } => write!(f, "is held by {by}, which is built upon it"),
            Self::BacksLoop { device } => write!(f, "is the contents of the attached loop device /dev/{device}"),
        }
    }
}

impl Use {
    /// What ends that use.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Mounted { at: Some(at) } => format!("unmount it (umount {})", at.display()),
            Self::Mounted { at: None } => "unmount it (umount)".to_owned(),
            Self::Swap => "take it out of use (swapoff)".to_owned(),
            Self::Held { by } => format!("take {by} down (dmsetup, vgchange -an, mdadm --stop)"),
            Self::BacksLoop { device } => format!(
                "stop what uses /dev/{device} (lsblk /dev/{device} shows it) and detach that device (losetup -d /dev/{device})"
            ),
        }
    }
}

/// A use with the device or file that it is of, which may be a relative of the one asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InUse {
    /// Kernel name of a device, or path of a file.
    pub what: String,
    /// What it serves.
    pub how: Use,
}

/// Everything in use on the machine, read once.
#[derive(Debug)]
pub struct Uses {
    view: KernelView,
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
    loops: Vec<AttachedLoop>,
    btrfs_members: Vec<BlockDevice>,
}

#[derive(Debug)]
struct AttachedLoop {
    device: BlockDevice,
    path: PathBuf,
    /// Device and inode number of what is behind it, in every way that could be found out.
    backing: Vec<(u64, u64)>,
}

impl Uses {
    /// Reads what is in use now.
    ///
    /// # Errors
    /// The kernel does not show its mounts, swap or block devices.
    pub fn read(view: &KernelView) -> io::Result<Self> {
        let mut mounts = mounts(view)?;
        // Another mount namespace may see more, if this user may look into it.
        if let Ok(text) = fs::read_to_string(view.proc.join("1/mountinfo")) {
            mounts.extend(parse_mounts(&text));
        }
        let swaps = match fs::read_to_string(view.proc.join("swaps")) {
            Ok(text) => parse_swaps(&text),
            // A kernel without swap has no such file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        fs::read_dir(view.sys.join("class/block"))?;
        let loops = BlockDevice::all(view).into_iter().filter_map(AttachedLoop::of).collect();
        let btrfs_members = btrfs_groups(view).into_iter().flatten().collect();
        Ok(Self { view: view.clone(), mounts, swaps, loops, btrfs_members })
    }

    /// The use that forbids writing to the device with this number: its own, its partitions', the disk's of which it is a
    /// part, or, of a loop device, that of what is behind it.
    ///
    /// # Errors
    /// The kernel does not show this device.
    pub fn of_device(&self, number: DeviceNumber) -> io::Result<Option<InUse>> {
        self.of_device_except(number, &mut Vec::new())
    }

    /// `passed` are loop devices on the way here, whose claim on what is behind them is no other use.
    fn of_device_except(&self, number: DeviceNumber, passed: &mut Vec<String>) -> io::Result<Option<InUse>> {
        let Some(device) = BlockDevice::by_number(&self.view, number) else {
            let text = format!("{} does not show device {number}", self.view.sys.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        };
        let parent = device.parent();
        let mut relatives = vec![device.clone()];
        relatives.extend(device.partitions());
        relatives.extend(parent.clone());
        for relative in &relatives {
            if let Some(how) = self.use_of(relative, passed) {
                return Ok(Some(InUse { what: relative.name.clone(), how }));
            }
        }
        // A loop device is a window on what is behind it: that must not be in use by somebody else either.
        let disk = parent.unwrap_or(device);
        let Some(attached) = self.loops.iter().find(|l| l.device == disk) else { return Ok(None) };
        if passed.contains(&disk.name) {
            return Ok(None);
        }
        passed.push(disk.name);
        match fs::metadata(&attached.path) {
            Ok(metadata) if metadata.file_type().is_block_device() => {
                self.of_device_except(DeviceNumber::from_raw(metadata.rdev()), passed)
            }
            Ok(metadata) => Ok(self.of_file_except(&attached.path, &metadata, passed)),
            // Deleted, or not to be seen from here: another loop device may still have the same file.
            Err(_) => Ok(self.loop_over(&attached.backing, passed).map(|how| InUse { what: disk_path(attached), how })),
        }
    }

    /// The use that forbids writing to the regular file at `path`.
    #[must_use]
    pub fn of_file(&self, path: &Path, metadata: &Metadata) -> Option<InUse> {
        self.of_file_except(path, metadata, &[])
    }

    fn of_file_except(&self, path: &Path, metadata: &Metadata, passed: &[String]) -> Option<InUse> {
        let same = |other: &Path| {
            fs::metadata(other).is_ok_and(|o| (o.dev(), o.ino()) == (metadata.dev(), metadata.ino())) || other == path
        };
        let how = if self.swaps.iter().any(|s| same(s)) {
            Some(Use::Swap)
        } else {
            // A file system may be mounted from a file without a loop device (erofs).
            self.mounts
                .iter()
                .find(|m| Path::new(&m.source) == path)
                .map(|m| Use::Mounted { at: Some(m.point.clone()) })
                .or_else(|| self.loop_over(&[(metadata.dev(), metadata.ino())], passed))
        };
        how.map(|how| InUse { what: path.display().to_string(), how })
    }

    fn use_of(&self, device: &BlockDevice, passed: &[String]) -> Option<Use> {
        let is_it = |path: &Path| {
            path.is_absolute()
                && fs::metadata(path)
                    .is_ok_and(|m| m.file_type().is_block_device() && DeviceNumber::from_raw(m.rdev()) == device.number)
        };
        // The source matters where the file system has an anonymous number; bcachefs lists several in one.
        if let Some(mount) = self
            .mounts
            .iter()
            .find(|m| m.number == device.number || m.source.split(':').any(|part| is_it(Path::new(part))))
        {
            return Some(Use::Mounted { at: Some(mount.point.clone()) });
        }
        if self.btrfs_members.contains(device) {
            return Some(Use::Mounted { at: None });
        }
        let node = Path::new("/dev").join(&device.name);
        if self.swaps.iter().any(|s| *s == node || is_it(s)) {
            return Some(Use::Swap);
        }
        if let Some(by) = device.holders().into_iter().next() {
            return Some(Use::Held { by });
        }
        self.loops
            .iter()
            .filter(|l| !passed.contains(&l.device.name))
            .find(|l| is_it(&l.path))
            .map(|l| Use::BacksLoop { device: l.device.name.clone() })
    }

    fn loop_over(&self, backing: &[(u64, u64)], passed: &[String]) -> Option<Use> {
        self.loops
            .iter()
            .filter(|l| !passed.contains(&l.device.name))
            .find(|l| l.backing.iter().any(|b| backing.contains(b)))
            .map(|l| Use::BacksLoop { device: l.device.name.clone() })
    }
}

impl AttachedLoop {
    fn of(device: BlockDevice) -> Option<Self> {
        let path = device.loop_backing()?;
        let mut backing: Vec<(u64, u64)> = fs::metadata(&path).map(|m| (m.dev(), m.ino())).into_iter().collect();
        // The path is as it was when the device was attached; the kernel knows the file itself.
        let node = File::open(Path::new("/dev").join(&device.name));
        backing.extend(node.ok().and_then(|node| system_calls::loop_backing(&node).ok()));
        Some(Self { device, path, backing })
    }
}

fn disk_path(attached: &AttachedLoop) -> String {
    attached.path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    /// A disk with one partition.
    fn disk() -> (tempfile::TempDir, KernelView, PathBuf, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let disk = fake::device(&view, None, "sdx", "8:240", &[]);
        let partition = fake::device(&view, Some("sdx"), "sdx1", "8:241", &[]);
        (root, view, disk, partition)
    }

    fn of(view: &KernelView, minor: u32) -> Option<InUse> {
        Uses::read(view).unwrap().of_device(DeviceNumber { major: 8, minor }).unwrap()
    }

    #[test]
    fn an_idle_disk_is_in_no_use() {
        let (_root, view, ..) = disk();
        assert_eq!(of(&view, 240), None);
        assert_eq!(of(&view, 241), None);
    }

    #[test]
    fn holders_forbid_the_device_its_disk_and_its_parts() {
        let (_root, view, disk, partition) = disk();
        fs::write(partition.join("holders/dm-3"), "").unwrap();
        let held = InUse { what: "sdx1".into(), how: Use::Held { by: "dm-3".into() } };
        assert_eq!(of(&view, 241), Some(held.clone()));
        assert_eq!(of(&view, 240), Some(held));
        fs::remove_file(partition.join("holders/dm-3")).unwrap();
        fs::write(disk.join("holders/md0"), "").unwrap();
        assert_eq!(of(&view, 241).unwrap().what, "sdx");
    }

    #[test]
    fn a_mounted_partition_forbids_its_disk_but_not_its_sibling() {
        let (_root, view, ..) = disk();
        fake::device(&view, Some("sdx"), "sdx2", "8:242", &[]);
        let line = "42 27 8:241 / /mnt/a rw - ext4 /dev/sdx1 rw\n";
        fs::write(view.proc.join("self/mountinfo"), line).unwrap();
        let mounted = Some(InUse { what: "sdx1".into(), how: Use::Mounted { at: Some("/mnt/a".into()) } });
        assert_eq!(of(&view, 240), mounted);
        assert_eq!(of(&view, 241), mounted);
        assert_eq!(of(&view, 242), None);
    }

    #[test]
    fn a_mount_in_the_first_process_s_namespace_counts() {
        let (_root, view, ..) = disk();
        fs::create_dir(view.proc.join("1")).unwrap();
        fs::write(view.proc.join("1/mountinfo"), "42 27 8:240 / /host rw - xfs /dev/sdx rw\n").unwrap();
        assert!(matches!(of(&view, 240).unwrap().how, Use::Mounted { .. }));
    }

    #[test]
    fn a_member_of_a_btrfs_and_a_swap_device_are_in_use() {
        let (_root, view, ..) = disk();
        let group = view.sys.join("fs/btrfs/0f1e/devices");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("sdx1"), "").unwrap();
        assert_eq!(of(&view, 240).unwrap().how, Use::Mounted { at: None });
        fs::remove_file(group.join("sdx1")).unwrap();
        fs::write(view.proc.join("swaps"), "Filename\n/dev/sdx1 partition 1 0 -2\n").unwrap();
        assert_eq!(of(&view, 241).unwrap().how, Use::Swap);
    }

    #[test]
    fn two_loop_devices_over_one_file_forbid_each_other_and_the_file() {
        let (root, view, ..) = disk();
        let image = root.path().join("image");
        fs::write(&image, "contents").unwrap();
        for (name, number) in [("loop900", "7:900"), ("loop901", "7:901")] {
            fake::device(&view, None, name, number, &[("loop/backing_file", image.to_str().unwrap())]);
        }
        let uses = Uses::read(&view).unwrap();
        let first = uses.of_device(DeviceNumber { major: 7, minor: 900 }).unwrap().unwrap();
        assert_eq!(first.how, Use::BacksLoop { device: "loop901".into() });
        let file = uses.of_file(&image, &fs::metadata(&image).unwrap()).unwrap();
        assert!(matches!(file.how, Use::BacksLoop { .. }));
        // The refusal names the device, with commands for it.
        let (how, remedy) = (first.how.to_string(), first.how.remedy());
        assert!(
            how.ends_with("loop device /dev/loop901") && remedy.contains("losetup -d /dev/loop901"),
            "{how}; {remedy}"
        );
        assert!(remedy.contains("lsblk /dev/loop901"), "{remedy}");
    }

    #[test]
    fn what_the_kernel_does_not_show_is_an_error() {
        let (_root, view, ..) = disk();
        assert!(Uses::read(&view).unwrap().of_device(DeviceNumber { major: 9, minor: 9 }).is_err());
        fs::remove_file(view.proc.join("self/mountinfo")).unwrap();
        assert!(Uses::read(&view).is_err());
    }
}
