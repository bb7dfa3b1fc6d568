//! Crawls of others: a table that somebody published, as runs.

use crate::{Error, NewRun, wall_clock};
use loadline_pipeline::{CrawlFigures, SourceFigures};
use loadline_record::{
    Access, ArrivalKind, CellRecord, Clock, EngineName, EngineUsed, HostFacts, ImportedFile, ImportedFrom, Load,
    LoadFigures, OperationRecord, OthersLoad, RunHeader, RunRecord, RunStatus, RunVerb, StepName, StepRecord, Steps,
    TrialRecord,
};
use loadline_store::Store;

/// The cell of a crawl.
const CELL: &str = "crawl";
/// The volume that its cell names.
const VOLUME: &str = "index";

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
pub fn import_crawls(text: &str, file: &str, store: &Store) -> Result<Vec<RunRecord>, Error> {
    let crawls =
        CrawlFigures::read_table(text).map_err(|source| Error::CrawlTable { file: file.to_owned(), source })?;
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
    let mut cell = crawl_cell(&names, threads);
    let mut trial = TrialRecord::empty(
        0,
        wall_clock::unix_s(),
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

/// The cell of a crawl of these sources.
#[must_use]
pub fn crawl_cell(names: &[&str], threads: u32) -> CellRecord {
    CellRecord {
        id: CELL.to_owned(),
        volume: VOLUME.to_owned(),
        label: format!("crawl of {}", names.join(", ")),
        load: Load::Application(OthersLoad { volume: VOLUME.to_owned(), by: None, figures: figures(threads) }),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: 1,
        trials: Vec::new(),
    }
}

fn figures(threads: u32) -> LoadFigures {
    LoadFigures {
        pattern: Access::Application,
        read_ratio: 0.0,
        block_bytes: 0,
        size_bytes: None,
        queue_depth: None,
        threads,
        arrival: ArrivalKind::Application,
        rate_iops: None,
        buffered: true,
        flush_every: None,
        duration_ns: 0,
        objective: None,
    }
}
