//! Targets of measurements: opened, checked against the safety rules of `docs/safety.md`, and cleaned up.

mod direct;
mod error;
mod export;
mod open;
mod signature;
mod standing;
mod test_file;

pub use direct::Alignment;
pub use error::TargetError;
pub use export::is_same_export;
pub use loadline_nbd::uri::is_nbd_uri;
pub(crate) use signature::signatures_by;
pub use signature::{Signature, signatures};
pub use standing::absolute;

use crate::nbd::NbdExport;
use loadline_kernel::facts::{self, CacheScope, KernelView, cached_share, drop_caches, drop_machine_caches, extents};
use loadline_record::{Extents, VolumeFacts};
use loadline_units::Bytes;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use test_file::NamedFiles;

/// What two targets have in common where writing to one is writing to the other, in words: "both are /dev/sdb", or "/dev/sdb1 is a
/// part of /dev/sdb". `None` where each has bytes of its own, as test files in one directory have, and where that is unknown.
#[must_use]
pub fn overlap(one: &str, other: &str) -> Option<String> {
    export::overlap(one, other).or_else(|| facts::overlap(&KernelView::live(), Path::new(one), Path::new(other)))
}

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

/// What a plan needs of a target.
#[derive(Debug, Clone, Default)]
pub struct Need {
    /// Bytes that the load spreads over; by default all of what exists, or what is chosen for a test file.
    pub size: Option<Bytes>,
    /// Where in each file the loads begin.
    pub start: Bytes,
    /// Test files that the size is spread over; an existing target is always one.
    pub files: u32,
    /// Whether the load writes or trims. A test file is writable in any case, for it must be filled.
    pub writes: bool,
    /// Use the page cache on purpose.
    pub buffered: bool,
    /// Reserve no space for test files: writes find holes.
    pub hole: bool,
    /// Give the test files names, so that their contents can be checked after a crash of the machine.
    pub keep: Option<Keep>,
}

/// A test file with a name. Where nothing may be written, files kept by an earlier run are opened under the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keep {
    /// By default `loadline-NAME.data`; with several files, a dot and the number of the file follow.
    pub file_name: Option<String>,
    /// Whether the files are removed when the volume is closed, so that only a crash or a kill leaves them.
    pub remove_at_end: bool,
}

/// An open target with all that is known of it. Closing it (dropping) removes every test file that was not to stay.
#[derive(Debug)]
pub struct Volume {
    /// Stored with the run.
    pub facts: VolumeFacts,
    /// Files that the size is spread over, alike in size; empty for the null target and for exports of NBD servers.
    pub files: Vec<File>,
    /// Size of each file.
    pub file_size: Bytes,
    /// Where in each file the loads begin: what stands before it is not theirs, and is neither filled nor looked at.
    pub start: Bytes,
    /// Whether the load may write.
    pub writable: bool,
    /// Needed while it is open, and not stored.
    pub(crate) holding: Holding,
}

/// What an open volume carries besides its facts and files.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    /// What its requests must be aligned to.
    pub(crate) alignment: Alignment,
    /// Kernel names of the devices whose counters show what reaches storage.
    pub(crate) counted: Vec<String>,
    /// Test files with names.
    pub(crate) named: NamedFiles,
    /// Of the words that allow writing, those that were needed for it.
    pub(crate) handed_over: Vec<String>,
    /// What stands in place of files.
    pub(crate) export: Option<Arc<NbdExport>>,
}

impl Volume {
    /// Opens `target` for the volume called `name`: `null`, `null:100 GiB`, a directory, a regular file, a block device, or an NBD
    /// URI (`nbd+unix:///EXPORT?socket=PATH`, `nbd://HOST:PORT/EXPORT`).
    ///
    /// # Errors
    /// [`TargetError`], one variant for each refusal of `docs/safety.md` and each failure; in every case nothing was written.
    pub fn open(name: &str, target: &str, need: &Need, access: &Access) -> Result<Self, TargetError> {
        open::open(name, target, need, access)
    }
    /// What requests must be aligned to; more than a plan's block size means that it cannot run here with direct I/O.
    #[must_use]
    pub fn alignment(&self) -> Alignment {
        self.holding.alignment
    }
    /// Bytes available to the load.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes::new(self.facts.size_bytes.expect("whatever can be opened has a size"))
    }
    /// Bytes of it that the loads spread over.
    #[must_use]
    pub fn span(&self) -> Bytes {
        Bytes::new(self.file_size.saturating_sub(self.start).get() * u64::from(self.parts()))
    }
    /// Files, or what stands in their place.
    pub(crate) fn parts(&self) -> u32 {
        self.files.len().max(1) as u32
    }
    /// Those of them that keep written data.
    pub(crate) fn parts_kept(&self) -> u32 {
        if self.holding.export.is_some() { 1 } else { self.files.len() as u32 }
    }
    /// The export of an NBD server that it is, if it is one.
    pub(crate) fn export(&self) -> Option<&Arc<NbdExport>> {
        self.holding.export.as_ref()
    }
    /// Whether the user may write to it, as far as is known without trying.
    #[must_use]
    pub fn may_be_written(&self) -> bool {
        self.export().is_none_or(|export| !export.facts.read_only)
    }
    /// How much of the files is stored by now, from where the loads begin on; `None` for devices, and where that is unknown.
    #[must_use]
    pub fn extents(&self) -> Option<Extents> {
        let each: Option<Vec<Extents>> =
            self.files.iter().map(|file| extents(file, self.start, self.file_size)).collect();
        each?.into_iter().reduce(|a, b| Extents {
            written_bytes: a.written_bytes + b.written_bytes,
            unwritten_bytes: a.unwritten_bytes + b.unwritten_bytes,
            hole_bytes: a.hole_bytes + b.hole_bytes,
            encoded_bytes: a.encoded_bytes + b.encoded_bytes,
            shared_bytes: a.shared_bytes + b.shared_bytes,
            count: a.count + b.count,
        })
    }
    /// Share of the volume that lies in the page cache (0.0 to 1.0); `None` where the kernel does not tell.
    #[must_use]
    pub fn cached_share(&self) -> Option<f64> {
        cached_share(&self.files, self.file_size)
    }
    /// Writes back dirty pages and drops them from the page cache; says in words how far that went.
    #[must_use]
    pub fn drop_caches(&self, scope: CacheScope) -> String {
        if self.export().is_some() {
            let flushed =
                self.write_back().map_or_else(|error| format!(" (its flush failed: {error})"), |()| String::new());
            return format!("what the NBD server caches stays{flushed}; {}", drop_machine_caches());
        }
        drop_caches(&self.files, self.file_size, scope)
    }
    /// Of the words in [`Access::overwrite`] and [`Access::identities`], those that were needed to write to it.
    #[must_use]
    pub fn handed_over(&self) -> &[String] {
        &self.holding.handed_over
    }
    /// Writes back what of it is dirty in the page cache, and leaves it there; an export is asked to flush, if it does.
    ///
    /// # Errors
    /// What the system says of it, or the server.
    pub fn write_back(&self) -> std::io::Result<()> {
        if let Some(export) = self.export() {
            return if export.facts.flushes { export.session()?.flush() } else { Ok(()) };
        }
        self.files.iter().try_for_each(File::sync_data)
    }
    /// Leaves named test files in place when the volume is closed: their contents are needed for a later check.
    pub fn leave_files(&mut self) {
        self.holding.named.leave();
    }
}
