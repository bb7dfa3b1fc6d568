//! A crawl as a load on storage: content sources into a full-text index, with a SQL database behind.
//!
//! Items come from sources, pass fetch, extract, index and database, and become durable in epochs that index and database share.
//! Every worker's time, every queue and a sample of the items are measured; `loadline_pipeline` names what bound each source.

mod agreement;
mod clock;
mod crawl;
mod crawling;
mod database;
mod emulated;
mod epochs;
mod error;
mod extract;
mod folders;
mod frontier;
mod imported;
mod index;
mod item;
mod log_volume;
mod machine;
mod made_up;
mod measured;
mod observer;
mod queue;
mod run;
mod search;
mod slowing;
mod source;
mod spec;
mod volume_io;
mod workers;

pub use agreement::CrawlAgreement;
pub use emulated::EmulatedVolumes;
pub use error::CrawlError;
pub use extract::{ReaderCommand, serve_documents};
pub use folders::CrawlFolders;
pub use imported::{crawl_figures, import_crawls, is_crawl_table};
pub use observer::{CrawlObserver, CrawlProgress, SilentCrawl};
pub use run::{Crawl, CrawlMode, CrawlOutcome, CrawlVolumes, of_record, pipeline_of, resume_crawl};
pub use search::CrawlSearch;
