//! The options of `clock`.

use super::Printing;
use clap::{Args, Subcommand};
use loadline_runs::clocks::EXCHANGES_DEFAULT;
use std::path::PathBuf;

/// `clock`.
#[derive(Debug, Args)]
pub(crate) struct ClockArguments {
    #[command(subcommand)]
    pub(crate) verb: ClockVerb,
}

/// What is done with clocks.
#[derive(Debug, Subcommand)]
pub(crate) enum ClockVerb {
    /// Compares the clocks of hosts with the one here, through ssh
    Compare(CompareClocksArguments),
    /// Answers on standard output what time it is, for each line on standard input; `compare` starts it on each host
    Serve,
}

/// `clock compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline clock compare node1 node2 node3 -o clocks.json\n  \
    loadline clock compare pod-0 pod-1 --by 'kubectl exec -i {} -- loadline clock serve' -o clocks.json\n  \
    loadline merge node1=node1.db node2=node2.db node3=node3.db --clocks clocks.json")]
pub(crate) struct CompareClocksArguments {
    /// The hosts, as `merge` calls them
    #[arg(required = true, value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// What starts `loadline clock serve` on a host, by this machine's shell; {} is the host
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes {} loadline clock serve")]
    pub(crate) by: String,
    /// Messages to each host; the one that took least time counts
    #[arg(long, value_name = "COUNT", default_value_t = EXCHANGES_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: u32,
    /// Add the comparison to this file: once before the runs and once after them
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
