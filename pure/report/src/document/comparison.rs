//! A comparison: schema `loadline.comparison/1`, published in `docs/formats/comparison.schema.json`.

use super::DoubtDocument;
use loadline_analysis::{
    Against, CellComparison, ComparedSide, Comparison, InCommon, Note, Overall, RankedSide, Scaling, ThrottledSide,
    Unmatched,
};
use serde::Serialize;

/// A comparison with its texts.
#[derive(Debug, Serialize)]
pub struct ComparisonDocument<'a> {
    schema: &'a str,
    margin: f64,
    confidence: f64,
    sides: &'a [ComparedSide],
    ranking: &'a [RankedSide],
    against: Vec<AgainstDocument<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    in_common: &'a [InCommon],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    throttled: &'a [ThrottledSide],
    scaling: Option<&'a Scaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

/// One side against the baseline.
#[derive(Debug, Serialize)]
struct AgainstDocument<'a> {
    side: u32,
    notes: &'a [Note],
    overall: &'a [Overall],
    cells: Vec<CellComparisonDocument<'a>>,
    unmatched: Vec<UnmatchedDocument<'a>>,
}

/// A cell that both sides have.
#[derive(Debug, Serialize)]
struct CellComparisonDocument<'a> {
    #[serde(flatten)]
    cell: &'a CellComparison,
    baseline_doubts: Vec<DoubtDocument<'a>>,
    other_doubts: Vec<DoubtDocument<'a>>,
}

/// A cell that one side has.
#[derive(Debug, Serialize)]
struct UnmatchedDocument<'a> {
    #[serde(flatten)]
    cell: &'a Unmatched,
    doubts: Vec<DoubtDocument<'a>>,
}

impl<'a> ComparisonDocument<'a> {
    /// Of a comparison.
    #[must_use]
    pub fn of(comparison: &'a Comparison) -> Self {
        Self {
            schema: &comparison.schema,
            margin: comparison.margin,
            confidence: comparison.confidence,
            sides: &comparison.sides,
            ranking: &comparison.ranking,
            against: comparison.against.iter().map(AgainstDocument::of).collect(),
            in_common: &comparison.in_common,
            throttled: &comparison.throttled,
            scaling: comparison.scaling.as_ref(),
            command: comparison.command.as_deref(),
        }
    }
}

impl<'a> AgainstDocument<'a> {
    fn of(against: &'a Against) -> Self {
        let cells = against.cells.iter().map(|cell| CellComparisonDocument {
            cell,
            baseline_doubts: DoubtDocument::of_all(&cell.baseline_doubts),
            other_doubts: DoubtDocument::of_all(&cell.other_doubts),
        });
        let unmatched = against
            .unmatched
            .iter()
            .map(|cell| UnmatchedDocument { cell, doubts: DoubtDocument::of_all(&cell.doubts) });
        Self {
            side: against.side,
            notes: &against.notes,
            overall: &against.overall,
            cells: cells.collect(),
            unmatched: unmatched.collect(),
        }
    }
}
