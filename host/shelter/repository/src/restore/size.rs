//! What a restore needs, before anything is written: each tree is read once, however many folders have it.

use crate::RepositoryError;
use crate::blob_index::{IdMap, IdSet};
use crate::repository::Repository;
use crate::tree_reader::TreeReader;
use loadline_shelter_format::{NodeKind, ObjectId};
use loadline_units::Bytes;
use std::collections::BTreeSet;

/// Entries of one restore, at most: a crafted snapshot has 2^40 of them out of forty trees.
const ENTRIES_MAX: u64 = 200_000_000;
/// Folders nested deeper than this are refused: nobody saved them.
pub(super) const DEPTH_MAX: usize = 1100;

/// What a restore needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoreSize {
    /// Files, folders and all else.
    pub entries: u64,
    /// Bytes of the disk that contents take at most: without holes of whole chunks, and once for a file with several names.
    pub room: Bytes,
}

/// The blobs that are known to be nothing but zeros.
pub(super) fn zeros() -> IdSet {
    [ObjectId::of(&vec![0; crate::save::FIXED_CHUNK as usize])].into_iter().collect()
}

struct Measure<'a> {
    repository: &'a Repository,
    reader: TreeReader<'a>,
    zeros: IdSet,
    /// Entries and bytes below each tree.
    trees: IdMap<(u64, u64)>,
    /// Files with several names, by device and inode.
    linked: BTreeSet<(u64, u64)>,
}

impl Repository {
    /// What a restore of a whole snapshot needs.
    ///
    /// # Errors
    /// It has more entries than any disk, is nested too deeply, or the storage fails. Trees that are lost count nothing.
    pub fn restore_size(&self, snapshot: ObjectId) -> Result<RestoreSize, RepositoryError> {
        let tree = self.snapshot(snapshot)?.file.tree;
        let (repository, reader) = (self, TreeReader::new(self));
        let (zeros, trees, linked) = (zeros(), IdMap::default(), BTreeSet::new());
        let (entries, bytes) = Measure { repository, reader, zeros, trees, linked }.of(tree, 0)?;
        if entries > ENTRIES_MAX {
            let what = format!("snapshot {snapshot}");
            return Err(RepositoryError::Unusable(what, "it has more entries than any disk"));
        }
        Ok(RestoreSize { entries, room: Bytes::new(bytes) })
    }
}

impl Measure<'_> {
    fn of(&mut self, tree: ObjectId, depth: usize) -> Result<(u64, u64), RepositoryError> {
        if let Some(found) = self.trees.get(&tree) {
            return Ok(*found);
        }
        if depth > DEPTH_MAX {
            return Err(RepositoryError::Unusable(format!("tree {tree}"), "it is nested too deeply"));
        }
        let nodes = match self.reader.tree(tree) {
            Ok(nodes) => nodes,
            // The restore names what is lost.
            Err(RepositoryError::MissingBlob(_) | RepositoryError::Damaged { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let (mut entries, mut bytes) = (0_u64, 0_u64);
        for node in nodes {
            entries = entries.saturating_add(1);
            if let (NodeKind::Folder, Some(below)) = (node.kind, node.subtree) {
                let (more, of) = self.of(below, depth + 1)?;
                (entries, bytes) = (entries.saturating_add(more), bytes.saturating_add(of));
            }
            let is_further_name = node.links > 1 && !self.linked.insert((node.device_id, node.inode));
            if node.kind != NodeKind::File || is_further_name {
                continue;
            }
            for id in node.content.iter().flatten().filter(|id| !self.zeros.contains(*id)) {
                let found = self.repository.index.find(*id);
                bytes = bytes.saturating_add(found.map_or(0, |(_, blob)| u64::from(blob.plain_length())));
            }
        }
        self.trees.insert(tree, (entries, bytes));
        Ok((entries, bytes))
    }
}
