//! Crawls as a program starts them: what they leave in index, database and store.

mod files;
mod kills;
mod sites;
