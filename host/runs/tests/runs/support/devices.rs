//! Devices that tests make: over files, failing on command, of odd sectors, held to rates, in memory. Each is taken down when it is
//! dropped, also when a test fails.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Why a test that wants such a device is left out.
pub(crate) const NO_BAD_DISK: &str = "it takes root, loop devices, nbdkit, nbdfuse and FUSE";

/// Ends the test with a word of why, where something that it takes is missing.
#[macro_export]
macro_rules! or_skip {
    ($what:expr, $why:expr) => {
        match $what {
            Some(got) => got,
            None => {
                println!("skipped: {}", $why);
                return;
            }
        }
    };
}

/// Runs a program to its end; its standard output, or `None` where it is missing or fails.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Waits until something comes true; gives up after a minute, for machines that are busy.
pub(crate) fn wait_until(mut what: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !what() {
        if started.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// A loop device over a file.
pub(crate) struct Loop {
    /// Its path.
    pub(crate) node: String,
}

impl Loop {
    /// Attaches `file`, past the page cache where that is possible.
    pub(crate) fn attach(file: &Path) -> Option<Self> {
        OpenOptions::new().write(true).open("/dev/loop-control").ok()?;
        let file = file.to_str()?;
        let node = run("losetup", &["--find", "--show", "--direct-io=on", file])
            .or_else(|| run("losetup", &["--find", "--show", file]))?;
        Some(Self { node })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.node]);
    }
}

/// The device and all that it stands on.
pub(crate) struct BadDisk {
    device: Option<Loop>,
    nbdfuse: Child,
    nbdkit: Child,
    folder: tempfile::TempDir,
}

impl BadDisk {
    /// A disk of so many MiB that works, until it is told otherwise.
    pub(crate) fn new(mib: u64) -> Option<Self> {
        OpenOptions::new().write(true).open("/dev/loop-control").ok()?;
        let folder = tempfile::tempdir().unwrap();
        let (socket, point) = (folder.path().join("socket"), folder.path().join("point"));
        fs::create_dir(&point).unwrap();
        let mut nbdkit = Command::new("nbdkit")
            .args(["--foreground", "--exit-with-parent", "--unix"])
            .arg(&socket)
            .args(["--filter=error", "memory", &format!("{mib}M"), "error=EIO", "error-rate=100%"])
            .arg(format!("error-file={}", folder.path().join("switch").display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        wait_until(|| socket.exists());
        let nbdfuse = Command::new("nbdfuse")
            .arg(point.join("disk"))
            .arg("--unix")
            .arg(&socket)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(nbdfuse) = nbdfuse else {
            let _ = nbdkit.kill();
            let _ = nbdkit.wait();
            return None;
        };
        // From here on dropping it takes everything down.
        let mut disk = Self { device: None, nbdfuse, nbdkit, folder };
        wait_until(|| disk.file().exists());
        disk.device = Some(Loop::attach(&disk.file())?);
        Some(disk)
    }
    fn file(&self) -> PathBuf {
        self.folder.path().join("point/disk")
    }
    /// The block device.
    pub(crate) fn node(&self) -> &str {
        &self.device.as_ref().expect("it was attached when the disk was made").node
    }
    /// Waits until no process has the device for itself: requests of one that has ended may be on their way still.
    pub(crate) fn wait_until_free(&self) {
        /// `O_EXCL` of Linux on every architecture but Alpha, HPPA, MIPS and SPARC.
        const EXCLUSIVE: i32 = 0o200;
        assert!(wait_until(|| OpenOptions::new().read(true).custom_flags(EXCLUSIVE).open(self.node()).is_ok()));
    }
    /// Every request fails until what is returned is dropped.
    pub(crate) fn fail(&self) -> Failing {
        let switch = self.folder.path().join("switch");
        fs::write(&switch, "").unwrap();
        Failing { switch }
    }
    /// Answers nothing until what is returned is dropped.
    pub(crate) fn pause(&self) -> Paused {
        let process = self.nbdkit.id().to_string();
        run("kill", &["-STOP", &process]).expect("it is our child");
        Paused { process }
    }
}

impl Drop for BadDisk {
    fn drop(&mut self) {
        self.device = None;
        run("umount", &["--lazy", self.folder.path().join("point").to_str().unwrap()]);
        for child in [&mut self.nbdfuse, &mut self.nbdkit] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A disk that fails until this is dropped.
pub(crate) struct Failing {
    switch: PathBuf,
}

impl Drop for Failing {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.switch);
    }
}

/// A process that is stopped until this is dropped.
pub(crate) struct Paused {
    process: String,
}

impl Drop for Paused {
    fn drop(&mut self) {
        run("kill", &["-CONT", &self.process]);
    }
}

/// A loop device with sectors of so many bytes, detached when dropped.
pub(crate) struct Sectors(pub(crate) String);

impl Sectors {
    /// Over a file of 16 MiB that is made anew.
    pub(crate) fn attach(file: &Path, bytes: &str) -> Option<Self> {
        fs::File::create(file).unwrap().set_len(16 << 20).unwrap();
        OpenOptions::new().write(true).open("/dev/loop-control").ok()?;
        run("losetup", &["--find", "--show", "--sector-size", bytes, file.to_str()?]).map(Self)
    }
}

impl Drop for Sectors {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.0]);
    }
}

/// Memory as a file system, unmounted when dropped.
pub(crate) struct Memory(pub(crate) String);

impl Memory {
    pub(crate) fn mount(point: &Path, options: &str) -> Option<Self> {
        fs::create_dir(point).ok()?;
        let path = point.to_str()?.to_owned();
        run("mount", &["-t", "tmpfs", "-o", options, "none", &path])?;
        Some(Self(path))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        run("umount", &[&self.0]);
    }
}

/// A device that is mounted, unmounted when dropped.
pub(crate) struct Mount(pub(crate) PathBuf);

impl Mount {
    /// On a folder that is made for it.
    pub(crate) fn of(device: &str, point: PathBuf, options: &[&str]) -> Option<Self> {
        fs::create_dir(&point).ok()?;
        run("mount", &[options, &[device, point.to_str()?]].concat())?;
        Some(Self(point))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A process that was killed may still be on its way out.
        for _ in 0..100 {
            if run("umount", &[self.0.to_str().unwrap()]).is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        println!("{} is left behind", self.0.display());
    }
}

/// A control group in which the kernel holds devices to rates.
pub(crate) struct Group(PathBuf);

impl Group {
    /// Each limit is a device, the name of a file of the throttle behind its prefix, and a rate.
    pub(crate) fn new(name: &str, limits: &[(&Loop, &str, u64)]) -> Option<Self> {
        let path = Path::new("/sys/fs/cgroup/blkio").join(format!("loadline-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        for (device, limit, rate) in limits {
            group.limit(device, limit, *rate)?;
        }
        Some(group)
    }
    /// Sets a limit, at once: a device, the name of a file of the throttle behind its prefix, and a rate.
    pub(crate) fn limit(&self, device: &Loop, limit: &str, rate: u64) -> Option<()> {
        let device = device.node.trim_start_matches("/dev/");
        let number = fs::read_to_string(format!("/sys/block/{device}/dev")).ok()?;
        let rule = format!("{} {rate}", number.trim());
        fs::write(self.0.join(format!("blkio.throttle.{limit}")), rule).ok()
    }
    /// Does something within the group: in a thread of its own, whose threads are in the group too.
    pub(crate) fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        within(&self.0, what)
    }
}

/// Does something in a thread of its own, whose threads and processes are in a control group.
fn within<T: Send>(group: &Path, what: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter(group);
            what()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn enter(group: &Path) {
    // The kernel takes 0 for the thread that writes it.
    fs::write(group.join("tasks"), "0").expect("the group is there");
}

/// A share of the CPUs, as the kernel's quota leaves it.
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// So many percent of one CPU.
    pub(crate) fn new(name: &str, percent: u64) -> Option<Self> {
        let path = PathBuf::from(format!("/sys/fs/cgroup/cpu/loadline-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let quota = Self(path);
        fs::write(quota.0.join("cpu.cfs_quota_us"), (percent * 1_000).to_string()).ok()?;
        Some(quota)
    }
    /// Puts the calling thread, and those that it starts, under it.
    pub(crate) fn enter(&self) {
        enter(&self.0);
    }
    /// Does something under it: in a thread of its own, whose threads and processes are under it too.
    pub(crate) fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        within(&self.0, what)
    }
}

/// A control group with so much memory, its page cache included.
pub(crate) struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// So many MiB.
    pub(crate) fn new(name: &str, mib: u64) -> Option<Self> {
        let path = PathBuf::from(format!("/sys/fs/cgroup/memory/loadline-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join("memory.limit_in_bytes"), (mib << 20).to_string()).ok()?;
        Some(group)
    }
    /// Does something in it: in a thread of its own, whose processes are in it too.
    pub(crate) fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        within(&self.0, what)
    }
}

/// A device as swap of the machine, before all other.
pub(crate) struct Swap(String);

impl Swap {
    /// One that was made for it.
    pub(crate) fn on(device: &str) -> Option<Self> {
        run("swapon", &["-p", "100", device])?;
        Some(Self(device.to_owned()))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if run("swapoff", &[&self.0]).is_none() {
            println!("{} is left behind as swap", self.0);
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        wait_until(|| fs::remove_dir(&self.0).is_ok());
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        wait_until(|| fs::remove_dir(&self.0).is_ok());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A thread that has just ended may still be on its way out.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("{} is left behind", self.0.display());
    }
}
