//! The options of verbs that show what goes on, and of `live`.

use clap::Args;
use loadline_units::TypedTime;
use std::path::PathBuf;

/// How what goes on is shown, and who may collect it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LiveArguments {
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
    #[command(flatten)]
    pub(crate) metrics: MetricsArguments,
}

/// How what goes on is shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ShownArguments {
    /// Each second's figures and what holds them, as lines of JSON in a new file; - for standard output, and the verdict then goes to
    /// standard error
    #[arg(long, value_name = "FILE|-")]
    pub(crate) live: Option<PathBuf>,
    /// Lines instead of a screen
    #[arg(long)]
    pub(crate) lines: bool,
}

impl ShownArguments {
    /// Whether standard output has frames, and nothing else.
    pub(crate) fn takes_output(&self) -> bool {
        self.live.as_deref().is_some_and(|path| path.as_os_str() == "-")
    }
}

/// Counters for those who collect them.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MetricsArguments {
    /// Serve counters for Prometheus over HTTP at this address of this machine, such as 127.0.0.1:9100; port 0 for any that is free
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<String>,
}

/// `live`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline live                      the only one that runs here\n  \
    loadline live --lines              as lines of words\n  \
    loadline live --live frames.jsonl  with what is seen kept as lines of JSON\n  \
    loadline live --at 03:10           what a recorder saw then")]
pub(crate) struct AttachArguments {
    /// The run, as `loadline live` lists it; it may be left out where one runs. With --at a stored watch; by default the newest that holds
    /// the time
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Show what was stored at that time, in UTC: 03:10 (the latest that was watched), or "2026-11-28 03:10"
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<TypedTime>,
    #[command(flatten)]
    pub(crate) options: ShownArguments,
}
