//! The targets of the tools: loop devices over memory, mounts, control groups; each is removed when dropped.

use crate::process::{Stop, tool};
use anyhow::{Context, Result, bail};
use loadline_units::{Bytes, Iops};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file system in memory.
const MEMORY: &str = "/dev/shm";
/// Control groups, version 1, of the block layer.
const BLKIO: &str = "/sys/fs/cgroup/blkio";
/// Random data is copied in pieces of this size, between which an end by the user is noticed.
const PIECE: u64 = 32 << 20;

/// Why loop devices cannot be had here, if they cannot.
pub(crate) fn obstacle() -> Option<String> {
    if !Path::new(MEMORY).is_dir() {
        return Some(format!("there is no {MEMORY}"));
    }
    let control = fs::OpenOptions::new().write(true).open("/dev/loop-control");
    control.err().map(|error| format!("loop devices take root and /dev/loop-control ({error})"))
}

/// Prints an error of a removal, since nothing else can be done about it.
fn complain(result: Result<String>) {
    if let Err(error) = result {
        eprintln!("cleaning up: {error:#}");
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

/// A folder in memory for backing files.
pub(crate) fn memory_folder() -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("loadline-bench-")
        .tempdir_in(MEMORY)
        .with_context(|| format!("no folder in {MEMORY}"))
}

/// Makes `path` a file of `size` random bytes, so that no layer can cheat.
pub(crate) fn random_file(path: &Path, size: Bytes, stop: &Stop) -> Result<()> {
    let mut file = File::create_new(path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut random = File::open("/dev/urandom").context("no random data")?;
    let mut left = size.get();
    while left > 0 {
        stop.check()?;
        let copied = io::copy(&mut random.by_ref().take(left.min(PIECE)), &mut file)
            .with_context(|| format!("cannot fill {}", path.display()))?;
        left -= copied;
    }
    file.sync_all().with_context(|| format!("cannot write back {}", path.display()))
}

/// An attached loop device.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) node: PathBuf,
}

impl Loop {
    pub(crate) fn attach(image: &Path) -> Result<Self> {
        Ok(Self { node: tool("losetup", &["--find", "--show", text(image)?])?.into() })
    }
    /// As [`Loop::attach`], past the page cache.
    pub(crate) fn attach_direct(image: &Path) -> Result<Self> {
        Ok(Self { node: tool("losetup", &["--find", "--show", "--direct-io=on", text(image)?])?.into() })
    }
    /// The kernel's name.
    pub(crate) fn name(&self) -> Result<&str> {
        self.node.file_name().and_then(|name| name.to_str()).context("a loop device has a name")
    }
    /// "major:minor", as control groups want it.
    fn number(&self) -> Result<String> {
        let path = format!("/sys/block/{}/dev", self.name()?);
        Ok(fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?.trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        complain(text(&self.node).and_then(|node| tool("losetup", &["--detach", node])));
    }
}

/// A loop device with random contents. Fields are dropped in this order.
#[derive(Debug)]
pub(crate) struct MemoryDisk {
    pub(crate) device: Loop,
    _folder: tempfile::TempDir,
}

impl MemoryDisk {
    pub(crate) fn new(size: Bytes, stop: &Stop) -> Result<Self> {
        let folder = memory_folder()?;
        let image = folder.path().join("disk");
        random_file(&image, size, stop)?;
        Ok(Self { device: Loop::attach(&image)?, _folder: folder })
    }
}

/// A mounted file system; thawed, should it be frozen, and unmounted.
#[derive(Debug)]
struct Mount {
    point: tempfile::TempDir,
}

impl Mount {
    fn new(source: &Path) -> Result<Self> {
        let point = tempfile::Builder::new().prefix("loadline-bench-").tempdir()?;
        tool("mount", &[text(source)?, text(point.path())?])?;
        Ok(Self { point })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let Ok(point) = text(self.point.path()) else { return };
        // Not frozen is the rule, and an error to fsfreeze.
        let _ = tool("fsfreeze", &["--unfreeze", point]);
        complain(tool("umount", &[point]).or_else(|_| tool("umount", &["--lazy", point])));
    }
}

/// A file of random data on ext4 over memory. Fields are dropped in this order.
#[derive(Debug)]
pub(crate) struct FileOnExt4 {
    mount: Mount,
    /// The device below the file system.
    pub(crate) device: Loop,
    _folder: tempfile::TempDir,
}

impl FileOnExt4 {
    pub(crate) fn new(size: Bytes, stop: &Stop) -> Result<Self> {
        let folder = memory_folder()?;
        let image = folder.path().join("disk");
        // Journal and tables beside the file itself.
        let whole = size.get() + size.get() / 8 + (64 << 20);
        File::create_new(&image).and_then(|file| file.set_len(whole)).context("cannot make a backing file")?;
        tool("mkfs.ext4", &["-q", "-F", text(&image)?])?;
        let device = Loop::attach(&image)?;
        let mount = Mount::new(&device.node)?;
        let made = Self { mount, device, _folder: folder };
        random_file(&made.path(), size, stop)?;
        Ok(made)
    }
    pub(crate) fn path(&self) -> PathBuf {
        self.mount.point.path().join("data")
    }
    /// The mount point, for freezing.
    pub(crate) fn mount_point(&self) -> Result<&str> {
        text(self.mount.point.path())
    }
}

/// A loop device whose writes stall while the file system below it is frozen. Fields are dropped in this order.
#[derive(Debug)]
pub(crate) struct StallingDisk {
    pub(crate) device: Loop,
    file: FileOnExt4,
}

impl StallingDisk {
    pub(crate) fn new(size: Bytes, stop: &Stop) -> Result<Self> {
        let file = FileOnExt4::new(size, stop)?;
        Ok(Self { device: Loop::attach(&file.path())?, file })
    }
    /// A stall of `length`, `after` from now, on a separate thread; joining it returns whether it happened.
    pub(crate) fn stall(
        &self,
        after: std::time::Duration,
        length: std::time::Duration,
    ) -> Result<std::thread::JoinHandle<Result<()>>> {
        let point = self.file.mount_point()?.to_owned();
        Ok(std::thread::spawn(move || {
            // Freezing writes back first; after that, it works at once.
            std::thread::sleep(after.saturating_sub(std::time::Duration::from_millis(100)));
            tool("sync", &["--file-system", &point])?;
            std::thread::sleep(std::time::Duration::from_millis(100));
            let begun = std::time::Instant::now();
            tool("fsfreeze", &["--freeze", &point])?;
            std::thread::sleep(length.saturating_sub(begun.elapsed()));
            tool("fsfreeze", &["--unfreeze", &point])?;
            Ok(())
        }))
    }
}

/// A control group that bounds reads from one device.
#[derive(Debug)]
pub(crate) struct Throttle {
    pub(crate) group: PathBuf,
}

impl Throttle {
    /// Why it cannot be had here, if it cannot.
    pub(crate) fn obstacle() -> Option<String> {
        let file = Path::new(BLKIO).join("cgroup.procs");
        (!file.exists()).then(|| format!("there is no {} (control groups, version 1)", file.display()))
    }
    pub(crate) fn reads(device: &Loop, rate: Iops) -> Result<Self> {
        let group = Path::new(BLKIO).join(format!("loadline-bench-{}", std::process::id()));
        fs::create_dir(&group).with_context(|| format!("cannot make {}", group.display()))?;
        let made = Self { group };
        let file = made.group.join("blkio.throttle.read_iops_device");
        if !file.exists() {
            bail!("this kernel cannot throttle: {} is missing", file.display());
        }
        let line = format!("{} {}", device.number()?, rate.get());
        fs::write(&file, &line).with_context(|| format!("cannot write {line:?} to {}", file.display()))?;
        Ok(made)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // A process that was just ended leaves its group a moment later.
        for _ in 0..50 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("cleaning up: cannot remove {}", self.group.display());
    }
}
