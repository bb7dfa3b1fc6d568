//! What is measured: opened, checked against the safety rules, and cleaned up.

use loadline_record::VolumeFacts;
use loadline_units::Bytes;
use std::fs::File;

/// What the user allowed.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Nothing may be written, whatever the plan says.
    pub read_only: bool,
    /// Targets named a second time, as typed.
    pub overwrite: Vec<String>,
    /// Serial numbers or UUIDs given with `--overwrite`.
    pub identities: Vec<String>,
}

/// A target that may not or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {}

/// An open target with all that is known of it.
#[derive(Debug)]
pub struct Volume {
    /// Stored with the run.
    pub facts: VolumeFacts,
    /// Files that the size is spread over, alike in size; empty for the null target.
    pub files: Vec<File>,
    /// Size of each file.
    pub file_size: Bytes,
    /// Whether the load may write.
    pub writable: bool,
}
