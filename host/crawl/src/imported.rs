//! Crawls of others: a table that somebody published, as runs; and what a comparison needs of any run of a crawl.

use crate::error::CrawlError;
use crate::run::{cell_of, pipeline_of};
use loadline_pipeline::{CrawlFigures, SourceFigures};
use loadline_record::{
    Clock, EngineName, EngineUsed, HostFacts, ImportedFile, ImportedFrom, OperationRecord, RunHeader, RunRecord,
    RunStatus, RunVerb, StepName, StepRecord, Steps, TrialRecord,
};
use loadline_runs::NewRun;
use loadline_store::Store;
use std::collections::BTreeMap;

/// The key of a run's settings under which an imported crawl is kept.
const KEY: &str = "crawl";

/// What a comparison needs of a crawl: of our own record, or of a table that was imported. `None`: the run is no crawl.
#[must_use]
pub fn crawl_figures(record: &RunRecord) -> Option<CrawlFigures> {
    if let Some(pipeline) = pipeline_of(record) {
        let HostFacts { cpu_model, cpus, memory_bytes, kernel, .. } = &record.header.host;
        let spec = &pipeline.spec;
        let facts = [
            ("cpu", cpu_model.clone()),
            ("cpus", cpus.map(|cpus| cpus.to_string())),
            ("memory", memory_bytes.map(|bytes| loadline_units::Bytes::new(bytes).human())),
            ("kernel", kernel.clone()),
            ("environment", record.header.environment.as_ref().map(|environment| environment.name.clone())),
            ("extract workers", Some(spec.extract.workers.to_string())),
            ("index workers", Some(spec.index.workers.to_string())),
        ];
        let facts: BTreeMap<String, String> =
            facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        return Some(CrawlFigures::of(&record.header.name, pipeline, facts));
    }
    serde_json::from_value(record.header.settings.get(KEY)?.clone()).ok()
}

/// Whether a text is a table of crawls, by the columns that its first line names.
#[must_use]
pub fn is_crawl_table(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let columns: Vec<String> = first.split(',').map(|column| column.trim().to_lowercase()).collect();
    ["crawl", "source", "items", "duration"].iter().all(|needed| columns.iter().any(|column| column == needed))
}

/// Stores each crawl of a table as a run. `file` is its name as typed.
///
/// # Errors
/// The table cannot be read; the store.
pub fn import_crawls(text: &str, file: &str, store: &Store) -> Result<Vec<RunRecord>, CrawlError> {
    let crawls =
        CrawlFigures::read_table(text).map_err(|source| CrawlError::Table { file: file.to_owned(), source })?;
    let mut stored = Vec::new();
    for crawl in crawls {
        let record = imported(&crawl, text, file);
        store.add_run(&record)?;
        stored.push(store.load(&record.header.id)?);
    }
    Ok(stored)
}

fn imported(crawl: &CrawlFigures, text: &str, file: &str) -> RunRecord {
    let new = NewRun::now(crawl.name.clone(), RunVerb::Import, Clock::Real, Some(0));
    let from = ImportedFrom {
        tool: "a table of crawls".to_owned(),
        tool_version: None,
        files: vec![ImportedFile { name: file.to_owned(), hash: loadline_workload::text_hash(text) }],
        notes: Vec::new(),
    };
    let names: Vec<&str> = crawl.sources.iter().map(|source| source.name.as_str()).collect();
    let threads = crawl.sources.iter().filter_map(|source| source.slots).sum();
    let mut cell = cell_of(&names, threads);
    let mut trial = TrialRecord::empty(
        0,
        loadline_runs::wall_clock::unix_s(),
        EngineUsed {
            name: EngineName::Other("crawl".to_owned()),
            reason: "measured by others".to_owned(),
            options: Vec::new(),
        },
    );
    trial.measured_ns = crawl.sources.iter().map(|source| source.duration_ns).max().unwrap_or_default();
    trial.steps = steps(&crawl.sources);
    cell.trials.push(trial);
    let header = RunHeader {
        imported: Some(from),
        settings: serde_json::json!({ KEY: crawl }),
        ..new.header_on(HostFacts::default())
    };
    RunRecord { header, status: RunStatus::Finished, cells: vec![cell] }
}

fn steps(sources: &[SourceFigures]) -> Steps<StepRecord> {
    let mut steps = Steps::default();
    for source in sources {
        // A name that is too long for a step stands in the figures alone.
        let Ok(name) = StepName::new(format!("fetch {}", source.name)) else { continue };
        let record = OperationRecord {
            count: source.items,
            errors: source.failed.unwrap_or_default(),
            ..OperationRecord::default()
        };
        if let Ok(place) = steps.at(&name) {
            *place = StepRecord { record, series: Vec::new() };
        }
    }
    steps
}
