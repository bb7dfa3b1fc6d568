//! Who is asked before each step, so that saving and restoring keep within limits.

use loadline_units::Bytes;

/// A step that uses storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacedStep {
    /// Files that are saved are listed and looked at: so many entries.
    Scan {
        /// How many entries.
        entries: u64,
    },
    /// A file that is saved is read.
    ReadSource(Bytes),
    /// The repository is written to.
    WriteRepository(Bytes),
    /// The repository is read.
    ReadRepository(Bytes),
    /// A file that is restored is written.
    WriteTarget(Bytes),
    /// Everything that is saved was read: the index and the snapshot come next.
    Commit,
}

/// Whether a step may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// It may.
    Granted,
    /// The whole work ends here, without harm.
    Stop,
}

/// Decides when a step may be done; it waits until then. It is asked from several threads.
pub trait Pacing: Sync {
    /// Waits until this step may be done.
    fn before(&self, step: PacedStep) -> Permission;
}

/// Every step at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unpaced;

impl Pacing for Unpaced {
    fn before(&self, _: PacedStep) -> Permission {
        Permission::Granted
    }
}
