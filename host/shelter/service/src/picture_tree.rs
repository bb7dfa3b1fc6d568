//! Trees that were looked at before a save, in the repository's words.

use crate::repository_copy::timestamp;
use crate::saving::Picture;
use crate::tree_files::SeenEntry;
use loadline_shelter_policy::tree::{EntryKind, TreeEntry, TreePath, unescaped};
use loadline_shelter_repository::{ExtendedAttribute, NodeKind, PicturedEntry};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a picture has at a path and below.
pub(crate) fn pictured_tree(picture: &Picture<'_>, path: &str) -> Option<PicturedEntry> {
    let inner = picture.walked.entries.iter().filter(|(inner, _)| inner.is_within(path));
    tree_of(inner.map(|(inner, seen)| (inner, pictured_entry(picture, seen))), path)
}

/// The tree at a path: of entries in the order of their paths.
pub(crate) fn tree_of<'e>(
    entries: impl Iterator<Item = (&'e TreePath, PicturedEntry)>,
    path: &str,
) -> Option<PicturedEntry> {
    let mut top: Option<PicturedEntry> = None;
    for (inner, entry) in entries {
        let bytes = inner.to_bytes()?;
        let Some(below) = bytes.get(path.len() + 1..) else {
            top = Some(entry);
            continue;
        };
        // A folder sorts before what is in it.
        let mut names = below.split(|byte| *byte == b'/').peekable();
        let mut place = top.as_mut()?;
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                place.below.insert(name.to_vec(), entry);
                break;
            }
            place = place.below.get_mut(name)?;
        }
    }
    top
}

fn pictured_entry(picture: &Picture<'_>, seen: &SeenEntry) -> PicturedEntry {
    let SeenEntry { entry, stamp, links, .. } = seen;
    PicturedEntry {
        modified: timestamp(stamp.modified_ns),
        changed: timestamp(picture.changed.get(&entry.path).copied().unwrap_or(stamp.changed_ns)),
        inode: stamp.inode,
        device: picture.root.device(),
        links: *links,
        ..entry_of(entry, picture.frozen.place(&entry.path))
    }
}

/// An entry without what only the disk knows.
pub(crate) fn entry_of(entry: &TreeEntry, contents: Option<PathBuf>) -> PicturedEntry {
    let (kind, size, link_target) = match &entry.kind {
        EntryKind::Folder => (NodeKind::Folder, 0, Vec::new()),
        EntryKind::File { size, .. } => (NodeKind::File, *size, Vec::new()),
        EntryKind::Link { to } => {
            let target = unescaped(to).unwrap_or_default();
            (NodeKind::Symlink, target.len() as u64, target)
        }
        EntryKind::Pipe => (NodeKind::Fifo, 0, Vec::new()),
    };
    let attributes = entry.attributes.iter().filter_map(|(name, value)| {
        let value = data_encoding::HEXLOWER_PERMISSIVE.decode(value.as_bytes()).ok()?;
        Some(ExtendedAttribute { name: name.clone(), value })
    });
    PicturedEntry {
        kind,
        permissions: entry.mode,
        uid: entry.uid,
        gid: entry.gid,
        size,
        modified: timestamp(entry.modified_ns),
        changed: timestamp(entry.modified_ns),
        inode: 0,
        device: 0,
        links: 1,
        link_target,
        attributes: attributes.collect(),
        contents,
        below: BTreeMap::new(),
    }
}
