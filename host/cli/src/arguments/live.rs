//! The options of verbs that show what goes on, and of `live`.

use clap::Args;
use std::path::PathBuf;

/// How what goes on is shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LiveArguments {
    /// Each second's figures and what holds them, as lines of JSON in a new file; - for standard output, where the verdict then is not
    /// printed
    #[arg(long, value_name = "FILE|-")]
    pub(crate) live: Option<PathBuf>,
    /// Lines instead of a screen
    #[arg(long)]
    pub(crate) lines: bool,
}

impl LiveArguments {
    /// Whether standard output has frames, and nothing else.
    pub(crate) fn takes_output(&self) -> bool {
        self.live.as_deref().is_some_and(|path| path.as_os_str() == "-")
    }
}

/// `live`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline live                      the only one that runs here\n  \
    loadline live --lines              as lines of words\n  \
    loadline live --live frames.jsonl  with what is seen kept as lines of JSON")]
pub(crate) struct AttachArguments {
    /// The run, as `loadline live` lists it; it may be left out where one runs
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) options: LiveArguments,
}
