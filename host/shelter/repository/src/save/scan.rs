//! Walks folders and finds what changed: unchanged files are known by their stamps, changed folders by their paths.

use super::entry::{EntryStat, attributes, attributes_beside};
use super::known::{KnownEntry, KnownFolder, Stamp};
use super::pictured::PicturedFile;
use super::reading::{now, open_without_atime};
use super::work::{FileBatch, WorkQueue};
use super::{RereadShare, UnreadableEntry};
use crate::RepositoryError;
use crate::pacing::{PacedStep, Pacing, Permission};
use loadline_shelter_format::{ExtendedAttribute, NodeKind, Timestamp, TreeNode};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How many files of a folder one thread reads in one go.
const BATCH: usize = 32;
/// Folders nested deeper than this are not entered.
const DEPTH_MAX: usize = 1000;

/// Which paths below a folder changed.
#[derive(Debug, Default)]
pub(crate) struct ChangedPaths {
    /// This path itself changed: it was made, removed, or altered.
    is_changed: bool,
    below: BTreeMap<Box<[u8]>, ChangedPaths>,
}

impl ChangedPaths {
    /// Adds a path, relative to the root.
    pub(crate) fn add(&mut self, path: &Path) {
        let mut place = self;
        for component in path.components() {
            place = place.below.entry(component.as_os_str().as_bytes().into()).or_default();
        }
        place.is_changed = true;
    }
}

/// How much of a folder is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'c> {
    Everything,
    Only(&'c ChangedPaths),
}

/// What is known so far about an entry.
pub(crate) enum Draft {
    /// As it was saved before.
    Kept,
    /// The contents are as they were saved before, the rest is not.
    SameContents,
    /// A file that is being read, by its number.
    File(usize),
    /// Nothing more is needed.
    Ready(Box<TreeNode>),
    /// A folder and what is below.
    Folder(WalkedFolder, Vec<ExtendedAttribute>),
}

pub(crate) struct DraftEntry {
    pub(crate) name: Box<[u8]>,
    /// `None` only for what is kept without a look.
    pub(crate) stat: Option<EntryStat>,
    pub(crate) draft: Draft,
}

/// A folder that was walked.
pub(crate) enum WalkedFolder {
    /// Nothing below changed.
    Same(Arc<KnownFolder>),
    /// Its entries, by name, and what it was before.
    Changed(Vec<DraftEntry>, Option<Arc<KnownFolder>>),
}

impl WalkedFolder {
    /// A folder with these entries, which had other ones or the same.
    pub(crate) fn of(entries: Vec<DraftEntry>, known: Option<&Arc<KnownFolder>>) -> Self {
        match known {
            Some(known)
                if known.exact
                    && known.entries.len() == entries.len()
                    && entries.iter().all(|entry| matches!(entry.draft, Draft::Kept)) =>
            {
                Self::Same(Arc::clone(known))
            }
            known => Self::Changed(entries, known.cloned()),
        }
    }
}

/// One walk over the roots of a save.
pub(crate) struct Scan<'a> {
    pub(crate) work: &'a WorkQueue,
    pub(crate) ended: &'a AtomicBool,
    pub(crate) pacing: &'a dyn Pacing,
    pub(crate) excluded: BTreeSet<PathBuf>,
    pub(crate) reread: Option<RereadShare>,
    pub(crate) device: u64,
    /// The path of each file that is read, by its number.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) unreadable: Vec<UnreadableEntry>,
    pub(crate) entries: u64,
}

/// A name in an open folder.
#[derive(Clone, Copy)]
pub(crate) struct EntryPlace<'p> {
    pub(crate) folder: &'p Arc<OwnedFd>,
    pub(crate) name: &'p [u8],
    pub(crate) path: &'p Path,
    pub(crate) known: Option<&'p KnownEntry>,
    pub(crate) scope: Scope<'p>,
    pub(crate) depth: usize,
    /// Whether what is known is also what was saved.
    pub(crate) is_exact: bool,
}

/// A file that waits to be read.
pub(crate) struct WaitingFile {
    pub(crate) number: usize,
    /// Its name in the folder that it is read from.
    pub(crate) name: Box<[u8]>,
    /// Whether an earlier version was saved.
    pub(crate) seen_before: bool,
    /// What it was when its copy was made, if it is read from one.
    pub(crate) pictured: Option<Box<PicturedFile>>,
}

/// Files of a folder that wait to be read.
pub(crate) type Batch = Vec<WaitingFile>;

impl Scan<'_> {
    /// Looks at an entry. `None` when it is not there or nothing that is saved.
    pub(crate) fn entry(
        &mut self,
        place: &EntryPlace<'_>,
        batch: &mut Batch,
    ) -> Result<Option<DraftEntry>, RepositoryError> {
        let EntryPlace { folder, name, path, known, is_exact, .. } = *place;
        let kept = || known.map(|known| DraftEntry { name: known.name.clone(), stat: None, draft: Draft::Kept });
        let stat = match rustix::fs::statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => EntryStat::of(&stat),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => {
                self.cannot_read(path, error, known.is_some());
                return Ok(kept());
            }
        };
        self.entries += 1;
        let Some(stat) = stat.filter(|stat| stat.kind != NodeKind::Socket) else { return Ok(None) };
        let is_same = known.is_some_and(|known| known.stamp == Stamp::of(&stat));
        let draft = match stat.kind {
            NodeKind::File if is_same && !self.is_read_again(path) => {
                Ok(if is_exact { Draft::Kept } else { Draft::SameContents })
            }
            NodeKind::File => {
                let number = self.files.len();
                self.files.push(path.to_owned());
                let seen_before = known.is_some();
                batch.push(WaitingFile { number, name: name.into(), seen_before, pictured: None });
                if batch.len() >= BATCH {
                    self.send(folder, batch)?;
                }
                Ok(Draft::File(number))
            }
            NodeKind::Folder => match self.folder(place, &stat) {
                Ok((WalkedFolder::Same(_), _)) if is_same && is_exact => Ok(Draft::Kept),
                Ok((walked, attributes)) => Ok(Draft::Folder(walked, attributes)),
                Err(ScanError::File(error)) => Err(error),
                Err(ScanError::Save(error)) => return Err(error),
            },
            _ if is_same && is_exact => Ok(Draft::Kept),
            _ => special(folder, name, &stat).map(|node| Draft::Ready(Box::new(node))),
        };
        Ok(match draft {
            Ok(draft) => Some(DraftEntry { name: name.into(), stat: Some(stat), draft }),
            Err(Errno::NOENT) => None,
            Err(error) => {
                self.cannot_read(path, error, known.is_some());
                kept()
            }
        })
    }

    fn cannot_read(&mut self, path: &Path, error: Errno, is_kept: bool) {
        self.unreadable.push(UnreadableEntry { path: path.to_owned(), reason: error.into(), is_kept });
    }

    pub(crate) fn is_read_again(&self, path: &Path) -> bool {
        self.reread.is_some_and(|share| share.has(path.as_os_str().as_bytes()))
    }

    /// Hands files of a folder to the readers.
    pub(crate) fn send(&self, folder: &Arc<OwnedFd>, files: &mut Batch) -> Result<(), RepositoryError> {
        let files = std::mem::take(files);
        if files.is_empty() || self.work.push(FileBatch { folder: Arc::clone(folder), files }, self.ended) {
            Ok(())
        } else {
            Err(RepositoryError::Stopped)
        }
    }

    fn folder(
        &mut self,
        place: &EntryPlace<'_>,
        stat: &EntryStat,
    ) -> Result<(WalkedFolder, Vec<ExtendedAttribute>), ScanError> {
        let folder = Arc::new(open_without_atime(place.folder, place.name, OFlags::DIRECTORY)?);
        let attributes = attributes(&*folder)?;
        if stat.device != self.device {
            // Another file system: the folder is there, what is mounted on it is not saved.
            return Ok((WalkedFolder::Changed(Vec::new(), None), attributes));
        }
        if place.depth >= DEPTH_MAX {
            return Err(ScanError::File(Errno::NAMETOOLONG));
        }
        let known = place.known.and_then(|known| known.folder.as_ref());
        Ok((self.walk(&folder, place.path, known, place.scope, place.depth)?, attributes))
    }

    fn walk(
        &mut self,
        folder: &Arc<OwnedFd>,
        path: &Path,
        known: Option<&Arc<KnownFolder>>,
        scope: Scope<'_>,
        depth: usize,
    ) -> Result<WalkedFolder, ScanError> {
        let scope = if known.is_some() { scope } else { Scope::Everything };
        let is_listed = match scope {
            Scope::Everything => true,
            Scope::Only(changed) => changed.is_changed,
        };
        let names = match (scope, known) {
            (Scope::Only(changed), Some(known)) if !is_listed => {
                let known = known.entries.iter().map(|entry| entry.name.clone());
                known.chain(changed.below.keys().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
            }
            _ => names(folder)?,
        };
        if self.pacing.before(PacedStep::Scan { entries: names.len() as u64 }) == Permission::Stop {
            return Err(ScanError::Save(RepositoryError::Stopped));
        }
        let is_exact = known.is_none_or(|known| known.exact);
        let mut entries = Vec::with_capacity(names.len());
        let mut batch = Vec::new();
        for name in names {
            let before = known.and_then(|known| known.find(&name));
            let inner = match scope {
                Scope::Everything => Some(Scope::Everything),
                Scope::Only(changed) => match changed.below.get(&name) {
                    Some(below) => Some(Scope::Only(below)),
                    None if is_listed && before.is_none() => Some(Scope::Everything),
                    None if is_listed => Some(Scope::Only(&NOTHING)),
                    None => None,
                },
            };
            let Some(inner) = inner else {
                // Not named as changed: it is as it was.
                entries.push(DraftEntry { name, stat: None, draft: Draft::Kept });
                continue;
            };
            let below = path.join(OsStr::from_bytes(&name));
            if self.excluded.contains(&below) {
                continue;
            }
            let place = EntryPlace {
                folder,
                name: &name,
                path: &below,
                known: before,
                scope: inner,
                depth: depth + 1,
                is_exact,
            };
            entries.extend(self.entry(&place, &mut batch).map_err(ScanError::Save)?);
        }
        self.send(folder, &mut batch).map_err(ScanError::Save)?;
        Ok(WalkedFolder::of(entries, known))
    }
}

static NOTHING: ChangedPaths = ChangedPaths { is_changed: false, below: BTreeMap::new() };

enum ScanError {
    File(Errno),
    Save(RepositoryError),
}

impl From<Errno> for ScanError {
    fn from(error: Errno) -> Self {
        Self::File(error)
    }
}

/// The names in a folder, in order.
fn names(folder: &Arc<OwnedFd>) -> Result<Vec<Box<[u8]>>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(&**folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.into());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// A symbolic link, a pipe or a device.
fn special(folder: &Arc<OwnedFd>, name: &[u8], stat: &EntryStat) -> Result<TreeNode, Errno> {
    let mut node = stat.node(name);
    if stat.kind == NodeKind::Symlink {
        node.link_target = rustix::fs::readlinkat(&**folder, name, Vec::new())?.into_bytes();
    }
    node.attributes = attributes_beside(&**folder, name)?;
    Ok(node)
}

/// What is known about an entry for the next save.
pub(crate) fn settled(stat: &EntryStat, looked_at: Option<Timestamp>) -> Stamp {
    Stamp::of(stat).if_settled(looked_at.unwrap_or_else(now))
}
