//! What lies beneath a device or a path: whether a trace would be written to the device that it is of, or a store to the disk that is
//! watched. Then each write would be seen, and written again.

use super::events::Device;
use crate::{Error, RecordError};
use loadline_kernel::facts::{BlockDevice, KernelView, Storage};
use std::fs::File;
use std::path::Path;

/// Devices that are followed downwards.
const DEVICES_MAX: usize = 256;

/// Refuses a trace that lies on the device, on a file system above it, or on a loop device whose file does.
pub(super) fn refuse_feedback(view: &KernelView, device: &Device, file: &Path) -> Result<(), Error> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = |source| RecordError::Write { file: file.to_owned(), source };
    let folder = std::fs::canonicalize(folder).map_err(write)?;
    if beneath_path(view, &folder).contains(&device.block) {
        return Err(RecordError::Feedback { file: file.to_owned(), device: device.name.clone() }.into());
    }
    Ok(())
}

/// The devices to which writes below a path go, as [`beneath`] follows them.
pub(crate) fn beneath_path(view: &KernelView, path: &Path) -> Vec<BlockDevice> {
    beneath(view, on_path(view, path), true)
}

/// The devices of the file system that has a path.
fn on_path(view: &KernelView, path: &Path) -> Vec<BlockDevice> {
    let Ok(path) = std::fs::canonicalize(path) else { return Vec::new() };
    let Ok(opened) = File::open(&path) else { return Vec::new() };
    let below = Storage::below(view, &opened, &path).devices;
    below.iter().filter_map(|device| BlockDevice::by_name(view, &device.name)).collect()
}

/// These devices, the disks of which they are parts, and what they are built upon, all the way down; with `through_files` also the devices
/// below the files of loop devices.
pub(crate) fn beneath(view: &KernelView, top: Vec<BlockDevice>, through_files: bool) -> Vec<BlockDevice> {
    let mut all = top;
    let mut next = 0;
    while let Some(device) = all.get(next).cloned().filter(|_| all.len() < DEVICES_MAX) {
        let file = device.loop_backing().filter(|_| through_files);
        let below = device.parent().into_iter().chain(device.slaves(view));
        let below: Vec<BlockDevice> = below.chain(file.iter().flat_map(|file| on_path(view, file))).collect();
        for one in below {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        next += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A device below another in sysfs, or at the top.
    fn device(view: &KernelView, within: Option<&str>, name: &str, number: &str) {
        let folder = view.sys.join("devices").join(within.unwrap_or_default()).join(name);
        fs::create_dir_all(folder.join("slaves")).unwrap();
        fs::write(folder.join("dev"), number).unwrap();
        if within.is_some() {
            fs::write(folder.join("partition"), "1").unwrap();
        }
        fs::create_dir_all(view.sys.join("class/block")).unwrap();
        symlink(&folder, view.sys.join("class/block").join(name)).unwrap();
    }

    #[test]
    fn parts_and_what_is_built_of_them_lead_to_the_disk() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        device(&view, None, "sdx", "8:240");
        device(&view, Some("sdx"), "sdx1", "8:241");
        device(&view, None, "sdy", "8:250");
        for (name, number, below) in [("md0", "9:0", ["sdx1", "sdy"]), ("dm-0", "252:0", ["md0", "md0"])] {
            device(&view, None, name, number);
            for own in below {
                let _ = symlink(
                    view.sys.join("class/block").join(own),
                    view.sys.join(format!("devices/{name}/slaves/{own}")),
                );
            }
        }
        let below = |name: &str| {
            let top = BlockDevice::by_name(&view, name).unwrap();
            let mut names: Vec<String> = beneath(&view, vec![top], true).into_iter().map(|own| own.name).collect();
            names.sort();
            names
        };
        assert_eq!(below("dm-0"), ["dm-0", "md0", "sdx", "sdx1", "sdy"]);
        assert_eq!(below("sdx1"), ["sdx", "sdx1"]);
        assert_eq!(below("sdy"), ["sdy"]);
    }
}
