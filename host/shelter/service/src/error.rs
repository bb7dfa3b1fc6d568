//! What can go wrong, with what was attempted on what.

use loadline_document::DocumentError;
use loadline_shelter_policy::manifest::ManifestError;
use loadline_shelter_policy::notice::NoticeError;
use loadline_shelter_policy::start::{Awaited, StartRefusal};
use loadline_shelter_repository::RepositoryError;
use std::io;
use std::path::{Path, PathBuf};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum ShelterError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] DocumentError),
    /// A file or folder refuses.
    #[error("cannot {attempt} {path}: {source}")]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The start's verdict.
    #[error("nothing was done: {0}")]
    Refused(StartRefusal),
    /// What the start waits for did not come.
    #[error("nothing was done: {0}")]
    NotReady(Awaited),
    /// The disk is another one than at the start.
    #[error("the disk at {path} is not the one that was taken into use: nothing is saved")]
    DiskChanged {
        /// Where it is mounted.
        path: PathBuf,
    },
    /// Another machine saves to the same place.
    #[error("another shelter writes to {path} (generation {generation}): this one stops writing")]
    Fenced {
        /// The destination.
        path: PathBuf,
        /// What the other saved.
        generation: u64,
    },
    /// What is saved there is another shelter's.
    #[error("{path} belongs to shelter {name}: nothing was done")]
    OtherShelter {
        /// The folder or the repository.
        path: PathBuf,
        /// Its name.
        name: String,
    },
    /// Something is saved there already.
    #[error("{path} is in use already: an old copy is taken over into a new place")]
    InUse {
        /// The destination.
        path: PathBuf,
    },
    /// There is no such generation.
    #[error("generation {wanted} is not saved: choose one of {present}")]
    NoGeneration {
        /// It was asked for.
        wanted: u64,
        /// Those that are there.
        present: String,
    },
    /// A repository fails.
    #[error("the repository at {path}: {source}")]
    Repository {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        source: Box<RepositoryError>,
    },
    /// A manifest cannot be read.
    #[error("{path}: {source}")]
    Manifest {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: ManifestError,
    },
    /// A record of the shelter itself is damaged.
    #[error("{path} is damaged: {reason}")]
    Record {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A program failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Its name.
        program: String,
        /// What it said.
        reason: String,
    },
    /// Files were to be of one moment, and are not.
    #[error("group {group} is not saved: {reason}")]
    NotOneMoment {
        /// The group.
        group: String,
        /// Why not.
        reason: String,
    },
    /// Parts could not be restored, and the configuration holds services back then.
    #[error("{} files could not be restored, and the configuration holds services back: {}", .0.len(), few(.0))]
    Damaged(Vec<String>),
    /// This build or machine cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// Saved data is needed, and there is none.
    #[error("nothing is saved yet at {0}")]
    NothingSaved(PathBuf),
    /// An earlier generation is wanted, and the disk kept its contents.
    #[error("nothing was done: the disk kept its contents, which generation {0} would replace")]
    KeptContents(u64),
    /// A notice cannot be heard.
    #[error("cannot hear notices from {address}: {source}")]
    Notice {
        /// The metadata service.
        address: String,
        /// Why not.
        source: NoticeError,
    },
    /// It was asked to end.
    #[error("it was ended before it was done")]
    Ended,
}

impl ShelterError {
    /// Wraps an error of the system with what was attempted on what.
    pub(crate) fn io(attempt: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { attempt, path, source }
    }
}

/// The first of a list that may be long.
fn few(all: &[String]) -> String {
    let mut text = all.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > 3 {
        text.push_str(", ...");
    }
    text
}
