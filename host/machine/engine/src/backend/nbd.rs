//! An export of an NBD server: many requests at once over one connection, each answered when the server likes.

use super::{Backend, Io};
use crate::nbd::{Connection, NbdExport};
use loadline_block::Operation;
use loadline_nbd::client::{ClientRequest, SIMPLE_REPLY, SimpleReply};
use loadline_nbd::request::{HEADER, code};
use loadline_units::{Bytes, Duration, Instant, NS_PER_S};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// Pieces of memory handed over with one system call.
const PIECES: usize = 128;
/// Blocks up to this size are received together with the replies before and behind them, and copied from there.
const SMALL: Bytes = Bytes::kib(32);
/// Bytes received at once: of small blocks, and of replies between large ones.
const TOGETHER: usize = 256 << 10;
const BETWEEN: usize = 4 << 10;
/// A wait for as long, and that of a closed loop is, is one for the next bytes. The socket ends it, to within a tick or two of the kernel.
const PATIENCE: Duration = Duration::from_ms(50);
/// Answers after which it is the load's turn.
const ANSWERS: usize = 64;

/// A connection with its requests in flight.
pub(crate) struct Nbd {
    connection: Connection,
    /// What stands in each queue place.
    places: Box<[Option<InFlightRequest>]>,
    outgoing: VecDeque<Outgoing>,
    /// Bytes of the first of them that have left.
    left: usize,
    received: Received,
    /// The place whose bytes come next, and how many of them are here.
    filling: Option<(u32, usize)>,
    answered: Vec<(u32, i32)>,
    /// The connection ended, with this error number.
    gone: Option<i32>,
    /// No request has a due time: the wait is for an answer, and need not be exact.
    unhurried: bool,
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
struct InFlightRequest {
    operation: Operation,
    buffer: *mut u8,
    length: u32,
}

/// A request that has not left as a whole.
struct Outgoing {
    header: [u8; HEADER],
    data: *const u8,
    length: usize,
}

/// Bytes that came and were not looked at.
struct Received {
    bytes: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Received {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.begin..self.end]
    }
    fn take(&mut self, count: usize) {
        self.begin += count;
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
    }
    /// Room for a whole reply at least.
    fn room(&mut self) -> &mut [u8] {
        if self.begin > 0 {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        &mut self.bytes[self.end..]
    }
}

impl Nbd {
    /// A connection to `export` for `slots` requests at once, of at most `block_max` bytes each; `unhurried`, if none of them is due at a
    /// time of its own.
    ///
    /// # Errors
    /// The server is gone, or refuses.
    pub(crate) fn new(export: &Arc<NbdExport>, slots: u32, block_max: Bytes, unhurried: bool) -> io::Result<Self> {
        let connection = export.connect()?;
        connection.stream().set_read_timeout(Some(PATIENCE.into()))?;
        let at_once = if block_max <= SMALL { TOGETHER } else { BETWEEN };
        Ok(Self {
            connection,
            places: vec![None; slots as usize].into(),
            outgoing: VecDeque::with_capacity(slots as usize),
            left: 0,
            received: Received { bytes: vec![0; at_once].into(), begin: 0, end: 0 },
            filling: None,
            answered: Vec::with_capacity(slots as usize),
            gone: None,
            unhurried,
        })
    }

    fn socket(&self) -> RawFd {
        self.connection.stream().as_raw_fd()
    }

    /// The connection is of no use any more, however the system calls that: whatever is in flight failed.
    fn lose(&mut self, errno: i32) {
        self.gone = Some(errno);
        self.outgoing.clear();
        self.filling = None;
        let lost = self.places.iter_mut().enumerate().filter_map(|(slot, place)| place.take().map(|_| slot as u32));
        self.answered.extend(lost.map(|slot| (slot, -errno)));
    }

    /// Hands over as much as the socket takes.
    fn send(&mut self) {
        while !self.outgoing.is_empty() && self.gone.is_none() {
            let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES];
            let (mut count, mut wanted, mut skip) = (0, 0, self.left);
            for one in self.outgoing.iter().take(PIECES / 2) {
                for (start, length) in [(one.header.as_ptr(), HEADER), (one.data, one.length)] {
                    let gone = skip.min(length);
                    skip -= gone;
                    if length > gone {
                        pieces[count] = libc::iovec {
                            iov_base: start.wrapping_add(gone).cast_mut().cast(),
                            iov_len: length - gone,
                        };
                        count += 1;
                        wanted += length - gone;
                    }
                }
            }
            // SAFETY: a message header of zeros is a valid one without address and ancillary data.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = pieces.as_mut_ptr();
            message.msg_iovlen = count as _;
            let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
            // SAFETY: `count` pieces lie within headers in `outgoing`, which does not change meanwhile, and buffers of the driver,
            // which live as long as this. (A server that answers a write before it has all of it gets what stands there by then.)
            let sent = unsafe { libc::sendmsg(self.socket(), &raw const message, flags) };
            match told(sent) {
                Ok(sent) => {
                    self.leave(sent);
                    if sent < wanted {
                        return;
                    }
                }
                Err(libc::EINTR) => {}
                Err(libc::EAGAIN | libc::ENOBUFS) => return,
                Err(_) => self.lose(libc::ECONNRESET),
            }
        }
    }

    /// `sent` more bytes have left.
    fn leave(&mut self, sent: usize) {
        self.left += sent;
        while let Some(first) = self.outgoing.front()
            && self.left >= HEADER + first.length
        {
            self.left -= HEADER + first.length;
            self.outgoing.pop_front();
        }
    }

    /// Takes in what has come; waits for it first where it is `patient`.
    fn receive(&mut self, mut patient: bool) {
        while self.gone.is_none() && self.answered.len() < ANSWERS {
            self.sort();
            if self.gone.is_some() {
                return;
            }
            // The missing part of a block goes to its place, and the bytes after it beside.
            let (start, missing) = match self.filling {
                Some((slot, here)) => {
                    let place = self.places[slot as usize].expect("a place that is filled is in flight");
                    (place.buffer.wrapping_add(here), place.length as usize - here)
                }
                None => (std::ptr::null_mut(), 0),
            };
            let room = self.received.room();
            let wanted = missing + room.len();
            let mut pieces = [
                libc::iovec { iov_base: start.cast(), iov_len: missing },
                libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() },
            ];
            // SAFETY: as above.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            let from = usize::from(missing == 0);
            message.msg_iov = pieces[from..].as_mut_ptr();
            message.msg_iovlen = (pieces.len() - from) as _;
            let waits = std::mem::take(&mut patient) && self.answered.is_empty();
            let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
            // SAFETY: the first piece is the rest of a buffer whose slot is in flight, so that nobody else touches it; the second is
            // room of this connection's own.
            let came = unsafe { libc::recvmsg(self.socket(), &raw mut message, flags) };
            match told(came) {
                Ok(0) => self.lose(libc::ECONNRESET),
                Ok(came) => {
                    let filled = came.min(missing);
                    if let Some((slot, here)) = self.filling {
                        self.filling = Some((slot, here + filled));
                    }
                    self.received.end += came - filled;
                    if came < wanted {
                        self.sort();
                        return;
                    }
                }
                Err(libc::EINTR) => {}
                Err(libc::EAGAIN) => return,
                Err(_) => self.lose(libc::ECONNRESET),
            }
        }
    }

    /// Gives what was received to the places that it is for.
    fn sort(&mut self) {
        loop {
            if let Some((slot, here)) = self.filling {
                let place = self.places[slot as usize].expect("a place that is filled is in flight");
                let missing = place.length as usize - here;
                let rest = self.received.rest();
                let count = missing.min(rest.len());
                // SAFETY: `here + count` is within the buffer of a slot in flight, which nobody else touches; both do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), place.buffer.add(here), count) };
                self.received.take(count);
                if count < missing {
                    self.filling = Some((slot, here + count));
                    return;
                }
                self.filling = None;
                self.answer(slot, place.length as i32);
            }
            let Some((header, _)) = self.received.rest().split_first_chunk::<SIMPLE_REPLY>() else { return };
            let reply = SimpleReply::parse(header);
            self.received.take(SIMPLE_REPLY);
            let known = reply.and_then(|reply| {
                let slot = u32::try_from(reply.cookie).ok()?;
                let place = *self.places.get(slot as usize)?;
                place.map(|place| (slot, place, reply.error))
            });
            match known {
                // Nothing that comes behind it can be made out.
                None => return self.lose(libc::ECONNABORTED),
                Some((slot, place, None)) if place.operation == Operation::Read => self.filling = Some((slot, 0)),
                Some((slot, place, None)) => self.answer(slot, place.length as i32),
                // The protocol's error numbers are those of Linux.
                Some((slot, _, Some(error))) => self.answer(slot, -(error.code() as i32)),
            }
        }
    }

    fn answer(&mut self, slot: u32, result: i32) {
        self.places[slot as usize] = None;
        self.answered.push((slot, result));
    }

    /// Waits until something can be received, or sent if something is to be, for `span` at most.
    fn rest(&self, span: Duration) -> io::Result<()> {
        if self.gone.is_some() {
            std::thread::sleep(span.into());
            return Ok(());
        }
        let events = if self.outgoing.is_empty() { libc::POLLIN } else { libc::POLLIN | libc::POLLOUT };
        let mut awaited = libc::pollfd { fd: self.socket(), events, revents: 0 };
        let time =
            libc::timespec { tv_sec: (span.as_ns() / NS_PER_S) as i64, tv_nsec: (span.as_ns() % NS_PER_S) as i64 };
        // SAFETY: one descriptor and one time that live through the call.
        let woken = unsafe { libc::ppoll(&raw mut awaited, 1, &raw const time, std::ptr::null()) };
        match told(woken as isize) {
            Ok(_) | Err(libc::EINTR | libc::EAGAIN) => Ok(()),
            Err(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// A count of a system call, or its error number.
fn told(result: isize) -> Result<usize, i32> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

impl Backend for Nbd {
    fn is_answered(&mut self) -> bool {
        !self.answered.is_empty()
    }

    fn queue(&mut self, slot: u32, io: &Io) {
        if let Some(errno) = self.gone {
            self.answered.push((slot, -errno));
            return;
        }
        let command = match io.operation {
            Operation::Read => code::READ,
            Operation::Write => code::WRITE,
            Operation::Trim => code::TRIM,
            Operation::Flush => code::FLUSH,
        };
        // A flush is of the whole export.
        let offset = if io.operation == Operation::Flush { 0 } else { io.offset };
        let (durable, cookie) = (io.durable, u64::from(slot));
        let header = ClientRequest { command, durable, cookie, offset, length: io.length }.encode();
        let length = if io.operation == Operation::Write { io.length as usize } else { 0 };
        self.outgoing.push_back(Outgoing { header, data: io.buffer, length });
        self.places[slot as usize] =
            Some(InFlightRequest { operation: io.operation, buffer: io.buffer, length: io.length });
    }

    fn submit_and_wait(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let mut until: Option<Instant> = None;
        loop {
            self.send();
            // With everything sent and a wait allowed, there is no need to look before.
            let may_wait = self.unhurried && until.is_none() && wait.is_some_and(|wait| wait >= PATIENCE);
            let patient = may_wait && self.outgoing.is_empty() && self.answered.is_empty();
            self.receive(patient);
            if patient && self.gone.is_none() {
                return Ok(());
            }
            let Some(wait) = wait.filter(|_| self.answered.is_empty()) else { return Ok(()) };
            let now = loadline_kernel::clock::now();
            let until = *until.get_or_insert(now + wait);
            if now >= until {
                return Ok(());
            }
            self.rest(until.since(now))?;
        }
    }

    fn reap(&mut self, mut each: impl FnMut(u32, i32)) {
        for &(slot, result) in &self.answered {
            each(slot, result);
        }
        self.answered.clear();
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        let idle =
            self.outgoing.is_empty() && self.received.rest().is_empty() && self.places.iter().all(Option::is_none);
        self.connection.at_rest = self.gone.is_none() && idle;
    }
}
