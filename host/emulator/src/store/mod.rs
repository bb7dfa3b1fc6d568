//! Where the bytes of one disk are kept: nothing of this takes part in when a request completes.

mod disk;
mod file;
mod folder;
mod memory;
mod page;
mod volatile;

use crate::made::Made;
use crate::protocol::NbdError;
use crate::protocol::reply::Extent;
pub(crate) use disk::{Disk, Keeping, Presence};
pub(crate) use file::FileStore;
pub(crate) use folder::Folder;
pub use folder::FolderError;
pub(crate) use memory::{Budget, Fetching, MemoryStore};
pub(crate) use page::PAGE;
use page::{Old, Spare};
use std::io;
pub use volatile::Losses;

/// The bytes of one disk. Ranges lie within it; what was never written reads as zeroes.
#[derive(Debug)]
pub(crate) enum Store {
    Memory(MemoryStore),
    File(FileStore),
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
    /// What a client is told.
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
    /// Appends the bytes of a range to `made`.
    pub(crate) fn read(&self, offset: u64, length: u64, made: &mut Made) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => {
                memory.read(offset, length, made);
                Ok(())
            }
            Self::File(file) => file.read(offset, length, made),
        }
    }

    /// Has what is read soon fetched, where that makes a difference.
    pub(crate) fn fetching(&self) -> Option<Fetching<'_>> {
        match self {
            Self::Memory(memory) => Some(memory.fetching()),
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

    /// The run from `offset` on that is all data or all hole, at most `length` bytes long; it may end early.
    pub(crate) fn extent(&self, offset: u64, length: u64) -> Extent {
        match self {
            Self::Memory(memory) => memory.extent(offset, length),
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

    /// Keeps bytes, and gives away what they replace, page by page, with its number.
    fn write_keeping(
        &self,
        offset: u64,
        bytes: &[u8],
        spare: &mut Spare,
        keep: &mut impl FnMut(u64, Old),
    ) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => memory.write_keeping(offset, bytes, spare, keep),
            Self::File(file) => {
                let page = PAGE as u64;
                for number in offset / page..(offset + bytes.len() as u64).div_ceil(page) {
                    let old = file.page(number, spare)?;
                    keep(number, Old::Page(old));
                }
                file.write(offset, bytes)
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
