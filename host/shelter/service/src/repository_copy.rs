//! The destination of layout `repository`: generations as snapshots in restic's format, encrypted.
//!
//! Tags of a snapshot say whose it is and which generation: `shelter=NAME`, `generation=N`, `claim=ID`, `bytes=N`, `files=N`,
//! `pinned=N`. restic reads, checks and restores it.

use crate::databases::walk;
use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::old_copy::{OldCopy, OldFiles};
use crate::pace::Pace;
use crate::picture_tree::{entry_of, pictured_tree, tree_of};
use crate::repository_place::RepositoryPlace;
use crate::restoring::{RestoreProgress, RestoreReport};
use crate::saving::{Picture, SaveReport, group_of, not_one_moment};
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::changes::{MassDeletion, TreeStamps};
use loadline_shelter_policy::config::{DataClass, Group, KeptGenerations};
use loadline_shelter_policy::start::{Awaited, DestinationSeen, StartRefusal};
use loadline_shelter_policy::tree::{EntryKind, TreePath};
use loadline_shelter_policy::upkeep::ReadShare;
use loadline_shelter_repository::{
    CheckFinding, Checked, CheckedData, Extras, FileKind, KeepRules, Lease, LeaseTaking, LinkedFiles, ListedFile,
    ObjectId, PacedStep, Pacing, Permission, PicturedEntry, PicturedRoot, Repository, RepositoryError,
    RepositoryStorage, RereadShare, RestoreRequest, SaveRequest, ScryptCost, StoredSnapshot, Timestamp,
};
use loadline_units::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Earlier generations that a lost file may come from.
const FALL_BACK_MAX: usize = 8;
/// How long others leave the lease alone, in seconds. It is renewed when half of that is left.
const LEASE_S: i64 = 3600;
/// How often a check begins again because a prune ran meanwhile.
const CHECKS_MAX: usize = 3;

/// A repository that is open.
pub(crate) struct RepositoryCopy {
    repository: Repository,
    /// Its disk is where it was mounted when it was saved: paths in snapshots are absolute.
    place: RepositoryPlace,
    /// Snapshots of this shelter, oldest first.
    snapshots: Vec<StoredSnapshot>,
    /// Taken by the first save of this process.
    lease: Option<Lease>,
    /// The next save confirms deletions.
    drops_pins: bool,
}

/// Our limits, in the repository's words.
struct PaceOf<'a> {
    pace: Option<&'a Pace>,
    progress: Option<&'a RestoreProgress>,
    /// What is saved, and why its applications did not go on.
    picture: Option<(&'a Picture<'a>, &'a Mutex<Option<ShelterError>>)>,
}

impl Pacing for PaceOf<'_> {
    fn before(&self, step: PacedStep) -> Permission {
        if let (Some((picture, failure)), PacedStep::Commit) = (self.picture, step)
            && let Err(error) = picture.release()
        {
            *failure.lock() = Some(error);
            return Permission::Stop;
        }
        let goes_on = match (self.pace, step) {
            (Some(pace), PacedStep::ReadSource(bytes)) => {
                let goes_on = pace.before(bytes.get());
                pace.done(bytes.get());
                goes_on
            }
            (Some(pace), _) => !pace.ends(),
            (None, _) => true,
        };
        if let (Some(progress), PacedStep::WriteTarget(bytes)) = (self.progress, step) {
            progress.bytes.fetch_add(bytes.get(), Ordering::Relaxed);
        }
        let is_ended = self.progress.is_some_and(|progress| progress.ends.load(Ordering::Relaxed));
        if goes_on && !is_ended { Permission::Granted } else { Permission::Stop }
    }
}

/// What an upkeep of a repository did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Upkeep {
    /// Generations that no rule kept.
    pub(crate) forgotten: u64,
    /// How much less there is.
    pub(crate) bytes_freed: u64,
    /// How much is left to be written anew by the next one.
    pub(crate) bytes_left: u64,
}

impl RepositoryCopy {
    /// What is there; nothing is written. A repository that opens is handed on, since opening takes a while.
    pub(crate) fn look(place: &RepositoryPlace) -> (DestinationSeen, Option<Self>) {
        let unreachable = |reason: String| (DestinationSeen::Unreachable(reason), None);
        match place.has_config() {
            Ok(true) => {}
            Ok(false) => return place.without_repository().map_or_else(unreachable, |seen| (seen, None)),
            Err(error) => return unreachable(format!("{}: {error}", place.name.display())),
        }
        let opened = Self::open(place).and_then(|copy| Ok((copy.other_holder()?, copy)));
        match opened {
            Ok((Some(name), _)) => (DestinationSeen::Foreign(name), None),
            Ok((None, copy)) => (copy.seen(), Some(copy)),
            Err(error) => unreachable(error.to_string()),
        }
    }

    /// What an open repository has.
    pub(crate) fn seen(&self) -> DestinationSeen {
        match self.snapshots.last() {
            None => DestinationSeen::Unused { repository: self.id() },
            Some(newest) => DestinationSeen::Holds {
                generation: newest.file.number("generation"),
                claim: newest.file.tag("claim").unwrap_or_default().to_owned(),
                room: Bytes::new(newest.file.number("room")),
                repository: self.id(),
            },
        }
    }

    /// Identity of the repository.
    pub(crate) fn id(&self) -> String {
        self.repository.id().to_string()
    }

    /// Opens a repository that is there.
    pub(crate) fn open(place: &RepositoryPlace) -> Result<Self, ShelterError> {
        let repository = Repository::open(Arc::clone(&place.storage), &place.passphrase()?);
        let repository = repository.map_err(wrap(&place.name))?;
        let (snapshots, lease) = (Vec::new(), None);
        let mut copy = Self { repository, place: place.clone(), snapshots, lease, drops_pins: false };
        copy.refresh()?;
        Ok(copy)
    }

    /// Opens a repository, or makes one in a place where nothing was ever saved.
    pub(crate) fn open_or_create(place: &RepositoryPlace) -> Result<Self, ShelterError> {
        if !place.has_config().map_err(wrap(&place.name))? {
            place.prepare().map_err(wrap(&place.name))?;
            let passphrase = place.make_passphrase()?;
            let storage = Arc::clone(&place.storage);
            Repository::create(storage, &passphrase, ScryptCost::DEFAULT, timestamp(now_ns()))
                .map_err(wrap(&place.name))?;
        }
        Self::open(place)
    }

    /// Looks at the snapshots again.
    fn refresh(&mut self) -> Result<(), ShelterError> {
        let all = self.repository.snapshots_besides(&self.snapshots).map_err(wrap(&self.place.name))?;
        self.snapshots = all.into_iter().filter(|one| one.file.tag("shelter") == Some(&*self.place.source)).collect();
        Ok(())
    }

    /// Another shelter whose lease still lives: its name. Our own earlier lives are no others.
    fn other_holder(&self) -> Result<Option<String>, ShelterError> {
        let lease = self.repository.lease().map_err(wrap(&self.place.name))?;
        let lease = lease.filter(|lease| lease.until > timestamp(now_ns()));
        let name = lease.and_then(|lease| lease.holder.split(' ').next().map(str::to_owned));
        Ok(name.filter(|name| *name != self.place.source))
    }

    /// Gives the right to write back: nobody waits for its end.
    pub(crate) fn release(&mut self) -> Result<(), ShelterError> {
        let Some(lease) = self.lease.take() else { return Ok(()) };
        self.repository.release_lease(lease, timestamp(now_ns())).map_err(wrap(&self.place.name))
    }

    /// The right to write. It is taken once by each process: an earlier writer of this shelter stops at its next save.
    fn hold_lease(&mut self, claim: &str) -> Result<Lease, ShelterError> {
        let now = timestamp(now_ns());
        let until = Timestamp::new(now.seconds + LEASE_S, 0);
        let held = match self.lease.take() {
            Some(lease) if lease.until().seconds - now.seconds > LEASE_S / 2 => Ok(lease),
            Some(mut lease) => self.repository.renew_lease(&mut lease, now, until).map(|()| lease),
            None => {
                if let Some(name) = self.other_holder()? {
                    return Err(ShelterError::OtherShelter { path: self.place.name.clone(), name });
                }
                let holder = format!("{} {claim}", self.place.source);
                self.repository.take_lease(&holder, now, until, LeaseTaking::Forced)
            }
        };
        let lease = held.map_err(|error| self.failure(error))?;
        self.lease = Some(lease.clone());
        Ok(lease)
    }

    /// A lease that is gone means that somebody else writes.
    fn failure(&mut self, error: RepositoryError) -> ShelterError {
        if matches!(error, RepositoryError::LeaseLost { .. } | RepositoryError::LeaseHeld { .. }) {
            let _ = self.refresh();
            return ShelterError::Fenced { path: self.place.name.clone(), generation: self.generation() };
        }
        wrap(&self.place.name)(error)
    }

    /// Generations that can be restored, oldest first.
    pub(crate) fn present(&self) -> Vec<u64> {
        self.snapshots.iter().map(|one| one.file.number("generation")).collect()
    }

    /// Removes generations that no rule keeps. The newest one and those that are pinned stay in any case. Snapshots of others are
    /// left alone.
    pub(crate) fn forget(&mut self, keep: KeptGenerations, claim: &str) -> Result<u64, ShelterError> {
        let lease = self.hold_lease(claim)?;
        self.refresh()?;
        let KeptGenerations { last, minutely, hourly, daily } = keep;
        let rules = KeepRules { last: last.max(1), minutely, hourly, daily };
        let times: Vec<Timestamp> = self.snapshots.iter().rev().map(|one| one.file.time).collect();
        let pinned = self.pinned();
        let stays = |one: &StoredSnapshot| {
            pinned.contains(&one.file.number("generation")) || one.file.tags.iter().any(|tag| tag == "keep")
        };
        let forgotten: Vec<ObjectId> = self
            .snapshots
            .iter()
            .rev()
            .zip(rules.keep(&times))
            .filter(|(one, keep)| !keep && !stays(one))
            .map(|(one, _)| one.id)
            .collect();
        if !forgotten.is_empty() {
            self.repository.remove_snapshots(&forgotten, &lease).map_err(|error| self.failure(error))?;
            self.refresh()?;
        }
        Ok(forgotten.len() as u64)
    }

    /// Removes what no generation needs, and writes packs anew up to so many bytes.
    pub(crate) fn prune(&mut self, claim: &str, rewritten: Bytes, pacing: &dyn Pacing) -> Result<Upkeep, ShelterError> {
        let lease = self.hold_lease(claim)?;
        let pruned = self.repository.prune_some(&lease, rewritten, pacing).map_err(|error| self.failure(error))?;
        Ok(Upkeep { forgotten: 0, bytes_freed: pruned.bytes_freed, bytes_left: pruned.bytes_left })
    }

    /// Reads everything and names what a restore would miss, by generations. Somebody may save meanwhile.
    pub(crate) fn check(
        &mut self,
        data: CheckedData,
        pacing: &dyn Pacing,
    ) -> Result<(Checked, Vec<String>), ShelterError> {
        let name = self.place.name.clone();
        let listed = |storage: &dyn RepositoryStorage| -> Result<Vec<ListedFile>, ShelterError> {
            let mut all = storage.list(FileKind::Index).map_err(RepositoryError::from).map_err(wrap(&name))?;
            all.extend(storage.list(FileKind::Snapshot).map_err(RepositoryError::from).map_err(wrap(&name))?);
            Ok(all)
        };
        for _ in 0..CHECKS_MAX {
            let before = listed(&*self.place.storage)?;
            let checked = self.repository.check(data, pacing).map_err(wrap(&name))?;
            let after = listed(&*self.place.storage)?;
            // What was being read was forgotten or pruned: what is there now counts.
            let is_outdated = before.iter().any(|one| !after.contains(one));
            if checked.findings.is_empty() || !is_outdated {
                self.refresh()?;
                let findings = checked.findings.iter().map(|finding| self.in_words(finding)).collect();
                return Ok((checked, findings));
            }
        }
        Err(ShelterError::Unsupported("the repository was pruned whenever it was read: try again later".to_owned()))
    }

    fn in_words(&self, finding: &CheckFinding) -> String {
        match finding {
            CheckFinding::File { file, reason } => format!("{file}: {reason}"),
            CheckFinding::Snapshot { snapshot, blobs, .. } => {
                let found = self.snapshots.iter().find(|one| one.id == *snapshot);
                let whose = found.map_or_else(
                    || format!("snapshot {snapshot}"),
                    |one| format!("generation {}", one.file.number("generation")),
                );
                format!("{whose} lacks {blobs} pieces")
            }
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.snapshots.last().map_or(0, |newest| newest.file.number("generation"))
    }

    /// Generations that mass deletions pinned: `pinned` tags of the newest.
    pub(crate) fn pinned(&self) -> Vec<u64> {
        let newest = self.snapshots.last();
        let tags = newest.into_iter().flat_map(|newest| newest.file.tags.iter());
        tags.filter_map(|tag| tag.strip_prefix("pinned=")?.parse().ok()).collect()
    }

    /// The next save has no pins any more.
    pub(crate) fn unpin(&mut self) -> Vec<u64> {
        self.drops_pins = true;
        self.pinned()
    }

    pub(crate) fn bytes(&self) -> Option<u64> {
        self.snapshots.last().map(|newest| newest.file.number("bytes"))
    }

    fn snapshot_of(&self, generation: u64) -> Result<&StoredSnapshot, ShelterError> {
        let found = self.snapshots.iter().rev().find(|one| one.file.number("generation") == generation);
        found.ok_or_else(|| {
            let present: Vec<String> = self.present().iter().map(u64::to_string).collect();
            ShelterError::NoGeneration { wanted: generation, present: present.join(", ") }
        })
    }

    /// What a restore of the newest generation takes of the disk, if that is known.
    pub(crate) fn room(&self) -> Option<u64> {
        self.snapshots.last().map(|newest| newest.file.number("room")).filter(|room| *room > 0)
    }

    /// Sees that a generation fits where there is so much room.
    pub(crate) fn fits(&self, generation: u64, free: u64) -> Result<(), ShelterError> {
        let snapshot = self.snapshot_of(generation)?;
        let size = self.repository.restore_size(snapshot.id).map_err(wrap(&self.place.name))?;
        // Holes within a chunk count only in what was seen on the disk.
        let seen = Some(snapshot.file.number("room")).filter(|room| *room > 0);
        let wanted = seen.map_or(size.room, |seen| size.room.min(Bytes::new(seen)));
        let room = Bytes::new(free);
        if wanted > room { Err(ShelterError::Refused(StartRefusal::TooSmall { wanted, room })) } else { Ok(()) }
    }

    /// Sees that a generation can be restored.
    pub(crate) fn is_present(&self, generation: u64) -> Result<(), ShelterError> {
        self.snapshot_of(generation).map(drop)
    }

    /// Looks at what is there before a save begins, so that the generation it will have is known: the snapshot of an earlier save may be
    /// there although its write was not answered.
    ///
    /// # Errors
    /// What was saved is not there any more, or another one than this disk saved meanwhile.
    pub(crate) fn catch_up(&mut self, claim: &str) -> Result<(), ShelterError> {
        let before = self.snapshots.last().map(|newest| newest.id);
        let (disk, earlier) = (self.generation(), self.snapshots.clone());
        self.refresh()?;
        if disk == 0 && !self.place.has_config().map_err(wrap(&self.place.name))? {
            let reason = format!("{}: the repository is not there", self.place.name.display());
            return Err(ShelterError::NotReady(Awaited::Destination(reason)));
        }
        if self.generation() < disk {
            // Its disk is not mounted any more, or lost what it had.
            let destination = self.generation();
            self.snapshots = earlier;
            return Err(ShelterError::Refused(StartRefusal::DestinationOlder { disk, destination }));
        }
        let is_ours = self.snapshots.last().is_some_and(|newest| newest.file.tag("claim") == Some(claim));
        if self.snapshots.last().map(|newest| newest.id) != before && !is_ours {
            return Err(ShelterError::Fenced { path: self.place.name.clone(), generation: self.generation() });
        }
        Ok(())
    }

    /// Saves a picture as the next generation; `None` if nothing differs.
    pub(crate) fn save(
        &mut self,
        picture: &Picture<'_>,
        claim: &str,
        known: &mut TreeStamps,
        pace: &Pace,
    ) -> Result<Option<SaveReport>, ShelterError> {
        let lease = self.hold_lease(claim)?;
        picture.settle();
        let generation = self.generation() + 1;
        let totals = totals(picture);
        let deletion = self.deletion(picture, totals);
        let keeps_pins = !std::mem::take(&mut self.drops_pins);
        let mut pinned = if keeps_pins { self.pinned() } else { Vec::new() };
        if deletion.is_some() && keeps_pins {
            pinned.push(generation - 1);
        }
        let roots: Vec<PathBuf> = picture
            .groups
            .iter()
            .filter(|group| group.class != DataClass::Recreate)
            .filter(|group| !picture.carried.iter().any(|carried| carried.name == group.name))
            .flat_map(|group| &group.paths)
            .filter(|path| picture.has(path))
            .map(|path| self.place.disk.join(path))
            .collect();
        let of = |group: &Group| group.paths.iter().map(|path| self.place.disk.join(path)).collect::<Vec<PathBuf>>();
        let exact = picture.groups.iter().filter(|group| group.is_of_one_moment()).flat_map(of).collect();
        let has = |path: &PathBuf| {
            let newest = self.snapshots.last();
            newest.is_some_and(|newest| newest.file.paths.iter().any(|saved| Path::new(saved) == path))
        };
        let carried = picture.carried.iter().flat_map(|group| of(group)).filter(has).collect();
        if roots.is_empty() {
            // Nothing of any group is there: the last generation stays the newest.
            return Ok(None);
        }
        let mut request = SaveRequest::new(roots, timestamp(now_ns()));
        request.parent = self.snapshots.last().map(|newest| newest.id);
        request.exact = exact;
        request.reread = picture.reread.map(|ReadShare { share, of }| RereadShare { share, of });
        request.carried = carried;
        request.pictured = picture.groups.iter().flat_map(|group| self.pictured(picture, group)).collect();
        request.lease = Some(lease);
        request.tags = self.tags(generation, claim, totals);
        request.tags.extend(pinned.iter().map(|pin| format!("pinned={pin}")));
        let failure = Mutex::new(None);
        let pacing = PaceOf { pace: Some(pace), progress: None, picture: Some((picture, &failure)) };
        let saved = match self.repository.save(&request, &pacing) {
            Ok(saved) => saved,
            Err(RepositoryError::NotExact { path, reason }) => {
                let group = self.tree_path(&path).and_then(|path| group_of(picture.groups, &path));
                let said = format!("{}: {reason}", path.display());
                let error = RepositoryError::NotExact { path, reason };
                // What is known may be more than the repository has: the next save takes copies of all.
                known.retain(|path, _| {
                    group_of(picture.groups, path).map(|one| &one.name) != group.map(|one| &one.name)
                });
                return Err(group.map_or_else(|| self.failure(error), |group| not_one_moment(group, said)));
            }
            Err(error) => {
                let failure = failure.into_inner();
                return Err(failure.unwrap_or_else(|| self.failure(error)));
            }
        };
        let mut report = SaveReport {
            generation,
            files: saved.files_read,
            bytes: saved.bytes_read.get(),
            fuzzy: picture.fuzzy.clone(),
            ..SaveReport::default()
        };
        if let Some((group, deletion)) = deletion {
            report.deletions.insert(group, deletion);
        }
        for path in &saved.retained {
            let why = "it changed whenever it was read".to_owned();
            report.inexact.extend(self.tree_path(path).map(|path| (path, why)));
        }
        for entry in &saved.unreadable {
            report.inexact.extend(self.tree_path(&entry.path).map(|path| (path, entry.reason.to_string())));
        }
        let is_carried = |path: &TreePath| {
            group_of(picture.groups, path).is_some_and(|group| picture.carried.iter().any(|one| one.name == group.name))
        };
        known.retain(|path, _| is_carried(path));
        let fresh: TreeStamps = picture
            .walked
            .entries
            .iter()
            .filter(|(path, seen)| picture.is_settled(path, seen.stamp) && !report.inexact.contains_key(*path))
            .map(|(path, seen)| (path.clone(), seen.stamp))
            .collect();
        known.extend(fresh);
        if !saved.is_new {
            return Ok(None);
        }
        self.refresh()?;
        Ok(Some(report))
    }

    /// Saves what an old copy has as the generation that it was, with the claim of its disk: afterwards the disk and the repository
    /// know each other.
    pub(crate) fn take_over(
        &mut self,
        old: &OldCopy,
        groups: &[Group],
        pace: &Pace,
    ) -> Result<SaveReport, ShelterError> {
        let OldFiles { entries, damaged } = old.files(groups);
        let generation = old.generation();
        let sizes = entries.values().filter_map(|(entry, _)| match entry.kind {
            EntryKind::File { size, .. } => Some(size),
            _ => None,
        });
        let (files, bytes) = sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size));
        let totals = Totals { files, bytes, room: None };
        let taken = timestamp(old.saved_ns());
        let all = entries.values().map(|(entry, place)| (&entry.path, entry_of(entry, place.clone())));
        let all: Vec<(&TreePath, PicturedEntry)> = all.collect();
        let mut request = SaveRequest::new(Vec::new(), timestamp(now_ns()));
        for path in groups.iter().flat_map(|group| &group.paths) {
            let inner = all.iter().filter(|(inner, _)| inner.is_within(path));
            if let Some(entry) = tree_of(inner.map(|(inner, entry)| (*inner, entry.clone())), path) {
                request.pictured.insert(self.place.disk.join(path), PicturedRoot { taken, entry });
            }
        }
        request.roots = request.pictured.keys().cloned().collect();
        if request.roots.is_empty() {
            return Err(ShelterError::NothingSaved(self.place.name.clone()));
        }
        request.lease = Some(self.hold_lease(old.claim())?);
        request.tags = self.tags(generation, old.claim(), totals);
        let pacing = PaceOf { pace: Some(pace), progress: None, picture: None };
        let saved = self.repository.save(&request, &pacing).map_err(|error| self.failure(error))?;
        self.refresh()?;
        let mut inexact = damaged;
        let troubles = saved.unreadable.iter().map(|entry| (&entry.path, entry.reason.to_string()));
        inexact.extend(troubles.filter_map(|(path, why)| Some((self.tree_path(path)?, why))));
        Ok(SaveReport {
            generation,
            files: saved.files_read,
            bytes: saved.bytes_read.get(),
            inexact,
            ..Default::default()
        })
    }

    /// What a snapshot says of itself.
    fn tags(&self, generation: u64, claim: &str, totals: Totals) -> Vec<String> {
        let mut tags = vec![
            format!("shelter={}", self.place.source),
            format!("generation={generation}"),
            format!("claim={claim}"),
            format!("bytes={}", totals.bytes),
            format!("files={}", totals.files),
        ];
        tags.extend(totals.room.map(|room| format!("room={room}")));
        tags
    }

    /// The trees of a group that is read from copies, by the path of each root.
    fn pictured(&self, picture: &Picture<'_>, group: &Group) -> BTreeMap<PathBuf, PicturedRoot> {
        let Some(taken) = picture.taken_ns(group) else { return BTreeMap::new() };
        let trees = group.paths.iter().filter_map(|path| {
            let entry = pictured_tree(picture, path)?;
            Some((self.place.disk.join(path), PicturedRoot { taken: timestamp(taken), entry }))
        });
        trees.collect()
    }

    /// What the picture lacks of the newest generation, if that is more than usual.
    fn deletion(&self, picture: &Picture<'_>, totals: Totals) -> Option<(String, MassDeletion)> {
        let newest = &self.snapshots.last()?.file;
        let (of_files, of_bytes) = (newest.number("files"), newest.number("bytes"));
        let group = picture.groups.iter().find(|group| group.class != DataClass::Recreate)?;
        let (gone, gone_bytes) = (of_files.saturating_sub(totals.files), of_bytes.saturating_sub(totals.bytes));
        let many = gone >= loadline_shelter_policy::changes::MASS_FILES_MIN && gone > group.deletion.of(of_files);
        (many || (gone > 0 && gone_bytes > group.deletion.of(of_bytes))).then(|| {
            let loss =
                MassDeletion { files: gone, of_files, bytes: Bytes::new(gone_bytes), of_bytes: Bytes::new(of_bytes) };
            (group.name.clone(), loss)
        })
    }

    /// The path of an entry as the disk's tree has it.
    fn tree_path(&self, path: &Path) -> Option<TreePath> {
        TreePath::of_bytes(path.strip_prefix(&self.place.disk).ok()?.as_os_str().as_bytes()).ok()
    }

    /// Makes the folders above a path of a group that are not there. What is no folder is replaced: nothing leads out of the disk.
    fn make_above(&self, root: &TreeRoot, snapshot: &StoredSnapshot, path: &str) -> Result<(), ShelterError> {
        for (at, _) in path.match_indices('/') {
            let Ok(above) = TreePath::of_bytes(&path.as_bytes()[..at]) else { continue };
            let place = root.place(&above);
            if root.make_folder(&above).map_err(ShelterError::io("make the folder", &place))? {
                let saved = self.repository.node(snapshot.id, &self.place.disk.join(&path[..at]));
                if let Some(node) = saved.map_err(wrap(&self.place.name))? {
                    root.own(&above, &node).map_err(ShelterError::io("set owner and mode of", &place))?;
                }
            }
        }
        Ok(())
    }

    /// Restores a generation below `root`, group by group.
    pub(crate) fn restore(
        &mut self,
        root: &TreeRoot,
        generation: u64,
        groups: &[Group],
        progress: &RestoreProgress,
    ) -> Result<RestoreReport, ShelterError> {
        let begun = Instant::now();
        let snapshot = self.snapshot_of(generation)?.clone();
        let earlier: Vec<ObjectId> = self
            .snapshots
            .iter()
            .rev()
            .filter(|one| one.file.number("generation") < generation)
            .take(FALL_BACK_MAX)
            .map(|one| one.id)
            .collect();
        let mut report = RestoreReport { generation, ..RestoreReport::default() };
        let linked = LinkedFiles::default();
        let mut ordered: Vec<&Group> = groups.iter().filter(|group| group.class != DataClass::Recreate).collect();
        ordered.sort_by_key(|group| group.order);
        for path in ordered.iter().flat_map(|group| &group.paths) {
            let source = self.place.disk.join(path);
            if !snapshot.file.paths.iter().any(|saved| Path::new(saved) == source) {
                continue;
            }
            let target = root.real().join(path);
            self.make_above(root, &snapshot, path)?;
            let mut request = RestoreRequest::new(snapshot.id, &source, &target);
            request.extras = Extras::Remove;
            request.fall_back.clone_from(&earlier);
            request.linked = linked.clone();
            let pacing = PaceOf { pace: None, progress: Some(progress), picture: None };
            let restored = self.repository.restore(&request, &pacing).map_err(wrap(&self.place.name))?;
            report.files += restored.files;
            report.bytes += restored.bytes_written.get();
            report.removed += restored.removed;
            let failed = restored.failed.iter().map(|failed| (&failed.path, failed.reason.to_string()));
            let old = restored.fallen_back.iter().map(|(path, from)| (path, format!("it is as in snapshot {from}")));
            for (path, why) in failed.chain(old) {
                let inner = path.strip_prefix(root.real()).ok().map(|path| path.as_os_str().as_bytes());
                report.damaged.extend(inner.and_then(|path| TreePath::of_bytes(path).ok()).map(|path| (path, why)));
            }
        }
        report.took = begun.elapsed();
        Ok(report)
    }
}

/// How much a generation has.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    files: u64,
    bytes: u64,
    /// What it takes of the disk: without holes, and once for each inode. Unknown of what an earlier version saved.
    room: Option<u64>,
}

/// How much a picture has.
fn totals(picture: &Picture<'_>) -> Totals {
    let carried: Vec<_> = picture.carried.iter().map(|group| walk(picture.root, group)).collect();
    let all = carried.iter().chain([&picture.walked]).flat_map(|walked| walked.entries.values());
    let mut totals = Totals::default();
    let (mut room, mut linked) = (0, BTreeSet::new());
    for seen in all {
        if let EntryKind::File { size, .. } = seen.entry.kind {
            totals.files += 1;
            totals.bytes += size;
        }
        let is_first = seen.links < 2 || seen.entry.kind == EntryKind::Folder || linked.insert(seen.stamp.inode);
        room += if is_first { seen.room } else { 0 };
    }
    Totals { room: Some(room), ..totals }
}

pub(crate) fn timestamp(ns: i64) -> Timestamp {
    Timestamp::new(ns.div_euclid(1_000_000_000), u32::try_from(ns.rem_euclid(1_000_000_000)).unwrap_or(0))
}

fn wrap(folder: &Path) -> impl FnOnce(RepositoryError) -> ShelterError {
    let path = folder.to_path_buf();
    move |error| match error {
        RepositoryError::Stopped => ShelterError::Ended,
        source => ShelterError::Repository { path, source: Box::new(source) },
    }
}
