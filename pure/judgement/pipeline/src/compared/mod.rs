//! Two crawls side by side: figures by item, what latency explains of a rate, and what spoils the comparison.

mod comparison;
mod figures;
mod table;

pub use comparison::{
    CrawlComparison, CrawlConfounder, CrawlFinding, RepositoryReading, SourceComparison, compare_crawls,
};
pub use figures::{CrawlFigures, SourceFigures};
pub use table::CrawlTableError;
