//! From what is seen at start to one verdict. Nothing is written that this verdict does not ask for.
//!
//! A disk is empty only if a mounted, identified file system says so: "not mounted" and "something else is there" are
//! refused. Ids of boots and machines explain; they never decide.

use crate::marker::{MarkedState, Marker};
use loadline_units::Bytes;

/// Entries at the top of a new file system that are nobody's data.
pub const HARMLESS: [&str; 4] = ["lost+found", "DATALOSS_WARNING_README.txt", "CACHEDIR.TAG", ".loadline-shelter.new"];

/// A place where a marker may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerSeen {
    /// There is none.
    Absent,
    /// There is a file that is no whole marker.
    Torn,
    /// It cannot be read.
    Unreadable,
    /// There is one.
    Whole(Marker),
}

/// The folder where the disk should be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a start")]
pub enum PathSeen {
    /// There is no such folder.
    Missing,
    /// It is a folder of another file system: nothing is mounted there.
    NotMounted,
    /// Something is mounted there.
    Mounted(MountSeen),
}

/// What is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountSeen {
    /// The device of the root file system, or a part of it.
    pub is_root_device: bool,
    /// Whether it is the device that the configuration names; `None` if it names none.
    pub is_named_device: Option<bool>,
    /// Identity of the file system.
    pub file_system: String,
    /// Nothing can be written to it.
    pub is_read_only: bool,
    /// The marker at its top.
    pub marker: MarkerSeen,
    /// Entries at its top that are neither the marker nor harmless.
    pub others: usize,
    /// Bytes that can be written.
    pub room: Bytes,
}

/// The device that the configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceSeen {
    /// The configuration names none.
    NotNamed,
    /// It is not there.
    Missing,
    /// More than one device answers to the name.
    Several,
    /// It is in use: mounted elsewhere, swap, part of something.
    InUse(String),
    /// Its ends cannot be read.
    Unreadable,
    /// Its first and last MiB are zero, and nothing is recognised on it.
    Raw,
    /// A file system is on it, with this identity.
    FileSystem(String),
    /// Something is on it that nobody knows: half of a file system, for one.
    Unrecognised,
    /// Something else is on it.
    Foreign(String),
}

/// The destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DestinationSeen {
    /// The configuration has none: only folders are recreated.
    NotWanted,
    /// It does not answer, or its folder is missing.
    Unreachable(String),
    /// It answers, and nothing was ever saved to it.
    Unused {
        /// Identity of the repository; empty if there is none.
        repository: String,
    },
    /// It belongs to another shelter.
    Foreign(String),
    /// It has saved generations.
    Holds {
        /// The newest.
        generation: u64,
        /// Claim of the disk that it was saved from.
        claim: String,
        /// What a restore takes of the disk, if that is known.
        room: Bytes,
        /// Identity of the repository.
        repository: String,
    },
}

/// Everything that the verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observations {
    /// Name of the configuration.
    pub source: String,
    /// The configuration asks for a file system on a raw device.
    pub may_format: bool,
    /// Contents are saved, and not folders alone.
    pub has_contents: bool,
    /// Where the disk should be.
    pub path: PathSeen,
    /// The device that the configuration names.
    pub device: DeviceSeen,
    /// The marker's twin on the persistent disk.
    pub twin: MarkerSeen,
    /// The identity of a file system that a start began to make, and that has no marker yet.
    pub making: Option<String>,
    /// Where saved data is.
    pub destination: DestinationSeen,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// The folder is not there yet.
    Folder,
    /// Nothing is mounted at the folder yet.
    Mounted,
    /// The named device is not there yet.
    Device,
    /// The destination does not answer: the reason.
    Destination(String),
}

/// Why nothing may be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartRefusal {
    /// The folder is on the disk of the system.
    RootDevice,
    /// Another device is mounted.
    OtherDevice,
    /// Two devices answer to the configured name.
    SeveralDevices,
    /// The named device is in use elsewhere.
    DeviceInUse(String),
    /// The named device cannot be read.
    DeviceUnreadable,
    /// Something is on the named device: what.
    DeviceNotRaw(String),
    /// The file system can only be read.
    ReadOnly,
    /// No marker, and entries of somebody else: how many.
    OtherEntries(usize),
    /// The marker is damaged.
    TornMarker,
    /// The marker, or its twin, cannot be read.
    UnreadableMarker,
    /// The twin is damaged.
    TornTwin,
    /// The marker is of another shelter: its name.
    OtherShelter(String),
    /// The marker was copied here from another file system.
    CopiedMarker,
    /// The marker and its twin are of two disks.
    TwoDisks,
    /// The destination has newer generations than this disk began: an old copy of it.
    OldCopy {
        /// Begun by this disk.
        disk: u64,
        /// Saved at the destination.
        destination: u64,
    },
    /// The destination lacks generations that it acknowledged.
    DestinationOlder {
        /// Acknowledged to this disk.
        disk: u64,
        /// Saved at the destination.
        destination: u64,
    },
    /// The destination belongs to another shelter: its name.
    OtherDestination(String),
    /// The destination is another repository than the one that acknowledged this generation.
    OtherRepository {
        /// Acknowledged to this disk.
        disk: u64,
    },
    /// The saved data does not fit.
    TooSmall {
        /// What a restore takes of the disk.
        wanted: Bytes,
        /// Bytes that can be written.
        room: Bytes,
    },
}

/// What to do at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartVerdict {
    /// Nothing yet: look again later.
    Wait(Awaited),
    /// Nothing, and services do not start.
    Refuse(StartRefusal),
    /// Make the configured file system on the named device, mount it, look again.
    Format,
    /// Mount the named device, whose file system is ours; look again.
    Mount,
    /// The disk is new and nothing was ever saved: take it into use.
    Begin,
    /// Restore this generation onto the empty disk.
    Restore(u64),
    /// A restore of this generation was interrupted: go on.
    Resume(u64),
    /// The disk kept its contents: check all files for changes, and save.
    Survived,
}

impl StartVerdict {
    /// Whether the verdict lets anything be written to the disk, besides the marker of a disk that survived.
    #[must_use]
    pub const fn writes(&self) -> bool {
        !matches!(self, Self::Wait(_) | Self::Refuse(_) | Self::Survived)
    }
}

/// The verdict.
#[must_use]
pub fn verdict(seen: &Observations) -> StartVerdict {
    match &seen.path {
        PathSeen::Missing | PathSeen::NotMounted => unmounted(seen),
        PathSeen::Mounted(mount) => mounted(seen, mount),
    }
}

/// Nothing is mounted: only a device that is named may become so.
fn unmounted(seen: &Observations) -> StartVerdict {
    let nothing = if seen.path == PathSeen::Missing { Awaited::Folder } else { Awaited::Mounted };
    match &seen.device {
        DeviceSeen::NotNamed => StartVerdict::Wait(nothing),
        DeviceSeen::Missing => StartVerdict::Wait(Awaited::Device),
        DeviceSeen::Several => StartVerdict::Refuse(StartRefusal::SeveralDevices),
        DeviceSeen::InUse(how) => StartVerdict::Refuse(StartRefusal::DeviceInUse(how.clone())),
        DeviceSeen::Unreadable => StartVerdict::Refuse(StartRefusal::DeviceUnreadable),
        DeviceSeen::Foreign(what) => StartVerdict::Refuse(StartRefusal::DeviceNotRaw(what.clone())),
        // Without leave to format it, another program that prepares the disk may yet do so.
        DeviceSeen::Raw if !seen.may_format => StartVerdict::Wait(nothing),
        DeviceSeen::Raw => match destination(seen) {
            Err(other) => other,
            Ok(_) => StartVerdict::Format,
        },
        DeviceSeen::FileSystem(identity) => match &seen.twin {
            MarkerSeen::Whole(twin) if twin.file_system == *identity && seen.may_format => StartVerdict::Mount,
            // A start was killed before it could mount what it had made.
            _ if seen.may_format && seen.making.as_ref() == Some(identity) => StartVerdict::Mount,
            // Made by somebody else, who will mount it.
            _ if !seen.may_format => StartVerdict::Wait(nothing),
            _ => StartVerdict::Refuse(StartRefusal::DeviceNotRaw(format!("a file system, {identity}"))),
        },
        // The device was raw when a start began to make a file system on it, and nothing was mounted since.
        DeviceSeen::Unrecognised if seen.may_format && seen.making.is_some() => match destination(seen) {
            Err(other) => other,
            Ok(_) => StartVerdict::Format,
        },
        DeviceSeen::Unrecognised => {
            StartVerdict::Refuse(StartRefusal::DeviceNotRaw("something that is not recognised".to_owned()))
        }
    }
}

/// Why a destination is not the one that has what was acknowledged, as far as a marker knows it.
#[must_use]
pub fn other_destination(known: &Marker, destination: &DestinationSeen) -> Option<StartRefusal> {
    let (held, repository) = match destination {
        DestinationSeen::Unused { repository } => (0, repository),
        DestinationSeen::Holds { generation, repository, .. } => (*generation, repository),
        _ => return None,
    };
    if held < known.generation {
        return Some(StartRefusal::DestinationOlder { disk: known.generation, destination: held });
    }
    // Before anything was acknowledged, any new place will do.
    let is_other = known.generation > 0 && !known.repository.is_empty() && known.repository != *repository;
    is_other.then_some(StartRefusal::OtherRepository { disk: known.generation })
}

/// Why what is saved is not this disk's, as far as its marker knows: another disk saved since.
#[must_use]
pub fn newer_destination(marker: &Marker, destination: &DestinationSeen) -> Option<StartRefusal> {
    let DestinationSeen::Holds { generation, claim, .. } = destination else { return None };
    // A generation that this disk began is its own only if it carries its claim: two machines may begin the same.
    let is_newer = *generation > marker.begun || (*claim != marker.claim && *generation > marker.generation);
    is_newer.then_some(StartRefusal::OldCopy { disk: marker.generation, destination: *generation })
}

/// The newest generation of the destination, if it has any; a verdict if it is not to be used.
fn destination(seen: &Observations) -> Result<Option<(u64, Bytes)>, StartVerdict> {
    match &seen.destination {
        DestinationSeen::NotWanted => Ok(None),
        DestinationSeen::Unreachable(reason) => Err(StartVerdict::Wait(Awaited::Destination(reason.clone()))),
        DestinationSeen::Foreign(name) => Err(StartVerdict::Refuse(StartRefusal::OtherDestination(name.clone()))),
        // The twin may know of generations: then this is an empty folder where the destination should be mounted, or another disk.
        held => match &seen.twin {
            MarkerSeen::Whole(twin) if let Some(refusal) = other_destination(twin, held) => {
                Err(StartVerdict::Refuse(refusal))
            }
            _ => Ok(match held {
                DestinationSeen::Holds { generation, room, .. } => Some((*generation, *room)),
                _ => None,
            }),
        },
    }
}

fn mounted(seen: &Observations, mount: &MountSeen) -> StartVerdict {
    if mount.is_root_device {
        return StartVerdict::Refuse(StartRefusal::RootDevice);
    }
    if seen.device == DeviceSeen::Several {
        return StartVerdict::Refuse(StartRefusal::SeveralDevices);
    }
    if mount.is_named_device == Some(false) {
        return StartVerdict::Refuse(StartRefusal::OtherDevice);
    }
    if mount.is_read_only {
        return StartVerdict::Refuse(StartRefusal::ReadOnly);
    }
    let refusal = match &seen.twin {
        MarkerSeen::Torn => Some(StartRefusal::TornTwin),
        MarkerSeen::Unreadable => Some(StartRefusal::UnreadableMarker),
        MarkerSeen::Absent | MarkerSeen::Whole(_) => None,
    };
    if let Some(refusal) = refusal {
        return StartVerdict::Refuse(refusal);
    }
    match &mount.marker {
        MarkerSeen::Torn => StartVerdict::Refuse(StartRefusal::TornMarker),
        MarkerSeen::Unreadable => StartVerdict::Refuse(StartRefusal::UnreadableMarker),
        MarkerSeen::Absent if mount.others > 0 => StartVerdict::Refuse(StartRefusal::OtherEntries(mount.others)),
        MarkerSeen::Absent => blank(seen, mount),
        MarkerSeen::Whole(marker) => marked(seen, mount, marker),
    }
}

/// An empty file system: what is saved comes back, if it fits.
fn blank(seen: &Observations, mount: &MountSeen) -> StartVerdict {
    match destination(seen) {
        Err(other) => other,
        Ok(None) => StartVerdict::Begin,
        Ok(Some((generation, wanted))) => {
            if wanted > mount.room {
                return StartVerdict::Refuse(StartRefusal::TooSmall { wanted, room: mount.room });
            }
            StartVerdict::Restore(generation)
        }
    }
}

fn marked(seen: &Observations, mount: &MountSeen, marker: &Marker) -> StartVerdict {
    if marker.source != seen.source {
        return StartVerdict::Refuse(StartRefusal::OtherShelter(marker.source.clone()));
    }
    if marker.file_system != mount.file_system {
        return StartVerdict::Refuse(StartRefusal::CopiedMarker);
    }
    if let MarkerSeen::Whole(twin) = &seen.twin
        && twin.claim != marker.claim
    {
        return StartVerdict::Refuse(StartRefusal::TwoDisks);
    }
    match destination(seen) {
        Ok(_) => {}
        // A disk that survived does not wait for its destination, if the twin knows it well.
        Err(StartVerdict::Wait(_)) if marker.state == MarkedState::Ready && is_twin(seen, marker) => {
            return StartVerdict::Survived;
        }
        Err(other) => return other,
    }
    let refusal = newer_destination(marker, &seen.destination).or_else(|| other_destination(marker, &seen.destination));
    if let Some(refusal) = refusal {
        return StartVerdict::Refuse(refusal);
    }
    match marker.state {
        MarkedState::Ready => StartVerdict::Survived,
        MarkedState::Restoring if marker.restores > 0 => StartVerdict::Resume(marker.restores),
        MarkedState::Restoring => StartVerdict::Resume(marker.generation),
    }
}

fn is_twin(seen: &Observations, marker: &Marker) -> bool {
    matches!(&seen.twin, MarkerSeen::Whole(twin) if twin.claim == marker.claim && twin.generation <= marker.begun
        && marker.generation <= twin.begun)
}

impl std::fmt::Display for Awaited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder => f.write_str("the disk's folder is not there yet"),
            Self::Mounted => f.write_str("nothing is mounted at the disk's folder yet"),
            Self::Device => f.write_str("the device that the configuration names is not there yet"),
            Self::Destination(reason) => write!(f, "the destination does not answer: {reason}"),
        }
    }
}

impl std::fmt::Display for StartRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RootDevice => f.write_str("the folder is on the disk of the system, not on an ephemeral one"),
            Self::OtherDevice => f.write_str("another device is mounted than the one that the configuration names"),
            Self::SeveralDevices => f.write_str("more than one device has the configured identity"),
            Self::DeviceInUse(how) => write!(f, "the device is in use: {how}"),
            Self::DeviceUnreadable => f.write_str("the device cannot be read, so nobody knows whether it is empty"),
            Self::DeviceNotRaw(what) => write!(f, "the device is not empty: {what} is on it"),
            Self::ReadOnly => f.write_str("the file system is mounted read-only"),
            Self::OtherEntries(count) => write!(
                f,
                "the disk has no marker but {count} other entries: take them into the shelter, or have a restore replace them"
            ),
            Self::TornMarker => f.write_str("the marker on the disk is damaged, so nobody knows what is whole on it"),
            Self::UnreadableMarker => f.write_str("the marker cannot be read"),
            Self::TornTwin => f.write_str("the marker's twin in the state folder is damaged"),
            Self::OtherShelter(name) => write!(f, "the disk belongs to another shelter: {name}"),
            Self::CopiedMarker => f.write_str("the marker comes from another file system: this disk is a copy"),
            Self::TwoDisks => f.write_str("the disk and the state folder have markers of two different disks"),
            Self::OldCopy { disk, destination } => write!(
                f,
                "the destination has generation {destination}, and this disk knows {disk}: it is an old copy, or two machines save to one place"
            ),
            Self::DestinationOlder { disk, destination: 0 } => write!(
                f,
                "generation {disk} was saved, and the destination has none: it is another one, or not mounted"
            ),
            Self::DestinationOlder { disk, destination } => write!(
                f,
                "generation {disk} was saved, and the destination has {destination}: it is another one, or not mounted"
            ),
            Self::OtherRepository { disk } => write!(
                f,
                "generation {disk} was saved into another repository than the one that is there now: is another disk mounted in its place?"
            ),
            Self::OtherDestination(name) => write!(f, "the destination belongs to another shelter: {name}"),
            Self::TooSmall { wanted, room } => {
                write!(f, "a restore takes {} of the disk, and {} are free", wanted.human(), room.human())
            }
        }
    }
}

#[cfg(test)]
mod tests;
