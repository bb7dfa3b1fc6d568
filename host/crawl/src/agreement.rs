//! Whether index and database of a crawl hold the same items, each once.

use crate::database::CrawlDatabase;
use crate::error::CrawlError;
use crate::index::CrawlIndex;
use std::path::Path;

/// What index and database of a crawl hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlAgreement {
    /// Items that both hold.
    pub items: u64,
    /// Items that the index lacks, some of them.
    pub not_in_index: Vec<String>,
    /// Items that the database lacks, some of them.
    pub not_in_database: Vec<String>,
    /// Items that the index has more than once, some of them.
    pub doubled: Vec<String>,
}

/// Of each kind so many are named.
const NAMED_MAX: usize = 20;

impl CrawlAgreement {
    /// Looks at the index and the database in the folders of a crawl, which nobody is at work on.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn look(index: &Path, data: &Path) -> Result<Self, CrawlError> {
        let plan = loadline_pipeline::IndexPlan::default();
        let mut in_index = CrawlIndex::open(index, &plan, false)?.keys()?;
        let in_database = CrawlDatabase::known_items(data, 0)?.indexed()?;
        let mut doubled: Vec<String> =
            in_index.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0].clone()).collect();
        doubled.dedup();
        in_index.dedup();
        let lacks = |these: &[String], those: &[String]| -> Vec<String> {
            these.iter().filter(|key| those.binary_search(key).is_err()).take(NAMED_MAX).cloned().collect()
        };
        let not_in_index = lacks(&in_database, &in_index);
        let not_in_database = lacks(&in_index, &in_database);
        doubled.truncate(NAMED_MAX);
        let items = in_database.len() as u64;
        Ok(Self { items, not_in_index, not_in_database, doubled })
    }
    /// Whether they hold the same, each item once.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.not_in_index.is_empty() && self.not_in_database.is_empty() && self.doubled.is_empty()
    }
}
