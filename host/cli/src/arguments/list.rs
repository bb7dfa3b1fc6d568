//! The options of `list` and `tag`, and those that choose runs of a store.

use super::Printing;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use loadline_record::{RunStatus, RunVerb};
use loadline_store::{Filter, Tag};

/// `tag`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline tag last host=db1 baseline\n  \
    loadline tag last --note \"before the new kernel\"\n  \
    loadline tag last --remove baseline\n  \
    loadline list --tag host=db1")]
pub(crate) struct TagArguments {
    /// The run: its id, the beginning of it, its name, its number, or "last"
    pub(crate) run: String,
    /// What is said: KEY=VALUE, or a word. Without any, what was said is printed
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) tags: Vec<Tag>,
    /// A note in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Take this key, or word, away
    #[arg(long, value_name = "KEY")]
    pub(crate) remove: Vec<String>,
}

/// `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    loadline list nightly db1\n  \
    loadline list --tag baseline --since 2026-01-31")]
pub(crate) struct ListArguments {
    /// Only runs with each of these words in id, name, verb, start, volumes or tags
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    /// Only runs started then or later, in UTC: 2026-01-31, or 2026-01-31T14:00:00Z
    #[arg(long, value_parser = since, value_name = "TIME")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// Which runs of a store.
#[derive(Debug, Args)]
#[group(id = "filter", multiple = true)]
pub(crate) struct FilterArguments {
    /// Only runs with this tag: KEY=VALUE, or a key with any value
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) tag: Vec<Tag>,
    /// Only runs whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// Only runs on this volume or target
    #[arg(long, value_name = "TEXT")]
    pub(crate) volume: Option<String>,
    /// Only runs in this state: unfinished, finished, interrupted or failed
    #[arg(long, value_enum, value_name = "STATUS", hide_possible_values = true)]
    pub(crate) status: Option<StatusName>,
    /// Only runs made by this verb
    #[arg(long, value_parser = run_verb(), ignore_case = true, hide_possible_values = true, value_name = "VERB")]
    pub(crate) verb: Option<RunVerb>,
    /// The newest so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<u32>,
}

impl FilterArguments {
    /// The runs that pass, of those with each of these words that started at this time or later.
    pub(crate) fn filter(&self, words: &[String], since: Option<String>) -> Filter {
        Filter {
            name: self.name.clone(),
            verb: self.verb.clone(),
            status: self.status.map(StatusName::status),
            since,
            volume: self.volume.clone(),
            words: words.to_vec(),
            tags: self.tag.clone(),
            limit: self.limit,
        }
    }
}

/// A run's state by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusName {
    /// Under way, or killed
    Unfinished,
    /// Every trial is there
    Finished,
    /// Stopped by the user
    Interrupted,
    /// Ended by an error
    Failed,
}

impl StatusName {
    const fn status(self) -> RunStatus {
        match self {
            Self::Unfinished => RunStatus::Unfinished,
            Self::Finished => RunStatus::Finished,
            Self::Interrupted => RunStatus::Interrupted,
            Self::Failed => RunStatus::Failed,
        }
    }
}

/// Reads a verb that stores runs, by the name that stands with them. `search` is what `--find-objective` stores.
fn run_verb() -> impl TypedValueParser<Value = RunVerb> {
    PossibleValuesParser::new(RunVerb::KNOWN.iter().map(RunVerb::name)).map(RunVerb::from)
}

/// The beginning of a time in UTC.
fn since(typed: &str) -> Result<String, String> {
    loadline_store::check_since(typed).map(|()| typed.to_owned()).map_err(|error| error.to_string())
}
