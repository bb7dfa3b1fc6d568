//! Contents in a sparse file.

use super::StoreError;
use super::page::{PAGE, Page, Spare};
use crate::made::Made;
use crate::protocol::reply::Extent;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Zeroes written at once where a file system cannot make holes.
const ZEROES: &[u8] = &[0; 64 << 10];

/// One disk's bytes in a file as long as the disk. They are there as soon as they were written, for other processes and after
/// the end of this one; a crash of this machine may lose them.
#[derive(Debug)]
pub(crate) struct FileStore {
    file: File,
}

impl FileStore {
    /// `file` is as long as the disk.
    pub(crate) const fn new(file: File) -> Self {
        Self { file }
    }

    pub(crate) fn read(&self, offset: u64, length: u64, made: &mut Made) -> Result<(), StoreError> {
        Ok(made.fill(length as usize, |bytes| self.file.read_exact_at(bytes, offset))?)
    }

    pub(super) fn page(&self, number: u64, spare: &mut Spare) -> Result<Page, StoreError> {
        // The last page may end early.
        let mut page = spare.page(&[0; PAGE]).ok_or(StoreError::NoSpace)?;
        let bytes = page.bytes_mut();
        let mut filled = 0;
        while filled < PAGE {
            match self.file.read_at(&mut bytes[filled..], number * PAGE as u64 + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(page)
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, offset).map_err(StoreError::of)
    }

    pub(super) fn write_pages(&self, mut offset: u64, pages: &[Page]) -> Result<(), StoreError> {
        for page in pages {
            self.write(offset, page.bytes())?;
            offset += PAGE as u64;
        }
        Ok(())
    }

    pub(crate) fn clear(&self, mut offset: u64, mut length: u64) -> Result<(), StoreError> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, offset, length) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(StoreError::of(error.into())),
        }
        while length > 0 {
            let now = length.min(ZEROES.len() as u64);
            self.write(offset, &ZEROES[..now as usize])?;
            offset += now;
            length -= now;
        }
        Ok(())
    }

    pub(crate) fn wipe(&self) -> Result<(), StoreError> {
        let length = self.file.metadata()?.len();
        self.file.set_len(0)?;
        Ok(self.file.set_len(length)?)
    }

    pub(crate) fn extent(&self, offset: u64, length: u64) -> Extent {
        let data = Extent { length, hole: false };
        match seek(&self.file, SeekFrom::Data(offset)) {
            // No data until the end.
            Err(rustix::io::Errno::NXIO) => Extent { length, hole: true },
            // The file system does not tell; "data" is always true.
            Err(_) => data,
            Ok(start) if start > offset => Extent { length: length.min(start - offset), hole: true },
            Ok(_) => match seek(&self.file, SeekFrom::Hole(offset)) {
                Ok(end) if end > offset => Extent { length: length.min(end - offset), hole: false },
                _ => data,
            },
        }
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error: io::Error| StoreError::of(error))
    }
}
