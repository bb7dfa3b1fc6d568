//! Where the volumes of a crawl are.

use std::path::PathBuf;

/// Folders of a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlFolders {
    /// Of the index.
    pub index: PathBuf,
    /// Of the database's data.
    pub data: PathBuf,
    /// Of the database's log; `None`: beside the data.
    pub log: Option<PathBuf>,
    /// Of all that is not kept.
    pub temporary: PathBuf,
}
