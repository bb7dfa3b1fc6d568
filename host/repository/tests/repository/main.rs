//! Saves and restores, judged by comparing trees, and by restic where it is installed.

mod trees;
mod with_restic;
