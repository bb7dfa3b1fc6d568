//! The file system under a path and the block devices below it.

use super::devices::{BlockDevice, DeviceNumber, KernelView};
use super::mounts::{Mount, mount_of, mounts};
use crate::system_calls;
use loadline_record::{DeviceFacts, FileSystemFacts};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// File systems that are no storage but an interface of the kernel.
pub const PSEUDO_FILE_SYSTEMS: [&str; 18] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// How deep overlays are followed.
pub(super) const OVERLAYS_MAX: u32 = 4;

/// Where an open file, directory or device lies.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    /// The file system; `None` for a block device, or where the kernel does not tell.
    pub file_system: Option<FileSystemFacts>,
    /// The devices whose counters show what reaches storage: the device itself, or the file system's members.
    pub counted: Vec<String>,
    /// Those, then what they are built upon.
    pub devices: Vec<DeviceFacts>,
}

impl Storage {
    /// What lies under `file`, which was opened at `path` (resolved).
    #[must_use]
    pub fn below(view: &KernelView, file: &File, path: &Path) -> Self {
        let Ok(metadata) = file.metadata() else { return Self::default() };
        if metadata.file_type().is_block_device() {
            let device = BlockDevice::by_number(view, DeviceNumber::from_raw(metadata.rdev()));
            return Self::on(view, None, device.into_iter().collect());
        }
        let mounts = mounts(view).unwrap_or_default();
        let mount = mount_of(&mounts, system_calls::extended_status(file).mount_id, path);
        let facts = mount.map(|mount| FileSystemFacts {
            kind: mount.kind.clone(),
            source: mount.source.clone(),
            mount_point: mount.point.to_string_lossy().into_owned(),
            options: all_options(mount),
            free_bytes: system_calls::space(file).ok().map(|s| s.available),
            beneath: beneath(&mounts, mount, path, OVERLAYS_MAX),
        });
        let number = DeviceNumber::from_raw(metadata.dev());
        Self::on(view, facts, members(view, &mounts, mount, number, OVERLAYS_MAX))
    }

    fn on(view: &KernelView, file_system: Option<FileSystemFacts>, top: Vec<BlockDevice>) -> Self {
        let counted = top.iter().map(|d| d.name.clone()).collect();
        let mut all = top;
        let mut next = 0;
        while let Some(device) = all.get(next) {
            let slaves = device.slaves(view);
            all.extend(slaves.into_iter().filter(|s| !all.contains(s)).collect::<Vec<_>>());
            next += 1;
        }
        Self { file_system, counted, devices: all.iter().map(|device| device.facts(view)).collect() }
    }
}

/// Options of the mount and of the file system, each once.
fn all_options(mount: &Mount) -> String {
    let mut options: Vec<&str> = mount.options.split(',').collect();
    for option in mount.super_options.split(',') {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

/// The block devices of what is mounted, as far as the kernel tells without a file opened in it.
#[must_use]
pub fn mounted_on(view: &KernelView, mounts: &[Mount], mount: &Mount) -> Vec<BlockDevice> {
    if PSEUDO_FILE_SYSTEMS.contains(&mount.kind.as_str()) || mount.kind == "overlay" {
        return Vec::new();
    }
    members(view, mounts, Some(mount), mount.number, 0)
}

/// The block devices of a mounted file system.
fn members(
    view: &KernelView,
    mounts: &[Mount],
    mount: Option<&Mount>,
    number: DeviceNumber,
    overlays_left: u32,
) -> Vec<BlockDevice> {
    // Major 0 is anonymous: the file system is spread over several devices, over other file systems, or has none.
    if number.major != 0 {
        return BlockDevice::by_number(view, number).into_iter().collect();
    }
    let Some(mount) = mount else { return Vec::new() };
    let sources: Vec<BlockDevice> =
        mount.source.split(':').filter_map(|part| device_at(view, Path::new(part))).collect();
    if mount.kind == "btrfs" {
        let groups = btrfs_groups(view);
        let group = groups.into_iter().find(|group| sources.iter().any(|s| group.contains(s)));
        return group.unwrap_or(sources);
    }
    if mount.kind == "overlay" && overlays_left > 0 {
        // What is written goes to the upper directory, if it can be seen from here.
        let upper = mount.super_options.split(',').find_map(|o| o.strip_prefix("upperdir=")).map(Path::new);
        if let Some((upper, metadata)) = upper.and_then(|upper| Some((upper, fs::metadata(upper).ok()?))) {
            let below = DeviceNumber::from_raw(metadata.dev());
            let id = File::open(upper).ok().and_then(|f| system_calls::extended_status(&f).mount_id);
            return members(view, mounts, mount_of(mounts, id, upper), below, overlays_left - 1);
        }
    }
    sources
}

/// The type of the file system that has the file or directory at `path` of an overlay: of the layer in which it lies. What is
/// made in a directory goes to the upper layer. `None` for other file systems, and for layers that cannot be seen from here.
pub(super) fn beneath(mounts: &[Mount], overlay: &Mount, path: &Path, overlays_left: u32) -> Option<String> {
    if overlay.kind != "overlay" || overlays_left == 0 {
        return None;
    }
    let layers = |key: &str| overlay.super_options.split(',').find_map(|option| option.strip_prefix(key));
    let upper = layers("upperdir=").map(Path::new);
    let within = path.strip_prefix(&overlay.point).unwrap_or(Path::new(""));
    let found = match upper {
        Some(upper) if path.is_dir() => Some(upper.to_owned()),
        upper => {
            let lower = layers("lowerdir=").into_iter().flat_map(|all| all.split(':')).map(Path::new);
            upper.into_iter().chain(lower).map(|layer| layer.join(within)).find(|file| file.exists())
        }
    }?;
    let id = File::open(&found).ok().and_then(|file| system_calls::extended_status(&file).mount_id);
    let mount = mount_of(mounts, id, &found)?;
    match mount.kind.as_str() {
        "overlay" => beneath(mounts, mount, &found, overlays_left - 1),
        kind => Some(kind.to_owned()),
    }
}

/// The block device whose node `path` is or links to.
fn device_at(view: &KernelView, path: &Path) -> Option<BlockDevice> {
    if !path.is_absolute() {
        return None;
    }
    let metadata = fs::metadata(path).ok().filter(|m| m.file_type().is_block_device())?;
    BlockDevice::by_number(view, DeviceNumber::from_raw(metadata.rdev()))
}

/// The devices of each btrfs that is mounted anywhere, seen from here or not.
#[must_use]
pub fn btrfs_groups(view: &KernelView) -> Vec<Vec<BlockDevice>> {
    let Ok(file_systems) = fs::read_dir(view.sys.join("fs/btrfs")) else { return Vec::new() };
    file_systems
        .filter_map(|entry| fs::read_dir(entry.ok()?.path().join("devices")).ok())
        .map(|members| {
            members.filter_map(|m| BlockDevice::by_name(view, m.ok()?.file_name().to_str()?)).collect::<Vec<_>>()
        })
        .filter(|group| !group.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn a_stack_is_counted_at_its_top_and_described_to_its_bottom() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let top = fake::device(&view, None, "dm-0", "252:0", &[("dm/name", "data")]);
        let below = fake::device(&view, None, "sda", "8:0", &[("device/model", "Disk")]);
        std::os::unix::fs::symlink(&below, top.join("slaves/sda")).unwrap();
        let storage = Storage::on(&view, None, vec![BlockDevice::by_name(&view, "dm-0").unwrap()]);
        assert_eq!(storage.counted, ["dm-0"]);
        let models: Vec<_> = storage.devices.iter().map(|d| d.model.as_deref()).collect();
        assert_eq!(models, [Some("data"), Some("Disk")]);
    }

    #[test]
    fn the_members_of_a_btrfs_are_found_by_its_group() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        for (name, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
            fake::device(&view, None, name, number, &[]);
        }
        let group = view.sys.join("fs/btrfs/0f1e/devices");
        fs::create_dir_all(&group).unwrap();
        for name in ["sda", "sdb"] {
            fs::write(group.join(name), "").unwrap();
        }
        fs::create_dir_all(view.sys.join("fs/btrfs/features")).unwrap();
        let groups = btrfs_groups(&view);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].len(), 2);
    }

    #[test]
    fn a_file_of_an_overlay_lies_where_its_layer_does() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["upper", "lower", "merged"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("upper/new"), "").unwrap();
        fs::write(at("lower/old"), "").unwrap();
        let mount = |id, point: &str, kind: &str, options: String| Mount {
            id,
            number: DeviceNumber { major: 0, minor: id as u32 },
            point: at(point),
            options: String::new(),
            kind: kind.to_owned(),
            source: kind.to_owned(),
            super_options: options,
        };
        let layers = format!("rw,lowerdir={},upperdir={}", at("lower").display(), at("upper").display());
        // Numbers that no mount of this machine has: the paths decide.
        let overlay = mount(u64::MAX, "merged", "overlay", layers);
        let mounts =
            [mount(u64::MAX - 1, "upper", "tmpfs", String::new()), mount(u64::MAX - 2, "lower", "ext4", String::new())];
        let of = |name: &str| beneath(&mounts, &overlay, &at("merged").join(name), OVERLAYS_MAX);
        assert_eq!(of("new").as_deref(), Some("tmpfs"));
        assert_eq!(of("old").as_deref(), Some("ext4"));
        assert_eq!(of("").as_deref(), Some("tmpfs"), "what is made in it goes to the upper layer");
        assert_eq!(beneath(&mounts, &mounts[1], &at("lower/old"), OVERLAYS_MAX), None);
    }

    #[test]
    fn the_file_system_of_the_working_directory_has_a_type_and_free_space() {
        let file = File::open(".").unwrap();
        let storage = Storage::below(&KernelView::live(), &file, &fs::canonicalize(".").unwrap());
        let facts = storage.file_system.unwrap();
        assert!(!facts.kind.is_empty());
        assert!(facts.free_bytes.is_some());
    }
}
