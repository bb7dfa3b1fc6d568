//! The options of `replay`.

use super::{EngineName, LiveArguments, Own, Printing};
use clap::{ArgGroup, Args, ValueEnum};
use loadline_disk::BurstCredits;
use std::path::PathBuf;

/// `replay`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("where").required(true).args(["env", "on"]))]
#[command(after_help = "Examples:\n  \
    loadline replay app.trace --env d4s-v5-p30 --by answers\n  \
    loadline replay app.trace --on data=/dev/nvme2n1 --reads-only --speed 2\n  \
    loadline replay app.trace --on data=/dev/nvme2n1 --overwrite /dev/nvme2n1")]
pub(crate) struct ReplayArguments {
    /// What `loadline record` or `loadline emulate --trace` recorded
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The other storage: an environment file (TOML), or a name from `loadline environments`
    #[arg(long, value_name = "FILE")]
    pub(crate) env: Option<String>,
    /// Real storage for a recorded volume; one target alone stands for the only volume
    #[arg(long, value_name = "VOLUME=TARGET")]
    pub(crate) on: Vec<String>,
    /// So many times as fast as recorded
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed, requires = "on")]
    pub(crate) speed: f64,
    /// Leave out all that writes
    #[arg(long, requires = "on")]
    pub(crate) reads_only: bool,
    /// Allow writing to a target that exists: name it again; once more with the serial or UUID that a refusal asks for
    #[arg(long, value_name = "TARGET", requires = "on", conflicts_with = "reads_only")]
    pub(crate) overwrite: Vec<String>,
    /// The way to the device: auto, io_uring or aio
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE", hide_possible_values = true, requires = "on")]
    pub(crate) engine: EngineName,
    /// What makes a request come: the time at which it came, or the answer that its client had before it
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", hide_possible_values = true)]
    #[arg(
        help = "What makes a request come: time, at which it came; answers, that its client had before it; or as-fast, a free place"
    )]
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
    pub(crate) live: LiveArguments,
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
    /// As fast as the recorded depth allows
    AsFast,
}

/// A factor above zero.
fn speed(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    if factor.is_finite() && (0.001..=1_000.0).contains(&factor) {
        Ok(factor)
    } else {
        Err("a speed lies between 0.001 and 1000".to_owned())
    }
}

impl DependenceName {
    /// The option for the other way.
    pub(crate) const fn other(self) -> &'static str {
        match self {
            Self::Time => "(--by answers)",
            Self::Answers | Self::AsFast => "(--by time)",
        }
    }
}
