//! Why an advice, or a choice, should not be taken as it stands, with its figures.

use loadline_catalog::Estimated;
use loadline_demand::AtLimit;
use serde::Serialize;

/// A doubt about an advice or a choice, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceDoubtCode {
    /// The source could not do more.
    SourceLimited,
    /// Rates are means over long intervals.
    Averaged,
    /// The record covers less than a week.
    ShortHistory,
    /// How the record was read.
    ReadAs,
    /// Requests have one size, the mean.
    OneSize,
    /// What a host's cache would answer is not known.
    UnknownLocality,
    /// Something has no price.
    NotPriced,
    /// A part of the price is an estimate.
    EstimatedPrices,
    /// What a commitment costs is not known.
    NotCommitted,
    /// Prices of long ago.
    OldPrices,
    /// Processors that run on credits.
    CpuCredits,
    /// A disk was measured otherwise than it is sold.
    KnownDeviation,
    /// A limit is not in the catalog.
    LimitUnknown,
}

impl AdviceDoubtCode {
    /// Its name, as in the JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SourceLimited => "source-limited",
            Self::Averaged => "averaged",
            Self::ShortHistory => "short-history",
            Self::ReadAs => "read-as",
            Self::OneSize => "one-size",
            Self::UnknownLocality => "unknown-locality",
            Self::NotPriced => "not-priced",
            Self::EstimatedPrices => "estimated-prices",
            Self::NotCommitted => "not-committed",
            Self::OldPrices => "old-prices",
            Self::CpuCredits => "cpu-credits",
            Self::KnownDeviation => "known-deviation",
            Self::LimitUnknown => "limit-unknown",
        }
    }
}

impl std::fmt::Display for AdviceDoubtCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an advice, or a choice, should not be taken as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AdviceDoubt {
    /// The source could not do more for a part of the recorded time.
    SourceLimited {
        /// That part, 0 to 1.
        share: f64,
        /// Why, for most of it.
        reason: Option<AtLimit>,
    },
    /// Rates are means over long intervals.
    Averaged {
        /// The longest.
        interval_s: f64,
    },
    /// The record covers less than a week.
    ShortHistory {
        /// So much.
        recorded_s: f64,
    },
    /// How the record was read.
    ReadAs {
        /// In the words of what read it.
        note: String,
    },
    /// Sizes within an interval are one mean.
    MeanSizes {
        /// Of a read.
        read_bytes: f64,
        /// Of a write.
        write_bytes: f64,
    },
    /// Reads and writes differ in size, and the latency is simulated with one.
    SizesDiffer,
    /// Which part of the reads a host's cache would answer is not known.
    UnknownLocality,
    /// Something has no price.
    NotPriced {
        /// Why each has none.
        missing: Vec<String>,
    },
    /// No list has a part of the price: it is estimated from another, as it is elsewhere.
    EstimatedPrices {
        /// Of what, and which parts.
        items: Vec<EstimatedItem>,
    },
    /// A commitment was asked for, and what it costs for this machine is not known.
    NotCommitted {
        /// Its name.
        machine: String,
    },
    /// Prices of long ago.
    OldPrices {
        /// Their dates.
        dates: Vec<String>,
    },
    /// Processors that run on credits.
    CpuCredits,
    /// A disk was measured otherwise than it is sold.
    KnownDeviation {
        /// Its name.
        disk: String,
        /// What was measured.
        measured: String,
    },
    /// What a machine allows all disks of a type is not in the catalog.
    AllowanceUnknown {
        /// The machine.
        machine: String,
        /// The type.
        disks: String,
    },
    /// What a host's cache may answer is an estimate.
    HostCacheEstimated,
}

/// A price of which parts are estimates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EstimatedItem {
    /// Its name in the catalog.
    pub name: String,
    /// Which parts.
    pub parts: Vec<Estimated>,
}

impl AdviceDoubt {
    /// What kind it is.
    #[must_use]
    pub const fn code(&self) -> AdviceDoubtCode {
        match self {
            Self::SourceLimited { .. } => AdviceDoubtCode::SourceLimited,
            Self::Averaged { .. } => AdviceDoubtCode::Averaged,
            Self::ShortHistory { .. } => AdviceDoubtCode::ShortHistory,
            Self::ReadAs { .. } => AdviceDoubtCode::ReadAs,
            Self::MeanSizes { .. } | Self::SizesDiffer => AdviceDoubtCode::OneSize,
            Self::UnknownLocality => AdviceDoubtCode::UnknownLocality,
            Self::NotPriced { .. } => AdviceDoubtCode::NotPriced,
            Self::EstimatedPrices { .. } => AdviceDoubtCode::EstimatedPrices,
            Self::NotCommitted { .. } => AdviceDoubtCode::NotCommitted,
            Self::OldPrices { .. } => AdviceDoubtCode::OldPrices,
            Self::CpuCredits => AdviceDoubtCode::CpuCredits,
            Self::KnownDeviation { .. } => AdviceDoubtCode::KnownDeviation,
            Self::AllowanceUnknown { .. } | Self::HostCacheEstimated => AdviceDoubtCode::LimitUnknown,
        }
    }
}
