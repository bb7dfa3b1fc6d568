//! The folder of volumes that are attached by ublk: a link to each device, and a record of whose they are.

use super::mount::{self, AttachError, prepare};
use super::ublk_device;
use loadline_kernel::ublk::UblkError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

/// The record: locked for as long as the emulation lives.
const RECORD: &str = ".loadline";
/// Begins the record's one line; the number of the process and the mark of its devices follow.
const HEAD: &str = "loadline ublk";
/// Where links lead to.
const DEVICES: &str = "/dev/ublkb";
/// Bytes of a record that are read at most.
const RECORD_MAX: u64 = 4_096;

/// A folder with a link to each device. Dropped, it is as it was.
#[derive(Debug)]
pub struct Links {
    folder: PathBuf,
    made: bool,
    _record: File,
    mark: u64,
}

impl Links {
    /// Takes an empty or a new folder.
    pub(crate) fn open(folder: &Path) -> Result<Self, AttachError> {
        // Drawn anew: no device of anybody else has it.
        let mark = RandomState::new().build_hasher().finish();
        let system = |what, error| AttachError::System { what, place: folder.display().to_string(), error };
        // The record must hold for other programs, which may have another working folder.
        let folder = &std::path::absolute(folder).map_err(|error| system("find", error))?;
        mount::check(folder)?;
        let made = prepare(folder)?;
        let path = folder.join(RECORD);
        let begun = || {
            let mut record = OpenOptions::new().write(true).create_new(true).open(&path)?;
            flock(&record, FlockOperation::NonBlockingLockExclusive)?;
            writeln!(record, "{HEAD} {} {mark:016x}", std::process::id())?;
            Ok(record)
        };
        let record = begun().map_err(|error| system("keep a record of devices in", error))?;
        Ok(Self { folder: folder.clone(), made, _record: record, mark })
    }

    /// Of every device that is linked there, and of no other.
    pub(crate) const fn mark(&self) -> u64 {
        self.mark
    }

    /// Where a volume's link is.
    #[must_use]
    pub fn place(&self, volume: &str) -> PathBuf {
        self.folder.join(volume)
    }

    /// Leads a volume's name to a device.
    ///
    /// # Errors
    /// The system refuses.
    pub fn lead(&self, volume: &str, device: &Path) -> Result<(), AttachError> {
        let place = self.place(volume);
        let _ = std::fs::remove_file(&place);
        let linked = std::os::unix::fs::symlink(device, &place);
        linked.map_err(|error| AttachError::System { what: "make the link", place: place.display().to_string(), error })
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        clear(&self.folder);
        if self.made {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

/// Takes links and record away.
fn clear(folder: &Path) {
    let ours = |path: &Path| {
        std::fs::read_link(path).is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(DEVICES.as_bytes()))
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if ours(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_file(folder.join(RECORD));
}

/// What an emulation that attached volumes to a folder by ublk wrote there.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    process: u32,
    mark: u64,
}

impl Record {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.trim_end().strip_prefix(HEAD)?.strip_prefix(' ')?.split(' ');
        let (process, mark) = (words.next()?.parse().ok()?, u64::from_str_radix(words.next()?, 16).ok()?);
        words.next().is_none().then_some(Self { process, mark })
    }
}

/// The contents of a folder.
#[derive(Debug)]
enum LinkState {
    /// No record.
    Nothing,
    /// Of an emulation that lives.
    Alive(u32),
    /// Of one that was killed.
    Left(Record),
}

fn look(folder: &Path) -> io::Result<LinkState> {
    let file = match File::open(folder.join(RECORD)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LinkState::Nothing),
        Err(error) => return Err(error),
    };
    let text = io::read_to_string((&file).take(RECORD_MAX))?;
    let unreadable = || io::Error::other(format!("its {RECORD} is no record of loadline's"));
    let record = Record::parse(&text).ok_or_else(unreadable)?;
    Ok(match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => LinkState::Left(record),
        Err(_) => LinkState::Alive(record.process),
    })
}

/// Refuses a folder to which another emulation attached volumes by ublk.
pub(super) fn check(folder: &Path) -> Result<(), AttachError> {
    let place = folder.display().to_string();
    match look(folder) {
        Ok(LinkState::Alive(process)) => Err(AttachError::Alive { place, process }),
        Ok(LinkState::Left(_)) => Err(AttachError::Left(place)),
        // What else is there is for others to say.
        Ok(LinkState::Nothing) | Err(_) => Ok(()),
    }
}

/// Takes down what an emulation that was killed left behind by ublk, gives its devices and whether each is still used; `None`: there is no
/// record of such.
pub(super) fn detach(folder: &Path) -> Result<Option<Vec<(PathBuf, bool)>>, AttachError> {
    let place = folder.display().to_string();
    let record = match look(folder) {
        Ok(LinkState::Nothing) => return Ok(None),
        Ok(LinkState::Alive(process)) => return Err(AttachError::Alive { place, process }),
        Ok(LinkState::Left(record)) => record,
        Err(error) => return Err(AttachError::System { what: "read what is attached at", place, error }),
    };
    let deleted = match ublk_device::delete_marked(record.mark) {
        // The machine was started anew since.
        Err(UblkError::Absent) => Vec::new(),
        deleted => deleted?,
    };
    clear(folder);
    Ok(Some(deleted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_what_is_none_is_not() {
        assert_eq!(Record::parse("loadline ublk 77 00000000000000ff\n"), Some(Record { process: 77, mark: 255 }));
        for text in
            ["", "loadline ublk", "loadline ublk 77", "loadline ublk 77 xyz", "loadline ublk 77 ff more", "ublk 77 ff"]
        {
            assert_eq!(Record::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_folder_tells_whether_its_emulation_lives_and_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("volumes");
        let links = Links::open(&place).unwrap();
        links.lead("data", Path::new("/dev/ublkb5")).unwrap();
        links.lead("data", Path::new("/dev/ublkb6")).unwrap();
        assert_eq!(std::fs::read_link(links.place("data")).unwrap(), Path::new("/dev/ublkb6"));
        assert!(matches!(check(&place), Err(AttachError::Alive { process, .. }) if process == std::process::id()));
        assert!(matches!(detach(&place), Err(AttachError::Alive { .. })));
        drop(links);
        assert!(!place.exists() && folder.path().exists());
        assert!(check(&place).is_ok());
    }

    #[test]
    fn what_was_left_is_told_and_only_own_links_are_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at(RECORD), "loadline ublk 1 00000000000000ff\n").unwrap();
        std::os::unix::fs::symlink("/dev/ublkb0", at("data")).unwrap();
        std::os::unix::fs::symlink("/dev/null", at("other")).unwrap();
        assert!(matches!(check(folder.path()), Err(AttachError::Left(_))));
        match detach(folder.path()) {
            Ok(devices) => assert_eq!(devices, Some(Vec::new())),
            Err(AttachError::Ublk(error)) => return println!("skipped: what was attached by ublk ({error})"),
            Err(error) => panic!("{error}"),
        }
        assert!(at("other").is_symlink() && !at("data").is_symlink() && !at(RECORD).exists());
    }
}
