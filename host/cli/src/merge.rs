//! `merge`: runs that several hosts made together, as one.

use crate::arguments::merge::MergeArguments;
use crate::conclusion::conclude;
use crate::failure::{Outcome, Usage};
use crate::{compare, output};
use loadline_record::RunRecord;
use loadline_runs::clocks::read_clocks;
use loadline_runs::{Merge, store_location};
use std::path::{Path, PathBuf};

/// Reads every run, and stores what they are together.
pub(crate) fn merge(
    arguments: &MergeArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let path = store()?;
    let mut merge = Merge::new();
    for typed in &arguments.runs {
        let (host, run) = named(typed);
        merge = merge.with(host.map(str::to_owned), read(run, &path)?);
    }
    for ahead in &arguments.clock_offset {
        merge = merge.clock_ahead(&ahead.host, ahead.offset_ns);
    }
    for file in &arguments.clocks {
        merge = merge.clocks_compared(read_clocks(file)?);
    }
    let outcome = merge.store(arguments.name.clone(), &store_location::open_store(&path)?)?;
    if !quiet {
        output::tell(&format!("merged as run {}", outcome.record.header.id));
    }
    conclude(&outcome, arguments.printing.format)
}

/// A name of a host before a run. A path may have "=" in it.
fn named(typed: &str) -> (Option<&str>, &str) {
    match typed.split_once('=') {
        Some((host, run)) if !host.is_empty() && !host.contains('/') && !run.is_empty() => (Some(host), run),
        _ => (None, typed),
    }
}

/// A run of a file, of another store, or of this one.
fn read(run: &str, store: &Path) -> anyhow::Result<RunRecord> {
    let has = |ending: &str| Path::new(run).extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
    if has("json") {
        return compare::from_file(Path::new(run));
    }
    if has("db") {
        if !Path::new(run).is_file() {
            return Err(Usage(format!("{run}: there is no such store")).into());
        }
        let other = store_location::store_to_read(Path::new(run))?;
        return Ok(other.load(&other.resolve("last")?)?);
    }
    let own = store_location::store_to_read(store)?;
    Ok(own.load(&own.resolve(run)?)?)
}
