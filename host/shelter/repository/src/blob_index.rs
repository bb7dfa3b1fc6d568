//! Where every blob lies, in memory.

use loadline_shelter_format::{BlobKind, IndexedPack, ObjectId, PackedBlob};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes a name by its first bytes: names are hashes already.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }
    fn write_usize(&mut self, _: usize) {}
}

pub(crate) type IdMap<V> = HashMap<ObjectId, V, BuildHasherDefault<IdHasher>>;
pub(crate) type IdSet = std::collections::HashSet<ObjectId, BuildHasherDefault<IdHasher>>;

#[derive(Debug, Clone, Copy)]
struct BlobPlace {
    pack: u32,
    offset: u32,
    length: u32,
    /// Before compression; `u32::MAX` when it is not compressed.
    uncompressed: u32,
    kind: BlobKind,
}

/// Which blob lies where in which pack.
#[derive(Debug, Default)]
pub(crate) struct BlobIndex {
    packs: Vec<ObjectId>,
    pack_numbers: IdMap<u32>,
    blobs: IdMap<BlobPlace>,
}

impl BlobIndex {
    pub(crate) fn add(&mut self, pack: &IndexedPack) {
        let number = *self.pack_numbers.entry(pack.id).or_insert_with(|| {
            self.packs.push(pack.id);
            self.packs.len() as u32 - 1
        });
        for blob in &pack.blobs {
            let place = BlobPlace {
                pack: number,
                offset: blob.offset,
                length: blob.length,
                uncompressed: blob.uncompressed_length.unwrap_or(u32::MAX),
                kind: blob.kind,
            };
            self.blobs.entry(blob.id).or_insert(place);
        }
    }

    pub(crate) fn contains(&self, id: ObjectId) -> bool {
        self.blobs.contains_key(&id)
    }

    /// The pack of a blob, and where in it.
    pub(crate) fn find(&self, id: ObjectId) -> Option<(ObjectId, PackedBlob)> {
        let place = self.blobs.get(&id)?;
        let uncompressed_length = (place.uncompressed != u32::MAX).then_some(place.uncompressed);
        let (kind, offset, length) = (place.kind, place.offset, place.length);
        Some((self.packs[place.pack as usize], PackedBlob { id, kind, offset, length, uncompressed_length }))
    }

    /// How many blobs there are.
    pub(crate) fn len(&self) -> usize {
        self.blobs.len()
    }
}
