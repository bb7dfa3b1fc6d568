//! The options of `convert`.

use clap::{Args, ValueEnum};
use loadline_exported::CommandTool;
use loadline_units::Bytes;
use std::path::PathBuf;

/// `convert`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline convert app.trace -o app.iolog --as fio-iolog\n  \
    loadline convert sda.blktrace.0 -o sda.csv --as csv\n  \
    loadline convert app.trace -o app.perfetto --as perfetto\n  \
    loadline convert outstanding-sweep --to diskspd --size 64GiB -o for-windows/")]
pub(crate) struct ConvertArguments {
    /// A trace of loadline, an fio iolog, blktrace, blkparse, biosnoop, MSR, Alibaba, Tencent, vscsi, or CSV with named columns; with --to a
    /// plan: its file (TOML, fio), or a name from `loadline plans`
    #[arg(value_name = "TRACE|PLAN")]
    pub(crate) input: String,
    /// Where it goes; with --to a folder
    #[arg(short = 'o', long = "output", value_name = "FILE|FOLDER")]
    pub(crate) output: PathBuf,
    /// Format: fio-iolog (version 3), blktrace (binary, one file), csv, or perfetto (a timeline for ui.perfetto.dev)
    #[arg(
        long = "as",
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true,
        required_unless_present = "to",
        conflicts_with = "to"
    )]
    pub(crate) format: Option<WrittenName>,
    /// Writes the commands of another tool that measure a plan where loadline cannot run: diskspd (PowerShell and command prompt) or fio
    /// (shell). `loadline import FOLDER` takes their results as a run of the plan
    #[arg(long, value_enum, value_name = "TOOL", hide_possible_values = true)]
    pub(crate) to: Option<ToolName>,
    /// With --to: the size of loads to which the plan gives none, such as 64GiB; larger than what caches hold
    #[arg(long, value_name = "SIZE", requires = "to")]
    pub(crate) size: Option<Bytes>,
    /// Requests of a timeline at most, the first ones of the trace
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: u64,
    /// Replace whatever stands there
    #[arg(long)]
    pub(crate) force: bool,
}

/// Formats by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrittenName {
    /// fio
    FioIolog,
    /// blktrace
    Blktrace,
    /// Named columns
    Csv,
    /// Perfetto
    Perfetto,
}

/// Tools by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolName {
    /// diskspd
    Diskspd,
    /// fio
    Fio,
}

impl From<ToolName> for CommandTool {
    fn from(name: ToolName) -> Self {
        match name {
            ToolName::Diskspd => Self::Diskspd,
            ToolName::Fio => Self::Fio,
        }
    }
}
