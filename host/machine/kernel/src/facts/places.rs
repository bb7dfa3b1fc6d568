//! The numbers under which files of devices are seen, and who has files there.

use super::{BlockDevice, DeviceNumber, KernelView, Mount, PSEUDO_FILE_SYSTEMS, mounted_on, mounts};
use crate::counters::is_swap_on;
use crate::counters::watching::{DevicesUsed, devices_used};
use loadline_record::MEMORY_FILE_SYSTEMS;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Numbers under which files of the devices are seen, and those of other storage without a device of its own.
#[derive(Debug, Clone, Default)]
pub struct Places {
    devices: Vec<Vec<DeviceNumber>>,
    unnamed: Vec<DeviceNumber>,
}

impl Places {
    /// Those of these devices, each by itself.
    #[must_use]
    pub fn of(view: &KernelView, devices: &[BlockDevice]) -> Self {
        Self { devices: devices.iter().map(|device| numbers(view, device)).collect(), unnamed: unnamed_numbers(view) }
    }

    /// Those of devices of which these numbers are known.
    #[must_use]
    pub const fn of_numbers(devices: Vec<Vec<DeviceNumber>>) -> Self {
        Self { devices, unnamed: Vec::new() }
    }

    /// How many devices they are of.
    #[must_use]
    pub const fn devices(&self) -> usize {
        self.devices.len()
    }

    /// On which of the devices a process has its files.
    #[must_use]
    pub fn used_by(&self, view: &KernelView, pid: u32) -> DevicesUsed {
        devices_used(view, pid, &self.devices, &self.unnamed)
    }

    /// Whether some of the machine's swap lies on the device of this place.
    #[must_use]
    pub fn has_swap(&self, view: &KernelView, place: usize) -> bool {
        self.devices.get(place).is_some_and(|numbers| is_swap_on(view, numbers))
    }

    /// Whether a process has a file on any of the devices, or works in a folder there.
    #[must_use]
    pub fn is_used_by(&self, view: &KernelView, pid: u32) -> bool {
        let works_in = || fs::metadata(view.proc.join(pid.to_string()).join("cwd")).ok();
        let is_here = |number| self.devices.iter().any(|numbers| numbers.contains(&number));
        self.used_by(view, pid).used != 0 || works_in().is_some_and(|at| is_here(DeviceNumber::from_raw(at.dev())))
    }
}

/// Numbers under which files of a device are seen: its own, those of its parts and of what is built upon it, and those of file systems
/// that have a number of their own.
fn numbers(view: &KernelView, device: &BlockDevice) -> Vec<DeviceNumber> {
    let mut all = vec![device.clone()];
    let mut next = 0;
    while next < all.len() {
        let above = all[next].holders().into_iter().filter_map(|name| BlockDevice::by_name(view, &name));
        let parts = all[next].partitions();
        let new: Vec<BlockDevice> = above.chain(parts).filter(|found| !all.contains(found)).collect();
        all.extend(new);
        next += 1;
    }
    let mut numbers: Vec<DeviceNumber> = all.iter().map(|device| device.number).collect();
    for (mount, on) in unnamed_mounts(view) {
        if on.iter().any(|device| all.contains(device)) {
            numbers.extend(own_numbers(&mount));
        }
    }
    numbers
}

/// Numbers of all storage that has no device of its own: file systems over several devices, and those of the network.
fn unnamed_numbers(view: &KernelView) -> Vec<DeviceNumber> {
    let is_storage = |mount: &Mount| {
        !PSEUDO_FILE_SYSTEMS.contains(&mount.kind.as_str()) && !MEMORY_FILE_SYSTEMS.contains(&mount.kind.as_str())
    };
    let all = unnamed_mounts(view).into_iter().filter(|(mount, _)| is_storage(mount));
    // A server that is away answers nothing: what lies on no device is not asked.
    all.flat_map(|(mount, on)| if on.is_empty() { vec![mount.number] } else { own_numbers(&mount) }).collect()
}

/// Mounts without a device of their own, each with those on which it lies.
fn unnamed_mounts(view: &KernelView) -> Vec<(Mount, Vec<BlockDevice>)> {
    let mounted = mounts(view).unwrap_or_default();
    let unnamed = mounted.iter().filter(|mount| mount.number.major == 0);
    unnamed.map(|mount| (mount.clone(), mounted_on(view, &mounted, mount))).collect()
}

/// The number that mappings of a file system's files have, and that of the files themselves.
fn own_numbers(mount: &Mount) -> Vec<DeviceNumber> {
    let of_files = fs::metadata(&mount.point).ok().map(|found| DeviceNumber::from_raw(found.dev()));
    [mount.number].into_iter().chain(of_files).collect()
}
