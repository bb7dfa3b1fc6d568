//! A client of NBD servers: an export is a volume as a block device is, reached by a socket. The protocol itself is in
//! `pure/storage/nbd`.

mod address;
mod handshake;
mod session;

pub(crate) use address::{common_address, is_same_export, with_absolute_socket};
pub(crate) use handshake::Refusal;
pub(crate) use session::Session;

use crate::target::{Signature, signatures_by};
use loadline_nbd::client::{ClientRequest, ExportFacts};
use loadline_nbd::request::code;
use loadline_nbd::uri::NbdUri;
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a server may take for each step of the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(20);
/// How long one that greeted a client before may take to greet one more.
const FURTHER_TIME: Duration = Duration::from_secs(5);

/// An export that was found. Connections to it are made as they are needed, and kept for the next load: many servers
/// take one client at a time, and some end with the first that leaves.
#[derive(Debug)]
pub(crate) struct NbdExport {
    pub(crate) uri: NbdUri,
    pub(crate) facts: ExportFacts,
    idle: Mutex<Vec<NbdStream>>,
    /// Set once its server has shown how many connections it takes.
    limit: OnceLock<ConnectionLimit>,
    /// What it carried when it was handed over for writing.
    pub(crate) carried: OnceLock<Vec<Signature>>,
}

/// A connection to an export, for one user at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    /// There until it is dropped.
    stream: Option<NbdStream>,
    export: Arc<NbdExport>,
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
pub(crate) enum NbdStream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl NbdExport {
    /// Asks the server of `uri`, and gives the connection that it was asked by.
    ///
    /// # Errors
    /// [`Refusal`]: there is no server, it does not speak the protocol, or it refuses.
    pub(crate) fn find(uri: NbdUri) -> Result<Arc<Self>, Refusal> {
        let (stream, facts) = connect(&uri, HANDSHAKE_TIME)?;
        let idle = Mutex::new(vec![stream]);
        Ok(Arc::new(Self { uri, facts, idle, limit: OnceLock::new(), carried: OnceLock::new() }))
    }
    /// A connection that nobody uses, or one more, which must show the same export.
    ///
    /// # Errors
    /// Those of [`NbdExport::find`]; another export than was found before.
    pub(crate) fn connect(self: &Arc<Self>) -> io::Result<Connection> {
        self.connect_within(HANDSHAKE_TIME)
    }
    fn connect_within(self: &Arc<Self>, greeting: Duration) -> io::Result<Connection> {
        // One that ended meanwhile is of no use.
        let stream = {
            let mut idle = self.idle();
            std::iter::from_fn(|| idle.pop()).find(NbdStream::is_quiet)
        };
        let Some(stream) = stream else {
            let (stream, facts) = connect(&self.uri, greeting).map_err(io::Error::from)?;
            if facts != self.facts {
                return Err(io::Error::other("the server shows another export now than when it was opened"));
            }
            return self.new_connection(stream);
        };
        Ok(Connection { stream: Some(stream), export: Arc::clone(self), at_rest: true })
    }
    /// Makes `count` connections for a load, or an error if the server takes fewer.
    ///
    /// # Errors
    /// Those of [`NbdExport::connect`].
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
    fn new_connection(self: &Arc<Self>, stream: NbdStream) -> io::Result<Connection> {
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
    /// Those of [`NbdExport::connect`].
    pub(crate) fn session(self: &Arc<Self>) -> io::Result<Session> {
        let connection = self.connect()?;
        connection.stream().set_read_timeout(None)?;
        Ok(Session::new(connection))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<NbdStream>> {
        self.idle.lock()
    }
}

impl Drop for NbdExport {
    fn drop(&mut self) {
        for stream in self.idle().drain(..) {
            // A server that is gone needs no goodbye.
            let goodbye = ClientRequest { command: code::DISCONNECT, durable: false, cookie: 0, offset: 0, length: 0 };
            let _ = (&stream).write(&goodbye.encode());
        }
    }
}

impl Connection {
    pub(crate) fn stream(&self) -> &NbdStream {
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
fn connect(uri: &NbdUri, greeting: Duration) -> Result<(NbdStream, ExportFacts), Refusal> {
    let stream = address::connect(&uri.server).map_err(Refusal::NoServer)?;
    stream.await_greeting(greeting).map_err(Refusal::Broken)?;
    stream.set_read_timeout(Some(HANDSHAKE_TIME)).map_err(Refusal::Broken)?;
    let facts = handshake::negotiate(&mut &stream, &uri.export)?;
    stream.set_read_timeout(None).map_err(Refusal::Broken)?;
    Ok((stream, facts))
}

impl NbdStream {
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

impl AsRawFd for NbdStream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(stream) => stream.as_raw_fd(),
            Self::Tcp(stream) => stream.as_raw_fd(),
        }
    }
}

impl io::Read for &NbdStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            NbdStream::Unix(stream) => (&*stream).read(bytes),
            NbdStream::Tcp(stream) => (&*stream).read(bytes),
        }
    }
}

impl io::Write for &NbdStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            NbdStream::Unix(stream) => (&*stream).write(bytes),
            NbdStream::Tcp(stream) => (&*stream).write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
