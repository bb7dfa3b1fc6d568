//! A crawl as a run: begun in a store, carried out, kept with what it measured, and gone on with.

use crate::crawl::{CrawlEnd, carry_out};
use crate::error::CrawlError;
use crate::extract::ReaderCommand;
use crate::folders::CrawlFolders;
use crate::machine::{MachineRecord, volume_facts};
use crate::observer::CrawlObserver;
use loadline_pipeline::{Attribution, CrawlPlan, attribute};
use loadline_record::{
    Access, ArrivalKind, CellRecord, Clock, Ending, EngineName, EngineUsed, Load, LoadFigures, OthersLoad, PlanText,
    RunHeader, RunRecord, RunStatus, RunVerb, Series, Surroundings, TrialRecord,
};
use loadline_runs::{NewRun, RunOptions, store_location, wall_clock};
use loadline_store::{Claim, Store};
use loadline_units::Duration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The cell of a crawl.
const CELL: &str = "crawl";
/// The volume that its cell names.
const VOLUME: &str = "index";

/// What happens to what an earlier crawl left in the folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrawlMode {
    /// Index and database are emptied first.
    #[default]
    Full,
    /// Items that are as they were are left alone.
    Incremental,
}

/// A crawl that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct Crawl {
    /// What is crawled, and how.
    pub plan: CrawlPlan,
    /// Where index and database are. `None`: in a temporary folder, which is removed at the end.
    pub folder: Option<PathBuf>,
    /// Where single volumes are, in place of the folder.
    pub volumes: CrawlVolumes,
    /// The environment whose emulated disks the volumes are on.
    pub environment: Option<PlanText>,
    /// What happens to what is there.
    pub mode: CrawlMode,
    /// What reads PDF and Office files, in a process of its own. `None`: they are counted as failures.
    pub documents: Option<ReaderCommand>,
    /// Slow one station at a time in windows of this length, to see what binds. `None`: none is slowed.
    pub confirm: Option<Duration>,
    /// Name, seed and store of the run.
    pub options: RunOptions,
}

/// Folders of single volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlVolumes {
    /// Of the index.
    pub index: Option<PathBuf>,
    /// Of the database's data.
    pub data: Option<PathBuf>,
    /// Of the database's log.
    pub log: Option<PathBuf>,
    /// Of data that is not kept after the crawl.
    pub temporary: Option<PathBuf>,
}

impl CrawlVolumes {
    /// Names the folder of a volume.
    ///
    /// # Errors
    /// There is no such volume.
    pub fn set(&mut self, volume: &str, folder: PathBuf) -> Result<(), CrawlError> {
        let place = match volume {
            "index" => &mut self.index,
            "data" => &mut self.data,
            "log" => &mut self.log,
            "temporary" => &mut self.temporary,
            other => return Err(CrawlError::Volume(other.to_owned())),
        };
        *place = Some(folder);
        Ok(())
    }
}

/// A crawl that ended.
#[derive(Debug)]
pub struct CrawlOutcome {
    /// All that is stored of it.
    pub record: RunRecord,
    /// What bound each source.
    pub attributions: Vec<Attribution>,
    /// It was stopped before all was done; it can go on.
    pub is_stopped: bool,
    /// Documents in the index.
    pub documents: u64,
}

/// What a run keeps to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CrawlSettings {
    index: PathBuf,
    data: PathBuf,
    log: Option<PathBuf>,
    temporary: PathBuf,
    /// The folder goes when the crawl has ended.
    removed_at_end: bool,
    mode: CrawlMode,
}

impl CrawlSettings {
    fn folders(&self) -> CrawlFolders {
        CrawlFolders {
            index: self.index.clone(),
            data: self.data.clone(),
            log: self.log.clone(),
            temporary: self.temporary.clone(),
        }
    }
    /// Removes the folder of a crawl that kept nothing.
    fn tidy(&self) {
        if self.removed_at_end {
            // What cannot be removed stays where temporary files are.
            let _ = std::fs::remove_dir_all(&self.temporary);
        }
    }
}

impl Crawl {
    /// Of this plan, with all else as usual.
    #[must_use]
    pub fn of(plan: CrawlPlan) -> Self {
        Self {
            plan,
            folder: None,
            volumes: CrawlVolumes::default(),
            environment: None,
            mode: CrawlMode::Full,
            documents: None,
            confirm: None,
            options: RunOptions::default(),
        }
    }

    fn settings(&self, id: &str) -> Result<CrawlSettings, CrawlError> {
        let (temporary, removed_at_end) = match (&self.folder, &self.volumes.temporary) {
            (Some(folder), temporary) => (temporary.clone().unwrap_or_else(|| folder.clone()), false),
            (None, Some(temporary)) => (temporary.join(format!("loadline-crawl-{id}")), true),
            (None, None) => (std::env::temp_dir().join(format!("loadline-crawl-{id}")), true),
        };
        let make = |path: &PathBuf| {
            std::fs::create_dir_all(path).map_err(CrawlError::folder("make", path))?;
            path.canonicalize().map_err(CrawlError::folder("find", path))
        };
        let temporary = make(&temporary)?;
        let base = match &self.folder {
            Some(folder) => make(folder)?,
            None => temporary.clone(),
        };
        let plan = &self.plan;
        // A folder that somebody names may hold other things: what is emptied is a folder of our own in it.
        let of = |named: &Option<PathBuf>, planned: &Option<PathBuf>| {
            named.as_ref().or(planned.as_ref()).map_or_else(|| Ok(base.clone()), make)
        };
        let index = of(&self.volumes.index, &plan.index.folder)?.join("index");
        let data = of(&self.volumes.data, &plan.database.folder)?.join("database");
        let log = self.volumes.log.as_ref().or(plan.database.log.as_ref());
        let log = log.map(make).transpose()?.map(|log| log.join("database-log"));
        for folder in [Some(&index), Some(&data), log.as_ref()].into_iter().flatten() {
            make(folder)?;
        }
        Ok(CrawlSettings { index, data, log, temporary, removed_at_end, mode: self.mode })
    }

    /// Carries it out, and keeps the run.
    ///
    /// # Errors
    /// The plan, the folders, the store; what ended the crawl early.
    pub fn run(self, observer: &mut dyn CrawlObserver) -> Result<CrawlOutcome, CrawlError> {
        self.plan.check()?;
        let store = store_location::open_store(&store_location::store_path(self.options.store.as_deref())?)?;
        let name = self.options.name.clone().unwrap_or_else(|| self.plan.name.clone());
        let new = NewRun::now(name, RunVerb::Crawl, Clock::Real, self.options.seed);
        let settings = self.settings(&new.id)?;
        let text = self.plan.text();
        let header = RunHeader {
            plans: vec![PlanText { name: self.plan.name.clone(), hash: loadline_workload::text_hash(&text), text }],
            environment: self.environment.clone(),
            volumes: volume_facts(&settings.folders()),
            settings: serde_json::to_value(&settings).expect("settings are plain data"),
            ..new.header()
        };
        let claim = store.claim(&header.id)?;
        store.begin_run(&header, &[cell(&self.plan)])?;
        let reset = self.mode == CrawlMode::Full;
        let Self { plan, documents, confirm, .. } = self;
        CrawlInStore { store, _claim: claim, header, settings, plan, documents, confirm }.carry_out(reset, observer)
    }
}

/// Goes on with a crawl that was stopped or killed. `run` is an id, or the beginning of one.
///
/// # Errors
/// No such run, or none of a crawl; as of [`Crawl::run`].
pub fn resume_crawl(
    store: Store,
    run: &str,
    documents: Option<ReaderCommand>,
    observer: &mut dyn CrawlObserver,
) -> Result<CrawlOutcome, CrawlError> {
    let id = store.resolve(run)?;
    let claim = store.claim(&id)?;
    let record = store.load(&id)?;
    let is_crawl = record.header.verb == RunVerb::Crawl;
    let settings = serde_json::from_value::<CrawlSettings>(record.header.settings.clone()).ok();
    let (Some(settings), Some(plan)) = (settings.filter(|_| is_crawl), record.header.plans.first()) else {
        return Err(CrawlError::Ended(format!("run {id} is no crawl that could go on")));
    };
    let plan = CrawlPlan::read(&plan.text, &plan.name)?;
    if record.status == RunStatus::Finished {
        let attributions = of_record(&record)?;
        return Ok(CrawlOutcome { record, attributions, is_stopped: false, documents: 0 });
    }
    let crawl = CrawlInStore { store, _claim: claim, header: record.header, settings, plan, documents, confirm: None };
    crawl.carry_out(false, observer)
}

/// What bound the sources of a stored crawl.
///
/// # Errors
/// Its record contradicts itself.
pub fn of_record(record: &RunRecord) -> Result<Vec<Attribution>, CrawlError> {
    match pipeline_of(record) {
        Some(pipeline) => Ok(attribute(pipeline)?),
        None => Ok(Vec::new()),
    }
}

/// The pipeline that a run measured; `None`: it is no crawl, or did not end.
#[must_use]
pub fn pipeline_of(record: &RunRecord) -> Option<&loadline_record::PipelineRecord> {
    record.cells.iter().flat_map(|cell| &cell.trials).rev().find_map(|trial| trial.pipeline.as_deref())
}

/// A crawl that stands in its store.
struct CrawlInStore {
    store: Store,
    _claim: Claim,
    header: RunHeader,
    settings: CrawlSettings,
    plan: CrawlPlan,
    documents: Option<ReaderCommand>,
    confirm: Option<Duration>,
}

impl CrawlInStore {
    fn carry_out(self, reset: bool, observer: &mut dyn CrawlObserver) -> Result<CrawlOutcome, CrawlError> {
        let Self { store, header, settings, plan, documents, confirm, .. } = self;
        let run = header.id.clone();
        let started_unix_s = wall_clock::unix_s();
        let carried = carry_out(plan, &settings.folders(), reset, header.seed, documents.as_ref(), confirm, observer);
        let end = match carried {
            Ok(end) => end,
            Err(error) => {
                // The error is what counts; a store that fails as well would hide it.
                let _ = store.set_status(&run, RunStatus::Failed);
                return Err(error);
            }
        };
        let (is_stopped, documents) = (end.is_stopped, end.documents);
        let attributions = attribute(&end.pipeline)?;
        if is_stopped {
            // A crawl that did not come to its end is no result.
            store.set_status(&run, RunStatus::Interrupted)?;
        } else {
            let trial = trial(end, started_unix_s);
            store.finish_trial(&run, CELL, &trial)?;
            store.set_status(&run, RunStatus::Finished)?;
            settings.tidy();
        }
        Ok(CrawlOutcome { record: store.load(&run)?, attributions, is_stopped, documents })
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

fn cell(plan: &CrawlPlan) -> CellRecord {
    let names: Vec<&str> = plan.sources.iter().map(|source| source.name.as_str()).collect();
    cell_of(&names, plan.sources.iter().map(loadline_pipeline::SourcePlan::slots).sum())
}

/// The cell of a crawl of these sources.
pub(crate) fn cell_of(names: &[&str], threads: u32) -> CellRecord {
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

fn trial(end: CrawlEnd, started_unix_s: u64) -> TrialRecord {
    let CrawlEnd { pipeline, steps, watched, .. } = end;
    let MachineRecord { machine, pressure, devices, user_ns, system_ns, .. } = watched;
    let engine = EngineUsed {
        name: EngineName::Other("crawl".to_owned()),
        reason: "sources, index and database ask for what they need".to_owned(),
        options: Vec::new(),
    };
    TrialRecord {
        measured_ns: pipeline.wall_ns,
        steps,
        series: Series { interval_s: 1, seconds: Vec::new(), last_ns: 0 },
        surroundings: Surroundings {
            elapsed_ns: pipeline.wall_ns,
            tool_user_ns: user_ns,
            tool_system_ns: system_ns,
            machine,
            pressure,
            devices,
            ..Surroundings::default()
        },
        pipeline: Some(Box::new(pipeline)),
        ending: Ending::Complete,
        ..TrialRecord::empty(0, started_unix_s, engine)
    }
}
