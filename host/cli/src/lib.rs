//! The `loadline` command as a library: the command itself, and what other programs in the same process call of it.
//!
//! The binary and the script of the Python package are one call of [`command`]. [`library`] has the verbs for the Python package: typed in the
//! same words, returned and not printed.

mod advise;
mod answers;
mod arguments;
mod catalog;
mod clock;
mod columnar;
mod compare;
mod conclusion;
mod consent;
mod convert;
mod crawl_changes;
mod crawl_printed;
mod crawl_table;
mod dry_run;
mod environments;
mod examples;
#[cfg(feature = "explore")]
mod explore;
#[cfg(any(test, not(feature = "explore")))]
mod explore_absent;
mod export;
mod failure;
mod fitting;
mod frames;
mod generated;
mod hunt;
mod hunt_table;
mod import;
pub mod library;
mod limits_update;
// What is Linux' own; on any other machine `elsewhere` stands in its place, with a sentence for each verb that it lacks.
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/mod.rs")]
mod linux;
mod merge;
mod output;
mod output_file;
mod pages;
mod plans;
mod predict;
mod price_update;
mod printing;
mod progress_line;
mod recommendations;
mod replay;
mod resume;
mod schema;
mod shell;
mod stored;
mod sweep;
mod terminal;
mod typed_plan;
mod typed_settings;
mod typed_words;
mod words;

#[cfg(feature = "explore")]
use explore as explore_verb;
#[cfg(not(feature = "explore"))]
use explore_absent as explore_verb;

use arguments::{CommandLine, LiveArguments, Verb};
use clap::FromArgMatches;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use failure::Outcome;
use linux::{
    attached_frames, crawl, doctor, emulate, engine_words, fault, interruption, library_run, metrics, quick, record,
    recordable, resumption, run, screen, shelter_verb, socket, storage_replay, tty, verification, watch,
};
use loadline_record::Clock;
use loadline_runs::store_location;
use loadline_store::{Store, Tag};
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command that these words are, the first of them its name: prints, and returns the status to exit with. What is no command
/// ends the process, as does `--help`.
#[must_use]
pub fn command(words: impl Iterator<Item = OsString>) -> u8 {
    let words = with_help(words);
    let (mut line, is_all_wanted, tags) = match parsed(&words) {
        Ok(read) => read,
        // Help and version have no words of the user.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            output::tell_coloured(&error.render());
            return failure::USAGE;
        }
    };
    store_location::tag_new_runs(tags);
    typed_words::remember(&words, line.common.store.as_deref(), is_all_wanted);
    // clap would take an empty variable for a mistake, and print usages as if the option had to be given.
    line.common.store = line.common.store.or_else(store_location::named_by_environment);
    failure::conclude(dispatch(&line))
}

/// The command line that these words are, whether all is to be printed, and what is to be said of new runs.
fn parsed(words: &[OsString]) -> Result<(CommandLine, bool, Vec<Tag>), clap::Error> {
    let typed = arguments::command_line().try_get_matches_from(words);
    let read = typed.and_then(|found| {
        let line = CommandLine::from_arg_matches(&found)?;
        Ok((line, arguments::is_all_wanted(&found), arguments::tags_of_new_runs(&found)))
    });
    read.map_err(|error| with_hint(error, words))
}

/// `help VERB` as `VERB --help`, and `help` alone as `--help`.
fn with_help(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = typed.collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// Other words for verbs.
const OTHER_VERBS: [(&str, &str); 14] = [
    ("benchmark", "quick"),
    ("bench", "quick"),
    ("test", "quick"),
    ("measure", "quick"),
    ("start", "quick"),
    ("simulate", "predict"),
    ("diff", "compare"),
    ("ls", "list"),
    ("delete", "rm"),
    ("remove", "rm"),
    ("trace", "record"),
    ("monitor", "watch"),
    ("check", "doctor"),
    ("recommend", "advise"),
];
/// Other words for options, by the verb that has them.
const OTHER_OPTIONS: [(&str, &str); 6] = [
    ("--format", "--as"),
    ("--out", "--output"),
    ("--target", "--on"),
    ("--path", "--on"),
    ("--environment", "--env"),
    ("--iodepth", "--set"),
];

/// Has a mistake tell what to type: the verb or option that is meant, or how the verb is used.
fn with_hint(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let command = arguments::command_line();
    let context = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    let verb = words.iter().skip(1).find_map(|word| command.find_subcommand(word));
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(word) = context(&error, ContextKind::InvalidSubcommand) else { return error };
            let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name);
            let other = OTHER_VERBS.iter().find(|(other, _)| *other == word).map(|(_, verb)| *verb);
            let has_none = error.get(ContextKind::SuggestedSubcommand).is_none();
            let near = || loadline_document::nearest(&word, verbs).filter(|_| has_none);
            if let Some(verb) = other.or_else(near) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb.to_owned()]));
            }
        }
        ErrorKind::UnknownArgument => {
            let Some((word, verb)) = context(&error, ContextKind::InvalidArg).zip(verb) else { return error };
            let options: Vec<String> =
                verb.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
            let has = |option: &&str| options.iter().any(|known| known == option);
            let other = OTHER_OPTIONS.iter().filter(|(other, _)| *other == word).map(|(_, option)| *option).find(has);
            let begun = options.iter().filter(|known| known.starts_with(&word)).cloned();
            let meant: Vec<String> = other.map_or_else(|| begun.collect(), |option| vec![option.to_owned()]);
            if !meant.is_empty() {
                error.insert(ContextKind::SuggestedArg, ContextValue::Strings(meant));
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let example = verb.and_then(|verb| examples::first(verb.get_name()));
            if let Some(example) = example {
                let hint = StyledStr::from(format!("for example: {example}"));
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint]));
            }
        }
        _ => {}
    }
    error
}

fn dispatch(line: &CommandLine) -> anyhow::Result<Outcome> {
    let quiet = line.common.quiet;
    let path = || -> anyhow::Result<PathBuf> { Ok(store_location::store_path(line.common.store.as_deref())?) };
    // Verbs that need what is in a store make none.
    let store = || -> anyhow::Result<Store> { Ok(store_location::existing_store(&path()?)?) };
    let store_to_read = || -> anyhow::Result<Store> { Ok(store_location::store_to_read(&path()?)?) };
    match &line.verb {
        Verb::Quick(arguments) => quick::quick(arguments, quiet, path()?),
        Verb::Run(arguments) => match (&arguments.resume, &arguments.verify_only) {
            (Some(run), _) => {
                resume::resume(run, Clock::Real, (&arguments.live, arguments.printing.format), quiet, store()?)
            }
            (None, Some(run)) => verification::verify(run, arguments, quiet, &store_to_read()?),
            (None, None) => run::run(arguments, quiet, path),
        },
        Verb::Predict(arguments) => match &arguments.resume {
            Some(run) => {
                let shown = (&LiveArguments::default(), arguments.printing.format);
                resume::resume(run, Clock::Virtual, shown, quiet, store()?)
            }
            None => predict::predict(arguments, quiet, path),
        },
        Verb::Hunt(arguments) => hunt::hunt(arguments, quiet, path),
        Verb::Crawl(arguments) => crawl::crawl(arguments, quiet, path),
        Verb::ReadDocuments => crawl::read_documents(),
        Verb::Advise(arguments) => advise::advise(arguments, quiet, path),
        // Where runs usually are, there may be none yet.
        Verb::List(arguments) if line.common.store.is_none() && !path()?.exists() => stored::list(arguments, None),
        Verb::List(arguments) => stored::list(arguments, Some(&store_to_read()?)),
        Verb::Tag(arguments) => stored::tag(arguments, &store()?),
        Verb::Show(arguments) => stored::show(arguments, &store_to_read()?),
        Verb::Compare(arguments) => compare::compare(arguments, &store_to_read()?),
        Verb::Merge(arguments) => merge::merge(arguments, quiet, path),
        Verb::Clock(arguments) => clock::clock(arguments, quiet),
        Verb::Fit(arguments) => fitting::fit(arguments, quiet, &store_to_read()?),
        Verb::Rm(arguments) => stored::rm(arguments, &store()?),
        Verb::Report(arguments) => stored::report(arguments, quiet, &store_to_read()?),
        Verb::Import(arguments) => import::import(arguments, quiet, path),
        Verb::Export(arguments) => export::export(arguments, &store_to_read()?),
        Verb::Plans(arguments) => plans::plans(arguments),
        Verb::Environments(arguments) => environments::environments(arguments),
        Verb::Catalog(arguments) => catalog::catalog(arguments, quiet),
        Verb::Emulate(arguments) => emulate::emulate(arguments, quiet, path),
        Verb::Fault(arguments) => fault::fault(arguments, quiet),
        Verb::Replay(arguments) => replay::replay(arguments, quiet, path),
        Verb::Live(arguments) => match arguments.at {
            Some(at) => frames::past::show(arguments, at, quiet, &store_to_read()?),
            None => attached_frames::attach(arguments, quiet),
        },
        Verb::Watch(arguments) => watch::watch(arguments, quiet, path),
        Verb::Convert(arguments) => convert::convert(arguments, quiet),
        Verb::Record(arguments) => record::record(arguments, quiet),
        Verb::Explore(arguments) => explore_verb::explore(arguments, quiet),
        Verb::Shelter(arguments) => shelter_verb::shelter(arguments, path),
        Verb::Doctor(arguments) => doctor::doctor(arguments),
        Verb::Completions(arguments) => generated::completions(arguments),
        Verb::Man(arguments) => generated::man(arguments),
    }
}
