//! Whether the page cache can be bypassed, found out by trying: a file system may take the flag and not mean it.

use loadline_kernel::facts::Storage;
use loadline_kernel::system_calls;
use loadline_units::{Bytes, SECTOR};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};

/// What direct I/O asks of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Offsets and lengths are multiples of this.
    pub offset: Bytes,
    /// Addresses of buffers are multiples of this.
    pub memory: Bytes,
}

impl Default for Alignment {
    /// The least that any device asks for.
    fn default() -> Self {
        Self { offset: SECTOR, memory: SECTOR }
    }
}

/// The largest alignment to try if neither file system nor device reports one.
const PAGE: Bytes = Bytes::kib(4);

/// How far a file may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Somebody's data.
    ReadOnly,
    /// A fresh test file: its first block may be written.
    ReadAndWrite,
}

/// An open file, and whether it bypasses the page cache.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    /// Why the page cache takes part; `None` where it is bypassed.
    pub(crate) not_direct: Option<String>,
    pub(crate) alignment: Alignment,
}

/// Why direct I/O is out of the question before anything is tried.
pub(crate) fn hopeless(storage: &Storage, buffered: bool) -> Option<String> {
    if buffered {
        return Some("buffered I/O was asked for".to_owned());
    }
    let file_system = storage.file_system.as_ref()?;
    if let Some(kind) = file_system.in_memory() {
        let over = if kind == file_system.kind { String::new() } else { format!("{} over ", file_system.kind) };
        return Some(format!("{over}{kind} keeps its files in memory"));
    }
    let kind = file_system.kind.as_str();
    if kind == "zfs" {
        let version = fs::read_to_string("/sys/module/zfs/version").unwrap_or_default();
        return (!zfs_means_it(&version)).then(|| {
            format!("ZFS {} takes the flag and uses its cache all the same; 2.3 and later do not", version.trim())
        });
    }
    None
}

/// Whether this version ("2.2.4-1") bypasses its cache on request.
fn zfs_means_it(version: &str) -> bool {
    let mut parts = version.trim().split(['.', '-']).map(|p| p.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (2, 3)
}

/// Opens by `open`, which is given flags to add, with the page cache bypassed if that can be done.
///
/// # Errors
/// Those of `open`, but for the refusal of direct I/O.
pub(crate) fn open_bypassing(
    hopeless: Option<String>,
    trial: Trial,
    mut open: impl FnMut(libc::c_int) -> io::Result<File>,
) -> io::Result<Opened> {
    let reason = match hopeless {
        Some(reason) => reason,
        None => match open(libc::O_DIRECT) {
            Ok(file) => match try_direct(&file, trial) {
                Ok(alignment) => {
                    system_calls::leave_access_time(&file);
                    return Ok(Opened { file, not_direct: None, alignment });
                }
                Err(reason) => reason,
            },
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                "the file system refuses to open files for direct I/O".to_owned()
            }
            Err(error) => return Err(error),
        },
    };
    let file = open(0)?;
    system_calls::leave_access_time(&file);
    Ok(Opened { file, not_direct: Some(reason), alignment: Alignment::default() })
}

/// The alignment with which direct I/O works, or why it does not. A failing disk is no reason: that is for the
/// measurement to find.
fn try_direct(file: &File, trial: Trial) -> Result<Alignment, String> {
    let known = known_alignment(file);
    if known.is_some_and(|a| a.offset == Bytes::ZERO || a.memory == Bytes::ZERO) {
        return Err("the file system does not take direct I/O on this file".to_owned());
    }
    let cached_before = cached_in_front(file);
    if trial == Trial::ReadAndWrite {
        let block = known.map_or(PAGE, |a| a.offset.max(PAGE));
        let written = with_buffer(block, |buffer| file.write_at(buffer, 0).map(drop));
        if written.is_err_and(|e| e.raw_os_error() == Some(libc::EINVAL)) {
            return Err("the file system takes the flag for direct I/O but refuses direct writes".to_owned());
        }
    }
    let uses_cache = || cached_before == Some(0) && cached_in_front(file).is_some_and(|pages| pages > 0);
    let cached = || "the file system takes the flag for direct I/O but uses the page cache all the same".to_owned();
    if uses_cache() {
        return Err(cached());
    }
    let pages = Alignment { offset: PAGE, memory: PAGE };
    let mut refusal = "the file system takes the flag for direct I/O but refuses direct reads".to_owned();
    // A file system may serve less than its own blocks from the page cache, whatever the device below it could do.
    for candidate in [known.unwrap_or_default(), pages] {
        let read = with_buffer(candidate.offset, |buffer| file.read_at(buffer, 0).map(drop));
        if read.is_err_and(|e| e.raw_os_error() == Some(libc::EINVAL)) {
            continue;
        }
        if !uses_cache() {
            return Ok(candidate);
        }
        refusal = cached();
        // A page that is still cached shows once more.
        let _ = system_calls::drop_clean_pages(file);
    }
    Err(refusal)
}

fn known_alignment(file: &File) -> Option<Alignment> {
    if let Some((offset, memory)) = system_calls::extended_status(file).direct_alignment {
        return Some(Alignment { offset: Bytes::new(offset.into()), memory: Bytes::new(memory.into()) });
    }
    let block = Bytes::new(system_calls::logical_block_bytes(file).ok()?);
    Some(Alignment { offset: block, memory: block })
}

/// Cached pages among those that the trial touches; `None` for a device, whose cache others share.
fn cached_in_front(file: &File) -> Option<u64> {
    if file.metadata().ok()?.file_type().is_block_device() {
        return None;
    }
    system_calls::cached_pages(file, PAGE.get()).ok()
}

/// Calls `act` with so many zero bytes at an address aligned for any device.
fn with_buffer<T>(length: Bytes, act: impl FnOnce(&mut [u8]) -> T) -> T {
    let align = length.max(PAGE).get() as usize;
    let length = length.get() as usize;
    let mut memory = vec![0_u8; length + align];
    let start = memory.as_ptr().align_offset(align);
    act(&mut memory[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::FileSystemFacts;

    #[test]
    fn memory_is_never_direct() {
        let on = |kind: &str| Storage {
            file_system: Some(FileSystemFacts { kind: kind.to_owned(), ..FileSystemFacts::default() }),
            ..Storage::default()
        };
        assert!(hopeless(&on("tmpfs"), false).unwrap().contains("memory"));
        assert_eq!(hopeless(&on("ext4"), false), None);
        let mut overlay = on("overlay");
        assert_eq!(hopeless(&overlay, false), None);
        overlay.file_system.as_mut().unwrap().beneath = Some("tmpfs".to_owned());
        assert!(hopeless(&overlay, false).unwrap().contains("overlay over tmpfs keeps its files in memory"));
        assert!(hopeless(&on("ext4"), true).unwrap().contains("asked for"));
    }

    #[test]
    fn zfs_means_it_from_2_3() {
        assert!(!zfs_means_it("2.2.4-1\n"));
        assert!(zfs_means_it("2.3.0-rc1"));
        assert!(zfs_means_it("3.0.0"));
        assert!(!zfs_means_it(""));
    }

    #[test]
    fn reads_leave_access_times_alone() {
        use std::os::fd::AsRawFd;
        for hopeless in [None, Some("buffered I/O was asked for".to_owned())] {
            let opened = open_bypassing(hopeless, Trial::ReadOnly, |_| tempfile::tempfile()).unwrap();
            // SAFETY: F_GETFL takes and gives numbers only.
            let flags = unsafe { libc::fcntl(opened.file.as_raw_fd(), libc::F_GETFL) };
            assert_ne!(flags & libc::O_NOATIME, 0);
        }
    }

    #[test]
    fn a_refusal_of_the_flag_leads_to_buffered_io() {
        let opened = open_bypassing(None, Trial::ReadOnly, |flags| {
            if flags & libc::O_DIRECT != 0 {
                Err(io::Error::from_raw_os_error(libc::EINVAL))
            } else {
                tempfile::tempfile()
            }
        })
        .unwrap();
        assert!(opened.not_direct.unwrap().contains("refuses"));
    }

    #[test]
    fn another_failure_to_open_is_passed_on() {
        let failed = open_bypassing(None, Trial::ReadOnly, |_| Err(io::Error::from_raw_os_error(libc::EACCES)));
        assert_eq!(failed.unwrap_err().raw_os_error(), Some(libc::EACCES));
    }
}
