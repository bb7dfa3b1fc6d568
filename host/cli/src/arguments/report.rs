//! The options of `report`.

use super::list::FilterArguments;
use super::objective;
use super::time::TimeArguments;
use clap::Args;
use loadline_workload::Objective;
use std::path::PathBuf;

/// `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The runs: ids, the beginnings of them, names, or "last" for the one added last, imports among them. With --all only runs with each of
    /// these words in id, name, verb, start, volumes or tags
    #[arg(required_unless_present_any = ["since", "until", "all"])]
    pub(crate) runs: Vec<String>,
    /// A folder of pages over every run of the store, or over those that pass the filters: an index by month, and a page for each run, held
    /// against the run before it of the same name and against the one tagged "baseline". The next time only what changed is written
    #[arg(long, requires = "output", conflicts_with = "until")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    #[command(flatten)]
    pub(crate) time: TimeArguments,
    /// Judge by this latency in place of the runs' own, "20 ms" (mean) or p99="5 ms"; exits with 3 where it is missed
    #[arg(long, value_parser = objective, value_name = "LATENCY", conflicts_with = "all")]
    pub(crate) objective: Option<Objective>,
    /// Where the report goes: .html or .md; by default loadline-report-ID.html. With --all a folder
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write it in the place of a file that is no report of loadline
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
