//! Block devices as sysfs shows them: what they are, what lies below and above them.

use super::file_system;
use super::mounts::mounts;
use super::throttles::throttles;
use crate::system_calls;
use loadline_record::DeviceFacts;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where `/proc` and `/sys` are read: the running kernel's, or a tree made for a test.
#[derive(Debug, Clone)]
pub struct KernelView {
    /// `/proc`
    pub proc: PathBuf,
    /// `/sys`
    pub sys: PathBuf,
}

impl KernelView {
    /// The running kernel's.
    #[must_use]
    pub fn live() -> Self {
        Self::below(Path::new("/"))
    }

    /// `proc` and `sys` below `root`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self { proc: root.join("proc"), sys: root.join("sys") }
    }
}

/// Major and minor number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// The driver.
    pub major: u32,
    /// The device within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From `st_dev` or `st_rdev`.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self { major: libc::major(raw), minor: libc::minor(raw) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl std::str::FromStr for DeviceNumber {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (major, minor) = text.trim().split_once(':').unwrap_or((text, ""));
        Ok(Self { major: major.parse()?, minor: minor.parse()? })
    }
}

/// A block device by its directory in sysfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: String,
    directory: PathBuf,
}

impl BlockDevice {
    /// The device with this number; `None` where sysfs does not show it.
    #[must_use]
    pub fn by_number(view: &KernelView, number: DeviceNumber) -> Option<Self> {
        Self::at(&view.sys.join("dev/block").join(number.to_string()))
    }
    /// The device of this name.
    #[must_use]
    pub fn by_name(view: &KernelView, name: &str) -> Option<Self> {
        Self::at(&view.sys.join("class/block").join(name))
    }
    /// The device whose directory this is or links to.
    fn at(directory: &Path) -> Option<Self> {
        let directory = fs::canonicalize(directory).ok()?;
        let number = fs::read_to_string(directory.join("dev")).ok()?.parse().ok()?;
        let name = directory.file_name()?.to_str()?.to_owned();
        Some(Self { number, name, directory })
    }
    /// Every block device of the machine.
    #[must_use]
    pub fn all(view: &KernelView) -> Vec<Self> {
        entries(&view.sys.join("class/block")).iter().filter_map(|name| Self::by_name(view, name)).collect()
    }

    /// Trimmed text of one attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<String> {
        read_trimmed(&self.directory.join(name))
    }
    fn number_attribute(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// Queues that the kernel has for it; `None` where it takes requests without any.
    fn hardware_queues(&self) -> Option<u64> {
        let queues = fs::read_dir(self.directory.join("mq")).ok()?.flatten().count();
        (queues > 0).then_some(queues as u64)
    }
    /// The folder with the settings of its queue.
    fn queue_folder(&self) -> Option<String> {
        let folder = format!("/sys/block/{}/queue", self.name);
        self.directory.join("queue").is_dir().then_some(folder)
    }

    /// Whether it is a part of a disk.
    #[must_use]
    pub fn is_partition(&self) -> bool {
        self.directory.join("partition").exists()
    }
    /// The disk of which it is a part.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if !self.is_partition() {
            return None;
        }
        Self::at(self.directory.parent()?)
    }
    /// Its partitions.
    #[must_use]
    pub fn partitions(&self) -> Vec<Self> {
        entries(&self.directory)
            .iter()
            .map(|name| self.directory.join(name))
            .filter(|directory| directory.join("partition").exists())
            .filter_map(|directory| Self::at(&directory))
            .collect()
    }
    /// Names of what is built upon it: device mapper, RAID, bcache.
    #[must_use]
    pub fn holders(&self) -> Vec<String> {
        entries(&self.directory.join("holders"))
    }
    /// What it is built upon.
    #[must_use]
    pub fn slaves(&self, view: &KernelView) -> Vec<Self> {
        entries(&self.directory.join("slaves")).iter().filter_map(|name| Self::by_name(view, name)).collect()
    }
    /// The file or device behind an attached loop device, as it was named when it was attached.
    #[must_use]
    pub fn loop_backing(&self) -> Option<PathBuf> {
        self.attribute("loop/backing_file").map(|text| text.strip_suffix(" (deleted)").unwrap_or(&text).into())
    }
    /// The type of the file system in which that file lies: by the file itself, which the kernel knows, or else by its name.
    fn loop_file_system(&self, view: &KernelView) -> Option<String> {
        let path = self.loop_backing()?;
        let node = File::open(Path::new("/dev").join(&self.name));
        let told = node.ok().and_then(|node| system_calls::loop_backing(&node).ok()).map(|(device, _)| device);
        let number = told.or_else(|| fs::metadata(&path).ok().map(|found| found.dev())).map(DeviceNumber::from_raw)?;
        let mounts = mounts(view).ok()?;
        let mount = mounts.iter().find(|mount| mount.number == number)?;
        Some(
            file_system::beneath(&mounts, mount, &path, file_system::OVERLAYS_MAX)
                .unwrap_or_else(|| mount.kind.clone()),
        )
    }
    /// The model that it reports.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        self.attribute("device/model").filter(|model| !model.is_empty())
    }
    /// Where it is attached, as sysfs has it: by the place on the bus.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.directory
    }
    /// Serial number as the device or its driver tells it.
    #[must_use]
    pub fn serial(&self) -> Option<String> {
        self.attribute("serial")
            .or_else(|| self.attribute("device/serial"))
            .or_else(|| {
                // SCSI's "unit serial number" page: four bytes of header, then text.
                let page = fs::read(self.directory.join("device/vpd_pg80")).ok()?;
                Some(String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ', '\n']).to_owned())
            })
            .or_else(|| self.attribute("device/wwid"))
            .or_else(|| self.attribute("wwid"))
            .filter(|serial| !serial.is_empty())
    }
    /// Whether the kernel refuses to write to it.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.attribute("ro").is_some_and(|ro| ro != "0")
    }
    /// Whether the kernel counts this device's I/O.
    #[must_use]
    pub fn counts_io(&self) -> bool {
        let disk = self.parent();
        disk.as_ref().unwrap_or(self).attribute("queue/iostats").is_none_or(|on| on != "0")
    }

    /// What is known of it; of a partition, its own size and the rest from its disk.
    #[must_use]
    pub fn facts(&self, view: &KernelView) -> DeviceFacts {
        let disk = self.parent();
        let disk = disk.as_ref().unwrap_or(self);
        DeviceFacts {
            name: self.name.clone(),
            number: Some(self.number.to_string()),
            model: disk.attribute("device/model").or_else(|| self.attribute("dm/name")).filter(|m| !m.is_empty()),
            serial: disk.serial(),
            rotational: disk.number_attribute("queue/rotational").map(|r| r != 0),
            scheduler: disk.attribute("queue/scheduler").map(|text| active_scheduler(&text)),
            queue_requests: disk.number_attribute("queue/nr_requests"),
            request_bytes_max: disk.number_attribute("queue/max_sectors_kb").map(|kib| kib * 1024),
            request_segments_max: disk.number_attribute("queue/max_segments"),
            logical_block_bytes: disk.number_attribute("queue/logical_block_size"),
            physical_block_bytes: disk.number_attribute("queue/physical_block_size"),
            write_cache: disk.attribute("queue/write_cache"),
            // Sectors of 512 bytes, whatever the device's own are.
            size_bytes: self.number_attribute("size").map(|sectors| sectors * 512),
            backing_file_system: disk.loop_file_system(view),
            backing_direct: disk.attribute("loop/dio").map(|on| on != "0"),
            backing_file: disk.loop_backing().map(|path| path.to_string_lossy().into_owned()),
            polled: disk.number_attribute("queue/io_poll").map(|p| p != 0),
            queue_requests_hardware: disk.number_attribute("mq/0/nr_tags"),
            queues: disk.hardware_queues(),
            queue_folder: disk.queue_folder(),
            request_bytes_hardware: disk.number_attribute("queue/max_hw_sectors_kb").map(|kib| kib * 1024),
            writeback_latency_us: disk.number_attribute("queue/wbt_lat_usec"),
            throttles: throttles(view, disk.number),
        }
    }
}

/// The one in brackets, or the only one.
fn active_scheduler(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    bracketed.unwrap_or(text).to_owned()
}

/// Names in a directory, sorted; none where it cannot be read.
fn entries(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Trimmed text of a small file of the kernel.
pub(crate) fn read_trimmed(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// A sysfs made by hand for tests.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use std::os::unix::fs::symlink;

    /// An empty /proc and /sys under `root`.
    pub(crate) fn view(root: &Path) -> KernelView {
        let view = KernelView::below(root);
        for directory in ["sys/dev/block", "sys/class/block", "sys/devices", "sys/fs/btrfs", "proc/self"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::write(root.join("proc/self/mountinfo"), "").unwrap();
        fs::write(root.join("proc/swaps"), "Filename Type Size Used Priority\n").unwrap();
        view
    }
    /// A file of a control group, with its folders; gives its path.
    pub(crate) fn control_group_file(view: &KernelView, path: &str, text: &str) -> PathBuf {
        let path = view.sys.join("fs/cgroup").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
    /// A disk, or with `disk` a partition of it, with the given attributes; gives its directory.
    pub(crate) fn device(
        view: &KernelView,
        disk: Option<&str>,
        name: &str,
        number: &str,
        attributes: &[(&str, &str)],
    ) -> PathBuf {
        let directory = view.sys.join("devices").join(disk.unwrap_or_default()).join(name);
        fs::create_dir_all(directory.join("holders")).unwrap();
        fs::create_dir_all(directory.join("slaves")).unwrap();
        fs::write(directory.join("dev"), format!("{number}\n")).unwrap();
        if disk.is_some() {
            fs::write(directory.join("partition"), "1\n").unwrap();
        }
        for (attribute, text) in attributes {
            let path = directory.join(attribute);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        symlink(&directory, view.sys.join("dev/block").join(number)).unwrap();
        symlink(&directory, view.sys.join("class/block").join(name)).unwrap();
        directory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_has_its_own_size_and_its_disks_properties() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        fake::device(
            &view,
            None,
            "sda",
            "8:0",
            &[
                ("device/model", "Fast Disk 9000"),
                ("queue/scheduler", "none [mq-deadline] kyber"),
                ("queue/rotational", "0"),
                ("queue/max_sectors_kb", "1280"),
                ("queue/max_segments", "126"),
                ("size", "2000"),
            ],
        );
        fake::device(&view, Some("sda"), "sda1", "8:1", &[("size", "1000")]);
        let partition = BlockDevice::by_number(&view, DeviceNumber { major: 8, minor: 1 }).unwrap();
        let facts = partition.facts(&view);
        assert_eq!(facts.name, "sda1");
        assert_eq!(facts.model.as_deref(), Some("Fast Disk 9000"));
        assert_eq!(facts.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(facts.rotational, Some(false));
        assert_eq!(facts.request_bytes_max, Some(1280 * 1024));
        assert_eq!(facts.request_segments_max, Some(126));
        assert_eq!(facts.size_bytes, Some(512_000));
        assert_eq!(facts.serial, None);
        assert_eq!(partition.parent().unwrap().partitions(), [partition]);
    }

    #[test]
    fn a_loop_device_tells_how_it_reaches_its_file_and_where_that_lies() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let image = root.path().join("image");
        fs::write(&image, "x").unwrap();
        let number = DeviceNumber::from_raw(fs::metadata(&image).unwrap().dev());
        let mounts = format!("33 1 {number} / /somewhere rw - tmpfs none rw\n");
        fs::write(view.proc.join("self/mountinfo"), mounts).unwrap();
        let attributes = [("loop/backing_file", image.to_str().unwrap()), ("loop/dio", "0")];
        // No node of that name in /dev: the name of the file must do.
        fake::device(&view, None, "loop900", "7:900", &attributes);
        let facts = BlockDevice::by_name(&view, "loop900").unwrap().facts(&view);
        assert_eq!(facts.backing_file_system.as_deref(), Some("tmpfs"));
        assert_eq!(facts.backing_direct, Some(false));
    }

    #[test]
    fn a_device_number_is_read_as_the_kernel_prints_it() {
        assert_eq!("259:3\n".parse::<DeviceNumber>().unwrap(), DeviceNumber { major: 259, minor: 3 });
        assert!("259".parse::<DeviceNumber>().is_err());
    }
}
