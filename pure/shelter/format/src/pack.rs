//! Packs: files of many sealed blobs, with a sealed header at their end.
//!
//! A pack is its blobs one behind the other, the header, and the header's length in four bytes. An entry of the header has the
//! kind of a blob, its length as it lies there, its length before compression if it was compressed, and its name.

use crate::compression::Decompression;
use crate::seal::{MasterKey, NONCE_LENGTH, SEAL_OVERHEAD};
use crate::{Compression, FormatError, ObjectId};
use serde::{Deserialize, Serialize};

/// The bound of a pack, header included.
pub const PACK_MAX: u64 = 1 << 31;
/// The bound of a blob before compression.
pub const BLOB_MAX: u32 = 1 << 30;
const ENTRY: usize = 1 + 4 + 32;
const ENTRY_COMPRESSED: usize = ENTRY + 4;
const LENGTH_FIELD: usize = 4;

/// What a blob is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlobKind {
    /// A piece of a file.
    Data,
    /// The entries of a folder.
    Tree,
}

/// Where a blob lies in its pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedBlob {
    /// Its name: the hash of its contents.
    pub id: ObjectId,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: BlobKind,
    /// Where it begins in the pack.
    pub offset: u32,
    /// How long it is there, sealed.
    pub length: u32,
    /// Its length before compression; `None` when it is not compressed.
    #[serde(rename = "uncompressed_length", default, skip_serializing_if = "Option::is_none")]
    pub uncompressed_length: Option<u32>,
}

impl PackedBlob {
    /// How long the contents are; 0 if the blob is shorter than its seal.
    #[must_use]
    pub fn plain_length(&self) -> u32 {
        self.uncompressed_length.unwrap_or_else(|| self.length.saturating_sub(SEAL_OVERHEAD as u32))
    }
    /// Where it ends in the pack.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.length)
    }
}

/// A pack that is being filled.
#[derive(Debug, Default)]
pub struct PackBuilder {
    bytes: Vec<u8>,
    blobs: Vec<PackedBlob>,
}

impl PackBuilder {
    /// An empty pack that writes into this buffer.
    #[must_use]
    pub fn with_buffer(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, blobs: Vec::new() }
    }
    /// How many bytes it has without its header.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blobs.is_empty()
    }

    /// Seals a blob and adds it. `id` is the hash of `plain`, `nonce` comes never again.
    pub fn add(
        &mut self,
        key: &MasterKey,
        kind: BlobKind,
        id: ObjectId,
        plain: &[u8],
        nonce: [u8; NONCE_LENGTH],
        compression: &mut Compression,
    ) {
        let offset = self.bytes.len();
        let packed = compression.compress(plain);
        let uncompressed_length = packed.map(|_| plain.len() as u32);
        key.seal(nonce, packed.unwrap_or(plain), &mut self.bytes);
        let length = (self.bytes.len() - offset) as u32;
        self.blobs.push(PackedBlob { id, kind, offset: offset as u32, length, uncompressed_length });
    }

    /// Adds a sealed blob of another pack as it is.
    pub fn add_sealed(&mut self, blob: PackedBlob, sealed: &[u8]) {
        self.blobs.push(PackedBlob { offset: self.bytes.len() as u32, length: sealed.len() as u32, ..blob });
        self.bytes.extend_from_slice(sealed);
    }

    /// Adds all blobs of another pack that is being filled.
    pub fn append(&mut self, other: &PackBuilder) {
        let base = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&other.bytes);
        self.blobs.extend(other.blobs.iter().map(|blob| PackedBlob { offset: blob.offset + base, ..*blob }));
    }

    /// The pack's bytes with the header, its name, and what lies where.
    #[must_use]
    pub fn finish(mut self, key: &MasterKey, nonce: [u8; NONCE_LENGTH]) -> (ObjectId, Vec<u8>, Vec<PackedBlob>) {
        let mut header = Vec::with_capacity(self.blobs.len() * ENTRY_COMPRESSED);
        for blob in &self.blobs {
            let compressed = if blob.uncompressed_length.is_some() { 2 } else { 0 };
            header.push(compressed + u8::from(blob.kind == BlobKind::Tree));
            header.extend_from_slice(&blob.length.to_le_bytes());
            blob.uncompressed_length.iter().for_each(|length| header.extend_from_slice(&length.to_le_bytes()));
            header.extend_from_slice(&blob.id.0);
        }
        let start = self.bytes.len();
        key.seal(nonce, &header, &mut self.bytes);
        let length = (self.bytes.len() - start) as u32;
        self.bytes.extend_from_slice(&length.to_le_bytes());
        (ObjectId::of(&self.bytes), self.bytes, self.blobs)
    }
}

/// How long the header with its length field is, from the pack's last four bytes and its length.
///
/// # Errors
/// The header would not fit in the pack.
pub fn pack_header_length(last: [u8; 4], pack_length: u64) -> Result<u64, FormatError> {
    let length = u64::from(u32::from_le_bytes(last));
    if length < (SEAL_OVERHEAD + ENTRY) as u64 || length + LENGTH_FIELD as u64 > pack_length {
        return Err(FormatError::invalid("a pack's header", format!("it has {length} of {pack_length} bytes")));
    }
    Ok(length + LENGTH_FIELD as u64)
}

/// The blobs of a pack, from the end of its file: at least the header and its length field.
///
/// # Errors
/// The header is not authentic or does not make sense.
pub fn pack_header(key: &MasterKey, tail: &[u8], pack_length: u64) -> Result<Vec<PackedBlob>, FormatError> {
    let truncated = FormatError::Truncated { what: "a pack" };
    let (rest, last) = tail.split_last_chunk::<LENGTH_FIELD>().ok_or_else(|| truncated.clone())?;
    let length = pack_header_length(*last, pack_length)? as usize - LENGTH_FIELD;
    let start = rest.len().checked_sub(length).ok_or(truncated)?;
    let header = key.open(&rest[start..])?;
    let mut blobs = Vec::with_capacity(header.len() / ENTRY);
    let mut rest = header.as_slice();
    let mut offset = 0_u32;
    while let Some((tag, after)) = rest.split_first() {
        let (kind, compressed) = match tag {
            0 => (BlobKind::Data, false),
            1 => (BlobKind::Tree, false),
            2 => (BlobKind::Data, true),
            3 => (BlobKind::Tree, true),
            other => {
                return Err(FormatError::invalid("a pack's header", format!("a blob of the unknown kind {other}")));
            }
        };
        rest = after;
        let mut number = || -> Result<u32, FormatError> {
            let (bytes, after) =
                rest.split_first_chunk::<4>().ok_or(FormatError::Truncated { what: "a pack's header" })?;
            rest = after;
            Ok(u32::from_le_bytes(*bytes))
        };
        let length = number()?;
        let uncompressed_length = if compressed { Some(number()?) } else { None };
        let (id, after) = rest.split_first_chunk::<32>().ok_or(FormatError::Truncated { what: "a pack's header" })?;
        rest = after;
        blobs.push(PackedBlob { id: ObjectId(*id), kind, offset, length, uncompressed_length });
        offset = offset
            .checked_add(length)
            .filter(|end| u64::from(*end) <= pack_length)
            .ok_or_else(|| FormatError::invalid("a pack's header", "its blobs are longer than the pack"))?;
    }
    Ok(blobs)
}

/// The contents of a blob from its sealed bytes, verified against its name.
///
/// # Errors
/// They are not authentic, do not make sense, or are other contents.
pub fn decode_blob(
    key: &MasterKey,
    blob: &PackedBlob,
    sealed: &[u8],
    decompression: &mut Decompression,
    plain: &mut Vec<u8>,
) -> Result<(), FormatError> {
    if let Some(length) = blob.uncompressed_length {
        if length > BLOB_MAX {
            return Err(FormatError::TooLarge { what: "a blob", limit: u64::from(BLOB_MAX) });
        }
        let mut opened = std::mem::take(&mut decompression.opened);
        let result = key.open_into(sealed, &mut opened);
        decompression.opened = opened;
        result?;
        decompression.decompress(length as usize, plain)?;
    } else {
        key.open_into(sealed, plain)?;
    }
    blob.id.verify(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_names_its_blobs_and_gives_them_back() {
        let key = MasterKey::from_random([5; 64]);
        let mut compression = Compression::new().unwrap();
        let contents: [&[u8]; 3] = [b"", b"short", &[b'x'; 5000]];
        let mut pack = PackBuilder::default();
        assert!(pack.is_empty());
        for (index, plain) in contents.iter().enumerate() {
            let kind = if index == 1 { BlobKind::Tree } else { BlobKind::Data };
            pack.add(&key, kind, ObjectId::of(plain), plain, [index as u8; 16], &mut compression);
        }
        let mut other = PackBuilder::with_buffer(vec![1, 2, 3]);
        other.add(&key, BlobKind::Data, ObjectId::of(b"other"), b"other", [8; 16], &mut compression);
        pack.append(&other);
        let (id, bytes, blobs) = pack.finish(&key, [9; 16]);
        assert_eq!(id, ObjectId::of(&bytes));
        let length = bytes.len() as u64;
        let tail = pack_header_length(*bytes.last_chunk().unwrap(), length).unwrap() as usize;
        assert_eq!(pack_header(&key, &bytes[bytes.len() - tail..], length).as_ref(), Ok(&blobs));
        assert_eq!(pack_header(&key, &bytes, length).as_ref(), Ok(&blobs));
        assert!(blobs[2].length < 100);
        let (mut decompression, mut plain) = (Decompression::default(), Vec::new());
        for (blob, expected) in blobs.iter().zip(contents.into_iter().chain([b"other".as_slice()])) {
            let sealed = &bytes[blob.offset as usize..blob.end() as usize];
            decode_blob(&key, blob, sealed, &mut decompression, &mut plain).unwrap();
            assert_eq!(plain, expected);
            assert_eq!(blob.plain_length() as usize, expected.len());
            let misnamed = PackedBlob { id: ObjectId::of(b"?"), ..*blob };
            let error = decode_blob(&key, &misnamed, sealed, &mut decompression, &mut plain).unwrap_err();
            assert!(matches!(error, FormatError::OtherContents { .. }));
        }
    }

    #[test]
    fn a_pack_that_was_cut_anywhere_is_refused() {
        let key = MasterKey::from_random([5; 64]);
        let mut pack = PackBuilder::default();
        pack.add(&key, BlobKind::Data, ObjectId::of(b"a"), b"a", [1; 16], &mut Compression::new().unwrap());
        let (_, bytes, _) = pack.finish(&key, [2; 16]);
        for length in 0..bytes.len() {
            assert!(pack_header(&key, &bytes[..length], length as u64).is_err(), "{length}");
        }
    }
}
