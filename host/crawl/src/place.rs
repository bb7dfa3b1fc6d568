//! A crawl as a place of trials: one trial is one crawl, from the first item to the last commit.

use crate::crawl::CrawlSettings;
use crate::extract::ReaderCommand;
use crate::folders::CrawlFolders;
use crate::frames::CrawlFrames;
use crate::machine::{MachineRecord, volume_facts};
use crate::threads::{CrawlEnd, CrawlSetUp, CrawlThreads};
use loadline_analysis::LiveFrame;
use loadline_pipeline::CrawlPlan;
use loadline_record::{
    CellRecord, Ending, EngineName, EngineUsed, RunVerb, Series, Surroundings, TrialRecord, VolumeFacts, VolumeRole,
};
use loadline_runs::{Error, NoTrial, Observer, TrialPlace, TrialRound, wall_clock};
use loadline_units::Duration;

/// Carries out crawls of one plan.
pub(crate) struct CrawlPlace {
    plan: CrawlPlan,
    folders: CrawlFolders,
    /// The next crawl begins with an empty index and database.
    is_reset: bool,
    documents: Option<ReaderCommand>,
    confirm: Option<Duration>,
    /// The seed of every random choice.
    pub(crate) seed: u64,
    /// The run's name and id, for its frames.
    pub(crate) frame: LiveFrame,
    /// Of the index: what a doubt about the crawl is judged by.
    volume: VolumeFacts,
}

impl CrawlPlace {
    pub(crate) fn new(
        plan: CrawlPlan,
        settings: &CrawlSettings,
        is_reset: bool,
        documents: Option<ReaderCommand>,
    ) -> Self {
        let folders = settings.folders();
        let mut volumes = volume_facts(&folders).into_iter();
        let volume = volumes.find(|of| of.name == VolumeRole::Index.name()).expect("a crawl has an index");
        let frame = LiveFrame::new(String::new(), RunVerb::Crawl.name().to_owned(), String::new());
        let confirm = settings.confirm_ns.map(Duration::from_ns);
        Self { plan, folders, is_reset, documents, confirm, seed: 0, frame, volume }
    }
}

impl TrialPlace for CrawlPlace {
    type Cell = CellRecord;

    fn carry_out(
        &mut self,
        round: &TrialRound<'_, CellRecord>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TrialRecord>, NoTrial> {
        let started_unix_s = wall_clock::unix_s();
        let mut threads = CrawlThreads::start(CrawlSetUp {
            plan: &self.plan,
            folders: &self.folders,
            is_reset: self.is_reset,
            seed: self.seed,
            documents: self.documents.as_ref(),
            confirm: self.confirm,
        })?;
        threads.follow(observer, &mut CrawlFrames::new(self.frame.clone()));
        // A crawl that did not come to its end is no result. What it committed stays for the one that goes on.
        let end = threads.finish()?.ok_or(NoTrial::Interrupted)?;
        Ok(vec![trial(end, round.trial, started_unix_s)])
    }

    fn facts(&self, _: &CellRecord) -> Result<VolumeFacts, Error> {
        Ok(self.volume.clone())
    }
}

fn trial(end: CrawlEnd, number: u32, started_unix_s: u64) -> TrialRecord {
    let CrawlEnd { pipeline, steps, watched: MachineRecord { surroundings, .. } } = end;
    let engine = EngineUsed {
        name: EngineName::Other("crawl".to_owned()),
        reason: "sources, index and database ask for what they need".to_owned(),
        options: Vec::new(),
    };
    TrialRecord {
        measured_ns: pipeline.wall_ns,
        steps,
        series: Series { interval_s: 1, seconds: Vec::new(), last_ns: 0 },
        surroundings: Surroundings { elapsed_ns: pipeline.wall_ns, ..surroundings },
        pipeline: Some(Box::new(pipeline)),
        ending: Ending::Complete,
        ..TrialRecord::empty(number, started_unix_s, engine)
    }
}
