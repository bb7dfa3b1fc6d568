//! Storage that misbehaves on command, put right and taken down again when dropped, also when a test fails.

use crate::loop_devices::{Image, Loop, Mount, obstacle, run};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const NO_SERVER: &str = "no nbdkit, nbdfuse or FUSE";
pub(crate) const NO_LOOP: &str = "no loop device to be had";
pub(crate) const NO_MOUNT: &str = "cannot mount";

/// Waits for something to come true; gives up after a minute, for machines that are busy.
pub(crate) fn wait_until(mut what: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !what() {
        if started.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A disk in the memory of an NBD server, seen as a file through FUSE.
pub(crate) struct Server {
    nbdkit: Child,
    nbdfuse: Child,
    directory: tempfile::TempDir,
}

impl Server {
    /// A disk of this many MiB, each of whose reads and writes fails with EIO while [`Server::switch`] exists: all of them,
    /// or a share such as `5%`.
    pub(crate) fn new(mib: u64, failing: &str) -> Option<Self> {
        if let Some(why) = obstacle() {
            println!("{why}");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let (socket, point) = (directory.path().join("socket"), directory.path().join("point"));
        fs::create_dir(&point).unwrap();
        let nbdkit = Command::new("nbdkit")
            .args(["--foreground", "--exit-with-parent", "--unix"])
            .arg(&socket)
            .args(["--filter=error", "memory", &format!("{mib}M"), "error=EIO"])
            .args([format!("error-pread-rate={failing}"), format!("error-pwrite-rate={failing}")])
            .arg(format!("error-file={}", directory.path().join("switch").display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut nbdkit = Some(nbdkit);
        let nbdfuse = wait_until(|| socket.exists())
            .then(|| {
                Command::new("nbdfuse")
                    .arg(point.join("disk"))
                    .arg("--unix")
                    .arg(&socket)
                    .stdin(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .ok()
            })
            .flatten();
        let Some(nbdfuse) = nbdfuse else {
            let mut nbdkit = nbdkit.take()?;
            let _ = nbdkit.kill();
            let _ = nbdkit.wait();
            return None;
        };
        let server = Self { nbdkit: nbdkit.take()?, nbdfuse, directory };
        wait_until(|| server.disk().exists()).then_some(server)
    }
    /// The disk as a file.
    pub(crate) fn disk(&self) -> PathBuf {
        self.directory.path().join("point/disk")
    }
    /// Makes requests fail from now on.
    pub(crate) fn fail(&self) {
        File::create(self.directory.path().join("switch")).unwrap();
    }
    /// Makes requests succeed again.
    pub(crate) fn heal(&self) {
        let _ = fs::remove_file(self.directory.path().join("switch"));
    }
    /// Answers nothing until what is returned is dropped.
    pub(crate) fn pause(&self) -> Paused {
        Paused::new(&self.nbdkit)
    }
    /// Ends the server; what reads or writes through FUSE finds nobody there.
    pub(crate) fn kill(&mut self) {
        let _ = self.nbdkit.kill();
        let _ = self.nbdkit.wait();
    }
    /// Ends the FUSE server; the file system loses its connection.
    pub(crate) fn kill_fuse(&mut self) {
        let _ = self.nbdfuse.kill();
        let _ = self.nbdfuse.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let point = self.directory.path().join("point");
        // A loop device that a hung request still holds lets go of the file when this process ends.
        run("umount", &["--lazy", point.to_str().unwrap()]);
        self.kill_fuse();
        self.kill();
    }
}

/// A process that is stopped until this is dropped.
pub(crate) struct Paused {
    process: String,
}

impl Paused {
    fn new(child: &Child) -> Self {
        let process = child.id().to_string();
        run("kill", &["-STOP", &process]).expect("it is our child");
        // The signal is on its way: until each thread has stopped, requests are still answered.
        while !stopped(&process) {
            std::thread::yield_now();
        }
        Self { process }
    }
}

/// Whether every thread of a process has stopped, or none is left.
fn stopped(process: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    // The state follows the name, which stands in brackets.
    stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 'Z', 'X'])))
}

impl Drop for Paused {
    fn drop(&mut self) {
        run("kill", &["-CONT", &self.process]);
    }
}

/// A file system that takes no writes until this is dropped.
pub(crate) struct Frozen {
    point: PathBuf,
}

impl Frozen {
    pub(crate) fn new(point: &Path) -> Option<Self> {
        run("fsfreeze", &["--freeze", point.to_str()?])?;
        Some(Self { point: point.to_owned() })
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        run("fsfreeze", &["--unfreeze", self.point.to_str().unwrap()]);
    }
}

/// A fresh file system of this size over a loop device in memory, so that no other load holds it up; what it consists of is dropped in order.
pub(crate) struct FileSystem {
    mount: Mount,
    _device: Loop,
    _image: Image,
}

impl FileSystem {
    pub(crate) fn ext4(mib: u64) -> Option<Self> {
        let image = Image::in_memory(mib);
        image.format("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"])?;
        let device = Loop::attach(&image.path())?;
        let mount = Mount::new(&device.node, "rw")?;
        Some(Self { mount, _device: device, _image: image })
    }
    pub(crate) fn path(&self) -> &Path {
        self.mount.path()
    }
}

/// A file system in memory of this size.
pub(crate) fn memory(mib: u64) -> Option<Mount> {
    Mount::with(&["-t", "tmpfs", "-o", &format!("size={mib}M"), "none"])
}
