//! Trees from what was walked and read, from the leaves to the root.

use super::UnreadableEntry;
use super::entry::EntryStat;
use super::known::{KnownEntry, KnownFolder, Stamp};
use super::packing::Packer;
use super::reading::FileOutcome;
use super::scan::{Draft, DraftEntry, WalkedFolder, settled};
use crate::RepositoryError;
use loadline_shelter_format::{Timestamp, TreeNode, encode_tree};
use std::path::PathBuf;
use std::sync::Arc;

/// Makes trees.
pub(crate) struct Assembly<'a, 's, 'r> {
    pub(crate) packer: Packer<'s, 'r>,
    pub(crate) outcomes: Vec<Option<FileOutcome>>,
    pub(crate) paths: &'a [PathBuf],
    /// When the save began: what changed later may change again unseen.
    pub(crate) began: Timestamp,
    pub(crate) retained: Vec<PathBuf>,
    pub(crate) unreadable: Vec<UnreadableEntry>,
    pub(crate) files_read: u64,
}

/// An entry of a tree, and what is known about it for the next save.
pub(crate) struct AssembledEntry {
    pub(crate) node: TreeNode,
    pub(crate) known: KnownEntry,
}

impl Assembly<'_, '_, '_> {
    /// An entry; `None` when there is nothing to save.
    pub(crate) fn entry(
        &mut self,
        entry: DraftEntry,
        before: Option<(&TreeNode, &KnownEntry)>,
    ) -> Result<Option<AssembledEntry>, RepositoryError> {
        let kept = |stamp: Option<Stamp>| {
            before.map(|(node, known)| AssembledEntry {
                node: node.clone(),
                known: KnownEntry { stamp: stamp.unwrap_or(known.stamp), ..known.clone() },
            })
        };
        let of_stat = |stat: Option<EntryStat>| stat.map(|stat| (stat.node(&entry.name), Stamp::of(&stat)));
        Ok(match entry.draft {
            Draft::Kept => kept(None),
            Draft::SameContents => of_stat(entry.stat).zip(before).map(|((node, stamp), (old, known))| {
                let (content, attributes) = (old.content.clone(), old.attributes.clone());
                let node = TreeNode { content, attributes, ..node };
                AssembledEntry { node, known: KnownEntry { stamp, ..known.clone() } }
            }),
            Draft::Ready(node) => {
                let stamp = entry.stat.map_or(Stamp::UNKNOWN, |stat| settled(&stat, Some(self.began)));
                Some(AssembledEntry { node: *node, known: KnownEntry { name: entry.name, stamp, folder: None } })
            }
            Draft::Folder(walked, attributes) => {
                let folder = self.folder(walked)?;
                of_stat(entry.stat).map(|(node, stamp)| {
                    let node = TreeNode { subtree: Some(folder.tree), attributes, ..node };
                    AssembledEntry { node, known: KnownEntry { name: entry.name, stamp, folder: Some(folder) } }
                })
            }
            Draft::File(number) => {
                let path = &self.paths[number];
                match self.outcomes.get_mut(number).and_then(Option::take) {
                    Some(FileOutcome::Read { stat, content, attributes, looked_at }) => {
                        self.files_read += 1;
                        let node = TreeNode { content: Some(content), attributes, ..stat.node(&entry.name) };
                        let stamp = settled(&stat, Some(looked_at));
                        Some(AssembledEntry { node, known: KnownEntry { name: entry.name, stamp, folder: None } })
                    }
                    Some(FileOutcome::Changing) => {
                        // Only a file has an earlier version of its contents.
                        let earlier = kept(Some(Stamp::UNKNOWN)).filter(|kept| kept.node.content.is_some());
                        if earlier.is_some() {
                            self.retained.push(path.clone());
                        } else {
                            let reason = std::io::Error::other("it changed each time while it was read");
                            self.unreadable.push(UnreadableEntry { path: path.clone(), reason, is_kept: false });
                        }
                        earlier
                    }
                    Some(FileOutcome::Unreadable(error)) => {
                        let earlier = kept(Some(Stamp::UNKNOWN));
                        let (reason, is_kept) = (error.into(), earlier.is_some());
                        self.unreadable.push(UnreadableEntry { path: path.clone(), reason, is_kept });
                        earlier
                    }
                    Some(FileOutcome::Gone) => None,
                    None => return Err(RepositoryError::Stopped),
                }
            }
        })
    }

    fn folder(&mut self, walked: WalkedFolder) -> Result<Arc<KnownFolder>, RepositoryError> {
        let (entries, before) = match walked {
            WalkedFolder::Same(known) => return Ok(known),
            WalkedFolder::Changed(entries, before) => (entries, before),
        };
        let old = before.as_ref().map(|before| before.nodes()).unwrap_or_default();
        let mut nodes = Vec::with_capacity(entries.len());
        let mut known = Vec::with_capacity(entries.len());
        for entry in entries {
            let place = old.binary_search_by(|node| node.name.as_slice().cmp(&entry.name)).ok();
            let earlier = before.as_ref().and_then(|before| before.find(&entry.name));
            let earlier = place.map(|place| &old[place]).zip(earlier);
            if let Some(assembled) = self.entry(entry, earlier)? {
                nodes.push(assembled.node);
                known.push(assembled.known);
            }
        }
        let blob = encode_tree(&nodes);
        let tree = self.packer.add(&blob)?;
        Ok(Arc::new(KnownFolder::new(tree, &blob, known)))
    }
}
