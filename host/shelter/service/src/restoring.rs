//! What a restore did, and how far it is.

use loadline_shelter_policy::tree::TreePath;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// What a restore did.
#[derive(Debug, Clone, Default)]
pub struct RestoreReport {
    /// The generation.
    pub generation: u64,
    /// Files that have their contents.
    pub files: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Entries that the generation does not have, and that were removed.
    pub removed: u64,
    /// Entries that could not be restored: why.
    pub damaged: BTreeMap<TreePath, String>,
    /// How long it took.
    pub took: Duration,
}

/// Whether the disk may already have something of the generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto {
    /// It is empty.
    Empty,
    /// A restore was interrupted: what is whole stays, what is not in the generation goes.
    Interrupted,
}

/// How far a restore is.
#[derive(Debug, Default)]
pub(crate) struct RestoreProgress {
    pub(crate) bytes: AtomicU64,
    pub(crate) ends: AtomicBool,
}
