//! Why a sweep does not begin.

use crate::InputKind;
use std::path::PathBuf;

/// Why a sweep does not begin.
#[derive(Debug, thiserror::Error)]
pub enum SweepRefusal {
    /// A folder has no file to take.
    #[error("{} has no file of {kind} (*.toml) in it", folder.display())]
    NothingInFolder {
        /// The folder.
        folder: PathBuf,
        /// What was looked for.
        kind: InputKind,
    },
    /// Every row of a sweep stands for one load on fresh storage.
    #[error(
        "a sweep has each load by itself on storage as new: loads together and trials that go on from one another have no place in it"
    )]
    NotApart,
}
