//! Why nothing can be said of a ratio.

use serde::{Deserialize, Serialize};

/// Why neither better nor worse nor same can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Undecided {
    /// A side has no figure.
    NoFigure {
        /// Why the baseline has none.
        baseline: Option<NoFigure>,
        /// Why the other has none.
        other: Option<NoFigure>,
    },
    /// Every cell is in doubt.
    EveryCellInDoubt,
    /// No cell has a ratio.
    NoRatio,
    /// A single trial with few seconds does not show its error.
    ErrorNotKnown,
    /// Of so many looks some are as far apart by chance.
    ManyLooks,
    /// The interval leaves out no difference, but narrowly.
    Narrowly,
    /// The interval reaches from no difference to beyond the margin.
    WideInterval,
    /// Applications asked for requests of another kind.
    OtherWork,
    /// The application asked for more, and waited longer.
    AskedMore,
    /// The application asked for less, and did not wait longer.
    AskedLess,
    /// Draws of a model differ by more than the margin.
    DrawsApart,
    /// Draws of a model do not agree which side is ahead.
    DrawsDisagree {
        /// Whether each draw was compared with its like.
        paired: bool,
    },
}

/// Why a cell has no figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoFigure {
    /// No trial measured anything.
    NoTrial,
    /// Requests were asked for, none was completed.
    NoRequest,
    /// Too few requests lie beyond the percentile.
    TooFew,
    /// Another tool measured it, and did not tell.
    NotTold,
}
