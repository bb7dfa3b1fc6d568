//! What the kernel counts of its swap, and where that lies.

use crate::facts::{DeviceNumber, KernelView};
use crate::system_calls::page_bytes;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

/// Bytes moved to the machine's swap and back so far; `None` where the kernel does not count them.
#[must_use]
pub fn swapped_bytes(view: &KernelView) -> Option<u64> {
    let text = fs::read_to_string(view.proc.join("vmstat")).ok()?;
    let count = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    Some((count("pswpin ")? + count("pswpout ")?) * page_bytes())
}

/// Whether some of the machine's swap lies where these numbers are: on a device, or in a file on one (proc_swaps(5)).
#[must_use]
pub fn is_swap_on(view: &KernelView, numbers: &[DeviceNumber]) -> bool {
    let text = fs::read_to_string(view.proc.join("swaps")).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next()).any(|path| {
        // The kernel writes blanks in a path as \040; such a file is not found, and is no reason to guess.
        fs::metadata(path).is_ok_and(|found| {
            let number = if found.file_type().is_block_device() { found.rdev() } else { found.dev() };
            numbers.contains(&DeviceNumber::from_raw(number))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn swap_is_counted_in_both_directions_and_found_where_its_file_lies() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        assert_eq!(swapped_bytes(&view), None);
        fs::write(view.proc.join("vmstat"), "pgpgin 9\npswpin 3\npswpout 4\npswpin_zero 70\n").unwrap();
        assert_eq!(swapped_bytes(&view), Some(7 * page_bytes()));
        let here = DeviceNumber::from_raw(fs::metadata(root.path()).unwrap().dev());
        let other = DeviceNumber { major: 259, minor: 77 };
        assert!(!is_swap_on(&view, &[here]));
        let file = root.path().join("swapfile");
        fs::write(&file, "").unwrap();
        let text = format!("Filename\tType\tSize\tUsed\tPriority\n{} file 65532 0 -2\n", file.display());
        fs::write(view.proc.join("swaps"), text).unwrap();
        assert!(is_swap_on(&view, &[other, here]));
        assert!(!is_swap_on(&view, &[other]));
    }
}
