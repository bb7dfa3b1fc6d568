//! What shows the disk and prepares it: the machine, or a test.

use crate::error::ShelterError;
use loadline_shelter_policy::config::ShelterConfig;
use loadline_shelter_policy::start::{DeviceSeen, MountSeen};
use std::path::Path;

/// What is at the folder of the disk, without the marker and the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a start")]
pub enum FolderSeen {
    /// It is not there.
    Missing,
    /// It is a plain folder of another file system.
    NotMounted,
    /// Something is mounted there. Marker, entries and room are filled in by the caller.
    Mounted(MountSeen),
}

/// Shows the disk, and prepares it. Only the verdict of a start may ask for the last two.
pub trait DiskProbe: Send {
    /// What is at the folder.
    ///
    /// # Errors
    /// The kernel does not show its mounts.
    fn folder(&self, config: &ShelterConfig) -> Result<FolderSeen, ShelterError>;
    /// The device that the configuration names.
    ///
    /// # Errors
    /// The kernel does not show its devices.
    fn device(&self, config: &ShelterConfig) -> Result<DeviceSeen, ShelterError>;
    /// Whether a file is on the ephemeral disk, by whichever path or link it is reached.
    fn is_on_disk(&self, config: &ShelterConfig, file: &Path) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        real(file).starts_with(real(Path::new(&config.disk.path)))
    }
    /// The machine, as it names itself.
    fn machine(&self) -> String;
    /// Makes the configured file system on the raw device, with this UUID. `left` is the UUID of one that an earlier start began to make:
    /// what it left is made anew.
    ///
    /// # Errors
    /// Something else is on the device by now, or `mkfs` fails.
    fn format(&self, config: &ShelterConfig, uuid: &str, left: Option<&str>) -> Result<(), ShelterError>;
    /// Mounts the device.
    ///
    /// # Errors
    /// `mount` fails.
    fn mount(&self, config: &ShelterConfig) -> Result<(), ShelterError>;
    /// The kernel's name of the mounted device, for its counters.
    fn device_name(&self, config: &ShelterConfig) -> Option<String>;
}
