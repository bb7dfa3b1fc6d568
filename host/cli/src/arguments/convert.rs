//! The options of `convert`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `convert`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline convert app.trace -o app.iolog --as fio-iolog\n  \
    loadline convert sda.blktrace.0 -o sda.csv --as csv\n  \
    loadline convert app.trace -o app.perfetto --as perfetto")]
pub(crate) struct ConvertArguments {
    /// A trace of loadline, an fio iolog, blktrace, blkparse, biosnoop, MSR, Alibaba, Tencent, vscsi, or CSV with named columns
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Where it goes
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Format: fio-iolog (version 3), blktrace (binary, one file), csv, or perfetto (a timeline for ui.perfetto.dev)
    #[arg(long = "as", value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: WrittenName,
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
