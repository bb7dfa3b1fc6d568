//! Opening a target. The refusals come first, in the order: in use, not handed over, carries something; and all of them are
//! repeated on the open file, in case something changed in between.

use super::direct::{Alignment, Opened, Trial, hopeless, open_bypassing};
use super::error::TargetError;
use super::signature::{Signature, signatures};
use super::standing::absolute;
use super::test_file::{FILE_UNIT_SMALL, NamedFiles, Room, choose_size, file_size, make_nameless};
use super::{Access, Holding, Keep, Need, Volume};
use loadline_kernel::facts::in_use::Uses;
use loadline_kernel::facts::{self, PSEUDO_FILE_SYSTEMS, Storage};
use loadline_kernel::facts::{BlockDevice, DeviceNumber, KernelView};
use loadline_kernel::system_calls;
use loadline_nbd::uri::is_nbd_uri;
use loadline_record::{TargetKind, VolumeFacts};
use loadline_units::{Bytes, Duration};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Size of the null target unless one is given.
const NULL_SIZE: Bytes = Bytes::gib(1024);

pub(super) fn open(name: &str, target: &str, need: &Need, access: &Access) -> Result<Volume, TargetError> {
    if target == "null" || target.starts_with("null:") {
        return open_null(name, target, need);
    }
    if is_nbd_uri(target) {
        return super::export::open(name, target, need, access);
    }
    let examine = |cause| TargetError::Examine { target: target.to_owned(), cause };
    // Symbolic links are resolved before anything is looked at.
    let path = fs::canonicalize(target).map_err(examine)?;
    let metadata = fs::metadata(&path).map_err(examine)?;
    let view = KernelView::live();
    let opening = Opening { name, target, path: &path, metadata: &metadata, need, access, view: &view };
    let kind = metadata.file_type();
    if kind.is_dir() {
        opening.directory()
    } else if kind.is_file() {
        opening.existing(TargetKind::File)
    } else if kind.is_block_device() {
        opening.existing(TargetKind::BlockDevice)
    } else {
        let what = if kind.is_fifo() {
            "a pipe"
        } else if kind.is_socket() {
            "a socket"
        } else {
            "a character device"
        };
        Err(TargetError::NotStorage { path, what })
    }
}

fn open_null(name: &str, target: &str, need: &Need) -> Result<Volume, TargetError> {
    let given = target.strip_prefix("null:").map(str::parse::<Bytes>).transpose();
    let given = given.map_err(|cause| TargetError::NullSize { target: target.to_owned(), cause })?;
    let (size, reason) = match (need.size, given) {
        (Some(asked), Some(have)) if asked > have => {
            return Err(TargetError::Smaller { path: target.into(), asked, have });
        }
        (Some(size), _) => (size, "asked for"),
        (None, Some(size)) => (size, "given with the target"),
        (None, None) => (NULL_SIZE, "nothing is stored, so any size does"),
    };
    let each = file_size(size, need.files)?;
    let facts = VolumeFacts {
        name: name.to_owned(),
        target: target.to_owned(),
        kind: TargetKind::Null,
        size_bytes: Some(each.get() * u64::from(need.files.max(1))),
        size_reason: reason.to_owned(),
        direct: true,
        ..VolumeFacts::default()
    };
    let (files, holding) = (Vec::new(), Holding::default());
    Ok(Volume { facts, files, file_size: each, start: need.start, writable: true, holding })
}

/// A target on its way to be opened.
struct Opening<'a> {
    name: &'a str,
    target: &'a str,
    /// Without symbolic links.
    path: &'a Path,
    /// As found there.
    metadata: &'a Metadata,
    need: &'a Need,
    access: &'a Access,
    view: &'a KernelView,
}

/// Attempts to have a target for oneself, and the pause between two.
const ATTEMPTS: u32 = 25;
const PAUSE: Duration = Duration::from_ms(20);

/// What was opened, before it is made a [`Volume`].
struct Found {
    kind: TargetKind,
    files: Vec<Opened>,
    file_size: Bytes,
    size_reason: String,
    writable: bool,
    storage: Storage,
    named: NamedFiles,
    handed_over: Vec<String>,
}

impl Opening<'_> {
    // ---- test files

    fn directory(&self) -> Result<Volume, TargetError> {
        let examine = |cause| TargetError::Examine { target: self.target.to_owned(), cause };
        let directory = File::open(self.path).map_err(examine)?;
        let storage = self.storage(&directory)?;
        if self.access.read_only {
            return match &self.need.keep {
                Some(keep) => self.kept_earlier(keep, storage),
                None => Err(TargetError::DirectoryReadOnly { path: self.path.to_owned() }),
            };
        }
        let space = system_calls::space(&directory).map_err(examine)?;
        if space.read_only {
            return Err(TargetError::ReadOnlyFileSystem { path: self.path.to_owned() });
        }
        let mut out_of_question = hopeless(&storage, self.need.buffered);
        let in_memory = storage.file_system.as_ref().is_some_and(|f| f.in_memory().is_some());
        let mut room = Room {
            space,
            memory_available: if in_memory { facts::memory_available() } else { None },
            memory: facts::host().memory_bytes.map(Bytes::new),
            direct: out_of_question.is_none(),
        };
        loop {
            let (size, size_reason) = choose_size(self.path, self.need.size, &room)?;
            let each = file_size(size, self.need.files)?;
            let (files, mut named) = match &self.need.keep {
                Some(keep) => self.named_files(keep, each, out_of_question.as_ref())?,
                None => (self.nameless_files(each, out_of_question.as_ref())?, NamedFiles::default()),
            };
            let refused = files.iter().find_map(|f| f.not_direct.clone());
            if refused.is_some() && room.direct && self.need.size.is_none() {
                // The size was chosen for direct I/O, which turned out not to work here.
                room.direct = false;
                out_of_question = refused;
                continue;
            }
            if self.need.keep.as_ref().is_some_and(|keep| !keep.remove_at_end) {
                named.leave();
            }
            let kind = TargetKind::TestFile;
            return Ok(self.volume(Found {
                kind,
                files,
                file_size: each,
                size_reason,
                writable: true,
                storage,
                named,
                handed_over: Vec::new(),
            }));
        }
    }

    fn nameless_files(&self, size: Bytes, out_of_question: Option<&String>) -> Result<Vec<Opened>, TargetError> {
        (0..self.need.files.max(1))
            .map(|_| {
                open_bypassing(out_of_question.cloned(), Trial::ReadAndWrite, |flags| {
                    make_nameless(self.path, size, self.need.hole, flags)
                })
                .map_err(|cause| TargetError::Create { path: self.path.to_owned(), size, cause })
            })
            .collect()
    }

    fn named_files(
        &self,
        keep: &Keep,
        size: Bytes,
        out_of_question: Option<&String>,
    ) -> Result<(Vec<Opened>, NamedFiles), TargetError> {
        // From here on, whatever fails: what was made is removed again.
        let mut named = NamedFiles::default();
        let mut files = Vec::new();
        for path in NamedFiles::paths(self.path, self.name, self.need, keep)? {
            named.make(&path, size, self.need.hole)?;
            let open = |flags| open_existing(&path, true, flags);
            let opened = open_bypassing(out_of_question.cloned(), Trial::ReadAndWrite, open)
                .map_err(|cause| TargetError::Create { path: path.clone(), size, cause })?;
            if !named.is(&path, &opened.file) {
                return Err(TargetError::Changed { path });
            }
            files.push(opened);
        }
        Ok((files, named))
    }

    /// Files that an earlier run kept, for reading.
    fn kept_earlier(&self, keep: &Keep, storage: Storage) -> Result<Volume, TargetError> {
        let mut files = Vec::new();
        let mut sizes = Vec::new();
        for path in NamedFiles::paths(self.path, self.name, self.need, keep)? {
            let open_failed = |cause| TargetError::Open { path: path.clone(), writing: false, cause };
            let out_of_question = hopeless(&storage, self.need.buffered);
            let opened = open_bypassing(out_of_question, Trial::ReadOnly, |flags| open_existing(&path, false, flags))
                .map_err(open_failed)?;
            let metadata = opened.file.metadata().map_err(open_failed)?;
            if !metadata.is_file() {
                return Err(TargetError::Changed { path });
            }
            sizes.push(self.usable_size(&path, Bytes::new(metadata.len()), opened.alignment)?);
            files.push(opened);
        }
        let file_size = sizes.into_iter().min().unwrap_or_default();
        let size_reason = "all of the files kept by an earlier run".to_owned();
        let (kind, named, handed_over) = (TargetKind::File, NamedFiles::default(), Vec::new());
        Ok(self.volume(Found { kind, files, file_size, size_reason, writable: false, storage, named, handed_over }))
    }

    // ---- what exists

    fn existing(&self, kind: TargetKind) -> Result<Volume, TargetError> {
        let writing = self.need.writes && !self.access.read_only;
        let is_device = kind == TargetKind::BlockDevice;
        if writing {
            // Before anything is opened: refusals without an override come first, then the others.
            self.refuse_in_use(is_device)?;
            self.refuse_write_protected(is_device)?;
            if !self.handed_over() {
                return Err(TargetError::NotHandedOver { target: self.target.to_owned(), path: self.path.to_owned() });
            }
        }
        let open_failed = |cause| TargetError::Open { path: self.path.to_owned(), writing, cause };
        let mut looked_at = open_existing(self.path, false, libc::O_NONBLOCK).map_err(open_failed)?;
        self.refuse_another(&looked_at)?;
        let storage = self.storage(&looked_at)?;
        let size = Bytes::new(looked_at.seek(SeekFrom::End(0)).map_err(open_failed)?);
        if size == Bytes::ZERO {
            return Err(TargetError::Empty { path: self.path.to_owned() });
        }
        let mut handed_over = Vec::new();
        if writing {
            handed_over.extend(self.names_of_it().cloned());
            handed_over.extend(self.refuse_signed(&looked_at, size, is_device)?);
        }
        let opened = self.open_to_measure(&storage, writing, is_device)?;
        self.refuse_another(&opened.file)?;
        if writing {
            self.refuse_in_use(is_device)?;
            self.refuse_signed(&looked_at, size, is_device)?;
            // Reading the signatures left their pages in the cache; a failure to drop them harms nothing.
            let _ = system_calls::drop_clean_pages(&looked_at);
            drop(looked_at);
            if !is_device && open_elsewhere(&opened.file) {
                return Err(TargetError::OpenElsewhere { path: self.path.to_owned() });
            }
        }
        let file_size = self.usable_size(self.path, size, opened.alignment)?;
        let size_reason = match (self.need.size, kind) {
            (Some(_), _) => "asked for",
            (None, TargetKind::BlockDevice) => "all of the device",
            (None, _) => "all of the file",
        }
        .to_owned();
        let (files, named) = (vec![opened], NamedFiles::default());
        Ok(self.volume(Found { kind, files, file_size, size_reason, writable: writing, storage, named, handed_over }))
    }

    /// Opens for the load itself; a device for exclusive use, so that nobody mounts it meanwhile.
    fn open_to_measure(&self, storage: &Storage, writing: bool, is_device: bool) -> Result<Opened, TargetError> {
        let exclusive = if is_device { libc::O_EXCL } else { 0 };
        let open = |exclusive| {
            open_bypassing(hopeless(storage, self.need.buffered), Trial::ReadOnly, |flags| {
                open_existing(self.path, writing, flags | exclusive)
            })
        };
        let is_busy =
            |opened: &io::Result<Opened>| opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY));
        let mut opened = open(exclusive);
        // The kernel may still be closing what a killed process had open: its ring goes after it.
        for _ in 1..ATTEMPTS {
            if !is_busy(&opened) || !writing {
                break;
            }
            std::thread::sleep(PAUSE.into());
            opened = open(exclusive);
        }
        if is_busy(&opened) && !writing { open(0) } else { opened }.map_err(|cause| {
            let path = self.path.to_owned();
            if cause.raw_os_error() == Some(libc::EBUSY) {
                TargetError::Busy { path }
            } else {
                TargetError::Open { path, writing, cause }
            }
        })
    }

    /// Whether the target was named a second time.
    fn handed_over(&self) -> bool {
        self.names_of_it().next().is_some()
    }

    /// The words that name it a second time.
    fn names_of_it(&self) -> impl Iterator<Item = &String> {
        let is_it = |named: &String| {
            named == self.target || fs::canonicalize(named).is_ok_and(|resolved| resolved == self.path)
        };
        self.access.overwrite.iter().filter(move |named| is_it(named))
    }

    /// The words that identify it so.
    fn identified_by(&self, identity: &str) -> impl Iterator<Item = &String> {
        let identity = identity.trim();
        let is_it = move |given: &&String| !identity.is_empty() && given.trim().eq_ignore_ascii_case(identity);
        self.access.identities.iter().filter(is_it)
    }

    fn refuse_in_use(&self, is_device: bool) -> Result<(), TargetError> {
        let path = || self.path.to_owned();
        let unknown = |cause| TargetError::UseUnknown { path: path(), cause };
        let uses = Uses::read(self.view).map_err(unknown)?;
        let found = if is_device {
            uses.of_device(DeviceNumber::from_raw(self.metadata.rdev())).map_err(unknown)?
        } else {
            uses.of_file(self.path, self.metadata)
        };
        found.map_or(Ok(()), |in_use| Err(TargetError::InUse { path: path(), in_use }))
    }

    /// Refuses what nobody can write to, however it is named.
    fn refuse_write_protected(&self, is_device: bool) -> Result<(), TargetError> {
        let is_protected = if is_device {
            let device = BlockDevice::by_number(self.view, DeviceNumber::from_raw(self.metadata.rdev()));
            device.is_some_and(|device| device.is_read_only())
        } else {
            File::open(self.path).and_then(|file| system_calls::space(&file)).is_ok_and(|space| space.read_only)
        };
        if is_protected { Err(TargetError::WriteProtected { path: self.path.to_owned() }) } else { Ok(()) }
    }

    /// Refuses what carries something and was not identified; gives the words that identified it.
    fn refuse_signed(&self, file: &File, size: Bytes, is_device: bool) -> Result<Vec<String>, TargetError> {
        let path = || self.path.to_owned();
        let target = || self.target.to_owned();
        let device = DeviceNumber::from_raw(self.metadata.rdev());
        let device = if is_device { BlockDevice::by_number(self.view, device) } else { None };
        let mut found =
            signatures(file, size.get()).map_err(|cause| TargetError::ContentsUnknown { path: path(), cause })?;
        let partitions: Vec<String> = device.iter().flat_map(BlockDevice::partitions).map(|p| p.name).collect();
        if found.is_empty() && !partitions.is_empty() {
            // The kernel knows more kinds of partition tables than are recognised here.
            let identity = format!("partitions-{}", partitions.join("-"));
            found.push(Signature { kind: "partitions by an unknown table", identity });
        }
        // A partition is not identified by the serial number of its disk.
        let serial = device.filter(|d| !d.is_partition()).and_then(|d| d.serial());
        let identities = serial.iter().chain(found.iter().map(|signature| &signature.identity));
        let mut identified: Vec<String> =
            identities.flat_map(|identity| self.identified_by(identity)).cloned().collect();
        if found.is_empty() {
            identified.clear();
        } else if identified.is_empty() {
            return Err(TargetError::Signed { target: target(), path: path(), signatures: found, serial });
        }
        let links = self.metadata.nlink();
        if !is_device && links > 1 {
            let identity = format!("inode-{}", self.metadata.ino());
            let before = identified.len();
            identified.extend(self.identified_by(&identity).cloned());
            if identified.len() == before {
                return Err(TargetError::HardLinked { target: target(), path: path(), links, identity });
            }
        }
        Ok(identified)
    }

    /// Refuses a target that is not the one that was checked.
    fn refuse_another(&self, file: &File) -> Result<(), TargetError> {
        let key = |m: &Metadata| (m.dev(), m.ino(), m.rdev(), m.mode() & libc::S_IFMT);
        match file.metadata() {
            Ok(now) if key(&now) == key(self.metadata) => Ok(()),
            _ => Err(TargetError::Changed { path: self.path.to_owned() }),
        }
    }

    // ---- both

    /// Where an open file lies; refused where that is no storage.
    fn storage(&self, file: &File) -> Result<Storage, TargetError> {
        let storage = Storage::below(self.view, file, self.path);
        let kind = storage.file_system.as_ref().map(|f| f.kind.clone());
        let refused = |kind: &str| TargetError::KernelInterface { path: self.path.to_owned(), kind: kind.to_owned() };
        match kind {
            Some(kind) if PSEUDO_FILE_SYSTEMS.contains(&kind.as_str()) => Err(refused(&kind)),
            // In containers these may be ordinary file systems with files of the kernel's bound over them.
            Some(kind) if is_kernels_own(self.path) => Err(refused(&kind)),
            _ => Ok(storage),
        }
    }

    /// What of `have` bytes the load may use.
    fn usable_size(&self, path: &Path, have: Bytes, alignment: Alignment) -> Result<Bytes, TargetError> {
        let unit = alignment.offset;
        let usable = have.round_down(unit);
        let asked = self.need.size.unwrap_or(usable);
        if usable == Bytes::ZERO {
            Err(TargetError::Sliver { size: have, files: 1, unit })
        } else if asked > usable {
            Err(TargetError::Smaller { path: path.to_owned(), asked, have: usable })
        } else {
            let asked = asked.round_down(unit);
            if asked == Bytes::ZERO {
                return Err(TargetError::Sliver { size: asked, files: 1, unit: unit.min(FILE_UNIT_SMALL) });
            }
            Ok(asked)
        }
    }

    fn volume(&self, found: Found) -> Volume {
        let not_direct = found.files.iter().find_map(|f| f.not_direct.clone());
        let largest = |of: fn(&Alignment) -> Bytes| found.files.iter().map(|f| of(&f.alignment)).max();
        let alignment = Alignment {
            offset: largest(|a| a.offset).unwrap_or_default(),
            memory: largest(|a| a.memory).unwrap_or_default(),
        };
        let facts = VolumeFacts {
            name: self.name.to_owned(),
            target: absolute(self.target),
            kind: found.kind,
            path: Some(self.path.to_string_lossy().into_owned()),
            size_bytes: Some(found.file_size.get() * found.files.len() as u64),
            size_reason: found.size_reason,
            direct: not_direct.is_none(),
            direct_reason: not_direct,
            file_system: found.storage.file_system,
            devices: found.storage.devices,
            extents: None,
        };
        let mut volume = Volume {
            facts,
            files: found.files.into_iter().map(|f| f.file).collect(),
            file_size: found.file_size,
            start: self.need.start,
            writable: found.writable,
            holding: Holding {
                alignment,
                counted: found.storage.counted,
                named: found.named,
                handed_over: found.handed_over,
                export: None,
            },
        };
        volume.facts.extents = volume.extents();
        volume
    }
}

/// Whether a path that is no block device lies where only the kernel's own things are; /dev/shm is memory for anybody.
fn is_kernels_own(path: &Path) -> bool {
    let device = fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
    let under = |root: &str| path.starts_with(root);
    !device && (under("/proc") || under("/sys") || (under("/dev") && !under("/dev/shm")))
}

/// Whether another process keeps the file open. One that only passes by (an indexer, a child between fork and exec) is
/// waited for.
fn open_elsewhere(file: &File) -> bool {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE.into());
        }
        if system_calls::sole_opener(file) != Some(false) {
            return false;
        }
    }
    true
}

/// Opens what lies at a resolved path, which must not have become a symbolic link since.
fn open_existing(path: &Path, writing: bool, flags: libc::c_int) -> io::Result<File> {
    OpenOptions::new().read(true).write(writing).custom_flags(libc::O_NOFOLLOW | flags).open(path)
}
