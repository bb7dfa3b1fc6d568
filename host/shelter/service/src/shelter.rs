//! One configuration on this machine: what is seen, the start, saves, checks.

mod adoption;
mod saved_place;
mod saving;

pub use adoption::Adopted;
pub(crate) use saved_place::DRILL;

use crate::databases::{LogPositions, walk};
use crate::durable::{FileLock, read_bounded, write_durably};
use crate::error::ShelterError;
use crate::frozen_files::{FROZEN, remove_left};
use crate::probe::{DiskProbe, FolderSeen};
use crate::repository_copy::RepositoryCopy;
use crate::restoring::{Onto, RestoreProgress, RestoreReport};
use crate::saving::{READ_AGAIN, is_own};
use crate::structure;
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::changes::TreeStamps;
use loadline_shelter_policy::config::{Damaged, DataClass, MARKER_NAME, ShelterConfig};
use loadline_shelter_policy::marker::{MARKER_BYTES_MAX, MarkedState, Marker};
use loadline_shelter_policy::start::{
    Awaited, DestinationSeen, DeviceSeen, HARMLESS, MarkerSeen, MountSeen, Observations, PathSeen, StartRefusal,
    StartVerdict, other_destination, verdict,
};
use loadline_shelter_policy::status::ShelterStatus;
use loadline_shelter_policy::tree::TreePath;
use loadline_shelter_policy::unit::unit_name;
use loadline_shelter_repository::RepositoryStorage;
use parking_lot::Mutex;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often a start may format or mount before it must have come to an end.
const STEPS_MAX: usize = 4;
/// Bytes of a configuration and of a status, at most.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How often a lock is tried, and the wait between.
const LOCK_TRIES: u32 = 20;
const LOCK_WAIT: Duration = Duration::from_millis(10);
/// The twin of the marker, the lock and the status in the state folder.
const TWIN: &str = "marker";
const LOCK: &str = "lock";
/// The UUID of a file system from before it is made until the disk has its marker.
const MAKING: &str = "making";
const STATUS: &str = "status.json";

/// A configuration with the file that it was read from.
#[derive(Debug, Clone)]
pub struct ShelterFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// What it says.
    pub config: ShelterConfig,
}

impl ShelterFile {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The file cannot be read, or has problems: each with its place.
    pub fn read(path: &Path) -> Result<Self, ShelterError> {
        let bytes = read_bounded(path, FILE_BYTES_MAX).map_err(ShelterError::io("read", path))?;
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let bytes = bytes.ok_or_else(missing).map_err(ShelterError::io("read", path))?;
        let config = ShelterConfig::parse(&String::from_utf8_lossy(&bytes), &path.display().to_string())?;
        let path = fs::canonicalize(path).map_err(ShelterError::io("read", path))?;
        Ok(Self { path, config })
    }
}

/// What a start did.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    /// What it decided, in words.
    pub verdict: String,
    /// What it restored.
    pub restored: Option<RestoreReport>,
    /// Folders of class `recreate`.
    pub folders: u64,
}

/// A configuration at work.
pub struct Shelter {
    config: ShelterConfig,
    probe: Box<dyn DiskProbe>,
    marker: Option<Marker>,
    pub(crate) copy: Option<Box<RepositoryCopy>>,
    /// A repository that a look opened: opening takes a while.
    opened: Mutex<Option<Box<RepositoryCopy>>>,
    /// The storage of a repository, once it is open.
    storage: OnceLock<Arc<dyn RepositoryStorage>>,
    pub(crate) known: TreeStamps,
    /// Where database servers were at the last save of this process.
    positions: LogPositions,
    /// The generation that the next restore takes, if it is not the newest one.
    wanted: Option<u64>,
    /// Held as long as this lives: one process works on a shelter.
    lock: Option<FileLock>,
}

impl Shelter {
    /// A shelter that has done nothing yet.
    #[must_use]
    pub fn new(config: ShelterConfig, probe: Box<dyn DiskProbe>) -> Self {
        Self {
            config,
            probe,
            marker: None,
            copy: None,
            opened: Mutex::new(None),
            storage: OnceLock::new(),
            known: TreeStamps::new(),
            positions: LogPositions::new(),
            wanted: None,
            lock: None,
        }
    }

    /// What it was made of.
    #[must_use]
    pub fn config(&self) -> &ShelterConfig {
        &self.config
    }

    /// The newest saved generation; 0 if there is none.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.copy.as_ref().map_or(0, |copy| copy.generation())
    }

    /// Pinned generations.
    #[must_use]
    pub fn pinned(&self) -> Vec<u64> {
        self.copy.as_ref().map(|copy| copy.pinned()).unwrap_or_default()
    }

    /// Bytes that a restore writes.
    #[must_use]
    pub fn saved_bytes(&self) -> Option<u64> {
        self.copy.as_ref().and_then(|copy| copy.bytes())
    }

    /// What a restore takes of the disk, if that is known.
    pub(crate) fn saved_room(&self) -> Option<u64> {
        self.copy.as_ref().and_then(|copy| copy.room())
    }

    pub(crate) fn device_name(&self) -> Option<String> {
        self.probe.device_name(&self.config)
    }

    pub(crate) fn known(&self) -> &TreeStamps {
        &self.known
    }

    /// How many generations can be restored.
    pub(crate) fn generations(&self) -> u64 {
        self.copy.as_ref().map_or(0, |copy| copy.present().len() as u64)
    }

    fn disk(&self) -> &Path {
        Path::new(&self.config.disk.path)
    }
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        Path::new(&self.config.state).join(name)
    }

    /// Sees that no other process works on this shelter.
    ///
    /// # Errors
    /// One does, or the state folder cannot be made.
    pub fn take(&mut self) -> Result<(), ShelterError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let state = Path::new(&self.config.state);
        fs::create_dir_all(state).map_err(ShelterError::io("make the folder", state))?;
        let path = self.state(LOCK);
        let mut file = File::create(&path).map_err(ShelterError::io("open", &path))?;
        // A program that a killed process had just started has a copy of its lock, until it runs.
        let mut left = LOCK_TRIES;
        let lock = loop {
            match FileLock::take(file) {
                Ok(lock) => break lock,
                Err(again) => file = again,
            }
            left -= 1;
            if left == 0 {
                let text = format!(
                    "another process works on shelter {} now: stop its service first, `systemctl stop {}`",
                    self.config.name,
                    unit_name(&self.config)
                );
                return Err(ShelterError::Unsupported(text));
            }
            std::thread::sleep(LOCK_WAIT);
        };
        self.lock = Some(lock);
        Ok(())
    }

    /// Looks at disk, device, marker, twin and destination. Nothing is written.
    ///
    /// # Errors
    /// The kernel does not show its mounts or devices.
    pub fn observe(&self) -> Result<Observations, ShelterError> {
        let path = match self.probe.folder(&self.config)? {
            FolderSeen::Missing => PathSeen::Missing,
            FolderSeen::NotMounted => PathSeen::NotMounted,
            FolderSeen::Mounted(mount) => PathSeen::Mounted(self.looked_into(mount)?),
        };
        // A device that is mounted where it belongs is no free device.
        let device = match &path {
            PathSeen::Mounted(mount) if mount.is_named_device == Some(true) => {
                DeviceSeen::FileSystem(mount.file_system.clone())
            }
            _ => self.probe.device(&self.config)?,
        };
        // Opening a repository takes a while: nothing is restored where nothing is mounted, unless the device is raw.
        let is_asked = matches!(path, PathSeen::Mounted(_)) || device == DeviceSeen::Raw;
        let destination = if is_asked { self.destination()? } else { DestinationSeen::NotWanted };
        Ok(Observations {
            source: self.config.name.clone(),
            may_format: self.config.disk.format.is_some(),
            has_contents: self.config.has_contents(),
            path,
            device,
            twin: read_marker(&self.state(TWIN)),
            making: self.making(),
            destination,
        })
    }

    fn looked_into(&self, mut mount: MountSeen) -> Result<MountSeen, ShelterError> {
        mount.marker = read_marker(&self.disk().join(MARKER_NAME));
        let disk = self.disk();
        mount.others = 0;
        for entry in fs::read_dir(disk).map_err(ShelterError::io("list", disk))? {
            let name = entry.map_err(ShelterError::io("list", disk))?.file_name();
            let bytes = name.as_encoded_bytes();
            let harmless = HARMLESS.iter().any(|harmless| bytes == harmless.as_bytes()) || is_own(bytes);
            mount.others += usize::from(!harmless);
        }
        Ok(mount)
    }

    /// The verdict of a start that happened now.
    ///
    /// # Errors
    /// The kernel does not show its mounts or devices.
    pub fn look(&self) -> Result<(Observations, StartVerdict), ShelterError> {
        let seen = self.observe()?;
        let verdict = verdict(&seen);
        Ok((seen, verdict))
    }

    /// Brings the disk to where services may start: makes and mounts the file system, restores, recreates folders. It does what
    /// the verdict allows and nothing else.
    ///
    /// # Errors
    /// The verdict refuses or waits; or what was allowed fails.
    pub(crate) fn prepare(&mut self, progress: &Arc<RestoreProgress>) -> Result<Prepared, ShelterError> {
        self.take()?;
        for _ in 0..STEPS_MAX {
            let (seen, verdict) = self.look()?;
            match verdict {
                StartVerdict::Refuse(refusal) => return Err(ShelterError::Refused(refusal)),
                StartVerdict::Wait(awaited) => return Err(ShelterError::NotReady(awaited)),
                StartVerdict::Format => self.make_file_system(seen.making.as_deref())?,
                StartVerdict::Mount => match self.probe.mount(&self.config) {
                    Err(_) if is_half_made(&seen) => self.make_file_system(seen.making.as_deref())?,
                    other => other?,
                },
                StartVerdict::Begin => return self.begin(&seen),
                StartVerdict::Restore(newest) => {
                    return self.fill(&seen, self.wanted.unwrap_or(newest), Onto::Empty, progress);
                }
                StartVerdict::Resume(begun) => {
                    return self.fill(&seen, self.wanted.unwrap_or(begun), Onto::Interrupted, progress);
                }
                StartVerdict::Survived => {
                    return match self.wanted {
                        None => self.survived(&seen),
                        Some(wanted) => Err(ShelterError::KeptContents(wanted)),
                    };
                }
            }
        }
        Err(ShelterError::Unsupported("the disk was prepared, and is not there all the same".to_owned()))
    }

    /// Replaces whatever is on the disk by what is saved. `over` names the disk's folder once more.
    ///
    /// # Errors
    /// It does not name it, the disk is not the configured one, or the restore fails.
    pub fn restore_over(&mut self, over: &Path) -> Result<Prepared, ShelterError> {
        if over != self.disk() {
            return Err(ShelterError::Unsupported(format!(
                "{} is not the folder of the shelter's disk, {}: nothing was done",
                over.display(),
                self.config.disk.path
            )));
        }
        self.take()?;
        let (seen, verdict) = self.look()?;
        let allowed = matches!(
            verdict,
            StartVerdict::Survived
                | StartVerdict::Restore(_)
                | StartVerdict::Resume(_)
                | StartVerdict::Refuse(
                    StartRefusal::OtherEntries(_)
                        | StartRefusal::TornMarker
                        | StartRefusal::OldCopy { .. }
                        | StartRefusal::TooSmall { .. }
                )
        );
        match verdict {
            _ if allowed => {}
            StartVerdict::Refuse(refusal) => return Err(ShelterError::Refused(refusal)),
            StartVerdict::Wait(awaited) => return Err(ShelterError::NotReady(awaited)),
            _ => return Err(ShelterError::NothingSaved(PathBuf::from(&self.config.disk.path))),
        }
        let DestinationSeen::Holds { generation: newest, .. } = seen.destination else {
            return Err(ShelterError::NothingSaved(self.place()?.map(|place| place.name).unwrap_or_default()));
        };
        self.fill(&seen, self.wanted.unwrap_or(newest), Onto::Interrupted, &Arc::default())
    }

    /// The next restore takes this generation instead of the newest one. The next save makes what it brought the newest.
    pub fn want(&mut self, generation: u64) {
        self.wanted = Some(generation);
    }

    /// Restores onto the disk if the verdict of a start allows it.
    ///
    /// # Errors
    /// It does not, or the restore fails.
    pub fn restore(&mut self) -> Result<Prepared, ShelterError> {
        self.prepare(&Arc::default())
    }

    fn making(&self) -> Option<String> {
        let bytes = read_bounded(&self.state(MAKING), 64).ok().flatten()?;
        String::from_utf8(bytes).ok().map(|text| text.trim().to_owned())
    }

    /// Makes the file system and mounts it. Its UUID is durable before anything is on the device: what a start leaves that is killed in
    /// between, the next one recognises.
    fn make_file_system(&self, left: Option<&str>) -> Result<(), ShelterError> {
        let uuid = left.map_or_else(drawn, |left| Ok(left.to_owned()))?;
        let path = self.state(MAKING);
        write_durably(&path, uuid.as_bytes()).map_err(ShelterError::io("write", &path))?;
        self.probe.format(&self.config, &uuid, left)?;
        self.probe.mount(&self.config)
    }

    /// Opens the destination as it was seen. A repository is made only where nothing was ever saved, and only if nothing was acknowledged.
    fn open_copy(&mut self, seen: &DestinationSeen) -> Result<(), ShelterError> {
        let Some(place) = self.place()? else { return Ok(()) };
        let known = match read_marker(&self.state(TWIN)) {
            MarkerSeen::Whole(twin) => Some(twin),
            _ => self.marker.clone(),
        };
        if let Some(refusal) = known.as_ref().and_then(|known| other_destination(known, seen)) {
            return Err(ShelterError::Refused(refusal));
        }
        match seen {
            DestinationSeen::Foreign(name) => {
                return Err(ShelterError::Refused(StartRefusal::OtherDestination(name.clone())));
            }
            DestinationSeen::Unreachable(reason) => {
                let is_saved = known.is_some_and(|known| known.generation > 0);
                if is_saved || !place.can_be_made() {
                    return Err(ShelterError::NotReady(Awaited::Destination(reason.clone())));
                }
            }
            _ => {}
        }
        self.copy = Some(self.repository(&place)?);
        Ok(())
    }

    /// A new marker for the disk that is seen.
    fn new_marker(&self, seen: &Observations, generation: u64, state: MarkedState) -> Result<Marker, ShelterError> {
        let PathSeen::Mounted(mount) = &seen.path else {
            return Err(ShelterError::DiskChanged { path: self.disk().to_path_buf() });
        };
        Ok(Marker {
            source: self.config.name.clone(),
            claim: drawn()?,
            file_system: mount.file_system.clone(),
            device: self.config.disk.device.as_ref().map(ToString::to_string).unwrap_or_default(),
            machine: self.probe.machine(),
            generation,
            begun: generation,
            repository: self.repository_id(),
            state,
            restores: 0,
        })
    }

    /// Writes the twin, then the marker: if this ends in between, the disk is still empty.
    fn mark(&mut self, marker: Marker) -> Result<(), ShelterError> {
        let text = marker.to_text();
        for path in [self.state(TWIN), self.disk().join(MARKER_NAME)] {
            write_durably(&path, text.as_bytes()).map_err(ShelterError::io("write", &path))?;
        }
        // From now on the marker says whose file system it is.
        let _ = fs::remove_file(self.state(MAKING));
        self.marker = Some(marker);
        Ok(())
    }

    fn repository_id(&self) -> String {
        self.copy.as_ref().map(|copy| copy.id()).unwrap_or_default()
    }

    fn begin(&mut self, seen: &Observations) -> Result<Prepared, ShelterError> {
        self.open_copy(&seen.destination)?;
        let marker = self.new_marker(seen, 0, MarkedState::Ready)?;
        let folders = self.recreate()?;
        self.mark(marker)?;
        Ok(Prepared { verdict: "the disk is new, and nothing was saved yet".to_owned(), restored: None, folders })
    }

    fn survived(&mut self, seen: &Observations) -> Result<Prepared, ShelterError> {
        let PathSeen::Mounted(MountSeen { marker: MarkerSeen::Whole(marker), .. }) = &seen.path else {
            return Err(ShelterError::DiskChanged { path: self.disk().to_path_buf() });
        };
        self.marker = Some(marker.clone());
        self.remove_left()?;
        if !matches!(seen.destination, DestinationSeen::Unreachable(_)) {
            self.open_copy(&seen.destination)?;
            // An interrupted acknowledgement: the destination has the generation that was begun.
            let generation = self.generation().max(marker.generation);
            let now = Marker { generation, repository: self.repository_id(), ..marker.clone() };
            if now != *marker || !matches!(&seen.twin, MarkerSeen::Whole(twin) if twin == marker) {
                self.mark(now)?;
            }
        }
        let folders = self.recreate()?;
        Ok(Prepared { verdict: "the disk kept its contents".to_owned(), restored: None, folders })
    }

    fn fill(
        &mut self,
        seen: &Observations,
        generation: u64,
        onto: Onto,
        progress: &Arc<RestoreProgress>,
    ) -> Result<Prepared, ShelterError> {
        self.open_copy(&seen.destination)?;
        self.remove_left()?;
        let root = TreeRoot::open(self.disk()).map_err(ShelterError::io("open", self.disk()))?;
        let nothing = || ShelterError::NothingSaved(PathBuf::from(&self.config.disk.path));
        let copy = self.copy.as_ref().ok_or_else(nothing)?;
        let newest = copy.generation();
        copy.is_present(generation)?;
        if onto == Onto::Empty {
            copy.fits(generation, root.free().map_err(ShelterError::io("ask for the space of", self.disk()))?)?;
        }
        let mut marker = self.new_marker(seen, newest, MarkedState::Restoring)?;
        marker.restores = if generation == newest { 0 } else { generation };
        self.mark(marker.clone())?;
        let disk = self.disk().to_path_buf();
        let copy = self.copy.as_mut().ok_or(ShelterError::NothingSaved(disk))?;
        let report = copy.restore(&root, generation, &self.config.groups, progress)?;
        let held: Vec<String> = report
            .damaged
            .keys()
            .filter(|path| {
                crate::saving::group_of(&self.config.groups, path).is_none_or(|group| group.damaged == Damaged::Hold)
            })
            .map(|path| path.as_text().to_owned())
            .collect();
        if !held.is_empty() {
            return Err(ShelterError::Damaged(held));
        }
        // What was just written is known: the first save reads nothing of it again.
        let contents = self.config.groups.iter().filter(|group| group.class != DataClass::Recreate);
        // An earlier generation is no saved state: the first save compares all of it with the newest one.
        let contents = contents.filter(|_| generation == newest);
        self.known = contents
            .flat_map(|group| walk(&root, group).entries)
            .filter(|(path, _)| !report.damaged.contains_key(path))
            .map(|(path, seen)| (path, seen.stamp))
            .collect();
        let folders = self.recreate()?;
        // What services change from now on gets a later time than what was restored.
        std::thread::sleep(READ_AGAIN);
        self.mark(Marker { state: MarkedState::Ready, restores: 0, ..marker })?;
        self.wanted = None;
        let verdict = match onto {
            Onto::Empty => format!("the disk came back empty: generation {generation} was restored"),
            Onto::Interrupted => format!("a restore was under way: generation {generation} is whole now"),
        };
        Ok(Prepared { verdict, restored: Some(report), folders })
    }

    /// Makes kept folders again.
    fn recreate(&self) -> Result<u64, ShelterError> {
        if !self.config.groups.iter().any(|group| group.class == DataClass::Recreate) {
            return Ok(0);
        }
        let Some(folders) = structure::kept(&self.config)? else { return Ok(0) };
        let root = TreeRoot::open(self.disk()).map_err(ShelterError::io("open", self.disk()))?;
        structure::recreate(&root, &folders)
    }

    /// Removes copies that a killed save left.
    fn remove_left(&self) -> Result<(), ShelterError> {
        let root = TreeRoot::open(self.disk()).map_err(ShelterError::io("open", self.disk()))?;
        remove_left(&root).map_err(ShelterError::io("remove", self.disk().join(FROZEN)))
    }

    /// Gives the right to write back: another shelter need not wait until it ends by itself.
    pub(crate) fn release(&mut self) -> Result<(), ShelterError> {
        self.copy.as_mut().map_or(Ok(()), |copy| copy.release())
    }

    /// Sees that the disk is still the one that was taken into use.
    fn same_disk(&self) -> Result<(), ShelterError> {
        let changed = || ShelterError::DiskChanged { path: self.disk().to_path_buf() };
        let marker = self.marker.as_ref().ok_or_else(changed)?;
        let FolderSeen::Mounted(mount) = self.probe.folder(&self.config)? else { return Err(changed()) };
        let on_disk = read_marker(&self.disk().join(MARKER_NAME));
        let same = mount.file_system == marker.file_system
            && !mount.is_root_device
            && mount.is_named_device != Some(false)
            && matches!(on_disk, MarkerSeen::Whole(found) if found.claim == marker.claim);
        if same { Ok(()) } else { Err(changed()) }
    }

    /// Sees that an open folder is the disk that was taken into use.
    fn is_marked(&self, root: &TreeRoot) -> Result<(), ShelterError> {
        use std::io::Read as _;
        let mut text = String::new();
        let name = TreePath::of_bytes(MARKER_NAME.as_bytes()).expect("the marker's name is a path");
        let read = root.open_file(&name).and_then(|file| file.take(MARKER_BYTES_MAX as u64).read_to_string(&mut text));
        let claim = self.marker.as_ref().map(|marker| &marker.claim);
        match read.ok().and_then(|_| Marker::parse(&text).ok()) {
            Some(found) if Some(&found.claim) == claim => Ok(()),
            _ => Err(ShelterError::DiskChanged { path: self.disk().to_path_buf() }),
        }
    }

    /// A look at all groups: stamps of the files that are there now.
    pub(crate) fn stamps(&self) -> Result<TreeStamps, ShelterError> {
        self.same_disk()?;
        let root = TreeRoot::open(self.disk()).map_err(ShelterError::io("open", self.disk()))?;
        let mut stamps = TreeStamps::new();
        self.is_marked(&root)?;
        for group in self.config.groups.iter().filter(|group| group.class != DataClass::Recreate) {
            stamps.extend(walk(&root, group).entries.into_iter().map(|(path, seen)| (path, seen.stamp)));
        }
        Ok(stamps)
    }

    /// Writes the report of the service.
    pub(crate) fn publish(&self, status: &ShelterStatus) -> Result<(), ShelterError> {
        let path = self.state(STATUS);
        let text = serde_json::to_string(status).expect("text and numbers can be written");
        replace(&path, text.as_bytes()).map_err(ShelterError::io("write", &path))?;
        if let Some(path) = &self.config.metrics {
            let path = Path::new(path);
            replace(path, status.metrics().as_bytes()).map_err(ShelterError::io("write", path))?;
        }
        Ok(())
    }
}

/// A UUID that nobody has.
fn drawn() -> Result<String, ShelterError> {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    Ok(fs::read_to_string(path).map_err(ShelterError::io("read", path))?.trim().to_owned())
}

/// Whether the device has what a start left that was killed while it made the file system: nobody had it mounted since.
fn is_half_made(seen: &Observations) -> bool {
    let DeviceSeen::FileSystem(found) = &seen.device else { return false };
    let is_marked = matches!(&seen.twin, MarkerSeen::Whole(twin) if twin.file_system == *found);
    !is_marked && seen.making.as_ref() == Some(found)
}

/// Replaces a file that need not survive a power cut.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut other = path.as_os_str().to_os_string();
    other.push(".new");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&other, bytes)?;
    fs::rename(&other, path)
}

/// The report of the service of a configuration; `None` if none ever ran.
///
/// # Errors
/// It cannot be read.
pub fn last_status(config: &ShelterConfig) -> Result<Option<ShelterStatus>, ShelterError> {
    let path = Path::new(&config.state).join(STATUS);
    let bytes = read_bounded(&path, FILE_BYTES_MAX).map_err(ShelterError::io("read", &path))?;
    let read = |bytes: Vec<u8>| {
        serde_json::from_slice(&bytes)
            .map_err(|error| ShelterError::Record { path: path.clone(), reason: error.to_string() })
    };
    bytes.map(read).transpose()
}

fn read_marker(path: &Path) -> MarkerSeen {
    match read_bounded(path, MARKER_BYTES_MAX as u64) {
        Ok(None) => MarkerSeen::Absent,
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => MarkerSeen::Torn,
        Err(_) => MarkerSeen::Unreadable,
        Ok(Some(bytes)) => match String::from_utf8(bytes).ok().and_then(|text| Marker::parse(&text).ok()) {
            Some(marker) => MarkerSeen::Whole(marker),
            None => MarkerSeen::Torn,
        },
    }
}

/// Ends a restore that is under way.
pub(crate) fn end_restore(progress: &RestoreProgress) {
    progress.ends.store(true, Ordering::Relaxed);
}
