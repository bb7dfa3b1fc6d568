//! Where the bytes of one disk are kept: nothing of this takes part in when a request completes.

mod disk;
mod file;
mod folder;
mod memory;
mod page;
mod volatile;

use crate::send_buffer::SendBuffer;
pub(crate) use disk::{Keeping, Presence, StoredDisk};
pub(crate) use file::{BackingTrouble, FileStore};
pub(crate) use folder::Folder;
pub use folder::FolderError;
use loadline_nbd::NbdError;
use loadline_nbd::reply::Extent;
pub(crate) use memory::{Budget, MemoryStore, Still};
use page::{Old, Spare};
pub(crate) use page::{PAGE, Page};
use std::io;
pub use volatile::Losses;

/// To ask a store at all takes as long as looking at so many pages.
const LOCK_LOOKS: u64 = 4;

/// The bytes of one disk. Ranges lie within it; what was never written reads as zeroes.
#[derive(Debug)]
pub(crate) enum Store {
    Memory(MemoryStore),
    File(FileStore),
}

/// Bytes to keep.
#[derive(Debug)]
pub(crate) enum Fresh<'a> {
    /// Are copied.
    Bytes(&'a [u8]),
    /// Are swapped for other pages where that is possible; they begin where one does.
    Pages(&'a mut [Page]),
}

impl Fresh<'_> {
    const fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Pages(pages) => (pages.len() * PAGE) as u64,
        }
    }
}

/// Why bytes could not be kept or given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Memory or the file system is full.
    #[error("no space left for contents")]
    NoSpace,
    /// The file system failed.
    #[error("the backing file failed: {0}")]
    Io(#[from] io::Error),
}

impl StoreError {
    /// The answer for a client.
    pub(crate) const fn told(&self) -> NbdError {
        match self {
            Self::NoSpace => NbdError::NoSpace,
            Self::Io(_) => NbdError::Io,
        }
    }
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Self::NoSpace,
            _ => Self::Io(error),
        }
    }
}

impl Store {
    /// Appends the bytes of a range to `buffer`.
    pub(crate) fn read(&self, offset: u64, length: u64, buffer: &mut SendBuffer) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => {
                memory.read(offset, length, buffer);
                Ok(())
            }
            Self::File(file) => file.read(offset, length, buffer),
        }
    }

    /// Has bytes stay as they are, where they lie in memory.
    pub(crate) fn still(&self) -> Option<Still<'_>> {
        match self {
            Self::Memory(memory) => Some(memory.still()),
            Self::File(_) => None,
        }
    }

    /// Keeps bytes.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => memory.write(offset, bytes),
            Self::File(file) => file.write(offset, bytes),
        }
    }

    /// As [`Store::write`]; pages are left with any bytes.
    fn put(&self, offset: u64, fresh: Fresh<'_>) -> Result<(), StoreError> {
        match (self, fresh) {
            (_, Fresh::Bytes(bytes)) => self.write(offset, bytes),
            (Self::Memory(memory), Fresh::Pages(pages)) => memory.swap(offset, pages),
            (Self::File(file), Fresh::Pages(pages)) => file.write_pages(offset, pages),
        }
    }

    /// Makes a range read as zeroes and gives its space back, as far as that goes.
    pub(crate) fn clear(&self, offset: u64, length: u64) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => {
                memory.clear(offset, length);
                Ok(())
            }
            Self::File(file) => file.clear(offset, length),
        }
    }

    /// The run from `offset` on that is all data or all hole, at most `length` bytes long; it may end early, and does before so much is
    /// looked at that a writer would wait for it. Adds to `looks` the pages looked at.
    pub(crate) fn extent(&self, offset: u64, length: u64, looks: &mut u64) -> Extent {
        *looks += LOCK_LOOKS;
        match self {
            Self::Memory(memory) => memory.extent(offset, length, looks),
            Self::File(file) => file.extent(offset, length),
        }
    }

    /// Makes everything read as zeroes.
    pub(crate) fn wipe(&self) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => {
                memory.wipe();
                Ok(())
            }
            Self::File(file) => file.wipe(),
        }
    }

    /// As [`Store::put`]; what that replaces is given away, page by page, with its number.
    fn put_keeping(
        &self,
        offset: u64,
        fresh: Fresh<'_>,
        spare: &mut Spare,
        keep: &mut impl FnMut(u64, Old),
    ) -> Result<(), StoreError> {
        match (self, fresh) {
            (Self::Memory(memory), Fresh::Bytes(bytes)) => memory.write_keeping(offset, bytes, spare, keep),
            (Self::Memory(memory), Fresh::Pages(pages)) => memory.swap_keeping(offset, pages, spare, keep),
            (Self::File(file), fresh) => {
                let page = PAGE as u64;
                for number in offset / page..(offset + fresh.length()).div_ceil(page) {
                    let old = file.page(number, spare)?;
                    keep(number, Old::Page(old));
                }
                self.put(offset, fresh)
            }
        }
    }

    /// Hands everything to the device below.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file) => file.sync(),
        }
    }
}

#[cfg(test)]
mod tests;
