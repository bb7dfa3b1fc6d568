//! Asynchronous ways to the device, behind one small interface that the load loop is compiled against.

pub(crate) mod aio;
pub(crate) mod nbd;
pub(crate) mod null;
pub(crate) mod uring;

use loadline_block::{ErrorKind, Operation};
use loadline_kernel::system_calls;
use loadline_units::Duration;
use std::os::fd::RawFd;

/// Nobody waits for longer than this at once, so that stops and hung requests are noticed.
pub(crate) const SLICE: Duration = Duration::from_ms(50);

/// Requests handed over with one system call at most, in the deepest queue.
pub(crate) const BATCH_MAX: u32 = 32;

/// One request as a device sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Io {
    pub(crate) operation: Operation,
    pub(crate) durable: bool,
    /// Which of the volume's files.
    pub(crate) file: u32,
    pub(crate) length: u32,
    /// Within that file.
    pub(crate) offset: u64,
    pub(crate) buffer: *mut u8,
}

/// How trims are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trims {
    /// As discards: of a block device. (A hole punched into one would be zeros written.)
    Discard,
    /// As holes: of a file.
    Hole,
}

/// Trims synchronously: the bytes given up, or a negative error number.
pub(crate) fn trim(file: RawFd, io: &Io, trims: Trims) -> i32 {
    let outcome = match trims {
        Trims::Discard => system_calls::discard(file, io.offset, u64::from(io.length)),
        Trims::Hole => system_calls::punch_hole(file, io.offset, u64::from(io.length)),
    };
    match outcome {
        Ok(()) => io.length as i32,
        Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// A way to hand over many requests and to collect their answers.
pub(crate) trait Backend {
    /// Whether nothing reads the data of queued requests before `submit_and_wait`.
    fn waits_for_enter(&self) -> bool {
        true
    }
    /// Whether threads of this process, on the same processors, may carry out the requests handed over.
    fn has_workers(&self) -> bool {
        false
    }
    /// Requests of a queue with so many `places` that are handed over with one system call at most, while their thread polls or has
    /// to sleep; one that found that sleep does as well hands over [`BATCH_MAX`]. With more, the device idles while
    /// the last of them are prepared, which reach the kernel long after the time that is noted; with fewer, the calls cost more.
    fn batch_max(&self, _places: u32) -> u32 {
        BATCH_MAX
    }
    /// Whether an answer can be collected.
    fn is_answered(&mut self) -> bool {
        false
    }
    /// Whether [`Backend::is_announced`] reports answers outside a wait.
    fn announces(&self) -> bool {
        false
    }
    /// Whether an answer can be collected, or would be after `submit_and_wait` without waiting.
    fn is_announced(&mut self) -> bool {
        self.is_answered()
    }
    /// Prepares `io` in queue place `slot`; the buffer must stay untouched until `slot` is reaped.
    fn queue(&mut self, slot: u32, io: &Io);
    /// Hands over the queued requests. With `wait`, returns when at least one answer is there or the time is over, which is [`SLICE`] at
    /// most, and may be sooner where that much was asked for; without, at once.
    fn submit_and_wait(&mut self, wait: Option<Duration>) -> std::io::Result<()>;
    /// Calls `each` for every answer not yet taken, those of skipped turns included. It gets the queue place, and the bytes moved
    /// or a negative error number.
    fn reap(&mut self, each: impl FnMut(u32, i32));
}

/// What a system error number means for a load.
pub(crate) const fn error_kind(errno: i32) -> ErrorKind {
    match errno {
        libc::EIO | libc::EREMOTEIO | libc::EILSEQ | libc::ENODATA | libc::EBADMSG => ErrorKind::Io,
        libc::ENOSPC | libc::EDQUOT => ErrorKind::NoSpace,
        libc::ENXIO
        | libc::ENODEV
        | libc::EBADF
        | libc::ESHUTDOWN
        | libc::ENOTCONN
        | libc::ECONNABORTED
        | libc::ECONNRESET
        | libc::ESTALE => ErrorKind::Gone,
        libc::ETIMEDOUT => ErrorKind::TimedOut,
        libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS => ErrorKind::Refused,
        libc::EPERM | libc::EACCES | libc::EROFS => ErrorKind::Denied,
        _ => ErrorKind::Other,
    }
}
