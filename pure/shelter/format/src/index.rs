//! Index files: which blob lies where in which pack.

use crate::{FormatError, ObjectId, PackedBlob};
use serde::{Deserialize, Serialize};

/// A pack, as an index has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedPack {
    /// The pack's name.
    pub id: ObjectId,
    /// What lies where in it.
    pub blobs: Vec<PackedBlob>,
}

/// A file below `index/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexFile {
    /// Earlier indexes that this one replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ObjectId>,
    /// The packs.
    pub packs: Vec<IndexedPack>,
}

impl IndexFile {
    /// Out of the opened and decompressed file.
    ///
    /// # Errors
    /// It does not make sense.
    pub fn decode(json: &[u8]) -> Result<Self, FormatError> {
        serde_json::from_slice(json).map_err(|error| FormatError::json("an index", &error))
    }

    /// The JSON to compress and seal.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}
