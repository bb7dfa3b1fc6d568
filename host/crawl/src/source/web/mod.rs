//! Pages of a site: fetched politely, and followed from link to link.

mod address;
mod robots;

use super::{Feeding, FetchAnswer, FetchPhase, FetchTimer, Fetcher, kind_of_name};
use crate::error::CrawlError;
use crate::extract::PageText;
use crate::frontier::{Added, Frontier, NewTarget};
use crate::item::{ContentKind, CrawlTarget, FoundLink, Identity, ItemFailure, ItemOnWay, io_reason};
use crate::measured::Measured;
use loadline_pipeline::{CrawlCaps, SourcePlan};
use loadline_record::WorkerState;
use loadline_web::{Deadline, Head, Url, WebClient, WebError, WebRequest};
use robots::Robots;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A host that asks to be left alone for longer is taken to ask for this, ns.
const RETRY_AFTER_MAX_NS: u64 = 600_000_000_000;
/// A host that is overloaded and names no time, ns.
const RETRY_AFTER_USUAL_NS: u64 = 1_000_000_000;

/// Who asks.
const AGENT: &str = concat!("loadline-crawl/", env!("CARGO_PKG_VERSION"));

/// A page as it came.
struct FetchedPage {
    head: Head,
    body: Vec<u8>,
}

/// Whether the body is wanted, by the head of the answer.
type Wanted<'w> = &'w dyn Fn(&Head) -> Result<(), ItemFailure>;

/// How much of an answer is read.
#[derive(Debug, Clone, Copy)]
enum AtMost {
    /// All of it; more than so many bytes are a failure.
    All(u64),
    /// So many bytes, whatever stands behind them.
    Begin(u64),
}

/// A site.
#[derive(Debug)]
pub(crate) struct WebSite {
    start: Url,
    /// Hosts whose pages belong to it, each with its port where that is not the usual one.
    hosts: BTreeSet<String>,
    obeys: bool,
    caps: CrawlCaps,
    client: WebClient,
    robots: Mutex<HashMap<String, Arc<OnceLock<Robots>>>>,
    /// Pages below each folder.
    prefixes: Mutex<HashMap<String, u32>>,
}

impl WebSite {
    /// Of a source. `only_to` is where every connection goes, whatever host is named.
    pub(crate) fn new(
        source: &SourcePlan,
        start: &str,
        caps: &CrawlCaps,
        only_to: Option<SocketAddr>,
    ) -> Result<Self, CrawlError> {
        let wrong = |why: String| CrawlError::Source { name: source.name.clone(), why };
        let start = Url::parse(start).map_err(|error| wrong(format!("{start} is no URL: {error}")))?;
        let start = address::normal(start);
        if !matches!(start.scheme(), "http" | "https") || start.host_str().is_none() {
            return Err(wrong(format!("{start} is no URL of a site: write http://HOST/ or https://HOST/")));
        }
        let own = address::place(&start);
        let connections = source.connections.unwrap_or(source.slots());
        Ok(Self {
            hosts: own.into_iter().chain(source.hosts.iter().cloned()).collect(),
            start,
            obeys: source.robots,
            caps: *caps,
            client: WebClient::new(connections, only_to),
            robots: Mutex::default(),
            prefixes: Mutex::default(),
        })
    }

    /// Adds the start, what an earlier part of the crawl found, and what an earlier crawl has.
    pub(crate) fn feed(&self, feeding: &mut Feeding<'_>) -> Result<(), CrawlError> {
        if let Some(known) = feeding.known {
            for key in known.done(feeding.source)? {
                feeding.frontier.mark_known(&key);
                feeding.done_before += 1;
            }
            let (waiting, earlier) = (known.waiting(feeding.source)?, known.earlier(feeding.source)?);
            feeding.frontier.expect(waiting.iter().chain(&earlier).map(|link| link.key.as_str()));
            for FoundLink { key, depth } in waiting {
                let Ok(url) = Url::parse(&key) else { continue };
                feeding.add(NewTarget { host: host_of(&url), key, depth, ..NewTarget::default() })?;
            }
            // Pages that nothing leads to any more are asked for as long as they are there.
            for FoundLink { key, depth } in earlier {
                let Ok(url) = Url::parse(&key) else { continue };
                feeding.add(NewTarget { host: host_of(&url), key, depth, ..NewTarget::default() })?;
            }
        }
        let key = self.start.to_string();
        feeding.add(NewTarget { host: host_of(&self.start), key, ..NewTarget::default() })
    }

    /// What the host lets us do. Who comes first asks; others wait for the answer.
    fn robots(&self, url: &Url, frontier: &Frontier, timer: &mut FetchTimer<'_>) -> Arc<OnceLock<Robots>> {
        let origin = host_of(url);
        let place = {
            let mut known = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(origin.clone()).or_default())
        };
        place.get_or_init(|| {
            let robots = self.ask_robots(url, timer);
            if let Some(delay) = robots.delay {
                frontier.delay_host(&origin, delay.as_nanos() as u64);
            }
            robots
        });
        // Who waited for another's answer waited for the repository.
        timer.ends(FetchPhase::FirstByte(WorkerState::Other));
        place
    }

    /// Asks for the file by RFC 9309.
    fn ask_robots(&self, url: &Url, timer: &mut FetchTimer<'_>) -> Robots {
        let Ok(mut file) = url.join("/robots.txt") else { return Robots::default() };
        for _ in 0..=robots::REDIRECTS_MAX {
            let page = match self.ask(&file, &[], AtMost::Begin(robots::BYTES_MAX as u64), &|_| Ok(()), timer) {
                Ok(page) => page,
                Err(failure) => return Robots::unknown(format!("{file}: {}", failure.reason)),
            };
            if let Some(robots) = Robots::of_answer(file.as_str(), page.head.status, &page.body) {
                return robots;
            }
            match page.head.header("location").and_then(|to| file.join(to).ok()) {
                Some(to) if matches!(to.scheme(), "http" | "https") => file = to,
                _ => return Robots::default(),
            }
        }
        Robots::default()
    }

    /// Asks for a page, and reads it if it is wanted. `timer` gets the phases.
    fn ask(
        &self,
        url: &Url,
        known: &[(&str, &str)],
        at_most: AtMost,
        wanted: Wanted<'_>,
        timer: &mut FetchTimer<'_>,
    ) -> Result<FetchedPage, ItemFailure> {
        let deadline = Deadline::after(Duration::from_nanos(self.caps.fetch_time.as_ns()));
        let slot = self.client.slot(url);
        timer.ends(FetchPhase::Pool);
        let headers = [&[("User-Agent", AGENT), ("Accept", "text/html, */*;q=0.5")], known].concat();
        let read = || {
            let response = slot.ask(&WebRequest { url, headers: &headers, rest: None }, deadline).map_err(failure)?;
            timer.ends(FetchPhase::FirstByte(WorkerState::Other));
            wanted(&response.head)?;
            let too_large = || ItemFailure::of("larger than caps.bytes");
            let (AtMost::All(most) | AtMost::Begin(most)) = at_most;
            let is_all = matches!(at_most, AtMost::All(_));
            if is_all && response.head.length().is_ok_and(|length| length > Some(most)) {
                return Err(too_large());
            }
            let mut body = Vec::new();
            let read = response.body.take(most.saturating_add(u64::from(is_all))).read_to_end(&mut body);
            read.map_err(|error| failure(WebError::of_body(error)))?;
            if body.len() as u64 > most {
                return Err(too_large());
            }
            timer.received += body.len() as u64;
            Ok(FetchedPage { head: response.head, body })
        };
        let page = read();
        timer.ends(FetchPhase::Body(WorkerState::Network));
        page
    }

    /// Whether the host is known to forbid a page.
    fn is_forbidden(&self, url: &Url) -> bool {
        let known = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
        let robots = known.get(&host_of(url)).and_then(|place| place.get());
        self.obeys && robots.is_some_and(|robots| !robots.allows(&path_of(url)))
    }

    /// A link as a key of the frontier; why it is none.
    fn target(&self, link: &str, base: &Url) -> Result<Option<Url>, &'static str> {
        let Ok(mut url) = base.join(link.trim()).map(address::normal) else { return Ok(None) };
        url.set_fragment(None);
        if !address::place(&url).is_some_and(|place| self.hosts.contains(&place)) {
            return Ok(None);
        }
        if url.as_str().len() as u64 > self.caps.url.get() {
            return Err("URLs longer than caps.url are left out");
        }
        if self.is_forbidden(&url) {
            return Err("pages that robots.txt forbids are left out");
        }
        Ok(Some(url))
    }

    /// Adds a page, if it is new and within the caps.
    fn add(
        &self,
        url: &Url,
        item: &ItemOnWay,
        redirects: u32,
        frontier: &Frontier,
        measured: &Measured,
    ) -> Option<FoundLink> {
        let source = item.record.source;
        let depth = item.depth + 1;
        if depth > self.caps.depth {
            measured.note(source, "links deeper than caps.depth are left out", 1);
            return None;
        }
        let key = url.to_string();
        let prefix = key.rfind('/').map_or(key.as_str(), |end| &key[..end]).to_owned();
        {
            let mut prefixes = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
            let count = prefixes.entry(prefix.clone()).or_default();
            if *count >= self.caps.per_prefix {
                measured.note(source, "pages beyond caps.per_prefix are left out", 1);
                return None;
            }
        }
        let found_in = Some(item.record.number);
        let new = NewTarget { host: host_of(url), key: key.clone(), depth, found_in, redirects, known: None };
        match frontier.add(new, false) {
            Added::New => {
                *self.prefixes.lock().unwrap_or_else(PoisonError::into_inner).entry(prefix).or_default() += 1;
                Some(FoundLink { key, depth })
            }
            Added::Known => None,
            Added::Capped => {
                measured.note(source, "items beyond caps.items are left out", 1);
                None
            }
        }
    }

    /// Adds the links of a page, and returns those that are new.
    pub(crate) fn follow(
        &self,
        page: &PageText,
        base: &str,
        item: &ItemOnWay,
        frontier: &Frontier,
        measured: &Measured,
    ) -> Vec<FoundLink> {
        let Ok(base) = Url::parse(base) else { return Vec::new() };
        if page.is_nofollow && self.obeys {
            measured.note(item.record.source, "pages whose links are not to be followed", 1);
            return Vec::new();
        }
        let base = page.base.as_deref().and_then(|own| base.join(own).ok()).unwrap_or(base);
        let mut found = Vec::new();
        for link in &page.links {
            match self.target(link, &base) {
                Ok(Some(url)) => found.extend(self.add(&url, item, 0, frontier, measured)),
                Ok(None) => {}
                Err(note) => measured.note(item.record.source, note, 1),
            }
        }
        found
    }

    /// Adds where a redirect leads.
    pub(crate) fn redirect(
        &self,
        to: &str,
        item: &ItemOnWay,
        redirects: u32,
        frontier: &Frontier,
        measured: &Measured,
    ) -> Vec<FoundLink> {
        let Ok(base) = Url::parse(&item.key) else { return Vec::new() };
        match self.target(to, &base) {
            Ok(Some(url)) => self.add(&url, item, redirects, frontier, measured).into_iter().collect(),
            Ok(None) => {
                measured.note(item.record.source, "redirects to other hosts or ports are not followed", 1);
                Vec::new()
            }
            Err(note) => {
                measured.note(item.record.source, note, 1);
                Vec::new()
            }
        }
    }
}

/// The host as the frontier and its politeness know it.
fn host_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn path_of(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// Fetches pages in one slot.
#[derive(Debug)]
pub(crate) struct PageFetcher {
    pub(crate) site: Arc<WebSite>,
    pub(crate) frontier: Arc<Frontier>,
}

impl Fetcher for PageFetcher {
    fn fetch(&mut self, target: &CrawlTarget, timer: &mut FetchTimer<'_>) -> Result<FetchAnswer, ItemFailure> {
        let site = &*self.site;
        let url = Url::parse(&target.key).map_err(|_| ItemFailure::of("it is no URL"))?;
        if site.obeys {
            let place = site.robots(&url, &self.frontier, timer);
            let robots = place.get().cloned().unwrap_or_default();
            if let Some(why) = robots.unknown {
                return Err(ItemFailure::of(why));
            }
            if !robots.allows(&path_of(&url)) {
                return Err(ItemFailure::of("robots.txt forbids it"));
            }
        }
        let known = target.known.as_deref();
        let etag = known.and_then(|known| Some(("If-None-Match", known.etag.as_deref()?)));
        let since = known.and_then(|known| Some(("If-Modified-Since", known.last_modified.as_deref()?)));
        let headers: Vec<_> = etag.into_iter().chain(since).collect();
        answer(site.ask(&url, &headers, AtMost::All(site.caps.bytes.get()), &wanted, timer)?, target, site)
    }
}

/// Why a page did not come, in words that are the same for all of a kind.
fn failure(error: WebError) -> ItemFailure {
    ItemFailure::of(match error {
        WebError::Io { doing, source } => io_reason(&doing, &source),
        WebError::LateBody => Cow::Borrowed("longer than caps.fetch_time"),
        error => error.to_string().into(),
    })
}

/// How a body is coded, by the one header that says so.
fn is_compressed(head: &Head) -> Result<bool, ItemFailure> {
    let coding = head.header("content-encoding").unwrap_or_default().trim().to_ascii_lowercase();
    match coding.as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => {
            let shown: String = other.chars().take(40).collect();
            Err(ItemFailure::of(format!("its content coding is {shown:?}: gzip alone was asked for")))
        }
    }
}

/// Whether a body is wanted and can be read: pictures and other things without text are not.
fn wanted(head: &Head) -> Result<(), ItemFailure> {
    if head.status == 200 {
        is_compressed(head)?;
    }
    let kind = head.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let is_silent = ["image/", "audio/", "video/", "font/"].iter().any(|silent| kind.starts_with(silent));
    if head.status == 200 && is_silent {
        return Err(ItemFailure::of("no kind of file that has text"));
    }
    Ok(())
}

fn answer(page: FetchedPage, target: &CrawlTarget, site: &WebSite) -> Result<FetchAnswer, ItemFailure> {
    match page.head.status {
        200 => content(page, target),
        304 => match &target.known {
            Some(known) => Ok(FetchAnswer::Unchanged((**known).clone())),
            None => Err(ItemFailure::of("HTTP 304 without a question")),
        },
        301 | 302 | 303 | 307 | 308 => {
            let to = page.head.header("location").ok_or_else(|| ItemFailure::of("a redirect without a place"))?;
            if target.redirects >= site.caps.redirects {
                return Err(ItemFailure::of("more redirects than caps.redirects"));
            }
            Ok(FetchAnswer::Redirect(to.to_owned()))
        }
        status @ (429 | 503) => {
            let seconds = page.head.header("retry-after").and_then(|value| value.trim().parse::<u64>().ok());
            let asked = seconds.map_or(RETRY_AFTER_USUAL_NS, |seconds| seconds.saturating_mul(1_000_000_000));
            let retry_after_ns = asked.clamp(1, RETRY_AFTER_MAX_NS);
            Ok(FetchAnswer::Later(ItemFailure { reason: format!("HTTP {status}").into(), retry_after_ns }))
        }
        status => Err(ItemFailure::of(format!("HTTP {status}"))),
    }
}

fn content(FetchedPage { head, body }: FetchedPage, target: &CrawlTarget) -> Result<FetchAnswer, ItemFailure> {
    let declared = head.header("content-type").unwrap_or_default().to_owned();
    let lower = declared.to_ascii_lowercase();
    let charset = lower
        .split("charset=")
        .nth(1)
        .map(|rest| rest.trim_matches(['"', '\'', ' ']).split([';', ' ', '"']).next().unwrap_or_default().to_owned());
    let kind = match lower.split(';').next().unwrap_or_default().trim() {
        "text/html" | "application/xhtml+xml" => Some(ContentKind::Html),
        "application/pdf" => Some(ContentKind::Pdf),
        kind if kind.starts_with("application/vnd.openxmlformats-officedocument") => Some(ContentKind::Office),
        kind if kind.starts_with("text/") => Some(ContentKind::Text),
        _ => kind_of_name(&target.key),
    };
    let is_compressed = is_compressed(&head)?;
    let text = |name: &str| head.header(name).map(str::to_owned);
    let identity = Identity {
        size: body.len() as u64,
        etag: text("etag"),
        last_modified: text("last-modified"),
        ..Identity::default()
    };
    let base = Some(target.key.clone());
    Ok(FetchAnswer::Content { kind, charset, base, is_compressed, identity, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(headers: &[(&str, &str)]) -> Head {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Head { status: 200, headers }
    }

    #[test]
    fn a_body_in_a_coding_that_was_not_asked_for_fails_with_its_name() {
        assert!(wanted(&said(&[])).is_ok());
        assert!(!is_compressed(&said(&[("content-encoding", "identity")])).unwrap());
        assert!(is_compressed(&said(&[("content-encoding", " GZIP ")])).unwrap());
        for coding in ["br", "gzip, gzip", "deflate", "zstd"] {
            let refused = wanted(&said(&[("content-encoding", coding)])).unwrap_err();
            assert_eq!(refused.reason, format!("its content coding is {coding:?}: gzip alone was asked for"));
        }
    }

    #[test]
    fn links_to_other_ports_of_the_host_are_not_followed() {
        let of = |start: &str, hosts: &[&str]| {
            let mut source = SourcePlan::of_files("site", "/".into());
            source.hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            WebSite::new(&source, start, &CrawlCaps::default(), None).unwrap()
        };
        let leads = |site: &WebSite, link: &str| site.target(link, &site.start).unwrap().map(|url| url.to_string());
        let site = of("http://h:8080/a", &["other", "h:9000"]);
        assert_eq!(leads(&site, "b#c").as_deref(), Some("http://h:8080/b"));
        assert_eq!(leads(&site, "//user:password@h:8080/").as_deref(), Some("http://h:8080/"));
        assert_eq!(leads(&site, "http://h:9000/").as_deref(), Some("http://h:9000/"));
        assert_eq!(leads(&site, "https://other/").as_deref(), Some("https://other/"));
        for apart in
            ["http://h/", "https://h/", "http://h:22/", "http://other:22/", "http://8080/", "file:///etc/passwd"]
        {
            assert_eq!(leads(&site, apart), None, "{apart}");
        }
        let site = of("http://h/", &[]);
        assert_eq!(leads(&site, "https://h/b").as_deref(), Some("https://h/b"));
        assert_eq!(leads(&site, "http://h:443/"), None);
    }
}
