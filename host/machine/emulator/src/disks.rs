//! The disks of an emulation, and which of them are copies of each other.

use crate::store::{Folder, StoredDisk};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;

/// A disk of a volume.
#[derive(Debug)]
pub(crate) struct VolumeDisk {
    pub(crate) disk: Arc<StoredDisk>,
    pub(crate) size: u64,
    pub(crate) volume: usize,
    /// Its place in the volume.
    pub(crate) number: usize,
    /// Copies in the volume's layout.
    pub(crate) copies: usize,
    /// The lock of its volume's writers: see [`crate::contents::Contents`].
    pub(crate) writing: Arc<RwLock<()>>,
}

impl VolumeDisk {
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        let column = |disk: &Self| (disk.volume, disk.number / disk.copies);
        column(self) == column(other) && self.number != other.number
    }
}

/// All disks, and the folder that keeps their contents, if there is one.
#[derive(Debug)]
pub(crate) struct DiskSet {
    disks: Vec<VolumeDisk>,
    folder: Option<Folder>,
    /// One change at a time.
    changing: Mutex<()>,
}

impl DiskSet {
    pub(crate) fn new(disks: Vec<VolumeDisk>, folder: Option<Folder>) -> Self {
        Self { disks, folder, changing: Mutex::default() }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, VolumeDisk> {
        self.disks.iter()
    }

    pub(crate) const fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Holds off all other changes.
    pub(crate) fn begin_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }
}
