//! A crawl's plan: its sources, its stations, when it commits, and the caps on what one item may cost.

mod reading;

use loadline_document::DocumentError;
use loadline_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A crawl as it is planned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlPlan {
    /// Its name.
    pub name: String,
    /// Where items come from, all at once.
    #[serde(rename = "source")]
    pub sources: Vec<SourcePlan>,
    /// The station that makes text.
    pub extract: ExtractPlan,
    /// The station that indexes.
    pub index: IndexPlan,
    /// The station that writes rows.
    pub database: DatabasePlan,
    /// When index and database become durable.
    pub commit: CommitPlan,
    /// Searches while the crawl runs.
    #[serde(skip_serializing_if = "SearchPlan::is_none")]
    pub search: SearchPlan,
    /// What one item may cost.
    pub caps: CrawlCaps,
}

fn default_name() -> String {
    "crawl".to_owned()
}

/// A source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourcePlan {
    /// Its name.
    pub name: String,
    /// A folder whose files are the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<PathBuf>,
    /// The pages of a site: where its crawl begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<String>,
    /// Rows of a SQLite database: its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<PathBuf>,
    /// A made-up site that this process serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_up: Option<MadeUpPlan>,
    /// Fetches in flight at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// From the start of one fetch to the start of the next, for each host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_delay: Option<Duration>,
    /// Fetches in flight at most, for each host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_host: Option<u32>,
    /// Connections at most; as many as slots where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Web: hosts beside that of the start whose pages belong to the source, each with its port where that is not the usual one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Web: obey robots.txt.
    #[serde(skip_serializing_if = "is_yes")]
    pub robots: bool,
    /// SQL: the table or view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// SQL: the column of whole numbers by whose ranges rows are fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// SQL: the columns whose text is indexed; all where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// A made-up site, for tests and demonstrations: the same pages from the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MadeUpPlan {
    /// Of its links, sizes and latencies.
    pub seed: u64,
    /// Its pages.
    pub pages: u64,
    /// Mean size of a page.
    pub size: Bytes,
    /// Mean latency of a page.
    pub latency: Duration,
    /// How much of the latency is random: 0 for none, 1 for an exponential law.
    pub spread: f64,
    /// Also serve what goes wrong on real sites: loops, bombs, endless bodies, lies.
    pub bad: bool,
    /// Also serve documents of every kind: PDF, Office files, Markdown and so on.
    pub documents: bool,
}

impl Default for MadeUpPlan {
    fn default() -> Self {
        Self {
            seed: 1,
            pages: 2_000,
            size: Bytes::kib(16),
            latency: Duration::from_ms(5),
            spread: 0.5,
            bad: true,
            documents: false,
        }
    }
}

/// What a source is, with what its kind needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SourceKind<'a> {
    /// Files below a folder.
    Files(&'a PathBuf),
    /// Pages, from this URL on.
    Web(&'a str),
    /// Pages that are made up.
    MadeUp(&'a MadeUpPlan),
    /// Rows of a table, by ranges of its key.
    Sql {
        /// The database's file.
        database: &'a PathBuf,
        /// The table.
        table: &'a str,
        /// The key's column.
        key: &'a str,
    },
}

/// Slots of a source that says nothing of them.
const SLOTS_FILES: u32 = 2;
const SLOTS_WEB: u32 = 8;
const SLOTS_SQL: u32 = 2;

impl SourcePlan {
    /// Files below a folder.
    #[must_use]
    pub fn of_files(name: &str, folder: PathBuf) -> Self {
        Self { files: Some(folder), ..Self::named(name) }
    }
    /// Pages from this URL on.
    #[must_use]
    pub fn of_web(name: &str, url: &str) -> Self {
        Self { web: Some(url.to_owned()), ..Self::named(name) }
    }
    /// Pages that are made up.
    #[must_use]
    pub fn of_made_up(name: &str, site: MadeUpPlan) -> Self {
        Self { made_up: Some(site), ..Self::named(name) }
    }
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            files: None,
            web: None,
            sql: None,
            made_up: None,
            slots: None,
            crawl_delay: None,
            per_host: None,
            connections: None,
            hosts: Vec::new(),
            robots: true,
            table: None,
            key: None,
            columns: Vec::new(),
        }
    }
    /// What it is.
    ///
    /// # Errors
    /// It names no kind, several, or a table without its key.
    pub fn kind(&self) -> Result<SourceKind<'_>, CrawlPlanError> {
        let of = || self.name.clone();
        match (&self.files, &self.web, &self.sql, &self.made_up) {
            (Some(folder), None, None, None) => Ok(SourceKind::Files(folder)),
            (None, Some(url), None, None) => Ok(SourceKind::Web(url)),
            (None, None, None, Some(site)) => Ok(SourceKind::MadeUp(site)),
            (None, None, Some(database), None) => match (&self.table, &self.key) {
                (Some(table), Some(key)) => Ok(SourceKind::Sql { database, table, key }),
                _ => Err(CrawlPlanError::NoTable { source_name: of() }),
            },
            _ => Err(CrawlPlanError::Kind { source_name: of() }),
        }
    }
    fn check(&self) -> Result<(), CrawlPlanError> {
        let name = &self.name;
        if name.is_empty() || name.trim() != name || name.len() > NAME_MAX || name.chars().any(char::is_control) {
            return Err(CrawlPlanError::Name { name: name.clone(), most: NAME_MAX });
        }
        self.kind()?;
        // No path begins like the address of a server.
        if self.sql.as_ref().and_then(|path| path.to_str()).is_some_and(|path| path.contains("://")) {
            return Err(CrawlPlanError::Server { source_name: name.clone() });
        }
        let bounds = [("slots", Some(self.slots())), ("per_host", self.per_host), ("connections", self.connections)];
        bounds
            .into_iter()
            .try_for_each(|(what, bound)| some(u64::from(bound.unwrap_or(1)), &format!("{what} of source {name}")))
    }
    /// Fetches in flight at most.
    #[must_use]
    pub fn slots(&self) -> u32 {
        let usual = match self.kind() {
            Ok(SourceKind::Web(_) | SourceKind::MadeUp(_)) => SLOTS_WEB,
            Ok(SourceKind::Sql { .. }) => SLOTS_SQL,
            Ok(SourceKind::Files(_)) | Err(_) => SLOTS_FILES,
        };
        self.slots.unwrap_or(usual)
    }
}

/// The queue before a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueuePlan {
    /// Items at most.
    pub items: u32,
    /// Bytes at most.
    pub bytes: Bytes,
}

impl Default for QueuePlan {
    fn default() -> Self {
        Self { items: 64, bytes: Bytes::mib(32) }
    }
}

/// The station that makes text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ExtractPlan {
    /// Workers; as many as processors where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// The queue before it.
    pub queue: QueuePlan,
}

/// The station that indexes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexPlan {
    /// Workers; half as many as processors where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// The queue before it.
    pub queue: QueuePlan,
    /// Text that all workers together gather before they write segments.
    pub memory: Bytes,
    /// Keep each item's text in the index, to show it with a search's results.
    pub store_text: bool,
    /// Segments of one size that are joined.
    pub merge_factor: u32,
    /// Merges under way or waiting, at which writing segments pauses.
    pub merges_pending: u32,
    /// Where it stands; the temporary folder where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

impl Default for IndexPlan {
    fn default() -> Self {
        Self {
            workers: None,
            queue: QueuePlan::default(),
            memory: Bytes::mib(64),
            store_text: true,
            merge_factor: 8,
            merges_pending: 4,
            folder: None,
        }
    }
}

/// The station that writes rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatabasePlan {
    /// The queue before it.
    pub queue: QueuePlan,
    /// Where its data is; the temporary folder where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Where its log is; beside the data where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// The log becomes so large before the data takes it in.
    pub log_size: Bytes,
}

impl Default for DatabasePlan {
    fn default() -> Self {
        Self {
            queue: QueuePlan { items: 256, bytes: Bytes::mib(8) },
            folder: None,
            log: None,
            log_size: Bytes::mib(64),
        }
    }
}

/// When index and database become durable together: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CommitPlan {
    /// After so many items.
    pub every_items: u64,
    /// After so much time.
    pub every: Duration,
}

impl Default for CommitPlan {
    fn default() -> Self {
        Self { every_items: 10_000, every: Duration::from_s(30) }
    }
}

/// Searches in the index while it is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SearchPlan {
    /// Searches per second; 0: none.
    pub per_second: u32,
}

impl SearchPlan {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    const fn is_none(&self) -> bool {
        self.per_second == 0
    }
}

/// What one item may cost, and how far a crawl goes. A cap that strikes is counted by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlCaps {
    /// Bytes of an item as they come.
    pub bytes: Bytes,
    /// Bytes of an item when it is decompressed.
    pub inflated: Bytes,
    /// Bytes out of bytes in, when it is decompressed.
    pub ratio: u32,
    /// Bytes of its text. The rest is cut.
    pub text: Bytes,
    /// Pages of a document.
    pub pages: u32,
    /// Entries of an archive.
    pub entries: u32,
    /// Links of one page that are followed.
    pub links: u32,
    /// Links from the start to a page.
    pub depth: u32,
    /// Redirects in a row.
    pub redirects: u32,
    /// Bytes of a URL.
    pub url: Bytes,
    /// Pages below one folder of a host.
    pub per_prefix: u32,
    /// Items of a source.
    pub items: u64,
    /// Time of one fetch.
    pub fetch_time: Duration,
    /// Memory of the process that reads PDF and Office files.
    pub extract_memory: Bytes,
    /// Processor time of one such item.
    pub extract_cpu: Duration,
    /// Wall time of one such item.
    pub extract_time: Duration,
}

impl Default for CrawlCaps {
    fn default() -> Self {
        Self {
            bytes: Bytes::mib(20),
            inflated: Bytes::mib(64),
            ratio: 100,
            text: Bytes::mib(10),
            pages: 2_000,
            entries: 10_000,
            links: 2_000,
            depth: 32,
            redirects: 5,
            url: Bytes::kib(2),
            per_prefix: 20_000,
            items: 1_000_000,
            fetch_time: Duration::from_s(60),
            extract_memory: Bytes::mib(512),
            extract_cpu: Duration::from_s(20),
            extract_time: Duration::from_s(30),
        }
    }
}

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrawlPlanError {
    /// It is no such plan.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// There is too much to crawl.
    #[error("a plan has at most {SOURCES_MAX} sources")]
    TooMany,
    /// There is nothing to crawl.
    #[error(
        "the plan has no [[source]]: name at least one, with files = \"FOLDER\", web = \"URL\", sql = \"FILE\" or made_up = {{}}"
    )]
    NoSources,
    /// Two sources have one name.
    #[error("two sources are called {0:?}: give each a name of its own")]
    Twice(String),
    /// A source is of no kind.
    #[error(
        "source {source_name:?} has to say what it is: one of files = \"FOLDER\", web = \"URL\", sql = \"FILE\" or made_up = {{}}"
    )]
    Kind {
        /// Its name.
        source_name: String,
    },
    /// Rows of which table?
    #[error(
        "source {source_name:?} needs table = \"TABLE\" and key = \"COLUMN\" beside sql: rows are fetched by ranges of that key"
    )]
    NoTable {
        /// Its name.
        source_name: String,
    },
    /// Rows of a database server.
    #[error(
        "source {source_name:?}: sql is a SQLite file; rows of a database server are not crawled. Export the table into a SQLite file first"
    )]
    Server {
        /// Its name.
        source_name: String,
    },
    /// A name that steps and reports cannot have.
    #[error("{name:?} is no name for a source: it is one line of at most {most} bytes")]
    Name {
        /// The name.
        name: String,
        /// Bytes at most.
        most: usize,
    },
    /// A number that must not be 0.
    #[error("{0} is 0: it has to be 1 at least")]
    Zero(String),
}

/// Bytes of a source's name at most: "fetch NAME" is a step's name.
const NAME_MAX: usize = 40;
/// Sources of a plan at most: each has a step of its own.
const SOURCES_MAX: usize = 24;

impl CrawlPlan {
    /// A plan with these sources and all else as usual.
    #[must_use]
    pub fn of(name: &str, sources: Vec<SourcePlan>) -> Self {
        Self {
            name: name.to_owned(),
            sources,
            extract: ExtractPlan::default(),
            index: IndexPlan::default(),
            database: DatabasePlan::default(),
            commit: CommitPlan::default(),
            search: SearchPlan::default(),
            caps: CrawlCaps::default(),
        }
    }
    /// Reads a plan (TOML); `source_name` names the text in errors.
    ///
    /// # Errors
    /// All that is wrong in it, and where.
    pub fn read(text: &str, source_name: &str) -> Result<Self, CrawlPlanError> {
        Ok(reading::parse(text, source_name)?)
    }
    /// Finds out whether it can be carried out.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self) -> Result<(), CrawlPlanError> {
        if self.sources.is_empty() {
            return Err(CrawlPlanError::NoSources);
        }
        if self.sources.len() > SOURCES_MAX {
            return Err(CrawlPlanError::TooMany);
        }
        let mut names = BTreeSet::new();
        for source in &self.sources {
            source.check()?;
            if !names.insert(&source.name) {
                return Err(CrawlPlanError::Twice(source.name.clone()));
            }
        }
        some(u64::from(self.extract.workers.unwrap_or(1)), "extract.workers")?;
        some(u64::from(self.index.workers.unwrap_or(1)), "index.workers")?;
        some(self.index.memory.get(), "index.memory")?;
        some(u64::from(self.index.merge_factor.saturating_sub(1)), "index.merge_factor less 1")?;
        some(u64::from(self.index.merges_pending), "index.merges_pending")?;
        some(self.commit.every_items, "commit.every_items")?;
        some(self.commit.every.as_ns(), "commit.every")?;
        for (queue, of) in
            [(self.extract.queue, "extract"), (self.index.queue, "index"), (self.database.queue, "database")]
        {
            some(u64::from(queue.items), &format!("{of}.queue.items"))?;
        }
        some(self.caps.items, "caps.items")
    }
    /// As it is stored with a run.
    ///
    /// # Panics
    /// Never: a plan is plain data.
    #[must_use]
    pub fn text(&self) -> String {
        toml::to_string(self).expect("a plan is plain data")
    }
}

fn some(value: u64, what: &str) -> Result<(), CrawlPlanError> {
    if value == 0 { Err(CrawlPlanError::Zero(what.to_owned())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
        name = "farm"
        [[source]]
        name = "share"
        files = "/srv/share"
        slots = 21
        [[source]]
        name = "site"
        web = "http://intranet/"
        crawl_delay = "200 ms"
        per_host = 2
        [[source]]
        name = "profiles"
        sql = "people.db"
        table = "people"
        key = "id"
        [index]
        workers = 2
        memory = "100 MiB"
        queue = { items = 10, bytes = "1 MiB" }
        [commit]
        every_items = 500
        [caps]
        bytes = "1 MiB"
    "#;

    #[test]
    fn a_plan_is_read_with_its_units_and_comes_back_as_it_was() {
        let plan = CrawlPlan::read(PLAN, "plan").unwrap();
        assert_eq!(plan.sources[0].slots(), 21);
        assert_eq!(plan.sources[1].kind(), Ok(SourceKind::Web("http://intranet/")));
        assert_eq!((plan.sources[1].slots(), plan.sources[1].crawl_delay), (8, Some(Duration::from_ms(200))));
        assert_eq!((plan.index.memory, plan.commit.every), (Bytes::mib(100), Duration::from_s(30)));
        assert_eq!(CrawlPlan::read(&plan.text(), "plan"), Ok(plan));
    }

    #[test]
    fn every_problem_is_said_at_its_place() {
        let wrong = |text: &str| CrawlPlan::read(text, "p").unwrap_err().to_string();
        assert!(wrong("name = \"x\"\nsource = []").contains("no [[source]]"));
        assert!(wrong("[[source]]\nname = \"a\"").contains("p:1:1: source: source \"a\" has to say what it is"));
        assert!(wrong("[[source]]\nname = \"a\"\nsql = \"x.db\"").contains("needs table"));
        let server = "[[source]]\nname = \"a\"\nsql = \"postgres://host/people\"\ntable = \"t\"\nkey = \"id\"";
        assert!(wrong(server).contains("rows of a database server are not crawled"));
        let both =
            wrong("[[source]]\nname = \"a\"\nfiles = \"x\"\nslots = 0\n[commit]\nevrey = \"1 s\"\nevery_items = \"2\"");
        for part in [
            "p:4:9: source.slots: 0 is out of range",
            "p:6:1: commit.evrey: is not a key of commit: did you mean every?",
            "p:7:15: commit.every_items: \"2\" is text",
        ] {
            assert!(both.contains(part), "{both}");
        }
        assert!(wrong("[index]\nmemory = \"0 B\"").contains("p:2:10: index.memory: is nothing"));
        let twice = "[[source]]\nname = \"a\"\nfiles = \"x\"\n".repeat(2);
        assert!(wrong(&twice).contains("two sources"));
    }
}
