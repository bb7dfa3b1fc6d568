//! System calls that std does not offer, as safe functions: on files, block devices and sockets.

use crate::clock;
use loadline_units::Duration;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Size of a page of memory in bytes.
#[must_use]
pub fn page_bytes() -> u64 {
    // SAFETY: sysconf takes no pointers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).ok().filter(|b| b.is_power_of_two()).unwrap_or(4096)
}

fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

/// What `statx` tells beyond std's metadata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExtendedStatus {
    /// Id of the mount, as in the first field of mountinfo.
    pub mount_id: Option<u64>,
    /// Alignment of offsets and of memory for direct I/O, in bytes; zero where the file does not take direct I/O.
    pub direct_alignment: Option<(u32, u32)>,
}

/// Extended status of an open file; parts that the kernel does not know are `None`.
#[must_use]
pub fn extended_status(file: &File) -> ExtendedStatus {
    // SAFETY: all-zero bytes are a valid statx.
    let mut status: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_MNT_ID | libc::STATX_DIOALIGN;
    // SAFETY: the path is a constant C string and `status` outlives the call.
    let code = unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, mask, &raw mut status) };
    if code != 0 {
        return ExtendedStatus::default();
    }
    ExtendedStatus {
        mount_id: (status.stx_mask & libc::STATX_MNT_ID != 0).then_some(status.stx_mnt_id),
        direct_alignment: (status.stx_mask & libc::STATX_DIOALIGN != 0)
            .then_some((status.stx_dio_offset_align, status.stx_dio_mem_align)),
    }
}

/// Has reads leave the access time of an open file alone, where this user may ask for that: the file's owner, and root. To look whether it
/// is to be noted costs about 0.1 us for each of them.
pub fn leave_access_time(file: &File) {
    // SAFETY: F_GETFL takes and gives numbers only.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags >= 0 {
        // SAFETY: F_SETFL takes numbers only.
        let _ = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NOATIME) };
    }
}

/// Writes back all that is dirty in the file system on which `file` lies, whoever wrote it.
///
/// # Errors
/// The system's answer.
pub fn write_back_file_system(file: &File) -> io::Result<()> {
    // SAFETY: syncfs takes a number only.
    check(unsafe { libc::syncfs(file.as_raw_fd()) }).map(drop)
}

/// Space of a file system in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// In all; zero where the file system does not say.
    pub total: u64,
    /// Free to this user.
    pub available: u64,
    /// Nothing can be written to it.
    pub read_only: bool,
}

/// Space of the file system on which `file` lies.
///
/// # Errors
/// The file system cannot be asked.
pub fn space(file: &File) -> io::Result<Space> {
    // SAFETY: all-zero bytes are a valid statvfs64.
    let mut status: libc::statvfs64 = unsafe { std::mem::zeroed() };
    // SAFETY: `status` outlives the call.
    check(unsafe { libc::fstatvfs64(file.as_raw_fd(), &raw mut status) })?;
    Ok(Space {
        total: status.f_blocks * status.f_frsize,
        available: status.f_bavail * status.f_frsize,
        read_only: status.f_flag & libc::ST_RDONLY != 0,
    })
}

/// Reserves `bytes` for a file from its start and makes it that long.
///
/// # Errors
/// There is no room, or the file system cannot reserve any.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let length = i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    loop {
        // SAFETY: no pointers are passed.
        match check(unsafe { libc::fallocate64(file.as_raw_fd(), 0, 0, length) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(drop),
        }
    }
}

/// Tells a block device that `length` bytes from `offset` on are not needed any more.
///
/// # Errors
/// The device refuses.
pub fn discard(device: RawFd, offset: u64, length: u64) -> io::Result<()> {
    const BLKDISCARD: libc::Ioctl = 0x1277;
    let range = [offset, length];
    // SAFETY: BLKDISCARD reads two u64, which outlive the call.
    check(unsafe { libc::ioctl(device, BLKDISCARD, &raw const range) }).map(drop)
}

/// Gives up what a file stores of `length` bytes from `offset` on.
///
/// # Errors
/// The file system refuses.
pub fn punch_hole(file: RawFd, offset: u64, length: u64) -> io::Result<()> {
    let part = |bytes: u64| i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG));
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no pointers are passed.
    check(unsafe { libc::fallocate64(file, mode, part(offset)?, part(length)?) }).map(drop)
}

/// Logical block size of a block device in bytes.
///
/// # Errors
/// It is no block device.
pub fn logical_block_bytes(device: &File) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: BLKSSZGET writes one int, which outlives the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), libc::BLKSSZGET, &raw mut bytes) })?;
    u64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Device and inode number of the file behind a loop device.
///
/// # Errors
/// It is no loop device, or nothing is attached to it.
pub fn loop_backing(device: &File) -> io::Result<(u64, u64)> {
    const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;
    /// `struct loop_info64` of linux/loop.h.
    #[repr(C)]
    struct LoopInfo {
        device: u64,
        inode: u64,
        _rest: [u64; 27],
    }
    const { assert!(size_of::<LoopInfo>() == 232) };
    let mut info = LoopInfo { device: 0, inode: 0, _rest: [0; 27] };
    // SAFETY: LOOP_GET_STATUS64 writes one loop_info64, as large as `info`, which outlives the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) })?;
    Ok((info.device, info.inode))
}

/// One extent of a file (`struct fiemap_extent` of linux/fiemap.h).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct RawExtent {
    /// Where it begins in the file, in bytes.
    pub logical: u64,
    physical: u64,
    /// Its length in bytes.
    pub length: u64,
    reserved64: [u64; 2],
    /// `FIEMAP_EXTENT_*`.
    pub flags: u32,
    reserved: [u32; 3],
}

/// Extents asked for in one call.
const EXTENTS_PER_CALL: usize = 256;

/// Up to 256 extents of `file` that touch `start..end`, after what is dirty has been written; empty when there are none.
///
/// # Errors
/// The file system shows no extents.
pub fn extents(file: &File, start: u64, end: u64) -> io::Result<Vec<RawExtent>> {
    const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
    const FIEMAP_FLAG_SYNC: u32 = 1;
    /// `struct fiemap` of linux/fiemap.h with room for the answer.
    #[repr(C)]
    struct Map {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        room: u32,
        reserved: u32,
        extents: [RawExtent; EXTENTS_PER_CALL],
    }
    let mut map = Box::new(Map {
        start,
        length: end.saturating_sub(start),
        flags: FIEMAP_FLAG_SYNC,
        mapped: 0,
        room: EXTENTS_PER_CALL as u32,
        reserved: 0,
        extents: [RawExtent::default(); EXTENTS_PER_CALL],
    });
    // SAFETY: the kernel writes at most `room` extents behind the header, and the box has that room.
    check(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) })?;
    Ok(map.extents[..(map.mapped as usize).min(EXTENTS_PER_CALL)].to_vec())
}

/// The next stretch of data in `file` at or after `from`, as `start..end`; `None` when only a hole follows.
///
/// # Errors
/// The file system shows no holes.
pub fn next_data(file: &File, from: u64) -> io::Result<Option<(u64, u64)>> {
    let seek = |offset: u64, whence| {
        let offset = i64::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        // SAFETY: no pointers are passed.
        let found = unsafe { libc::lseek64(file.as_raw_fd(), offset, whence) };
        u64::try_from(found).map_err(|_| io::Error::last_os_error())
    };
    match seek(from, libc::SEEK_DATA) {
        Ok(start) => Ok(Some((start, seek(start, libc::SEEK_HOLE)?))),
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pages of the first `bytes` of `file` that lie in the page cache, by `cachestat` (Linux 6.5).
///
/// # Errors
/// The kernel is older than Linux 6.5, or forbids the call.
pub fn cached_pages(file: &File, bytes: u64) -> io::Result<u64> {
    const SYS_CACHESTAT: libc::c_long = 451;
    #[repr(C)]
    struct Range {
        offset: u64,
        length: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Counts {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }
    let range = Range { offset: 0, length: bytes };
    let mut counts = Counts::default();
    // SAFETY: both structs have the layout of linux/mman.h and outlive the call.
    let code = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut counts, 0) };
    if code == 0 { Ok(counts.cached) } else { Err(io::Error::last_os_error()) }
}

/// Pages of the first `bytes` of `file` that lie in the page cache, by mapping it; slower the larger the file.
///
/// # Errors
/// The file cannot be mapped.
pub fn cached_pages_by_mapping(file: &File, bytes: u64) -> io::Result<u64> {
    /// Bytes mapped at a time; a multiple of every page size.
    const WINDOW: u64 = 1 << 30;
    let page = page_bytes();
    let mut resident = 0;
    let mut flags = vec![0_u8; (WINDOW / page) as usize];
    for start in (0..bytes).step_by(WINDOW as usize) {
        let length = WINDOW.min(bytes - start);
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing reads through it.
        let address = unsafe {
            libc::mmap64(
                std::ptr::null_mut(),
                length as usize,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                start as i64,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping has `length` bytes and `flags` one byte for each of its pages.
        let asked = check(unsafe { libc::mincore(address, length as usize, flags.as_mut_ptr()) });
        // SAFETY: unmaps what was mapped above; nothing refers to it.
        unsafe { libc::munmap(address, length as usize) };
        asked?;
        resident += flags[..length.div_ceil(page) as usize].iter().filter(|f| *f & 1 == 1).count() as u64;
    }
    Ok(resident)
}

/// Asks the kernel to drop the clean cached pages of `file`.
///
/// # Errors
/// The system's answer.
pub fn drop_clean_pages(file: &File) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let code = unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Whether nobody else has the regular file open; `None` where this cannot be found out.
///
/// A write lease is granted only to the sole opener.
#[must_use]
pub fn sole_opener(file: &File) -> Option<bool> {
    lease_granted(file, libc::F_WRLCK)
}

/// Whether nobody has the regular file open for writing; `None` where this cannot be found out. `file` is open for reading.
///
/// A read lease is granted only where nobody can write.
#[must_use]
pub fn without_writer(file: &File) -> Option<bool> {
    lease_granted(file, libc::F_RDLCK)
}

/// A lease is given back at once. Its owner would be told of a newcomer in between by a signal that is ignored by default.
fn lease_granted(file: &File, kind: libc::c_int) -> Option<bool> {
    const F_SETSIG: libc::c_int = 10;
    // SAFETY: no pointers are passed.
    if unsafe { libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) } != 0 {
        return None;
    }
    // SAFETY: no pointers are passed.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) } != 0 {
        let refused = io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        return refused.then_some(false);
    }
    // SAFETY: no pointers are passed.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    Some(true)
}

/// Reads the beginning of a log page of an NVMe controller through one of its namespaces into `page`, whose length is a
/// multiple of four.
///
/// # Errors
/// It is no NVMe device, this user may not ask it, or the length is no multiple of four.
pub fn nvme_log_page(namespace: &File, id: u8, page: &mut [u8]) -> io::Result<()> {
    const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = 0xC048_4E41_u32 as libc::Ioctl;
    const GET_LOG_PAGE: u8 = 2;
    const TIMEOUT_MS: u32 = 1_000;
    /// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
    #[repr(C)]
    #[derive(Default)]
    struct Command {
        opcode: u8,
        flags: u8,
        reserved: u16,
        namespace: u32,
        words: [u32; 2],
        metadata: u64,
        address: u64,
        metadata_length: u32,
        length: u32,
        /// Command dwords 10 to 15.
        arguments: [u32; 6],
        timeout_ms: u32,
        result: u32,
    }
    const { assert!(size_of::<Command>() == 72) };
    let length = u32::try_from(page.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // The number of dwords counts from 0 and stands above the page's id.
    let dwords = (length / 4).checked_sub(1).filter(|n| *n <= 0xFFFF && length.is_multiple_of(4));
    let dwords = dwords.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        namespace: 1,
        address: page.as_mut_ptr() as u64,
        length,
        arguments: [u32::from(id) | dwords << 16, 0, 0, 0, 0, 0],
        timeout_ms: TIMEOUT_MS,
        ..Command::default()
    };
    // SAFETY: `command` has the layout that the request reads and writes, and outlives the call, which returns only when the
    // command is done; the kernel copies at most `length` bytes to `address`, and `page` has that many, borrowed for writing.
    // A file that is no NVMe device refuses the request.
    match check(unsafe { libc::ioctl(namespace.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, &raw mut command) })? {
        0 => Ok(()),
        status => Err(io::Error::other(format!("the controller refuses log page {id:#04x} with status {status:#x}"))),
    }
}

/// Connects to a unix socket. Where as many clients wait there as its server lets wait, it waits for `limit` at most, which std's way
/// does without one.
///
/// # Errors
/// Nobody listens there, nobody takes it in in time, or the path is too long for a socket.
pub fn connect_unix(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    // SAFETY: all-zero bytes are a valid sockaddr_un.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as _;
    let bytes = path.as_os_str().as_bytes();
    // The kernel ends the path at a zero byte.
    let longest = address.sun_path.len() - 1;
    if bytes.len() > longest || bytes.contains(&0) {
        let said = format!("the path of a socket has at most {longest} bytes, none of them zero");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as _;
    }
    // SAFETY: no pointers are passed.
    let socket = check(unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: it was just made, and nobody else has it.
    let stream = unsafe { UnixStream::from_raw_fd(socket) };
    let until = clock::now() + limit;
    loop {
        // It bounds the connecting as well.
        stream.set_write_timeout(Some(until.since(clock::now()).max(Duration::from_ms(1)).into()))?;
        let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: an address of this length that outlives the call.
        match check(unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length) }) {
            Ok(_) => return stream.set_write_timeout(None).map(|()| stream),
            Err(error) if error.kind() == io::ErrorKind::Interrupted && clock::now() < until => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                let said = format!("it took nobody in for {limit}, as a server does that has stopped");
                return Err(io::Error::new(io::ErrorKind::TimedOut, said));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_written_file_is_resident_and_both_ways_of_counting_agree() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        let pages = (1 << 20) / page_bytes();
        assert_eq!(cached_pages_by_mapping(&file, 1 << 20).unwrap(), pages);
        match cached_pages(&file, 1 << 20) {
            Ok(counted) => assert_eq!(counted, pages),
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)),
                "an old or closed kernel only: {error}"
            ),
        }
    }

    #[test]
    fn what_is_no_nvme_device_has_no_log_page() {
        let file = tempfile::tempfile().unwrap();
        let mut page = [7; 512];
        assert!(nvme_log_page(&file, 0xD0, &mut page).is_err());
        let odd = nvme_log_page(&file, 0xD0, &mut page[..510]).expect_err("no whole number of dwords");
        assert_eq!(odd.raw_os_error(), Some(libc::EINVAL));
        assert_eq!(nvme_log_page(&file, 0xD0, &mut []).expect_err("nothing").raw_os_error(), Some(libc::EINVAL));
        assert_eq!(page, [7; 512]);
    }

    #[test]
    fn the_path_of_a_socket_has_an_end() {
        let refused =
            |path: &str| connect_unix(Path::new(path), Duration::from_s(1)).expect_err("no socket").to_string();
        assert!(refused(&"x".repeat(108)).contains("at most 107 bytes"));
        assert!(refused("/tmp/\0x").contains("none of them zero"));
        let folder = tempfile::tempdir().unwrap();
        assert!(connect_unix(&folder.path().join("x"), Duration::from_s(1)).is_err());
    }

    #[test]
    fn a_second_opener_is_noticed() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let first = named.reopen().unwrap();
        if sole_opener(&first).is_none() {
            println!("skipped: this file system grants no leases");
            return;
        }
        assert_eq!(sole_opener(&first), Some(false), "the named file itself is open too");
        let path = named.into_temp_path();
        // A child of another test, between fork and exec, may keep the second one open for a moment.
        let alone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            sole_opener(&first) == Some(true)
        });
        assert!(alone);
        drop(path);
    }
}
