//! A crawl as a run: what it is told, where its volumes are, and how it begins and goes on.

use crate::error::CrawlError;
use crate::extract::ReaderCommand;
use crate::folders::CrawlFolders;
use crate::machine::volume_facts;
use crate::place::CrawlPlace;
use loadline_pipeline::{Attribution, CrawlPlan, attribute};
use loadline_record::{CellRecord, Clock, PlanText, RunHeader, RunRecord, RunVerb};
use loadline_runs::{
    Ahead, Error, Observer, PendingStore, RunKind, RunOptions, RunOutcome, RunStore, RunUnderWay, StoredRun,
    TrialSchedule, TrialsPlanned, crawl_cell,
};
use loadline_units::Duration;
use loadline_workload::ScheduledTrial;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

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

/// What a run keeps to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CrawlSettings {
    index: PathBuf,
    data: PathBuf,
    log: Option<PathBuf>,
    temporary: PathBuf,
    /// The folder goes when the crawl has ended.
    removed_at_end: bool,
    mode: CrawlMode,
    /// Length of the windows in which stations are slowed.
    #[serde(default)]
    pub(crate) confirm_ns: Option<u64>,
}

impl CrawlSettings {
    pub(crate) fn folders(&self) -> CrawlFolders {
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
        let confirm_ns = self.confirm.map(Duration::as_ns);
        Ok(CrawlSettings { index, data, log, temporary, removed_at_end, mode: self.mode, confirm_ns })
    }

    /// Carries it out, and keeps the run.
    ///
    /// # Errors
    /// The plan, the folders, the store; what ended the crawl early.
    pub fn run(self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        self.plan.check().map_err(CrawlError::from)?;
        let new = self.options.new_run(|| self.plan.name.clone(), RunVerb::Crawl, Clock::Real);
        let settings = self.settings(&new.id)?;
        let text = self.plan.text();
        let header = RunHeader {
            plans: vec![PlanText { name: self.plan.name.clone(), hash: loadline_workload::text_hash(&text), text }],
            environment: self.environment.clone(),
            volumes: volume_facts(&settings.folders()),
            settings: serde_json::to_value(&settings).expect("settings are plain data"),
            ..new.header()
        };
        let cell = cell(&self.plan);
        let pending = PendingStore::start(self.options.store_path()?, |_| Vec::new());
        let store = pending.begin(header.clone(), vec![cell.clone()])?;
        let is_reset = self.mode == CrawlMode::Full;
        carry_on(
            &header,
            cell,
            &settings,
            CrawlPlace::new(self.plan, &settings, is_reset, self.documents),
            store,
            observer,
        )
    }
}

/// Resumes a stored run, of a crawl or of any other kind: what is finished is taken as it is, the rest is carried out. `documents` reads
/// PDF and Office files of a crawl.
///
/// # Errors
/// As of [`StoredRun::resume`]; what ended the crawl early.
pub fn resume(
    run: StoredRun,
    documents: Option<ReaderCommand>,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    if run.kind() != RunKind::Crawl || run.is_finished() {
        return run.resume(observer);
    }
    let (record, store) = run.into_parts();
    let RunHeader { id, plans, settings, .. } = &record.header;
    let settings: CrawlSettings = serde_json::from_value(settings.clone()).map_err(|source| Error::OtherSettings {
        run: id.clone(),
        again: "begin",
        source,
    })?;
    let Some(plan) = plans.first() else { return Err(Error::NoPlan { run: id.clone() }) };
    let plan = CrawlPlan::read(&plan.text, &plan.name).map_err(CrawlError::from)?;
    let cell = cell(&plan);
    carry_on(&record.header, cell, &settings, CrawlPlace::new(plan, &settings, false, documents), store, observer)
}

/// Carries out the crawl of a run that stands in the store.
fn carry_on(
    header: &RunHeader,
    cell: CellRecord,
    settings: &CrawlSettings,
    mut place: CrawlPlace,
    store: RunStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let (run, seed) = (header.id.as_str(), header.seed);
    let (nothing, cells) = (BTreeSet::new(), [cell]);
    let ahead = Ahead::Application { what: &cells[0].label };
    let schedule = TrialSchedule::of(&cells, &[ScheduledTrial { group: 0, trial: 0 }], &nothing);
    let under_way = RunUnderWay { run, seed, ahead, planned: TrialsPlanned::All };
    place.seed = seed;
    place.frame.run.clone_from(&header.id);
    place.frame.name.clone_from(&header.name);
    let outcome = under_way.carry_out(&mut place, store, observer, |trials| trials.run(&schedule))?;
    if outcome.ended.is_complete() {
        settings.tidy();
    }
    Ok(outcome)
}

/// What bound the sources of a stored crawl.
///
/// # Errors
/// Its record contradicts itself.
pub fn of_record(record: &RunRecord) -> Result<Vec<Attribution>, CrawlError> {
    record.pipeline().map_or(Ok(Vec::new()), |pipeline| Ok(attribute(pipeline)?))
}

fn cell(plan: &CrawlPlan) -> CellRecord {
    let names: Vec<&str> = plan.sources.iter().map(|source| source.name.as_str()).collect();
    crawl_cell(&names, plan.sources.iter().map(loadline_pipeline::SourcePlan::slots).sum())
}
