//! What happens in an emulation, and to the block devices of its volumes.

use loadline_emulator::{Released, Turns};
use loadline_units::{Bytes, Duration};
use std::path::PathBuf;

/// What the caller of an emulation should know; each is reported once.
#[derive(Debug, Clone, PartialEq)]
pub enum EmulationEvent {
    /// Contents fill the memory that they may take: writes fail with ENOSPC.
    MemoryFull {
        /// What they may take.
        max: Bytes,
    },
    /// The folder of the contents failed.
    BackingFailed {
        /// How.
        cause: String,
    },
    /// The trace ends here; clients are served as before.
    TraceEnded {
        /// Why.
        cause: String,
    },
    /// The record so far could not be kept. It is tried again, and at the end.
    RecordNotKept {
        /// Why.
        cause: String,
    },
    /// Answers leave too late to be the disk's.
    LateAnswers(LateAnswers),
}

/// Answers of an export that left too late.
#[derive(Debug, Clone, PartialEq)]
pub struct LateAnswers {
    /// The volume or disk.
    pub export: String,
    /// 99 % of answers left within this time after the model's.
    pub late_p99: Duration,
    /// The modelled latency that it stands beside.
    pub modelled_p99: Duration,
    /// How the emulator's threads get the processor.
    pub turns: Turns,
}

/// What happens to attached volumes.
#[derive(Debug)]
pub enum AttachEvent {
    /// An emulation that was killed left something attached to the folder. It is taken down first.
    LeftBehind {
        /// What it left.
        place: String,
    },
    /// One of its devices was released, or is still in use.
    TakenDown(Released),
    /// The storage was switched off and on, and the disk of a volume does not answer: it has no device for now.
    NoAnswer {
        /// The volume.
        volume: String,
        /// The fault that holds it.
        fault: String,
    },
    /// The storage was switched off and on, and a volume has a new device.
    NewDevice {
        /// The volume.
        volume: String,
        /// The device that it had.
        old: PathBuf,
        /// The device that it has.
        new: PathBuf,
    },
    /// The storage was switched off and on, and a volume's device could not be made.
    NoDevice {
        /// The volume.
        volume: String,
        /// Its file, or the link to its device.
        place: PathBuf,
        /// Why not.
        cause: String,
    },
    /// `losetup` waited too long for a volume's storage. All devices are taken down.
    GivenUp {
        /// The volume.
        volume: String,
        /// The folder that it was attached to.
        folder: PathBuf,
        /// How long it waited.
        seconds: u64,
    },
    /// A device is still in use at the end: its users get errors from now on.
    StillInUse {
        /// The device.
        device: PathBuf,
        /// What was not written yet is lost for sure.
        loses: bool,
    },
}
