//! What machines cost for who commits to pay for years.

use loadline_units::Ratio;

/// How long one commits to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum CommitmentTerm {
    /// One year.
    #[serde(rename = "1y")]
    OneYear,
    /// Three years.
    #[serde(rename = "3y")]
    ThreeYears,
}

impl CommitmentTerm {
    /// Each.
    pub const ALL: [Self; 2] = [Self::OneYear, Self::ThreeYears];

    /// "1y" or "3y".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneYear => "1y",
            Self::ThreeYears => "3y",
        }
    }
}

/// Shares of list prices that a commitment costs, by kinds of machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitmentShare {
    pub(crate) provider: String,
    /// What stands before the size in the name: "m5".
    pub(crate) machines: String,
    pub(crate) term: CommitmentTerm,
    pub(crate) share: Ratio,
    /// Under which conditions.
    pub(crate) terms: Option<String>,
    /// The index in the catalog of the file that contains it.
    pub(crate) family: usize,
}
