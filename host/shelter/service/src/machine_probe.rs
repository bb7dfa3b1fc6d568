//! The machine itself as the place of the disk: mounts, devices, `mkfs`, `mount`.

use crate::error::ShelterError;
use crate::probe::{DiskProbe, FolderSeen};
use loadline_engine::target::{Signature, signatures};
use loadline_kernel::facts::in_use::Uses;
use loadline_kernel::facts::{BlockDevice, DeviceNumber, KernelView, Mount, mounted_on, mounts};
use loadline_kernel::system_calls;
use loadline_shelter_policy::config::{DeviceIdentity, NewFileSystem, ShelterConfig, is_named};
use loadline_shelter_policy::start::{Awaited, DeviceSeen, MarkerSeen, MountSeen};
use loadline_units::Bytes;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What must be zero at each end of a raw device.
const END_BYTES: usize = 1 << 20;
/// Options of `mkfs`. None of them lets it overwrite what it recognises.
const XFS_OPTIONS: &[&str] = &["-q", "-m", "reflink=1", "-m"];
const EXT4_OPTIONS: &[&str] = &["-q", "-E", "nodiscard", "-U"];
const BTRFS_OPTIONS: &[&str] = &["-q", "-U"];

/// This machine.
#[derive(Debug)]
pub struct MachineProbe {
    view: KernelView,
}

impl Default for MachineProbe {
    fn default() -> Self {
        Self { view: KernelView::live() }
    }
}

impl MachineProbe {
    fn all_mounts(&self) -> Result<Vec<Mount>, ShelterError> {
        mounts(&self.view).map_err(ShelterError::io("read", self.view.proc.join("self/mountinfo")))
    }

    /// What is mounted at the folder itself; later mounts cover earlier ones.
    fn mount_at<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
        mounts.iter().rev().find(|mount| mount.point == path)
    }

    /// Devices that answer to the identity.
    fn named(&self, identity: &DeviceIdentity) -> Vec<BlockDevice> {
        match identity {
            DeviceIdentity::Link(link) if link.contains('*') => self.links(link),
            DeviceIdentity::Link(link) => self.at_link(Path::new(link)).into_iter().collect(),
            DeviceIdentity::Model { model, number } => self.of_model(model, *number),
            DeviceIdentity::Serial(serial) => BlockDevice::all(&self.view)
                .into_iter()
                .filter(|device| !device.is_partition() && device.serial().as_deref() == Some(serial.as_str()))
                .collect(),
            DeviceIdentity::Backing(file) => BlockDevice::all(&self.view)
                .into_iter()
                .filter(|device| !device.is_partition() && device.loop_backing().as_deref() == Some(Path::new(file)))
                .collect(),
        }
    }

    /// The device behind a link.
    fn at_link(&self, link: &Path) -> Option<BlockDevice> {
        let found = fs::metadata(link).ok().filter(|found| found.file_type().is_block_device())?;
        BlockDevice::by_number(&self.view, DeviceNumber::from_raw(found.rdev()))
    }

    /// The disks behind links of which the last name is a pattern.
    fn links(&self, pattern: &str) -> Vec<BlockDevice> {
        let Some((folder, name)) = pattern.rsplit_once('/') else { return Vec::new() };
        let all = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<BlockDevice> = all
            .filter(|link| link.file_name().to_str().is_some_and(|link| is_named(name, link)))
            .filter_map(|link| self.at_link(&link.path()))
            .filter(|device| !device.is_partition())
            .collect();
        found.sort_by(|one, other| one.place().cmp(other.place()));
        found.dedup_by(|one, other| one.number == other.number);
        found
    }

    /// The disks of a model, or the one with this number of them.
    fn of_model(&self, model: &str, number: Option<u32>) -> Vec<BlockDevice> {
        let is_one = |device: &BlockDevice| device.model().is_some_and(|own| is_named(model, &own));
        let mut all: Vec<BlockDevice> = BlockDevice::all(&self.view)
            .into_iter()
            .filter(|device| !device.is_partition() && is_one(device))
            .collect();
        all.sort_by(|one, other| one.place().cmp(other.place()));
        match number {
            None => all,
            Some(number) => all.into_iter().nth(number as usize - 1).into_iter().collect(),
        }
    }

    /// The only device that the configuration names.
    fn only(&self, config: &ShelterConfig) -> Result<BlockDevice, ShelterError> {
        let identity = config.disk.device.as_ref();
        match identity.map(|identity| self.named(identity)).unwrap_or_default().as_slice() {
            [only] => Ok(only.clone()),
            // It may go between the look and what follows from it.
            [] => Err(ShelterError::NotReady(Awaited::Device)),
            other => Err(ShelterError::Unsupported(format!("{} devices have the configured identity", other.len()))),
        }
    }

    /// Identity of a mounted file system: its UUID, else its kind and device number.
    fn file_system(&self, mounts: &[Mount], mount: &Mount) -> Result<String, ShelterError> {
        for device in mounted_on(&self.view, mounts, mount) {
            // A device that cannot be read has an identity all the same.
            let found = recognised(&node(&device)).map_err(ShelterError::io("read", node(&device)))?;
            let own = found.into_iter().find(|signature| signature.kind.eq_ignore_ascii_case(&mount.kind));
            if let Some(signature) = own {
                return Ok(signature.identity);
            }
        }
        Ok(format!("{} on {}", mount.kind, mount.number))
    }
}

/// The device's file in /dev.
fn node(device: &BlockDevice) -> PathBuf {
    Path::new("/dev").join(&device.name)
}

/// What is recognised on a device.
fn recognised(path: &Path) -> io::Result<Vec<Signature>> {
    let file = File::open(path)?;
    let size = io::Seek::seek(&mut &file, io::SeekFrom::End(0))?;
    signatures(&file, size)
}

/// Whether nothing is recognised on a device, and both its ends are zero.
fn is_raw(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let size = io::Seek::seek(&mut &file, io::SeekFrom::End(0))?;
    if size == 0 || !signatures(&file, size)?.is_empty() {
        return Ok(false);
    }
    let mut bytes = vec![0; END_BYTES.min(usize::try_from(size).unwrap_or(END_BYTES))];
    let length = bytes.len() as u64;
    for at in [0, size - length] {
        file.read_exact_at(&mut bytes, at)?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs a program to its end.
fn run(program: &str, words: &[&str], path: &[&Path]) -> Result<(), ShelterError> {
    let failed = |reason: String| ShelterError::Program { program: program.to_owned(), reason };
    let output = Command::new(program).args(words).args(path).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

impl DiskProbe for MachineProbe {
    fn folder(&self, config: &ShelterConfig) -> Result<FolderSeen, ShelterError> {
        let path = Path::new(&config.disk.path);
        let found = match fs::metadata(path) {
            Ok(found) if found.is_dir() => found,
            Ok(_) => return Ok(FolderSeen::Missing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FolderSeen::Missing),
            Err(error) => return Err(ShelterError::io("look at", path)(error)),
        };
        let real = fs::canonicalize(path).map_err(ShelterError::io("look at", path))?;
        let mounts = self.all_mounts()?;
        let Some(mount) = Self::mount_at(&mounts, &real) else { return Ok(FolderSeen::NotMounted) };
        let below = mounted_on(&self.view, &mounts, mount);
        let root = Self::mount_at(&mounts, Path::new("/")).map(|root| mounted_on(&self.view, &mounts, root));
        let root_number = fs::metadata("/").map(|root| root.dev()).ok();
        let disk = |device: &BlockDevice| device.parent().unwrap_or_else(|| device.clone());
        let roots: Vec<BlockDevice> = root.unwrap_or_default().iter().map(disk).collect();
        let is_root_device =
            root_number == Some(found.dev()) || below.iter().any(|device| roots.contains(&disk(device)));
        let is_named_device = config.disk.device.as_ref().map(|identity| {
            let named = self.named(identity);
            !below.is_empty() && below.iter().all(|device| named.contains(device))
        });
        let handle = File::open(path).map_err(ShelterError::io("open", path))?;
        let space = system_calls::space(&handle).map_err(ShelterError::io("ask for the space of", path))?;
        let status = rustix::fs::fstatvfs(&handle).map_err(io::Error::from);
        let free = status.map(|status| status.f_bfree * status.f_frsize);
        let free = free.map_err(ShelterError::io("ask for the space of", path))?;
        Ok(FolderSeen::Mounted(MountSeen {
            is_root_device,
            is_named_device,
            file_system: self.file_system(&mounts, mount)?,
            is_read_only: space.read_only,
            marker: MarkerSeen::Absent,
            others: 0,
            // A restore is done by root: what is reserved for it counts.
            room: Bytes::new(free),
        }))
    }

    fn device(&self, config: &ShelterConfig) -> Result<DeviceSeen, ShelterError> {
        let Some(identity) = &config.disk.device else { return Ok(DeviceSeen::NotNamed) };
        let named = self.named(identity);
        let device = match named.as_slice() {
            [] => return Ok(DeviceSeen::Missing),
            [only] => only,
            _ => return Ok(DeviceSeen::Several),
        };
        let uses = Uses::read(&self.view).map_err(ShelterError::io("read", &self.view.proc))?;
        let found_use = uses.of_device(device.number).map_err(ShelterError::io("look at", node(device)))?;
        if let Some(used) = found_use {
            return Ok(DeviceSeen::InUse(format!("{}: {:?}", used.what, used.how)));
        }
        let path = node(device);
        let (Ok(found), Ok(raw)) = (recognised(&path), is_raw(&path)) else { return Ok(DeviceSeen::Unreadable) };
        let known = [NewFileSystem::Xfs, NewFileSystem::Ext4, NewFileSystem::Btrfs];
        Ok(match found.first() {
            None if raw => DeviceSeen::Raw,
            None => DeviceSeen::Unrecognised,
            Some(first) if known.iter().any(|known| known.name().eq_ignore_ascii_case(first.kind)) => {
                DeviceSeen::FileSystem(first.identity.clone())
            }
            Some(first) => DeviceSeen::Foreign(first.kind.to_owned()),
        })
    }

    fn is_on_disk(&self, config: &ShelterConfig, file: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let point = Path::new(&config.disk.path);
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if real(file).starts_with(real(point)) {
            return true;
        }
        // A bind mount shows the same file system elsewhere.
        let is_mounted = matches!(self.folder(config), Ok(FolderSeen::Mounted(mount)) if !mount.is_root_device);
        let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
        is_mounted && device(file).is_some_and(|of| Some(of) == device(point))
    }

    fn machine(&self) -> String {
        let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        format!("{}, boot {}", read("/etc/machine-id"), read("/proc/sys/kernel/random/boot_id"))
    }

    fn format(&self, config: &ShelterConfig, uuid: &str, left: Option<&str>) -> Result<(), ShelterError> {
        let Some(kind) = config.disk.format else {
            return Err(ShelterError::Unsupported("the configuration asks for no file system".to_owned()));
        };
        // Between the verdict and this, somebody else may have taken the device: it is looked at once more.
        let is_left = match self.device(config)? {
            DeviceSeen::Raw => false,
            DeviceSeen::Unrecognised if left.is_some() => true,
            DeviceSeen::FileSystem(found) if Some(found.as_str()) == left => true,
            other => return Err(ShelterError::Unsupported(format!("the device is not raw any more: {other:?}"))),
        };
        let path = node(&self.only(config)?);
        let of_xfs = format!("uuid={uuid}");
        let (program, options, identity, force) = match kind {
            NewFileSystem::Xfs => ("mkfs.xfs", XFS_OPTIONS, of_xfs.as_str(), "-f"),
            NewFileSystem::Ext4 => ("mkfs.ext4", EXT4_OPTIONS, uuid, "-F"),
            NewFileSystem::Btrfs => ("mkfs.btrfs", BTRFS_OPTIONS, uuid, "-f"),
        };
        let forced: &[&str] = if is_left { &[force] } else { &[] };
        run(program, &[options, &[identity], forced].concat(), &[&path])
    }

    fn mount(&self, config: &ShelterConfig) -> Result<(), ShelterError> {
        let path = node(&self.only(config)?);
        let point = Path::new(&config.disk.path);
        fs::create_dir_all(point).map_err(ShelterError::io("make the folder", point))?;
        let mut words = Vec::new();
        if let Some(kind) = config.disk.format {
            words.extend(["-t", kind.name()]);
        }
        if let Some(options) = &config.disk.mount_options {
            words.extend(["-o", options]);
        }
        run("mount", &words, &[&path, point])
    }

    fn device_name(&self, config: &ShelterConfig) -> Option<String> {
        let mounts = self.all_mounts().ok()?;
        let real = fs::canonicalize(&config.disk.path).ok()?;
        let mount = Self::mount_at(&mounts, &real)?;
        match mounted_on(&self.view, &mounts, mount).as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        }
    }
}
