//! A disk, a destination and a state folder in a temporary folder; the disk can be lost.

use crate::error::ShelterError;
use crate::pace::Pace;
use crate::probe::{DiskProbe, FolderSeen};
use crate::saving::SaveReport;
use crate::shelter::Shelter;
use loadline_shelter_policy::config::{OwnLimits, ShelterConfig};
use loadline_shelter_policy::start::{DeviceSeen, MarkerSeen, MountSeen};
use loadline_shelter_repository::{LocalStorage, Repository, ScryptCost, Timestamp};
use loadline_units::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The passphrase of all.
pub(super) const PASSPHRASE: &str = "a long passphrase\n";
/// Groups of most tests.
pub(super) const GROUPS: &str = "[group.data]\nclass = \"files\"\npaths = [\"data\"]\nrecovery_point = \"1 s\"\n\
                      [group.wal]\nclass = \"log\"\npaths = [\"wal\"]\norder = 1\n\
                      [group.tempdb]\nclass = \"recreate\"\npaths = [\"tempdb\"]\n";

/// What the disk is.
pub(super) struct World {
    folder: tempfile::TempDir,
    pub(super) config: ShelterConfig,
}

/// The identity of the file system lies beside the disk, as a disk's does: a copy of its files lacks it.
pub(super) struct FolderProbe {
    root: PathBuf,
}

impl FolderProbe {
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }
}

impl DiskProbe for FolderProbe {
    fn folder(&self, _: &ShelterConfig) -> Result<FolderSeen, ShelterError> {
        let Ok(identity) = fs::read_to_string(self.root.join("identity")) else { return Ok(FolderSeen::NotMounted) };
        Ok(FolderSeen::Mounted(MountSeen {
            is_root_device: false,
            is_named_device: None,
            file_system: identity,
            is_read_only: false,
            marker: MarkerSeen::Absent,
            others: 0,
            room: Bytes::gib(1),
        }))
    }
    fn device(&self, _: &ShelterConfig) -> Result<DeviceSeen, ShelterError> {
        Ok(DeviceSeen::NotNamed)
    }
    fn machine(&self) -> String {
        "test".to_owned()
    }
    fn format(&self, _: &ShelterConfig, _: &str, _: Option<&str>) -> Result<(), ShelterError> {
        Err(ShelterError::Unsupported("no device".to_owned()))
    }
    fn mount(&self, _: &ShelterConfig) -> Result<(), ShelterError> {
        Err(ShelterError::Unsupported("no device".to_owned()))
    }
    fn device_name(&self, _: &ShelterConfig) -> Option<String> {
        None
    }
}

impl World {
    pub(super) fn new(groups: &str) -> Self {
        Self::with(groups, "")
    }

    /// `more` are further tables of the configuration.
    pub(super) fn with(groups: &str, more: &str) -> Self {
        let world = Self::without_repository(groups, more);
        cheap_repository(&world.path("saved"));
        world
    }

    /// The same, and nothing is at the destination.
    pub(super) fn without_repository(groups: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Self::config_at(folder.path(), groups, more);
        let world = Self { folder, config };
        fs::create_dir(world.path("saved")).unwrap();
        fs::write(world.path("secret"), PASSPHRASE).unwrap();
        world.insert_disk();
        world
    }

    /// The configuration of a world at this folder.
    pub(super) fn config_at(root: &Path, groups: &str, more: &str) -> ShelterConfig {
        let root = root.display();
        let text = format!(
            "schema = 1\nname = \"test\"\nstate = \"{root}/state\"\n[disk]\npath = \"{root}/disk\"\n\
             [destination]\nfolder = \"{root}/saved\"\npassphrase_file = \"{root}/secret\"\n{groups}{more}"
        );
        ShelterConfig::parse(&text, "test").unwrap()
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    pub(super) fn disk(&self, name: &str) -> PathBuf {
        self.path("disk").join(name)
    }

    /// A new and empty disk is there.
    pub(super) fn insert_disk(&self) {
        fs::create_dir_all(self.path("disk")).unwrap();
        let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        fs::write(self.path("identity"), uuid).unwrap();
    }

    /// The disk is gone, and with it all that was on it.
    pub(super) fn lose_disk(&self) {
        fs::remove_dir_all(self.path("disk")).unwrap();
        fs::remove_file(self.path("identity")).unwrap();
    }

    pub(super) fn shelter(&self) -> Shelter {
        Shelter::new(self.config.clone(), Box::new(FolderProbe::at(self.root())))
    }

    /// A file of the newest generation; `None` if it has none.
    pub(super) fn saved(&self, name: &str) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        self.shelter().export(folder.path(), None).ok()?;
        fs::read(folder.path().join(name)).ok()
    }

    /// A shelter whose start is done.
    pub(super) fn started(&self) -> Shelter {
        let mut shelter = self.shelter();
        shelter.restore().unwrap();
        shelter
    }

    /// Some data on the disk.
    pub(super) fn fill(&self) {
        fs::create_dir_all(self.disk("data/deep/er")).unwrap();
        fs::create_dir_all(self.disk("wal")).unwrap();
        for index in 0..20 {
            fs::write(self.disk(&format!("data/file{index}")), vec![index as u8; 1000 * index]).unwrap();
        }
        fs::write(self.disk("data/deep/er/x"), "deep").unwrap();
        fs::write(self.disk("data/empty"), "").unwrap();
        fs::write(self.disk("wal/1"), "first\n").unwrap();
        fs::set_permissions(self.disk("data/file1"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(self.disk("data/deep"), fs::Permissions::from_mode(0o2750)).unwrap();
        symlink("../wal/1", self.disk("data/link")).unwrap();
        let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"no\xffutf8 %41\n");
        fs::write(self.disk("data").join(name), "odd").unwrap();
    }
}

/// A repository in an empty folder: its key costs less than one that a shelter makes.
pub(super) fn cheap_repository(folder: &Path) {
    let cost = ScryptCost { log_n: 4, r: 8, p: 1 };
    let storage = Arc::new(LocalStorage::new(folder));
    Repository::create(storage, PASSPHRASE.trim().as_bytes(), cost, Timestamp::new(0, 0)).unwrap();
}

pub(super) fn unpaced() -> Pace {
    Pace::new(OwnLimits::default(), None)
}

/// Saves after a step of the clock, so that what is saved is known for sure.
pub(super) fn save(shelter: &mut Shelter) -> Option<SaveReport> {
    std::thread::sleep(crate::saving::READ_AGAIN);
    shelter.save(&unpaced()).unwrap()
}

/// Everything below a folder that a restore must bring back: kind, mode, owner, time and contents by path.
pub(super) fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let contents = if meta.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if meta.is_file() {
                blake3::hash(&fs::read(&path).unwrap()).to_hex().to_string()
            } else {
                folders.extend(meta.is_dir().then(|| path.clone()));
                String::new()
            };
            let text = format!(
                "{:o} {}:{} {}.{:09} {contents}",
                meta.mode(),
                meta.uid(),
                meta.gid(),
                meta.mtime(),
                meta.mtime_nsec()
            );
            found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), text);
        }
    }
    found
}

/// Bytes that do not compress, others for each seed.
pub(super) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// The packs of the repository.
pub(super) fn packs(world: &World) -> Vec<PathBuf> {
    let folders = fs::read_dir(world.path("saved/data")).unwrap();
    folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap()).map(|file| file.unwrap().path()).collect()
}

/// One bit in the middle of a file flips.
pub(super) fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(file, bytes).unwrap();
}
