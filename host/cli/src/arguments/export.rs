//! The options of `export`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The runs: ids, the beginnings of them, names, or "last" for the one added last, imports among them; several as csv and parquet only
    #[arg(required_unless_present = "all")]
    pub(crate) runs: Vec<String>,
    /// Every run of the store, oldest first
    #[arg(long, conflicts_with = "runs")]
    pub(crate) all: bool,
    /// In which form: json, csv, parquet, fio (its JSON results), openmetrics or prometheus (the same text), perfetto (a timeline), record
    /// (the whole run, for `compare`), customBiggerIsBetter or customSmallerIsBetter (for continuous benchmarks)
    #[arg(long = "as", value_enum, value_name = "FORM", hide_possible_values = true)]
    pub(crate) form: ExportForm,
    /// The rows of csv and parquet: cells, trials or seconds
    #[arg(long, value_enum, value_name = "ROWS", default_value_t, hide_possible_values = true)]
    pub(crate) rows: ExportRows,
    /// Where it goes; by default standard output. Of fio a folder, if it is one or ends in "/": a file for each job
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write it in the place of a file that is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Forms of export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// The published schema
    Json,
    /// Rows as text
    Csv,
    /// fio's JSON results, with its histograms
    Fio,
    /// Gauges by cell
    #[value(name = "openmetrics", alias = "prometheus")]
    OpenMetrics,
    /// Rows with typed columns
    Parquet,
    /// A timeline for ui.perfetto.dev
    Perfetto,
    /// Everything that the store has of the run
    Record,
    /// Rates, as continuous benchmarks take them
    #[value(name = "customBiggerIsBetter", alias = "custom-bigger-is-better")]
    BiggerIsBetter,
    /// Latencies, as continuous benchmarks take them
    #[value(name = "customSmallerIsBetter", alias = "custom-smaller-is-better")]
    SmallerIsBetter,
}

/// What a row of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportRows {
    /// A cell of a run
    #[default]
    Cells,
    /// A trial of a cell
    Trials,
    /// A second of a trial
    Seconds,
}
