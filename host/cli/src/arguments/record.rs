//! The options of `record`.

use super::{LiveArguments, Printing};
use clap::Args;
use loadline_runs::recording::RecordSettings;
use loadline_units::{Bytes, Duration};
use std::path::PathBuf;

/// `record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline record /dev/nvme1n1 -o /tmp/app.trace --for 10m\n  \
    loadline record postgres -o /tmp/app.trace                 the device of a program that runs\n  \
    loadline advise /tmp/app.trace                             what to buy for these requests\n  \
    loadline replay /tmp/app.trace --env d4s-v5-p30            what they meet on other storage")]
pub(crate) struct RecordArguments {
    /// A device (/dev/vda, or vda) or a partition, a path on it, the id of a process or the name of a program that runs: the one device
    /// that it uses
    #[arg(value_name = "DEVICE|PATH|PID|PROGRAM")]
    pub(crate) device: String,
    /// The trace; it must not exist, nor lie on the device
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// How long; by default until Ctrl-C
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// The trace gets no larger; about 10 bytes a request
    #[arg(long, value_name = "SIZE", default_value_t = RecordSettings::SIZE_MAX)]
    pub(crate) max_size: Bytes,
    /// The kernel's buffer for each CPU
    #[arg(long, value_name = "SIZE", default_value_t = RecordSettings::BUFFER)]
    pub(crate) buffer: Bytes,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
