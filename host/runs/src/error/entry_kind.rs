//! What a catalog entry is that was taken for an environment.

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
