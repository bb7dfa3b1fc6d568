//! The result of a fit, as values.

use crate::score::Agreement;
use loadline_analysis::StandingLimit;
use loadline_block::Operation;
use loadline_record::{Clock, Limit};
use loadline_units::{ByteRate, Duration, Iops};

/// The result of a fit. `loadline-report` makes the environment file of it.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// What the environment is called.
    pub name: String,
    /// The run that it was fitted to.
    pub run: String,
    /// When that began.
    pub started: String,
    /// The version of loadline that made it.
    pub version: String,
    /// Whether the run's figures were measured or predicted.
    pub clock: Clock,
    /// The volumes, each as one disk.
    pub volumes: Vec<FittedVolume>,
    /// How the run's own loads come out on it, in the run's order.
    pub agreement: Vec<Agreement>,
    /// Statements without evidence, or with less than a measurement.
    pub doubts: Vec<FitDoubt>,
    /// Assumptions for lack of a load.
    pub assumptions: Vec<FitAssumption>,
}

/// A volume as one disk.
#[derive(Debug, Clone)]
pub struct FittedVolume {
    /// Its name.
    pub name: String,
    /// The most requests that were seen, where no limit on them was.
    pub iops_unlimited: Option<Iops>,
    /// The most bytes that were seen, where no limit on them was.
    pub throughput_unlimited: Option<ByteRate>,
    /// The disk as an environment has it.
    pub disk: String,
}

/// A statement of the environment without evidence, or with less than a measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum FitDoubt {
    /// The run is a prediction.
    OfPrediction,
    /// Limits of a prediction beside the disk's own bound loads.
    AboveTheDisk {
        /// Those, by name.
        limits: Vec<Limit>,
    },
    /// A limit above the storage held loads, which the file has as a limit of its disk.
    AtLimit {
        /// On this volume.
        volume: String,
        /// The limit.
        limit: StandingLimit,
        /// So many loads.
        loads: usize,
    },
    /// A direction was not measured: it has the figures of the other.
    NotMeasured {
        /// Of this volume.
        volume: String,
        /// The direction.
        operation: Operation,
    },
    /// All loads of a direction waited at a limit, so that their own latency is not known.
    AllWaited {
        /// On this volume.
        volume: String,
        /// The direction.
        operation: Operation,
        /// The latency of the quickest; `None`: nobody measured it.
        most: Option<Duration>,
    },
    /// The loads do not show how much the limits let through at once.
    BucketUnknown {
        /// Of this volume.
        volume: String,
        /// The depth that explains them.
        explains: Duration,
        /// The least depth that does so as well: the one in the file.
        taken: Duration,
    },
    /// Loads had the rate of the tool itself, and were left out.
    OfTheTool {
        /// So many.
        loads: usize,
        /// The first.
        first: String,
        /// Its volume.
        volume: String,
    },
}

impl FitDoubt {
    /// The volume whose figures it is about, if it is about one.
    #[must_use]
    pub fn volume(&self) -> Option<&str> {
        match self {
            Self::AtLimit { volume, .. }
            | Self::NotMeasured { volume, .. }
            | Self::AllWaited { volume, .. }
            | Self::BucketUnknown { volume, .. } => Some(volume),
            Self::OfPrediction | Self::AboveTheDisk { .. } | Self::OfTheTool { .. } => None,
        }
    }
}

/// What was assumed of a volume's budgets, where no mix was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitAssumption {
    /// The volume.
    pub volume: String,
    /// How reads and writes share.
    pub budgets: AssumedBudgets,
}

/// How reads and writes draw on budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumedBudgets {
    /// On one: its limits are the same for both.
    One,
    /// On one at a price each.
    Traded,
    /// On one each: a window is counted for each direction.
    Windowed,
    /// On one each, as devices in the host do.
    Apart,
}
