//! What a restore has to do: entries of a snapshot, in the order in which they are restored.

use super::RestoreRequest;
use super::size::DEPTH_MAX;
use crate::RepositoryError;
use crate::repository::Repository;
use crate::tree_reader::TreeReader;
use loadline_shelter_format::{NodeKind, ObjectId, TreeNode, encode_tree};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An entry to restore.
#[derive(Debug)]
pub(super) struct PlannedEntry {
    /// Below the target.
    pub(super) path: PathBuf,
    pub(super) node: TreeNode,
    /// For a folder: the numbers of its entries, and whether all of them are to be restored.
    pub(super) below: Vec<usize>,
    pub(super) is_whole: bool,
    /// For a folder: the blob of its entries.
    pub(super) blob: Vec<u8>,
}

/// All entries, each after its folder; the first is the target itself.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) entries: Vec<PlannedEntry>,
    /// Folders whose entries are lost.
    pub(super) lost: Vec<(PathBuf, RepositoryError)>,
}

/// The node of a path in a snapshot.
pub(super) fn find(
    repository: &Repository,
    reader: &mut TreeReader<'_>,
    snapshot: ObjectId,
    path: &Path,
) -> Result<Option<TreeNode>, RepositoryError> {
    let mut tree = Some(repository.snapshot(snapshot)?.file.tree);
    let mut found = None;
    for name in path.components().skip(1) {
        let Some(id) = tree else { return Ok(None) };
        let name = name.as_os_str().as_bytes();
        let Some(node) = reader.tree(id)?.into_iter().find(|node| node.name == name) else { return Ok(None) };
        tree = node.subtree;
        found = Some(node);
    }
    Ok(found)
}

impl PlannedEntry {
    /// Whether it is a file that has other names, too.
    pub(super) fn is_one_of_several_names(&self) -> bool {
        self.node.kind == NodeKind::File && self.node.links > 1
    }
}

impl Plan {
    pub(super) fn of(
        reader: &mut TreeReader<'_>,
        root: TreeNode,
        request: &RestoreRequest,
    ) -> Result<Self, RepositoryError> {
        let mut plan = Self::default();
        plan.add(reader, root, PathBuf::new(), request, 0)?;
        Ok(plan)
    }

    fn add(
        &mut self,
        reader: &mut TreeReader<'_>,
        node: TreeNode,
        path: PathBuf,
        request: &RestoreRequest,
        depth: usize,
    ) -> Result<usize, RepositoryError> {
        let number = self.entries.len();
        let subtree = node.subtree.filter(|_| node.kind == NodeKind::Folder);
        let entry = PlannedEntry { path: path.clone(), node, below: Vec::new(), is_whole: true, blob: Vec::new() };
        self.entries.push(entry);
        let Some(subtree) = subtree else { return Ok(number) };
        let nodes = match reader.tree(subtree) {
            Ok(nodes) if depth < DEPTH_MAX => nodes,
            Ok(_) => return Err(RepositoryError::Unusable(path.display().to_string(), "it is nested too deeply")),
            Err(RepositoryError::Stopped) => return Err(RepositoryError::Stopped),
            Err(error) => {
                self.entries[number].is_whole = false;
                self.lost.push((path, error));
                return Ok(number);
            }
        };
        self.entries[number].blob = encode_tree(&nodes);
        let mut below = Vec::with_capacity(nodes.len());
        for node in nodes {
            let inner = path.join(OsStr::from_bytes(&node.name));
            if request.untouched.contains(&inner) {
                continue;
            }
            if request.wants(&inner) {
                below.push(self.add(reader, node, inner, request, depth + 1)?);
            } else {
                self.entries[number].is_whole = false;
            }
        }
        self.entries[number].below = below;
        Ok(number)
    }
}

impl RestoreRequest {
    /// Whether an entry is asked for, or leads to one that is.
    fn wants(&self, path: &Path) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| path.starts_with(only) || only.starts_with(path))
    }

    /// The place of a path in the order that was asked for.
    pub(super) fn rank(&self, path: &Path) -> usize {
        self.order.iter().position(|first| path.starts_with(first)).unwrap_or(self.order.len())
    }
}
