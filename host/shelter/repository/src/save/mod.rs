//! Saves: from files on this machine to a snapshot.
//!
//! One thread walks the folders, others read, hash, compress and seal what changed, and one writes packs. Then the trees are made,
//! the index is written, and last of all the snapshot.

mod assemble;
mod entry;
mod known;
mod packing;
mod pictured;
mod reading;
mod scan;
mod work;

pub(crate) use entry::{EntryStat, attributes};
pub(crate) use known::{KnownEntry, KnownFolder, KnownRoot, Stamp};
pub(crate) use packing::{PackSink, Packer};
pub use pictured::{PicturedEntry, PicturedRoot};

use crate::RepositoryError;
use crate::lease::Lease;
use crate::pacing::{PacedStep, Pacing, Permission};
use crate::repository::Repository;
use crate::storage::{FileKind, StoredFile};
use crate::tree_reader::TreeReader;
use assemble::{AssembledEntry, Assembly};
use loadline_shelter_format::{
    BlobKind, IndexedPack, NodeKind, ObjectId, SnapshotFile, Timestamp, TreeNode, encode_tree, go_mode,
};
use loadline_units::Bytes;
use pictured::{CopyFolders, PicturedPlace};
use reading::FileReader;
use rustix::fs::{Mode, OFlags};
use scan::{ChangedPaths, Draft, DraftEntry, EntryPlace, Scan, Scope};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use work::WorkQueue;

/// The length of chunks of a fixed size.
pub(crate) const FIXED_CHUNK: u64 = 1 << 20;
/// How many threads read at most.
const READERS_MAX: usize = 4;

/// Where files are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chunking {
    /// Each 1 MiB: for databases and all else that is changed in place.
    #[default]
    Fixed,
    /// By the contents, as restic does: for files into which something is inserted.
    ContentDefined,
}

/// What may have changed since the last save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Anything: all folders are walked, and files are read whose stamps changed.
    Everything,
    /// These paths were made, removed or altered; all else below the roots is as it was.
    Paths(Vec<PathBuf>),
}

/// A share of all files, chosen by their paths: each file is in one of `of` shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RereadShare {
    /// Which share: 0 to `of` - 1.
    pub share: u32,
    /// How many shares there are.
    pub of: u32,
}

impl RereadShare {
    /// Whether the file at this absolute path is in it.
    #[must_use]
    pub fn has(self, path: &[u8]) -> bool {
        let id = ObjectId::of(path);
        let number = u32::from_le_bytes([id.0[0], id.0[1], id.0[2], id.0[3]]);
        number % self.of.max(1) == self.share
    }
}

/// What to save.
#[derive(Debug, Clone)]
pub struct SaveRequest {
    /// Folders or files, by absolute paths.
    pub roots: Vec<PathBuf>,
    /// Paths below the roots that are left out, with everything below.
    pub excluded: Vec<PathBuf>,
    /// What may have changed.
    pub changes: Changes,
    /// Files of this share are read even if they look unchanged.
    pub reread: Option<RereadShare>,
    /// Further roots that are not looked at: the snapshot has what its parent has there.
    pub carried: Vec<PathBuf>,
    /// Roots that were looked at before, with the copies that their files are read from. Nothing is looked at below them.
    pub pictured: BTreeMap<PathBuf, PicturedRoot>,
    /// Roots below which every file must be read whole. A save that cannot ends without a snapshot.
    pub exact: Vec<PathBuf>,
    /// What the first save after [`Repository::open`] compares with.
    pub parent: Option<ObjectId>,
    /// Where files are cut.
    pub chunking: Chunking,
    /// The name of this machine.
    pub hostname: String,
    /// Words that go with the snapshot.
    pub tags: Vec<String>,
    /// The time of the snapshot.
    pub time: Timestamp,
    /// The right to write: its epoch goes into the tags, and the save fails if somebody else took it. Without it nobody is fenced.
    pub lease: Option<Lease>,
}

impl SaveRequest {
    /// Everything below these roots.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>, time: Timestamp) -> Self {
        Self {
            roots,
            excluded: Vec::new(),
            changes: Changes::Everything,
            reread: None,
            carried: Vec::new(),
            pictured: BTreeMap::new(),
            exact: Vec::new(),
            parent: None,
            chunking: Chunking::Fixed,
            hostname: String::new(),
            tags: Vec::new(),
            time,
            lease: None,
        }
    }
}

/// An entry that could not be read.
#[derive(Debug)]
pub struct UnreadableEntry {
    /// Where it is.
    pub path: PathBuf,
    /// The reason.
    pub reason: std::io::Error,
    /// Whether the snapshot has its earlier version.
    pub is_kept: bool,
}

/// What a save did.
#[derive(Debug)]
pub struct Saved {
    /// The snapshot: a new one, or the last one when nothing changed.
    pub snapshot: ObjectId,
    /// Whether anything changed; otherwise nothing was written.
    pub is_new: bool,
    /// How many entries were looked at.
    pub entries_seen: u64,
    /// How many files were read.
    pub files_read: u64,
    /// How much of them.
    pub bytes_read: Bytes,
    /// What was written into the repository.
    pub bytes_stored: Bytes,
    /// How many files were written into the repository.
    pub objects: u64,
    /// Files that changed each time while they were read: the snapshot has their earlier versions.
    pub retained: Vec<PathBuf>,
    /// What could not be read, with the reasons.
    pub unreadable: Vec<UnreadableEntry>,
}

impl Saved {
    /// Whether every file below these roots was read whole.
    fn is_exact(&self, roots: &[PathBuf]) -> Result<(), RepositoryError> {
        let changing = self.retained.iter().map(|path| (path, "it changed whenever it was read".to_owned()));
        let unreadable = self.unreadable.iter().map(|entry| (&entry.path, entry.reason.to_string()));
        match changing.chain(unreadable).find(|(path, _)| roots.iter().any(|root| path.starts_with(root))) {
            None => Ok(()),
            Some((path, reason)) => Err(RepositoryError::NotExact { path: path.clone(), reason }),
        }
    }
}

/// A root with its folder opened.
struct Root {
    path: PathBuf,
    known: Option<KnownRoot>,
}

fn checked_roots(roots: &[PathBuf]) -> Result<Vec<PathBuf>, RepositoryError> {
    let wrong = |path: &Path, reason| RepositoryError::Unusable(path.display().to_string(), reason);
    let mut sorted: Vec<PathBuf> = roots.to_vec();
    sorted.sort();
    sorted.dedup();
    if sorted.is_empty() {
        return Err(RepositoryError::Unusable("a save of nothing".to_owned(), "it has no roots"));
    }
    for (index, root) in sorted.iter().enumerate() {
        let mut components = root.components();
        let is_plain = components.next() == Some(Component::RootDir)
            && components.clone().count() > 0
            && components.all(|component| matches!(component, Component::Normal(_)));
        if !is_plain {
            return Err(wrong(root, "it is not an absolute path below /"));
        }
        if sorted[..index].iter().any(|above| root.starts_with(above)) {
            return Err(wrong(root, "it lies below another root"));
        }
    }
    Ok(sorted)
}

impl Repository {
    /// Saves files. The snapshot is there when this returns without an error; after an error there is none, and everything
    /// that was saved before is as it was.
    ///
    /// # Errors
    /// The request makes no sense, a root is not there, the storage fails, or the pacing asked for a stop. Files that cannot be read are
    /// no error: they are in [`Saved`].
    pub fn save(&mut self, request: &SaveRequest, pacing: &dyn Pacing) -> Result<Saved, RepositoryError> {
        let paths = checked_roots(&[request.roots.as_slice(), request.carried.as_slice()].concat())?;
        let roots = self.known_roots(paths, request.parent)?;
        let parent = roots.iter().find_map(|root| root.known.as_ref()).map(|known| known.snapshot);
        let began = reading::now();
        let sink = PackSink::new(self, pacing);
        let written = save_roots(&sink, &roots, request, pacing, began);
        let draft = match (written, sink.take_failure()) {
            (Ok(draft), None) => draft,
            (_, Some(error)) | (Err(error), None) => return Err(error),
        };
        let mut saved = draft.saved;
        saved.is_exact(&request.exact)?;
        if draft.is_unchanged
            && let Some(parent) = parent
            && roots.iter().all(|root| root.known.as_ref().is_some_and(|known| known.snapshot == parent))
        {
            saved.snapshot = parent;
            self.remember(roots, draft.roots, parent);
            return Ok(saved);
        }
        if pacing.before(PacedStep::Commit) == Permission::Stop {
            return Err(RepositoryError::Stopped);
        }
        let (packs, stored_bytes) = sink.stored();
        saved.objects = packs.len() as u64;
        saved.bytes_stored = Bytes::new(stored_bytes);
        // Another writer that took the lease meanwhile may remove packs that no index has yet.
        let confirm =
            |repository: &Self| request.lease.as_ref().map_or(Ok(()), |lease| repository.confirm_lease(lease));
        confirm(self)?;
        self.write_indexes(&packs, &mut saved, pacing)?;
        confirm(self)?;
        let snapshot = SnapshotFile {
            time: request.time,
            parent,
            tree: draft.tree,
            paths: roots.iter().map(|root| root.path.to_string_lossy().into_owned()).collect(),
            hostname: request.hostname.clone(),
            username: String::new(),
            tags: request.tags.iter().cloned().chain(request.lease.as_ref().map(Lease::tag)).collect(),
            program_version: concat!("loadline ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        let (id, sealed) = self.seal_unpacked(&snapshot.encode())?;
        self.put(StoredFile::Named(FileKind::Snapshot, id), &sealed, &mut saved, pacing)?;
        saved.snapshot = id;
        saved.is_new = true;
        self.remember(roots, draft.roots, id);
        Ok(saved)
    }

    fn remember(&mut self, roots: Vec<Root>, entries: Vec<Option<AssembledEntry>>, snapshot: ObjectId) {
        for (root, entry) in roots.into_iter().zip(entries) {
            self.known.remove(&root.path);
            if let Some(AssembledEntry { node, known }) = entry {
                self.known.insert(root.path, KnownRoot { snapshot, node, entry: known });
            }
        }
    }

    fn put(
        &self,
        file: StoredFile,
        bytes: &[u8],
        saved: &mut Saved,
        pacing: &dyn Pacing,
    ) -> Result<(), RepositoryError> {
        let length = Bytes::new(bytes.len() as u64);
        if pacing.before(PacedStep::WriteRepository(length)) == Permission::Stop {
            return Err(RepositoryError::Stopped);
        }
        self.storage.write(file, bytes)?;
        saved.objects += 1;
        saved.bytes_stored = saved.bytes_stored + length;
        Ok(())
    }

    /// Writes an index of these packs; afterwards their blobs are known.
    fn write_indexes(
        &mut self,
        packs: &[IndexedPack],
        saved: &mut Saved,
        pacing: &dyn Pacing,
    ) -> Result<(), RepositoryError> {
        for (id, sealed) in self.seal_indexes(packs.to_vec())? {
            self.put(StoredFile::Named(FileKind::Index, id), &sealed, saved, pacing)?;
        }
        for pack in packs {
            self.index.add(pack);
        }
        Ok(())
    }

    /// What is known of each root: from the last save, or from the parent.
    fn known_roots(&self, paths: Vec<PathBuf>, parent: Option<ObjectId>) -> Result<Vec<Root>, RepositoryError> {
        let mut loaded: Option<SnapshotFile> = None;
        let mut roots = Vec::new();
        for path in paths {
            let mut known = self.known.get(&path).cloned();
            if let (None, Some(id)) = (&known, parent) {
                if loaded.is_none() {
                    loaded = Some(self.snapshot(id)?.file);
                }
                if let Some(file) = &loaded {
                    known = self.load_root(id, file, &path)?;
                }
            }
            roots.push(Root { path, known });
        }
        Ok(roots)
    }

    /// What a snapshot says about a root; `None` if it does not have it, or its trees are lost.
    fn load_root(
        &self,
        id: ObjectId,
        snapshot: &SnapshotFile,
        path: &Path,
    ) -> Result<Option<KnownRoot>, RepositoryError> {
        let mut reader = TreeReader::new(self);
        let mut tree = snapshot.tree;
        let mut names = path.components().skip(1).peekable();
        while let Some(name) = names.next() {
            let nodes = match reader.tree(tree) {
                Ok(nodes) => nodes,
                Err(RepositoryError::MissingBlob(_) | RepositoryError::Damaged { .. }) => return Ok(None),
                Err(other) => return Err(other),
            };
            let node = nodes.into_iter().find(|node| node.name == name.as_os_str().as_bytes());
            let Some(node) = node else { return Ok(None) };
            if names.peek().is_none() {
                return match KnownFolder::load_entry(self, &mut reader, &node, snapshot.time) {
                    Ok(entry) => Ok(Some(KnownRoot { snapshot: id, node, entry })),
                    Err(RepositoryError::MissingBlob(_) | RepositoryError::Damaged { .. }) => Ok(None),
                    Err(other) => Err(other),
                };
            }
            let Some(subtree) = node.subtree else { return Ok(None) };
            tree = subtree;
        }
        Ok(None)
    }
}

/// What a save found before its index and snapshot are written.
struct SaveDraft {
    saved: Saved,
    tree: ObjectId,
    roots: Vec<Option<AssembledEntry>>,
    is_unchanged: bool,
}

/// Walks, reads, and makes trees; all packs are stored when this returns.
fn save_roots(
    sink: &PackSink<'_>,
    roots: &[Root],
    request: &SaveRequest,
    pacing: &dyn Pacing,
    began: Timestamp,
) -> Result<SaveDraft, RepositoryError> {
    let work = WorkQueue::default();
    let readers = std::thread::available_parallelism().map_or(1, usize::from).min(READERS_MAX);
    std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..sink.repository.storage.writers()).map(|_| scope.spawn(|| sink.write_packs())).collect();
        let readers: Vec<_> = (0..readers)
            .map(|_| {
                let work = &work;
                scope.spawn(move || {
                    let packer = Packer::new(sink, BlobKind::Data)?;
                    Ok(FileReader::new(work, packer, request.chunking).run())
                })
            })
            .collect();
        let mut scan = Scan {
            work: &work,
            ended: sink.ended(),
            pacing,
            excluded: request.excluded.iter().cloned().collect::<BTreeSet<_>>(),
            reread: request.reread,
            device: 0,
            files: Vec::new(),
            unreadable: Vec::new(),
            entries: 0,
        };
        let walked: Result<Vec<_>, _> = roots.iter().map(|root| walk_root(&mut scan, root, request)).collect();
        if walked.is_err() {
            sink.ended().store(true, std::sync::atomic::Ordering::Relaxed);
        }
        work.close();
        let results: Result<Vec<_>, RepositoryError> =
            readers.into_iter().map(|reader| reader.join().unwrap_or(Err(RepositoryError::Stopped))).collect();
        let draft = walked.and_then(|walked| Ok((walked, results?))).and_then(|(walked, results)| {
            let mut outcomes: Vec<Option<_>> = (0..scan.files.len()).map(|_| None).collect();
            let (mut rests, mut bytes_read) = (Vec::new(), 0);
            for result in results {
                bytes_read += result.bytes_read;
                rests.push(result.rest);
                for (number, outcome) in result.outcomes {
                    outcomes[number] = Some(outcome);
                }
            }
            let assembly = Assembly {
                packer: Packer::new(sink, BlobKind::Tree)?,
                outcomes,
                paths: &scan.files,
                began,
                retained: Vec::new(),
                unreadable: scan.unreadable,
                files_read: 0,
            };
            Packer::new(sink, BlobKind::Data)?.finish(rests)?;
            let mut draft = assemble_roots(assembly, roots, walked)?;
            draft.saved.entries_seen = scan.entries;
            draft.saved.bytes_read = Bytes::new(bytes_read);
            Ok(draft)
        });
        if draft.is_err() {
            sink.ended().store(true, std::sync::atomic::Ordering::Relaxed);
        }
        sink.close();
        for writer in writers {
            if writer.join().is_err() {
                return Err(RepositoryError::Stopped);
            }
        }
        draft
    })
}

/// Walks one root. A root that is not there is an error: a source that is not mounted is not an empty one.
fn walk_root(scan: &mut Scan<'_>, root: &Root, request: &SaveRequest) -> Result<DraftEntry, RepositoryError> {
    let cannot = |error| RepositoryError::machine("save", &root.path, error);
    let (parent, name) = (root.path.parent(), root.path.file_name());
    let (Some(parent), Some(name)) = (parent, name) else { return Err(cannot(rustix::io::Errno::INVAL)) };
    if request.carried.contains(&root.path) {
        return Ok(DraftEntry { name: name.as_bytes().into(), stat: None, draft: Draft::Kept });
    }
    if let Some(PicturedRoot { taken, entry }) = request.pictured.get(&root.path) {
        let (path, known) = (root.path.as_path(), root.known.as_ref().map(|known| &known.entry));
        let place = PicturedPlace { entry, name: name.as_bytes(), path, known, is_exact: true, taken: *taken };
        return scan.pictured(&place, &mut CopyFolders::default());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = Arc::new(rustix::fs::open(parent, flags, Mode::empty()).map_err(cannot)?);
    let stat = rustix::fs::statat(&*folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).map_err(cannot)?;
    scan.device = EntryStat::of(&stat).map_or(0, |stat| stat.device);
    let mut changed = ChangedPaths::default();
    let scope = match &request.changes {
        Changes::Paths(paths) if root.known.is_some() => {
            for path in paths {
                path.strip_prefix(&root.path).into_iter().for_each(|path| changed.add(path));
            }
            Scope::Only(&changed)
        }
        _ => Scope::Everything,
    };
    let place = EntryPlace {
        folder: &folder,
        name: name.as_bytes(),
        path: &root.path,
        known: root.known.as_ref().map(|known| &known.entry),
        scope,
        depth: 0,
        is_exact: true,
    };
    let mut batch = Vec::new();
    let entry = scan.entry(&place, &mut batch)?;
    scan.send(&folder, &mut batch)?;
    entry.ok_or_else(|| cannot(rustix::io::Errno::NOENT))
}

/// The trees above the roots, by the name of each.
#[derive(Default)]
struct Above {
    below: BTreeMap<Vec<u8>, Above>,
    root: Option<TreeNode>,
}

fn assemble_roots(
    mut assembly: Assembly<'_, '_, '_>,
    roots: &[Root],
    walked: Vec<DraftEntry>,
) -> Result<SaveDraft, RepositoryError> {
    let mut above = Above::default();
    let mut assembled = Vec::with_capacity(roots.len());
    let mut is_unchanged = true;
    for (root, entry) in roots.iter().zip(walked) {
        let before = root.known.as_ref().map(|known| (&known.node, &known.entry));
        let entry = assembly.entry(entry, before)?;
        let node = entry.as_ref().map(|entry| &entry.node);
        is_unchanged &= node.is_some() && node == root.known.as_ref().map(|known| &known.node);
        if let Some(node) = node {
            let mut place = &mut above;
            for name in root.path.components().skip(1) {
                place = place.below.entry(name.as_os_str().as_bytes().to_vec()).or_default();
            }
            place.root = Some(node.clone());
        }
        assembled.push(entry);
    }
    // Blobs that were lost may have been stored again although nothing changed.
    is_unchanged &= !assembly.packer.sink.has_new_blobs();
    let tree = if is_unchanged { ObjectId::default() } else { assemble_above(&mut assembly, &above, Path::new("/"))? };
    let Assembly { packer, retained, unreadable, files_read, .. } = assembly;
    packer.finish(Vec::new())?;
    let saved = Saved {
        snapshot: ObjectId::default(),
        is_new: false,
        entries_seen: 0,
        files_read,
        bytes_read: Bytes::new(0),
        bytes_stored: Bytes::new(0),
        objects: 0,
        retained,
        unreadable,
    };
    Ok(SaveDraft { saved, tree, roots: assembled, is_unchanged })
}

fn assemble_above(
    assembly: &mut Assembly<'_, '_, '_>,
    above: &Above,
    path: &Path,
) -> Result<ObjectId, RepositoryError> {
    let mut nodes = Vec::with_capacity(above.below.len());
    for (name, inner) in &above.below {
        if let Some(node) = &inner.root {
            nodes.push(node.clone());
            continue;
        }
        let path = path.join(std::ffi::OsStr::from_bytes(name));
        let node = match rustix::fs::lstat(&path) {
            Ok(stat) => EntryStat::of(&stat).map(|stat| stat.node(name)),
            // What is saved from a picture may be there no more.
            Err(rustix::io::Errno::NOENT) => Some(TreeNode {
                mode: go_mode(NodeKind::Folder, 0o755),
                ..TreeNode::new(name.clone(), NodeKind::Folder)
            }),
            Err(error) => return Err(RepositoryError::machine("look at", &path, error)),
        };
        let subtree = assemble_above(assembly, inner, &path)?;
        nodes.extend(node.map(|node| TreeNode { subtree: Some(subtree), ..node }));
    }
    assembly.packer.add(&encode_tree(&nodes))
}
