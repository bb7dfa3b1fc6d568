//! The options of `watch`.

use super::{LiveArguments, Own, Printing};
use clap::Args;
use loadline_units::Duration;
use std::path::PathBuf;

/// `watch`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline watch                     every disk, until Ctrl-C\n  \
    loadline watch /var/lib/postgresql --for 60s\n  \
    loadline watch postgres --for 5m -o why-slow.html    what a program and its children use\n  \
    loadline watch /dev/vdb --keep 7d --store /var/lib/loadline/watch.db    without end, a run an hour")]
pub(crate) struct WatchArguments {
    /// A device (/dev/vda, or vda), a path on the storage, the id of a process or the name of a program that runs; by default every disk
    #[arg(value_name = "DEVICE|PATH|PID|PROGRAM")]
    pub(crate) target: Vec<String>,
    /// How long; by default until Ctrl-C
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Watch without end: each hour is a run, kept for so long (7d). Samples of more than a day ago are 10 s long
    #[arg(long, value_name = "TIME", conflicts_with_all = ["duration", "events", "env", "report"])]
    pub(crate) keep: Option<Duration>,
    /// Print the systemd unit that does this at each boot; watch nothing
    #[arg(long, requires = "keep")]
    pub(crate) unit: bool,
    /// Read the kernel's events too, of one device: the latency of each request, and which program asked. Takes root
    #[arg(long)]
    pub(crate) events: bool,
    /// What the storage is: an environment file (TOML), or a name from `loadline environments`; its limits are then known
    #[arg(long, value_name = "FILE")]
    pub(crate) env: Option<String>,
    /// Write a report
    #[arg(short = 'o', long = "report", value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Replace whatever stands at the place of the report
    #[arg(long, requires = "report")]
    pub(crate) force: bool,
    /// What to call the run; by default watch and what is watched
    #[arg(long, value_parser = super::name, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
