//! How a side stands beside the baseline, in a word.

use loadline_analysis::{Comparison, RankedSide, Verdict};
use serde::{Deserialize, Serialize};

/// How a side stands beside the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Worse.
    Worse,
    /// Some loads are better, and others worse.
    BetterAndWorse,
    /// It is not known.
    CannotTell,
    /// Alike.
    Same,
    /// Better.
    Better,
}

impl Standing {
    /// Of a side; `None` of the baseline itself.
    pub(super) fn of(comparison: &Comparison, side: &RankedSide) -> Option<Self> {
        let verdict = side.verdict?;
        if comparison.trade_off(side.side).is_some() {
            return Some(Self::BetterAndWorse);
        }
        Some(match verdict {
            Verdict::Better => Self::Better,
            Verdict::Worse => Self::Worse,
            Verdict::Same => Self::Same,
            Verdict::CannotTell => Self::CannotTell,
        })
    }

    /// Of the second side of two; `None` where nothing of them can be compared.
    #[must_use]
    pub fn of_second(comparison: &Comparison) -> Option<Self> {
        let side = comparison.ranking.iter().find(|ranked| ranked.verdict.is_some())?;
        let has_cells = comparison.against.first()?.cells.iter().any(|cell| cell.deciding().is_some());
        Self::of(comparison, side).filter(|_| has_cells || !comparison.applications.is_empty())
    }

    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Worse => Verdict::Worse.words(),
            Self::BetterAndWorse => "better and worse",
            Self::CannotTell => Verdict::CannotTell.words(),
            Self::Same => Verdict::Same.words(),
            Self::Better => Verdict::Better.words(),
        }
    }
}
