//! Restores: from a snapshot to files on this machine.
//!
//! Folders are made first, then files are filled by several threads, then links are set, and owners, modes, attributes and times
//! of folders come last. A restore may be done again: what is right already is kept.

mod files;
mod plan;
mod size;
mod target;

pub use size::RestoreSize;

use crate::RepositoryError;
use crate::pacing::Pacing;
use crate::repository::Repository;
use crate::save::{EntryStat, KnownEntry, KnownFolder, KnownRoot, Stamp};
use crate::tree_reader::TreeReader;
use files::{FileFailure, FileRestore};
use loadline_shelter_format::{NodeKind, ObjectId, TreeNode, decode_tree};
use loadline_units::Bytes;
use parking_lot::Mutex;
use plan::{Plan, PlannedEntry, find};
use rustix::fd::AsFd;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::{OpenFolder, Target, make_folder, make_special, names, remove, set_attributes, set_attributes_beside};

/// How many threads restore.
const THREADS: usize = 4;

/// What happens with entries of the target that the snapshot does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extras {
    /// They stay.
    #[default]
    Keep,
    /// They are removed: afterwards there is what the snapshot has.
    Remove,
}

/// What to restore.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    /// From which snapshot.
    pub snapshot: ObjectId,
    /// A path that was saved, or one below.
    pub source: PathBuf,
    /// What it becomes here; the folder above must be there.
    pub target: PathBuf,
    /// Only these paths below the source; everything if there are none.
    pub only: Vec<PathBuf>,
    /// What comes first: paths below the source.
    pub order: Vec<PathBuf>,
    /// Paths below the source that are neither restored nor removed.
    pub untouched: Vec<PathBuf>,
    /// What happens with what the snapshot does not have.
    pub extras: Extras,
    /// Earlier snapshots, the best first: a file whose contents are lost is restored from there.
    pub fall_back: Vec<ObjectId>,
    /// Files with several names, shared by restores of one snapshot into one file system.
    pub linked: LinkedFiles,
}

/// Where files with several names were restored first, by device and inode.
#[derive(Debug, Clone, Default)]
pub struct LinkedFiles(Arc<Mutex<BTreeMap<(u64, u64), LinkedFile>>>);

#[derive(Debug, Clone)]
struct LinkedFile {
    path: PathBuf,
    content: Option<Vec<ObjectId>>,
}

/// The file of which an entry is a further name.
enum FirstName {
    /// An entry of this restore.
    Entry(usize),
    /// A path of an earlier one.
    Elsewhere(PathBuf),
}

impl RestoreRequest {
    /// Everything below a path that was saved.
    #[must_use]
    pub fn new(snapshot: ObjectId, source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self {
            snapshot,
            source: source.into(),
            target: target.into(),
            only: Vec::new(),
            order: Vec::new(),
            untouched: Vec::new(),
            extras: Extras::Keep,
            fall_back: Vec::new(),
            linked: LinkedFiles::default(),
        }
    }
}

/// An entry that was not restored, or not completely.
#[derive(Debug)]
pub struct FailedEntry {
    /// Where it should be.
    pub path: PathBuf,
    /// The reason.
    pub reason: RepositoryError,
}

/// What a restore did.
#[derive(Debug)]
pub struct Restored {
    /// How many files have their contents.
    pub files: u64,
    /// How many folders there are.
    pub folders: u64,
    /// What was written.
    pub bytes_written: Bytes,
    /// What was right already.
    pub bytes_kept: Bytes,
    /// Entries that are not as they were saved.
    pub failed: Vec<FailedEntry>,
    /// Files that are as an earlier snapshot has them, with its name.
    pub fallen_back: Vec<(PathBuf, ObjectId)>,
    /// How many entries were removed since the snapshot does not have them.
    pub removed: u64,
}

impl RepositoryError {
    /// The same error for a further file.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Damaged { file, source } => Self::Damaged { file: *file, source: source.clone() },
            Self::MissingBlob(id) => Self::MissingBlob(*id),
            Self::Storage(error) => Self::Storage(crate::StorageError::new(
                error.attempt,
                error.what.clone(),
                error.kind,
                error.source.to_string(),
            )),
            _ => Self::Stopped,
        }
    }
}

impl Repository {
    /// What a snapshot says of an entry; `None` if it does not have it.
    ///
    /// # Errors
    /// The storage fails, or a folder above the entry is lost.
    pub fn node(&self, snapshot: ObjectId, path: &Path) -> Result<Option<TreeNode>, RepositoryError> {
        find(self, &mut TreeReader::new(self), snapshot, path)
    }

    /// Restores a snapshot. What was restored survives a power cut when this returns.
    ///
    /// # Errors
    /// There is no such snapshot or source, the target cannot be opened, or the pacing asked for a stop. Entries that cannot be restored
    /// are no error: they are in [`Restored`].
    pub fn restore(&mut self, request: &RestoreRequest, pacing: &dyn Pacing) -> Result<Restored, RepositoryError> {
        let (restored, known) = Restore::new(self, request, pacing)?.run()?;
        if let Some(known) = known {
            self.known.insert(request.target.clone(), known);
        }
        Ok(restored)
    }
}

struct Restore<'a> {
    repository: &'a Repository,
    request: &'a RestoreRequest,
    pacing: &'a dyn Pacing,
    target: Target,
    plan: Plan,
    open: OpenFolder,
    restored: Restored,
}

impl<'a> Restore<'a> {
    fn new(
        repository: &'a Repository,
        request: &'a RestoreRequest,
        pacing: &'a dyn Pacing,
    ) -> Result<Self, RepositoryError> {
        let mut reader = TreeReader::new(repository);
        let root = find(repository, &mut reader, request.snapshot, &request.source)?.ok_or_else(|| {
            RepositoryError::Unusable(request.source.display().to_string(), "the snapshot does not have it")
        })?;
        let target = Target::open(&request.target)
            .map_err(|error| RepositoryError::machine("restore into", &request.target, error))?;
        let mut plan = Plan::of(&mut reader, root, request)?;
        let mut restored = Restored {
            files: 0,
            folders: 0,
            bytes_written: Bytes::new(0),
            bytes_kept: Bytes::new(0),
            failed: Vec::new(),
            fallen_back: Vec::new(),
            removed: 0,
        };
        for (path, reason) in std::mem::take(&mut plan.lost) {
            restored.failed.push(FailedEntry { path: request.target.join(path), reason });
        }
        Ok(Self { repository, request, pacing, target, plan, open: OpenFolder::default(), restored })
    }

    fn run(mut self) -> Result<(Restored, Option<KnownRoot>), RepositoryError> {
        let is_fresh = self.folders();
        let (order, links) = self.order();
        let entries = std::mem::take(&mut self.plan.entries);
        let files = FileRestore::new(self.repository, &self.target, self.pacing, &entries, &is_fresh, &order);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let files = files.run(threads)?;
        self.restored.files += files.files;
        self.restored.bytes_written = Bytes::new(files.bytes_written);
        self.restored.bytes_kept = Bytes::new(files.bytes_kept);
        let mut stamps = files.stamps;
        let mut lost = BTreeSet::new();
        for (entry, failure) in files.failed {
            lost.insert(entry);
            let reason = match failure {
                FileFailure::Repository(error) => error,
                FileFailure::Target(error) => {
                    RepositoryError::machine("restore", self.request.target.join(&entries[entry].path), error)
                }
            };
            if !self.fall_back(&entries[entry], &reason)? {
                self.fail(&entries[entry].path, reason);
            }
        }
        for (entry, first) in &links {
            let entry = *entry;
            match self.link(&entries[entry], first, &entries) {
                Ok(stamp) => {
                    self.restored.files += 1;
                    stamps.insert(entry, stamp);
                }
                Err(error) => self.fail_by(&entries[entry].path, error),
            }
        }
        // The first names of files whose further ones may be elsewhere.
        for entry in stamps.keys().map(|number| &entries[*number]).filter(|entry| entry.is_one_of_several_names()) {
            let file = LinkedFile { path: self.request.target.join(&entry.path), content: entry.node.content.clone() };
            self.request.linked.0.lock().entry((entry.node.device_id, entry.node.inode)).or_insert(file);
        }
        for (number, entry) in entries.iter().enumerate() {
            if !matches!(entry.node.kind, NodeKind::File | NodeKind::Folder | NodeKind::Socket) {
                match self.special(entry) {
                    Ok(stamp) => {
                        stamps.insert(number, stamp);
                    }
                    Err(error) => self.fail_by(&entry.path, error),
                }
            }
        }
        // From the deepest on: what is done below a folder changes its time.
        for (number, entry) in entries.iter().enumerate().rev().filter(|(_, entry)| entry.node.kind == NodeKind::Folder)
        {
            match self.finish_folder(entry, &entries) {
                Ok(stamp) => {
                    self.restored.folders += 1;
                    stamps.insert(number, stamp);
                }
                Err(error) => self.fail_by(&entry.path, error),
            }
        }
        self.target.sync().map_err(|error| RepositoryError::machine("sync", &self.request.target, error))?;
        let known = self.known(&entries, &stamps);
        Ok((self.restored, known))
    }

    fn fail(&mut self, path: &Path, reason: RepositoryError) {
        self.restored.failed.push(FailedEntry { path: self.request.target.join(path), reason });
    }

    fn fail_by(&mut self, path: &Path, error: Errno) {
        let full = self.request.target.join(path);
        self.fail(path, RepositoryError::machine("restore", full, error));
    }

    /// Makes all folders. For each entry, whether its folder is new.
    fn folders(&mut self) -> Vec<bool> {
        let mut is_fresh = vec![false; self.plan.entries.len()];
        let entries = std::mem::take(&mut self.plan.entries);
        for entry in entries.iter().filter(|entry| entry.node.kind == NodeKind::Folder) {
            let made = self
                .target
                .place(&entry.path, &mut self.open)
                .and_then(|(folder, name)| make_folder(folder.as_fd(), name));
            match made {
                Ok(is_new) => entry.below.iter().for_each(|below| is_fresh[*below] = is_new),
                Err(error) => self.fail_by(&entry.path, error),
            }
        }
        self.plan.entries = entries;
        is_fresh
    }

    /// The files in the order in which they are restored, and further names of files with the first name.
    fn order(&self) -> (Vec<usize>, Vec<(usize, FirstName)>) {
        let (mut order, mut links) = (Vec::new(), Vec::new());
        let linked = self.request.linked.0.lock();
        let mut first_names: BTreeMap<(u64, u64), usize> = BTreeMap::new();
        for (number, entry) in self.plan.entries.iter().enumerate() {
            let node = &entry.node;
            if node.kind != NodeKind::File {
                continue;
            }
            if entry.is_one_of_several_names() {
                // Of another moment it may be another file.
                let elsewhere = linked.get(&(node.device_id, node.inode)).filter(|file| file.content == node.content);
                // One of this target is of an earlier restore of the same request, and is restored anew.
                let elsewhere = elsewhere.filter(|file| !file.path.starts_with(&self.request.target));
                if let Some(file) = elsewhere {
                    links.push((number, FirstName::Elsewhere(file.path.clone())));
                    continue;
                }
                match first_names.entry((node.device_id, node.inode)) {
                    Entry::Occupied(first) if self.plan.entries[*first.get()].node.content == node.content => {
                        links.push((number, FirstName::Entry(*first.get())));
                        continue;
                    }
                    Entry::Occupied(_) => {}
                    Entry::Vacant(place) => {
                        place.insert(number);
                    }
                }
            }
            let place = node.content.iter().flatten().next().and_then(|id| self.repository.index.find(*id));
            let place = place.map(|(pack, blob)| (pack, blob.offset));
            order.push((self.request.rank(&entry.path), place, number));
        }
        order.sort_unstable();
        (order.into_iter().map(|(.., number)| number).collect(), links)
    }

    /// Sets a further name of a file.
    fn link(&mut self, entry: &PlannedEntry, first: &FirstName, entries: &[PlannedEntry]) -> Result<Stamp, Errno> {
        let above: Arc<OwnedFd>;
        let (from, from_name) = match first {
            FirstName::Entry(first) => self.target.place(&entries[*first].path, &mut OpenFolder::default())?,
            FirstName::Elsewhere(path) => {
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
                let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
                let resolve = ResolveFlags::NO_SYMLINKS;
                above = Arc::new(rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)?);
                (Arc::clone(&above), name.as_bytes())
            }
        };
        let (folder, name) = self.target.place(&entry.path, &mut self.open)?;
        remove(folder.as_fd(), name)?;
        rustix::fs::linkat(&*from, from_name, &*folder, name, AtFlags::empty())?;
        stamp_of(folder.as_fd(), name)
    }

    fn special(&mut self, entry: &PlannedEntry) -> Result<Stamp, Errno> {
        let (folder, name) = self.target.place(&entry.path, &mut self.open)?;
        make_special(folder.as_fd(), name, &entry.node)?;
        set_attributes_beside(folder.as_fd(), name, &entry.node)?;
        stamp_of(folder.as_fd(), name)
    }

    /// Removes what the snapshot does not have, and sets owner, mode, attributes and times.
    fn finish_folder(&mut self, entry: &PlannedEntry, entries: &[PlannedEntry]) -> Result<Stamp, Errno> {
        let (above, name) = self.target.place(&entry.path, &mut OpenFolder::default())?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&*above, name, flags, Mode::empty())?;
        if self.request.extras == Extras::Remove && entry.is_whole {
            let wanted: BTreeSet<&[u8]> =
                entry.below.iter().map(|below| entries[*below].node.name.as_slice()).collect();
            for found in names(folder.as_fd())? {
                let path = entry.path.join(OsStr::from_bytes(&found));
                if wanted.contains(found.as_slice()) || self.request.untouched.contains(&path) {
                    continue;
                }
                match remove(folder.as_fd(), &found) {
                    Ok(()) => self.restored.removed += 1,
                    Err(error) => self.fail_by(&path, error),
                }
            }
        }
        // Folders that only lead to what is restored stay as they are.
        let is_asked =
            self.request.only.is_empty() || self.request.only.iter().any(|only| entry.path.starts_with(only));
        if is_asked {
            set_attributes(&folder, &entry.node, false)?;
        }
        EntryStat::of(&rustix::fs::fstat(&folder)?).map(|stat| Stamp::of(&stat)).ok_or(Errno::INVAL)
    }

    /// Restores a file as an earlier snapshot has it. `false` when none has it.
    fn fall_back(&mut self, entry: &PlannedEntry, reason: &RepositoryError) -> Result<bool, RepositoryError> {
        if matches!(reason, RepositoryError::Machine { .. }) {
            return Ok(false);
        }
        let source = self.request.source.join(&entry.path);
        for snapshot in &self.request.fall_back {
            let mut reader = TreeReader::new(self.repository);
            let Ok(Some(node)) = find(self.repository, &mut reader, *snapshot, &source) else { continue };
            if node.kind != NodeKind::File || node.content == entry.node.content {
                continue;
            }
            let earlier =
                [PlannedEntry { path: entry.path.clone(), node, below: Vec::new(), is_whole: true, blob: Vec::new() }];
            let files =
                FileRestore::new(self.repository, &self.target, self.pacing, &earlier, &[false], &[0]).run(1)?;
            if files.failed.is_empty() {
                self.restored.files += 1;
                self.restored.bytes_written = self.restored.bytes_written + Bytes::new(files.bytes_written);
                self.restored.fallen_back.push((self.request.target.join(&entry.path), *snapshot));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the next save need not read: everything that is now as it was saved.
    fn known(&self, entries: &[PlannedEntry], stamps: &BTreeMap<usize, Stamp>) -> Option<KnownRoot> {
        let root = entries.first()?;
        if self.request.source != self.request.target || !self.request.only.is_empty() {
            return None;
        }
        let entry = known_entry(0, entries, stamps);
        Some(KnownRoot { snapshot: self.request.snapshot, node: root.node.clone(), entry })
    }
}

fn known_entry(number: usize, entries: &[PlannedEntry], stamps: &BTreeMap<usize, Stamp>) -> KnownEntry {
    let entry = &entries[number];
    let folder = entry.node.subtree.filter(|_| !entry.blob.is_empty()).map(|tree| {
        let mut below: Vec<KnownEntry> = entry.below.iter().map(|below| known_entry(*below, entries, stamps)).collect();
        // What was left out is in the blob, and unknown on the disk.
        for node in decode_tree(&entry.blob).unwrap_or_default() {
            if below.binary_search_by(|known| known.name.as_ref().cmp(&node.name)).is_err() {
                let place = below.partition_point(|known| *known.name < *node.name);
                let name = node.name.into_boxed_slice();
                below.insert(place, KnownEntry { name, stamp: Stamp::UNKNOWN, folder: None });
            }
        }
        let mut folder = KnownFolder::new(tree, &entry.blob, below);
        folder.exact = false;
        Arc::new(folder)
    });
    let stamp = stamps.get(&number).copied().unwrap_or(Stamp::UNKNOWN);
    KnownEntry { name: entry.node.name.clone().into_boxed_slice(), stamp, folder }
}

fn stamp_of(folder: rustix::fd::BorrowedFd<'_>, name: &[u8]) -> Result<Stamp, Errno> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    EntryStat::of(&stat).map(|stat| Stamp::of(&stat)).ok_or(Errno::INVAL)
}
