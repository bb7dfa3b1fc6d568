//! Forgets snapshots by rules, and removes what no snapshot needs any more.
//!
//! The order keeps every moment readable: new packs, then a new index of all that stays, then the old indexes go, then the old packs. A
//! prune that is killed leaves packs and blobs twice at most, and the next one removes them.

use crate::blob_index::{IdMap, IdSet};
use crate::lease::Lease;
use crate::nonces::Nonces;
use crate::pacing::{PacedStep, Pacing, Permission};
use crate::repository::Repository;
use crate::storage::{FileKind, StoredFile};
use crate::tree_reader::TreeReader;
use crate::{RepositoryError, StoredSnapshot};
use loadline_shelter_format::{
    BlobKind, IndexedPack, KeepRules, NodeKind, ObjectId, PackBuilder, PackedBlob, Timestamp,
};
use loadline_units::Bytes;
use std::collections::BTreeMap;

/// A pack is written anew when more than this share of it is of no use: one in so many.
const WASTE: u64 = 4;
/// Packs below this length are joined when there are several.
const SMALL: u64 = 4 << 20;
/// What new packs have.
const PACK_TARGET: usize = 16 << 20;

/// What a prune did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many packs went.
    pub packs_removed: u64,
    /// How many packs are new: what is left of others, joined.
    pub packs_written: u64,
    /// How much less there is.
    pub bytes_freed: u64,
    /// How many index files went, for a few new ones.
    pub indexes_removed: u64,
    /// How much the packs have that are left for the next prune.
    pub bytes_left: u64,
}

impl Repository {
    /// Removes the snapshots that no rule keeps; the names of those. Rules count for each machine and set of paths apart. Snapshots with
    /// the tag `keep` stay.
    ///
    /// # Errors
    /// The lease is lost, or the storage fails.
    pub fn forget(&mut self, rules: KeepRules, lease: &Lease) -> Result<Vec<ObjectId>, RepositoryError> {
        self.confirm_lease(lease)?;
        let mut groups: BTreeMap<(String, Vec<String>), Vec<StoredSnapshot>> = BTreeMap::new();
        for snapshot in self.snapshots()?.into_iter().rev() {
            let group = (snapshot.file.hostname.clone(), snapshot.file.paths.clone());
            groups.entry(group).or_default().push(snapshot);
        }
        let mut forgotten = Vec::new();
        for snapshots in groups.values() {
            let times: Vec<Timestamp> = snapshots.iter().map(|snapshot| snapshot.file.time).collect();
            for (snapshot, keep) in snapshots.iter().zip(rules.keep(&times)) {
                if !keep && !snapshot.file.tags.iter().any(|tag| tag == "keep") {
                    forgotten.push(snapshot.id);
                }
            }
        }
        self.remove_snapshots(&forgotten, lease)?;
        Ok(forgotten)
    }

    /// Removes these snapshots. What they needed stays until the next prune.
    ///
    /// # Errors
    /// The lease is lost, or the storage fails: then some of them may be there yet.
    pub fn remove_snapshots(&mut self, ids: &[ObjectId], lease: &Lease) -> Result<(), RepositoryError> {
        self.confirm_lease(lease)?;
        for id in ids {
            self.storage.delete(StoredFile::Named(FileKind::Snapshot, *id))?;
        }
        Ok(())
    }

    /// Removes what no snapshot needs, and joins small packs and indexes.
    ///
    /// # Errors
    /// The lease is lost, restic is at work, a tree is missing (then nothing is removed), or the storage fails.
    pub fn prune(&mut self, lease: &Lease, pacing: &dyn Pacing) -> Result<Pruned, RepositoryError> {
        self.prune_some(lease, Bytes::new(u64::MAX), pacing)
    }

    /// The same, but packs are written anew up to `rewritten` only. The others are left for the next prune.
    ///
    /// # Errors
    /// As [`Repository::prune`].
    pub fn prune_some(
        &mut self,
        lease: &Lease,
        rewritten: Bytes,
        pacing: &dyn Pacing,
    ) -> Result<Pruned, RepositoryError> {
        self.confirm_lease(lease)?;
        if !self.storage.list(FileKind::Lock)?.is_empty() {
            return Err(RepositoryError::Unusable("the repository".to_owned(), "restic has it locked"));
        }
        self.read_index()?;
        let used = self.used_blobs(pacing)?;
        let present: IdMap<u64> =
            self.storage.list(FileKind::Pack)?.into_iter().map(|listed| (listed.id, listed.length)).collect();
        let old_indexes: Vec<ObjectId> =
            self.storage.list(FileKind::Index)?.into_iter().map(|listed| listed.id).collect();
        let mut packs: IdMap<IndexedPack> = IdMap::default();
        for id in &old_indexes {
            packs.extend(self.read_index_file(*id)?.packs.into_iter().map(|pack| (pack.id, pack)));
        }
        let mut plan = PrunePlan::of(packs, &present, &used, |id| self.index.find(id).map(|(pack, _)| pack));
        let mut pruned = Pruned { bytes_left: plan.put_off(rewritten.get()), ..Pruned::default() };
        if plan.rewritten.is_empty() && plan.removed.is_empty() && old_indexes.len() <= 1 {
            return Ok(pruned);
        }
        let mut kept = plan.kept;
        for kind in [BlobKind::Data, BlobKind::Tree] {
            kept.extend(self.rewrite(&plan.rewritten, kind, pacing, &mut pruned)?);
        }
        // Nothing is removed by somebody whose lease is gone.
        self.confirm_lease(lease)?;
        let new_indexes = self.seal_indexes(kept)?;
        for (id, sealed) in &new_indexes {
            self.storage.write(StoredFile::Named(FileKind::Index, *id), sealed)?;
        }
        for id in old_indexes.iter().filter(|id| new_indexes.iter().all(|(new, _)| new != *id)) {
            self.storage.delete(StoredFile::Named(FileKind::Index, *id))?;
            pruned.indexes_removed += 1;
        }
        for id in plan.rewritten.iter().map(|(pack, _)| pack.id).chain(plan.removed) {
            pruned.bytes_freed += present.get(&id).copied().unwrap_or(0);
            self.storage.delete(StoredFile::Named(FileKind::Pack, id))?;
            pruned.packs_removed += 1;
        }
        self.known.clear();
        self.read_index()?;
        Ok(pruned)
    }

    /// All blobs that snapshots need.
    fn used_blobs(&self, pacing: &dyn Pacing) -> Result<IdSet, RepositoryError> {
        let mut used = IdSet::default();
        let mut reader = TreeReader::new(self);
        for snapshot in self.snapshots()? {
            let mut trees = vec![snapshot.file.tree];
            while let Some(tree) = trees.pop() {
                if !used.insert(tree) {
                    continue;
                }
                if pacing.before(PacedStep::ReadRepository(Bytes::new(0))) == Permission::Stop {
                    return Err(RepositoryError::Stopped);
                }
                for node in reader.tree(tree)? {
                    trees.extend(node.subtree.filter(|_| node.kind == NodeKind::Folder));
                    used.extend(node.content.into_iter().flatten());
                }
            }
        }
        Ok(used)
    }

    /// Copies the blobs of one kind that are still needed into new packs, sealed as they are.
    fn rewrite(
        &self,
        packs: &[(IndexedPack, Vec<PackedBlob>)],
        kind: BlobKind,
        pacing: &dyn Pacing,
        pruned: &mut Pruned,
    ) -> Result<Vec<IndexedPack>, RepositoryError> {
        let mut written = Vec::new();
        let mut builder = PackBuilder::default();
        let mut nonces = Nonces::new();
        let mut flush = |builder: PackBuilder| -> Result<(), RepositoryError> {
            if builder.is_empty() {
                return Ok(());
            }
            let (id, bytes, blobs) = builder.finish(&self.key, nonces.next()?);
            let length = bytes.len() as u64;
            if pacing.before(PacedStep::WriteRepository(Bytes::new(length))) == Permission::Stop {
                return Err(RepositoryError::Stopped);
            }
            self.storage.write(StoredFile::Named(FileKind::Pack, id), &bytes)?;
            pruned.packs_written += 1;
            pruned.bytes_freed = pruned.bytes_freed.saturating_sub(length);
            written.push(IndexedPack { id, blobs });
            Ok(())
        };
        for (pack, needed) in packs {
            let needed: Vec<&PackedBlob> = needed.iter().filter(|blob| blob.kind == kind).collect();
            if needed.is_empty() {
                continue;
            }
            let file = StoredFile::Named(FileKind::Pack, pack.id);
            let start = needed.iter().map(|blob| u64::from(blob.offset)).min().unwrap_or(0);
            let end = needed.iter().map(|blob| blob.end()).max().unwrap_or(0);
            if pacing.before(PacedStep::ReadRepository(Bytes::new(end - start))) == Permission::Stop {
                return Err(RepositoryError::Stopped);
            }
            let bytes = self.storage.read_range(file, start, end - start)?;
            for blob in needed {
                let begin = (u64::from(blob.offset) - start) as usize;
                let sealed = &bytes[begin..begin + blob.length as usize];
                // What is damaged here must not go into a new pack under a good name.
                self.key.open(sealed).map_err(|source| RepositoryError::Damaged { file, source })?;
                builder.add_sealed(*blob, sealed);
            }
            if builder.len() >= PACK_TARGET {
                flush(std::mem::take(&mut builder))?;
            }
        }
        flush(builder)?;
        Ok(written)
    }
}

/// What happens with each pack.
struct PrunePlan {
    kept: Vec<IndexedPack>,
    /// With the blobs of each that are still needed.
    rewritten: Vec<(IndexedPack, Vec<PackedBlob>)>,
    removed: Vec<ObjectId>,
}

impl PrunePlan {
    /// `home` is the pack from which a blob is read: copies of it elsewhere are of no use.
    fn of(
        packs: IdMap<IndexedPack>,
        present: &IdMap<u64>,
        used: &IdSet,
        home: impl Fn(ObjectId) -> Option<ObjectId>,
    ) -> Self {
        let mut plan = Self { kept: Vec::new(), rewritten: Vec::new(), removed: Vec::new() };
        plan.removed.extend(present.keys().filter(|id| !packs.contains_key(*id)));
        let mut sorted: Vec<IndexedPack> = packs.into_values().collect();
        sorted.sort_by_key(|pack| pack.id);
        let mut small = Vec::new();
        for pack in sorted {
            let needed: Vec<PackedBlob> = pack
                .blobs
                .iter()
                .filter(|blob| used.contains(&blob.id) && home(blob.id) == Some(pack.id))
                .copied()
                .collect();
            let length = |blobs: &[PackedBlob]| blobs.iter().map(|blob| u64::from(blob.length)).sum::<u64>();
            let (all, left) = (length(&pack.blobs), length(&needed));
            if needed.is_empty() {
                plan.removed.push(pack.id);
            } else if (all - left) * WASTE > all {
                plan.rewritten.push((pack, needed));
            } else if all < SMALL {
                small.push((pack, needed));
            } else {
                plan.kept.push(pack);
            }
        }
        // One small pack of each kind is as good as it gets.
        if small.len() > 2 {
            plan.rewritten.append(&mut small);
        }
        plan.kept.extend(small.into_iter().map(|(pack, _)| pack));
        plan.removed.sort_unstable();
        plan
    }

    /// Keeps packs as they are that would be written anew beyond so many bytes, and says how many bytes those have. One is written
    /// anew in any case.
    fn put_off(&mut self, rewritten: u64) -> u64 {
        let length = |pack: &IndexedPack| pack.blobs.iter().map(|blob| u64::from(blob.length)).sum::<u64>();
        let mut sum = 0;
        let within = self.rewritten.iter().take_while(|(pack, _)| {
            let first = sum == 0;
            sum += length(pack);
            first || sum <= rewritten
        });
        let within = within.count();
        let left: Vec<IndexedPack> = self.rewritten.drain(within..).map(|(pack, _)| pack).collect();
        let bytes = left.iter().map(length).sum();
        self.kept.extend(left);
        bytes
    }
}
