//! Contents in a sparse file.

use super::StoreError;
use super::page::{PAGE, Page, Spare};
use crate::send_buffer::SendBuffer;
use loadline_nbd::reply::Extent;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

/// Zeroes written at once where a file system cannot make holes.
const ZEROES: &[u8] = &[0; 64 << 10];

/// One disk's bytes in a file as long as the disk. They are there as soon as they were written, for other processes and after
/// the end of this one; a crash of this machine may lose them.
#[derive(Debug)]
pub(crate) struct FileStore {
    file: File,
    trouble: Arc<BackingTrouble>,
}

/// Why files could not keep bytes, or give them, the first time: of all disks of an emulation together.
#[derive(Debug, Default)]
pub(crate) struct BackingTrouble(OnceLock<String>);

impl BackingTrouble {
    /// The first time, in words; `None`: all goes well.
    pub(crate) fn first(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

impl FileStore {
    /// `file` is as long as the disk.
    pub(crate) const fn new(file: File, trouble: Arc<BackingTrouble>) -> Self {
        Self { file, trouble }
    }

    /// What the file system said when it was to do `what`.
    fn failed(&self, what: &str, error: io::Error) -> StoreError {
        let _ = self.trouble.0.set(format!("cannot {what}: {error}"));
        StoreError::of(error)
    }

    pub(crate) fn read(&self, offset: u64, length: u64, buffer: &mut SendBuffer) -> Result<(), StoreError> {
        let read = buffer.fill(length as usize, |bytes| self.file.read_exact_at(bytes, offset));
        read.map_err(|error| self.failed("read", error))
    }

    pub(super) fn page(&self, number: u64, spare: &mut Spare) -> Result<Page, StoreError> {
        // The last page may end early.
        let mut page = spare.page(&[0; PAGE]).ok_or(StoreError::NoSpace)?;
        let bytes = page.bytes_mut();
        let mut filled = 0;
        while filled < PAGE {
            match self.file.read_at(&mut bytes[filled..], number * PAGE as u64 + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) => return Err(self.failed("read", error)),
            }
        }
        Ok(page)
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.failed("write", error))
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
            Err(error) => return Err(self.failed("make a hole", error.into())),
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
        let emptied = self.file.metadata().and_then(|known| {
            self.file.set_len(0)?;
            self.file.set_len(known.len())
        });
        emptied.map_err(|error| self.failed("empty a file", error))
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
        self.file.sync_data().map_err(|error| self.failed("make writes durable", error))
    }
}
