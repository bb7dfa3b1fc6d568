//! Answers clients of this machine, on one thread. It waits for a slow client beside the others, and cuts it off after a while.

use crate::request::{HEAD_MAX, Method, PageRequest, RequestRefusal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Clients at once. One more takes the place of the one that has asked for nothing for the longest time.
pub const CONNECTIONS_MAX: usize = 32;
/// A client has so long to ask, and as long to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// After its answer, a client has so long to close.
const PARTING: Duration = Duration::from_secs(1);
/// Before the next try where the system has no room for a client.
const PAUSE: Duration = Duration::from_millis(50);
/// Read at once.
const PART: usize = 4 << 10;

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could ask there.
    #[error(
        "{0} can be reached by other addresses than 127.0.0.1 and [::1], and this server asks for no password; listen on 127.0.0.1:{port}, \
         and on another machine run ssh -L {port}:127.0.0.1:{port} and the name of this one",
        port = .0.port()
    )]
    NotLoopback(SocketAddr),
    /// The system's answer.
    #[error("cannot listen on {address}: {error}")]
    System {
        /// Where.
        address: SocketAddr,
        /// The answer.
        error: io::Error,
    },
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its `Content-Type`.
    pub kind: &'static str,
    /// Its text.
    pub body: String,
}

/// The page that a request asks for; `None`: there is none.
type Pages = Box<dyn FnMut(&PageRequest) -> Option<Page> + Send>;

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// Closed, it ends the thread.
    ending: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at an address of this machine; port 0 for any that is free. Pages are made on the server's thread, one after another.
    ///
    /// # Errors
    /// Other machines could reach the address, or the system refuses it.
    pub fn listen(
        address: SocketAddr,
        pages: impl FnMut(&PageRequest) -> Option<Page> + Send + 'static,
    ) -> Result<Self, ListenError> {
        if address.ip() != Ipv4Addr::LOCALHOST && address.ip() != Ipv6Addr::LOCALHOST {
            return Err(ListenError::NotLoopback(address));
        }
        let refused = |error| ListenError::System { address, error };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (ending, ended) = UnixStream::pair().map_err(refused)?;
        let clients = Clients { port: address.port(), pages: Box::new(pages), all: Vec::new() };
        let thread = std::thread::Builder::new().name("http".into());
        let thread = thread.spawn(move || clients.serve(&listener, &ended)).map_err(refused)?;
        Ok(Self { address, ending: Some(ending), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Those who ask, in the order in which they came.
struct Clients {
    port: u16,
    pages: Pages,
    all: Vec<Client>,
}

struct Client {
    stream: TcpStream,
    deadline: Instant,
    stage: Stage,
}

enum Stage {
    /// What it said so far.
    Asking(Vec<u8>),
    /// What it is yet to take.
    Answering { answer: Vec<u8>, taken: usize },
    /// It has all, and is to close: a server that closes first could cut its answer off.
    Parting,
}

impl Clients {
    fn serve(mut self, listener: &TcpListener, ended: &UnixStream) {
        loop {
            let now = Instant::now();
            self.all.retain(|client| client.deadline > now);
            let next = self.all.iter().map(|client| client.deadline.saturating_duration_since(now)).min();
            let next = next.and_then(|next| Timespec::try_from(next).ok());
            let mut waited = vec![PollFd::new(ended, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
            waited.extend(self.all.iter().map(|client| PollFd::new(&client.stream, client.waits_for())));
            match poll(&mut waited, next.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // There is nothing that could be waited for.
                Err(_) => return,
            }
            let ready: Vec<bool> = waited.iter().map(|of| !of.revents().is_empty()).collect();
            if ready[0] {
                return;
            }
            let mut of_clients = ready[2..].iter();
            self.all.retain_mut(|client| {
                !of_clients.next().copied().unwrap_or(false) || client.goes_on(self.port, &mut self.pages)
            });
            if ready[1] {
                self.welcome(listener);
            }
        }
    }

    /// Lets those in who wait, each as far as it has asked.
    fn welcome(&mut self, listener: &TcpListener) {
        for _ in 0..CONNECTIONS_MAX {
            match listener.accept() {
                Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                    let stage = Stage::Asking(Vec::new());
                    let mut client = Client { stream, deadline: Instant::now() + PATIENCE, stage };
                    if client.goes_on(self.port, &mut self.pages) {
                        self.make_room();
                        self.all.push(client);
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }

    /// Cuts the least of a loss off.
    fn make_room(&mut self) {
        if self.all.len() < CONNECTIONS_MAX {
            return;
        }
        let first = |is: fn(&Stage) -> bool| self.all.iter().position(|client| is(&client.stage));
        let served = first(|stage| matches!(stage, Stage::Parting));
        let slow = served.or_else(|| first(|stage| matches!(stage, Stage::Asking(_))));
        self.all.remove(slow.unwrap_or(0));
    }
}

impl Client {
    const fn waits_for(&self) -> PollFlags {
        match self.stage {
            Stage::Answering { .. } => PollFlags::OUT,
            Stage::Asking(_) | Stage::Parting => PollFlags::IN,
        }
    }

    /// Reads and writes what it can without waiting. Returns whether there is more to come.
    fn goes_on(&mut self, port: u16, pages: &mut Pages) -> bool {
        loop {
            let step = match &mut self.stage {
                Stage::Asking(head) => read(&mut self.stream, head).map(|more| {
                    let answer = answer(head, port, pages);
                    if answer.is_some() {
                        self.deadline = Instant::now() + PATIENCE;
                    }
                    let is_over = answer.is_none() && more == 0;
                    (answer.map(|answer| Stage::Answering { answer, taken: 0 }), is_over)
                }),
                Stage::Answering { answer, taken } => self.stream.write(&answer[*taken..]).map(|more| {
                    *taken += more;
                    let is_done = *taken == answer.len();
                    if is_done {
                        // A client that is gone by now has its answer or wants none.
                        let _ = self.stream.shutdown(std::net::Shutdown::Write);
                        self.deadline = Instant::now() + PARTING;
                    }
                    (is_done.then_some(Stage::Parting), more == 0)
                }),
                Stage::Parting => read(&mut self.stream, &mut Vec::new()).map(|more| (None, more == 0)),
            };
            match step {
                Ok((_, true)) => return false,
                Ok((Some(next), false)) => self.stage = next,
                Ok((None, false)) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}

/// Reads a part, where there is one. Returns its bytes: 0 at the end.
fn read(stream: &mut TcpStream, to: &mut Vec<u8>) -> io::Result<usize> {
    let mut part = [0; PART];
    let count = stream.read(&mut part)?;
    // One part more than a head may have shows that it is too long.
    if to.len() <= HEAD_MAX {
        to.extend_from_slice(&part[..count]);
    }
    Ok(count)
}

/// The answer to what was asked, head and body; `None` while it is not all there.
fn answer(head: &[u8], port: u16, pages: &mut Pages) -> Option<Vec<u8>> {
    let found = match PageRequest::parse(head, port) {
        Ok(None) => return None,
        Ok(Some(request)) => pages(&request).map(|page| (request.method, page)).ok_or(RequestRefusal::Absent),
        Err(refusal) => Err(refusal),
    };
    let allow = if matches!(found, Err(RequestRefusal::Method)) { "Allow: GET, HEAD\r\n" } else { "" };
    let (status, method, page) = match found {
        Ok((method, page)) => ("200 OK", method, page),
        Err(refusal) => {
            let (status, what) = refusal.told();
            let kind = "text/plain; charset=utf-8";
            (status, Method::Get, Page { kind, body: format!("{what}\n") })
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\nX-Content-Type-Options: \
         nosniff\r\nConnection: close\r\n\r\n",
        page.kind,
        page.body.len()
    );
    Some(match method {
        Method::Get => (head + &page.body).into_bytes(),
        Method::Head => head.into_bytes(),
    })
}
