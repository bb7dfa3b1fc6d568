//! Saved files taken elsewhere: read and compared, restored into a scratch folder, written out as plain files.

use crate::databases::troubles;
use crate::error::ShelterError;
use crate::pace::Pace;
use crate::repository_copy::RepositoryCopy;
use crate::restoring::{RestoreProgress, RestoreReport};
use crate::saving::SaveReport;
use crate::shelter::{DRILL, Shelter};
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::tree::TreePath;
use loadline_shelter_policy::upkeep::ReadShare;
use loadline_shelter_repository::{CheckedData, Pacing, Unpaced};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a check of the saved data found.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// The newest generation.
    pub generation: u64,
    /// Snapshots, those of others among them.
    pub snapshots: u64,
    /// Packs, all of which were read.
    pub packs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is missing or damaged, in words.
    pub findings: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl VerifyReport {
    /// Whether everything that is saved can be restored.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }
}

impl Shelter {
    /// Opens what is saved, to be read. A service may run meanwhile.
    fn saved(&self) -> Result<Box<RepositoryCopy>, ShelterError> {
        let place = self.place()?;
        let place = place.ok_or_else(|| ShelterError::Unsupported("class recreate has no saved contents".into()))?;
        let copy = Box::new(RepositoryCopy::open(&place)?);
        if copy.generation() == 0 { Err(ShelterError::NothingSaved(place.name)) } else { Ok(copy) }
    }

    /// Reads everything that is saved and compares it with its hashes. A service may run meanwhile.
    ///
    /// # Errors
    /// Nothing is saved, or the destination cannot be read at all.
    pub fn verify(&self) -> Result<VerifyReport, ShelterError> {
        let begun = Instant::now();
        let mut copy = self.saved()?;
        let (checked, mut findings) = copy.check(CheckedData::Everything, &Unpaced)?;
        // All of it may be there, and be more than any disk has: somebody made it so.
        if let Err(error) = copy.fits(copy.generation(), u64::MAX) {
            findings.push(error.to_string());
        }
        Ok(VerifyReport {
            generation: copy.generation(),
            snapshots: checked.snapshots,
            packs: checked.packs,
            bytes: checked.bytes_read.get(),
            findings,
            took: begun.elapsed(),
        })
    }

    /// Reads a share of the saved data; objects that are missing or damaged, in words.
    pub(crate) fn verify_share(&mut self, share: ReadShare, pacing: &dyn Pacing) -> Result<Vec<String>, ShelterError> {
        let ReadShare { share: number, of } = share;
        let Some(copy) = &mut self.copy else { return Ok(Vec::new()) };
        Ok(copy.check(CheckedData::Share { share: number, of }, pacing)?.1)
    }

    /// Reads a share of the disk's files although they look unchanged, and saves what changed without a trace.
    pub(crate) fn reread(&mut self, share: ReadShare, pace: &Pace) -> Result<Option<SaveReport>, ShelterError> {
        if self.copy.is_none() { Ok(None) } else { self.save_share(pace, Some(share)) }
    }

    /// What is saved, and an empty folder for it, which is made if it is missing.
    fn saved_for(&self, folder: &Path) -> Result<(Box<RepositoryCopy>, TreeRoot), ShelterError> {
        let copy = self.saved()?;
        // For the owner alone until owners and modes of what is in it are set.
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            other => other.map_err(ShelterError::io("make the folder", folder))?,
        }
        let root = TreeRoot::open(folder).map_err(ShelterError::io("open", folder))?;
        if fs::read_dir(root.real()).map_err(ShelterError::io("list", folder))?.next().is_some() {
            let text = format!("{} is not empty: name a new folder, so that nothing is replaced", folder.display());
            return Err(ShelterError::Unsupported(text));
        }
        Ok((copy, root))
    }

    /// Writes a generation as plain files into a folder that is missing or empty; the newest one, if none is named. A service may run
    /// meanwhile.
    ///
    /// # Errors
    /// Nothing is saved, the folder is not empty, or it cannot be written.
    pub fn export(&self, folder: &Path, generation: Option<u64>) -> Result<RestoreReport, ShelterError> {
        let (mut copy, root) = self.saved_for(folder)?;
        let generation = generation.unwrap_or_else(|| copy.generation());
        copy.fits(generation, root.free().map_err(ShelterError::io("ask for the space of", folder))?)?;
        copy.restore(&root, generation, &self.config().groups, &RestoreProgress::default())
    }

    /// Restores into a scratch folder, compares, and removes what it made there.
    ///
    /// # Errors
    /// Nothing is saved, or the folder is not empty.
    pub fn drill(&self, scratch: &Path) -> Result<RestoreReport, ShelterError> {
        let (mut copy, root) = self.saved_for(scratch)?;
        copy.fits(copy.generation(), root.free().map_err(ShelterError::io("ask for the space of", scratch))?)?;
        // What is read from a repository is compared with its hashes on the way.
        let mut done = copy.restore(&root, copy.generation(), &self.config().groups, &RestoreProgress::default());
        if let Ok(report) = &mut done {
            // Afterwards: a database that is opened may change its own files.
            report.damaged.extend(troubles(&self.config().groups, scratch));
        }
        for entry in fs::read_dir(root.real()).map_err(ShelterError::io("list", scratch))? {
            let entry = entry.map_err(ShelterError::io("list", scratch))?;
            if let Ok(path) = TreePath::of_bytes(entry.file_name().as_encoded_bytes()) {
                root.remove(&path).map_err(ShelterError::io("remove", entry.path()))?;
            }
        }
        let report = done?;
        if report.damaged.is_empty() {
            self.note_now(DRILL)?;
        }
        Ok(report)
    }
}
