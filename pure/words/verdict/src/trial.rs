//! What a trial met that a doubt tells of: how it ended, who else was there, blocks that are wrong, what its model misses.

use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "detail")]
pub enum Ending {
    /// At its time or volume.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// The world misbehaved so that going on made no sense; says how.
    Failed(String),
    /// A request was not answered within the limit; says which.
    Hung(String),
}

/// A measurement that the model is known to miss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDeviation {
    /// The disk that it is of, as sold.
    pub disk: String,
    /// What was measured and what the model says, in words.
    pub text: String,
    /// Who measured it.
    pub source: String,
}

/// Another process and what it moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherLoad {
    /// Process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Bytes it caused to be read from storage (any device).
    pub read_bytes: u64,
    /// Bytes it caused to be written to storage (any device).
    pub write_bytes: u64,
}

/// A block that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyFault {
    /// Byte offset in the volume.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// What kind.
    pub kind: VerifyFaultKind,
    /// What was found in its place.
    pub detail: String,
}

/// How a block can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyFaultKind {
    /// Nothing of this run: zeros, or what lay there before.
    Lost,
    /// An earlier generation of the same block.
    Stale,
    /// Another block's contents.
    Misplaced,
    /// Parts of two generations.
    Torn,
    /// Header intact, contents wrong; or nothing recognisable.
    Corrupt,
    /// The read itself failed.
    Unreadable,
}
