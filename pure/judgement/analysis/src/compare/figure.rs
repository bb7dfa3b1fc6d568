//! The figures that decide a comparison.

use serde::{Deserialize, Serialize};

/// A figure of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Reads, writes and trims per second.
    Rate,
    /// Bytes per second.
    Throughput,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    #[serde(rename = "p99_9")]
    P999,
    /// What an application counted in a second, by what its user said.
    Counted,
}

impl Figure {
    /// Every figure of requests.
    pub const ALL: [Self; 8] =
        [Self::Rate, Self::Throughput, Self::Mean, Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    /// Its name, as in the JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Throughput => "throughput",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
            Self::Counted => "counted",
        }
    }
    /// Whether a larger figure is the better one.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::Rate | Self::Throughput | Self::Counted)
    }
    /// The share of requests within it, where it is a percentile.
    #[must_use]
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Self::Rate | Self::Throughput | Self::Mean | Self::Counted => None,
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
        }
    }
}

/// One figure of one cell by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FigureValue {
    /// Which; rates are in requests or bytes per second, latencies in ns.
    pub figure: Figure,
    /// The geometric mean over the cell's trials.
    pub value: f64,
}

/// What an interval rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Trials of one run, each against the one of its own round, of which there are enough.
    PairedTrials,
    /// The spread of several trials on either side.
    Trials,
    /// The spread of the trials on one side, taken for the only trial of the other too.
    TrialsOfOneSide,
    /// The seconds of the only trial on either side: how another trial would come out is not known.
    OneTrial,
}

/// One figure of two cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimate {
    /// Which; rates are in requests or bytes per second, latencies in ns.
    pub figure: Figure,
    /// The baseline's: the geometric mean over its trials.
    pub baseline: f64,
    /// The other's.
    pub other: f64,
    /// Other over baseline.
    pub ratio: f64,
    /// Lower end of the 95 % interval of the ratio; `null` where there is too little to tell.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What the interval rests on.
    pub basis: Option<Basis>,
}
