//! The options of `replay`.

use super::{Own, Printing};
use clap::{Args, ValueEnum};
use loadline_disk::BurstCredits;
use std::path::PathBuf;

/// `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// What `loadline emulate --trace` recorded
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The other storage: an environment file (TOML), or a name from `loadline environments`
    #[arg(long, value_name = "FILE")]
    pub(crate) env: String,
    /// What makes a request come: the time at which it came, or the answer that its client had before it
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", hide_possible_values = true)]
    #[arg(help = "What makes a request come: time, at which it came, or answers, that its client had before it")]
    pub(crate) by: DependenceName,
    /// Seed of every random choice; by default drawn anew and stored with the run
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// What to call the run; by default the names of the trace and the environment, and --by
    #[arg(long, value_parser = super::name, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Credits of bursts when the first request comes: full, empty, or apart for disks and the VM, as in disks=full,vm=empty
    #[arg(long, default_value = "full", value_name = "STATE")]
    pub(crate) bursts: BurstCredits,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What makes a request come, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DependenceName {
    /// Open loop, as recorded
    #[default]
    Time,
    /// Closed loop, with the recorded dependence
    Answers,
}

impl DependenceName {
    /// The option for the other way.
    pub(crate) const fn other(self) -> &'static str {
        match self {
            Self::Time => "(--by answers)",
            Self::Answers => "(--by time)",
        }
    }
}
