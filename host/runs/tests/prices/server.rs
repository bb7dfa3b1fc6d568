//! A server that answers as a test says, a clock that pauses alone move, and a shelf to fetch into.

use loadline_catalog::Currency;
use loadline_offers::{FetchBounds, Provider};
use loadline_runs::prices::{
    ApiKey, FetchError, FetchedUpdate, Network, PriceFetch, PriceShelf, PriceUpdate, fetch_update, run_update,
};
use loadline_runs::{Event, Observer};
use loadline_units::Timestamp;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BEGINS: &str = "2026-11-29T10:00:00Z";

/// A request, as it was heard.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Counted from 0.
    pub(crate) number: usize,
    /// Path and query.
    pub(crate) target: String,
    /// All of it, in lower case.
    pub(crate) text: String,
}

/// What is sent back.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes.
    Send(Vec<u8>),
    /// These bytes, and then the connection is closed.
    Cut(Vec<u8>),
    /// These bytes, and then nothing until the client goes away.
    Hang(Vec<u8>),
}

/// An answer with its length and these headers.
pub(crate) fn reply(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    Reply::Send([head.as_bytes(), body].concat())
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) fn new(answer: impl Fn(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &answer, &heard);
            }
        });
        Self { address, asked }
    }

    /// A server that is not there.
    pub(crate) fn absent() -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self { address, asked: Arc::default() }
    }

    /// What it was asked for so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, answer: &impl Fn(&Asked) -> Reply, heard: &Mutex<Vec<Asked>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            if stream.read_line(&mut text).unwrap_or(0) == 0 {
                return;
            }
        }
        let target = text.split(' ').nth(1).unwrap().to_owned();
        let asked = {
            let mut heard = heard.lock().unwrap();
            let number = heard.len();
            heard.push(Asked { number, target, text: text.to_lowercase() });
            heard.last().unwrap().clone()
        };
        let (bytes, stays, hangs) = match answer(&asked) {
            Reply::Send(bytes) => (bytes, true, false),
            Reply::Cut(bytes) => (bytes, false, false),
            Reply::Hang(bytes) => (bytes, false, true),
        };
        // A client that has enough goes away.
        let _ = stream.get_mut().write_all(&bytes);
        if hangs {
            let _ = stream.read_line(&mut String::new());
        }
        if !stays {
            return;
        }
    }
}

/// Wants an end before the page of this number, counted from 0.
struct EndsBefore {
    page: Option<usize>,
    pages: Cell<usize>,
}

impl Observer for EndsBefore {
    fn event(&mut self, event: &Event<'_>) {
        if matches!(event, Event::Advances(loadline_runs::Advance::Fetched(pages)) if pages.waits.is_none()) {
            self.pages.set(self.pages.get() + 1);
        }
    }
    fn wants_an_end(&self) -> bool {
        self.page.is_some_and(|page| self.pages.get() >= page)
    }
}

/// A shelf, and how it is fetched into.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) bounds: FetchBounds,
    pub(crate) request_time: Duration,
    pub(crate) provider: Provider,
    pub(crate) regions: Vec<String>,
    pub(crate) currency: Option<Currency>,
    pub(crate) key: Option<ApiKey>,
    /// The page before which an end is wanted.
    pub(crate) ends_before: Option<usize>,
    /// Seconds since the clock began, without pauses.
    pub(crate) clock: Cell<u64>,
    paused: Cell<Duration>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            bounds: FetchBounds::default(),
            request_time: Duration::from_secs(20),
            provider: Provider::Azure,
            regions: vec!["xx-test-1".to_owned()],
            currency: None,
            key: None,
            ends_before: None,
            clock: Cell::new(0),
            paused: Cell::default(),
        }
    }

    pub(crate) fn shelf(&self) -> PriceShelf {
        PriceShelf::at(&self.folder.path().join("prices"))
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn fetch(&self, server: &Server) -> Result<FetchedUpdate, FetchError> {
        self.fetch_of(server, vec![self.provider])
    }

    pub(crate) fn fetch_of(&self, server: &Server, providers: Vec<Provider>) -> Result<FetchedUpdate, FetchError> {
        let begins = BEGINS.parse::<Timestamp>().unwrap().seconds.unsigned_abs();
        let now = || Timestamp::from_unix_s(begins + self.clock.get() + self.paused.get().as_secs());
        let pause = |span: Duration| self.paused.set(self.paused.get() + span);
        let network = Network {
            only_to: Some(server.address),
            request_time: self.request_time,
            bounds: self.bounds,
            now: &now,
            pause: &pause,
        };
        let (regions, currency) = (self.regions.clone(), self.currency);
        let update = PriceUpdate { providers, regions, currency, ..PriceUpdate::default() };
        let fetch = PriceFetch { update, key: self.key.clone() };
        let mut observer = EndsBefore { page: self.ends_before, pages: Cell::new(0) };
        fetch_update(&fetch, &network, &self.shelf(), &mut observer)
    }

    /// Keeps what saved answers have.
    pub(crate) fn keep(&self, from: Vec<PathBuf>) {
        let update = PriceUpdate { from, regions: self.regions.clone(), ..PriceUpdate::default() };
        let done = run_update(&update, &self.shelf()).unwrap();
        assert!(done.iter().flat_map(|of| &of.lists).all(|list| list.found.refusals.is_empty()), "{done:?}");
    }

    /// Seconds of all pauses.
    pub(crate) fn paused(&self) -> u64 {
        assert_eq!(self.paused.get().subsec_nanos(), 0);
        self.paused.get().as_secs()
    }

    /// Of each list that is kept, its prices and what was left out.
    pub(crate) fn prices(&self) -> BTreeMap<String, Vec<String>> {
        let lists = self.shelf().newest().unwrap().into_iter();
        lists
            .map(|list| {
                let text = fs::read_to_string(&list.path).unwrap();
                let is_same = |line: &&str| !["fetched =", "blake3 ="].iter().any(|key| line.starts_with(key));
                let lines = text.lines().skip_while(|line| !line.starts_with('['));
                let lines = lines.filter(is_same).map(str::to_owned).collect();
                (format!("{} {} {}", list.provider, list.region, list.kind), lines)
            })
            .collect()
    }

    /// Files of the journal.
    pub(crate) fn journal(&self) -> Vec<PathBuf> {
        let folder = self.shelf().folder().join(".fetched");
        let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
    }

    /// Whether a text stands in any file below the shelf.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        fn below(folder: &Path, text: &str) -> bool {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
                let has = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text);
                path.to_string_lossy().contains(text) || if path.is_dir() { below(&path, text) } else { has(&path) }
            })
        }
        below(&self.folder.path().join("prices"), text)
    }
}
