//! A comparison: schema `loadline.comparison/1`, published in `docs/formats/comparison.schema.json`.

use super::DoubtDocument;
use crate::words;
use loadline_analysis::{
    Against, ApplicationSide, CellComparison, ComparedSide, Comparison, InCommon, Note, Overall, RankedSide, Scaling,
    ThrottledSide, Unmatched,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    applications: Vec<ApplicationDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_common: Vec<WithText<'a, InCommon>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    throttled: Vec<WithText<'a, ThrottledSide>>,
    scaling: Option<&'a Scaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

/// What the application of a side did.
#[derive(Debug, Serialize)]
struct ApplicationDocument<'a> {
    #[serde(flatten)]
    side: &'a ApplicationSide,
    held_by: Option<String>,
}

impl<'a> ApplicationDocument<'a> {
    fn of(side: &'a ApplicationSide) -> Self {
        Self { side, held_by: side.held_by.as_ref().map(words::holder) }
    }
}

/// One side against the baseline.
#[derive(Debug, Serialize)]
struct AgainstDocument<'a> {
    side: u32,
    notes: Vec<WithText<'a, Note>>,
    overall: Vec<OverallDocument<'a>>,
    cells: Vec<CellComparisonDocument<'a>>,
    unmatched: Vec<UnmatchedDocument<'a>>,
}

/// A value with its sentence.
#[derive(Debug, Serialize)]
struct WithText<'a, T> {
    text: String,
    #[serde(flatten)]
    value: &'a T,
}

impl<'a, T> WithText<'a, T> {
    fn of_all(values: &'a [T], words: fn(&T) -> String) -> Vec<Self> {
        values.iter().map(|value| Self { text: words(value), value }).collect()
    }
}

/// All cells with one deciding figure.
#[derive(Debug, Serialize)]
struct OverallDocument<'a> {
    why: Option<String>,
    #[serde(flatten)]
    overall: &'a Overall,
}

/// A cell that both sides have.
#[derive(Debug, Serialize)]
struct CellComparisonDocument<'a> {
    why: Option<String>,
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
            applications: comparison.applications.iter().map(ApplicationDocument::of).collect(),
            in_common: WithText::of_all(&comparison.in_common, words::comparison::in_common),
            throttled: WithText::of_all(&comparison.throttled, words::comparison::throttled),
            scaling: comparison.scaling.as_ref(),
            command: comparison.command.as_deref(),
        }
    }
}

impl<'a> AgainstDocument<'a> {
    fn of(against: &'a Against) -> Self {
        let cells = against.cells.iter().map(|cell| CellComparisonDocument {
            why: cell.undecided.map(words::undecided),
            cell,
            baseline_doubts: DoubtDocument::of_all(&cell.baseline_doubts),
            other_doubts: DoubtDocument::of_all(&cell.other_doubts),
        });
        let overall = against
            .overall
            .iter()
            .map(|overall| OverallDocument { why: overall.undecided.map(words::undecided), overall });
        let unmatched = against
            .unmatched
            .iter()
            .map(|cell| UnmatchedDocument { cell, doubts: DoubtDocument::of_all(&cell.doubts) });
        Self {
            side: against.side,
            notes: WithText::of_all(&against.notes, words::note),
            overall: overall.collect(),
            cells: cells.collect(),
            unmatched: unmatched.collect(),
        }
    }
}
