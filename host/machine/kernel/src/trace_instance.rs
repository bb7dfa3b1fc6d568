//! Events of the kernel in a ring buffer of our own: an instance of tracefs, removed with its owner.
//!
//! tracefs need not be mounted: it is opened as a mount that has no place, and is gone with the process. An instance outlives a process
//! that was killed; its name holds the process id, and [`TraceFs::remove_stale`] removes those whose process is gone.

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Names of our instances begin so; a process id follows.
const NAME: &str = "loadline-";
/// Instances that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// An answer of the system, with what was attempted.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempted}: {source}")]
pub struct TraceFsError {
    attempted: String,
    source: io::Error,
}

impl TraceFsError {
    /// Whether this user may not have it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }
}

fn failed(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> TraceFsError {
    let attempted = attempted.into();
    move |source| TraceFsError { attempted, source }
}

/// The trace file system, mounted nowhere.
#[derive(Debug)]
pub struct TraceFs {
    root: PathBuf,
    /// Keeps the mount.
    _mount: OwnedFd,
}

impl TraceFs {
    /// Opens it.
    ///
    /// # Errors
    /// The system does not allow it (it wants root), or its kernel has no tracing.
    pub fn open() -> Result<Self, TraceFsError> {
        let open = || {
            let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        };
        let mount = open().map_err(|error| failed("open tracefs")(error.into()))?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Ok(Self { root, _mount: mount })
    }

    fn instances(&self) -> PathBuf {
        self.root.join("instances")
    }

    /// Instances of ours whose process is gone, by name.
    #[must_use]
    pub fn stale(&self) -> Vec<String> {
        let is_gone = |name: &str| {
            let pid = name.strip_prefix(NAME).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
        };
        let entries = fs::read_dir(self.instances()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_gone(name)).collect()
    }

    /// Removes the instances of ours whose process is gone; returns their names.
    #[must_use]
    pub fn remove_stale(&self) -> Vec<String> {
        let stale = self.stale();
        stale.into_iter().filter(|name| fs::remove_dir(self.instances().join(name)).is_ok()).collect()
    }
}

/// A ring buffer with events of our own choice.
#[derive(Debug)]
pub struct TraceInstance {
    folder: PathBuf,
    /// Outlives what is read through it.
    _tracefs: TraceFs,
}

impl TraceInstance {
    /// Makes one, with the monotonic clock and so many KiB of buffer for each CPU.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn create(tracefs: TraceFs, buffer_kib: u64) -> Result<Self, TraceFsError> {
        // A process may follow several devices at once.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = tracefs.instances().join(format!("{NAME}{}-{number}", std::process::id()));
        fs::create_dir(&folder).map_err(failed("make an instance of tracefs"))?;
        let instance = Self { folder, _tracefs: tracefs };
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        Ok(instance)
    }

    fn write(&self, file: &str, value: &str) -> Result<(), TraceFsError> {
        fs::write(self.folder.join(file), value).map_err(failed(format!("write {value:?} to {file} of tracefs")))
    }

    /// The description of an event; `None` where the kernel has no such event.
    #[must_use]
    pub fn format(&self, event: &str) -> Option<String> {
        fs::read_to_string(self.folder.join("events").join(event).join("format")).ok()
    }

    /// Has an event written into the buffer, if the filter lets it through.
    ///
    /// # Errors
    /// The kernel refuses the filter.
    pub fn enable(&self, event: &str, filter: &str) -> Result<(), TraceFsError> {
        self.write(&format!("events/{event}/filter"), filter)?;
        self.write(&format!("events/{event}/enable"), "1")
    }

    /// Stops all events.
    ///
    /// # Errors
    /// The system's answer.
    pub fn stop(&self) -> Result<(), TraceFsError> {
        self.write("events/enable", "0")
    }

    /// The buffers of the CPUs.
    ///
    /// # Errors
    /// They cannot be opened.
    pub fn buffers(&self) -> Result<Vec<CpuBuffer>, TraceFsError> {
        let folder = self.folder.join("per_cpu");
        let entries = fs::read_dir(&folder).map_err(failed("list the buffers of tracefs"))?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let open = |name: String| {
            let folder = folder.join(&name);
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(libc::O_NONBLOCK);
            let pages =
                options.open(folder.join("trace_pipe_raw")).map_err(failed(format!("open the buffer of {name}")))?;
            Ok(CpuBuffer { pages, stats: folder.join("stats") })
        };
        names.into_iter().map(open).collect()
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        let _ = self.stop();
        // The readers have closed their buffers by now. An instance that cannot be removed is stale; the next recording removes it.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The buffer of one CPU.
#[derive(Debug)]
pub struct CpuBuffer {
    pages: File,
    stats: PathBuf,
}

impl CpuBuffer {
    /// Reads the next page into `page`; 0: there is none for now.
    ///
    /// # Errors
    /// The system's answer.
    pub fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        match self.pages.read(page) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Events that were dropped so far: overwritten before they were read, or written while the buffer was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let text = fs::read_to_string(&self.stats).unwrap_or_default();
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        ["overrun:", "commit overrun:", "dropped events:"].into_iter().filter_map(value).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_may_not_is_told_from_a_kernel_that_cannot() {
        let answer = |kind: io::ErrorKind| failed("open tracefs")(kind.into());
        assert!(answer(io::ErrorKind::PermissionDenied).is_denied());
        assert!(!answer(io::ErrorKind::Unsupported).is_denied());
    }
}
