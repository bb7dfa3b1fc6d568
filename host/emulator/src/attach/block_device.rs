//! Files as block devices, by the system's own program for loop devices.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Why a file is no block device.
#[derive(Debug, thiserror::Error)]
pub enum BlockDeviceError {
    /// The program is missing, or refused.
    #[error("cannot make a block device of {file} by `losetup`: {error}")]
    Losetup {
        /// The file.
        file: String,
        /// What it said.
        error: String,
    },
    /// It would cache what it reads and writes.
    #[error(
        "the block device {device} over {file} goes through the page cache, as the kernel refused direct I/O: what programs \
         measure there would be memory"
    )]
    Buffered {
        /// The device.
        device: String,
        /// The file.
        file: String,
    },
}

/// A loop device over a file. Dropped, it is released; one that is in use then goes when its last user does.
#[derive(Debug)]
pub struct BlockDevice {
    path: PathBuf,
}

impl BlockDevice {
    /// Makes one, with direct I/O.
    ///
    /// # Errors
    /// `losetup` is missing or refuses, or the kernel does without direct I/O.
    pub fn over(file: &Path) -> Result<Self, BlockDeviceError> {
        let name = file.display().to_string();
        let output = run(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(file));
        let output =
            output.map_err(|error| BlockDeviceError::Losetup { file: name.clone(), error: error.to_string() })?;
        let device = Self { path: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()) };
        if attribute(&device.path, "loop/dio").is_some_and(|direct| direct != "1") {
            return Err(BlockDeviceError::Buffered { device: device.path.display().to_string(), file: name });
        }
        Ok(device)
    }

    /// `/dev/loopN`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file system on it is mounted, or a program holds it.
    #[must_use]
    pub fn in_use(&self) -> bool {
        let exclusive = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
        matches!(rustix::fs::open(&self.path, exclusive, rustix::fs::Mode::empty()), Err(rustix::io::Errno::BUSY))
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        let _ = release(&self.path);
    }
}

/// Releases a loop device: at once, or when nobody uses it any more.
pub(super) fn release(device: &Path) -> io::Result<()> {
    run(Command::new("losetup").arg("--detach").arg(device)).map(drop)
}

/// Loop devices over files of a folder.
pub(super) fn over(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut devices = Vec::new();
    for entry in std::fs::read_dir("/sys/block")? {
        let device = Path::new("/dev").join(entry?.file_name());
        // The kernel marks files of a folder that is gone.
        let file = attribute(&device, "loop/backing_file").map(|file| file.trim_end_matches(" (deleted)").to_owned());
        if file.is_some_and(|file| Path::new(&file).parent() == Some(folder)) {
            devices.push(device);
        }
    }
    devices.sort();
    Ok(devices)
}

fn attribute(device: &Path, name: &str) -> Option<String> {
    let path = Path::new("/sys/block").join(device.file_name()?).join(name);
    Some(std::fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn run(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(if said.is_empty() { format!("it ended with {}", output.status) } else { said }))
}
