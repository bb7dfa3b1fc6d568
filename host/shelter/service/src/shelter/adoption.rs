//! Data that is there before the shelter: on the disk, or in an old plain copy.

use super::{Shelter, TWIN};
use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::old_copy::OldCopy;
use crate::pace::Pace;
use crate::repository_copy::RepositoryCopy;
use crate::saving::SaveReport;
use crate::structure;
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::{DataClass, OwnLimits};
use loadline_shelter_policy::marker::MarkedState;
use loadline_shelter_policy::start::{
    DestinationSeen, MarkerSeen, MountSeen, Observations, PathSeen, StartRefusal, StartVerdict,
};
use std::path::Path;

/// What an adoption did.
#[derive(Debug, Clone, Default)]
pub struct Adopted {
    /// Folders of class `recreate` that are kept now.
    pub folders: u64,
    /// The first save.
    pub saved: Option<SaveReport>,
    /// Pinned generations that were let go.
    pub unpinned: Vec<u64>,
}

impl Shelter {
    /// Takes the disk as it is into the shelter: keeps folders, saves contents, and lets pinned generations go.
    ///
    /// # Errors
    /// The disk is not the configured one, or belongs to another shelter.
    pub fn adopt(&mut self) -> Result<Adopted, ShelterError> {
        self.take()?;
        let (seen, verdict) = self.look()?;
        match verdict {
            StartVerdict::Survived => {
                self.survived_as_it_is(&seen)?;
            }
            StartVerdict::Begin | StartVerdict::Refuse(StartRefusal::OtherEntries(_)) => {
                // If something is saved already, what is on the disk becomes the next generation, and the old one is pinned if much went.
                self.open_copy(&seen.destination)?;
                let marker = self.new_marker(&seen, self.generation(), MarkedState::Ready)?;
                self.mark(marker)?;
            }
            StartVerdict::Refuse(refusal) => return Err(ShelterError::Refused(refusal)),
            StartVerdict::Wait(awaited) => return Err(ShelterError::NotReady(awaited)),
            other => {
                return Err(ShelterError::Unsupported(format!(
                    "there is nothing on the disk to adopt ({other:?}): `run` prepares it"
                )));
            }
        }
        let unpinned = match &mut self.copy {
            Some(copy) => copy.unpin(),
            None => Vec::new(),
        };
        if self.config.groups.iter().any(|group| group.class == DataClass::Recreate) {
            let root = TreeRoot::open(self.disk()).map_err(ShelterError::io("open", self.disk()))?;
            self.is_marked(&root)?;
            structure::keep(&self.config, &structure::folders_on(&root, &self.config, now_ns())?)?;
        }
        let saved =
            if self.copy.is_some() { self.save(&Pace::new(self.config.limits, self.device_name()))? } else { None };
        self.release()?;
        let folders = structure::kept(&self.config)?.map_or(0, |kept| kept.entries.len() as u64);
        Ok(Adopted { folders, saved, unpinned })
    }

    fn survived_as_it_is(&mut self, seen: &Observations) -> Result<(), ShelterError> {
        let PathSeen::Mounted(MountSeen { marker: MarkerSeen::Whole(marker), .. }) = &seen.path else {
            return Err(ShelterError::DiskChanged { path: self.disk().to_path_buf() });
        };
        self.marker = Some(marker.clone());
        self.open_copy(&seen.destination)
    }

    /// Takes the newest generation of an old plain copy into a repository in which nothing was saved yet. It keeps its number and the claim
    /// of its disk: if that disk is there, the next start goes on with it, and if it was lost, the next start restores it. Neither the
    /// disk nor the copy is written to.
    ///
    /// # Errors
    /// The copy is not that of this shelter, it lacks generations that were acknowledged, or the destination has generations already.
    pub fn take_over(&mut self, copy: &Path) -> Result<Adopted, ShelterError> {
        self.take()?;
        let old = OldCopy::open(copy, &self.config.name)?;
        let place = self.place()?;
        let place = place.ok_or_else(|| ShelterError::Unsupported("the file has no [destination]".to_owned()))?;
        match self.destination()? {
            DestinationSeen::Unused { .. } => {}
            DestinationSeen::Unreachable(_) if place.can_be_made() => {}
            DestinationSeen::Unreachable(reason) => return Err(ShelterError::Unsupported(reason)),
            _ => return Err(ShelterError::InUse { path: place.name }),
        }
        if let MarkerSeen::Whole(twin) = super::read_marker(&self.state(TWIN))
            && twin.generation > old.generation()
        {
            let (disk, destination) = (twin.generation, old.generation());
            return Err(ShelterError::Refused(StartRefusal::DestinationOlder { disk, destination }));
        }
        let mut repository = RepositoryCopy::open_or_create(&place)?;
        let saved = repository.take_over(&old, &self.config.groups, &Pace::new(OwnLimits::default(), None))?;
        repository.release()?;
        Ok(Adopted { saved: Some(saved), ..Adopted::default() })
    }
}
