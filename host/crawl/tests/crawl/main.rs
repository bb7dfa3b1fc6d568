//! Crawls as a program starts them: what they leave in index, database and store.

mod documents;
mod files;
mod kills;
mod named;
mod peers;
mod sites;
mod slowed;
