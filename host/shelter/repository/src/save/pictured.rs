//! Trees that were looked at before the save: their files are read from copies that nobody changes.

use super::entry::EntryStat;
use super::known::{KnownEntry, Stamp};
use super::scan::{Batch, Draft, DraftEntry, Scan, WaitingFile, WalkedFolder};
use crate::RepositoryError;
use crate::pacing::{PacedStep, Permission};
use loadline_shelter_format::{ExtendedAttribute, NodeKind, Timestamp, TreeNode};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An entry as it was at an earlier moment. A save takes it for what is there, and does not look at the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedEntry {
    /// What it is: a file, a folder, a symbolic link or a pipe.
    pub kind: NodeKind,
    /// The last twelve bits of its mode.
    pub permissions: u32,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
    /// Bytes of a file: as many as its copy has.
    pub size: u64,
    /// When the contents changed last.
    pub modified: Timestamp,
    /// When contents or attributes changed last.
    pub changed: Timestamp,
    /// Number of the inode.
    pub inode: u64,
    /// The file system.
    pub device: u64,
    /// Names of the inode.
    pub links: u64,
    /// Where a symbolic link leads.
    pub link_target: Vec<u8>,
    /// Its extended attributes.
    pub attributes: Vec<ExtendedAttribute>,
    /// The copy of a file. Without one, the contents are those of the last save.
    pub contents: Option<PathBuf>,
    /// The entries of a folder, by name.
    pub below: BTreeMap<Vec<u8>, PicturedEntry>,
}

/// A tree as it was at an earlier moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturedRoot {
    /// When the look began: what changed just before may change again unseen.
    pub taken: Timestamp,
    /// The root and everything below.
    pub entry: PicturedEntry,
}

/// What a save says about a file that is read from its copy.
#[derive(Debug, Clone)]
pub(crate) struct PicturedFile {
    pub(crate) stat: EntryStat,
    pub(crate) attributes: Vec<ExtendedAttribute>,
    pub(crate) taken: Timestamp,
}

impl PicturedEntry {
    fn stat(&self) -> EntryStat {
        EntryStat {
            kind: self.kind,
            permissions: self.permissions,
            uid: self.uid,
            gid: self.gid,
            size: self.size,
            modified: self.modified,
            changed: self.changed,
            inode: self.inode,
            device: self.device,
            links: self.links,
            device_number: 0,
        }
    }
}

/// A place in a pictured tree.
#[derive(Clone, Copy)]
pub(crate) struct PicturedPlace<'p> {
    pub(crate) entry: &'p PicturedEntry,
    pub(crate) name: &'p [u8],
    pub(crate) path: &'p Path,
    pub(crate) known: Option<&'p KnownEntry>,
    /// Whether what is known is also what was saved.
    pub(crate) is_exact: bool,
    pub(crate) taken: Timestamp,
}

/// Folders that are open at once, at most.
const FOLDERS_MAX: usize = 64;

/// The folders of copies that are open: mostly all copies are in one.
#[derive(Default)]
pub(crate) struct CopyFolders(BTreeMap<PathBuf, Arc<OwnedFd>>);

impl CopyFolders {
    fn open(&mut self, copy: &Path) -> Result<Arc<OwnedFd>, RepositoryError> {
        let folder = copy.parent().unwrap_or(Path::new("/"));
        if let Some(open) = self.0.get(folder) {
            return Ok(Arc::clone(open));
        }
        // Others than root may have written where old copies lie: no link is followed.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open =
            rustix::fs::openat2(rustix::fs::CWD, folder, flags, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS);
        let open = Arc::new(open.map_err(|error| RepositoryError::machine("open", folder, error))?);
        if self.0.len() >= FOLDERS_MAX {
            self.0.clear();
        }
        self.0.insert(folder.to_path_buf(), Arc::clone(&open));
        Ok(open)
    }
}

impl Scan<'_> {
    /// Takes an entry of a picture for what is there.
    pub(crate) fn pictured(
        &mut self,
        place: &PicturedPlace<'_>,
        folders: &mut CopyFolders,
    ) -> Result<DraftEntry, RepositoryError> {
        let PicturedPlace { entry, name, path, known, is_exact, taken } = *place;
        self.entries += 1;
        let stat = entry.stat();
        let is_same = known.is_some_and(|known| known.stamp == Stamp::of(&stat));
        let kept = if is_exact { Draft::Kept } else { Draft::SameContents };
        let draft = match entry.kind {
            NodeKind::File => match &entry.contents {
                Some(_) if is_same && !self.is_read_again(path) => kept,
                None if is_same => kept,
                Some(copy) => {
                    let number = self.files.len();
                    self.files.push(path.to_owned());
                    let pictured = PicturedFile { stat, attributes: entry.attributes.clone(), taken };
                    let file = WaitingFile {
                        number,
                        name: copy.file_name().unwrap_or_default().as_bytes().into(),
                        seen_before: known.is_some(),
                        pictured: Some(Box::new(pictured)),
                    };
                    let mut batch: Batch = vec![file];
                    self.send(&folders.open(copy)?, &mut batch)?;
                    Draft::File(number)
                }
                None => {
                    let reason = "its contents are not those of the last save, and there is no copy of them";
                    return Err(RepositoryError::NotExact { path: path.to_owned(), reason: reason.to_owned() });
                }
            },
            NodeKind::Folder => match self.pictured_folder(place, folders)? {
                WalkedFolder::Same(_) if is_same && is_exact => Draft::Kept,
                walked => Draft::Folder(walked, entry.attributes.clone()),
            },
            _ if is_same && is_exact => Draft::Kept,
            _ => Draft::Ready(Box::new(TreeNode {
                link_target: entry.link_target.clone(),
                attributes: entry.attributes.clone(),
                ..stat.node(name)
            })),
        };
        Ok(DraftEntry { name: name.into(), stat: Some(stat), draft })
    }

    fn pictured_folder(
        &mut self,
        place: &PicturedPlace<'_>,
        folders: &mut CopyFolders,
    ) -> Result<WalkedFolder, RepositoryError> {
        let below = &place.entry.below;
        if self.pacing.before(PacedStep::Scan { entries: below.len() as u64 }) == Permission::Stop {
            return Err(RepositoryError::Stopped);
        }
        let known = place.known.and_then(|known| known.folder.as_ref());
        let is_exact = known.is_none_or(|known| known.exact);
        let mut entries = Vec::with_capacity(below.len());
        for (name, entry) in below {
            let path = place.path.join(OsStr::from_bytes(name));
            let known = known.and_then(|known| known.find(name));
            let inner = PicturedPlace { entry, name, path: &path, known, is_exact, taken: place.taken };
            entries.push(self.pictured(&inner, folders)?);
        }
        Ok(WalkedFolder::of(entries, known))
    }
}
