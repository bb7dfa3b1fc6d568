//! Where a figure of a limit in the list of a run's limits comes from.

use crate::{CeilingSource, DirectionLevel};
use serde::{Deserialize, Serialize};

/// Where a figure of a limit comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LimitSource {
    /// A ceiling of an environment.
    Declared {
        /// Where that is from.
        source: CeilingSource,
    },
    /// A ceiling of a model, with the loads that it bound.
    Modelled {
        /// Where that is from.
        source: CeilingSource,
        /// Those.
        bound: LoadsShown,
    },
    /// A throttle of the kernel.
    Throttle {
        /// Its file.
        file: String,
    },
    /// The mean of a load.
    MeanOf {
        /// The load.
        load: String,
    },
    /// The level of loads.
    LevelOf {
        /// Those.
        loads: LoadsShown,
        /// Of a mix: the direction whose limit it is.
        direction: Option<DirectionLevel>,
        /// Whether only what is usual shows that it is one of requests or of bytes.
        presumed: bool,
    },
    /// The limit on bytes over that on requests.
    BreakPoint {
        /// The one.
        bytes_per_s: f64,
        /// The other.
        rate_iops: f64,
    },
    /// The rate of a load fell.
    Fell {
        /// The load.
        load: String,
        /// Of this size.
        block_bytes: u64,
        /// From this rate.
        before_iops: f64,
        /// To this one.
        after_iops: f64,
    },
    /// Latencies in two clusters.
    Windows {
        /// Loads that have them.
        loads: u64,
        /// The shortest window of one.
        least_ns: f64,
        /// The longest.
        most_ns: f64,
    },
}

/// Loads that show a limit, by how many there are and the first and the last of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadsShown {
    /// How many.
    pub loads: u64,
    /// The first; `None`: none.
    pub first: Option<String>,
    /// The last.
    pub last: Option<String>,
}

impl LoadsShown {
    /// Of loads in their order.
    #[must_use]
    pub fn of(labels: &[String]) -> Self {
        Self { loads: labels.len() as u64, first: labels.first().cloned(), last: labels.last().cloned() }
    }
}
