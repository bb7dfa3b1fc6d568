//! Reads trees one after the other: neighbours in a pack are fetched together.

use crate::RepositoryError;
use crate::blob_index::BlobIndex;
use crate::repository::Repository;
use crate::storage::{FileKind, StoredFile};
use loadline_shelter_format::{Decompression, ObjectId, TreeNode, decode_blob, decode_tree};
use std::collections::VecDeque;

/// How much of a pack is fetched at once.
const WINDOW: u64 = 4 << 20;
/// How many such pieces are kept.
const WINDOWS: usize = 8;

struct Piece {
    pack: ObjectId,
    offset: u64,
    bytes: Vec<u8>,
}

/// Reads trees, with the pieces of packs that were read last.
pub(crate) struct TreeReader<'a> {
    repository: &'a Repository,
    index: &'a BlobIndex,
    decompression: Decompression,
    pieces: VecDeque<Piece>,
    plain: Vec<u8>,
}

impl<'a> TreeReader<'a> {
    pub(crate) fn new(repository: &'a Repository) -> Self {
        Self::by(repository, &repository.index)
    }

    /// Finds trees by another index than the one in memory.
    pub(crate) fn by(repository: &'a Repository, index: &'a BlobIndex) -> Self {
        Self { repository, index, decompression: Decompression::default(), pieces: VecDeque::new(), plain: Vec::new() }
    }

    /// The entries of a folder.
    pub(crate) fn tree(&mut self, id: ObjectId) -> Result<Vec<TreeNode>, RepositoryError> {
        let (pack, blob) = self.index.find(id).ok_or(RepositoryError::MissingBlob(id))?;
        let file = StoredFile::Named(FileKind::Pack, pack);
        let (offset, length) = (u64::from(blob.offset), u64::from(blob.length));
        let holds = |piece: &Piece| {
            piece.pack == pack && piece.offset <= offset && blob.end() <= piece.offset + piece.bytes.len() as u64
        };
        let place = if let Some(place) = self.pieces.iter().position(holds) {
            place
        } else {
            // The piece may reach beyond the pack: then exactly this blob is fetched.
            let storage = &self.repository.storage;
            let bytes = match storage.read_range(file, offset, length.max(WINDOW)) {
                Ok(bytes) => bytes,
                Err(_) => storage.read_range(file, offset, length)?,
            };
            self.pieces.truncate(WINDOWS - 1);
            self.pieces.push_front(Piece { pack, offset, bytes });
            0
        };
        let piece = &self.pieces[place];
        let start = (offset - piece.offset) as usize;
        let sealed = &piece.bytes[start..start + length as usize];
        decode_blob(&self.repository.key, &blob, sealed, &mut self.decompression, &mut self.plain)
            .and_then(|()| decode_tree(&self.plain))
            .map_err(|source| RepositoryError::Damaged { file, source })
    }
}
