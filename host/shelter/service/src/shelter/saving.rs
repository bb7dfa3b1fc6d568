//! A save: of all groups, or of those that keep their promise.

use super::{Shelter, TWIN};
use crate::durable::write_durably;
use crate::error::ShelterError;
use crate::pace::Pace;
use crate::saving::{EarlierSave, Picture, SaveReport};
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::MARKER_NAME;
use loadline_shelter_policy::start::newer_destination;
use loadline_shelter_policy::upkeep::ReadShare;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

impl Shelter {
    /// Saves what changed; `None` if nothing did, or if there is no destination.
    ///
    /// # Errors
    /// The disk is another one, the destination refuses or belongs to somebody else by now, or a promised moment was not reached.
    pub(crate) fn save(&mut self, pace: &Pace) -> Result<Option<SaveReport>, ShelterError> {
        self.save_share(pace, None)
    }

    /// The open folder of the disk that was taken into use, whatever is mounted or unmounted meanwhile.
    pub(crate) fn same_root(&self) -> Result<TreeRoot, ShelterError> {
        self.same_disk()?;
        let root = TreeRoot::open(self.disk()).map_err(ShelterError::io("open", self.disk()))?;
        self.is_marked(&root)?;
        Ok(root)
    }

    /// The same; files of a share are read although they look unchanged.
    pub(crate) fn save_share(
        &mut self,
        pace: &Pace,
        reread: Option<ReadShare>,
    ) -> Result<Option<SaveReport>, ShelterError> {
        let begun = Instant::now();
        let root = self.same_root()?;
        if self.copy.is_none() {
            // It did not answer at the start.
            let seen = self.destination()?;
            let newer = self.marker.as_ref().and_then(|marker| newer_destination(marker, &seen));
            if let Some(refusal) = newer {
                return Err(ShelterError::Refused(refusal));
            }
            self.open_copy(&seen)?;
        }
        // A group whose promise was not kept has its previous generation; the others are saved.
        let mut failed = BTreeMap::new();
        loop {
            match self.save_besides(&root, &failed, reread, pace) {
                Err(ShelterError::NotOneMoment { group, reason }) if !failed.contains_key(&group) => {
                    failed.insert(group, reason);
                }
                Ok(None) if !failed.is_empty() => {
                    let (group, reason) = failed.pop_first().unwrap_or_default();
                    return Err(ShelterError::NotOneMoment { group, reason });
                }
                Ok(Some(report)) => return Ok(Some(SaveReport { failed, took: begun.elapsed(), ..report })),
                other => return other,
            }
        }
    }

    /// Saves what changed of all groups that did not fail.
    fn save_besides(
        &mut self,
        root: &TreeRoot,
        failed: &BTreeMap<String, String>,
        reread: Option<ReadShare>,
        pace: &Pace,
    ) -> Result<Option<SaveReport>, ShelterError> {
        let (Some(copy), Some(marker)) = (&mut self.copy, &self.marker) else { return Ok(None) };
        let mut marker = marker.clone();
        let claim = marker.claim.clone();
        let earlier = EarlierSave { known: &self.known, positions: &self.positions };
        let picture = Picture::take(root, &self.config, failed, &earlier, reread)?;
        let (witnessed, positions) = (picture.witnessed(), picture.positions.clone());
        let is_known = picture.is_known(&self.known) && reread.is_none();
        if (copy.generation() > 0 && is_known) || (!failed.is_empty() && picture.walked.entries.is_empty()) {
            picture.release()?;
            witnessed(&mut self.known);
            return Ok(None);
        }
        copy.catch_up(&claim)?;
        marker.begun = copy.generation() + 1;
        marker.repository = copy.id();
        let text = marker.to_text();
        for path in [Path::new(&self.config.state).join(TWIN), root.path().join(MARKER_NAME)] {
            write_durably(&path, text.as_bytes()).map_err(ShelterError::io("write", &path))?;
        }
        self.marker = Some(marker.clone());
        let saved = copy.save(&picture, &claim, &mut self.known, pace);
        if matches!(saved, Ok(None)) {
            // Nothing differed, so nothing was committed; applications wait all the same.
            picture.release()?;
        }
        drop(picture);
        let saved = saved?;
        witnessed(&mut self.known);
        self.positions.extend(positions);
        let Some(report) = saved else { return Ok(None) };
        self.same_disk()?;
        marker.generation = report.generation;
        self.mark(marker)?;
        Ok(Some(report))
    }
}
