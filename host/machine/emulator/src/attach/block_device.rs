//! Files as block devices, by the system's own program for loop devices.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a block device may take to be made: `losetup` has the file synced first.
const MAKE_MAX: Duration = Duration::from_secs(30);
/// How long `losetup` is waited for where it only releases a device, or its request was ended.
const END_MAX: Duration = Duration::from_secs(2);
/// How long the kernel may take to tell whether a device is in use.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// Between two looks at whether `losetup` has ended.
const LOOK: Duration = Duration::from_millis(2);

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
    /// The file's storage does not answer.
    #[error(
        "cannot make a block device of {file}: `losetup` did not end within {} s, as it waits for the file's storage",
        MAKE_MAX.as_secs()
    )]
    Slow {
        /// The file.
        file: String,
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
    /// `losetup` is missing, refuses or does not end, or the kernel does without direct I/O.
    pub fn over(file: &Path) -> Result<Self, BlockDeviceError> {
        let mut making = BlockDeviceMaking::start(file)?;
        let begun_at = Instant::now();
        loop {
            if let Some(device) = making.poll()? {
                return Ok(device);
            }
            if begun_at.elapsed() > MAKE_MAX {
                return Err(BlockDeviceError::Slow { file: making.file.clone() });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// `/dev/loopN`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file system on it is mounted, or a program holds it; so it is too where the kernel does not tell in time.
    #[must_use]
    pub fn in_use(&self) -> bool {
        in_use(&self.path)
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        let _ = release(&self.path);
    }
}

/// A loop device that is being made. `losetup` waits in the kernel for as long as the file's storage does not answer, and every
/// other `losetup` of this machine with it: a caller ends the mount if that takes too long. Dropped, it is
/// waited for a little, and the device is released.
#[derive(Debug)]
pub struct BlockDeviceMaking {
    child: Option<Child>,
    file: String,
}

impl BlockDeviceMaking {
    /// Begins to make one, with direct I/O.
    ///
    /// # Errors
    /// `losetup` is missing.
    pub fn start(file: &Path) -> Result<Self, BlockDeviceError> {
        let mut command = Command::new("losetup");
        let child = start(command.args(["--find", "--show", "--direct-io=on"]).arg(file));
        let file = file.display().to_string();
        match child {
            Ok(child) => Ok(Self { child: Some(child), file }),
            Err(error) => Err(BlockDeviceError::Losetup { file, error: error.to_string() }),
        }
    }

    /// The device, once it is made; `None`: not yet, or it was given already.
    ///
    /// # Errors
    /// `losetup` refuses, or the kernel does without direct I/O.
    pub fn poll(&mut self) -> Result<Option<BlockDevice>, BlockDeviceError> {
        let failed =
            |file: &str, error: io::Error| BlockDeviceError::Losetup { file: file.into(), error: error.to_string() };
        let Some(child) = &mut self.child else { return Ok(None) };
        if child.try_wait().map_err(|error| failed(&self.file, error))?.is_none() {
            return Ok(None);
        }
        let child = self.child.take().expect("it was there");
        let output = output(child).map_err(|error| failed(&self.file, error))?;
        let device = BlockDevice { path: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()) };
        if attribute(&device.path, "loop/dio").is_some_and(|direct| direct != "1") {
            let path = device.path.display().to_string();
            return Err(BlockDeviceError::Buffered { device: path, file: self.file.clone() });
        }
        Ok(Some(device))
    }
}

impl Drop for BlockDeviceMaking {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if ended_within(&mut child, END_MAX) {
            if let Ok(output) = output(child) {
                let _ = release(Path::new(String::from_utf8_lossy(&output.stdout).trim()));
            }
        } else {
            let _ = child.kill();
        }
    }
}

/// Releases a loop device: at once, or when nobody uses it any more.
pub(super) fn release(device: &Path) -> io::Result<()> {
    run(Command::new("losetup").arg("--detach").arg(device)).map(drop)
}

/// Whether a file system on a block device is mounted, or a program holds it.
pub(super) fn in_use(device: &Path) -> bool {
    let (told, answer) = mpsc::channel();
    let path = device.to_owned();
    // A program that closes the device may wait for its storage, and everyone who opens it waits for that.
    std::thread::spawn(move || {
        let exclusive = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, exclusive, rustix::fs::Mode::empty());
        let busy = matches!(opened, Err(rustix::io::Errno::BUSY));
        // Before its name is shown: nobody finds the device held by this look.
        drop(opened);
        let _ = told.send(busy);
    });
    answer.recv_timeout(LOOK_MAX).unwrap_or(true)
}

/// Whether a loop device that was released is over no file any more; waited for a little, as other programs look at devices for a
/// moment.
pub(super) fn is_free(device: &Path) -> bool {
    let begun_at = Instant::now();
    while attribute(device, "loop/backing_file").is_some() {
        if begun_at.elapsed() > LOOK_MAX {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
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

/// Runs a program to its end, or gives up and leaves it to the kernel.
fn run(command: &mut Command) -> io::Result<Output> {
    let mut child = start(command)?;
    if ended_within(&mut child, END_MAX) {
        return output(child);
    }
    let _ = child.kill();
    Err(io::Error::new(io::ErrorKind::TimedOut, "it waits in the kernel, for storage that does not answer"))
}

fn start(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

fn ended_within(child: &mut Child, most: Duration) -> bool {
    let begun_at = Instant::now();
    // An error leaves nothing to wait for.
    while matches!(child.try_wait(), Ok(None)) {
        if begun_at.elapsed() > most {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// What a program said that has ended.
fn output(child: Child) -> io::Result<Output> {
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(if said.is_empty() { format!("it ended with {}", output.status) } else { said }))
}
