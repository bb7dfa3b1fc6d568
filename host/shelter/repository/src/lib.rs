//! Saves files into a repository in restic's format, and restores them.
//!
//! A [`Repository`] lies in a [`RepositoryStorage`]: a folder or an object store. A save reads what changed, and ends with one
//! snapshot; a save that is killed leaves nothing but packs that nobody refers to. What is written here is read, checked and
//! restored by restic, and the other way round.

mod blob_index;
mod check;
mod error;
mod lease;
mod nonces;
mod pacing;
mod prune;
mod repository;
mod restore;
mod save;
mod storage;
mod tree_reader;

pub use check::{CheckFinding, Checked, CheckedData};
pub use error::RepositoryError;
pub use lease::{Lease, LeaseRecord, LeaseTaking};
pub use loadline_shelter_format::{
    ExtendedAttribute, FormatError, KeepRules, NodeKind, ObjectId, ScryptCost, SnapshotFile, Timestamp, TreeNode,
    unix_mode,
};
pub use pacing::{PacedStep, Pacing, Permission, Unpaced};
pub use prune::Pruned;
pub use repository::{Repository, StoredSnapshot};
pub use restore::{Extras, FailedEntry, LinkedFiles, RestoreRequest, RestoreSize, Restored};
pub use save::{Changes, Chunking, PicturedEntry, PicturedRoot, RereadShare, SaveRequest, Saved, UnreadableEntry};
pub use storage::{
    FaultyStorage, FileKind, LeaseVersion, ListedFile, LocalStorage, RepositoryStorage, StorageError, StorageErrorKind,
    StorageFault, StorageTraffic, StoredFile,
};
#[cfg(feature = "shelter")]
pub use storage::{ObjectStorage, RetryBounds, StoreAccess, StoreVariables};
