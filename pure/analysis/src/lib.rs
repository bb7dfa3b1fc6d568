//! Run records in, findings out: statistics with intervals, doubts, binding limits, the load that an objective allows.

mod clusters;
mod compare;
mod curves;
mod doubts;
#[doc(hidden)]
pub mod example;
mod findings;
mod limits;
pub mod statistics;
mod summarize;
mod summary;
mod words;

pub use compare::{
    Against, Basis, COMPARISON_SCHEMA, CellComparison, CompareError, CompareOptions, ComparedSide, Comparison, Counts,
    Figure, Gain, MARGIN_DEFAULT, Note, Overall, RatioEstimate, Scaling, ScalingCell, ScalingPoint, ScalingStep,
    ScalingTotal, Unmatched, Verdict, compare,
};
pub use doubts::doubts;
pub use findings::codes as finding_codes;
pub use limits::{LimitFigure, Quantity, limits};
pub use loadline_record::{Binding, Ceiling, Limit};
pub use summarize::summarize;
pub use summary::{
    CellSummary, CpuFigures, Finding, LatencyRange, LoadView, OperationFigures, PredictionView, RunInfo, RunSummary,
    SCHEMA, TotalFigures,
};
