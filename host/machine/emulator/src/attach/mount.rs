//! A folder in which volumes are files.

use super::block_device::BlockDeviceError;
use super::links;
use super::message::{self, Call, FuseRequest, MESSAGE_MAX, Node, ROOT};
use super::mounted_file::{self, MountedFile};
use crate::answer::{Answer, ModelRequest};
use crate::driver::RoomWaiter;
use crate::meter::bytes_held;
use crate::priority::ThreadPriority;
use crate::service::{AnswerReceiver, Service};
use loadline_kernel::ublk::UblkError;
use loadline_units::Bytes;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Begins what the system's list of mounts has for a device; the number of the process follows.
const SOURCE: &str = "loadline:";
/// The kind of file system, as the system's list of mounts has it.
const KIND: &str = "fuse.loadline";
/// Threads that take requests of the kernel.
const THREADS: usize = 4;
/// A thread needs little: its buffer is elsewhere.
const STACK: usize = 256 << 10;
/// The first file's number.
const FIRST: u64 = ROOT + 1;

/// Why a folder cannot show volumes.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is something in it.
    #[error("{0} is not an empty folder; name one that is empty, or that does not exist yet")]
    Taken(String),
    /// An emulation that was killed left it behind.
    #[error("{0} is still attached by an emulation that was killed; detach it first")]
    Left(String),
    /// Its emulation is alive.
    #[error(
        "{place} is attached by an emulation that is running, as process {process}: end that with Ctrl-C or `kill {process}`, which \
         takes down what is attached"
    )]
    Alive {
        /// The folder.
        place: String,
        /// The number of the process.
        process: u32,
    },
    /// A volume's storage does not answer.
    #[error("a block device was not made within {seconds} s: it waits for the answers of its volume")]
    Slow {
        /// So long.
        seconds: u64,
    },
    /// By ublk.
    #[error(transparent)]
    Ublk(#[from] UblkError),
    /// By loop devices.
    #[error(transparent)]
    Loop(#[from] BlockDeviceError),
    /// The system's answer.
    #[error("cannot {what} {place}: {error}{}", hint(place, error))]
    System {
        /// What was attempted.
        what: &'static str,
        /// On what.
        place: String,
        /// The answer.
        error: io::Error,
    },
}

fn hint(place: &str, error: &io::Error) -> &'static str {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; attaching needs root",
        // Neither its device nor the kind of file system is known where the kernel has no FUSE.
        _ if (is_missing && place == FUSE) || error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {
            "; attaching needs FUSE in the kernel (`modprobe fuse`)"
        }
        _ if is_missing => "; name a folder where folders can be made, such as one under /mnt or /tmp",
        _ => "",
    }
}

/// FUSE's device.
const FUSE: &str = "/dev/fuse";

/// A mounted folder and the threads that serve it. Dropped, it is gone, and programs that still use its files get errors.
#[derive(Debug)]
pub(crate) struct FolderMount {
    folder: PathBuf,
    made: bool,
    service: Arc<Service>,
    shared: Arc<MountShared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct MountShared {
    device: Arc<OwnedFd>,
    folder: Node,
    files: Vec<Arc<MountedFile>>,
    /// The folder is being taken down.
    leaves: AtomicBool,
}

impl FolderMount {
    /// Shows every export as a file: a disk's has a dot in its name, where exports have a slash.
    pub(crate) fn start(service: &Arc<Service>, folder: &Path) -> Result<Self, AttachError> {
        let place = folder.display().to_string();
        let system = |what: &'static str| {
            let place = place.clone();
            move |error: Errno| AttachError::System { what, place: place.clone(), error: error.into() }
        };
        check(folder)?;
        let made = prepare(folder)?;
        let device = rustix::fs::open(FUSE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| AttachError::System { what: "open", place: FUSE.into(), error: error.into() })?;
        let device = Arc::new(device);
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let data = format!(
            "fd={},rootmode=40000,user_id={},group_id={},max_read={}",
            device.as_raw_fd(),
            owner.0,
            owner.1,
            message::TRANSFER_MAX
        );
        let data = CString::new(data).expect("numbers have no zero byte");
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let source = format!("{SOURCE}{}", std::process::id());
        rustix::mount::mount(source, folder, KIND, flags, data.as_c_str()).map_err(system("mount volumes at"))?;
        let files: Vec<Arc<MountedFile>> = service
            .exports()
            .iter()
            .enumerate()
            .map(|(index, export)| {
                let node = MountedFile::node(FIRST + index as u64, export, owner);
                let name = export.info.name.replace('/', ".");
                let number = service.fresh_number();
                Arc::new(MountedFile::new(number, name, node, Arc::clone(export), Arc::clone(&device)))
            })
            .collect();
        for file in &files {
            service.enter(file.number(), Arc::clone(file) as Arc<dyn AnswerReceiver>);
        }
        let size = files.iter().map(|file| file.node.size.get()).fold(0, u64::saturating_add);
        let folder_node = Node { number: ROOT, size: Bytes::new(size), folder: true, owner, block: 4_096 };
        let shared = Arc::new(MountShared { device, folder: folder_node, files, leaves: AtomicBool::new(false) });
        let mut mount =
            Self { folder: folder.to_owned(), made, service: Arc::clone(service), shared, threads: Vec::new() };
        for number in 0..THREADS {
            let (service, shared) = (Arc::clone(service), Arc::clone(&mount.shared));
            let thread = std::thread::Builder::new().name(format!("files-{number}")).stack_size(STACK);
            let spawned = thread.spawn(move || shared.serve(&service)).map_err(|error| AttachError::System {
                what: "start a thread for",
                place: place.clone(),
                error,
            })?;
            mount.threads.push(spawned);
        }
        Ok(mount)
    }

    /// The files, in the order of the exports.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.shared.files.iter().map(|file| self.folder.join(&file.name))
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.shared.files.iter().map(|file| file.number())
    }
}

impl Drop for FolderMount {
    fn drop(&mut self) {
        let _ = unmount(&self.folder);
        self.shared.leaves.store(true, Ordering::SeqCst);
        self.service.driver().give_up();
        for thread in self.threads.drain(..) {
            // It panicked where this fails, and said so.
            let _ = thread.join();
        }
        if self.made {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

impl MountShared {
    /// Takes requests of the kernel until the folder is unmounted.
    fn serve(&self, service: &Service) {
        let mut buffer = vec![0; MESSAGE_MAX];
        let mut asks: Vec<ModelRequest> = Vec::new();
        let mut answers: Vec<Answer> = Vec::new();
        let mut priority = ThreadPriority::new(service.hastens());
        loop {
            let message = match rustix::io::read(&*self.device, &mut buffer) {
                Ok(length) => &buffer[..length],
                // The asker was interrupted before we looked.
                Err(Errno::INTR | Errno::AGAIN | Errno::NOENT) => continue,
                Err(_) => return,
            };
            // The kernel speaks the protocol; what this does not understand is answered by nobody, and cannot be.
            let Ok(request) = FuseRequest::parse(message) else { continue };
            priority.count(THREADS, 0);
            self.take(service, &request, &mut asks);
            // The others take about as much.
            for ask in &asks {
                priority.count(0, THREADS as u64 * bytes_held(ask.operation, ask.length));
            }
            priority.adapt(service.driver().clock);
            if !asks.is_empty() {
                let given_up = || service.is_closed() || self.leaves.load(Ordering::SeqCst);
                // The kernel stays until it says otherwise.
                service.driver().submit(&mut asks, &mut answers, &RoomWaiter { given_up, is_gone: || false });
                service.deliver(&mut answers);
            }
        }
    }

    fn take(&self, service: &Service, request: &FuseRequest<'_>, asks: &mut Vec<ModelRequest>) {
        if let Call::Begin { major, minor, readahead, flags } = request.call {
            let mut out = Vec::new();
            let error = message::begin(&mut out, major, minor, readahead, flags).map_or(Some(Errno::PROTO), |()| None);
            return mounted_file::answer(&self.device, request.unique, error, &out);
        }
        if request.node < FIRST || request.call == Call::Space {
            return self.take_for_folder(request);
        }
        match self.files.get((request.node - FIRST) as usize) {
            Some(file) => file.take(service, request, asks),
            None => mounted_file::answer(&self.device, request.unique, Some(Errno::STALE), &[]),
        }
    }

    /// Requests for the folder, or for the file system as a whole.
    fn take_for_folder(&self, request: &FuseRequest<'_>) {
        let mut out = Vec::new();
        let error = match request.call {
            Call::Unanswered => return,
            Call::Lookup { name } => match self.files.iter().find(|file| file.name.as_bytes() == name) {
                Some(file) => {
                    file.node.entry(&mut out);
                    None
                }
                None => Some(Errno::NOENT),
            },
            Call::Attributes => {
                self.folder.attributes(&mut out);
                None
            }
            Call::OpenFolder => {
                message::opened(&mut out, 0, true);
                None
            }
            Call::List { from, room } => {
                for (index, file) in self.files.iter().enumerate().skip(from as usize) {
                    if !file.node.list(&mut out, file.name.as_bytes(), index as u64 + 1, room as usize) {
                        break;
                    }
                }
                None
            }
            Call::Space => {
                message::space(&mut out, self.folder.size, self.files.len() as u64);
                None
            }
            Call::Nothing => None,
            _ => Some(Errno::NOSYS),
        };
        mounted_file::answer(&self.device, request.unique, error, &out);
    }
}

/// Refuses a folder to which another emulation attached volumes, one way or the other.
pub(super) fn check(folder: &Path) -> Result<(), AttachError> {
    let place = folder.display().to_string();
    match mounts().into_iter().find(|(mount, _)| same(mount, folder)) {
        None => links::check(folder),
        Some((_, process)) => Err(match process.filter(|process| serves(*process)) {
            Some(process) => AttachError::Alive { place, process },
            None => AttachError::Left(place),
        }),
    }
}

/// Makes the folder if it is missing, and reports that.
pub(super) fn prepare(folder: &Path) -> Result<bool, AttachError> {
    let place = folder.display().to_string();
    match std::fs::read_dir(folder).map(|mut entries| entries.next()) {
        Ok(None) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = std::fs::create_dir(folder);
            made.map_err(|error| AttachError::System { what: "make the folder", place, error })?;
            Ok(true)
        }
        _ => Err(AttachError::Taken(place)),
    }
}

fn same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    one == other || one == whole(other) || std::fs::canonicalize(other).is_ok_and(|other| one == other)
}

/// Folders that show volumes, with the process that serves each, as far as it is known.
fn mounts() -> Vec<(PathBuf, Option<u32>)> {
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = |line: &str| {
        let mut words = line.split(' ');
        let (source, folder, kind) = (words.next()?, words.next()?, words.next()?);
        let process = source.strip_prefix(SOURCE).and_then(|number| number.parse().ok());
        (kind == KIND).then(|| (PathBuf::from(unescaped(folder)), process))
    };
    table.lines().filter_map(folder).collect()
}

/// Whether a process serves a file system: its number may have been given to another one since.
fn serves(process: u32) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    open.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|place| place == Path::new("/dev/fuse")))
}

/// A path of the list of mounts, in which spaces and the like are octal numbers.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &others[3..] } else { others };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Ends whatever still goes on in the folder with errors, then takes it away.
fn unmount(folder: &Path) -> rustix::io::Result<()> {
    // Forced, which ends the connection; the folder itself may still be busy then.
    let forced = rustix::mount::unmount(folder, UnmountFlags::FORCE | UnmountFlags::NOFOLLOW);
    if forced.is_err() {
        rustix::mount::unmount(folder, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?;
    }
    Ok(())
}

/// A block device that an emulation left behind, and that was released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// `/dev/loopN` or `/dev/ublkbN`.
    pub device: PathBuf,
    /// It goes when its last user does: until then it is there, and gives errors.
    pub in_use: bool,
    /// Where it is mounted.
    pub mounted_at: Option<PathBuf>,
}

/// Where a block device is mounted, as far as this process sees.
fn mounted_at(device: &Path) -> Option<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = |line: &str| {
        let (source, rest) = line.split_once(' ')?;
        let (folder, _) = rest.split_once(' ')?;
        (Path::new(&unescaped(source)) == device).then(|| PathBuf::from(unescaped(folder)))
    };
    table.lines().find_map(folder)
}

/// Takes down what an emulation that was killed left behind: block devices over files of the folder, and the folder's mount, or devices of
/// ublk and what leads to them. Gives the devices.
///
/// # Errors
/// The folder shows no volumes, its emulation is alive, or the system refuses.
pub fn detach(folder: &Path) -> Result<Vec<Released>, AttachError> {
    let place = folder.display().to_string();
    let system = |what, error| AttachError::System { what, place: place.clone(), error };
    let Some((mount, process)) = mounts().into_iter().find(|(mount, _)| same(mount, folder)) else {
        let Some(deleted) = links::detach(folder)? else {
            return Err(system("find volumes at", io::Error::other("no emulation is attached there")));
        };
        let released = |(device, in_use): (PathBuf, bool)| Released { mounted_at: mounted_at(&device), in_use, device };
        return Ok(deleted.into_iter().map(released).collect());
    };
    if let Some(process) = process.filter(|process| serves(*process)) {
        return Err(AttachError::Alive { place, process });
    }
    let devices = super::block_device::over(&mount).map_err(|error| system("look for block devices over", error))?;
    for device in &devices {
        super::block_device::release(device).map_err(|error| system("release block devices over", error))?;
    }
    unmount(&mount).map_err(|error| system("unmount", error.into()))?;
    let released = |device: PathBuf| {
        let in_use = !super::block_device::is_free(&device);
        Released { mounted_at: mounted_at(&device), in_use, device }
    };
    Ok(devices.into_iter().map(released).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_spaces_are_read_back() {
        assert_eq!(unescaped("/mnt/a\\040b\\134c"), "/mnt/a b\\c");
        assert_eq!(unescaped("/mnt/plain\\0"), "/mnt/plain\\0");
    }

    #[test]
    fn what_to_do_is_told_by_what_is_missing() {
        let told = |place: &str, error: Errno| {
            AttachError::System { what: "open", place: place.to_owned(), error: error.into() }.to_string()
        };
        assert!(told(FUSE, Errno::NOENT).contains("modprobe fuse"));
        assert!(told("/mnt/disk", Errno::NODEV).contains("modprobe fuse"));
        assert!(told(FUSE, Errno::ACCESS).contains("needs root"));
        // No user can make a folder in /proc, and no module helps.
        let error = prepare(Path::new("/proc/loadline")).unwrap_err().to_string();
        assert!(error.contains("make the folder") && error.contains("name a folder where"), "{error}");
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!prepare(folder.path()).unwrap());
        assert!(prepare(&folder.path().join("new")).unwrap());
        assert!(matches!(prepare(folder.path()), Err(AttachError::Taken(_))));
    }
}
