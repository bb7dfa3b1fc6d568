//! The options of `explore`.

use super::{Own, Priced};
use clap::Args;
use std::path::PathBuf;

/// `explore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline explore -o explorer.html\n  \
    loadline advise --iops 9000 --p99 10ms --size 500GiB --explore buy.html")]
pub(crate) struct ExploreArguments {
    /// The page: one HTML file that needs no network
    #[arg(long, short, value_name = "FILE", default_value = "explorer.html")]
    pub(crate) output: PathBuf,
    /// Write in the place of a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) priced: Priced,
}
