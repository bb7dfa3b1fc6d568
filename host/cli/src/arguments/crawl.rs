//! The options of `crawl`.

use super::{LiveArguments, Own, Printing};
use clap::{ArgGroup, Args};
use loadline_units::Duration;
use std::path::PathBuf;

/// `crawl`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("fresh").multiple(true))]
#[command(after_help = "Examples:\n  \
                  loadline crawl /usr/share/doc\n  \
                  loadline crawl farm.toml --into /srv/crawl --on index=/mnt/a --on data=/mnt/b\n  \
                  loadline crawl search-farm --env search-farm-dev --env search-farm-prod\n  \
                  loadline crawl --stored last --what-if \"index workers x2\" --what-if \"index volume x2\"")]
pub(crate) struct CrawlArguments {
    /// A folder or a site to crawl, or a plan (TOML) with several sources
    #[arg(required_unless_present_any = ["resume", "stored", "made_up"], value_name = "FOLDER|URL|PLAN", group = "fresh")]
    pub(crate) what: Option<String>,
    /// Crawl a made-up site that this process serves, with what goes wrong on real ones; the same pages from the same seed
    #[arg(long, value_name = "SEED", conflicts_with_all = ["what", "resume", "stored"])]
    pub(crate) made_up: Option<u64>,
    /// Keep index and database in this folder; by default they go when the crawl has ended
    #[arg(long, value_name = "DIR", group = "fresh")]
    pub(crate) into: Option<PathBuf>,
    /// The folder of one volume: index, data, log or temporary
    #[arg(long, value_name = "VOLUME=DIR", group = "fresh")]
    pub(crate) on: Vec<String>,
    /// Put index, data and log on emulated disks: an environment file (TOML), or a name from `loadline environments`. Takes root.
    /// Given more than once: one crawl after the other, and their comparison
    #[arg(long, value_name = "FILE", conflicts_with_all = ["into", "incremental", "resume", "stored"])]
    pub(crate) env: Vec<String>,
    /// Leave items alone that are as the last crawl into this folder found them; by default index and database are emptied first
    #[arg(long, requires = "into", group = "fresh")]
    pub(crate) incremental: bool,
    /// Go on with a crawl that was stopped or killed
    #[arg(long, value_name = "RUN", conflicts_with_all = ["fresh", "stored"])]
    pub(crate) resume: Option<String>,
    /// Crawl nothing: show a crawl that is stored, and try changes on it
    #[arg(long, value_name = "RUN", conflicts_with = "fresh")]
    pub(crate) stored: Option<String>,
    /// Slow one station at a time by 10 %, in windows drawn at random (1 s, or another length): does what binds have an effect?
    #[arg(long, value_name = "WINDOW", num_args = 0..=1, require_equals = true, default_missing_value = "1 s")]
    #[arg(conflicts_with_all = ["resume", "stored"])]
    pub(crate) confirm: Option<Duration>,
    /// What a change would bring, such as "index workers x2", "repository latency 50 ms", "no source share"; several in one with ";"
    #[arg(long, value_name = "CHANGE")]
    pub(crate) what_if: Vec<String>,
    /// Seed of every random choice; by default drawn anew and stored with the run
    #[arg(long, value_name = "NUMBER", group = "fresh")]
    pub(crate) seed: Option<u64>,
    /// What to call the run; by default the plan's name
    #[arg(long, value_parser = super::name, value_name = "NAME", group = "fresh")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
