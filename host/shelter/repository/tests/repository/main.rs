//! Saves and restores, judged by comparing trees, and by restic where it is installed.

mod failures;
#[cfg(feature = "shelter")]
mod object_stores;
mod restoring;
#[cfg(feature = "shelter")]
mod s3_server;
mod saving;
mod trees;
mod with_restic;
