//! Sources: what adds items to a frontier, and what fetches them.

mod files;
mod rows;
mod web;

use crate::clock::WorkerTimer;
use crate::database::{ItemState, KnownItems};
use crate::error::CrawlError;
use crate::extract::PageText;
use crate::folders::CrawlFolders;
use crate::frontier::{Added, Frontier, NewTarget};
use crate::item::{ContentKind, CrawlTarget, FoundLink, Identity, ItemFailure, ItemOnWay};
use crate::made_up::{self, MadeUpSite};
use crate::measured::Measured;
use files::FileFetcher;
use loadline_pipeline::{CrawlCaps, SourceKind, SourcePlan};
use loadline_record::{ItemRecord, WorkerState};
use rows::{RowFetcher, RowTable};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use web::{PageFetcher, WebSite};

/// What came of a fetch.
#[derive(Debug)]
pub(crate) enum FetchAnswer {
    /// Contents.
    Content {
        body: Vec<u8>,
        /// What they are said to be; `None`: they are looked at.
        kind: Option<ContentKind>,
        charset: Option<String>,
        /// Links in it are relative to this; `None`: it is not looked for links.
        base: Option<String>,
        is_compressed: bool,
        identity: Identity,
    },
    /// They are as an earlier crawl found them.
    Unchanged(Identity),
    /// They are somewhere else.
    Redirect(String),
    /// The host wants to be asked again later; the failure, if it does so again and again.
    Later(ItemFailure),
}

/// Fetches items of a source, one after the other, in one slot.
pub(crate) trait Fetcher: Send {
    /// Fetches an item, and notes the phases of that.
    ///
    /// # Errors
    /// Why it failed.
    fn fetch(&mut self, target: &CrawlTarget, timer: &mut FetchTimer<'_>) -> Result<FetchAnswer, ItemFailure>;
}

/// What a fetch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchPhase {
    /// A connection of the own pool.
    Pool,
    /// The first byte: of a repository's answer, or of a volume.
    FirstByte(WorkerState),
    /// The rest.
    Body(WorkerState),
}

/// The time of one fetch, by its phases.
#[derive(Debug)]
pub(crate) struct FetchTimer<'t> {
    timer: &'t mut WorkerTimer,
    source: u32,
    sent_ns: u64,
    on_cpu_ns: u64,
    first_ns: u64,
    body_ns: u64,
    pub(crate) notes: Vec<Cow<'static, str>>,
    pub(crate) received: u64,
}

impl<'t> FetchTimer<'t> {
    pub(crate) fn new(timer: &'t mut WorkerTimer, source: u32) -> Self {
        let sent_ns = timer.at_ns();
        Self { timer, source, sent_ns, on_cpu_ns: 0, first_ns: 0, body_ns: 0, notes: Vec::new(), received: 0 }
    }
    /// A phase ends now.
    pub(crate) fn ends(&mut self, phase: FetchPhase) {
        let rest = match phase {
            FetchPhase::Pool => WorkerState::Pool,
            FetchPhase::FirstByte(rest) | FetchPhase::Body(rest) => rest,
        };
        let span = self.timer.worked(rest, Some(self.source));
        self.on_cpu_ns += span.on_cpu_ns;
        match phase {
            // It stands before the connection, as the processor's time does.
            FetchPhase::Pool => {}
            FetchPhase::FirstByte(_) => self.first_ns += span.waited_ns,
            FetchPhase::Body(_) => self.body_ns += span.waited_ns,
        }
    }
    /// The item's times. What a processor did stands before the connection, so that latencies are waiting alone.
    pub(crate) fn into_record(self, target: &CrawlTarget) -> (ItemRecord, Vec<Cow<'static, str>>) {
        let end_ns = self.timer.at_ns();
        let record = ItemRecord {
            source: target.source,
            number: target.number,
            found_in: target.found_in,
            host: target.host,
            eligible_ns: target.eligible_ns,
            sent_ns: self.sent_ns,
            connected_ns: end_ns - self.first_ns - self.body_ns,
            first_byte_ns: end_ns - self.body_ns,
            last_byte_ns: end_ns,
            fetch_cpu_ns: self.on_cpu_ns,
            ..ItemRecord::default()
        };
        (record, self.notes)
    }
}

/// A source: what it begins with, what fetches its items, and where links lead.
#[derive(Debug)]
pub(crate) struct SourceRunner {
    caps: CrawlCaps,
    kind: RunnerKind,
}

#[derive(Debug)]
enum RunnerKind {
    Files {
        folder: PathBuf,
        /// The crawl's own folders.
        own: Vec<PathBuf>,
    },
    Web {
        site: Arc<WebSite>,
        /// Serves it, where it is made up.
        _server: Option<MadeUpSite>,
    },
    Sql(RowTable),
}

impl SourceRunner {
    /// Of a source of the plan.
    pub(crate) fn new(source: &SourcePlan, caps: &CrawlCaps, folders: &CrawlFolders) -> Result<Self, CrawlError> {
        let kind = match source.kind()? {
            SourceKind::Files(folder) => {
                let folder = folder.canonicalize().map_err(CrawlError::folder("read", folder))?;
                let own = [Some(&folders.index), Some(&folders.data), folders.log.as_ref(), Some(&folders.temporary)];
                let own = own.into_iter().flatten().filter_map(|path| path.canonicalize().ok());
                RunnerKind::Files { folder, own: own.collect() }
            }
            SourceKind::Web(start) => {
                RunnerKind::Web { site: Arc::new(WebSite::new(source, start, caps, None)?), _server: None }
            }
            SourceKind::MadeUp(plan) => {
                let name = || source.name.clone();
                let server = MadeUpSite::serve(*plan).map_err(|error| CrawlError::Source {
                    name: name(),
                    why: format!("cannot serve a site: {error}"),
                })?;
                let site = WebSite::new(source, made_up::START, caps, Some(server.address))?;
                RunnerKind::Web { site: Arc::new(site), _server: Some(server) }
            }
            SourceKind::Sql { database, table, key } => {
                let table = RowTable {
                    source: source.name.clone(),
                    database: database.clone(),
                    table: table.to_owned(),
                    key: key.to_owned(),
                    columns: source.columns.clone(),
                    caps: *caps,
                };
                table.check()?;
                RunnerKind::Sql(table)
            }
        };
        Ok(Self { caps: *caps, kind })
    }
    /// What fetches for a slot.
    pub(crate) fn fetcher(&self, frontier: &Arc<Frontier>) -> Box<dyn Fetcher> {
        match &self.kind {
            RunnerKind::Files { .. } => Box::new(FileFetcher { caps: self.caps }),
            RunnerKind::Web { site, .. } => {
                Box::new(PageFetcher { site: Arc::clone(site), frontier: Arc::clone(frontier) })
            }
            RunnerKind::Sql(table) => Box::new(RowFetcher::new(table.clone())),
        }
    }
    /// Adds what the source begins with.
    pub(crate) fn feed(&self, feeding: &mut Feeding<'_>, stop: &AtomicBool) -> Result<(), CrawlError> {
        match &self.kind {
            RunnerKind::Files { folder, own } => files::walk(folder, own, feeding, stop),
            RunnerKind::Web { site, .. } => site.feed(feeding),
            RunnerKind::Sql(table) => table.feed(feeding, stop),
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
        match &self.kind {
            RunnerKind::Web { site, .. } => site.follow(page, base, item, frontier, measured),
            RunnerKind::Files { .. } | RunnerKind::Sql(_) => Vec::new(),
        }
    }
    /// Adds where a redirect leads, and returns it if it is new.
    pub(crate) fn redirect(
        &self,
        to: &str,
        item: &ItemOnWay,
        redirects: u32,
        frontier: &Frontier,
        measured: &Measured,
    ) -> Vec<FoundLink> {
        match &self.kind {
            RunnerKind::Web { site, .. } => site.redirect(to, item, redirects, frontier, measured),
            RunnerKind::Files { .. } | RunnerKind::Sql(_) => Vec::new(),
        }
    }
}

/// What adds items to a frontier, besides links.
pub(crate) struct Feeding<'f> {
    pub(crate) frontier: &'f Frontier,
    /// The source's number in the database.
    pub(crate) source: i64,
    /// What earlier crawls know; `None`: nothing.
    pub(crate) known: Option<&'f KnownItems>,
    /// What is of note, by name.
    pub(crate) notes: BTreeMap<String, u64>,
    /// Items that the crawl was done with before it went on.
    pub(crate) done_before: u64,
}

impl Feeding<'_> {
    /// Adds an item, with what is known of it. An item that this crawl is done with is none.
    pub(crate) fn add(&mut self, mut new: NewTarget) -> Result<(), CrawlError> {
        if let Some(known) = self.known
            && let Some(item) = known.find(self.source, &new.key)?
        {
            if item.crawl == known.crawl() && item.state != ItemState::Found {
                self.frontier.mark_known(&new.key);
                self.done_before += 1;
                return Ok(());
            }
            new.known = (item.state == ItemState::Indexed).then(|| Box::new(item.identity));
        }
        if self.frontier.add(new, true) == Added::Capped {
            self.note("items beyond caps.items are left out");
        }
        Ok(())
    }
    pub(crate) fn note(&mut self, note: &str) {
        *self.notes.entry(note.to_owned()).or_default() += 1;
    }
}

/// The kind of contents by the end of a name, such as `html` or `man.1`.
pub(crate) fn kind_of_name(name: &str) -> Option<ContentKind> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let file = file.strip_suffix(".gz").unwrap_or(file);
    let (_, extension) = file.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "xhtml" | "shtml" => Some(ContentKind::Html),
        "txt" | "text" | "md" | "markdown" | "rst" | "adoc" | "org" | "csv" | "log" | "xml" | "json" | "toml"
        | "yaml" | "yml" => Some(ContentKind::Text),
        "pdf" => Some(ContentKind::Pdf),
        "docx" | "xlsx" | "pptx" | "docm" | "xlsm" | "pptm" => Some(ContentKind::Office),
        "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "3pm" | "3ssl" | "1ssl" | "man" => Some(ContentKind::Man),
        _ => None,
    }
}

/// The kind of contents by their first bytes; `None`: they are nothing that has text.
pub(crate) fn kind_of_bytes(bytes: &[u8]) -> Option<ContentKind> {
    let head = &bytes[..bytes.len().min(1_024)];
    if head.starts_with(b"%PDF-") {
        return Some(ContentKind::Pdf);
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some(ContentKind::Office);
    }
    let is_wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if head.contains(&0) && !is_wide {
        return None;
    }
    let lower = head.to_ascii_lowercase();
    let has = |what: &[u8]| lower.windows(what.len()).any(|window| window == what);
    if has(b"<!doctype html") || has(b"<html") {
        return Some(ContentKind::Html);
    }
    let control = head.iter().filter(|byte| **byte < 9 || (14..32).contains(*byte) && **byte != 27).count();
    (control * 20 <= head.len()).then_some(ContentKind::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_names_and_from_bytes() {
        assert_eq!(kind_of_name("/a/b.HTML"), Some(ContentKind::Html));
        assert_eq!(kind_of_name("/usr/share/man/man1/ls.1.gz"), Some(ContentKind::Man));
        assert_eq!(kind_of_name("/a/README"), None);
        assert_eq!(kind_of_bytes(b"<!DOCTYPE HTML><p>x"), Some(ContentKind::Html));
        assert_eq!(kind_of_bytes(b"plain words\n"), Some(ContentKind::Text));
        assert_eq!(kind_of_bytes(b"\x7fELF\x02\x01\x01\0\0\0"), None);
        assert_eq!(kind_of_bytes(b"%PDF-1.7"), Some(ContentKind::Pdf));
    }
}
