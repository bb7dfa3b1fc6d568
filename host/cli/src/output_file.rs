//! Files that a user named for results: never a device, whose contents would be lost.

use crate::failure::Usage;
use anyhow::Context;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Writes `bytes` to `file`, in the place of what is there.
///
/// # Errors
/// [`Usage`] where it is a block device; otherwise what the system refuses.
pub(crate) fn write(file: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    check(file)?;
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Whether results may go to `file`.
///
/// # Errors
/// [`Usage`] where it is a block device.
pub(crate) fn check(file: &Path) -> anyhow::Result<()> {
    let is_device = std::fs::metadata(file).is_ok_and(|found| found.file_type().is_block_device());
    if is_device {
        let refusal = format!("{} is a block device, and what is on it would be lost: name a file", file.display());
        return Err(Usage(refusal).into());
    }
    Ok(())
}
