//! Runs trials on open volumes and stores each as soon as it is finished.

use crate::engine_watch::EngineWatch;
use crate::feasibility::refusal_of;
use crate::open_volumes::{FileSet, OpenVolumes, dirty_beside, filled_before};
use crate::work::label;
use crate::{Activity, Ended, Error, Event, Loss, Observer, RunStore, Settings, Work, filling, wall_clock};
use loadline_analysis::doubts;
use loadline_block::ErrorKind;
use loadline_engine::{EngineError, Filling};
use loadline_kernel::facts::CacheScope;
use loadline_record::{Ending, EngineName, EngineUsed, Extents, LoadFigures, Series, Surroundings, TrialRecord};
use loadline_units::{Duration, Ratio};
use loadline_workload::{Arrival, BlockShare, Fill, LoadSpec, RunCell, ScheduledTrial};
use std::collections::{BTreeMap, BTreeSet};

/// What a run needs while it goes on.
pub struct MeasuredTrials<'a> {
    /// Where finished trials go.
    pub store: &'a mut RunStore,
    /// The run's id.
    pub run: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// What the run was told.
    pub settings: &'a Settings,
    /// By name.
    pub volumes: &'a mut OpenVolumes,
    /// Who follows.
    pub observer: &'a mut dyn Observer,
}

/// Reads that find out whether a volume answers at all.
const PROBE_READS: u64 = 8;
/// They are given so long.
const PROBE_TIME: Duration = Duration::from_s(2);

impl MeasuredTrials<'_> {
    /// Runs every trial of `work` that is not in `finished`, in order. A volume that stops answering is given up: its other
    /// trials are left out, those of other volumes are not. A trial that cannot be run at all is stored as failed, and one that
    /// the system would not let begin is left for later: either way the others are run.
    ///
    /// # Errors
    /// A volume that cannot be filled, or the store.
    pub fn run(&mut self, work: &Work, finished: &BTreeSet<(String, u32)>) -> Result<Ended, Error> {
        let steps: Vec<ScheduledTrial> = work.left(finished).copied().collect();
        let cell_of = |step: &ScheduledTrial| &work.cells[step.cell];
        let fills = filled_before(self.volumes, steps.iter().map(cell_of));
        self.plan_ahead(steps.iter().map(|step| cell_of(step).spec.trial_time()).sum());
        self.plan_ahead(fills.values().copied().map(filling::time).sum());
        let all = work.steps.len();
        let before = all - steps.len();
        let mut given_up: Vec<(String, Loss)> = Vec::new();
        let mut not_started: Vec<Error> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let cell = cell_of(step);
            if self.volumes[&cell.volume].lost {
                continue;
            }
            if self.observer.wants_an_end() {
                return Ok(Ended::Interrupted);
            }
            let place = format!("{} of {all}", before + index + 1);
            let label = self.named(cell, step.trial);
            let planned = cell.spec.trial_time();
            if let Some(how) = refusal_of(&set_of(self.volumes, cell).volume, cell, self.settings.engine) {
                self.keep_refusal(cell, step.trial, &how.to_string())?;
                self.forgo(planned);
                self.observer.says(&Event::TrialImpossible { place: &place, label: &label, why: &how });
                continue;
            }
            let ready = self.ready(cell)?;
            self.look_at_store()?;
            let (why, from) = match ready {
                Ready::Yes => {
                    let activity = Activity { place: place.clone(), label: label.clone(), planned, is_guessed: false };
                    self.observer.begins(&activity);
                    let trial = match self.trial(cell, step.trial) {
                        Ok(Some(trial)) => trial,
                        Ok(None) => return Ok(Ended::Interrupted),
                        // The system refused this one; others may want less of it.
                        Err(error @ Error::Trial { .. }) => {
                            self.observer.says(&Event::TrialNotStarted { place: &place, error: &error });
                            not_started.push(error);
                            continue;
                        }
                        Err(error) => return Err(error),
                    };
                    self.observer.says(&Event::TrialFinished { place: &place, label: &label, trial: &trial });
                    (self.why_to_give_up(&trial, cell)?.map(Loss::from), index + 1)
                }
                Ready::Interrupted => return Ok(Ended::Interrupted),
                Ready::Failed(why) => (Some(why), index),
            };
            if let Some(why) = why {
                self.volumes.get_mut(&cell.volume).expect("every volume of the plan is open").lost = true;
                let is_here = |step: &ScheduledTrial| cell_of(step).volume == cell.volume;
                let left: Vec<&RunCell> = steps[from..].iter().filter(|step| is_here(step)).map(cell_of).collect();
                self.forgo(left.iter().map(|c| c.spec.trial_time()).sum());
                // One that was begun is not ahead any more.
                let fills = fills.range(index + 1..).filter(|(step, _)| is_here(&steps[**step]));
                self.forgo(fills.map(|(_, size)| filling::time(*size)).sum());
                // A volume given up after its last trial has lost nothing.
                if !left.is_empty() {
                    let volume = cell.volume.as_str();
                    self.observer.says(&Event::VolumeGivenUp { volume, why: &why, trials: left.len() });
                    given_up.push((volume.to_owned(), why));
                }
            }
        }
        Ok(if given_up.is_empty() && not_started.is_empty() {
            Ended::Complete
        } else {
            Ended::Broken { given_up, not_started }
        })
    }

    /// Runs one trial of a cell that need not be of any plan, filling its volume first where it wants that; `None` when the user
    /// stopped it.
    ///
    /// # Errors
    /// A volume that cannot be filled, a trial that could not be started, or the store.
    pub fn probe(&mut self, cell: &RunCell, trial: u32, place: &str) -> Result<Option<TrialRecord>, Error> {
        match self.ready(cell)? {
            Ready::Yes => {}
            Ready::Interrupted => return Ok(None),
            Ready::Failed(why) => return Err(Error::Lost { volume: cell.volume.clone(), why }),
        }
        self.look_at_store()?;
        let (label, planned) = (label(&cell.spec), cell.spec.trial_time());
        self.observer.begins(&Activity { place: place.to_owned(), label, planned, is_guessed: false });
        self.trial(cell, trial)
    }

    fn plan_ahead(&mut self, time: Duration) {
        self.observer.says(&Event::Planned(time));
    }

    fn forgo(&mut self, time: Duration) {
        self.observer.says(&Event::Forgone(time));
    }

    /// Finds out whether there will be no store, and passes on what was found beside it.
    fn look_at_store(&mut self) -> Result<(), Error> {
        for leftover in self.store.leftovers_found() {
            self.observer.says(&Event::LeftoverFound { path: &leftover.path, size: leftover.size });
        }
        self.store.look()
    }

    /// Why no further trial on the volume would tell anything, after this one; `None` where it is worth going on.
    fn why_to_give_up(&mut self, trial: &TrialRecord, cell: &RunCell) -> Result<Option<String>, Error> {
        Ok(match &trial.ending {
            Ending::Hung(how) => Some(format!("it does not answer: {how}")),
            Ending::Failed(how) if trial.errors.contains_key(&ErrorKind::Gone) => Some(format!("it is gone: {how}")),
            // The load may have failed for a reason of its own, such as a full disk: then reads are still answered.
            Ending::Failed(how) if !self.answers(cell)? => Some(format!("not one read is answered any more: {how}")),
            Ending::Complete | Ending::Interrupted | Ending::Failed(_) => None,
        })
    }

    /// Whether the cell's volume answers any of a few reads.
    fn answers(&mut self, cell: &RunCell) -> Result<bool, Error> {
        let set = set_of(self.volumes, cell);
        let block = LoadSpec::default().block_max().max(set.volume.alignment().offset);
        let spec = LoadSpec {
            blocks: vec![BlockShare { size: block, share: Ratio::ONE }],
            arrival: Arrival::Closed { queue_depth: 1, rate_max: None, think_time: Duration::ZERO },
            volume: Some(block * PROBE_READS),
            warm_up: Duration::ZERO,
            duration: PROBE_TIME,
            hang_limit: PROBE_TIME,
            fill: Fill::Never,
            ..LoadSpec::default()
        };
        let probe = RunCell { id: "probe".into(), spec, ..cell.clone() };
        let mut watch = EngineWatch(self.observer);
        let record = watch.trial(&mut set.volume, &probe, 0, self.seed, self.settings.engine)?;
        Ok(record.count() > 0)
    }

    /// "random read 4 KiB, depth 32 on data, trial 2 of 3"; leaves out what there is only one of.
    fn named(&self, cell: &RunCell, trial: u32) -> String {
        let trials = cell.spec.trials;
        let trial = if trials > 1 { format!(", trial {} of {trials}", trial + 1) } else { String::new() };
        self.settings.named(&cell.spec, &cell.volume) + &trial
    }

    /// Runs one trial and stores it; `None` when the user stopped it, and then nothing is stored.
    fn trial(&mut self, cell: &RunCell, trial: u32) -> Result<Option<TrialRecord>, Error> {
        // What earlier loads left in memory would be written back beneath this one, and pass for somebody else's load.
        for other in dirty_beside(self.volumes, cell) {
            other.dirty = other.volume.write_back().is_err();
        }
        let set = set_of(self.volumes, cell);
        if set.buffered_before && !cell.spec.buffered {
            let _ = set.volume.drop_caches(CacheScope::Files);
        }
        set.buffered_before = cell.spec.buffered;
        set.dirty = cell.spec.buffered && cell.spec.writes_any();
        let mut watch = EngineWatch(self.observer);
        let mut record =
            watch.trial(&mut set.volume, cell, trial, self.seed, self.settings.engine).map_err(|source| {
                Error::Trial { load: label(&cell.spec), volume: cell.volume.clone(), source: Box::new(source) }
            })?;
        if record.ending == Ending::Interrupted {
            return Ok(None);
        }
        record.doubts = doubts(&LoadFigures::from(&cell.spec), &record, &set.volume.facts);
        // What was trimmed is as if it had never been written.
        set.filled &= !cell.spec.trims_any();
        // What this trial wrote is written when the next begins.
        let is_unwritten = |extents: &Extents| extents.unwritten_bytes + extents.hole_bytes > 0;
        let was_unwritten = set.volume.facts.extents.as_ref().is_some_and(is_unwritten);
        if cell.spec.trims_any() || cell.spec.writes_any() && was_unwritten {
            set.volume.facts.extents = set.volume.extents();
        }
        self.store.store()?.finish_trial(self.run, &cell.id, &record)?;
        Ok(Some(record))
    }

    /// Stores that a trial could not be run, so that it is not tried again.
    fn keep_refusal(&mut self, cell: &RunCell, trial: u32, how: &str) -> Result<(), Error> {
        let mut record = TrialRecord {
            trial,
            started_unix_s: wall_clock::unix_s(),
            engine: EngineUsed { name: EngineName::Nothing, reason: how.to_owned(), options: Vec::new() },
            warm_up_ns: 0,
            measured_ns: 0,
            operations: BTreeMap::new(),
            offered_iops: None,
            missed: 0,
            series: Series::default(),
            errors: BTreeMap::new(),
            error_samples: Vec::new(),
            surroundings: Surroundings::default(),
            told_scatter: None,
            steps: loadline_record::Steps::default(),
            steady_state: None,
            verify: None,
            model: None,
            ending: Ending::Failed(how.to_owned()),
            doubts: Vec::new(),
        };
        let facts = &set_of(self.volumes, cell).volume.facts;
        record.doubts = doubts(&LoadFigures::from(&cell.spec), &record, facts);
        Ok(self.store.store()?.finish_trial(self.run, &cell.id, &record)?)
    }

    /// Fills the cell's volume where the cell wants that and it has not been done; says whether the cell may begin.
    fn ready(&mut self, cell: &RunCell) -> Result<Ready, Error> {
        let set = set_of(self.volumes, cell);
        if set.filled || !set.is_full_for(&cell.spec) {
            return Ok(Ready::Yes);
        }
        let range = set.volume.span();
        self.observer.begins(&Activity {
            place: format!("volume {}", cell.volume),
            label: format!("filling {}", range.human()),
            planned: filling::time(range),
            is_guessed: true,
        });
        let mut watch = EngineWatch(self.observer);
        let filling = Filling { content: set.wish.content, limit: None };
        let report = match watch.fill(&mut set.volume, range, self.seed, filling, self.settings.engine) {
            Ok(report) => report,
            Err(EngineError::Os { attempted, source }) => {
                return Ok(Ready::Failed(format!("cannot {attempted}: {source}").into()));
            }
            Err(error @ (EngineError::NoRoom { .. } | EngineError::Lacking { .. })) => {
                return Ok(Ready::Failed(Loss { how: error.to_string(), remedy: error.remedy() }));
            }
            Err(source) => return Err(Error::Fill { volume: cell.volume.clone(), source: Box::new(source) }),
        };
        set.filled = report.complete;
        if set.filled {
            // What was found when it was opened is no longer so, and doubts rest on it.
            set.volume.facts.extents = set.volume.extents();
            self.observer.says(&Event::Filled { volume: &cell.volume, bytes: report.bytes, elapsed: report.elapsed });
        }
        Ok(if set.filled { Ready::Yes } else { Ready::Interrupted })
    }
}

/// The files that a cell runs on.
fn set_of<'a>(volumes: &'a mut OpenVolumes, cell: &RunCell) -> &'a mut FileSet {
    volumes.get_mut(&cell.volume).expect("every volume of the plan is open").set_for(&cell.spec)
}

/// Whether a cell may begin.
enum Ready {
    Yes,
    /// The user stopped the filling.
    Interrupted,
    /// The volume could not be filled.
    Failed(Loss),
}
