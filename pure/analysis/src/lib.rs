//! Run records in, findings out: statistics with intervals, doubts, binding limits, the load that an objective allows.

mod summary;

pub use summary::{
    Binding, Ceiling, CellSummary, CpuFigures, Finding, Limit, LoadView, OperationFigures, RunInfo, RunSummary, SCHEMA,
    TotalFigures,
};
