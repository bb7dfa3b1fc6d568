//! Saves and restores, judged by comparing trees, and by restic where it is installed.

mod failures;
#[cfg(feature = "shelter")]
mod object_stores;
mod restoring;
mod saving;
mod trees;
mod with_restic;
