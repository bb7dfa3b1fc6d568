//! What was on the disk when it was saved last: by this, unchanged files are known without reading them.

use super::entry::EntryStat;
use crate::RepositoryError;
use crate::repository::Repository;
use crate::tree_reader::TreeReader;
use loadline_shelter_format::{
    NodeKind, ObjectId, Timestamp, TreeNode, decode_tree, decode_unpacked, encode_tree, encode_unpacked,
};
use std::sync::Arc;

/// By what a changed entry differs from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
}

fn nanoseconds(at: Timestamp) -> i64 {
    at.seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(at.nanoseconds))
}

/// File systems stamp changes by a clock that ticks this slowly: changes within a tick look the same.
const TICK_NS: i64 = 20_000_000;

impl Stamp {
    /// Differs from every entry: whatever has it is read again.
    pub(crate) const UNKNOWN: Self = Self { inode: u64::MAX, size: u64::MAX, modified_ns: 0, changed_ns: 0 };

    pub(crate) fn of(stat: &EntryStat) -> Self {
        Self {
            inode: stat.inode,
            size: if stat.kind == NodeKind::Folder { 0 } else { stat.size },
            modified_ns: nanoseconds(stat.modified),
            changed_ns: nanoseconds(stat.changed),
        }
    }

    fn of_node(node: &TreeNode) -> Self {
        Self {
            inode: node.inode,
            size: node.size,
            modified_ns: nanoseconds(node.modified),
            changed_ns: nanoseconds(node.changed),
        }
    }

    /// The same, unless a later change could look the same: one just before it was looked at.
    pub(crate) fn if_settled(self, looked_at: Timestamp) -> Self {
        let last = self.changed_ns.max(self.modified_ns);
        if last.saturating_add(TICK_NS) < nanoseconds(looked_at) { self } else { Self::UNKNOWN }
    }
}

/// An entry as it was.
#[derive(Debug, Clone)]
pub(crate) struct KnownEntry {
    pub(crate) name: Box<[u8]>,
    pub(crate) stamp: Stamp,
    pub(crate) folder: Option<Arc<KnownFolder>>,
}

/// A folder as it was, with everything below.
#[derive(Debug)]
pub(crate) struct KnownFolder {
    /// The blob of its entries.
    pub(crate) tree: ObjectId,
    /// That blob, compressed.
    packed: Box<[u8]>,
    /// By name.
    pub(crate) entries: Vec<KnownEntry>,
    /// Whether the blob says about the entries what `entries` does: after a restore the contents are the same, but not the inodes.
    pub(crate) exact: bool,
}

impl KnownFolder {
    pub(crate) fn new(tree: ObjectId, blob: &[u8], entries: Vec<KnownEntry>) -> Self {
        let packed = encode_unpacked(blob).unwrap_or_else(|_| blob.to_vec()).into_boxed_slice();
        Self { tree, packed, entries, exact: true }
    }

    /// The entries as they were saved.
    pub(crate) fn nodes(&self) -> Vec<TreeNode> {
        // This is our own copy of what was decoded or encoded before.
        decode_unpacked(self.packed.to_vec()).and_then(|blob| decode_tree(&blob)).unwrap_or_default()
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&KnownEntry> {
        let place = self.entries.binary_search_by(|entry| entry.name.as_ref().cmp(name)).ok()?;
        Some(&self.entries[place])
    }

    /// What a snapshot says about a folder and everything below. Files whose contents are not all there are unknown.
    pub(crate) fn load(
        repository: &Repository,
        reader: &mut TreeReader<'_>,
        tree: ObjectId,
        saved_at: Timestamp,
    ) -> Result<Self, RepositoryError> {
        let nodes = reader.tree(tree)?;
        let mut entries = Vec::with_capacity(nodes.len());
        for node in &nodes {
            entries.push(Self::load_entry(repository, reader, node, saved_at)?);
        }
        Ok(Self::new(tree, &encode_tree(&nodes), entries))
    }

    pub(crate) fn load_entry(
        repository: &Repository,
        reader: &mut TreeReader<'_>,
        node: &TreeNode,
        saved_at: Timestamp,
    ) -> Result<KnownEntry, RepositoryError> {
        let folder = match node.subtree {
            Some(subtree) => Some(Arc::new(Self::load(repository, reader, subtree, saved_at)?)),
            None => None,
        };
        let whole = node.content.iter().flatten().all(|blob| repository.index.contains(*blob));
        let stamp = if whole { Stamp::of_node(node).if_settled(saved_at) } else { Stamp::UNKNOWN };
        Ok(KnownEntry { name: node.name.clone().into_boxed_slice(), stamp, folder })
    }
}

/// A root of an earlier save.
#[derive(Debug, Clone)]
pub(crate) struct KnownRoot {
    /// The snapshot.
    pub(crate) snapshot: ObjectId,
    /// What it says about the root itself.
    pub(crate) node: TreeNode,
    pub(crate) entry: KnownEntry,
}
