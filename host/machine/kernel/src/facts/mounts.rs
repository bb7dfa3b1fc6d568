//! What is mounted and what is swap, as the kernel lists it.

use super::{DeviceNumber, KernelView};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// One line of mountinfo (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Unique among the mounts there are.
    pub id: u64,
    /// Device of the files in it (`st_dev`); anonymous for btrfs, overlay, tmpfs and the like.
    pub number: DeviceNumber,
    /// Where.
    pub point: PathBuf,
    /// Options of the mount.
    pub options: String,
    /// Type of file system.
    pub kind: String,
    /// What is mounted.
    pub source: String,
    /// Options of the file system.
    pub super_options: String,
}

/// Every mount that this process sees, in the kernel's order.
///
/// # Errors
/// The kernel's list of mounts cannot be read.
pub fn mounts(view: &KernelView) -> io::Result<Vec<Mount>> {
    fs::read_to_string(view.proc.join("self/mountinfo")).map(|text| parse_mounts(&text))
}

/// Every mount in the text of mountinfo; lines that are not understood are left out.
pub(super) fn parse_mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ');
    let id = before.next()?.parse().ok()?;
    let number = before.nth(1)?.parse().ok()?;
    let point = PathBuf::from(unescape(before.nth(1)?));
    let options = before.next()?.to_owned();
    let mut after = after.split(' ');
    let kind = after.next()?.to_owned();
    let source = unescape(after.next()?);
    let super_options = unescape(after.next().unwrap_or_default());
    Some(Mount { id, number, point, options, kind, source, super_options })
}

/// The mount that holds `path`: the one with this id, else the deepest whose mount point leads to it.
#[must_use]
pub fn mount_of<'a>(mounts: &'a [Mount], id: Option<u64>, path: &Path) -> Option<&'a Mount> {
    mounts.iter().find(|m| Some(m.id) == id).or_else(|| {
        // Later lines cover earlier ones at the same place.
        mounts.iter().filter(|m| path.starts_with(&m.point)).max_by_key(|m| m.point.components().count())
    })
}

/// The files and devices in the text of /proc/swaps.
pub(super) fn parse_swaps(text: &str) -> Vec<PathBuf> {
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_ascii_whitespace().next())
        .map(|name| {
            let name = unescape(name);
            PathBuf::from(name.strip_suffix(" (deleted)").unwrap_or(&name))
        })
        .collect()
}

/// Replaces the kernel's octal escapes (`\040` for a space).
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal = (*first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = octal {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard,resv_strict
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684084k
42 27 259:0 / /mnt/two\\040words rw,noatime - ext4 /dev/loop0p1 rw
43 27 0:39 /sub /mnt/b rw,relatime - btrfs /dev/loop0 rw,discard=async,subvolid=256,subvol=/sub
nonsense
";

    #[test]
    fn mountinfo_is_read_with_and_without_optional_fields() {
        let mounts = parse_mounts(MOUNTS);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].point, Path::new("/"));
        assert_eq!(mounts[1].kind, "ext4");
        assert_eq!(mounts[1].number, DeviceNumber { major: 254, minor: 0 });
        assert_eq!(mounts[1].super_options, "rw,discard,resv_strict");
        assert_eq!(mounts[3].point, Path::new("/mnt/two words"));
        assert_eq!(mounts[3].options, "rw,noatime");
        assert_eq!(mounts[4].source, "/dev/loop0");
    }

    #[test]
    fn a_path_belongs_to_its_deepest_mount_unless_the_id_is_known() {
        let mounts = parse_mounts(MOUNTS);
        let of = |id, path| mount_of(&mounts, id, Path::new(path)).unwrap().id;
        assert_eq!(of(None, "/mnt/b/file"), 43);
        assert_eq!(of(None, "/mnt/bb/file"), 27);
        assert_eq!(of(Some(25), "/mnt/b/file"), 25);
        assert_eq!(of(Some(999), "/dev/shm/x"), 25);
    }

    #[test]
    fn swaps_are_read() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/sda2                               partition\t2097148\t\t0\t\t-2\n\
                    /var/my\\040swap\\040(deleted)             file\t\t1024\t\t0\t\t-3\n";
        assert_eq!(parse_swaps(text), [Path::new("/dev/sda2"), Path::new("/var/my swap")]);
        assert!(parse_swaps("Filename Type Size Used Priority\n").is_empty());
    }
}
