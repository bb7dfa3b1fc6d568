//! What always holds of a comparison: ranks, verdicts, objectives and prices agree.

use crate::compare::{Comparison, Counts, Overall, RankedSide, Verdict};

/// A rule that a comparison breaks.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparisonViolation {
    /// A side has no rank, or several.
    Unranked {
        /// The side.
        side: u32,
    },
    /// The ranks do not rise from 1.
    RankOrder,
    /// A side that is better than the baseline stands behind it, or one that is worse before it.
    RankApart {
        /// The side.
        side: u32,
        /// Its verdict.
        verdict: Option<Verdict>,
    },
    /// Of two sides of one rank the dearer stands first.
    DearerFirst {
        /// It.
        side: u32,
    },
    /// A side is said to keep an objective that a load of it breaks, without the load up to which it does.
    ObjectiveApart {
        /// The side.
        side: u32,
    },
    /// A verdict over all cells is not that of its interval, or of its cells.
    VerdictApart {
        /// The side.
        side: u32,
        /// The verdict.
        verdict: Verdict,
        /// How its cells came out.
        counts: Counts,
    },
    /// A ratio lies outside of its interval.
    OutsideInterval {
        /// The side.
        side: u32,
    },
}

/// Every rule that a comparison breaks.
#[must_use]
pub fn comparison_violations(found: &Comparison) -> Vec<ComparisonViolation> {
    let ranked = |side: &u32| found.ranking.iter().filter(|of| of.side == *side).count();
    let mut broken: Vec<ComparisonViolation> = (0..)
        .take(found.sides.len())
        .filter(|side| ranked(side) != 1)
        .map(|side| ComparisonViolation::Unranked { side })
        .collect();
    let rises = found.ranking.first().is_none_or(|first| first.rank == 1)
        && found.ranking.windows(2).all(|pair| pair[0].rank <= pair[1].rank);
    broken.extend((!rises).then_some(ComparisonViolation::RankOrder));
    let baseline = found.ranking.iter().find(|side| side.side == 0).map(|side| side.rank);
    for side in &found.ranking {
        let is_apart = baseline.is_some_and(|own| match side.verdict {
            Some(Verdict::Better) => side.rank > own,
            Some(Verdict::Worse) => side.rank < own,
            _ => false,
        });
        let (number, verdict) = (side.side, side.verdict);
        broken.extend(is_apart.then_some(ComparisonViolation::RankApart { side: number, verdict }));
        let keeps_all = side.objective_kept == Some(true) && side.objective_breaks_at.is_some();
        let is_bare = keeps_all && side.objective_up_to.is_none();
        broken.extend(is_bare.then_some(ComparisonViolation::ObjectiveApart { side: number }));
    }
    broken.extend(
        found
            .ranking
            .windows(2)
            .filter(|pair| is_dearer(&pair[0], &pair[1]))
            .map(|pair| ComparisonViolation::DearerFirst { side: pair[0].side }),
    );
    for against in &found.against {
        broken.extend(against.overall.iter().filter_map(|overall| of_overall(against.side, overall)));
    }
    broken
}

/// Whether of two sides of one rank the first costs more, where both prices are known.
fn is_dearer(first: &RankedSide, second: &RankedSide) -> bool {
    let prices = first.price_month.as_ref().zip(second.price_month.as_ref());
    first.rank == second.rank
        && first.price_complete
        && second.price_complete
        && prices.is_some_and(|(a, b)| a.currency == b.currency && a.amount > b.amount)
}

fn of_overall(side: u32, overall: &Overall) -> Option<ComparisonViolation> {
    let (verdict, counts) = (overall.verdict, overall.counts);
    let against_cells = match verdict {
        Verdict::Better => counts.worse > 0 && counts.better == 0,
        Verdict::Worse => counts.better > 0 && counts.worse == 0,
        Verdict::Same | Verdict::CannotTell => false,
    };
    let higher = overall.figure.more_is_better();
    let against_interval = overall.low.zip(overall.high).is_some_and(|(low, high)| match verdict {
        Verdict::Better => {
            if higher {
                low <= 1.0
            } else {
                high >= 1.0
            }
        }
        Verdict::Worse => {
            if higher {
                high >= 1.0
            } else {
                low <= 1.0
            }
        }
        Verdict::Same | Verdict::CannotTell => false,
    });
    let outside = overall
        .ratio
        .zip(overall.low.zip(overall.high))
        .is_some_and(|(ratio, (low, high))| !(low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(&ratio));
    if outside {
        return Some(ComparisonViolation::OutsideInterval { side });
    }
    (against_cells || against_interval).then_some(ComparisonViolation::VerdictApart { side, verdict, counts })
}
