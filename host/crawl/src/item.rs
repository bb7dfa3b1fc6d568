//! Items on their way through a crawl: what is to be fetched, what came, the text of it, its row.

use loadline_record::ItemRecord;
use std::borrow::Cow;

/// Something that is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CrawlTarget {
    /// Its source, by its place.
    pub(crate) source: u32,
    /// The path, URL or key range.
    pub(crate) key: String,
    /// Its host, by a number within the source.
    pub(crate) host: u32,
    /// Links from the start.
    pub(crate) depth: u32,
    /// Its number within the source.
    pub(crate) number: u32,
    /// The item that led to it.
    pub(crate) found_in: Option<u32>,
    /// Redirects in a row that led to it.
    pub(crate) redirects: u32,
    /// How often its host put it off.
    pub(crate) tries: u32,
    /// When it could have been fetched, ns since the crawl began.
    pub(crate) eligible_ns: u64,
    /// What is known of it from an earlier crawl.
    pub(crate) known: Option<Box<Identity>>,
}

/// By what an item is known again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Bytes.
    pub(crate) size: u64,
    /// Last change of the contents, ns since 1970.
    pub(crate) mtime_ns: i64,
    /// Last change of the inode, ns since 1970.
    pub(crate) ctime_ns: i64,
    /// Its device.
    pub(crate) device: u64,
    /// Its inode.
    pub(crate) inode: u64,
    /// The server's tag.
    pub(crate) etag: Option<String>,
    /// The server's time of the last change, as it was sent.
    pub(crate) last_modified: Option<String>,
    /// BLAKE3 of the contents.
    pub(crate) hash: Option<[u8; 32]>,
    /// The epoch since which it stands in the index.
    pub(crate) epoch: u64,
}

/// What the contents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// HTML.
    Html,
    /// Plain text, Markdown, source code.
    Text,
    /// A man page in roff.
    Man,
    /// Portable Document Format.
    Pdf,
    /// Office Open XML: a document, a sheet or slides.
    Office,
}

/// An item as its source gave it.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) item: ItemOnWay,
    pub(crate) body: Vec<u8>,
    /// What the source says that it is.
    pub(crate) kind: Option<ContentKind>,
    /// The charset that the source declares.
    pub(crate) charset: Option<String>,
    /// Links are looked for, relative to this.
    pub(crate) base: Option<String>,
    /// The body is compressed by gzip.
    pub(crate) is_compressed: bool,
    /// BLAKE3 of the contents as an earlier crawl found them.
    pub(crate) hash_before: Option<[u8; 32]>,
}

/// What goes with an item from station to station.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemOnWay {
    pub(crate) record: ItemRecord,
    pub(crate) key: String,
    pub(crate) depth: u32,
    pub(crate) identity: Identity,
    /// The epoch since which it stands in the index, as an earlier crawl found it.
    pub(crate) replaces: Option<u64>,
    /// Caps that struck, and what else is of note.
    pub(crate) notes: Vec<Cow<'static, str>>,
}

/// Text made of an item.
#[derive(Debug)]
pub(crate) struct Extracted {
    pub(crate) item: ItemOnWay,
    pub(crate) title: String,
    pub(crate) text: String,
    /// New links that were found in it.
    pub(crate) links: Vec<FoundLink>,
}

/// A link that the crawl did not know yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundLink {
    pub(crate) key: String,
    pub(crate) depth: u32,
}

/// What the database writes.
#[derive(Debug)]
pub(crate) enum Row {
    /// An item that is in the index.
    Indexed {
        /// The item.
        item: ItemOnWay,
        /// Its title.
        title: String,
        /// Links found in it.
        links: Vec<FoundLink>,
    },
    /// An item that is as it was.
    Unchanged {
        /// The item.
        item: ItemOnWay,
        /// Links found in it.
        links: Vec<FoundLink>,
    },
    /// An item that failed.
    Failed {
        /// The item.
        item: ItemOnWay,
        /// Why.
        reason: Cow<'static, str>,
    },
    /// An item that only leads to another: a redirect.
    LedOn {
        /// The item.
        item: ItemOnWay,
        /// Where it leads.
        links: Vec<FoundLink>,
    },
    /// Everything before this belongs to an epoch that ends.
    EpochEnds {
        /// Nothing comes after it.
        is_last: bool,
    },
}

/// Why an item was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemFailure {
    /// In a few words, the same for all of a kind.
    pub(crate) reason: Cow<'static, str>,
    /// The host asked to be left alone for so long, ns.
    pub(crate) retry_after_ns: u64,
}

impl ItemFailure {
    /// For this reason.
    pub(crate) fn of(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into(), retry_after_ns: 0 }
    }
}

/// A failure to read, in words that have no name of a file in them.
pub(crate) fn io_reason(doing: &str, error: &std::io::Error) -> Cow<'static, str> {
    use std::io::ErrorKind;
    let why = match error.kind() {
        ErrorKind::NotFound => "it is gone".to_owned(),
        ErrorKind::PermissionDenied => "no permission".to_owned(),
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "connection reset".to_owned(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "no answer in time".to_owned(),
        ErrorKind::UnexpectedEof => "it ended early".to_owned(),
        kind => kind.to_string(),
    };
    format!("{doing}: {why}").into()
}
