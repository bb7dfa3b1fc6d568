//! The options of `hunt`.

use super::{Driving, LiveArguments, Own, Printing, objective};
use clap::Args;
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::Objective;

/// `hunt`.
#[derive(Debug, Args)]
pub(crate) struct HuntArguments {
    /// Plan file (TOML), or a name from `loadline plans`
    pub(crate) plan: String,
    /// The cell that falls short: its number in the plan (from 1), or part of what it is called
    #[arg(long, value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// What to vary: depth, threads, files, block, alignment, interleave, layout, vm, engine, direct; each may name settings,
    /// as in depth=64:256. By default all that can be varied here
    #[arg(long, value_name = "FACTOR", value_delimiter = ',')]
    pub(crate) vary: Vec<String>,
    /// Hunt on a model: an environment file (TOML), or a name from `loadline environments`
    #[arg(long, value_name = "FILE", conflicts_with = "on")]
    pub(crate) env: Option<String>,
    /// The volume of the environment; by default its first
    #[arg(long, value_name = "NAME", requires = "env")]
    pub(crate) volume: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    /// Hunt on this: a directory, a file or a block device
    #[arg(long, value_name = "TARGET", required_unless_present = "env")]
    pub(crate) on: Option<String>,
    /// Effects that are no larger are none
    #[arg(long, value_name = "SHARE", default_value = "5 %")]
    pub(crate) margin: Ratio,
    /// Measured time of each trial, in place of the plan's
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Load before each measurement, in place of the plan's
    #[arg(long, value_name = "TIME")]
    pub(crate) warm_up: Option<Duration>,
    /// Bytes that the load spreads over, in place of the plan's
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// The latency to keep, in place of the plan's: "20 ms" (mean) or p99="5 ms"
    #[arg(long, value_parser = objective, value_name = "LATENCY")]
    pub(crate) objective: Option<Objective>,
    /// Cut the plan's times short: 3 s each at most
    #[arg(long)]
    pub(crate) short: bool,
    /// Print what would be varied; touch nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) driving: Driving,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
