//! The options of `fault`.

use super::{Own, Printing};
use clap::{ArgGroup, Args, ValueEnum};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration, Ratio};
use std::path::PathBuf;

/// `fault`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, and the group lets one of them through"
)]
#[command(group = ArgGroup::new("what").required(true).multiple(false).args([
    "list", "status", "error", "delay", "stall", "hang", "lose", "detach", "clear", "clear_all", "drop_caches", "spend_credits",
    "environment", "redeploy", "power_cut",
]))]
pub(crate) struct FaultArguments {
    /// The emulation: its NBD socket, or its control socket
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    /// The volume (data) or disk (data/0); what concerns the whole machine goes without
    #[arg(value_name = "VOLUME")]
    pub(crate) volume: Option<String>,
    /// List the faults in force, with their numbers: all, or those on VOLUME and its disks
    #[arg(long)]
    pub(crate) list: bool,
    /// Show what the emulation is doing: all of it, or VOLUME and its disks
    #[arg(long)]
    pub(crate) status: bool,
    /// Let requests fail: io (EIO) or no-space (ENOSPC)
    #[arg(long, value_enum, value_name = "ERROR", ignore_case = true, hide_possible_values = true)]
    pub(crate) error: Option<ErrorName>,
    /// Let requests that come from now on take this much longer
    #[arg(long, value_name = "TIME")]
    pub(crate) delay: Option<Duration>,
    /// Answer nothing that is asked from now on for this long, then all at once
    #[arg(long, value_name = "TIME")]
    pub(crate) stall: Option<Duration>,
    /// With --stall: again and again, from the beginning of one to that of the next
    #[arg(long, value_name = "TIME", requires = "stall")]
    pub(crate) every: Option<Duration>,
    /// Answer nothing that is asked from now on until the fault is cleared
    #[arg(long)]
    pub(crate) hang: bool,
    /// Lose a disk with all it holds; cleared, an empty one takes its place, filled from a copy if there is one
    #[arg(long)]
    pub(crate) lose: bool,
    /// Detach; cleared, it is back with what it held, brought up to date from a copy if there is one
    #[arg(long)]
    pub(crate) detach: bool,
    /// End the faults on VOLUME and its disks, or the one of this number
    #[arg(long, value_name = "NUMBER", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "not given, given without a number, given with one")]
    pub(crate) clear: Option<Option<u32>>,
    /// End all faults
    #[arg(long)]
    pub(crate) clear_all: bool,
    /// Let host caches forget what is on disk: of VOLUME, or all
    #[arg(long)]
    pub(crate) drop_caches: bool,
    /// Spend the burst credits: of VOLUME's disks and the machine, or all
    #[arg(long)]
    pub(crate) spend_credits: bool,
    /// Go on with the disks and the VM of this environment, which has the same volumes
    #[arg(long, value_name = "ENV")]
    pub(crate) environment: Option<String>,
    /// Move the machine to another host: connections drop, caches and the disks of the host are empty
    #[arg(long)]
    pub(crate) redeploy: bool,
    /// Cut the power: connections drop; what was not flushed is lost, kept or torn
    #[arg(long)]
    pub(crate) power_cut: bool,
    /// Only these operations, separated by commas: read, write, flush, trim
    #[arg(long, value_name = "OPERATIONS", value_enum, value_delimiter = ',', hide_possible_values = true)]
    pub(crate) on: Vec<OperationName>,
    /// Only requests that touch what lies from this offset on
    #[arg(long, value_name = "SIZE")]
    pub(crate) from: Option<Bytes>,
    /// Only requests that touch what lies before this offset
    #[arg(long, value_name = "SIZE")]
    pub(crate) until: Option<Bytes>,
    /// Only this share of requests, such as "1 %"
    #[arg(long, value_name = "SHARE")]
    pub(crate) share: Option<Ratio>,
    /// With --power-cut: decides what becomes of each write; by default drawn anew and printed
    #[arg(long, value_name = "NUMBER", requires = "power_cut")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Errors by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorName {
    /// EIO
    #[value(alias = "eio")]
    Io,
    /// ENOSPC
    #[value(alias = "enospc")]
    NoSpace,
}

/// Operations by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationName {
    /// Reads
    Read,
    /// Writes
    Write,
    /// Flushes
    Flush,
    /// Trims
    Trim,
}

impl From<OperationName> for Operation {
    fn from(name: OperationName) -> Self {
        match name {
            OperationName::Read => Self::Read,
            OperationName::Write => Self::Write,
            OperationName::Flush => Self::Flush,
            OperationName::Trim => Self::Trim,
        }
    }
}
