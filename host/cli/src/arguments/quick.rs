//! The options of `quick`.

use super::{Driving, LiveArguments, Printing, objective};
use clap::Args;
use loadline_units::{Bytes, Duration};
use loadline_workload::Objective;
use std::path::PathBuf;

/// `quick`.
#[derive(Debug, Args)]
pub(crate) struct QuickArguments {
    /// Directory, file, block device or NBD URI to measure
    #[arg(default_value = ".")]
    pub(crate) path: String,
    /// The latency to keep: "20 ms" (mean) or p99="5 ms"
    #[arg(long, value_parser = objective, value_name = "LATENCY")]
    pub(crate) objective: Option<Objective>,
    /// Size of the test file; by default as large as can be filled in about 12 s
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Measured time of each row; by default 3 s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Trials of each load; by default 1. With 5, before a change and after it, `loadline compare` has a verdict
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: Option<u32>,
    /// Print what would be measured; measure nothing, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Where the report goes
    #[arg(long, value_name = "FILE", default_value = "loadline-report.html")]
    pub(crate) report: PathBuf,
    #[command(flatten)]
    pub(crate) driving: Driving,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
