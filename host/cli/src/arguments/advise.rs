//! The options of `advise`.

use super::sweep::SweepArguments;
use super::time::TimeArguments;
use super::{Own, Paying, Priced, Printing};
use clap::{Args, ValueEnum};
use loadline_advise::{DISKS_DEFAULT, ROWS_DEFAULT, architecture, iops, os_disk};
use loadline_catalog::Architecture;
use loadline_units::{ByteRate, Bytes, Duration, Growth, Iops, Ratio};
use std::path::PathBuf;

/// `advise`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "Examples:\n  \
    loadline advise --iops 9000 --reads 70% --block 8KiB --p99 10ms --size 500GiB --provider azure --region eastus\n  \
    loadline advise need.toml -o advice.html\n  \
    iostat -xdt 60 1440 > day.txt; loadline advise --from day.txt --size 500GiB --p99 10ms\n  \
    loadline record /dev/vdb -o app.trace --for 10m; loadline advise app.trace --size 500GiB\n  \
    loadline advise need.toml --emulate 1")]
pub(crate) struct AdviseArguments {
    /// Need files (TOML), or what `--from` takes; or a folder of need files, each advised on
    pub(crate) need: Vec<PathBuf>,
    /// What was asked over a time: a trace (of `record`, or what `replay` reads), iostat (text or JSON), sar, sadf, a Windows
    /// performance log (CSV), Azure Monitor or CloudWatch (JSON). Several files follow one another
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Vec<PathBuf>,
    /// A stored run, or a stored watch, whose load is the need
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) time: TimeArguments,
    /// A plan whose load is the need: one with a rate of arrivals
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<String>,
    /// Of a plan or a stored run: the cell, by its number (from 1)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) cell: Option<usize>,
    /// Requests per second
    #[arg(long, value_name = "RATE", value_parser = iops)]
    pub(crate) iops: Option<Iops>,
    /// Bytes per second
    #[arg(long, value_name = "RATE")]
    pub(crate) throughput: Option<ByteRate>,
    /// Share of reads; by default 70 %
    #[arg(long, value_name = "SHARE")]
    pub(crate) reads: Option<Ratio>,
    /// Size of a request; by default 8 KiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) block: Option<Bytes>,
    /// Requests follow one another on the volume
    #[arg(long)]
    pub(crate) sequential: bool,
    /// The 99th percentile of the latency to keep
    #[arg(long, value_name = "LATENCY", conflicts_with = "objective")]
    pub(crate) p99: Option<Duration>,
    /// The latency to keep: "20 ms" (mean) or p95="5 ms"
    #[arg(long, value_name = "LATENCY")]
    pub(crate) objective: Option<String>,
    /// What the volume must hold
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// How much more it is to be in the end: requests and bytes alike
    #[arg(long, value_name = "SHARE")]
    pub(crate) growth: Option<Growth>,
    /// The part that nearly all reads fall on, for the host's cache; without it no cache is looked at
    #[arg(long, value_name = "SIZE")]
    pub(crate) hot: Option<Bytes>,
    /// Of a recorded need: the share of time in which it must be met; by default all
    #[arg(long, value_name = "SHARE")]
    pub(crate) time_met: Option<Ratio>,
    /// The share of scenarios in which a choice must meet the need; by default 95 %
    #[arg(long, value_name = "SHARE")]
    pub(crate) sure: Option<Ratio>,
    /// Of a recorded need: only this device; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,
    /// Of a recorded need: the length of an interval, if the file has no times
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Only this provider: aws, azure or gcp; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Vec<String>,
    /// Prices of these regions, as you know them ("West Europe", "eu-central-1,eu-north-1"), or all; by default of each provider the one with
    /// most prices
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) region: Vec<String>,
    /// Only machines of this architecture
    #[arg(long, value_name = "NAME", value_parser = architecture)]
    pub(crate) arch: Option<Architecture>,
    /// Processors at least
    #[arg(long, value_name = "COUNT")]
    pub(crate) vcpus: Option<u32>,
    /// Memory at least
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// Only machines with this in their name; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) machine: Vec<String>,
    /// Only disks with this in their name; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) disk: Vec<String>,
    /// Disks at most
    #[arg(long, value_name = "COUNT", default_value_t = DISKS_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) disks_max: u32,
    /// Size of the system's disk, or none
    #[arg(long, value_name = "SIZE", value_parser = os_disk_size)]
    pub(crate) os_disk: Option<OsDiskSize>,
    /// No machines whose processors run on credits
    #[arg(long)]
    pub(crate) no_cpu_credits: bool,
    /// Rows at most
    #[arg(long, value_name = "COUNT", default_value_t = ROWS_DEFAULT, value_parser = rows)]
    pub(crate) rows: usize,
    /// Judge limits alone: no latency, no objective
    #[arg(long)]
    pub(crate) limits_only: bool,
    /// Seed of every random choice
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a report: .html, .md or .json; of a folder its rows: .csv or .parquet
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the environment of a row (see --row) for predict, hunt and emulate
    #[arg(long, value_name = "FILE")]
    pub(crate) write_env: Option<PathBuf>,
    /// The row of --write-env and --script
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) row: usize,
    /// Serve this row's disks at once, as `loadline emulate` does; its environment goes to --write-env, or advised.toml
    #[arg(long, value_name = "ROW")]
    pub(crate) emulate: Option<usize>,
    /// Print the commands that provision a row, to read and run: azure-cli, aws-cli, gcloud, terraform, bicep or powershell
    #[arg(long, value_enum, value_name = "TOOL", hide_possible_values = true)]
    pub(crate) script: Option<ScriptName>,
    /// Write a page that computes in a browser, opened with this need: all of it can be moved there
    #[arg(long, value_name = "FILE")]
    pub(crate) explore: Option<PathBuf>,
    /// Write in the place of files that are there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) sweep: SweepArguments,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) priced: Priced,
    #[command(flatten)]
    pub(crate) paying: Paying,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Tools that provision, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptName {
    /// `az`
    #[value(name = "azure-cli", alias = "az")]
    AzureCli,
    /// `aws`
    #[value(name = "aws-cli", alias = "aws")]
    AwsCli,
    /// `gcloud`
    Gcloud,
    /// Terraform's language, of the winner's provider
    Terraform,
    /// Azure's
    Bicep,
    /// Azure's
    #[value(name = "powershell", alias = "pwsh")]
    PowerShell,
}

/// The system's disk as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OsDiskSize(pub(crate) Option<Bytes>);

fn os_disk_size(typed: &str) -> Result<OsDiskSize, String> {
    os_disk(typed).map(OsDiskSize)
}

fn rows(typed: &str) -> Result<usize, String> {
    typed.parse().ok().filter(|rows| (1..=50).contains(rows)).ok_or_else(|| "write a number from 1 to 50".to_owned())
}
