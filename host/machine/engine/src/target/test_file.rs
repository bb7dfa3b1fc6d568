//! Test files: how large, with what left free, and gone afterwards.

use super::error::TargetError;
use super::{Keep, Need};
use loadline_kernel::system_calls::{self, Space};
use loadline_units::Bytes;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Chosen where no size is asked for and the page cache is bypassed: past the memory that disks and controllers commonly
/// carry (up to 8 GiB).
const SIZE_DIRECT: Bytes = Bytes::gib(16);
/// Half of the free space is no longer enough below this: a smaller file says little about a disk.
const SIZE_SMALL: Bytes = Bytes::mib(64);
/// The least that is chosen, of all the usable space.
const SIZE_LEAST: Bytes = Bytes::mib(4);
/// Left free at least, where the file system is large enough.
const RESERVE_LEAST: Bytes = Bytes::gib(1);
/// Left free at most: enough for what others write while a load runs, also where 5 % of a large disk would be more than is
/// left of it.
const RESERVE_MOST: Bytes = Bytes::gib(4);
/// Sizes of files are multiples of this, so that every block size of a plan fits.
const FILE_UNIT: Bytes = Bytes::mib(1);
/// The unit for test files that are smaller.
pub(crate) const FILE_UNIT_SMALL: Bytes = Bytes::kib(4);

/// What must stay free: 5 % of the file system, but at least 1 GiB and at most 4, and never more than a tenth of it, so
/// that a tiny one can be measured at all.
fn reserve(total: Bytes) -> Bytes {
    let five_percent = Bytes::new(total.get() / 20);
    five_percent.clamp(RESERVE_LEAST, RESERVE_MOST).min(Bytes::new(total.get() / 10))
}

/// The known room for test files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The file system's.
    pub(crate) space: Space,
    /// Memory that could be had, where files are memory.
    pub(crate) memory_available: Option<Bytes>,
    /// The machine's memory.
    pub(crate) memory: Option<Bytes>,
    /// Whether the page cache is bypassed.
    pub(crate) direct: bool,
}

/// Size of all test files together, and how it was chosen.
pub(crate) fn choose_size(path: &Path, asked: Option<Bytes>, room: &Room) -> Result<(Bytes, String), TargetError> {
    let on_disk = Bytes::new(room.space.available);
    let (available, total) = match room.memory_available {
        // A RAM disk without a limit says 0.
        Some(memory) if room.space.total == 0 => (memory, memory),
        Some(memory) => (memory.min(on_disk), Bytes::new(room.space.total)),
        None => (on_disk, Bytes::new(room.space.total)),
    };
    let reserve = reserve(total);
    let usable = available.saturating_sub(reserve);
    let no_space = |asked| TargetError::NoSpace { path: path.to_owned(), asked, available, reserve };
    if let Some(size) = asked {
        return if size <= usable { Ok((size, "asked for".to_owned())) } else { Err(no_space(size)) };
    }
    let (wanted, reason) = if room.direct {
        (SIZE_DIRECT, "larger than the memory that disks and controllers commonly carry".to_owned())
    } else if room.memory_available.is_some() {
        (Bytes::gib(1), "the files are in memory, so that a larger one would show nothing more".to_owned())
    } else {
        let memory = room.memory.unwrap_or(SIZE_DIRECT);
        (memory * 2, format!("twice the machine's memory ({}), as the page cache takes part", memory.human()))
    };
    // Half of the usable room leaves enough for other programs that write meanwhile.
    let half = Bytes::new(usable.get() / 2);
    if wanted <= half {
        return Ok((wanted, reason));
    }
    if half >= SIZE_SMALL {
        let reason = format!("half of the usable free space; {} would be better: {reason}", wanted.human());
        return Ok((half.round_down(FILE_UNIT), reason));
    }
    let size = usable.min(SIZE_SMALL).round_down(FILE_UNIT);
    if size < SIZE_LEAST {
        return Err(no_space(SIZE_LEAST));
    }
    let reason = format!(
        "of {} of usable free space, so small that a disk's own memory may hold all of it; {} would be better: {reason}",
        usable.human(),
        wanted.human()
    );
    Ok((size, reason))
}

/// Size of each of `files` files that share `size`.
pub(crate) fn file_size(size: Bytes, files: u32) -> Result<Bytes, TargetError> {
    let share = Bytes::new(size.get() / u64::from(files.max(1)));
    let unit = if share >= FILE_UNIT * 16 { FILE_UNIT } else { FILE_UNIT_SMALL };
    let each = share.round_down(unit);
    if each == Bytes::ZERO { Err(TargetError::Sliver { size, files, unit }) } else { Ok(each) }
}

/// Makes a file of `size` in `directory` that has no name, so that nothing is left behind even by a kill.
pub(crate) fn make_nameless(directory: &Path, size: Bytes, hole: bool, flags: libc::c_int) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let nameless = options.clone().custom_flags(libc::O_TMPFILE | flags).open(directory);
    let file = match nameless {
        // The file system cannot, or the kernel took it for an attempt to write to a directory.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) => {
            make_and_unlink(directory, &options, flags)?
        }
        other => other?,
    };
    prepare(&file, size, hole)?;
    Ok(file)
}

/// Makes a file with a name of its own and takes the name away at once.
fn make_and_unlink(directory: &Path, options: &OpenOptions, flags: libc::c_int) -> io::Result<File> {
    /// More names in use than this is no chance.
    const ATTEMPTS_MAX: u32 = 100;
    for attempt in 0..ATTEMPTS_MAX {
        let path = directory.join(format!(".loadline-{}-{attempt}.tmp", std::process::id()));
        // Without the flags first: some file systems make the file and then refuse direct I/O.
        match options.clone().create_new(true).open(&path) {
            Ok(made) => {
                let reopened = if flags == 0 { Ok(made) } else { options.clone().custom_flags(flags).open(&path) };
                fs::remove_file(&path)?;
                return reopened;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Reserves the space, so that a full disk is found before the measurement; where the file system cannot, or a hole is wanted, sets the
/// length.
fn prepare(file: &File, size: Bytes, hole: bool) -> io::Result<()> {
    if hole {
        return file.set_len(size.get());
    }
    match system_calls::allocate(file, size.get()) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL)) => {
            file.set_len(size.get())
        }
        other => other,
    }
}

/// Test files with names; removed when this is dropped, unless they are to stay.
#[derive(Debug, Default)]
pub(crate) struct NamedFiles {
    files: Vec<(PathBuf, u64, u64)>,
    stay: bool,
}

impl NamedFiles {
    /// The paths of the files that `keep` asks for.
    pub(crate) fn paths(directory: &Path, volume: &str, need: &Need, keep: &Keep) -> Result<Vec<PathBuf>, TargetError> {
        let plain: String =
            volume.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
        let name = keep.file_name.clone().unwrap_or_else(|| format!("loadline-{plain}.data"));
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(TargetError::FileName { name });
        }
        Ok(match need.files {
            0 | 1 => vec![directory.join(name)],
            files => (0..files).map(|index| directory.join(format!("{name}.{index}"))).collect(),
        })
    }

    /// Makes a file of `size` at `path`, where nothing may be.
    pub(crate) fn make(&mut self, path: &Path, size: Bytes, hole: bool) -> Result<(), TargetError> {
        let create = |cause: io::Error| TargetError::Create { path: path.to_owned(), size, cause };
        let file = match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(TargetError::KeptExists { path: path.to_owned() });
            }
            other => other.map_err(create)?,
        };
        let metadata = file.metadata().map_err(create)?;
        self.files.push((path.to_owned(), metadata.dev(), metadata.ino()));
        let prepared = prepare(&file, size, hole).and_then(|()| {
            file.sync_all()?;
            // The name must survive a crash as well.
            path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
        });
        prepared.map_err(create)
    }

    /// Whether `file` is the one that was made at `path`.
    pub(crate) fn is(&self, path: &Path, file: &File) -> bool {
        file.metadata().is_ok_and(|m| self.files.contains(&(path.to_owned(), m.dev(), m.ino())))
    }

    /// Leaves the files where they are.
    pub(crate) fn leave(&mut self) {
        self.stay = true;
    }
}

impl Drop for NamedFiles {
    fn drop(&mut self) {
        if self.stay {
            return;
        }
        for (path, device, inode) in &self.files {
            // Only what was made here: somebody may have put another file in its place.
            if fs::symlink_metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (*device, *inode)) {
                // Nothing can be done about a failure here, and nobody is there to read of it.
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(total: Bytes, available: Bytes) -> Room {
        let space = Space { total: total.get(), available: available.get(), read_only: false };
        Room { space, memory_available: None, memory: Some(Bytes::gib(8)), direct: true }
    }
    fn choose(asked: Option<Bytes>, room: &Room) -> Result<(Bytes, String), TargetError> {
        choose_size(Path::new("/data"), asked, room)
    }

    #[test]
    fn the_reserve_is_a_twentieth_of_one_to_four_gib_and_at_most_a_tenth() {
        assert_eq!(reserve(Bytes::gib(60)), Bytes::gib(3));
        assert_eq!(reserve(Bytes::gib(15)), Bytes::gib(1));
        assert_eq!(reserve(Bytes::mib(500)), Bytes::mib(50));
    }

    #[test]
    fn a_large_disk_that_is_nearly_full_is_measured() {
        let nearly_full = room(Bytes::gib(4000), Bytes::gib(40));
        assert_eq!(choose(None, &nearly_full).unwrap().0, SIZE_DIRECT);
        assert_eq!(choose(Some(Bytes::gib(36)), &nearly_full).unwrap().0, Bytes::gib(36));
        assert!(choose(Some(Bytes::gib(37)), &nearly_full).is_err());
    }

    #[test]
    fn what_is_asked_for_must_leave_the_reserve() {
        let room = room(Bytes::gib(60), Bytes::gib(25));
        assert_eq!(choose(Some(Bytes::gib(22)), &room).unwrap().0, Bytes::gib(22));
        let refused = choose(Some(Bytes::gib(23)), &room).unwrap_err().to_string();
        for figure in ["23 GiB", "25.0 GiB", "3.00 GiB", "22 GiB or"] {
            assert!(refused.contains(figure), "{refused}");
        }
    }

    #[test]
    fn a_chosen_size_fits_in_half_of_what_is_usable() {
        assert_eq!(choose(None, &room(Bytes::gib(100), Bytes::gib(90))).unwrap().0, SIZE_DIRECT);
        let (size, reason) = choose(None, &room(Bytes::gib(100), Bytes::gib(25))).unwrap();
        assert_eq!(size, Bytes::mib(10_752));
        assert!(reason.contains("16"), "{reason}");
        assert!(matches!(choose(None, &room(Bytes::gib(100), Bytes::gib(4))), Err(TargetError::NoSpace { .. })));
    }

    #[test]
    fn a_small_file_system_is_measured_on_what_it_has() {
        let (size, reason) = choose(None, &room(Bytes::mib(100), Bytes::mib(100))).unwrap();
        assert_eq!(size, SIZE_SMALL);
        assert!(reason.contains("of 90.0 MiB of usable") && reason.contains("16.0 GiB would be better"), "{reason}");
        assert_eq!(choose(None, &room(Bytes::mib(40), Bytes::mib(30))).unwrap().0, Bytes::mib(26));
        // A refused room would not have been enough, and a reported room can be asked for.
        let tiny = room(Bytes::mib(100), Bytes::mib(12));
        let refused = choose(None, &tiny).unwrap_err().to_string();
        assert!(refused.contains("of 4 MiB") && refused.contains("at most 2 MiB"), "{refused}");
        assert!(choose(Some(Bytes::mib(2)), &tiny).is_ok());
    }

    #[test]
    fn a_buffered_file_is_twice_the_memory() {
        let buffered = Room { direct: false, ..room(Bytes::gib(1000), Bytes::gib(900)) };
        assert_eq!(choose(None, &buffered).unwrap().0, Bytes::gib(16));
    }

    #[test]
    fn files_in_memory_are_bounded_by_memory() {
        let memory = |available| Room { memory_available: Some(available), ..room(Bytes::gib(20), Bytes::gib(20)) };
        assert!(choose(Some(Bytes::gib(4)), &memory(Bytes::gib(6))).is_ok());
        assert!(choose(Some(Bytes::gib(4)), &memory(Bytes::gib(4))).is_err());
        let unlimited = Room { space: Space { total: 0, available: 0, read_only: false }, ..memory(Bytes::gib(10)) };
        assert!(choose(Some(Bytes::gib(4)), &unlimited).is_ok());
    }

    #[test]
    fn files_share_the_size_evenly() {
        assert_eq!(file_size(Bytes::gib(1), 3).unwrap(), Bytes::mib(341));
        assert_eq!(file_size(Bytes::kib(20), 2).unwrap(), Bytes::kib(8));
        assert!(matches!(file_size(Bytes::kib(8), 4), Err(TargetError::Sliver { .. })));
    }

    #[test]
    fn a_file_made_without_o_tmpfile_leaves_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = make_and_unlink(directory.path(), &options, 0).unwrap();
        prepare(&file, Bytes::MIB, false).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_foreign_file_in_the_place_of_ours_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let mut named = NamedFiles::default();
        named.make(&path, Bytes::MIB, false).unwrap();
        let foreign = directory.path().join("foreign");
        fs::write(&foreign, "precious").unwrap();
        fs::rename(&foreign, &path).unwrap();
        drop(named);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}
