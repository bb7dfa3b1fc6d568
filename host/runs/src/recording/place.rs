//! Whether a trace would be written to the device that it is of: then each write of it would be recorded, and written again.

use super::events::Device;
use crate::{Error, RecordError};
use loadline_kernel::facts::{BlockDevice, KernelView, Storage};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Loop devices that lie on others are followed so deep.
const LOOPS_MAX: usize = 8;

/// Refuses a trace that lies on the device, on a file system above it, or on a loop device whose file does.
pub(super) fn refuse_feedback(view: &KernelView, device: &Device, file: &Path) -> Result<(), Error> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = |source| RecordError::Write { file: file.to_owned(), source };
    let mut at: Vec<PathBuf> = vec![std::fs::canonicalize(folder).map_err(write)?];
    let disk = device.block.parent().map_or_else(|| device.block.name.clone(), |disk| disk.name);
    for _ in 0..LOOPS_MAX {
        let mut next = Vec::new();
        for place in &at {
            let Ok(opened) = File::open(place) else { continue };
            for below in Storage::below(view, &opened, place).devices {
                let is_same = below.name == device.block.name;
                let own = BlockDevice::by_name(view, &below.name);
                let on_disk = own.as_ref().and_then(BlockDevice::parent).map(|disk| disk.name);
                // A part of the same disk counts where the whole disk is recorded.
                if is_same || (device.block.parent().is_none() && on_disk == Some(disk.clone())) {
                    return Err(RecordError::Feedback { file: file.to_owned(), device: device.name.clone() }.into());
                }
                next.extend(own.and_then(|own| own.loop_backing()));
            }
        }
        if next.is_empty() {
            return Ok(());
        }
        at = next;
    }
    Ok(())
}
