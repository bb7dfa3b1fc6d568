//! restic's repository format, version 2: keys, sealed files, packs, indexes, trees and snapshots.
//!
//! Nothing here reads a clock, a file or randomness: names, nonces, salts and times are arguments. The format is described in
//! `doc/design.rst` of restic; what is written here is read by restic, and the other way round.

mod chunking;
mod compression;
mod config;
mod id;
mod index;
mod key_file;
mod mode;
mod pack;
mod retention;
mod seal;
mod snapshot;
mod text;
mod tree;

pub use loadline_units::Timestamp;

pub use chunking::{CHUNK_MAX, CHUNK_MIN, Polynomial, RabinChunker};
pub use compression::{Compression, Decompression, decode_unpacked, encode_unpacked};
pub use config::RepositoryConfig;
pub use id::{ContentHasher, ObjectId};
pub use index::{IndexFile, IndexedPack};
pub use key_file::{KeyFile, ScryptCost};
pub use mode::{NodeKind, go_mode, unix_mode};
pub use pack::{BLOB_MAX, BlobKind, PACK_MAX, PackBuilder, PackedBlob, decode_blob, pack_header, pack_header_length};
pub use retention::KeepRules;
pub use seal::{MasterKey, NONCE_LENGTH, SEAL_OVERHEAD};
pub use snapshot::SnapshotFile;
pub use tree::{ExtendedAttribute, TreeNode, decode_tree, encode_tree};

/// Why bytes are not what the format says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The authentication code does not fit: another key, or other bytes than were written.
    #[error("the authentication code does not fit: these bytes were changed, or belong to another key")]
    NotAuthentic,
    /// The contents do not have the hash by which they are named.
    #[error("the contents have the hash {found}, and are named {expected}")]
    OtherContents {
        /// The name.
        expected: ObjectId,
        /// What the contents hash to.
        found: ObjectId,
    },
    /// Fewer bytes than the part needs.
    #[error("{what} ends early")]
    Truncated {
        /// The part.
        what: &'static str,
    },
    /// A value that the format does not have.
    #[error("{what} does not make sense: {detail}")]
    Invalid {
        /// The part.
        what: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// More than the bound of this part.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// The part.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
}

impl FormatError {
    pub(crate) fn invalid(what: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid { what, detail: detail.into() }
    }
    pub(crate) fn json(what: &'static str, error: &serde_json::Error) -> Self {
        Self::invalid(what, error.to_string())
    }
}
