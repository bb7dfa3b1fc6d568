//! What ends a crawl early.

use loadline_pipeline::CrawlPlanError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a crawl could not begin, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The plan.
    #[error(transparent)]
    Plan(#[from] CrawlPlanError),
    /// A folder, or a file in it.
    #[error("cannot {what} {}", path.display())]
    Folder {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The index.
    #[error("cannot {what} the index")]
    Index {
        /// What was attempted.
        what: &'static str,
        /// What the library says.
        source: Box<tantivy::TantivyError>,
    },
    /// The database.
    #[error("cannot {what} the database of the crawl")]
    Database {
        /// What was attempted.
        what: &'static str,
        /// What the library says.
        source: rusqlite::Error,
    },
    /// Index and database are of different crawls.
    #[error(
        "index and database do not belong together: the index is at epoch {index}, the database at {database}. Begin anew, with an empty index and database"
    )]
    Apart {
        /// Of the index.
        index: u64,
        /// Of the database.
        database: u64,
    },
    /// A source that cannot be begun.
    #[error("source {name}: {why}")]
    Source {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// The log's volume.
    #[error(
        "cannot put the database's log in {} and its data in {}: that takes a bind mount, which root may make. Leave the log beside the data, \
         or run as root", log.display(), data.display()
    )]
    LogVolume {
        /// The folder of the data.
        data: PathBuf,
        /// The folder of the log.
        log: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder that a volume's name stands for is not known.
    #[error("{0:?} is no volume of a crawl: there are index, data, log and temporary")]
    Volume(String),
    /// A part of the crawl ended by a bug, or was killed.
    #[error("a part of the crawl ended early: {0}")]
    Ended(String),
    /// The run's store, or an emulated disk.
    #[error(transparent)]
    Run(#[from] loadline_runs::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] loadline_store::StoreError),
    /// What bound the sources cannot be found.
    #[error("what bound the sources cannot be found")]
    Attribution(#[from] loadline_pipeline::ReplayError),
    /// Emulated disks.
    #[error("the emulated disks cannot be attached")]
    Attach {
        /// Why.
        source: Box<loadline_emulator::AttachError>,
    },
    /// A change that cannot be tried.
    #[error(transparent)]
    ChangeText(#[from] loadline_pipeline::ChangeTextError),
    /// A change that cannot be replayed.
    #[error(transparent)]
    WhatIf(#[from] loadline_pipeline::WhatIfError),
}

impl From<CrawlError> for loadline_runs::Error {
    fn from(error: CrawlError) -> Self {
        match error {
            CrawlError::Run(error) => error,
            CrawlError::Store(error) => error.into(),
            error => Self::Application(Box::new(error)),
        }
    }
}

impl CrawlError {
    pub(crate) fn folder<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + 'p {
        move |source| Self::Folder { what, path: path.to_owned(), source }
    }
    pub(crate) fn index(what: &'static str, source: tantivy::TantivyError) -> Self {
        Self::Index { what, source: Box::new(source) }
    }
    pub(crate) fn database(what: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| Self::Database { what, source }
    }
}
