//! What can go wrong with a repository.

use crate::storage::{StorageError, StoredFile};
use loadline_shelter_format::{FormatError, ObjectId, Timestamp};
use std::path::PathBuf;

/// Why a repository does not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file of the repository is not what the format says.
    #[error("{file} is damaged: {source}")]
    Damaged {
        /// The file.
        file: StoredFile,
        /// What is wrong.
        source: FormatError,
    },
    /// No key opens with this password.
    #[error("no key of the repository opens with this password")]
    WrongPassword,
    /// There is no repository.
    #[error("there is no repository here")]
    NotThere,
    /// There is a repository already.
    #[error("there is a repository here already")]
    AlreadyThere,
    /// A value of a request cannot be used.
    #[error("{0} cannot be used: {1}")]
    Unusable(String, &'static str),
    /// Something on this machine failed.
    #[error("cannot {attempt} {}: {source}", path.display())]
    Machine {
        /// What was attempted.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// There is no such snapshot.
    #[error("there is no snapshot {0}")]
    NoSnapshot(ObjectId),
    /// A blob that a tree or snapshot names is in no index.
    #[error("blob {0} is missing from the index")]
    MissingBlob(ObjectId),
    /// A pack that an index names is not there.
    #[error("pack {0} is not there")]
    MissingPack(ObjectId),
    /// Somebody else may write.
    #[error("{holder} has the lease of the repository until {until}")]
    LeaseHeld {
        /// Who.
        holder: String,
        /// How long, if it is not renewed.
        until: Timestamp,
    },
    /// Somebody else has taken the lease: this writer must stop.
    #[error("the lease of the repository was taken by {holder}")]
    LeaseLost {
        /// Who.
        holder: String,
    },
    /// A file that had to be read whole was not.
    #[error("{} was not read whole: {reason}", path.display())]
    NotExact {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The pacing asked for a stop.
    #[error("stopped as asked")]
    Stopped,
}

impl RepositoryError {
    pub(crate) fn machine(attempt: &'static str, path: impl Into<PathBuf>, source: impl Into<std::io::Error>) -> Self {
        Self::Machine { attempt, path: path.into(), source: source.into() }
    }
}
