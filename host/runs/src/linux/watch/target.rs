//! What is watched: block devices, and the processes that use them.

use crate::{DeclaredEnvironment, Error, WatchError};
use loadline_kernel::counters::watching::{process_ids, process_stat};
use loadline_kernel::facts::{
    BlockDevice, DeviceNumber, KernelView, Storage, mounted_on, mounts, swap_devices, swapped_bytes,
};
use loadline_record::{FileSystemFacts, TargetKind, VolumeFacts};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Devices watched at once.
const DEVICES_MAX: usize = 16;
/// Open files of a process that are asked where they lie.
const OPEN_FILES_MAX: usize = 4_096;

/// The devices of a watch.
#[derive(Debug, Clone)]
pub struct WatchTarget {
    shown: String,
    path: Option<PathBuf>,
    file_system: Option<FileSystemFacts>,
    subject: Option<u32>,
    devices: Vec<BlockDevice>,
}

impl WatchTarget {
    /// What was typed: a process id, a path, the name of a device or of a program that runs; or nothing: every disk that has been used.
    pub(crate) fn find(view: &KernelView, typed: Option<&str>) -> Result<Self, Error> {
        let Some(typed) = typed else { return Self::all(view) };
        if let Ok(pid) = typed.parse::<u32>() {
            return Self::of_process(view, pid);
        }
        let path = Path::new(typed);
        match fs::canonicalize(path) {
            Ok(path) => Self::below(view, typed, path),
            Err(error) => {
                let no_target = WatchError::NoTarget { typed: typed.to_owned(), source: error };
                if typed.contains('/') {
                    return Err(no_target.into());
                }
                if let Some(device) = BlockDevice::by_name(view, typed) {
                    return Self::of(typed.to_owned(), None, None, vec![device]);
                }
                match running(view, typed).as_slice() {
                    [] => Err(no_target.into()),
                    [one] => Self::of_process(view, *one),
                    several => {
                        Err(WatchError::SeveralProcesses { name: typed.to_owned(), pids: several.to_vec() }.into())
                    }
                }
            }
        }
    }

    /// Several, as one; of none every disk.
    ///
    /// # Errors
    /// As of [`WatchTarget::find`].
    pub(crate) fn find_all(view: &KernelView, typed: &[String]) -> Result<Self, Error> {
        let Some((first, more)) = typed.split_first() else { return Self::find(view, None) };
        let mut all = Self::find(view, Some(first))?;
        for typed in more {
            let other = Self::find(view, Some(typed))?;
            let new: Vec<BlockDevice> = other.devices.into_iter().filter(|own| !all.devices.contains(own)).collect();
            let devices = all.devices.into_iter().chain(new).collect();
            let subject = all.subject.xor(other.subject);
            all = Self { subject, ..Self::of(format!("{}, {}", all.shown, other.shown), None, None, devices)? };
        }
        Ok(all)
    }

    /// Without one of its devices; `None` where that is the only one.
    pub(super) fn without(&self, device: &str) -> Option<Self> {
        let mut others = self.clone();
        others.devices.retain(|own| own.name != device);
        (!others.devices.is_empty()).then_some(others)
    }

    fn below(view: &KernelView, typed: &str, path: PathBuf) -> Result<Self, Error> {
        let metadata =
            fs::metadata(&path).map_err(|source| WatchError::NoTarget { typed: typed.to_owned(), source })?;
        if metadata.file_type().is_block_device() {
            let device = BlockDevice::by_number(view, DeviceNumber::from_raw(metadata.rdev()));
            return Self::of(typed.to_owned(), Some(path), None, device.into_iter().collect());
        }
        let file = File::open(&path).map_err(|source| WatchError::NoTarget { typed: typed.to_owned(), source })?;
        let storage = Storage::below(view, &file, &path);
        let devices = storage.counted.iter().filter_map(|name| BlockDevice::by_name(view, name)).collect();
        Self::of(typed.to_owned(), Some(path), storage.file_system, devices)
    }

    /// The devices on which a process and its descendants have files open; else that of the folder in which it works.
    fn of_process(view: &KernelView, pid: u32) -> Result<Self, Error> {
        let mut buffer = String::new();
        let stat = process_stat(view, pid, &mut buffer).ok_or(WatchError::NoProcess { pid })?;
        let mut used: HashMap<DeviceNumber, u64> = HashMap::new();
        let members = family(view, pid);
        for member in &members {
            let folder = view.proc.join(member.to_string()).join("fd");
            let open = match fs::read_dir(&folder) {
                Ok(open) => open,
                // What descends from it may end meanwhile, or be another user's.
                Err(_) if *member != pid => continue,
                Err(source) => return Err(not_shown(pid, stat.name, folder, source).into()),
            };
            for entry in open.flatten().take(OPEN_FILES_MAX) {
                let Ok(found) = fs::metadata(entry.path()) else { continue };
                let kind = found.file_type();
                if kind.is_block_device() {
                    *used.entry(DeviceNumber::from_raw(found.rdev())).or_default() += 1;
                } else if kind.is_file() || kind.is_dir() {
                    *used.entry(DeviceNumber::from_raw(found.dev())).or_default() += 1;
                }
            }
        }
        let mut numbers: Vec<(DeviceNumber, u64)> = used.into_iter().collect();
        numbers.sort_by_key(|(number, files)| (std::cmp::Reverse(*files), number.major, number.minor));
        let mut devices: Vec<BlockDevice> = Vec::new();
        let all = mounts(view).unwrap_or_default();
        for (number, _) in numbers {
            let own = BlockDevice::by_number(view, number);
            let mounted = || {
                let mount = all.iter().find(|mount| mount.number == number);
                mount.map(|mount| mounted_on(view, &all, mount)).unwrap_or_default()
            };
            let found = own.map_or_else(mounted, |own| vec![own]);
            let new: Vec<BlockDevice> = found.into_iter().filter(|device| !devices.contains(device)).collect();
            devices.extend(new);
        }
        let (mut path, mut file_system) = (None, None);
        if devices.is_empty()
            && let Ok(folder) = fs::canonicalize(view.proc.join(pid.to_string()).join("cwd"))
            && let Ok(file) = File::open(&folder)
        {
            let storage = Storage::below(view, &file, &folder);
            devices = storage.counted.iter().filter_map(|name| BlockDevice::by_name(view, name)).collect();
            (path, file_system) = (Some(folder), storage.file_system);
        }
        // Of a program whose memory was taken away the disk with its memory is one that it waits for.
        if members.iter().any(|member| swapped_bytes(view, *member).is_some_and(|bytes| bytes > 0)) {
            let swaps = swap_devices(view).into_iter().filter(BlockDevice::counts_io);
            let swaps: Vec<BlockDevice> = swaps.filter(|device| !devices.contains(device)).collect();
            devices.extend(swaps);
        }
        let shown = format!("{pid} ({})", stat.name);
        Ok(Self { subject: Some(pid), ..Self::of(shown, path, file_system, devices)? })
    }

    /// Every disk that has answered a request since the machine started, the busiest first.
    fn all(view: &KernelView) -> Result<Self, Error> {
        let answered = |device: &BlockDevice| {
            let stat = device.attribute("stat")?;
            let numbers: Vec<u64> = stat.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
            Some(numbers.first()? + numbers.get(4)?)
        };
        let disks = BlockDevice::all(view).into_iter().filter(|device| !device.is_partition());
        let has_contents = |device: &BlockDevice| device.attribute("size").is_some_and(|size| size != "0");
        let mut used: Vec<(u64, BlockDevice)> = disks
            .filter(has_contents)
            .filter_map(|device| Some((answered(&device).filter(|count| *count > 0)?, device)))
            .collect();
        used.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
        Self::of("every disk".to_owned(), None, None, used.into_iter().map(|(_, device)| device).collect())
    }

    /// These devices.
    pub(super) fn of(
        shown: String,
        path: Option<PathBuf>,
        file_system: Option<FileSystemFacts>,
        mut devices: Vec<BlockDevice>,
    ) -> Result<Self, Error> {
        devices.truncate(DEVICES_MAX);
        if devices.is_empty() {
            return Err(WatchError::NoDevice { typed: shown }.into());
        }
        if let Some(silent) = devices.iter().find(|device| !device.counts_io()) {
            return Err(WatchError::NotCounted { device: silent.name.clone() }.into());
        }
        Ok(Self { shown, path, file_system, subject: None, devices })
    }

    /// With the process that uses them.
    pub(super) fn used_by(self, subject: Option<u32>) -> Self {
        Self { subject, ..self }
    }

    /// As people read it.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The process that was named.
    #[must_use]
    pub const fn subject(&self) -> Option<u32> {
        self.subject
    }

    /// The kernel's names of the devices.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().map(|device| device.name.as_str())
    }

    pub(crate) fn block_devices(&self) -> &[BlockDevice] {
        &self.devices
    }

    /// The declared volumes that lie on its devices: names of devices, each with that of its volume. Of several volumes, paths say
    /// where they are; a volume that is alone is what is watched.
    pub(super) fn declared(&self, view: &KernelView, environment: &DeclaredEnvironment) -> Vec<(String, String)> {
        let all: Vec<(&str, Option<&str>)> = environment.volumes().collect();
        if let [(only, _)] = all[..] {
            return self.devices().map(|device| (device.to_owned(), only.to_owned())).collect();
        }
        let placed = all.into_iter().filter_map(|(name, path)| {
            let there = Self::find(view, Some(path?)).ok()?;
            let device = self.devices().find(|device| there.devices().any(|other| other == *device))?;
            Some((device.to_owned(), name.to_owned()))
        });
        placed.collect()
    }

    /// The volume that a device is in the record.
    pub(super) fn volume(&self, view: &KernelView, device: &BlockDevice) -> VolumeFacts {
        let facts = device.facts(view);
        VolumeFacts {
            name: device.name.clone(),
            target: format!("/dev/{}", device.name),
            kind: TargetKind::BlockDevice,
            path: self.path.as_ref().map(|path| path.display().to_string()),
            size_bytes: facts.size_bytes,
            size_reason: "the whole device is watched".to_owned(),
            direct: true,
            direct_reason: None,
            file_system: self.file_system.clone(),
            devices: vec![facts],
            extents: None,
        }
    }
}

/// Why the open files of a process are not shown.
fn not_shown(pid: u32, name: String, folder: PathBuf, source: io::Error) -> WatchError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => WatchError::DeniedProcess { pid, name, folder, source },
        _ => WatchError::NoProcess { pid },
    }
}

/// A process and all that descend from it.
pub(super) fn family(view: &KernelView, pid: u32) -> Vec<u32> {
    let mut buffer = String::new();
    let parents: Vec<(u32, u32)> = process_ids(view)
        .into_iter()
        .filter_map(|child| Some((child, process_stat(view, child, &mut buffer)?.parent)))
        .collect();
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        let children = parents.iter().filter(|(child, of)| *of == parent && !family.contains(child));
        family.extend(children.map(|(child, _)| *child).collect::<Vec<_>>());
        next += 1;
    }
    family
}

/// Letters of a program's name that the kernel keeps.
const NAME_MAX: usize = 15;

/// The processes that run a program of this name, without those that another of them started: a server, not its workers.
fn running(view: &KernelView, name: &str) -> Vec<u32> {
    let mut buffer = String::new();
    let kept = name.char_indices().take_while(|(start, letter)| start + letter.len_utf8() <= NAME_MAX);
    let kept: String = kept.map(|(_, letter)| letter).collect();
    let own = std::process::id();
    let named: Vec<(u32, u32)> = process_ids(view)
        .into_iter()
        .filter_map(|pid| {
            let stat = process_stat(view, pid, &mut buffer).filter(|stat| !stat.is_kernel && stat.name == kept)?;
            (pid != own).then_some((pid, stat.parent))
        })
        .collect();
    let first = |parent: u32| !named.iter().any(|(pid, _)| *pid == parent);
    let mut pids: Vec<u32> = named.iter().filter(|(_, parent)| first(*parent)).map(|(pid, _)| *pid).collect();
    pids.sort_unstable();
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_and_its_workers_are_no_other() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView { proc: root.path().join("proc"), ..KernelView::live() };
        let tail = "0 ".repeat(40);
        for (pid, name, parent) in
            [(10, "postgres", 1), (11, "postgres", 10), (12, "postgres", 10), (20, "fio", 1), (21, "fio", 1)]
        {
            let folder = view.proc.join(pid.to_string());
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{pid} ({name}) S {parent} {tail}")).unwrap();
        }
        assert_eq!(running(&view, "postgres"), [10]);
        assert_eq!(running(&view, "fio"), [20, 21]);
        assert_eq!(running(&view, "post"), [] as [u32; 0]);
        let several = WatchTarget::find(&view, Some("fio")).unwrap_err().to_string();
        assert!(several.contains("20, 21"), "{several}");
    }

    #[test]
    fn a_process_is_a_family() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        for (pid, parent) in [(10, 1), (11, 10), (12, 11), (20, 1)] {
            let folder = view.proc.join(pid.to_string());
            fs::create_dir_all(&folder).unwrap();
            let text = format!("{pid} (p) S {parent} 1 1 0 -1 0 0 0 0 0 5 5 0 0");
            fs::write(folder.join("stat"), text).unwrap();
        }
        assert_eq!(family(&view, 10), [10, 11, 12]);
    }

    #[test]
    fn a_process_with_memory_in_swap_uses_the_device_of_the_swap() {
        let live = KernelView::live();
        let node = |device: &BlockDevice| Path::new("/dev").join(&device.name);
        let is_usable = |device: &BlockDevice| !device.is_partition() && device.counts_io() && node(device).exists();
        let Some(device) = BlockDevice::all(&live).into_iter().find(is_usable) else {
            println!("skipped: this machine shows no disk");
            return;
        };
        let root = tempfile::tempdir().unwrap();
        let view = KernelView { sys: live.sys, ..KernelView::below(root.path()) };
        let folder = view.proc.join("10");
        fs::create_dir_all(folder.join("fd")).unwrap();
        fs::write(folder.join("stat"), "10 (p) S 1 1 1 0 -1 0 0 0 0 0 5 5 0 0").unwrap();
        let swaps = format!("Filename Type Size Used Priority\n{} partition 1024 512 -2\n", node(&device).display());
        fs::write(view.proc.join("swaps"), swaps).unwrap();
        let of = |swapped: &str| {
            fs::write(folder.join("status"), format!("Name:\tp\nVmSwap:\t{swapped} kB\n")).unwrap();
            WatchTarget::find(&view, Some("10")).map(|target| target.devices().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(of("512").unwrap(), [device.name]);
        assert!(of("0").is_err(), "it uses nothing");
    }

    #[test]
    fn a_process_of_another_user_is_refused_with_what_was_denied_and_what_to_do() {
        let refused = |kind: io::ErrorKind| not_shown(7, "db".to_owned(), "/proc/7/fd".into(), kind.into()).to_string();
        let denied = refused(io::ErrorKind::PermissionDenied);
        for part in ["cannot look into /proc/7/fd: permission denied", "db (7)", "run this as root", "name the device"]
        {
            assert!(denied.contains(part), "{denied}");
        }
        assert_eq!(refused(io::ErrorKind::NotFound), "there is no process 7");
    }

    #[test]
    fn what_is_not_there_is_refused_by_what_was_typed() {
        let view = KernelView::live();
        let error = WatchTarget::find(&view, Some("no-such-disk")).unwrap_err().to_string();
        assert!(error.contains("no-such-disk"), "{error}");
        let error = WatchTarget::find(&view, Some("4294967295")).unwrap_err().to_string();
        assert!(error.contains("4294967295"), "{error}");
    }
}
