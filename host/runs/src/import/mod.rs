//! Imports: what another tool measured, as a run in the store.

mod cells;
mod crawls;
mod folders;
mod plan_results;
mod volumes;

pub use folders::FolderImport;

use crate::wall_clock::run_id;
use crate::{DeclaredEnvironment, Ended, Error, NamedTarget, NewRun, Refusal, RunOutcome, files::store_location};
pub use crawls::{crawl_cell, import_crawls, is_crawl_table};
use loadline_imported::{LeftOut, Results};
use loadline_record::{
    CellRecord, Clock, HostFacts, ImportedFile, ImportedFrom, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts,
};
use loadline_store::Store;
use loadline_units::Timestamp;
use loadline_workload::text_hash;
use plan_results::Planned;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The largest file of results that is read.
const FILE_MAX: u64 = 256 << 20;

/// Results of another tool that are to become a run.
#[derive(Debug)]
pub struct Import {
    files: Vec<PathBuf>,
    read: Vec<(ImportedFile, Results)>,
    /// The plan that they are results of, where it lies beside them.
    planned: Option<Planned>,
}

impl Import {
    /// Reads every file; nothing is stored where one of them cannot be read.
    ///
    /// # Errors
    /// A [`Refusal`] of a file that cannot be read or holds no load that loadline knows; what is wrong in it, and where.
    pub fn read(files: &[PathBuf]) -> Result<Self, Error> {
        let read = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, Error>>()?;
        Ok(Self { files: files.to_vec(), read, planned: None })
    }

    /// Each job that is left out, by its file and its name, with the reason.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &LeftOut)> {
        self.read.iter().flat_map(|(file, results)| results.left_out.iter().map(|one| (file.name.as_str(), one)))
    }

    /// Cells and trials of the plan beside the results that have none, by the names of their files.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        self.planned.as_ref().map_or(&[], Planned::missing)
    }

    /// How the rest was read: the file, and a sentence.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.read
            .iter()
            .flat_map(|(file, results)| results.notes.iter().map(|note| (file.name.as_str(), note.as_str())))
    }

    /// Stores them as one run. `targets` name the volumes of what was measured.
    ///
    /// # Errors
    /// A [`Refusal`] where it is not known which volume a target is; a load that cannot be modelled on the declared
    /// storage; the store.
    pub fn store(
        self,
        name: Option<String>,
        targets: &[NamedTarget],
        declared: Option<&DeclaredEnvironment>,
        store: &Path,
    ) -> Result<RunOutcome, Error> {
        let record = self.record(name, targets, declared)?;
        keep(&store_location::open_store(store)?, &record)
    }

    /// Stores them as one run in a store that is open.
    ///
    /// # Errors
    /// As of [`Import::store`].
    pub fn store_in(
        self,
        name: Option<String>,
        targets: &[NamedTarget],
        declared: Option<&DeclaredEnvironment>,
        store: &Store,
    ) -> Result<RunOutcome, Error> {
        keep(store, &self.record(name, targets, declared)?)
    }

    /// The run that they are.
    fn record(
        self,
        name: Option<String>,
        targets: &[NamedTarget],
        declared: Option<&DeclaredEnvironment>,
    ) -> Result<RunRecord, Error> {
        let Self { files, read, planned } = self;
        let mut from = imported_from(&read);
        let missing = planned.iter().flat_map(Planned::missing);
        from.notes.extend(missing.map(|name| format!("{name} is missing")));
        let sources: Vec<PathBuf> = (files.iter().zip(&read))
            .flat_map(|(file, (_, results))| std::iter::repeat_n(file.clone(), results.jobs.len()))
            .collect();
        let jobs: Vec<_> = read.into_iter().flat_map(|(_, results)| results.jobs).collect();
        if jobs.is_empty() {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            return Err(Error::NothingImported { files: files.join(", ") });
        }
        let began_s = jobs.iter().map(|job| job.span_ms.0).min().unwrap_or_default() / 1_000;
        let (mut volumes, jobs) = volumes::assigned(jobs, targets, declared)?;
        let cells = match &planned {
            None => cells::cells(&jobs, &volumes, &from, declared)?,
            Some(planned) => {
                let [volume] = volumes.as_mut_slice() else {
                    let targets = volumes.into_iter().map(|volume| volume.target).collect();
                    return Err(crate::error::PlannedError::SeveralTargets { targets }.into());
                };
                if let Some(named) = planned.volume() {
                    named.clone_into(&mut volume.name);
                }
                planned.cells(sources.into_iter().zip(jobs.into_iter().map(|(_, job)| job)), volume, &from, declared)?
            }
        };
        let about = ImportAbout { name, files: &files, targets, began_s };
        let mut record = record(about, from, declared, volumes, cells);
        record.header.plans = planned.iter().map(Planned::text).collect();
        Ok(record)
    }
}

fn keep(store: &Store, record: &RunRecord) -> Result<RunOutcome, Error> {
    store.add_run(record)?;
    Ok(RunOutcome { record: store.load(&record.header.id)?, ended: Ended::Complete })
}

/// A file with what is in it.
fn read(file: &Path) -> Result<(ImportedFile, Results), Error> {
    let name = file.display().to_string();
    let cannot = |source| Refusal::UnreadableResults { file: name.clone(), source };
    let mut opened = std::fs::File::open(file).map_err(cannot)?;
    let facts = opened.metadata().map_err(cannot)?;
    let mut bytes = Vec::new();
    opened.by_ref().take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(Error::ResultsTooLarge { file: name, mebibytes_max: FILE_MAX >> 20 });
    }
    let text =
        loadline_imported::text_of_results(bytes).map_err(|byte| Refusal::NoText { file: name.clone(), byte })?;
    let written = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let results = loadline_imported::read(&text, &name, written.map_or(0, |span| span.as_secs()))?;
    Ok((ImportedFile { name, hash: text_hash(&text) }, results))
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
    let mut tools: Vec<&str> = Vec::new();
    for (_, results) in read {
        if !tools.contains(&results.tool.as_str()) {
            tools.push(&results.tool);
        }
    }
    ImportedFrom {
        tool: tools.join(", "),
        tool_version: (!versions.is_empty()).then(|| versions.join(", ")),
        files: read.iter().map(|(file, _)| file.clone()).collect(),
        notes: read.iter().flat_map(told).collect(),
    }
}

/// What the caller said of an import, and when what it holds began.
struct ImportAbout<'a> {
    name: Option<String>,
    files: &'a [PathBuf],
    targets: &'a [NamedTarget],
    began_s: u64,
}

fn record(
    about: ImportAbout<'_>,
    from: ImportedFrom,
    declared: Option<&DeclaredEnvironment>,
    volumes: Vec<VolumeFacts>,
    cells: Vec<CellRecord>,
) -> RunRecord {
    let ImportAbout { name, files, targets, began_s } = about;
    let began = Timestamp::from_unix_s(began_s);
    let stem = files[0].file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let new = NewRun {
        id: run_id(began),
        name: name.unwrap_or(stem),
        verb: RunVerb::Import,
        clock: Clock::Real,
        // No choice was left to chance here.
        seed: 0,
        started: began,
    };
    let on: Vec<String> = targets.iter().map(|named| format!("{}={}", named.volume, named.target)).collect();
    let header = RunHeader {
        imported: Some(from),
        environment: declared.map(DeclaredEnvironment::text),
        volumes,
        settings: serde_json::json!({ "files": files, "on": on }),
        ..new.header_on(HostFacts::default())
    };
    RunRecord { header, status: RunStatus::Finished, cells }
}
