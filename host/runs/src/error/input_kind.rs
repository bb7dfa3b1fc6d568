//! What a file that a user named should hold, and what was taken for an environment.

use std::fmt;

/// What a file should hold. Each kind has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A plan, or an fio job file.
    Plan,
    /// An environment.
    Environment,
    /// A file of a catalog.
    Catalog,
    /// A cloud's description of volumes.
    Volumes,
    /// What an application needs.
    Need,
}

impl InputKind {
    /// The most bytes that such a file may have.
    #[must_use]
    pub const fn bytes_max(self) -> u64 {
        match self {
            // A load of a plan takes some 50 times as much memory as its text.
            Self::Plan | Self::Environment | Self::Need => 4 << 20,
            Self::Catalog => 16 << 20,
            Self::Volumes => 64 << 20,
        }
    }
}

impl fmt::Display for InputKind {
    /// With its article.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plan => "a plan",
            Self::Environment => "an environment",
            Self::Catalog => "a catalog file",
            Self::Volumes => "a description of volumes",
            Self::Need => "a need",
        })
    }
}

/// A catalog entry that was taken for an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A disk of one size.
    Disk,
    /// A disk whose size is chosen.
    SizedDisk,
    /// A virtual machine.
    Machine,
}
