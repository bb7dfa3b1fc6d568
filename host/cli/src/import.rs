//! `import`: what another tool measured, as a run in the store.

use crate::arguments::Format;
use crate::arguments::import::ImportArguments;
use crate::conclusion::conclude;
use crate::crawl_table::import_table;
use crate::environments;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::printing;
use crate::recommendations::{report_command, summarized};
use crate::schema::Schema;
use crate::shell::in_shell;
use crate::typed_settings::named_targets;
use crate::typed_words::store_option;
use crate::words;
use loadline_analysis::RunSummary;
use loadline_imported::LeftOut;
use loadline_report::words::imports::{NothingImported, imports_lines, nothing_imported_lines};
use loadline_report::words::reached;
use loadline_report::{Column, Field, Table, VerdictLine, Weight};
use loadline_runs::{DeclaredEnvironment, Error, FolderImport, Import, NamedTarget, catalog_with, store_location};
use std::path::{Path, PathBuf};

/// Refused files of a folder that have a line each: the others are counted.
const REFUSED_SHOWN_MAX: usize = 5;

/// Reads every file, and stores them as one run; nothing where one of them cannot be read. A table of crawls becomes a run for each.
pub(crate) fn import(
    arguments: &ImportArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let mut store = Some(store);
    let path = || store.take().expect("it is asked for once")();
    if let Some(outcome) = import_table(&arguments.files, quiet, arguments.printing.format, path)? {
        return Ok(outcome);
    }
    let store = store.take().expect("a table alone asks for it");
    let named = named_targets(&arguments.on)?;
    let declared = match &arguments.env {
        Some(typed) => {
            let catalog = catalog_with(arguments.own.catalog.as_deref())?;
            Some(DeclaredEnvironment::new(environments::read(typed, &catalog)?))
        }
        None => None,
    };
    if let Some(declared) = &declared {
        declared.check(&named)?;
    }
    if arguments.files.iter().any(|file| file.is_dir()) {
        return import_folders(arguments, &named, declared.as_ref(), quiet, &store()?);
    }
    let import = Import::read(&arguments.files)?;
    tell_of(&import, quiet);
    let outcome = import.store(arguments.name.clone(), &named, declared.as_ref(), &store()?)?;
    if !quiet {
        output::tell(&format!("imported as run {}", outcome.record.header.id));
    }
    conclude(&outcome, arguments.printing.format)
}

/// What was left out, or is missing, is always shown; how the rest was read, unless nothing is to be.
fn tell_of(import: &Import, quiet: bool) {
    for (file, LeftOut { name, why }) in import.left_out() {
        output::tell(&format!("{file}: job {name} is left out: {why}"));
    }
    for name in import.missing() {
        output::tell(&format!("{name} is missing: nothing in the folder is its result"));
    }
    for (file, note) in import.notes().filter(|_| !quiet) {
        output::tell(&format!("{file}: {note}"));
    }
}

/// A run for each folder that holds results, and one for the files beside them.
fn import_folders(
    arguments: &ImportArguments,
    named: &[NamedTarget],
    declared: Option<&DeclaredEnvironment>,
    quiet: bool,
    store: &Path,
) -> anyhow::Result<Outcome> {
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        arguments.files.iter().cloned().partition(|file| file.is_dir());
    let mut imports = Vec::new();
    if !files.is_empty() {
        imports.push((None, Import::read(&files)?));
    }
    let mut is_whole = true;
    let mut not_taken = NotTaken::default();
    for folder in &folders {
        let found = Import::folders(folder)?;
        if found.is_empty() {
            output::tell(&format!("{}: holds no results of a form that is known", folder.display()));
            is_whole = false;
        }
        for FolderImport { name, import, refused, others } in found {
            let rest = if import.files().is_empty() { "" } else { "; the rest of its folder is imported" };
            for (_, error) in refused.iter().take(REFUSED_SHOWN_MAX) {
                output::tell(&format!("{}{rest}", words::in_a_line(error)));
            }
            let more = refused.len().saturating_sub(REFUSED_SHOWN_MAX);
            if more > 0 {
                output::tell(&format!("{name}: {more} more files are refused for such reasons"));
            }
            not_taken.refused += refused.len();
            not_taken.first = not_taken.first.or_else(|| refused.into_iter().next().map(|(file, _)| file));
            if others > 0 && !quiet {
                output::tell(&format!("{name}: {others} other files hold no results of a form that is known"));
            }
            if !import.files().is_empty() {
                imports.push((Some(name), import));
            }
        }
    }
    if arguments.name.is_some() && imports.len() > 1 {
        return Err(Usage(format!("--name: there are {} runs, each named after its folder", imports.len())).into());
    }
    let store = store_location::open_store(store)?;
    let mut records = Vec::new();
    for (name, import) in imports {
        tell_of(&import, quiet);
        let name = arguments.name.clone().or(name);
        let told = name.clone().unwrap_or_default();
        let first = import.files().first().map(|file| file.display().to_string());
        match import.store_in(name, named, declared, &store) {
            Ok(outcome) => records.push(outcome),
            Err(Error::NothingImported { .. }) => {
                output::tell(&format!("{told}: no job in it is a load that loadline knows"));
                is_whole = false;
                not_taken.first = not_taken.first.or(first);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let ([outcome], true) = (records.as_slice(), is_whole) {
        if !quiet {
            output::tell(&format!("imported as run {}", outcome.record.header.id));
        }
        return conclude(outcome, arguments.printing.format);
    }
    let summaries: Vec<RunSummary> = records.iter().map(|outcome| summarized(&outcome.record)).collect();
    let format = arguments.printing.format;
    let table = table(&summaries);
    output::print(&match format {
        Format::Table | Format::Markdown => {
            printing::concluded(&table, |_| Weight::Beside, &verdict(&summaries, &not_taken), format)
        }
        Format::Json | Format::Csv => printing::table(&table, Schema::Import, format),
    })?;
    Ok(if records.is_empty() { Outcome::Failed } else { Outcome::Done })
}

/// Files with results that are in no run.
#[derive(Debug, Default)]
struct NotTaken {
    /// How many are refused: the others hold no load that is known.
    refused: usize,
    /// The first of either.
    first: Option<String>,
}

/// What was imported, and how to see more.
fn verdict(summaries: &[RunSummary], not_taken: &NotTaken) -> Vec<VerdictLine> {
    if !summaries.is_empty() {
        return imports_lines(summaries, &report_command(summaries.iter().map(|summary| summary.run.id.as_str())));
    }
    let Some(first) = &not_taken.first else {
        let why = NothingImported::NoForm { tool: "fio", options: "--output-format=json --output=results.json" };
        return nothing_imported_lines(why, "loadline help import");
    };
    let why = match not_taken.refused {
        0 => NothingImported::NoLoad,
        files => NothingImported::Refused { files },
    };
    nothing_imported_lines(why, &format!("loadline import {}{}", in_shell(first), store_option()))
}

/// The runs with what each says first.
fn table(summaries: &[RunSummary]) -> Table {
    let mut table = Table::new(&[
        Column::words("run", "run"),
        Column::words("name", "name"),
        Column::numbers("cells", "cells"),
        Column::words("what stops it", "conclusion"),
    ]);
    for summary in summaries {
        table.push(vec![
            Field::text(summary.run.id.clone()),
            Field::text(summary.run.name.clone()),
            Field::count(summary.cells.len() as u64),
            Field::text(summary.conclusions.first().map_or_else(String::new, reached)),
        ]);
    }
    table
}
