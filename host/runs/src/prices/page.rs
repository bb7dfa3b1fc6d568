//! One page over the network, into a file: asked for again after errors, and its rest alone where it broke off.

use super::network::{ApiKey, Network};
use loadline_offers::{GaveUp, KEY_HEADER, PageFailure, PageTries};
use loadline_units::Bytes;
use loadline_web::{Deadline, Head, Rest, Url, WebClient, WebError, WebRequest};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};

/// Longer than this no connection is waited for.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// Longer than this nobody waits before a wish to end is heeded.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const PIECE: usize = 64 << 10;
const AGENT: &str = concat!("loadline/", env!("CARGO_PKG_VERSION"));

/// Why a page is not here.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// It was not asked for again.
    #[error("{why}")]
    GaveUp {
        /// Why not.
        why: GaveUp,
        /// What happened to the last connection, if that was it.
        source: Option<WebError>,
    },
    /// The key was refused.
    #[error("the server does not take the key (HTTP {0})")]
    Key(u16),
    /// It is too large.
    #[error("it has more than {}", .0.human())]
    TooLarge(Bytes),
    /// It is packed by something that was not asked for.
    #[error("its content coding is {0:?}, and gzip alone was asked for")]
    Coding(String),
    /// Its address is none.
    #[error("its address is none")]
    NoUrl,
    /// The server is not there, or not who it says to be.
    #[error("{host} is not reached")]
    NotReached {
        /// The server.
        host: String,
        /// Why not.
        source: WebError,
    },
    /// The user wants an end.
    #[error("an end was asked for")]
    Stopped,
    /// The time is over.
    #[error("the time for a fetch is over")]
    Late,
    /// It cannot be kept.
    #[error("it cannot be written")]
    File(#[from] io::Error),
}

/// Gets pages.
pub(super) struct PageGetter<'f> {
    pub(super) network: &'f Network<'f>,
    pub(super) client: &'f WebClient,
    pub(super) key: Option<&'f ApiKey>,
    /// Whether the user wants an end.
    pub(super) stop: &'f dyn Fn() -> bool,
    /// What is left of the time for everything.
    pub(super) left: &'f dyn Fn() -> Duration,
}

/// Why a request did not end with the page.
enum AskEnd {
    /// Another one may.
    Again(PageFailure, Option<WebError>),
    /// No other will.
    Never(PageError),
}

impl<E: Into<PageError>> From<E> for AskEnd {
    fn from(error: E) -> Self {
        Self::Never(error.into())
    }
}

impl AskEnd {
    fn of(url: &Url, error: WebError) -> Self {
        match error {
            WebError::Stopped => PageError::Stopped.into(),
            WebError::NoAddress { .. } | WebError::Tls(_) | WebError::NoCertificates | WebError::HostName => {
                not_reached(url, error).into()
            }
            error => Self::Again(PageFailure::Broken, Some(error)),
        }
    }
}

fn not_reached(url: &Url, source: WebError) -> PageError {
    PageError::NotReached { host: url.host_str().unwrap_or_default().to_owned(), source }
}

/// What is here of a page.
struct PagePart<'p> {
    file: &'p File,
    bytes: u64,
    /// The server's tag of it; `None`: its rest cannot be asked for.
    etag: Option<String>,
}

impl PagePart<'_> {
    fn begin(&mut self, head: &Head) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.bytes = 0;
        // A weak tag says that pages mean the same, not that their bytes are.
        self.etag = head.header("etag").filter(|etag| etag.starts_with('"')).map(str::to_owned);
        Ok(())
    }

    /// Whether an answer is the rest of it.
    fn goes_on(&self, head: &Head) -> bool {
        let range = format!("bytes {}-", self.bytes);
        self.bytes > 0
            && head.header("content-range").is_some_and(|value| value.starts_with(&range))
            && head.header("etag").is_none_or(|etag| Some(etag) == self.etag.as_deref())
    }
}

impl PageGetter<'_> {
    /// Gets a page into an empty file; `waits` hears of pauses.
    pub(super) fn get(&self, url: &str, file: &File, waits: &mut dyn FnMut(Duration)) -> Result<(), PageError> {
        let url = Url::parse(url).map_err(|_| PageError::NoUrl)?;
        let mut part = PagePart { file, bytes: 0, etag: None };
        let mut tries = PageTries::new(self.network.bounds);
        loop {
            let (failure, source) = match self.ask(&url, &mut part) {
                Ok(()) => return Ok(()),
                Err(AskEnd::Again(failure, source)) => (failure, source),
                Err(AskEnd::Never(error)) => return Err(error),
            };
            match tries.wait(&failure, (self.network.now)()) {
                Ok(span) => self.wait(Duration::from_nanos(span.as_ns()), waits)?,
                Err(GaveUp::Status(status @ (400 | 401 | 403))) if self.key.is_some() => {
                    return Err(PageError::Key(status));
                }
                Err(why) => {
                    // Who never answers is not reached: all that is still to come would not come either.
                    return Err(match source {
                        Some(source @ WebError::Io { .. }) if part.bytes == 0 => not_reached(&url, source),
                        source => PageError::GaveUp { why, source },
                    });
                }
            }
        }
    }

    /// One request: for the page, or for the rest of it.
    fn ask(&self, url: &Url, part: &mut PagePart<'_>) -> Result<(), AskEnd> {
        let broken = |error| AskEnd::of(url, error);
        let key = self.key.map(|key| (KEY_HEADER, key.text()));
        let headers: Vec<_> = [("User-Agent", AGENT), ("Accept", "application/json")].into_iter().chain(key).collect();
        let from = part.bytes;
        let etag = part.etag.clone().filter(|_| from > 0);
        let rest = etag.as_deref().map(|etag| Rest { from, etag });
        let left = (self.left)().min(self.network.request_time);
        let deadline = Deadline { at: Instant::now() + left, connect: CONNECT_TIME, stop: Some(self.stop) };
        let request = WebRequest { url, headers: &headers, rest };
        let mut response = self.client.slot(url).ask(&request, deadline).map_err(broken)?;
        let head = &response.head;
        match head.status {
            206 if part.goes_on(head) => {}
            200 => part.begin(head)?,
            206 | 416 => {
                part.begin(&Head::default())?;
                return Err(AskEnd::Again(PageFailure::Broken, None));
            }
            status => {
                let retry_after = head.header("retry-after").map(str::to_owned);
                return Err(AskEnd::Again(PageFailure::Status { status, retry_after }, None));
            }
        }
        let coding = head.header("content-encoding").unwrap_or_default().trim().to_ascii_lowercase();
        if !["", "identity", "gzip", "x-gzip"].contains(&&*coding) {
            return Err(PageError::Coding(coding.chars().take(40).collect()).into());
        }
        let most = self.network.bounds.bytes;
        let too_large = || PageError::TooLarge(Bytes::new(most));
        if head.length().map_err(broken)?.is_some_and(|length| length > most.saturating_sub(part.bytes)) {
            return Err(too_large().into());
        }
        let mut piece = vec![0; PIECE];
        loop {
            let read = response.body.read(&mut piece).map_err(|error| broken(WebError::of_body(error)))?;
            if read == 0 {
                return Ok(());
            }
            part.bytes += read as u64;
            if part.bytes > most {
                return Err(too_large().into());
            }
            part.file.write_all(&piece[..read])?;
        }
    }

    fn wait(&self, span: Duration, waits: &mut dyn FnMut(Duration)) -> Result<(), PageError> {
        if span >= (self.left)() {
            return Err(PageError::Late);
        }
        waits(span);
        let mut left = span;
        while !left.is_zero() {
            if (self.stop)() {
                return Err(PageError::Stopped);
            }
            let now = left.min(LOOK_EVERY);
            (self.network.pause)(now);
            left -= now;
        }
        Ok(())
    }
}
