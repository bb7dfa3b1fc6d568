//! The options of `compare`.

use super::{Paying, Priced, Printing, objective};
use clap::{Args, ValueEnum};
use loadline_analysis::Figure;
use loadline_units::Ratio;
use loadline_workload::Objective;
use std::path::PathBuf;

/// `compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 when the runs were compared; 4 when they have no cell in common.\nExit status with --fail-if worse: 3 when the overall verdict or any cell is worse; 4 when none is, and \
                  the overall verdict cannot be told or a cell has lost its figures. --cannot-tell pass makes 0 of this 4, \
                  and --cannot-tell fail makes 3 of it."
)]
pub(crate) struct CompareArguments {
    /// The runs, the baseline first: ids, the beginnings of them, names, or "last" for the one added last; or one run with several volumes.
    /// A name that ends in .json is a file of `export --as record`
    #[arg(required = true)]
    pub(crate) runs: Vec<String>,
    /// Figures that differ by no more than this share are the same
    #[arg(long, value_name = "SHARE", default_value = "5 %")]
    pub(crate) margin: Ratio,
    /// The figure that decides: rate, throughput, mean, p50, p90, p95, p99 or p99.9; by default rate, and p99
    /// where the rate is asked for and kept
    #[arg(long, value_enum, value_name = "FIGURE", hide_possible_values = true)]
    pub(crate) figure: Option<FigureName>,
    /// Judge by this latency in place of the runs' own, "20 ms" (mean) or p99="5 ms"
    #[arg(long, value_parser = objective, value_name = "LATENCY")]
    pub(crate) objective: Option<Objective>,
    /// Of one run: the volumes to compare, the baseline first ("old new" or old,new); by default all of them
    #[arg(long, value_name = "VOLUME", num_args = 1.., value_delimiter = ',')]
    pub(crate) volumes: Vec<String>,
    /// Of runs of watch, record and emulate: what the application counted in a second in each, such as pgbench's tps: a number, or the
    /// file with the result of pgbench or sysbench
    #[arg(long, value_name = "COUNT", num_args = 1.., value_delimiter = ',')]
    pub(crate) tps: Vec<String>,
    /// Disks in the layout of each run or volume, such as 1,2,4: shows how rates grow with them
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) disks: Vec<u32>,
    /// Prices of this region, as in "us-east-1"; by default of the first that has a price for all that is compared
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Exit with 3 when anything is worse
    #[arg(long, value_enum, value_name = "VERDICT", hide_possible_values = true)]
    #[arg(help = "Exit with 3 when anything is this: worse")]
    pub(crate) fail_if: Option<FailIf>,
    /// The exit status where nothing is worse and something cannot be told: pass (0) or fail (3); by default 4
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true, requires = "fail_if")]
    pub(crate) cannot_tell: Option<CannotTell>,
    /// Write the comparison for CI systems, too: JUnit XML with a case for each cell, worse as a failure
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) priced: Priced,
    #[command(flatten)]
    pub(crate) paying: Paying,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Figures by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureName {
    /// Requests per second
    #[value(alias = "iops")]
    Rate,
    /// Bytes per second
    Throughput,
    /// Mean latency
    Mean,
    /// Median latency
    P50,
    /// 90th percentile
    P90,
    /// 95th percentile
    P95,
    /// 99th percentile
    P99,
    /// 99.9th percentile
    #[value(name = "p99.9", alias = "p99_9", alias = "p999")]
    P999,
}

impl FigureName {
    pub(crate) const fn figure(self) -> Figure {
        match self {
            Self::Rate => Figure::Rate,
            Self::Throughput => Figure::Throughput,
            Self::Mean => Figure::Mean,
            Self::P50 => Figure::P50,
            Self::P90 => Figure::P90,
            Self::P95 => Figure::P95,
            Self::P99 => Figure::P99,
            Self::P999 => Figure::P999,
        }
    }
}

/// What a comparison must not come out as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailIf {
    /// Worse than the baseline
    Worse,
}

/// What becomes of a comparison without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CannotTell {
    /// As if it were the same
    Pass,
    /// As if it were worse
    Fail,
}
