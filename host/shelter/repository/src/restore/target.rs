//! Writes below the target, and never through a symbolic link.

use loadline_shelter_format::{NodeKind, TreeNode, unix_mode};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder that is restored into, or above the file that is restored.
#[derive(Debug)]
pub(super) struct Target {
    above: OwnedFd,
    name: Vec<u8>,
}

/// The folder that was used last: entries come folder by folder.
#[derive(Debug, Default)]
pub(super) struct OpenFolder {
    last: Option<(PathBuf, Arc<OwnedFd>)>,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Target {
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
        let (flags, resolve) = (OFlags::DIRECTORY | OFlags::CLOEXEC, ResolveFlags::NO_SYMLINKS);
        let above = rustix::fs::openat2(CWD, parent, flags, Mode::empty(), resolve)?;
        Ok(Self { above, name: name.as_bytes().to_vec() })
    }

    /// The folder of an entry, opened, and the entry's name in it.
    pub(super) fn place<'p>(
        &'p self,
        path: &'p Path,
        open: &mut OpenFolder,
    ) -> Result<(Arc<OwnedFd>, &'p [u8]), Errno> {
        let Some(name) = path.file_name() else {
            return Ok((Arc::new(self.above.try_clone().map_err(|error| of_io(&error))?), &self.name));
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        if let Some((last, fd)) = &open.last
            && last == folder
        {
            return Ok((Arc::clone(fd), name.as_bytes()));
        }
        let mut fd = rustix::fs::openat(&self.above, self.name.as_slice(), FOLDER, Mode::empty())?;
        for component in folder.components() {
            fd = rustix::fs::openat(&fd, component.as_os_str().as_bytes(), FOLDER, Mode::empty())?;
        }
        let fd = Arc::new(fd);
        open.last = Some((folder.to_owned(), Arc::clone(&fd)));
        Ok((fd, name.as_bytes()))
    }

    /// Makes what was written survive a power cut.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        match rustix::fs::openat(&self.above, self.name.as_slice(), FOLDER, Mode::empty()) {
            Ok(folder) => rustix::fs::syncfs(folder)?,
            Err(_) => rustix::fs::syncfs(&self.above)?,
        }
        rustix::fs::fsync(&self.above)
    }
}

fn of_io(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// What an entry is; `None` when it is not there.
pub(super) fn kind_of(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Option<NodeKind>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(NodeKind::of_unix_mode(stat.st_mode)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes an entry and everything below it.
pub(super) fn remove(folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {
            let inner = rustix::fs::openat(folder, name, FOLDER, Mode::empty())?;
            for below in names(inner.as_fd())? {
                remove(inner.as_fd(), &below)?;
            }
            rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
        }
        Err(error) => Err(error),
    }
}

/// The names in an open folder.
pub(super) fn names(folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// Makes a folder, for the owner alone until its attributes are set. `true` when it is new.
pub(super) fn make_folder(folder: BorrowedFd<'_>, name: &[u8]) -> Result<bool, Errno> {
    match rustix::fs::mkdirat(folder, name, Mode::RWXU) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => {
            if kind_of(folder, name)? == Some(NodeKind::Folder) {
                return Ok(false);
            }
            remove(folder, name)?;
            rustix::fs::mkdirat(folder, name, Mode::RWXU)?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// Makes a symbolic link, a pipe or a device, in place of whatever is there.
pub(super) fn make_special(folder: BorrowedFd<'_>, name: &[u8], node: &TreeNode) -> Result<(), Errno> {
    remove(folder, name)?;
    let kind = match node.kind {
        NodeKind::Symlink => return rustix::fs::symlinkat(node.link_target.as_slice(), folder, name),
        NodeKind::BlockDevice => FileType::BlockDevice,
        NodeKind::CharacterDevice => FileType::CharacterDevice,
        NodeKind::Fifo => FileType::Fifo,
        NodeKind::Socket => FileType::Socket,
        NodeKind::File | NodeKind::Folder => return Err(Errno::INVAL),
    };
    rustix::fs::mknodat(folder, name, kind, Mode::RUSR | Mode::WUSR, node.device)
}

fn times(node: &TreeNode) -> Timestamps {
    let time = |at: loadline_shelter_format::Timestamp| Timespec { tv_sec: at.seconds, tv_nsec: at.nanoseconds.into() };
    Timestamps { last_access: time(node.accessed), last_modification: time(node.modified) }
}

/// Sets owner, mode, extended attributes and times of an open file or folder.
pub(super) fn set_attributes(file: impl AsFd, node: &TreeNode, is_new: bool) -> Result<(), Errno> {
    let file = file.as_fd();
    rustix::fs::fchown(file, Some(Uid::from_raw(node.uid)), Some(Gid::from_raw(node.gid)))?;
    rustix::fs::fchmod(file, Mode::from_raw_mode(unix_mode(node.mode)))?;
    if !is_new {
        for old in crate::save::attributes(file)? {
            if node.attributes.iter().all(|attribute| attribute.name != old.name) {
                rustix::fs::fremovexattr(file, &*old.name)?;
            }
        }
    }
    for attribute in &node.attributes {
        rustix::fs::fsetxattr(file, &*attribute.name, &attribute.value, XattrFlags::empty())?;
    }
    rustix::fs::futimens(file, &times(node))
}

/// Sets owner, mode, extended attributes and times of an entry that is not opened.
pub(super) fn set_attributes_beside(folder: BorrowedFd<'_>, name: &[u8], node: &TreeNode) -> Result<(), Errno> {
    let (uid, gid) = (Some(Uid::from_raw(node.uid)), Some(Gid::from_raw(node.gid)));
    rustix::fs::chownat(folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
    if node.kind != NodeKind::Symlink {
        // We made it just now, and it is no link.
        rustix::fs::chmodat(folder, name, Mode::from_raw_mode(unix_mode(node.mode)), AtFlags::empty())?;
    }
    let mut path = format!("/proc/self/fd/{}/", folder.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    for attribute in &node.attributes {
        rustix::fs::lsetxattr(path.as_slice(), &*attribute.name, &attribute.value, XattrFlags::empty())?;
    }
    rustix::fs::utimensat(folder, name, &times(node), AtFlags::SYMLINK_NOFOLLOW)
}

/// A file to write into, and whether it is new; what cannot be written into is removed.
pub(super) fn open_file(folder: BorrowedFd<'_>, name: &[u8], may_exist: bool) -> Result<(OwnedFd, bool), Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    if may_exist {
        // A file with other names, or no file at all: what is written into it would be seen elsewhere.
        let own = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(NodeKind::of_unix_mode(stat.st_mode) == Some(NodeKind::File) && stat.st_nlink == 1),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error),
        };
        if own == Some(true) {
            match rustix::fs::openat(folder, name, flags, Mode::empty()) {
                Ok(file) => return Ok((file, false)),
                Err(Errno::TXTBSY | Errno::ACCESS) => {}
                Err(error) => return Err(error),
            }
        }
        if own.is_some() {
            remove(folder, name)?;
        }
    }
    match rustix::fs::openat(folder, name, flags | OFlags::CREATE | OFlags::EXCL, mode) {
        Err(Errno::EXIST) if !may_exist => open_file(folder, name, true),
        other => other.map(|file| (file, true)),
    }
}
