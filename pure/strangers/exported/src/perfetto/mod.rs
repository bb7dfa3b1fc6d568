//! Timelines for Perfetto (ui.perfetto.dev): requests of a trace, items of a crawl, seconds and causes of a watch, trials of a run.

mod crawl;
mod lanes;
mod message;
mod requests;
mod run;
mod timeline;

pub use requests::requests;
pub use run::run;
