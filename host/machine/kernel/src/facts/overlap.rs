//! Whether two files or devices are the same storage under two names.

use super::{BlockDevice, DeviceNumber, KernelView};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What two files or devices have in common where writing to one is writing to the other, in words: "both are /dev/sdb", or "/dev/sdb1 is a
/// part of /dev/sdb". `None` where each has bytes of its own, as test files in one directory have, and where it cannot be told.
#[must_use]
pub fn overlap(view: &KernelView, one: &Path, other: &Path) -> Option<String> {
    let path = fs::canonicalize(one).ok()?;
    let [a, b] = [fs::metadata(&path).ok()?, fs::metadata(other).ok()?];
    if a.is_file() && b.is_file() {
        return ((a.dev(), a.ino()) == (b.dev(), b.ino())).then(|| format!("both are {}", path.display()));
    }
    if !a.file_type().is_block_device() || !b.file_type().is_block_device() {
        return None;
    }
    related(view, DeviceNumber::from_raw(a.rdev()), DeviceNumber::from_raw(b.rdev()))
}

fn related(view: &KernelView, one: DeviceNumber, other: DeviceNumber) -> Option<String> {
    let one = BlockDevice::by_number(view, one)?;
    let other = BlockDevice::by_number(view, other)?;
    if one == other {
        return Some(format!("both are /dev/{}", one.name));
    }
    let part = |part: &BlockDevice, whole: &BlockDevice| {
        (part.parent().as_ref() == Some(whole)).then(|| format!("/dev/{} is a part of /dev/{}", part.name, whole.name))
    };
    part(&one, &other).or_else(|| part(&other, &one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn one_file_by_two_paths_is_told_and_two_files_of_a_directory_are_not() {
        let root = tempfile::tempdir().unwrap();
        let [a, b, link] = ["a", "b", "link"].map(|name| root.path().join(name));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        std::os::unix::fs::symlink(&a, &link).unwrap();
        let of = |one: &Path, other: &Path| overlap(&KernelView::live(), one, other);
        assert!(of(&a, &link).unwrap().starts_with("both are "));
        assert_eq!(of(&a, &b), None);
        // A directory gets a file for each volume.
        assert_eq!(of(root.path(), root.path()), None);
        assert_eq!(of(&root.path().join("absent"), &a), None);
    }

    #[test]
    fn a_partition_is_a_part_of_its_disk_and_not_of_its_sibling() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        fake::device(&view, None, "sdx", "8:240", &[]);
        fake::device(&view, Some("sdx"), "sdx1", "8:241", &[]);
        fake::device(&view, Some("sdx"), "sdx2", "8:242", &[]);
        let of =
            |one, other| related(&view, DeviceNumber { major: 8, minor: one }, DeviceNumber { major: 8, minor: other });
        assert_eq!(of(240, 240).unwrap(), "both are /dev/sdx");
        assert_eq!(of(240, 242).unwrap(), "/dev/sdx2 is a part of /dev/sdx");
        assert_eq!(of(241, 240).unwrap(), "/dev/sdx1 is a part of /dev/sdx");
        assert_eq!(of(241, 242), None);
    }
}
