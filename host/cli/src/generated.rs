//! Shell completions and man pages, made from the same definitions as the parser.

use crate::arguments::{self, CompletionsArguments, ManArguments};
use crate::failure::Outcome;
use crate::{output, output_file};
use anyhow::Context;
use std::path::Path;

/// `completions SHELL`: to standard output.
pub(crate) fn completions(typed: &CompletionsArguments) -> anyhow::Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(typed.shell, &mut arguments::command_line(), "loadline", &mut text);
    output::print(&String::from_utf8(text).context("completions are text")?)?;
    Ok(Outcome::Done)
}

/// `man DIR`: one page for the command and one for each verb.
pub(crate) fn man(typed: &ManArguments) -> anyhow::Result<Outcome> {
    let directory = &typed.directory;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mut command = arguments::command_line().disable_help_subcommand(true);
    command.build();
    write_pages(&command, directory)?;
    Ok(Outcome::Done)
}

/// The pages of a command and of all below it.
fn write_pages(command: &clap::Command, directory: &Path) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, directory)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("man pages are text")?;
    let path = directory.join(page.get_filename());
    output_file::man_page(&path, text)
}
