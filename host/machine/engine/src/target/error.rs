//! Why a target may not or cannot be used: what was attempted, on what, why not, and the kind of remedy.

use super::signature::Signature;
use crate::remedy::Remedy;
use loadline_kernel::facts::in_use::InUse;
use loadline_nbd::uri::UriError;
use loadline_units::{Bytes, UnitError};
use std::io;
use std::path::PathBuf;

/// A target that may not or cannot be used. Nothing was written to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// `null:` with a size that is none.
    #[error("cannot read the size in target {target:?}: {cause}; write it as null:100 GiB")]
    NullSize {
        /// As typed.
        target: String,
        /// What is wrong with it.
        cause: UnitError,
    },
    /// An NBD URI that is none, or that names a way which loadline does not go.
    #[error(
        "cannot read the NBD URI {target}: {cause}; write nbd+unix:///EXPORT?socket=PATH or nbd://HOST:PORT/EXPORT"
    )]
    NbdUri {
        /// As typed.
        target: String,
        /// What is wrong with it.
        cause: UriError,
    },
    /// No NBD server answers there.
    #[error("cannot connect to {target}: {cause}; see that its NBD server runs and listens there")]
    NbdUnreachable {
        /// As typed.
        target: String,
        /// Why.
        cause: io::Error,
    },
    /// The server does not give the export.
    #[error("cannot open {target}: {cause}")]
    NbdRefused {
        /// As typed.
        target: String,
        /// What the server said, with what to do.
        cause: String,
    },
    /// An export that was not named a second time.
    #[error("refused to write to {target}: what it holds would be lost. If that is meant, name it a second time")]
    NbdNotHandedOver {
        /// As typed.
        target: String,
    },
    /// The server gives the export for reading only.
    #[error("refused to write to {target}: its server gives it for reading only; have it serve for writing")]
    NbdReadOnly {
        /// As typed.
        target: String,
    },
    /// The target cannot be looked at.
    #[error(
        "cannot find out what target {target:?} is: {cause}; name a directory, a file or a block device that exists"
    )]
    Examine {
        /// As typed.
        target: String,
        /// Why.
        cause: io::Error,
    },
    /// Neither a directory, a regular file nor a block device.
    #[error("target {} is {what}, which is no storage; name a directory, a file or a block device", path.display())]
    NotStorage {
        /// The resolved path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Lies in a file system that is an interface of the kernel.
    #[error(
        "target {} lies in {kind}, which is an interface of the kernel and no storage; name a directory or file on a disk",
        path.display()
    )]
    KernelInterface {
        /// The resolved path.
        path: PathBuf,
        /// Type of file system.
        kind: String,
    },
    /// A directory, where nothing may be written.
    #[error(
        "target {} is a directory, and read-only leaves no way to make a test file there; name an existing file or a block device",
        path.display()
    )]
    DirectoryReadOnly {
        /// The resolved path.
        path: PathBuf,
    },
    /// Whether the target is in use is unknown, so it counts as used.
    #[error(
        "cannot tell whether {} is in use: {cause}; the target stays untouched. Run where /proc and /sys are mounted, or read only",
        path.display()
    )]
    UseUnknown {
        /// The resolved path.
        path: PathBuf,
        /// What could not be read.
        cause: io::Error,
    },
    /// Mounted, swap, held, or behind a loop device; itself or a relative.
    #[error(
        "refused to write to {}: {} {}. This cannot be overridden; {} first, or measure it read-only",
        path.display(), in_use.what, in_use.how, in_use.how.remedy()
    )]
    InUse {
        /// The resolved path.
        path: PathBuf,
        /// The use.
        in_use: InUse,
    },
    /// The kernel refused exclusive use.
    #[error(
        "refused to write to {}: somebody else has it open for exclusive use (a mount in another namespace, a RAID or \
         volume manager, another measurement); find out who, end that, and try again",
        path.display()
    )]
    Busy {
        /// The resolved path.
        path: PathBuf,
    },
    /// Another process has the file open.
    #[error(
        "refused to write to {}: another process has this file open; end that process (fuser -v {}) and try again",
        path.display(), path.display()
    )]
    OpenElsewhere {
        /// The resolved path.
        path: PathBuf,
    },
    /// Exists, and was not named a second time.
    #[error(
        "refused to write to {}: it exists, and its contents would be lost. If that is meant, name it a second time",
        path.display()
    )]
    NotHandedOver {
        /// As typed.
        target: String,
        /// The resolved path.
        path: PathBuf,
    },
    /// Carries a partition table, a file system or the like, and no identity was given.
    #[error(
        "refused to write to {}: it carries {}. If its contents may be lost, hand it over by its identity as well",
        path.display(), list(signatures)
    )]
    Signed {
        /// As typed.
        target: String,
        /// The resolved path.
        path: PathBuf,
        /// What was recognised.
        signatures: Vec<Signature>,
        /// The device's serial number, which serves as identity as well.
        serial: Option<String>,
    },
    /// Its contents cannot be looked at, so they are taken to be precious.
    #[error(
        "refused to write to {}: cannot read it to see whether it carries a file system: {cause}; check the device, or \
         name another",
        path.display()
    )]
    ContentsUnknown {
        /// The resolved path.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The same contents have other names, which the user may not know of.
    #[error(
        "refused to write to {}: the same file has {} more name(s) (hard links), under which its contents would be lost \
         too. If that is meant, name it by its number as well",
        path.display(), links - 1
    )]
    HardLinked {
        /// As typed.
        target: String,
        /// The resolved path.
        path: PathBuf,
        /// Names in all.
        links: u64,
        /// What identifies it.
        identity: String,
    },
    /// Something else lies at the path than when it was checked.
    #[error("{} changed while it was being checked; nothing was written. See who works there, then try again", path.display())]
    Changed {
        /// The resolved path.
        path: PathBuf,
    },
    /// Opening failed.
    #[error("cannot open {} for {}: {cause}{}", path.display(), purpose(*writing), open_advice(cause))]
    Open {
        /// The resolved path.
        path: PathBuf,
        /// Whether for writing.
        writing: bool,
        /// Why.
        cause: io::Error,
    },
    /// Holds no bytes.
    #[error("{} is empty: there is nothing to measure; name a file with contents, its directory, or an attached device", path.display())]
    Empty {
        /// The resolved path.
        path: PathBuf,
    },
    /// Smaller than the plan asks for.
    #[error("{} has {have}, less than the {asked} asked for; ask for less, or name something larger", path.display())]
    Smaller {
        /// The resolved path.
        path: PathBuf,
        /// What the plan asks for.
        asked: Bytes,
        /// What there is.
        have: Bytes,
    },
    /// A size that gives each file less than one block.
    #[error("a size of {size} over {files} file(s) leaves each less than {unit}; ask for more, or for fewer files")]
    Sliver {
        /// In all.
        size: Bytes,
        /// Over so many files.
        files: u32,
        /// The least for one.
        unit: Bytes,
    },
    /// A directory in which no test file can be made, however much room there is.
    #[error(
        "cannot make a test file in {}: it is a read-only file system; name a directory on another, mount it for writing",
        path.display()
    )]
    ReadOnlyFileSystem {
        /// The directory.
        path: PathBuf,
    },
    /// Nobody can write to it.
    #[error("refused to write to {}: the kernel has it read-only; make it writable (blockdev --setrw, mount -o remount,rw)", path.display())]
    WriteProtected {
        /// The device or file.
        path: PathBuf,
    },
    /// Not enough free space.
    #[error(
        "no room for a test file of {asked} in {}: {} are free, and {} stay free as a reserve; {} or name another directory",
        path.display(), available.human(), reserve.human(), room_advice(*available, *reserve)
    )]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// What the plan asks for, or the least that makes sense.
        asked: Bytes,
        /// Free to this user.
        available: Bytes,
        /// Left free.
        reserve: Bytes,
    },
    /// The test file could not be made.
    #[error("cannot make a test file of {size} in {}: {cause}; check permissions, quota and space, or name another directory", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Of each file.
        size: Bytes,
        /// Why.
        cause: io::Error,
    },
    /// A file to be kept exists already.
    #[error(
        "{} exists already and is not replaced: it may be needed to check an earlier run; check or remove it first, or \
         keep this run's file under another name",
        path.display()
    )]
    KeptExists {
        /// Its path.
        path: PathBuf,
    },
    /// A file name with a directory in it.
    #[error("{name:?} is no plain file name; leave out the directory, it is the target's")]
    FileName {
        /// As given.
        name: String,
    },
}

impl TargetError {
    /// What would let the target be used; `None` where the text says it, or nothing would.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        let hand_over = |words: &[&str]| Some(Remedy::HandOver(words.iter().map(ToString::to_string).collect()));
        match self {
            Self::NbdNotHandedOver { target } | Self::NotHandedOver { target, .. } => hand_over(&[target]),
            Self::Signed { target, signatures, serial, .. } => {
                hand_over(&[target, first_identity(serial.as_deref(), signatures)])
            }
            Self::HardLinked { target, identity, .. } => hand_over(&[target, identity]),
            Self::NbdReadOnly { .. } | Self::WriteProtected { .. } => Some(Remedy::ReadOnly),
            Self::ReadOnlyFileSystem { .. } => Some(Remedy::ReadOnlyFile),
            _ => None,
        }
    }
}

fn list(signatures: &[Signature]) -> String {
    let parts: Vec<String> = signatures.iter().map(|s| format!("{} ({})", s.kind, s.identity)).collect();
    parts.join(", ")
}

/// What the device says of itself is preferred: it does not change with the contents.
fn first_identity<'a>(serial: Option<&'a str>, signatures: &'a [Signature]) -> &'a str {
    serial.or_else(|| signatures.first().map(|s| s.identity.as_str())).unwrap_or_default()
}

fn purpose(writing: bool) -> &'static str {
    if writing { "reading and writing" } else { "reading" }
}

fn open_advice(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "; run as a user who may (root, or the group of the device), and see that it is not marked read-only"
        }
        Some(libc::EROFS) => "; it is read-only: measure it so, or name another",
        Some(libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM) => "; the device is not there: attach it first",
        Some(libc::ETXTBSY) => "; it is in use as a program or as swap",
        _ => "; check that it exists and answers",
    }
}

/// What to do about too little room.
fn room_advice(available: Bytes, reserve: Bytes) -> String {
    match available.saturating_sub(reserve).get() {
        0 => "free some space".to_owned(),
        left => {
            // Rounded down: a size that is said to fit must fit.
            let unit = Bytes::new(((1 << left.ilog2()) / 128).max(512));
            format!("ask for at most {}", Bytes::new(left).round_down(unit))
        }
    }
}
