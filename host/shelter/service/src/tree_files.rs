//! A folder as the root of a tree: entries below it are opened without following a link and without leaving the file system.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use loadline_shelter_policy::changes::FileStamp;
use loadline_shelter_policy::tree::{EntryKind, TreeEntry, TreePath, escaped};
use loadline_shelter_repository::{TreeNode, unix_mode};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, XattrFlags};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Depth of a tree, at most.
const DEPTH_MAX: usize = 256;
/// Bytes of one extended attribute, and of the list of their names, at most (Linux).
const ATTRIBUTE_MAX: usize = 64 << 10;
/// What `stat` counts blocks in.
const BLOCK_OF_STAT: u64 = 512;
const NS_PER_S: i64 = 1_000_000_000;

/// A tree of files on one file system.
#[derive(Debug)]
pub(crate) struct TreeRoot {
    path: PathBuf,
    /// The same without links.
    real: PathBuf,
    folder: OwnedFd,
    device: u64,
}

/// An entry as a look shows it, without reading its contents.
#[derive(Debug, Clone)]
pub(crate) struct SeenEntry {
    /// Size and hash of files are not known yet: empty.
    pub(crate) entry: TreeEntry,
    pub(crate) stamp: FileStamp,
    /// Names of the inode.
    pub(crate) links: u64,
    /// Bytes that it takes of the disk.
    pub(crate) room: u64,
}

/// A walk over some paths.
#[derive(Debug, Default)]
pub(crate) struct WalkedTree {
    pub(crate) entries: BTreeMap<TreePath, SeenEntry>,
    /// What could not be looked at, or is of a kind that is not saved: why.
    pub(crate) troubles: BTreeMap<TreePath, String>,
}

impl TreeRoot {
    /// The tree below a folder.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        let device = rustix::fs::fstat(&folder)?.st_dev;
        let real = std::fs::canonicalize(path)?;
        Ok(Self { path: path.to_path_buf(), real, folder, device })
    }

    /// Bytes that are free on the file system, those that are reserved for root among them.
    pub(crate) fn free(&self) -> io::Result<u64> {
        let space = rustix::fs::fstatvfs(&self.folder)?;
        Ok(space.f_bfree * space.f_frsize)
    }

    /// The path of the folder, without links.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// The path of an entry, as it is opened without following links.
    pub(crate) fn place(&self, path: &TreePath) -> PathBuf {
        self.real.join(OsStr::from_bytes(&path.to_bytes().unwrap_or_default()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the file system.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// Opens an entry without following any link.
    fn open_at(&self, path: &TreePath, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let bytes = path.to_bytes().ok_or(io::ErrorKind::InvalidInput)?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat2(&self.folder, OsStr::from_bytes(&bytes), flags, mode, resolve)?)
    }

    /// A file to read.
    pub(crate) fn open_file(&self, path: &TreePath) -> io::Result<File> {
        // A pipe that took the file's place does not hold us up.
        Ok(File::from(self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?))
    }

    /// A new file to write, in place of whatever is there.
    pub(crate) fn create_file(&self, path: &TreePath) -> io::Result<File> {
        self.remove(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        Ok(File::from(self.open_at(path, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// The folder that holds an entry, and the entry's name in it.
    fn parent(&self, path: &TreePath) -> io::Result<(OwnedFd, Vec<u8>)> {
        let bytes = path.to_bytes().ok_or(io::ErrorKind::InvalidInput)?;
        let name = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
        let folder = match path.parent() {
            Some(parent) => self.open_at(&parent, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?,
            None => self.folder.try_clone()?,
        };
        Ok((folder, name))
    }

    /// A look at one entry; `None` if it is not there.
    pub(crate) fn look(&self, path: &TreePath) -> io::Result<Option<SeenEntry>> {
        let (folder, name) = match self.parent(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match rustix::fs::statat(&folder, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.seen(path.clone(), &folder, &name, &stat).map(Some),
            Err(error) if error == rustix::io::Errno::NOENT => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn seen(&self, path: TreePath, folder: &OwnedFd, name: &[u8], stat: &Stat) -> io::Result<SeenEntry> {
        if stat.st_dev != self.device {
            return Err(io::Error::other("another file system is mounted there"));
        }
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => EntryKind::Folder,
            FileType::RegularFile => EntryKind::File { size: stat.st_size as u64, hash: String::new() },
            FileType::Symlink => {
                let to = rustix::fs::readlinkat(folder, OsStr::from_bytes(name), Vec::new())?;
                EntryKind::Link { to: escaped(to.as_bytes()) }
            }
            FileType::Fifo => EntryKind::Pipe,
            FileType::Socket => return Err(io::Error::other("a socket is made by its program")),
            _ => return Err(io::Error::other("a device file is not saved")),
        };
        let entry = TreeEntry {
            path,
            kind,
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            attributes: BTreeMap::new(),
        };
        #[allow(clippy::unnecessary_cast, reason = "the types differ between processors")]
        Ok(SeenEntry {
            entry,
            stamp: stamp(stat),
            links: stat.st_nlink as u64,
            room: stat.st_blocks as u64 * BLOCK_OF_STAT,
        })
    }

    /// Every entry at and below these paths. A path that is not there has no entry.
    pub(crate) fn walk(&self, paths: &[String]) -> WalkedTree {
        let mut walked = WalkedTree::default();
        for path in paths {
            let Ok(path) = TreePath::of_bytes(path.as_bytes()) else { continue };
            // The folders above a path belong to it: they are made again with their owners.
            let mut above = path.parent();
            while let Some(folder) = above {
                self.walk_entry(folder.clone(), &mut walked, 0, Below::No);
                above = folder.parent();
            }
            self.walk_entry(path, &mut walked, 0, Below::Yes);
        }
        walked
    }

    fn walk_entry(&self, path: TreePath, walked: &mut WalkedTree, depth: usize, below: Below) {
        match self.look(&path) {
            Ok(Some(seen)) => {
                let is_folder = seen.entry.kind == EntryKind::Folder;
                walked.entries.insert(path.clone(), seen);
                if is_folder && below == Below::Yes {
                    self.walk_folder(&path, walked, depth);
                }
            }
            // It went while we looked: it is gone.
            Ok(None) => {}
            Err(error) => {
                walked.troubles.insert(path, error.to_string());
            }
        }
    }

    fn walk_folder(&self, path: &TreePath, walked: &mut WalkedTree, depth: usize) {
        if depth == DEPTH_MAX {
            walked.troubles.insert(path.clone(), format!("it is deeper than {DEPTH_MAX} folders"));
            return;
        }
        let opened = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let read = opened.and_then(|folder| {
            let mut names = Vec::new();
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name != b"." && name != b".." {
                    names.push(name.to_vec());
                }
            }
            Ok((folder, names))
        });
        let (folder, names) = match read {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                walked.troubles.insert(path.clone(), error.to_string());
                return;
            }
        };
        for name in names {
            let mut bytes = path.to_bytes().unwrap_or_default();
            bytes.push(b'/');
            bytes.extend_from_slice(&name);
            let Ok(child) = TreePath::of_bytes(&bytes) else { continue };
            let looked = match rustix::fs::statat(&folder, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => self.seen(child.clone(), &folder, &name, &stat),
                Err(error) if error == rustix::io::Errno::NOENT => continue,
                Err(error) => Err(error.into()),
            };
            match looked {
                Ok(seen) => {
                    let is_folder = seen.entry.kind == EntryKind::Folder;
                    walked.entries.insert(child.clone(), seen);
                    if is_folder {
                        self.walk_folder(&child, walked, depth + 1);
                    }
                }
                Err(error) => {
                    walked.troubles.insert(child, error.to_string());
                }
            }
        }
    }

    /// Extended attributes of a file or folder; of a link there are none to keep.
    pub(crate) fn attributes(&self, entry: &TreeEntry) -> io::Result<BTreeMap<String, String>> {
        if !matches!(entry.kind, EntryKind::File { .. } | EntryKind::Folder) {
            return Ok(BTreeMap::new());
        }
        let file = self.open_at(&entry.path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
        attributes_of(&file)
    }

    /// Makes a folder, unless it is there. Whatever else is there goes. Whether it is new.
    pub(crate) fn make_folder(&self, path: &TreePath) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        let name = OsStr::from_bytes(&name);
        match rustix::fs::mkdirat(&folder, name, Mode::RWXU) {
            Err(error) if error == rustix::io::Errno::EXIST => {
                let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                    return Ok(false);
                }
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
                rustix::fs::mkdirat(&folder, name, Mode::RWXU)?;
            }
            other => other?,
        }
        Ok(true)
    }

    /// Gives a folder the owner and the mode that were saved.
    pub(crate) fn own(&self, path: &TreePath, node: &TreeNode) -> io::Result<()> {
        let folder = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let (uid, gid) = (rustix::fs::Uid::from_raw(node.uid), rustix::fs::Gid::from_raw(node.gid));
        rustix::fs::fchown(&folder, Some(uid), Some(gid))?;
        Ok(rustix::fs::fchmod(&folder, Mode::from_raw_mode(unix_mode(node.mode)))?)
    }

    /// Removes an entry and what is below it, if it is there, whatever it is.
    pub(crate) fn remove(&self, path: &TreePath) -> io::Result<()> {
        use rustix::io::Errno;
        let (folder, name) = match self.parent(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let name = OsStr::from_bytes(&name);
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        let opened = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let inner = entry.file_name().to_bytes();
            if inner == b"." || inner == b".." {
                continue;
            }
            let bytes = [&path.to_bytes().unwrap_or_default(), b"/".as_slice(), inner].concat();
            let inner = TreePath::of_bytes(&bytes).map_err(|_| io::ErrorKind::InvalidData)?;
            self.remove(&inner)?;
        }
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
    }

    /// Gives a folder its owner, attributes, mode and time; what already agrees is not written.
    pub(crate) fn dress(&self, entry: &TreeEntry) -> io::Result<()> {
        let folder = self.open_at(&entry.path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let stat = rustix::fs::fstat(&folder)?;
        if (stat.st_uid, stat.st_gid) != (entry.uid, entry.gid) {
            let (uid, gid) = (rustix::fs::Uid::from_raw(entry.uid), rustix::fs::Gid::from_raw(entry.gid));
            rustix::fs::fchown(&folder, Some(uid), Some(gid))?;
        }
        set_attributes(&folder, &entry.attributes)?;
        // After the owner, whose change clears set-id bits, and after lists of access, which are part of the mode.
        if rustix::fs::fstat(&folder)?.st_mode & 0o7777 != entry.mode {
            rustix::fs::fchmod(&folder, Mode::from_raw_mode(entry.mode))?;
        }
        if nanoseconds(stat.st_mtime, stat.st_mtime_nsec) != entry.modified_ns {
            let time = Timespec {
                tv_sec: entry.modified_ns.div_euclid(NS_PER_S),
                tv_nsec: entry.modified_ns.rem_euclid(NS_PER_S),
            };
            rustix::fs::futimens(&folder, &Timestamps { last_access: time, last_modification: time })?;
        }
        Ok(())
    }
}

/// Whether a walk goes on below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Yes,
    No,
}

fn nanoseconds(seconds: impl Into<i64>, ns: impl TryInto<i64>) -> i64 {
    seconds.into().saturating_mul(NS_PER_S).saturating_add(ns.try_into().unwrap_or(0))
}

/// What a look at a file shows.
pub(crate) fn stamp(stat: &Stat) -> FileStamp {
    FileStamp {
        size: stat.st_size as u64,
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
    }
}

/// What a look at an open file shows.
pub(crate) fn stamp_of(file: &File) -> io::Result<FileStamp> {
    Ok(stamp(&rustix::fs::fstat(file)?))
}

/// Whether an attribute is kept: those of the system's own bookkeeping are not.
fn is_kept(name: &str) -> bool {
    name.starts_with("user.")
        || name.starts_with("trusted.")
        || matches!(
            name,
            "system.posix_acl_access" | "system.posix_acl_default" | "security.capability" | "security.selinux"
        )
}

/// Extended attributes of an open file.
pub(crate) fn attributes_of(file: impl AsFd) -> io::Result<BTreeMap<String, String>> {
    let mut list = vec![0_u8; 1024];
    let length = loop {
        match rustix::fs::flistxattr(&file, &mut list[..]) {
            Ok(length) => break length,
            Err(error) if error == rustix::io::Errno::RANGE && list.len() < ATTRIBUTE_MAX => {
                list.resize(ATTRIBUTE_MAX, 0);
            }
            // A file system without them.
            Err(error) if error == rustix::io::Errno::OPNOTSUPP => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        }
    };
    let mut found = BTreeMap::new();
    for name in list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if !is_kept(name) {
            continue;
        }
        let mut value = vec![0_u8; ATTRIBUTE_MAX];
        match rustix::fs::fgetxattr(&file, name, &mut value[..]) {
            Ok(length) => {
                found.insert(name.to_owned(), HEXLOWER.encode(&value[..length]));
            }
            Err(error) if error == rustix::io::Errno::NODATA => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Makes the attributes of an open file those that are wanted.
fn set_attributes(file: impl AsFd, wanted: &BTreeMap<String, String>) -> io::Result<()> {
    let there = attributes_of(&file)?;
    for name in there.keys().filter(|name| !wanted.contains_key(*name)) {
        // A label that the system gave cannot be taken away.
        if name != "security.selinux" {
            rustix::fs::fremovexattr(&file, name.as_str())?;
        }
    }
    for (name, value) in wanted.iter().filter(|(name, value)| there.get(*name) != Some(*value)) {
        let bytes = HEXLOWER_PERMISSIVE.decode(value.as_bytes()).map_err(|_| io::ErrorKind::InvalidData)?;
        rustix::fs::fsetxattr(&file, name.as_str(), &bytes, XattrFlags::empty())?;
    }
    Ok(())
}
