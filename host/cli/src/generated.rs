//! Shell completions and man pages, made from the same definitions as the parser.

use crate::arguments::{CommandLine, CompletionsArguments, ManArguments};
use crate::failure::Outcome;
use crate::output;
use anyhow::Context;
use clap::CommandFactory;

/// `completions SHELL`: to standard output.
pub(crate) fn completions(arguments: &CompletionsArguments) -> anyhow::Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "loadline", &mut text);
    output::print(&String::from_utf8(text).context("completions are text")?)?;
    Ok(Outcome::Done)
}

/// `man DIR`: one page for the command and one for each verb.
pub(crate) fn man(arguments: &ManArguments) -> anyhow::Result<Outcome> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    clap_mangen::generate_to(CommandLine::command(), directory)
        .with_context(|| format!("cannot write man pages to {}", directory.display()))?;
    Ok(Outcome::Done)
}
