//! The two destinations behind one face: a plain copy, and a repository.

use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::pace::Pace;
use crate::plain_copy::PlainCopy;
use crate::repository_copy::RepositoryCopy;
use crate::restoring::{Onto, RestoreProgress, RestoreReport, restore};
use crate::saving::{Picture, SaveReport};
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::changes::TreeStamps;
use loadline_shelter_policy::config::Group;

/// Where generations are.
pub(crate) enum SavedCopy {
    /// In a folder, usable in place.
    Plain(Box<PlainCopy>),
    /// In restic's format.
    Repository(Box<RepositoryCopy>),
}

impl SavedCopy {
    pub(crate) fn generation(&self) -> u64 {
        match self {
            Self::Plain(copy) => copy.generation(),
            Self::Repository(copy) => copy.generation(),
        }
    }

    pub(crate) fn pinned(&self) -> Vec<u64> {
        match self {
            Self::Plain(copy) => copy.pinned(),
            Self::Repository(copy) => copy.pinned(),
        }
    }

    /// Bytes that a restore writes.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::Plain(copy) => copy.manifest().map(|manifest| manifest.bytes().get()),
            Self::Repository(copy) => copy.bytes(),
        }
    }

    /// Generations that can be restored, oldest first.
    pub(crate) fn present(&self) -> Vec<u64> {
        match self {
            Self::Plain(copy) => {
                let mut all = copy.pinned();
                all.extend(Some(copy.generation()).filter(|newest| *newest > 0 && !all.contains(newest)));
                all
            }
            Self::Repository(copy) => copy.present(),
        }
    }

    /// Saves a picture as the next generation; `None` if the destination finds that nothing differs.
    pub(crate) fn save(
        &mut self,
        picture: &Picture<'_>,
        claim: &str,
        known: &mut TreeStamps,
        pace: &Pace,
    ) -> Result<Option<SaveReport>, ShelterError> {
        match self {
            Self::Plain(copy) => copy.save(picture, claim, known, now_ns(), pace).map(Some),
            Self::Repository(copy) => copy.save(picture, claim, known, pace),
        }
    }

    /// Restores a generation below a folder.
    pub(crate) fn restore(
        &mut self,
        root: &TreeRoot,
        generation: u64,
        groups: &[Group],
        onto: Onto,
        progress: &RestoreProgress,
    ) -> Result<RestoreReport, ShelterError> {
        match self {
            Self::Plain(copy) => {
                let manifest = copy.manifest_of(generation)?;
                restore(root, copy, &manifest, groups, onto, progress)
            }
            Self::Repository(copy) => copy.restore(root, generation, groups, progress),
        }
    }

    /// The deletions were meant: pinned generations go, in a repository with the next save.
    pub(crate) fn unpin(&mut self, claim: &str) -> Result<Vec<u64>, ShelterError> {
        match self {
            Self::Plain(copy) => copy.unpin(claim),
            Self::Repository(copy) => Ok(copy.unpin()),
        }
    }
}
