//! Buffers for what a client sends: unparsed bytes, and the pages of long writes, which become part of the contents without a copy.

use crate::store::{PAGE, Page};
use loadline_kernel::prefetch::prefetch;
use loadline_nbd::request::Awaited;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, recv, recvmsg};
use std::io::IoSliceMut;

/// Bytes read at once from a client that sends a lot.
const RECEIVE: usize = 512 << 10;
/// The least room for them.
const ROOM: usize = 128 << 10;
/// Bytes of a client that sends little, or nothing for a while.
const RESTING: usize = 8 << 10;
/// The rest of a write goes into pages from this length on.
const LANDING_MIN: u64 = 32 << 10;
/// The most bytes received into pages together. If the connection ends before, none of them are stored.
const LANDING_MAX: u64 = 256 << 10;

/// Bytes that were received and not parsed yet.
pub(crate) struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReceiveBuffer {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; RESTING], start: 0, end: 0 }
    }
    /// Gives memory back, as the client sends nothing.
    pub(crate) fn rest(&mut self) {
        if self.start == self.end && self.bytes.len() > RESTING {
            *self = Self::new();
        }
    }
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }
    pub(crate) fn leave(&mut self, left: usize) {
        self.start = self.end - left;
        if left == 0 {
            (self.start, self.end) = (0, 0);
        }
    }
    /// Reads at least a byte; `false`: the client sends nothing more.
    pub(crate) fn read(&mut self, socket: &OwnedFd) -> Result<bool, Errno> {
        self.receive(socket, RecvFlags::empty())
    }

    /// As [`ReceiveBuffer::read`], with `flags`. Without waiting, nothing to read is an error ([`Errno::AGAIN`]).
    pub(crate) fn receive(&mut self, socket: &OwnedFd, flags: RecvFlags) -> Result<bool, Errno> {
        // An incomplete message moves to the front before its rest would not fit. Headers, options and stretches of data are far
        // shorter than a full buffer.
        let room = ROOM.min(self.bytes.len() / 2);
        if self.bytes.len() - self.end < room && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.bytes.len() - self.end < room {
            self.bytes.resize(RECEIVE, 0);
        }
        assert!(self.end < self.bytes.len(), "a message is longer than {RECEIVE} bytes");
        loop {
            match recv(socket.as_fd(), &mut self.bytes[self.end..], flags) {
                Ok((count, _)) => {
                    self.end += count;
                    // More is waiting, most likely.
                    if self.end == self.bytes.len() {
                        self.bytes.resize(RECEIVE, 0);
                    }
                    return Ok(count > 0);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Pages for the rest of a long write.
#[derive(Default)]
pub(crate) struct WritePages {
    pages: Vec<Page>,
}

impl WritePages {
    /// Gives memory back, as the client sends nothing.
    pub(crate) fn rest(&mut self) {
        self.pages = Vec::new();
    }

    /// How many of these bytes to receive into pages now; `None`: receive them as any others.
    pub(crate) fn room(&mut self, awaited: Awaited) -> Option<usize> {
        let Awaited { offset, left } = awaited;
        if left < LANDING_MIN || !offset.is_multiple_of(PAGE as u64) {
            return None;
        }
        let count = left.min(LANDING_MAX) as usize / PAGE;
        while self.pages.len() < count {
            self.pages.push(Page::new()?);
        }
        Some(count * PAGE)
    }

    /// Prefetches the pages of `count` bytes, so that the system copies faster. It only helps for a client on the same processor.
    pub(crate) fn fetch(&self, count: usize) {
        self.pages[..count / PAGE].iter().for_each(|page| prefetch(page.bytes()));
    }

    /// Receives `count` bytes, beginning with those in `buffer`; up to `next` more go into the buffer. `wait` calls its argument, with
    /// flags, until something was received. `None`: the connection ended before.
    pub(crate) fn receive(
        &mut self,
        count: usize,
        buffer: &mut ReceiveBuffer,
        socket: &OwnedFd,
        next: usize,
        mut wait: impl FnMut(&mut dyn FnMut(RecvFlags) -> Result<usize, Errno>) -> Result<usize, Errno>,
    ) -> Result<Option<&mut [Page]>, Errno> {
        let pages = &mut self.pages[..count / PAGE];
        let here = buffer.unread();
        let mut filled = here.len().min(count);
        for (page, bytes) in pages.iter_mut().zip(here[..filled].chunks(PAGE)) {
            page.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        }
        let left = here.len() - filled;
        buffer.leave(left);
        while filled < count {
            // No more than a message begins there: the rest of it has its own place.
            let tail = &mut buffer.bytes[..next];
            let mut slices = Vec::with_capacity(pages.len() + 1);
            let mut within = filled % PAGE;
            for page in &mut pages[filled / PAGE..] {
                slices.push(IoSliceMut::new(&mut page.bytes_mut()[within..]));
                within = 0;
            }
            slices.push(IoSliceMut::new(tail));
            let received = wait(&mut |flags| {
                let message = recvmsg(socket.as_fd(), &mut slices, &mut RecvAncillaryBuffer::default(), flags)?;
                Ok(message.bytes)
            });
            match received {
                Ok(0) => return Ok(None),
                Ok(received) => {
                    filled += received;
                    buffer.end = filled.saturating_sub(count);
                }
                // A client in the middle of a write is not at rest, however long it takes.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

    #[test]
    fn a_client_that_sends_little_has_a_small_buffer_and_one_at_rest_as_well() {
        let flags = SocketFlags::CLOEXEC;
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let sent = |count: usize| assert_eq!(send(&other, &vec![1; count], SendFlags::empty()), Ok(count));
        let mut buffer = ReceiveBuffer::new();
        // What is taken as it comes, whatever that comes to.
        for _ in 0..100 {
            sent(1_000);
            assert_eq!(buffer.read(&own), Ok(true));
            assert_eq!(buffer.unread().len(), 1_000);
            buffer.leave(0);
        }
        assert_eq!(buffer.bytes.len(), RESTING);
        // A message that is longer, in pieces.
        for length in [3_000, 6_000, 9_000, 12_000] {
            sent(3_000);
            assert_eq!(buffer.read(&own), Ok(true));
            assert_eq!(buffer.unread().len(), length);
            buffer.leave(length);
        }
        assert_eq!(buffer.bytes.len(), RECEIVE);
        buffer.rest();
        assert_eq!(buffer.bytes.len(), RECEIVE, "half a message is there");
        buffer.leave(0);
        buffer.rest();
        assert_eq!(buffer.bytes.capacity(), RESTING);
        // One who sends a lot at once.
        sent(100_000);
        assert_eq!(buffer.read(&own), Ok(true));
        assert_eq!((buffer.unread().len(), buffer.bytes.len()), (RESTING, RECEIVE));
    }
}
