//! `import`: what another tool measured, as a run in the store.

use crate::arguments::import::ImportArguments;
use crate::conclusion::conclude;
use crate::crawl;
use crate::environments;
use crate::failure::Outcome;
use crate::output;
use crate::typed_settings::named_targets;
use loadline_imported::LeftOut;
use loadline_runs::{DeclaredEnvironment, Import, catalog_with};
use std::path::PathBuf;

/// Reads every file, and stores them as one run; nothing where one of them cannot be read. A table of crawls becomes a run for each.
pub(crate) fn import(
    arguments: &ImportArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let mut store = Some(store);
    let path = || store.take().expect("it is asked for once")();
    if let Some(outcome) = crawl::import_table(&arguments.files, quiet, arguments.printing.format, path)? {
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
    let import = Import::read(&arguments.files)?;
    // What was left out is always shown; how the rest was read, unless nothing is to be.
    for (file, LeftOut { name, why }) in import.left_out() {
        output::tell(&format!("{file}: job {name} is left out: {why}"));
    }
    for (file, note) in import.notes().filter(|_| !quiet) {
        output::tell(&format!("{file}: {note}"));
    }
    let outcome = import.store(arguments.name.clone(), &named, declared.as_ref(), &store()?)?;
    if !quiet {
        output::tell(&format!("imported as run {}", outcome.record.header.id));
    }
    conclude(&outcome, arguments.printing.format)
}
