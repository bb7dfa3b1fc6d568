//! Loop devices, mounts and swap for tests, taken down again when dropped, also when a test fails.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a program to its end; its standard output, or `None` where it is missing or fails.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    if !output.status.success() {
        println!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Why a test cannot run here, if it cannot: it takes root and a free loop device.
pub(crate) fn obstacle() -> Option<&'static str> {
    if !Path::new("/dev/loop-control").exists() {
        Some("this machine has no loop devices")
    } else if fs::OpenOptions::new().write(true).open("/dev/loop-control").is_err() {
        Some("it takes root to attach loop devices")
    } else {
        None
    }
}

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

/// An image file in a directory of its own.
pub(crate) struct Image {
    directory: tempfile::TempDir,
}

impl Image {
    pub(crate) fn new(mib: u64) -> Self {
        Self::under(&std::env::temp_dir(), mib)
    }
    /// In memory, where no disk holds it up; where there is no such place, with other temporary files.
    pub(crate) fn in_memory(mib: u64) -> Self {
        let memory = Path::new("/dev/shm");
        Self::under(if memory.is_dir() { memory } else { Path::new("/tmp") }, mib)
    }
    fn under(folder: &Path, mib: u64) -> Self {
        let directory = tempfile::tempdir_in(folder).unwrap();
        File::create_new(directory.path().join("image")).unwrap().set_len(mib << 20).unwrap();
        Self { directory }
    }
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("image")
    }
    /// A path beside the image.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
    /// Formats it; `None` where the program is missing.
    pub(crate) fn format(&self, program: &str, arguments: &[&str]) -> Option<()> {
        let path = self.path();
        let mut arguments = arguments.to_vec();
        arguments.push(path.to_str().unwrap());
        run(program, &arguments).map(drop)
    }
    /// A fingerprint of its contents, after what is dirty anywhere has been written to it.
    pub(crate) fn contents(&self) -> u32 {
        run("sync", &["-f", self.path().to_str().unwrap()]);
        crc32fast::hash(&fs::read(self.path()).unwrap())
    }
}

/// An attached loop device.
pub(crate) struct Loop {
    pub(crate) node: String,
    /// The file that it shows, as the kernel names it.
    image: PathBuf,
}

impl Loop {
    /// Attaches the image; partitions are allowed on it.
    pub(crate) fn attach(image: &Path) -> Option<Self> {
        Self::attach_with(image, "--direct-io=off")
    }
    /// Attaches the image so that no request for it is answered from the page cache.
    pub(crate) fn attach_uncached(image: &Path) -> Option<Self> {
        Self::attach_with(image, "--direct-io=on")
    }
    /// Attaches the image so that the kernel has it read-only until it is detached. What `blockdev --setro` says would stay
    /// with the device, for its next user.
    pub(crate) fn attach_read_only(image: &Path) -> Option<Self> {
        Self::attach_with(image, "--read-only")
    }
    fn attach_with(image: &Path, option: &str) -> Option<Self> {
        if let Some(why) = obstacle() {
            println!("{why}");
            return None;
        }
        let node = run("losetup", &["--find", "--show", "--partscan", option, image.to_str()?])?;
        Some(Self { node, image: fs::canonicalize(image).ok()? })
    }
    /// The file that the device shows now, if any.
    fn shown(&self) -> Option<PathBuf> {
        let file = fs::read_to_string(format!("/sys/block/{}/loop/backing_file", self.name())).ok()?;
        Some(PathBuf::from(file.trim_end()))
    }
    /// Whether the device still shows the image. Detached, its node is the next test's.
    pub(crate) fn shows_its_image(&self) -> bool {
        self.shown().is_some_and(|file| file == self.image)
    }
    /// Writes that devices of its number have completed.
    pub(crate) fn written(&self) -> u64 {
        let counts = fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        counts.split_ascii_whitespace().nth(4).unwrap().parse().unwrap()
    }
    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        self.node.trim_start_matches("/dev/")
    }
    /// The node of the first partition, which the kernel is told of where it does not read the table itself.
    pub(crate) fn first_partition(&self, start_sector: u64, sectors: u64) -> Option<String> {
        let node = format!("{}p1", self.node);
        if !Path::new(&node).exists() {
            run("addpart", &[&self.node, "1", &start_sector.to_string(), &sectors.to_string()])?;
        }
        Path::new(&node).exists().then_some(node)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Shown nothing, it is free, and may be another's the moment after. An image that was removed, or whose file system went away,
        // has another name by now: no file is there under it.
        let is_ours = self.shown().is_some_and(|file| file == self.image || !file.exists());
        if is_ours {
            run("losetup", &["--detach", &self.node]);
        }
    }
}

/// A mounted file system.
pub(crate) struct Mount {
    point: tempfile::TempDir,
}

impl Mount {
    pub(crate) fn new(source: &str, options: &str) -> Option<Self> {
        Self::with(&["-o", options, source])
    }
    /// Mounts with these arguments, the mount point apart.
    pub(crate) fn with(arguments: &[&str]) -> Option<Self> {
        let point = tempfile::tempdir().unwrap();
        run("mount", &[arguments, &[point.path().to_str()?]].concat())?;
        Some(Self { point })
    }
    pub(crate) fn path(&self) -> &Path {
        self.point.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let point = self.point.path().to_str().unwrap();
        if run("umount", &[point]).is_none() {
            run("umount", &["--lazy", point]);
        }
    }
}

/// Active swap.
pub(crate) struct Swap {
    path: String,
}

impl Swap {
    /// Formats and activates it, with the lowest priority so that nothing is swapped to it.
    pub(crate) fn on(path: &str) -> Option<Self> {
        run("mkswap", &[path])?;
        run("swapon", &["--priority", "0", path])?;
        Some(Self { path: path.to_owned() })
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        run("swapoff", &[&self.path]);
    }
}
