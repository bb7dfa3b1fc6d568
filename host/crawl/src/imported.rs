//! Crawls of others: a table that somebody published, as runs.

use crate::crawl::cell_of;
use crate::error::CrawlError;
use loadline_pipeline::{CrawlFigures, SourceFigures};
use loadline_record::{
    Clock, EngineName, EngineUsed, HostFacts, ImportedFile, ImportedFrom, OperationRecord, RunHeader, RunRecord,
    RunStatus, RunVerb, StepName, StepRecord, Steps, TrialRecord,
};
use loadline_runs::NewRun;
use loadline_store::Store;

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
        settings: serde_json::json!({ CrawlFigures::SETTINGS_KEY: crawl }),
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
