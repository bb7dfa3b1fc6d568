//! A crawl as a load on storage: content sources into a full-text index, with a SQL database behind.
//!
//! Items come from sources, pass fetch, extract, index and database, and become durable in epochs that index and database share.
//! Every worker's time, every queue and a sample of the items are measured; `loadline_pipeline` names what bound each source.

mod agreement;
mod clock;
mod crawl;
mod database;
mod emulated;
mod epochs;
mod error;
mod extract;
mod folders;
mod frames;
mod frontier;
mod index;
mod item;
mod log_volume;
mod machine;
mod made_up;
mod measured;
mod place;
mod queue;
mod search;
mod slowing;
mod source;
mod spec;
mod state;
mod threads;
mod volume_io;
mod workers;

pub use agreement::CrawlAgreement;
pub use crawl::{Crawl, CrawlMode, CrawlVolumes, of_record, resume};
pub use emulated::EmulatedVolumes;
pub use error::CrawlError;
pub use extract::{ReaderCommand, serve_documents};
pub use folders::CrawlFolders;
pub use search::CrawlSearch;
