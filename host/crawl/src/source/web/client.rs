//! HTTP/1.1 over connections that are kept: one request at a time on each, every phase of it timed.

use super::super::{FetchPhase, FetchTimer};
use crate::item::{ItemFailure, io_reason};
use loadline_pipeline::CrawlCaps;
use loadline_record::WorkerState;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use url::Url;

/// Bytes of an answer's head at most.
const HEAD_MAX: usize = 64 << 10;
/// Lines of an answer's head at most.
const HEADERS_MAX: usize = 100;
/// Where systems keep the certificates that they trust.
const TRUSTED: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// An answer.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Response {
    /// The value of a header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
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
struct Connection {
    origin: String,
    stream: Stream,
    unread: Vec<u8>,
    /// It has answered a request already: a server may close it at any moment.
    is_kept: bool,
}

/// Connections of a source; no more than its limit at once.
#[derive(Debug)]
pub(super) struct ConnectionPool {
    most: usize,
    /// Where every connection goes, whatever host is named.
    only_to: Option<SocketAddr>,
    state: Mutex<PoolState>,
    freed: Condvar,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

#[derive(Debug, Default)]
struct PoolState {
    in_use: usize,
    idle: Vec<Connection>,
}

/// A request.
#[derive(Debug)]
pub(super) struct Request<'r> {
    pub(super) url: &'r Url,
    pub(super) etag: Option<&'r str>,
    pub(super) last_modified: Option<&'r str>,
    /// Bytes of the body at most.
    pub(super) bytes_max: u64,
}

/// Whether the body is wanted, by the head of the answer.
pub(super) type Wanted<'w> = &'w dyn Fn(&Response) -> Result<(), ItemFailure>;

struct Deadline(Instant);

impl Deadline {
    fn left(&self, socket: &TcpStream) -> io::Result<()> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        socket.set_write_timeout(Some(left))
    }
}

impl ConnectionPool {
    pub(super) fn new(most: u32, only_to: Option<SocketAddr>) -> Self {
        Self { most: most as usize, only_to, state: Mutex::default(), freed: Condvar::new(), tls: OnceLock::new() }
    }

    /// Asks, and reads the answer. `timer` gets the phases.
    pub(super) fn ask(
        &self,
        request: &Request<'_>,
        caps: &CrawlCaps,
        wanted: Wanted<'_>,
        timer: &mut FetchTimer<'_>,
    ) -> Result<Response, ItemFailure> {
        let deadline = Deadline(Instant::now() + Duration::from_nanos(caps.fetch_time.as_ns()));
        let origin = request.url.origin().ascii_serialization();
        let kept = self.take(&origin);
        timer.ends(FetchPhase::Pool);
        let was_kept = kept.is_some();
        let mut asked = self.on(kept, &origin, request, &deadline, wanted, timer);
        if was_kept && asked.as_ref().is_err_and(|failure| failure.is_closed) {
            // It was closed while it was idle: nothing of the request was answered.
            asked = self.on(None, &origin, request, &deadline, wanted, timer);
        }
        let (connection, result) = match asked {
            Ok((connection, response)) => (connection, Ok(response)),
            Err(AskFailure { failure, .. }) => (None, Err(failure)),
        };
        self.give_back(connection);
        timer.ends(FetchPhase::Body(WorkerState::Network));
        result
    }

    /// Waits for room, and takes a connection to the host where one is idle.
    fn take(&self, origin: &str) -> Option<Connection> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.in_use >= self.most {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.in_use += 1;
        let place = state.idle.iter().position(|idle| idle.origin == origin);
        let found = place.map(|place| state.idle.swap_remove(place));
        // What is idle counts as well.
        while state.in_use + state.idle.len() > self.most {
            state.idle.remove(0);
        }
        found
    }

    fn give_back(&self, connection: Option<Connection>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_use -= 1;
        state.idle.extend(connection);
        drop(state);
        self.freed.notify_one();
    }

    fn on(
        &self,
        kept: Option<Connection>,
        origin: &str,
        request: &Request<'_>,
        deadline: &Deadline,
        wanted: Wanted<'_>,
        timer: &mut FetchTimer<'_>,
    ) -> Result<(Option<Connection>, Response), AskFailure> {
        let failed = |doing: &'static str| move |error: io::Error| AskFailure::of(doing, &error);
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect(origin, request.url, deadline)?,
        };
        let is_kept = connection.is_kept;
        let closed = |failure: AskFailure| AskFailure { is_closed: is_kept && failure.is_closed, ..failure };
        deadline.left(connection.stream.socket()).map_err(failed("fetch"))?;
        let sent = connection.stream.write_all(head(request).as_bytes()).and_then(|()| connection.stream.flush());
        sent.map_err(failed("send the request")).map_err(closed)?;
        let mut response = connection.read_head(deadline).map_err(closed)?;
        timer.ends(FetchPhase::FirstByte(WorkerState::Other));
        if let Err(failure) = wanted(&response) {
            return Err(AskFailure { failure, is_closed: false });
        }
        let stays = connection.read_body(&mut response, request.bytes_max, deadline, timer)?;
        connection.is_kept = true;
        Ok((stays.then_some(connection), response))
    }

    fn connect(&self, origin: &str, url: &Url, deadline: &Deadline) -> Result<Connection, AskFailure> {
        let failed = |doing: &'static str| move |error: io::Error| AskFailure::of(doing, &error);
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(80);
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = match self.only_to {
            Some(address) => vec![address],
            None => (name, port)
                .to_socket_addrs()
                .map_err(|error| AskFailure::with(format!("find the address of {host}: {}", resolver_words(&error))))?
                .collect(),
        };
        let mut last = AskFailure::with(format!("find the address of {host}: it has none"));
        for address in addresses {
            let left = deadline.0.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match TcpStream::connect_timeout(&address, left) {
                Ok(socket) => {
                    socket.set_nodelay(true).map_err(failed("connect"))?;
                    deadline.left(&socket).map_err(failed("connect"))?;
                    let stream =
                        if url.scheme() == "https" { self.encrypt(socket, name)? } else { Stream::Plain(socket) };
                    return Ok(Connection { origin: origin.to_owned(), stream, unread: Vec::new(), is_kept: false });
                }
                Err(error) => last = AskFailure::of(&format!("connect to {host}:{port}"), &error),
            }
        }
        Err(last)
    }

    fn encrypt(&self, socket: TcpStream, name: &str) -> Result<Stream, AskFailure> {
        let config = self.tls.get_or_init(|| tls_config().map(Arc::new));
        let config = config.as_ref().map_err(|_| AskFailure::named("no trusted certificates on this machine"))?;
        let name =
            ServerName::try_from(name.to_owned()).map_err(|_| AskFailure::named("the host's name is no name"))?;
        let client = ClientConnection::new(Arc::clone(config), name)
            .map_err(|_| AskFailure::named("the connection cannot be encrypted"))?;
        Ok(Stream::Tls(Box::new(StreamOwned::new(client, socket))))
    }
}

fn tls_config() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let found = TRUSTED.iter().find_map(|path| CertificateDer::pem_file_iter(path).ok());
    for certificate in found.into_iter().flatten().flatten() {
        // One that is not understood trusts nobody.
        let _ = roots.add(certificate);
    }
    if roots.is_empty() {
        return Err("no trusted certificates".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn head(request: &Request<'_>) -> String {
    let url = request.url;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let etag = request.etag.map(|etag| format!("If-None-Match: {etag}\r\n")).unwrap_or_default();
    let since = request.last_modified.map(|time| format!("If-Modified-Since: {time}\r\n")).unwrap_or_default();
    format!(
        "GET {}{query} HTTP/1.1\r\nHost: {host}{port}\r\nUser-Agent: loadline-crawl/{}\r\nAccept: text/html, */*;q=0.5\r\n\
         Accept-Encoding: gzip\r\n{etag}{since}\r\n",
        url.path(),
        env!("CARGO_PKG_VERSION")
    )
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct AskFailure {
    failure: ItemFailure,
    /// The other side closed the connection before it answered anything.
    is_closed: bool,
}

impl AskFailure {
    fn of(doing: &str, error: &io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let is_closed = matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof);
        // The handshake happens with the first bytes, and fails as their sending or reading does.
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let reason = tls.map_or_else(|| io_reason(doing, error), |tls| format!("encrypt the connection: {tls}").into());
        Self { failure: ItemFailure::of(reason), is_closed }
    }
    fn named(reason: &'static str) -> Self {
        Self { failure: ItemFailure::of(reason), is_closed: false }
    }
    fn with(reason: String) -> Self {
        Self { failure: ItemFailure::of(reason), is_closed: false }
    }
}

impl Connection {
    /// Reads more; 0: the other side ended.
    fn fill(&mut self, deadline: &Deadline) -> io::Result<usize> {
        deadline.left(self.stream.socket())?;
        let before = self.unread.len();
        self.unread.resize(before + (16 << 10), 0);
        let read = self.stream.read(&mut self.unread[before..]);
        self.unread.truncate(before + read.as_ref().map_or(0, |read| *read));
        read
    }

    fn read_head(&mut self, deadline: &Deadline) -> Result<Response, AskFailure> {
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
                    return Ok(Response { status, headers, body: Vec::new() });
                }
                Ok(httparse::Status::Partial) if self.unread.len() < HEAD_MAX => {}
                Ok(httparse::Status::Partial) => return Err(AskFailure::named("the answer's head is too long")),
                Err(_) => return Err(AskFailure::named("the answer is no HTTP")),
            }
            if self.fill(deadline).map_err(|error| AskFailure::of("wait for the answer", &error))? == 0 {
                let is_closed = self.unread.is_empty();
                return Err(AskFailure {
                    is_closed,
                    ..AskFailure::named("the connection was closed without an answer")
                });
            }
        }
    }

    /// Reads the body; whether the connection may be used again.
    fn read_body(
        &mut self,
        response: &mut Response,
        bytes_max: u64,
        deadline: &Deadline,
        timer: &mut FetchTimer<'_>,
    ) -> Result<bool, AskFailure> {
        if response.status == 204 || response.status == 304 {
            return Ok(self.unread.is_empty());
        }
        let closes = response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let chunked =
            response.header("transfer-encoding").is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
        let length = stated_length(response)?;
        let too_large = || AskFailure::named("larger than caps.bytes");
        let mut body = Vec::new();
        let is_whole = if chunked {
            self.read_chunks(&mut body, bytes_max, deadline)?;
            true
        } else if let Some(length) = length {
            if length > bytes_max {
                return Err(too_large());
            }
            while (self.unread.len() as u64) < length {
                if self.fill(deadline).map_err(|error| body_failure(&error))? == 0 {
                    return Err(AskFailure::named("the body is shorter than stated"));
                }
            }
            body = self.unread.drain(..length as usize).collect();
            true
        } else {
            loop {
                body.append(&mut self.unread);
                if body.len() as u64 > bytes_max {
                    return Err(too_large());
                }
                if self.fill(deadline).map_err(|error| body_failure(&error))? == 0 {
                    break;
                }
            }
            false
        };
        timer.received += body.len() as u64;
        response.body = body;
        // A server that sent more than it stated is not trusted with another request.
        Ok(is_whole && !closes && self.unread.is_empty())
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>, bytes_max: u64, deadline: &Deadline) -> Result<(), AskFailure> {
        let short = || AskFailure::named("the body ended within a chunk");
        loop {
            let (start, size) = loop {
                match httparse::parse_chunk_size(&self.unread) {
                    Ok(httparse::Status::Complete((start, size))) => break (start, size),
                    Ok(httparse::Status::Partial) if self.unread.len() < HEAD_MAX => {}
                    _ => return Err(AskFailure::named("the body's chunks are no chunks")),
                }
                if self.fill(deadline).map_err(|error| body_failure(&error))? == 0 {
                    return Err(short());
                }
            };
            if body.len() as u64 + size > bytes_max {
                return Err(AskFailure::named("larger than caps.bytes"));
            }
            // The chunk and the line break after it.
            let end = start + size as usize + 2;
            while self.unread.len() < end {
                if self.fill(deadline).map_err(|error| body_failure(&error))? == 0 {
                    return Err(short());
                }
            }
            body.extend_from_slice(&self.unread[start..end - 2]);
            self.unread.drain(..end);
            if size == 0 {
                return Ok(());
            }
        }
    }
}

/// The body's length; `None`: it is not stated.
pub(super) fn stated_length(response: &Response) -> Result<Option<u64>, AskFailure> {
    let mut stated =
        response.headers.iter().filter(|(name, _)| name == "content-length").map(|(_, value)| value.trim());
    let Some(first) = stated.next() else { return Ok(None) };
    if stated.any(|other| other != first) {
        return Err(AskFailure::named("two lengths are stated, and they differ"));
    }
    first.parse().map(Some).map_err(|_| AskFailure::named("the stated length is no number"))
}

/// What the resolver says, without the words that the library puts before it.
fn resolver_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("failed to lookup address information: ").map(str::to_owned).unwrap_or(text)
}

fn body_failure(error: &io::Error) -> AskFailure {
    if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) {
        return AskFailure::named("longer than caps.fetch_time");
    }
    AskFailure::of("read the body", error)
}
