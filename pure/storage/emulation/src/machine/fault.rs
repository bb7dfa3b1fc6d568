//! Faults as data, and which requests they affect.

use loadline_block::{ErrorKind, Operation, Request};
use loadline_disk::{EnvironmentSpec, Layout};
use loadline_units::{Bytes, Duration, Instant, Ratio};
use serde::{Deserialize, Serialize};

/// Faults in force at once.
pub const FAULTS_MAX: usize = 256;
/// The longest delay, stall or period of a fault.
pub(crate) const DELAY_MAX: Duration = Duration::from_s(86_400);

/// A lasting fault of a volume or of one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The volume (`data`), or the disk (`data/0`): then requests to the volume that reach this disk are concerned as well.
    pub on: String,
    /// What happens.
    pub kind: FaultKind,
    /// Only requests that ask for one of these; empty: all.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// Only requests that touch what lies from here on, in bytes of `on`.
    #[serde(default = "nothing")]
    pub from: Bytes,
    /// And before here; `None`: to the end.
    #[serde(default)]
    pub until: Option<Bytes>,
    /// Only this share of those requests, chosen by the emulation's seed.
    #[serde(default = "all")]
    pub share: Ratio,
}

impl Fault {
    /// Of all requests to a volume or a disk.
    pub fn of_all(on: impl Into<String>, kind: FaultKind) -> Self {
        let (from, share) = (nothing(), all());
        Self { on: on.into(), kind, operations: Vec::new(), from, until: None, share }
    }
}

const fn nothing() -> Bytes {
    Bytes::ZERO
}
const fn all() -> Ratio {
    Ratio::ONE
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultKind {
    /// It fails, after the time that it would have taken. A copy of the disk answers in its place.
    Error(ErrorKind),
    /// It takes longer.
    Delay(Duration),
    /// What would be answered within a stall is answered when the stall ends.
    Stall {
        /// How long each lasts; the first begins when the fault does.
        lasting: Duration,
        /// From the beginning of one to that of the next; `None`: there is only one.
        every: Option<Duration>,
    },
    /// It is not answered until the fault is cleared.
    Hang,
    /// The disk is gone with all it held. When the fault is cleared an empty disk takes its place, filled from a copy if there
    /// is one.
    Lost,
    /// It is not there until the fault is cleared; it keeps what it held, and is brought up to date from a copy if there is one.
    Detached,
}

impl FaultKind {
    /// Whether no request reaches the disk any more.
    #[must_use]
    pub const fn takes_away(self) -> bool {
        matches!(self, Self::Lost | Self::Detached)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.on)?;
        if self.share != Ratio::ONE {
            write!(f, "{} of ", self.share)?;
        }
        match self.operations.as_slice() {
            [] => f.write_str("requests")?,
            operations => {
                for (number, operation) in operations.iter().enumerate() {
                    let several = match operation {
                        Operation::Read => "reads",
                        Operation::Write => "writes",
                        Operation::Flush => "flushes",
                        Operation::Trim => "trims",
                    };
                    write!(f, "{}{several}", if number > 0 { ", " } else { "" })?;
                }
            }
        }
        if self.from > Bytes::ZERO || self.until.is_some() {
            write!(f, " from {}", self.from)?;
            if let Some(until) = self.until {
                write!(f, " to {until}")?;
            }
        }
        match self.kind {
            FaultKind::Error(ErrorKind::Io) => f.write_str(" fail with EIO"),
            FaultKind::Error(ErrorKind::NoSpace) => f.write_str(" fail with ENOSPC"),
            FaultKind::Error(error) => write!(f, " fail: {error}"),
            FaultKind::Delay(by) => write!(f, " take {by} longer"),
            FaultKind::Stall { lasting, every: None } => write!(f, " stall once, for {lasting}"),
            FaultKind::Stall { lasting, every: Some(every) } => write!(f, " stall for {lasting} every {every}"),
            FaultKind::Hang => f.write_str(" hang"),
            FaultKind::Lost => f.write_str(" find the disk lost"),
            FaultKind::Detached => f.write_str(" find the disk detached"),
        }
    }
}

/// An active fault.
#[derive(Debug, Clone)]
pub(crate) struct ActiveFault {
    pub(crate) number: u32,
    /// Its place among the active faults, reused when it is cleared.
    pub(crate) place: u8,
    pub(crate) fault: Fault,
    pub(crate) since: Instant,
}

impl ActiveFault {
    /// When an answer that would come at `at` comes.
    pub(crate) fn stalled(&self, at: Instant) -> Instant {
        let FaultKind::Stall { lasting, every } = self.fault.kind else { return at };
        if at < self.since {
            return at;
        }
        let gone = at.since(self.since);
        let begun = every.map_or(self.since, |every| self.since + every * (gone.as_ns() / every.as_ns()));
        if at < begun + lasting { begun + lasting } else { at }
    }
}

/// A set of active faults, by their places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FaultSet([u64; FAULTS_MAX / 64]);

impl FaultSet {
    fn bit(place: u8) -> (usize, u64) {
        (usize::from(place) / 64, 1 << (place % 64))
    }

    pub(crate) fn add(&mut self, place: u8) {
        let (word, bit) = Self::bit(place);
        self.0[word] |= bit;
    }

    pub(crate) fn has(self, place: u8) -> bool {
        let (word, bit) = Self::bit(place);
        self.0[word] & bit != 0
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == [0; FAULTS_MAX / 64]
    }

    /// Whether one is in both.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(own, other)| own & other != 0)
    }

    pub(crate) fn remove(&mut self, other: Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own &= !other;
        }
    }

    /// A place that is none of these.
    pub(crate) fn first_free(self) -> Option<u8> {
        (0..=u8::MAX).find(|place| !self.has(*place))
    }
}

impl FromIterator<u8> for FaultSet {
    fn from_iter<I: IntoIterator<Item = u8>>(places: I) -> Self {
        let mut all = Self::default();
        places.into_iter().for_each(|place| all.add(place));
        all
    }
}

/// A volume, or one disk of it: what an export or a fault names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Component {
    pub(crate) volume: usize,
    /// `None`: the volume.
    pub(crate) disk: Option<usize>,
}

impl Component {
    /// Whether a fault of this kind on `on` can affect requests to `self`.
    pub(crate) fn can_meet(&self, on: &Self, kind: &FaultKind) -> bool {
        self.volume == on.volume
            && match (self.disk, on.disk) {
                (Some(own), Some(other)) => own == other,
                // What is wrong with a volume as a whole lies in the guest, or in all of its disks: one of them by itself is fine
                // unless the volume is gone.
                (Some(_), None) => kind.takes_away() || matches!(kind, FaultKind::Hang),
                (None, _) => true,
            }
    }
}

/// The volumes of an environment with their layouts: which request reaches which disk.
#[derive(Debug, Clone)]
pub(crate) struct VolumeLayouts(Vec<(String, Layout, usize)>);

/// Which copies of a disk's bytes a request reaches.
enum CopiesReached {
    Nothing,
    /// One of several copies, of which any will do.
    One,
    Every,
}

impl VolumeLayouts {
    pub(crate) fn of(environment: &EnvironmentSpec) -> Self {
        let volumes = environment.volumes.iter();
        Self(volumes.map(|volume| (volume.name.clone(), volume.layout, volume.disks.len())).collect())
    }

    /// The names of volumes, then of disks: the order of exports.
    pub(crate) fn names(&self) -> Vec<String> {
        let disks = |(name, _, count): &(String, Layout, usize)| {
            (0..*count).map(|number| format!("{name}/{number}")).collect::<Vec<_>>()
        };
        self.0.iter().map(|(name, ..)| name.clone()).chain(self.0.iter().flat_map(disks)).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<Component> {
        if let Some(volume) = self.0.iter().position(|(own, ..)| own == name) {
            return Some(Component { volume, disk: None });
        }
        let (own, number) = name.rsplit_once('/')?;
        let volume = self.0.iter().position(|(volume, ..)| volume == own)?;
        let disk: usize = number.parse().ok()?;
        (disk < self.0[volume].2 && number == disk.to_string()).then_some(Component { volume, disk: Some(disk) })
    }

    pub(crate) fn layout(&self, volume: usize) -> Layout {
        self.0[volume].1
    }
    pub(crate) fn disks(&self, volume: usize) -> usize {
        self.0[volume].2
    }
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a request to `export` meets a fault on `on`, within the fault's range. `draw` decides which of several copies that
    /// are `there` a read reaches.
    pub(crate) fn meets(
        &self,
        export: &Component,
        on: &Component,
        fault: &Fault,
        request: &Request,
        draw: u64,
        there: &impl Fn(usize) -> bool,
    ) -> bool {
        if !export.can_meet(on, &fault.kind) {
            return false;
        }
        let end = request.offset + u64::from(request.length);
        let within = |from: u64, to: u64| from < fault.until.map_or(u64::MAX, Bytes::get) && to > fault.from.get();
        let flush = request.operation == Operation::Flush;
        match (export.disk, on.disk) {
            (None, None) | (Some(_), Some(_)) => flush || within(request.offset, end),
            (Some(_), None) => true,
            (None, Some(disk)) => {
                let layout = self.layout(on.volume);
                match reach(layout, request, disk, &within) {
                    CopiesReached::Nothing => false,
                    CopiesReached::Every => true,
                    CopiesReached::One => {
                        let first = disk - disk % layout.copies();
                        let copies = || (first..first + layout.copies()).filter(|copy| there(*copy));
                        let count = copies().count().max(1);
                        copies().nth((draw % count as u64) as usize) == Some(disk)
                    }
                }
            }
        }
    }
}

fn reach(layout: Layout, request: &Request, disk: usize, within: &impl Fn(u64, u64) -> bool) -> CopiesReached {
    let reached = if request.operation == Operation::Read && layout.copies() > 1 {
        CopiesReached::One
    } else {
        CopiesReached::Every
    };
    if request.operation == Operation::Flush {
        return reached;
    }
    let (mut at, end) = (request.offset, request.offset + u64::from(request.length));
    while at < end {
        let place = layout.locate(at);
        let length = place.run.min(end - at);
        if place.column == disk / layout.copies() && within(place.offset, place.offset + length) {
            return reached;
        }
        at += length;
    }
    CopiesReached::Nothing
}
