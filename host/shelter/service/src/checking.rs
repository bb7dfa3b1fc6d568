//! Checks of saved files: read and compared, or restored into a scratch folder.

use crate::databases::troubles;
use crate::error::ShelterError;
use crate::pace::Pace;
use crate::plain_copy::PlainCopy;
use crate::repository_copy::RepositoryCopy;
use crate::restoring::{HashTrouble, Onto, RestoreProgress, RestoreReport, hash_of, is_whole, restore};
use crate::saved_copy::SavedCopy;
use crate::saving::{SaveReport, is_in_share};
use crate::shelter::{DRILL, SavedPlace, Shelter};
use crate::tree_files::{TreeRoot, stamp_of};
use loadline_shelter_policy::tree::{EntryKind, TreePath};
use loadline_shelter_policy::upkeep::ReadShare;
use loadline_shelter_repository::{CheckedData, PacedStep, Pacing, Permission, Unpaced};
use loadline_units::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a check of the saved data found.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// The generation.
    pub generation: u64,
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files whose saved contents are missing or wrong.
    pub damaged: BTreeMap<TreePath, String>,
    /// What a repository has, and what a restore from it would miss.
    pub repository: Option<RepositoryFound>,
    /// How long it took.
    pub took: Duration,
}

/// What a check of a repository found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryFound {
    /// Snapshots, those of others among them.
    pub snapshots: u64,
    /// Packs, all of which were read.
    pub packs: u64,
    /// What is missing or damaged, in words.
    pub findings: Vec<String>,
}

impl VerifyReport {
    /// Whether everything that is saved can be restored.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.repository.as_ref().is_none_or(|found| found.findings.is_empty())
    }
}

/// What a reading of files that look unchanged found.
#[derive(Debug, Default)]
pub(crate) struct Reread {
    /// Files that changed without a trace: the next save reads them.
    pub(crate) changed: Vec<TreePath>,
    /// What was saved on the way, into a repository.
    pub(crate) saved: Option<SaveReport>,
}

/// What a restore into a scratch folder found.
#[derive(Debug, Clone, Default)]
pub struct DrillReport {
    /// What was restored, and in which time.
    pub restored: RestoreReport,
    /// Files that were read again and compared.
    pub compared: u64,
    /// Entries that came out wrong.
    pub wrong: Vec<TreePath>,
}

impl Shelter {
    /// Reads everything that is saved and compares it with the manifest. A service may run meanwhile.
    ///
    /// # Errors
    /// Nothing is saved, or the destination cannot be read at all.
    pub fn verify(&self) -> Result<VerifyReport, ShelterError> {
        let place = self.place()?;
        let place =
            place.ok_or_else(|| ShelterError::Unsupported("class recreate has no contents to verify".into()))?;
        let begun = Instant::now();
        let folder = match place {
            SavedPlace::Plain(folder) => folder,
            SavedPlace::Repository(place) => {
                let mut copy = RepositoryCopy::open(&place)?;
                if copy.generation() == 0 {
                    return Err(ShelterError::NothingSaved(place.name));
                }
                let (checked, findings) = copy.check(CheckedData::Everything, &Unpaced)?;
                let (snapshots, packs) = (checked.snapshots, checked.packs);
                return Ok(VerifyReport {
                    generation: copy.generation(),
                    bytes: checked.bytes_read.get(),
                    repository: Some(RepositoryFound { snapshots, packs, findings }),
                    took: begun.elapsed(),
                    ..VerifyReport::default()
                });
            }
        };
        let mut copy = PlainCopy::open(&folder, &self.config().name)?;
        let manifest = copy.manifest().cloned().ok_or_else(|| ShelterError::NothingSaved(folder.clone()))?;
        let mut report = VerifyReport { generation: copy.generation(), ..VerifyReport::default() };
        for (path, entry) in &manifest.entries {
            let EntryKind::File { size, hash } = &entry.kind else { continue };
            report.files += 1;
            let Err(reason) = check_contents(&copy, path, *size, hash, &mut report.bytes) else { continue };
            // A save may have replaced it: what it is now counts.
            let newer = PlainCopy::open(&folder, &self.config().name)?;
            let replaced = newer.generation() != copy.generation();
            let now = newer.manifest().and_then(|manifest| manifest.entries.get(path)).map(|entry| entry.kind.clone());
            let is_well = match now {
                Some(EntryKind::File { size, hash }) if replaced => {
                    check_contents(&newer, path, size, &hash, &mut report.bytes).is_ok()
                }
                Some(_) => false,
                None => replaced,
            };
            if !is_well {
                report.damaged.insert(path.clone(), reason);
            }
            copy = newer;
        }
        report.took = begun.elapsed();
        Ok(report)
    }

    /// Reads a share of the saved data; objects that are missing or damaged, in words.
    pub(crate) fn verify_share(&mut self, share: ReadShare, pacing: &dyn Pacing) -> Result<Vec<String>, ShelterError> {
        let ReadShare { share: number, of } = share;
        match &mut self.copy {
            None => Ok(Vec::new()),
            Some(SavedCopy::Repository(copy)) => Ok(copy.check(CheckedData::Share { share: number, of }, pacing)?.1),
            Some(SavedCopy::Plain(copy)) => {
                let mut findings = Vec::new();
                let files = copy.manifest().into_iter().flat_map(|manifest| &manifest.entries);
                for (path, entry) in files.filter(|(path, _)| is_in_share(path, share)) {
                    let EntryKind::File { size, hash } = &entry.kind else { continue };
                    if pacing.before(PacedStep::ReadRepository(Bytes::new(*size))) == Permission::Stop {
                        return Err(ShelterError::Ended);
                    }
                    if let Err(reason) = check_contents(copy, path, *size, hash, &mut 0) {
                        findings.push(format!("{}: {reason}", path.as_text()));
                    }
                }
                Ok(findings)
            }
        }
    }

    /// Reads a share of the disk's files although they look unchanged. What changed without a trace is saved by this call or by the next
    /// save.
    pub(crate) fn reread(
        &mut self,
        share: ReadShare,
        pace: &Pace,
        pacing: &dyn Pacing,
    ) -> Result<Reread, ShelterError> {
        if matches!(self.copy, Some(SavedCopy::Repository(_))) {
            let saved = self.save_share(pace, Some(share))?;
            return Ok(Reread { changed: Vec::new(), saved });
        }
        let root = self.same_root()?;
        let (Some(SavedCopy::Plain(copy)), known) = (&self.copy, &mut self.known) else { return Ok(Reread::default()) };
        let mut changed = Vec::new();
        let files = copy.manifest().into_iter().flat_map(|manifest| &manifest.entries);
        for (path, entry) in files.filter(|(path, _)| is_in_share(path, share)) {
            let (EntryKind::File { size, hash }, Some(stamp)) = (&entry.kind, known.get(path)) else { continue };
            if pacing.before(PacedStep::ReadRepository(Bytes::new(*size))) == Permission::Stop {
                return Err(ShelterError::Ended);
            }
            // What cannot be read, or looks changed by now, is the business of the next save.
            let Ok(file) = root.open_file(path) else { continue };
            let found = hash_of(&file, |_| Ok(()));
            let is_same = matches!(found, Ok((found_size, found)) if found_size == *size && found == *hash);
            if !is_same && stamp_of(&file).is_ok_and(|now| now == *stamp) {
                changed.push(path.clone());
            }
        }
        known.retain(|path, _| !changed.contains(path));
        Ok(Reread { changed, saved: None })
    }

    /// Restores into a scratch folder, compares, and removes what it made there.
    ///
    /// # Errors
    /// Nothing is saved, or the folder is not empty.
    pub fn drill(&self, scratch: &Path) -> Result<DrillReport, ShelterError> {
        let place = self.place()?;
        let place =
            place.ok_or_else(|| ShelterError::Unsupported("class recreate has no contents to restore".into()))?;
        fs::create_dir_all(scratch).map_err(ShelterError::io("make the folder", scratch))?;
        let mut there = fs::read_dir(scratch).map_err(ShelterError::io("list", scratch))?;
        if there.next().is_some() {
            return Err(ShelterError::Unsupported(format!(
                "{} is not empty: name a new folder for the drill",
                scratch.display()
            )));
        }
        let root = TreeRoot::open(scratch).map_err(ShelterError::io("open", scratch))?;
        let mut done = self.drilled(&root, &place);
        if let Ok(report) = &mut done {
            // Afterwards: a database that is opened may change its own files.
            report.restored.damaged.extend(troubles(&self.config().groups, scratch));
        }
        for entry in fs::read_dir(scratch).map_err(ShelterError::io("list", scratch))? {
            let entry = entry.map_err(ShelterError::io("list", scratch))?;
            let path = TreePath::of_bytes(entry.file_name().as_encoded_bytes());
            if let Ok(path) = path {
                root.remove(&path).map_err(ShelterError::io("remove", entry.path()))?;
            }
        }
        let report = done?;
        if report.wrong.is_empty() && report.restored.damaged.is_empty() {
            self.note_now(DRILL)?;
        }
        Ok(report)
    }

    fn drilled(&self, root: &TreeRoot, place: &SavedPlace) -> Result<DrillReport, ShelterError> {
        let (groups, progress) = (&self.config().groups, RestoreProgress::default());
        let nothing = || ShelterError::NothingSaved(place.name());
        let folder = match place {
            SavedPlace::Plain(folder) => folder,
            SavedPlace::Repository(place) => {
                let mut copy = RepositoryCopy::open(place)?;
                let generation = Some(copy.generation()).filter(|generation| *generation > 0).ok_or_else(nothing)?;
                // What is read from a repository is compared with its hashes on the way.
                let restored = copy.restore(root, generation, groups, &progress)?;
                return Ok(DrillReport { compared: restored.files, restored, wrong: Vec::new() });
            }
        };
        let copy = PlainCopy::open(folder, &self.config().name)?;
        let manifest = copy.manifest().cloned().ok_or_else(nothing)?;
        let restored = restore(root, &copy, &manifest, groups, Onto::Empty, &progress)?;
        let mut report = DrillReport { restored, ..DrillReport::default() };
        for (path, entry) in &manifest.entries {
            if report.restored.damaged.contains_key(path) {
                continue;
            }
            let at = || root.path().join(path.as_text());
            let right = match &entry.kind {
                EntryKind::File { size, hash } => {
                    is_whole(root, path, *size, hash).map_err(ShelterError::io("read", at()))?
                }
                kind => {
                    root.look(path).map_err(ShelterError::io("look at", at()))?.is_some_and(|s| s.entry.kind == *kind)
                }
            };
            report.compared += 1;
            if !right {
                report.wrong.push(path.clone());
            }
        }
        Ok(report)
    }
}

/// Whether saved contents are what the manifest says.
fn check_contents(copy: &PlainCopy, path: &TreePath, size: u64, hash: &str, read: &mut u64) -> Result<(), String> {
    let file = copy.contents(copy.generation(), path).map_err(|error| error.to_string())?;
    let found = hash_of(&file, |piece| {
        *read += piece.len() as u64;
        Ok(())
    });
    match found {
        Ok((found_size, found)) if found_size == size && found == hash => Ok(()),
        Ok(_) => Err("its saved contents are not those that were saved".to_owned()),
        Err(HashTrouble::Read(error) | HashTrouble::Sink(error)) => Err(error.to_string()),
    }
}
