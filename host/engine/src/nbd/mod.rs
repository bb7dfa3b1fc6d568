//! A client of NBD servers: an export is a volume as a block device is, reached by a socket.
//!
//! The protocol is that of the NBD project (`doc/proto.md`): the fixed newstyle handshake with `NBD_OPT_GO`, and simple replies.
//! All numbers are big-endian.

mod handshake;
mod session;
mod uri;

pub(crate) use handshake::Refusal;
pub(crate) use session::Session;
pub(crate) use uri::{Place, is_uri, with_whole_socket};

use crate::target::{Signature, signatures_by};
use loadline_units::Bytes;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long a server may take for each step of the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(20);
/// How long one that greeted a client before may take to greet one more.
const FURTHER_TIME: Duration = Duration::from_secs(5);

/// Before every request.
const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Before every simple reply.
const REPLY_MAGIC: u32 = 0x6744_6698;
/// Bytes of a request, without what is to be written.
pub(crate) const REQUEST: usize = 28;
/// Bytes of a simple reply, without what was read.
pub(crate) const REPLY: usize = 16;
/// `NBD_CMD_FLAG_FUA`: answered when it is durable.
const DURABLE: u16 = 1;

/// What is asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Command {
    Read = 0,
    Write = 1,
    Disconnect = 2,
    Flush = 3,
    Trim = 4,
}

/// A request as it is sent; `cookie` comes back with its reply.
pub(crate) fn request(command: Command, durable: bool, cookie: u64, offset: u64, length: u32) -> [u8; REQUEST] {
    let flags = if durable { DURABLE } else { 0 };
    let mut bytes = [0; REQUEST];
    bytes[0..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&flags.to_be_bytes());
    bytes[6..8].copy_from_slice(&(command as u16).to_be_bytes());
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..24].copy_from_slice(&offset.to_be_bytes());
    bytes[24..28].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// A simple reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) cookie: u64,
    /// A system error number; 0 for success.
    pub(crate) error: i32,
}

impl Reply {
    /// Reads it; `None` where the bytes are none.
    pub(crate) fn parse(bytes: &[u8; REPLY]) -> Option<Self> {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let cookie = u64::from(word(8)) << 32 | u64::from(word(12));
        (word(0) == REPLY_MAGIC).then(|| Self { cookie, error: error_number(word(4)) })
    }
}

/// The protocol's error numbers are those of Linux. One that the protocol does not know is a failure like any other.
fn error_number(told: u32) -> i32 {
    const KNOWN: [i32; 8] = [
        libc::EPERM,
        libc::EIO,
        libc::ENOMEM,
        libc::EINVAL,
        libc::ENOSPC,
        libc::EOVERFLOW,
        libc::EOPNOTSUPP,
        libc::ESHUTDOWN,
    ];
    match i32::try_from(told) {
        Ok(0) => 0,
        Ok(known) if KNOWN.contains(&known) => known,
        _ => libc::EIO,
    }
}

/// What a server tells of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the protocol")]
pub(crate) struct ExportFacts {
    pub(crate) size: Bytes,
    pub(crate) read_only: bool,
    /// It takes `NBD_CMD_FLUSH`.
    pub(crate) flushes: bool,
    /// It takes writes that are durable when they are answered.
    pub(crate) durable_writes: bool,
    pub(crate) trims: bool,
    /// What one connection wrote and flushed the others see, so that several may write.
    pub(crate) several_connections: bool,
    /// Offsets and lengths are multiples of this.
    pub(crate) block_min: Bytes,
    /// The longest read or write.
    pub(crate) block_max: Bytes,
}

/// An export that was found. Connections to it are made as they are needed, and kept for whoever needs one next: many servers
/// take one client at a time, and some end with the first that leaves.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) place: Place,
    pub(crate) facts: ExportFacts,
    idle: Mutex<Vec<Stream>>,
    /// Set once its server has shown how many connections it takes.
    limit: OnceLock<ConnectionLimit>,
    /// What it carried when it was handed over for writing.
    pub(crate) carried: OnceLock<Vec<Signature>>,
}

/// A connection to an export, for one user at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    /// There until it is dropped.
    stream: Option<Stream>,
    export: Arc<Export>,
    /// Nothing of a request or a reply is under way, so that another user can go on.
    pub(crate) at_rest: bool,
}

/// How many connections a server takes at once, and how it showed that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimit {
    pub(crate) taken: u32,
    /// What it does with the next one, in words.
    pub(crate) how: &'static str,
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Export {
    /// Asks the server at `place`, and gives the connection that it was asked by.
    ///
    /// # Errors
    /// [`Refusal`]: there is no server, it does not speak the protocol, or it refuses.
    pub(crate) fn find(place: Place) -> Result<Arc<Self>, Refusal> {
        let (stream, facts) = connect(&place, HANDSHAKE_TIME)?;
        let idle = Mutex::new(vec![stream]);
        Ok(Arc::new(Self { place, facts, idle, limit: OnceLock::new(), carried: OnceLock::new() }))
    }
    /// A connection that nobody uses, or one more, which must show the same export.
    ///
    /// # Errors
    /// Those of [`Export::find`]; another export than was found before.
    pub(crate) fn connect(self: &Arc<Self>) -> io::Result<Connection> {
        self.connect_within(HANDSHAKE_TIME)
    }
    fn connect_within(self: &Arc<Self>, greeting: Duration) -> io::Result<Connection> {
        // One that ended meanwhile is of no use.
        let stream = {
            let mut idle = self.idle();
            std::iter::from_fn(|| idle.pop()).find(Stream::is_quiet)
        };
        let Some(stream) = stream else {
            let (stream, facts) = connect(&self.place, greeting).map_err(io::Error::from)?;
            if facts != self.facts {
                return Err(io::Error::other("the server shows another export now than when it was opened"));
            }
            return self.new_connection(stream);
        };
        Ok(Connection { stream: Some(stream), export: Arc::clone(self), at_rest: true })
    }
    /// Sees to it that there are `count` connections for a load to take, and tells where its server takes fewer.
    ///
    /// # Errors
    /// Those of [`Export::connect`].
    pub(crate) fn reserve(self: &Arc<Self>, count: u32) -> io::Result<Result<(), ConnectionLimit>> {
        if let Some(limit) = self.limit.get().filter(|limit| limit.taken < count) {
            return Ok(Err(*limit));
        }
        let mut held = Vec::new();
        for taken in 0..count {
            let greeting = if taken == 0 { HANDSHAKE_TIME } else { FURTHER_TIME };
            match self.connect_within(greeting) {
                Ok(connection) => held.push(connection),
                Err(error) => {
                    let how = match error.kind() {
                        io::ErrorKind::TimedOut => "lets the next one wait",
                        io::ErrorKind::ConnectionRefused
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::UnexpectedEof => "takes no more",
                        _ => return Err(error),
                    };
                    // Of one that takes none at all there is nothing to learn.
                    return if taken == 0 {
                        Err(error)
                    } else {
                        Ok(Err(*self.limit.get_or_init(|| ConnectionLimit { taken, how })))
                    };
                }
            }
        }
        Ok(Ok(()))
    }
    /// One more connection. Where the export is written to, it must not carry anything that was not there when it was handed over: a
    /// server may have been started anew with another image.
    fn new_connection(self: &Arc<Self>, stream: Stream) -> io::Result<Connection> {
        let connection = Connection { stream: Some(stream), export: Arc::clone(self), at_rest: true };
        let Some(carried) = self.carried.get() else { return Ok(connection) };
        connection.stream().set_read_timeout(Some(HANDSHAKE_TIME))?;
        let mut session = Session::new(connection);
        let found = signatures_by(&mut |bytes, at| session.read_exact_at(bytes, at), self.facts.size.get());
        let found = found.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "the server does not answer reads"),
            _ => error,
        })?;
        match found.iter().find(|one| !carried.contains(one)) {
            Some(other) => {
                let said =
                    format!("the server shows another export now, which carries {} ({})", other.kind, other.identity);
                Err(io::Error::other(said))
            }
            None => Ok(session.into_connection()),
        }
    }
    /// A connection for one request at a time.
    ///
    /// # Errors
    /// Those of [`Export::connect`].
    pub(crate) fn session(self: &Arc<Self>) -> io::Result<Session> {
        let connection = self.connect()?;
        connection.stream().set_read_timeout(None)?;
        Ok(Session::new(connection))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Stream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        for stream in self.idle().drain(..) {
            // A server that is gone need not be told.
            let _ = (&stream).write(&request(Command::Disconnect, false, 0, 0, 0));
        }
    }
}

impl Connection {
    pub(crate) fn stream(&self) -> &Stream {
        self.stream.as_ref().expect("the stream is there until it is dropped")
    }
    fn facts(&self) -> &ExportFacts {
        &self.export.facts
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take().filter(|_| self.at_rest) {
            self.export.idle().push(stream);
        }
    }
}

/// Connects to a server, which greets within this time.
fn connect(place: &Place, greeting: Duration) -> Result<(Stream, ExportFacts), Refusal> {
    let stream = place.connect().map_err(Refusal::NoServer)?;
    stream.await_greeting(greeting).map_err(Refusal::Broken)?;
    stream.set_read_timeout(Some(HANDSHAKE_TIME)).map_err(Refusal::Broken)?;
    let facts = handshake::negotiate(&mut &stream, &place.export)?;
    stream.set_read_timeout(None).map_err(Refusal::Broken)?;
    Ok((stream, facts))
}

impl Stream {
    /// How long a read may wait for bytes.
    pub(crate) fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(time),
            Self::Tcp(stream) => stream.set_read_timeout(time),
        }
    }
    /// Waits until the server says something, or hangs up.
    fn await_greeting(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        loop {
            let mut byte = 0_u8;
            // SAFETY: one byte that lives through the call.
            let came = unsafe { libc::recv(self.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK) };
            let error = io::Error::last_os_error();
            match error.kind() {
                _ if came >= 0 => return Ok(()),
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    let said = format!(
                        "the server said nothing for {} s: it has stopped, or it has other clients and takes no more at \
                         once (qemu-nbd takes one, unless --shared says how many)",
                        time.as_secs()
                    );
                    return Err(io::Error::new(io::ErrorKind::TimedOut, said));
                }
                _ => return Err(error),
            }
        }
    }
    /// Whether it is connected, and nothing has come that nobody asked for.
    fn is_quiet(&self) -> bool {
        let mut byte = 0_u8;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // SAFETY: one byte that lives through the call.
        let came = unsafe { libc::recv(self.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
        came < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(stream) => stream.as_raw_fd(),
            Self::Tcp(stream) => stream.as_raw_fd(),
        }
    }
}

impl io::Read for &Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).read(bytes),
            Stream::Tcp(stream) => (&*stream).read(bytes),
        }
    }
}

impl io::Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).write(bytes),
            Stream::Tcp(stream) => (&*stream).write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_laid_out_as_the_protocol_says() {
        let bytes = request(Command::Write, true, 0x0102_0304_0506_0708, 1 << 40, 4096);
        let told = [0x25, 0x60, 0x95, 0x13, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x10, 0];
        assert_eq!(bytes, told);
    }

    #[test]
    fn a_reply_that_is_none_is_not_taken_for_one() {
        let mut bytes = [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(Reply::parse(&bytes), Some(Reply { cookie: 9, error: libc::ENOSPC }));
        // An error that the protocol does not know is one all the same, and no success.
        bytes[4..8].copy_from_slice(&0xFFFF_FFFF_u32.to_be_bytes());
        assert_eq!(Reply::parse(&bytes), Some(Reply { cookie: 9, error: libc::EIO }));
        bytes[0] = 0;
        assert_eq!(Reply::parse(&bytes), None);
    }
}
