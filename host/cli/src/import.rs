//! `import`: what another tool measured, as a run in the store.

mod cells;
mod volumes;

use crate::arguments::import::ImportArguments;
use crate::conclusion::conclude;
use crate::environments;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::typed_settings::named_targets;
use anyhow::bail;
use loadline_imported::{LeftOut, Results};
use loadline_record::{
    CellRecord, Clock, HostFacts, ImportedFile, ImportedFrom, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts,
};
use loadline_runs::wall_clock::{UtcTime, run_id};
use loadline_runs::{DeclaredEnvironment, Ended, NewRun, RunOutcome, catalog_with, store_location};
use loadline_workload::text_hash;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The largest file of results that is read.
const FILE_MAX: u64 = 256 << 20;

/// Reads every file, and stores them as one run; nothing where one of them cannot be read.
pub(crate) fn import(
    arguments: &ImportArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
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
    let read = arguments.files.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    tell(&read, quiet);
    let from = imported_from(&read);
    let jobs: Vec<_> = read.into_iter().flat_map(|(_, results)| results.jobs).collect();
    if jobs.is_empty() {
        bail!("nothing was imported: no job of {} is a load that loadline knows", shown(&arguments.files));
    }
    let began_s = jobs.iter().map(|job| job.span_ms.0).min().unwrap_or_default() / 1_000;
    let (volumes, jobs) = volumes::assigned(jobs, &named, declared.as_ref())?;
    let cells = cells::cells(&jobs, &volumes, &from, declared.as_ref())?;
    let record = record(arguments, began_s, from, declared.as_ref(), volumes, cells);
    let store = store_location::open_store(&store()?)?;
    store.add_run(&record)?;
    let id = &record.header.id;
    if !quiet {
        output::tell(&format!("imported as run {id}"));
    }
    conclude(&RunOutcome { record: store.load(id)?, ended: Ended::Complete }, arguments.printing.format)
}

/// A file with what is in it.
///
/// # Errors
/// [`Usage`] where it cannot be read; otherwise what is wrong with it, and where.
fn read(file: &Path) -> anyhow::Result<(ImportedFile, Results)> {
    let name = file.display().to_string();
    let cannot = |error: std::io::Error| Usage(format!("cannot read {name}: {error}"));
    let mut opened = std::fs::File::open(file).map_err(cannot)?;
    let facts = opened.metadata().map_err(cannot)?;
    let mut bytes = Vec::new();
    opened.by_ref().take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_MAX {
        bail!("{name} is larger than {} MiB: that is no file of results", FILE_MAX >> 20);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Usage(format!("{name}: is no text: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
    })?;
    let written = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let results = loadline_imported::read(&text, &name, written.map_or(0, |span| span.as_secs()))?;
    Ok((ImportedFile { name, hash: text_hash(&text) }, results))
}

/// What was left out is always told; how the rest was read, unless nothing is to be.
fn tell(read: &[(ImportedFile, Results)], quiet: bool) {
    for (file, results) in read {
        for LeftOut { name, why } in &results.left_out {
            output::tell(&format!("{}: job {name} is left out: {why}", file.name));
        }
        for note in results.notes.iter().filter(|_| !quiet) {
            output::tell(&format!("{}: {note}", file.name));
        }
    }
}

fn imported_from(read: &[(ImportedFile, Results)]) -> ImportedFrom {
    let mut versions: Vec<String> = Vec::new();
    for version in read.iter().filter_map(|(_, results)| results.version.clone()) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let told = |(file, results): &(ImportedFile, Results)| -> Vec<String> {
        let left_out = results.left_out.iter().map(|LeftOut { name, why }| format!("job {name} is left out: {why}"));
        left_out.chain(results.notes.clone()).map(|note| format!("{}: {note}", file.name)).collect()
    };
    ImportedFrom {
        tool: read[0].1.tool.clone(),
        tool_version: (!versions.is_empty()).then(|| versions.join(", ")),
        files: read.iter().map(|(file, _)| file.clone()).collect(),
        notes: read.iter().flat_map(told).collect(),
    }
}

fn record(
    arguments: &ImportArguments,
    began_s: u64,
    from: ImportedFrom,
    declared: Option<&DeclaredEnvironment>,
    volumes: Vec<VolumeFacts>,
    cells: Vec<CellRecord>,
) -> RunRecord {
    let began = UtcTime::from_unix_s(began_s);
    let stem = arguments.files[0].file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let new = NewRun {
        id: run_id(began),
        name: arguments.name.clone().unwrap_or(stem),
        verb: RunVerb::Import,
        clock: Clock::Real,
        // No choice was left to chance here.
        seed: 0,
        started: began,
    };
    let header = RunHeader {
        imported: Some(from),
        environment: declared.map(DeclaredEnvironment::text),
        volumes,
        settings: serde_json::json!({ "files": arguments.files, "on": arguments.on }),
        ..new.header_on(HostFacts::default())
    };
    RunRecord { header, status: RunStatus::Finished, cells }
}

fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
