//! Connections that are kept, and requests over them.

use crate::body::Body;
use crate::error::WebError;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use url::Url;

/// Bytes of an answer's head at most.
pub(crate) const HEAD_MAX: usize = 64 << 10;
/// Lines of an answer's head at most.
const HEADERS_MAX: usize = 100;
/// How soon a wish to end is heeded.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Where systems keep the certificates that they trust.
const TRUSTED: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// The head of an answer.
#[derive(Debug, Default)]
pub struct Head {
    /// Its status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    /// The body's length as stated; `None`: it is not stated.
    ///
    /// # Errors
    /// [`WebError::TwoLengths`], [`WebError::NoLength`].
    pub fn length(&self) -> Result<Option<u64>, WebError> {
        let mut stated =
            self.headers.iter().filter(|(name, _)| name == "content-length").map(|(_, value)| value.trim());
        let Some(first) = stated.next() else { return Ok(None) };
        if stated.any(|other| other != first) {
            return Err(WebError::TwoLengths);
        }
        first.parse().map(Some).map_err(|_| WebError::NoLength)
    }
}

/// An answer whose body is still to be read.
pub struct WebResponse<'c> {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: Body<'c>,
}

/// A request to `GET` something.
#[derive(Clone, Copy)]
pub struct WebRequest<'r> {
    /// What.
    pub url: &'r Url,
    /// Names and values, besides those of every request.
    pub headers: &'r [(&'r str, &'r str)],
    /// Only the rest of it.
    pub rest: Option<Rest<'r>>,
}

/// The rest of a body whose beginning is here. Status 206: it follows. Status 200: the body is another one, from its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Rest<'r> {
    /// Bytes that are here.
    pub from: u64,
    /// The server's tag of the body that these are of.
    pub etag: &'r str,
}

/// Until when an answer is waited for.
#[derive(Clone, Copy)]
pub struct Deadline<'d> {
    /// The instant.
    pub at: Instant,
    /// Longer than this no connection is waited for.
    pub connect: Duration,
    /// Whether the caller wants an end before that; `None`: never.
    pub stop: Option<&'d dyn Fn() -> bool>,
}

impl Deadline<'_> {
    /// So long from now.
    #[must_use]
    pub fn after(span: Duration) -> Self {
        Deadline { at: Instant::now() + span, connect: span, stop: None }
    }

    fn left(&self) -> io::Result<Duration> {
        if self.stop.is_some_and(|stop| stop()) {
            return Err(io::Error::other(WebError::Stopped));
        }
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn set(&self, socket: &TcpStream) -> io::Result<()> {
        let left = self.left()?;
        let left = if self.stop.is_some() { left.min(LOOK_EVERY) } else { left };
        socket.set_read_timeout(Some(left))?;
        socket.set_write_timeout(Some(left))
    }
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(bytes),
            Self::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A connection to a host, with what was read of it and not used yet.
#[derive(Debug)]
pub(crate) struct WebConnection {
    origin: String,
    stream: Stream,
    pub(crate) unread: Vec<u8>,
    /// It has answered a request already: a server may close it at any moment.
    is_kept: bool,
}

/// Connections to any hosts; no more than its limit at once.
#[derive(Debug)]
pub struct WebClient {
    most: usize,
    /// Where every connection goes unencrypted, whatever host is named.
    only_to: Option<SocketAddr>,
    state: Mutex<PoolState>,
    freed: Condvar,
    tls: OnceLock<Result<Arc<ClientConfig>, rustls::Error>>,
}

#[derive(Debug, Default)]
struct PoolState {
    in_use: usize,
    idle: Vec<WebConnection>,
}

/// Room for one request, and a connection to its host if one was idle.
pub struct Slot<'c> {
    client: &'c WebClient,
    pub(crate) connection: Option<WebConnection>,
}

/// Why a request has no answer.
struct AskFailure {
    error: WebError,
    /// The other side closed the connection before it answered anything.
    is_closed: bool,
}

impl From<WebError> for AskFailure {
    fn from(error: WebError) -> Self {
        Self { is_closed: error.is_closed(), error }
    }
}

impl WebClient {
    /// Of so many connections at most. `only_to` is where every connection goes, unencrypted and whatever host is named.
    #[must_use]
    pub fn new(most: u32, only_to: Option<SocketAddr>) -> Self {
        Self { most: most as usize, only_to, state: Mutex::default(), freed: Condvar::new(), tls: OnceLock::new() }
    }

    /// Waits for room, and takes a connection to the host where one is idle.
    pub fn slot(&self, url: &Url) -> Slot<'_> {
        let origin = url.origin().ascii_serialization();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.in_use >= self.most {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.in_use += 1;
        let place = state.idle.iter().position(|idle| idle.origin == origin);
        let connection = place.map(|place| state.idle.swap_remove(place));
        // What is idle counts as well.
        while state.in_use + state.idle.len() > self.most {
            state.idle.remove(0);
        }
        Slot { client: self, connection }
    }

    fn connect(&self, url: &Url, deadline: &Deadline<'_>) -> Result<WebConnection, WebError> {
        let failed = |error| WebError::io("connect", error);
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(80);
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let no_address = |why: String| WebError::NoAddress { host: host.to_owned(), why };
        let addresses: Vec<SocketAddr> = match self.only_to {
            Some(address) => vec![address],
            None => (name, port).to_socket_addrs().map_err(|error| no_address(resolver_words(&error)))?.collect(),
        };
        let mut last = no_address("it has none".to_owned());
        for address in addresses {
            let left = deadline.at.saturating_duration_since(Instant::now()).min(deadline.connect);
            match TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1))) {
                Ok(socket) => {
                    socket.set_nodelay(true).map_err(failed)?;
                    deadline.set(&socket).map_err(failed)?;
                    let is_plain = url.scheme() != "https" || self.only_to.is_some();
                    let stream = if is_plain { Stream::Plain(socket) } else { self.encrypt(socket, name)? };
                    let origin = url.origin().ascii_serialization();
                    return Ok(WebConnection { origin, stream, unread: Vec::new(), is_kept: false });
                }
                Err(error) => last = WebError::io(format!("connect to {host}:{port}"), error),
            }
        }
        Err(last)
    }

    fn encrypt(&self, socket: TcpStream, name: &str) -> Result<Stream, WebError> {
        let config = self.tls.get_or_init(|| tls_config().map(Arc::new));
        let config = config.as_ref().map_err(|_| WebError::NoCertificates)?;
        let name = ServerName::try_from(name.to_owned()).map_err(|_| WebError::HostName)?;
        let client = ClientConnection::new(Arc::clone(config), name)?;
        Ok(Stream::Tls(Box::new(StreamOwned::new(client, socket))))
    }
}

impl<'c> Slot<'c> {
    /// Asks, and reads the head of the answer.
    ///
    /// # Errors
    /// [`WebError`].
    pub fn ask(mut self, request: &WebRequest<'_>, deadline: Deadline<'c>) -> Result<WebResponse<'c>, WebError> {
        let was_kept = self.connection.is_some();
        let mut asked = self.on(request, &deadline);
        if was_kept && asked.as_ref().is_err_and(|failure| failure.is_closed) {
            // It was closed while it was idle: nothing of the request was answered.
            self.connection = None;
            asked = self.on(request, &deadline);
        }
        let head = match asked {
            Ok(head) => head,
            Err(AskFailure { error, .. }) => {
                self.connection = None;
                return Err(error);
            }
        };
        Ok(WebResponse { body: Body::new(self, &head, deadline)?, head })
    }

    fn on(&mut self, request: &WebRequest<'_>, deadline: &Deadline<'_>) -> Result<Head, AskFailure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.client.connect(request.url, deadline)?,
        };
        let connection = self.connection.insert(connection);
        let is_kept = std::mem::replace(&mut connection.is_kept, true);
        let closed = |error: WebError| AskFailure { is_closed: is_kept && error.is_closed(), error };
        deadline.left().map_err(|error| WebError::io("fetch", error))?;
        connection.send(request_text(request).as_bytes(), deadline).map_err(closed)?;
        connection.read_head(deadline)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.client.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_use -= 1;
        state.idle.extend(self.connection.take());
        drop(state);
        self.client.freed.notify_one();
    }
}

fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let found = TRUSTED.iter().find_map(|path| CertificateDer::pem_file_iter(path).ok());
    for certificate in found.into_iter().flatten().flatten() {
        // One that is not understood trusts nobody.
        let _ = roots.add(certificate);
    }
    if roots.is_empty() {
        return Err(rustls::Error::General("no trusted certificates".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The request as it is sent.
fn request_text(request: &WebRequest<'_>) -> String {
    let url = request.url;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let rest = request.rest.map(|Rest { from, etag }| format!("Range: bytes={from}-\r\nIf-Range: {etag}\r\n"));
    let mut text = format!(
        "GET {}{query} HTTP/1.1\r\nHost: {host}{port}\r\nAccept-Encoding: gzip\r\n{}",
        url.path(),
        rest.unwrap_or_default()
    );
    for (name, value) in request.headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text + "\r\n"
}

impl WebConnection {
    /// Does something on the connection, until it is done, fails, or the deadline comes.
    fn patiently(
        &mut self,
        deadline: &Deadline<'_>,
        mut act: impl FnMut(&mut Stream, &mut Vec<u8>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            deadline.set(self.stream.socket())?;
            match act(&mut self.stream, &mut self.unread) {
                // Only one who may want an end looks up before the deadline.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                        && deadline.stop.is_some() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn send(&mut self, bytes: &[u8], deadline: &Deadline<'_>) -> Result<(), WebError> {
        let mut sent = 0;
        while sent < bytes.len() {
            let more = self.patiently(deadline, |stream, _| stream.write(&bytes[sent..]));
            match more.map_err(|error| WebError::io("send the request", error))? {
                0 => return Err(WebError::io("send the request", io::ErrorKind::BrokenPipe.into())),
                more => sent += more,
            }
        }
        let flushed = self.patiently(deadline, |stream, _| stream.flush().map(|()| 0));
        flushed.map(|_| ()).map_err(|error| WebError::io("send the request", error))
    }

    /// Reads more; 0: the other side ended.
    pub(crate) fn fill(&mut self, deadline: &Deadline<'_>) -> io::Result<usize> {
        self.patiently(deadline, |stream, unread| {
            let before = unread.len();
            unread.resize(before + (16 << 10), 0);
            let read = stream.read(&mut unread[before..]);
            unread.truncate(before + read.as_ref().map_or(0, |read| *read));
            read
        })
    }

    fn read_head(&mut self, deadline: &Deadline<'_>) -> Result<Head, AskFailure> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
            let mut parsed = httparse::Response::new(&mut headers);
            match parsed.parse(&self.unread) {
                Ok(httparse::Status::Complete(length)) => {
                    let status = parsed.code.unwrap_or_default();
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let headers: Vec<_> = parsed
                        .headers
                        .iter()
                        .map(|header| (header.name.to_ascii_lowercase(), text(header.value)))
                        .collect();
                    self.unread.drain(..length);
                    // Informational answers come before the one that counts.
                    if (100..200).contains(&status) {
                        continue;
                    }
                    return Ok(Head { status, headers });
                }
                Ok(httparse::Status::Partial) if self.unread.len() < HEAD_MAX => {}
                Ok(httparse::Status::Partial) => return Err(WebError::LongHead.into()),
                Err(_) => return Err(WebError::NoHttp.into()),
            }
            if self.fill(deadline).map_err(|error| WebError::io("wait for the answer", error))? == 0 {
                return Err(AskFailure { is_closed: self.unread.is_empty(), error: WebError::NoAnswer });
            }
        }
    }
}

/// What the resolver says, without the words that the library puts before it.
fn resolver_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("failed to lookup address information: ").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_disagree_are_no_length() {
        let said = |values: &[&str]| {
            let headers = values.iter().map(|value| ("content-length".to_owned(), (*value).to_owned())).collect();
            Head { status: 200, headers }
        };
        assert_eq!(said(&[]).length().unwrap(), None);
        assert_eq!(said(&["7", "7"]).length().unwrap(), Some(7));
        for (one, other) in [("7", "8"), ("7", "x")] {
            assert!(said(&[one, other]).length().is_err());
        }
    }
}
