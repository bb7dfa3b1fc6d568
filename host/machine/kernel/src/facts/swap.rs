//! Swap: where memory that was taken away from processes lies.

use super::mounts::parse_swaps;
use super::{BlockDevice, DeviceNumber, KernelView, Storage};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// The devices that swap, or the files for it, lie on (`/proc/swaps`, proc(5)).
#[must_use]
pub fn swap_devices(view: &KernelView) -> Vec<BlockDevice> {
    let text = fs::read_to_string(view.proc.join("swaps")).unwrap_or_default();
    let mut all: Vec<BlockDevice> = Vec::new();
    for device in parse_swaps(&text).iter().flat_map(|place| below(view, place)) {
        if !all.contains(&device) {
            all.push(device);
        }
    }
    all
}

fn below(view: &KernelView, place: &Path) -> Vec<BlockDevice> {
    let Ok(found) = fs::metadata(place) else { return Vec::new() };
    if found.file_type().is_block_device() {
        return BlockDevice::by_number(view, DeviceNumber::from_raw(found.rdev())).into_iter().collect();
    }
    let Ok(file) = File::open(place) else { return Vec::new() };
    let names = Storage::below(view, &file, place).counted;
    names.iter().filter_map(|name| BlockDevice::by_name(view, name)).collect()
}

/// How much of a process's memory lies in swap, bytes; `None`: the kernel does not show it.
#[must_use]
pub fn swapped_bytes(view: &KernelView, pid: u32) -> Option<u64> {
    let text = fs::read_to_string(view.proc.join(pid.to_string()).join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmSwap:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_swap_is_read_from_the_status_of_a_process() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let folder = view.proc.join("10");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("status"), "Name:\tp\nVmSwap:\t     12 kB\nThreads:\t1\n").unwrap();
        assert_eq!(swapped_bytes(&view, 10), Some(12 << 10));
        assert_eq!(swapped_bytes(&view, 11), None);
        assert!(swap_devices(&view).is_empty());
    }
}
