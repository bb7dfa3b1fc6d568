//! Who follows a crawl.

use loadline_units::Duration;

/// How far a crawl is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrawlProgress {
    /// Since it began.
    pub elapsed: Duration,
    /// Items that are done.
    pub items: u64,
    /// Items that failed.
    pub failed: u64,
    /// Items that are as an earlier crawl found them.
    pub unchanged: u64,
    /// Items that are known and wait.
    pub waiting: u64,
}

/// Follows a crawl.
pub trait CrawlObserver {
    /// It is so far.
    fn progresses(&mut self, progress: &CrawlProgress) {
        let _ = progress;
    }
    /// Whether it is to end: items on their way are finished and committed.
    fn wants_an_end(&self) -> bool {
        false
    }
}

/// Shows nothing and lets it end by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentCrawl;

impl CrawlObserver for SilentCrawl {}
