//! What the file system says about an entry.

use loadline_shelter_format::{ExtendedAttribute, NodeKind, Timestamp, TreeNode, go_mode};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;

/// What `stat` says, in the words of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryStat {
    pub(crate) kind: NodeKind,
    pub(crate) permissions: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
    pub(crate) modified: Timestamp,
    pub(crate) changed: Timestamp,
    pub(crate) inode: u64,
    pub(crate) device: u64,
    pub(crate) links: u64,
    pub(crate) device_number: u64,
}

impl EntryStat {
    /// `None` for a kind that Linux does not have.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the types differ between processors")]
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Option<Self> {
        let mode = stat.st_mode as u32;
        Some(Self {
            kind: NodeKind::of_unix_mode(mode)?,
            permissions: mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: stat.st_size as u64,
            modified: Timestamp::new(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            changed: Timestamp::new(stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            inode: stat.st_ino,
            device: stat.st_dev as u64,
            links: stat.st_nlink as u64,
            device_number: stat.st_rdev as u64,
        })
    }

    /// Whether contents read between two looks are those of one moment.
    pub(crate) fn is_same_version(&self, later: &Self) -> bool {
        (self.inode, self.size, self.modified, self.changed) == (later.inode, later.size, later.modified, later.changed)
    }

    /// An entry with everything but contents, attributes and target.
    pub(crate) fn node(&self, name: &[u8]) -> TreeNode {
        let is_device = matches!(self.kind, NodeKind::BlockDevice | NodeKind::CharacterDevice);
        TreeNode {
            mode: go_mode(self.kind, self.permissions),
            modified: self.modified,
            accessed: self.modified,
            changed: self.changed,
            uid: self.uid,
            gid: self.gid,
            inode: self.inode,
            device_id: self.device,
            size: if self.kind == NodeKind::File { self.size } else { 0 },
            links: if self.kind == NodeKind::Folder { 0 } else { self.links },
            device: if is_device { self.device_number } else { 0 },
            ..TreeNode::new(name.to_vec(), self.kind)
        }
    }
}

/// Attributes larger than this in all are not saved; Linux has 64 KiB for each.
const LIST_MAX: usize = 64 << 10;

/// The extended attributes of an open file or folder. File systems without any have none.
pub(crate) fn attributes(file: impl AsFd) -> Result<Vec<ExtendedAttribute>, Errno> {
    let file = file.as_fd();
    gather(|list| rustix::fs::flistxattr(file, list), |name, value| rustix::fs::fgetxattr(file, name, value))
}

/// The extended attributes of an entry that is not opened: a link, a pipe, a device.
pub(crate) fn attributes_beside(folder: impl AsFd, name: &[u8]) -> Result<Vec<ExtendedAttribute>, Errno> {
    // Through the open folder, so that no other folder is meant meanwhile.
    let mut path = format!("/proc/self/fd/{}/", folder.as_fd().as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    let path = path.as_slice();
    gather(|list| rustix::fs::llistxattr(path, list), |name, value| rustix::fs::lgetxattr(path, name, value))
}

fn gather(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    value: impl Fn(&[u8], &mut [u8]) -> rustix::io::Result<usize>,
) -> Result<Vec<ExtendedAttribute>, Errno> {
    let mut names = [0; 256];
    let none = |error| matches!(error, Errno::NOTSUP | Errno::NOENT | Errno::NOSYS);
    let mut large = Vec::new();
    let names = match list(&mut names) {
        Ok(length) => &names[..length],
        Err(Errno::RANGE) => {
            large.resize(LIST_MAX, 0);
            let length = list(&mut large)?;
            &large[..length]
        }
        Err(error) if none(error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut attributes = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut bytes = vec![0; 256];
        let length = match value(name, &mut bytes) {
            Err(Errno::RANGE) => {
                bytes.resize(LIST_MAX, 0);
                value(name, &mut bytes)
            }
            other => other,
        };
        match length {
            Ok(length) => bytes.truncate(length),
            // It was removed meanwhile, or belongs to the kernel.
            Err(Errno::NODATA | Errno::NOTSUP) => continue,
            Err(error) => return Err(error),
        }
        let Ok(name) = std::str::from_utf8(name) else { continue };
        attributes.push(ExtendedAttribute { name: name.to_owned(), value: bytes });
    }
    attributes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(attributes)
}
