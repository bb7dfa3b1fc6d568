//! A crawl on emulated disks: the volumes of an environment, attached to this machine, with a file system on each.

use crate::crawl::CrawlVolumes;
use crate::error::CrawlError;
use loadline_catalog::Environment;
use loadline_record::VolumeRole;
use loadline_runs::emulation::{
    AttachMethod, AttachedVolumes, EmulationOptions, EmulationRun, attach_volumes, default_memory,
};
use loadline_units::Bytes;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system takes no more of a volume: making one on a large volume would take long.
const FILE_SYSTEM_MAX: u64 = 16 << 30;
/// Memory for contents, where it is not known how much is free.
const MEMORY_USUAL: Bytes = Bytes::gib(2);

/// Emulated volumes with file systems. All goes when it is dropped.
pub struct EmulatedVolumes {
    folder: PathBuf,
    mounted: Vec<PathBuf>,
    devices: Option<AttachedVolumes>,
    run: Option<EmulationRun>,
    /// Where they are.
    pub volumes: CrawlVolumes,
    /// Volumes of a crawl that the environment does not have.
    pub missing: Vec<VolumeRole>,
}

/// The volume of an environment that serves a role: the one of that name, or the first whose name begins so.
fn volume_for(role: VolumeRole, names: &[String]) -> Option<&String> {
    let name = role.name();
    names.iter().find(|of| *of == name).or_else(|| names.iter().find(|of| of.starts_with(name)))
}

impl EmulatedVolumes {
    /// Emulates an environment and mounts those of its volumes that a crawl uses below a temporary folder. It takes root.
    ///
    /// # Errors
    /// The emulation, its devices, or a file system cannot be made.
    pub fn attach(environment: &Environment, seed: u64) -> Result<Self, CrawlError> {
        let folder = std::env::temp_dir().join(format!("loadline-crawl-disks-{}", std::process::id()));
        let made = std::fs::create_dir_all(&folder);
        made.map_err(CrawlError::folder("make", &folder))?;
        let memory = default_memory().unwrap_or(MEMORY_USUAL);
        let options = EmulationOptions { attached: true, ..EmulationOptions::in_memory(seed, memory) };
        let run = EmulationRun::begin(environment, options)?;
        let mut volumes = Self {
            mounted: Vec::new(),
            devices: None,
            run: None,
            volumes: CrawlVolumes::default(),
            missing: Vec::new(),
            folder,
        };
        let run = volumes.run.insert(run);
        let attached = volumes.folder.join("attached");
        std::fs::create_dir_all(&attached).map_err(CrawlError::folder("make", &attached))?;
        let devices = attach_volumes(run.emulation_mut(), &attached, AttachMethod::Auto, &mut |_| {})
            .map_err(|source| CrawlError::Attach { source: Box::new(source) })?;
        let found: Vec<(String, PathBuf)> =
            devices.devices().map(|(name, device, _)| (name.to_owned(), device.to_owned())).collect();
        volumes.devices = Some(devices);
        let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
        for role in VolumeRole::ALL {
            let Some(name) = volume_for(role, &names) else {
                volumes.missing.push(role);
                continue;
            };
            let (_, device) = found.iter().find(|(of, _)| of == name).expect("the name is one of them");
            let place = volumes.folder.join(role.name());
            volumes.mount(device, &place)?;
            volumes.volumes.set(role.name(), place)?;
        }
        Ok(volumes)
    }

    fn mount(&mut self, device: &Path, place: &Path) -> Result<(), CrawlError> {
        std::fs::create_dir_all(place).map_err(CrawlError::folder("make", place))?;
        let size = File::open(device)
            .and_then(|mut opened| opened.seek(SeekFrom::End(0)))
            .map_err(CrawlError::folder("open", device))?;
        let kib = (size.min(FILE_SYSTEM_MAX) >> 10).to_string();
        // What is left for later would be written while the crawl is measured: it is never written (noinit_itable).
        let made = Command::new("mkfs.ext4")
            .args(["-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"])
            .arg(device)
            .arg(kib)
            .output()
            .map_err(CrawlError::folder("make a file system (mkfs.ext4) on", device))?;
        if !made.status.success() {
            let why = std::io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned());
            return Err(CrawlError::folder("make a file system (mkfs.ext4) on", device)(why));
        }
        mount(device, place, "ext4", MountFlags::NOATIME, c"noinit_itable")
            .map_err(|error| CrawlError::folder("mount", device)(error.into()))?;
        self.mounted.push(place.to_owned());
        Ok(())
    }
}

impl Drop for EmulatedVolumes {
    fn drop(&mut self) {
        for place in self.mounted.iter().rev() {
            // Whatever still uses it keeps it until it is done with it.
            if unmount(place, UnmountFlags::empty()).is_err() {
                let _ = unmount(place, UnmountFlags::DETACH);
            }
        }
        let unfinished = self.devices.take().map(|devices| devices.release(&mut |_| {}));
        if let Some(run) = self.run.take() {
            drop(run.end());
        }
        drop(unfinished);
        // Nothing is in it any more but empty folders.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_found_by_their_names_and_by_how_these_begin() {
        let names = ["log", "data", "index-1", "index-2", "backup"].map(str::to_owned);
        let found = VolumeRole::ALL.map(|role| volume_for(role, &names).map(String::as_str));
        assert_eq!(found, [Some("index-1"), Some("data"), Some("log")]);
    }
}
