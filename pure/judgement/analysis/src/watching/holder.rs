//! What holds a watched device, and what to do about it, as values.

use crate::device_throttle::HeldBy;
use crate::summary::CauseShare;
use loadline_record::{ApplicationAt, Limit, MemoryLimit, ShortQueue};
use serde::{Deserialize, Serialize};

/// What holds a watched device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchHolder {
    /// It is not known.
    Unknown,
    /// No request reached the device.
    NoRequest {
        /// The device.
        device: String,
    },
    /// Something holds it.
    Held {
        /// What.
        by: Box<WatchHeld>,
        /// What else has its time.
        beside: Box<WatchBeside>,
        /// Another program than the one that was named, with most of the device's bytes.
        crowd: Option<OtherProgram>,
    },
}

/// What has most of the time of a watched device, or comes before that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchHeld {
    /// A limit of storage.
    Storage {
        /// The limit.
        limit: Limit,
        /// As requests per second of this load.
        ceiling_iops: Option<f64>,
        /// Whether which limit it is was only presumed.
        presumed: bool,
        /// The throttle of the kernel that it is, where it is one.
        throttle: Option<HeldBy>,
        /// The kernel's queue that it is, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<ShortQueue>,
        /// The memory limit of the program's control group that it is, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<Box<MemoryLimit>>,
        /// Whether the machine moves pages to its swap and back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        swap: bool,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// Something else.
    Other {
        /// What binds.
        limit: Limit,
        /// What the time went to.
        cause: Option<CauseShare>,
    },
}

/// What else has the time of a watched device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchBeside {
    /// Nothing that matters.
    Nothing,
    /// Something has about as much of the time.
    AsMuch {
        /// What.
        other: CauseShare,
    },
    /// Something that is no storage has more of the time.
    Otherwise {
        /// What.
        other: CauseShare,
    },
    /// Another limit of storage has nearly as much.
    NearlyAsMuch {
        /// What.
        other: CauseShare,
    },
    /// Storage has the lesser part.
    SomeStorage {
        /// What of it.
        storage: CauseShare,
    },
    /// Storage has next to nothing.
    NoStorage {
        /// The share of the time in which the device had requests.
        busy_share: f64,
    },
}

/// A program beside the one that was named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherProgram {
    /// Its name.
    pub program: String,
    /// One of its processes.
    pub pid: u32,
    /// Its share of the device's bytes.
    pub share_of_bytes: f64,
    /// The device.
    pub device: String,
}

/// What to do about what holds a watched device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchNext {
    /// Lift a throttle of the kernel that is not meant.
    LiftThrottle,
    /// Lift another limit that stands in a file of the kernel, if it is not meant.
    LiftSetting,
    /// Watch while the application works.
    WatchAtWork {
        /// The device that was idle.
        device: String,
    },
    /// See whether another program must run now.
    SeeProgram {
        /// The program.
        other: OtherProgram,
    },
    /// Look elsewhere: other storage changes nothing.
    LookElsewhere,
    /// See to what the application does instead of asking for storage.
    Application {
        /// What it does.
        at: ApplicationAt,
        /// The share of the time that faster storage saves at most; 0 where it changes nothing.
        storage_saves: f64,
    },
    /// A step that moves the limit.
    Step {
        /// Which.
        step: WatchStep,
        /// The share of the time that faster storage saves at most, where that is worth a word; 0 where it changes nothing.
        storage_saves: Option<f64>,
    },
}

impl WatchNext {
    /// Whether the step is taken elsewhere than at the storage, which gains next to nothing.
    #[must_use]
    pub fn storage_changes_nothing(&self) -> bool {
        match self {
            Self::LookElsewhere => true,
            Self::Application { storage_saves, .. } => *storage_saves == 0.0,
            Self::Step { step, storage_saves } => *step == WatchStep::KeepStorage || *storage_saves == Some(0.0),
            Self::LiftThrottle | Self::LiftSetting | Self::WatchAtWork { .. } | Self::SeeProgram { .. } => false,
        }
    }
}

/// What moves a limit of a watched device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchStep {
    /// Another disk or a stripe: more requests per second.
    MoreIops,
    /// A disk with more bytes per second, or a stripe.
    MoreThroughput,
    /// A larger VM.
    LargerMachine,
    /// To plan with the baseline, or a disk with a higher one.
    HigherBaseline,
    /// More at once, or a disk that answers faster.
    FasterAnswers,
    /// Storage that answers faster: many requests are outstanding already.
    FasterOnly,
    /// Fewer flushes, or a disk that flushes faster.
    FasterFlushes,
    /// More memory for the page cache.
    MoreMemory,
    /// More CPU for the application.
    MoreCpu,
    /// To leave the storage as it is.
    KeepStorage,
    /// To see what the application does.
    SeeApplication,
}
