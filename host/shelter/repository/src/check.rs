//! Checks: is everything there that a restore needs, and is it what it was?

use crate::blob_index::{BlobIndex, IdMap, IdSet};
use crate::pacing::{PacedStep, Pacing, Permission};
use crate::repository::Repository;
use crate::storage::{FileKind, StoredFile};
use crate::tree_reader::TreeReader;
use crate::{RepositoryError, StoredSnapshot};
use loadline_shelter_format::{Decompression, FormatError, IndexedPack, NodeKind, ObjectId, decode_blob, pack_header};
use loadline_units::Bytes;

/// How much of the contents is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckedData {
    /// None: snapshots, indexes and trees only.
    Nothing,
    /// One share of all packs, chosen by their names: 0 to `of` - 1.
    Share {
        /// Which share.
        share: u32,
        /// How many shares there are.
        of: u32,
    },
    /// All of it.
    Everything,
}

/// Something that a restore would miss.
#[derive(Debug)]
pub enum CheckFinding {
    /// A file of the repository is not there or damaged.
    File {
        /// Which one.
        file: StoredFile,
        /// What is wrong.
        reason: RepositoryError,
    },
    /// A snapshot needs blobs that are missing or damaged.
    Snapshot {
        /// Which one.
        snapshot: ObjectId,
        /// One such blob.
        blob: ObjectId,
        /// How many there are.
        blobs: u64,
    },
}

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// How many snapshots there are.
    pub snapshots: u64,
    /// How many packs there are.
    pub packs: u64,
    /// How many packs were read.
    pub packs_read: u64,
    /// How much of them.
    pub bytes_read: Bytes,
    /// Packs that no index knows: left by a save that was killed. They do no harm.
    pub unreferenced: u64,
    /// What is wrong.
    pub findings: Vec<CheckFinding>,
}

impl Repository {
    /// Checks that everything is there that snapshots need, and reads contents as asked. Others may save meanwhile: snapshots are
    /// listed first and packs last, the other way round than a save writes them.
    ///
    /// # Errors
    /// Files cannot be listed, or the pacing asked for a stop. What is wrong is in [`Checked`].
    pub fn check(&self, data: CheckedData, pacing: &dyn Pacing) -> Result<Checked, RepositoryError> {
        let mut checked = Checked {
            snapshots: 0,
            packs: 0,
            packs_read: 0,
            bytes_read: Bytes::new(0),
            unreferenced: 0,
            findings: Vec::new(),
        };
        let snapshots = self.storage.list(FileKind::Snapshot)?;
        let mut packs: IdMap<IndexedPack> = IdMap::default();
        let mut index = BlobIndex::default();
        for listed in self.storage.list(FileKind::Index)? {
            match self.read_index_file(listed.id) {
                Ok(file) => packs.extend(file.packs.into_iter().map(|pack| (pack.id, pack))),
                Err(reason) => {
                    let file = StoredFile::Named(FileKind::Index, listed.id);
                    checked.findings.push(CheckFinding::File { file, reason });
                }
            }
        }
        for pack in packs.values() {
            index.add(pack);
        }
        let present: IdMap<u64> =
            self.storage.list(FileKind::Pack)?.into_iter().map(|listed| (listed.id, listed.length)).collect();
        checked.packs = packs.len() as u64;
        checked.unreferenced = present.keys().filter(|id| !packs.contains_key(*id)).count() as u64;
        let mut lost = IdSet::default();
        let mut sorted: Vec<&IndexedPack> = packs.values().collect();
        sorted.sort_by_key(|pack| pack.id);
        for pack in sorted {
            let reason = match present.get(&pack.id) {
                None => Some(RepositoryError::MissingPack(pack.id)),
                Some(length) if pack.blobs.iter().any(|blob| blob.end() > *length) => {
                    let source = FormatError::Truncated { what: "a pack" };
                    Some(RepositoryError::Damaged { file: StoredFile::Named(FileKind::Pack, pack.id), source })
                }
                Some(length) if data.has(pack.id) => {
                    if pacing.before(PacedStep::ReadRepository(Bytes::new(*length))) == Permission::Stop {
                        return Err(RepositoryError::Stopped);
                    }
                    checked.packs_read += 1;
                    checked.bytes_read = checked.bytes_read + Bytes::new(*length);
                    self.check_pack(pack, &mut lost).err()
                }
                Some(_) => None,
            };
            let Some(reason) = reason else { continue };
            if matches!(reason, RepositoryError::MissingPack(_)) {
                lost.extend(pack.blobs.iter().map(|blob| blob.id));
            }
            let file = StoredFile::Named(FileKind::Pack, pack.id);
            checked.findings.push(CheckFinding::File { file, reason });
        }
        let mut whole = IdSet::default();
        for listed in snapshots {
            checked.snapshots += 1;
            match self.snapshot(listed.id) {
                Ok(snapshot) => {
                    checked.findings.extend(self.check_snapshot(&snapshot, &index, &lost, &mut whole, pacing)?);
                }
                Err(reason) => {
                    let file = StoredFile::Named(FileKind::Snapshot, listed.id);
                    checked.findings.push(CheckFinding::File { file, reason });
                }
            }
        }
        Ok(checked)
    }

    /// Reads a whole pack: its name, its header, and every blob. Blobs that are lost are noted.
    fn check_pack(&self, pack: &IndexedPack, lost: &mut IdSet) -> Result<(), RepositoryError> {
        let file = StoredFile::Named(FileKind::Pack, pack.id);
        let damaged = |source| RepositoryError::Damaged { file, source };
        let bytes = match self.storage.read(file) {
            Ok(bytes) => bytes,
            Err(error) => {
                lost.extend(pack.blobs.iter().map(|blob| blob.id));
                return Err(error.into());
            }
        };
        let found = ObjectId::of(&bytes);
        if found == pack.id {
            let header = pack_header(&self.key, &bytes, bytes.len() as u64).map_err(damaged)?;
            if pack.blobs.iter().all(|blob| header.contains(blob)) {
                return Ok(());
            }
        }
        // Something is wrong: which blobs can still be had?
        let (mut decompression, mut plain) = (Decompression::default(), Vec::new());
        for blob in &pack.blobs {
            let sealed = bytes.get(blob.offset as usize..blob.end() as usize).unwrap_or_default();
            if decode_blob(&self.key, blob, sealed, &mut decompression, &mut plain).is_err() {
                lost.insert(blob.id);
            }
        }
        let source = if found == pack.id {
            FormatError::Invalid { what: "a pack", detail: "the index says otherwise than its header".to_owned() }
        } else {
            FormatError::OtherContents { expected: pack.id, found }
        };
        Err(damaged(source))
    }

    /// Walks the trees of a snapshot; those below `whole` were walked before.
    fn check_snapshot(
        &self,
        snapshot: &StoredSnapshot,
        index: &BlobIndex,
        lost: &IdSet,
        whole: &mut IdSet,
        pacing: &dyn Pacing,
    ) -> Result<Option<CheckFinding>, RepositoryError> {
        let mut reader = TreeReader::by(self, index);
        let (mut missing, mut visited) = (Vec::new(), Vec::new());
        let (mut trees, mut met) = (vec![snapshot.file.tree], IdSet::default());
        while let Some(tree) = trees.pop() {
            // A tree is looked into once, however many folders have it.
            if whole.contains(&tree) || !met.insert(tree) {
                continue;
            }
            if pacing.before(PacedStep::ReadRepository(Bytes::new(0))) == Permission::Stop {
                return Err(RepositoryError::Stopped);
            }
            let Ok(nodes) = reader.tree(tree) else {
                missing.push(tree);
                continue;
            };
            visited.push(tree);
            for node in &nodes {
                let blobs = node.content.iter().flatten();
                missing.extend(blobs.filter(|id| lost.contains(*id) || !index.contains(**id)));
                trees.extend(node.subtree.filter(|_| node.kind == NodeKind::Folder));
            }
        }
        if missing.is_empty() {
            whole.extend(visited);
        }
        let blobs = missing.len() as u64;
        Ok(missing.first().map(|blob| CheckFinding::Snapshot { snapshot: snapshot.id, blob: *blob, blobs }))
    }
}

impl CheckedData {
    fn has(self, pack: ObjectId) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Share { share, of } => {
                let number = u32::from_le_bytes([pack.0[0], pack.0[1], pack.0[2], pack.0[3]]);
                number % of.max(1) == share
            }
        }
    }
}
