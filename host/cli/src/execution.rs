//! Runs trials on open volumes and stores each as soon as it is finished.

use crate::books::Books;
use crate::figures;
use crate::filling;
use crate::impossible;
use crate::interruption::Interruption;
use crate::live::{Live, Step as Shown};
use crate::measure::Watch;
use crate::moment;
use crate::preparation::{Work, label, load_summary};
use crate::run;
use crate::settings::Settings;
use crate::volumes::{FileSet, OpenVolumes, dirty_beside, filled_before};
use anyhow::Context;
use loadline_analysis::doubts;
use loadline_block::{ErrorKind, Operation};
use loadline_engine::{EngineError, Filling};
use loadline_kernel::facts::CacheScope;
use loadline_record::{Ending, EngineUsed, Extents, Series, Surroundings, TrialRecord};
use loadline_units::{Duration, Ratio};
use loadline_workload::{Arrival, BlockShare, Fill, LoadSpec, RunCell, Step};
use std::collections::{BTreeMap, BTreeSet};

/// What a run needs while it goes on.
pub(crate) struct Execution<'a> {
    /// Where finished trials go.
    pub(crate) books: &'a mut Books,
    /// The run's id.
    pub(crate) run: &'a str,
    /// The run's seed.
    pub(crate) seed: u64,
    /// What the run was told.
    pub(crate) settings: &'a Settings,
    /// By name.
    pub(crate) volumes: &'a mut OpenVolumes,
    /// What people see.
    pub(crate) live: &'a mut Live,
    /// Whether the user wants an end.
    pub(crate) interruption: &'a Interruption,
}

/// How the execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every trial was run; how each of them ended is in its record.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// Trials are missing because going on made no sense; says why, volume by volume.
    Broken(String),
}

/// Reads that find out whether a volume answers at all.
const PROBE_READS: u64 = 8;
/// They are given so long.
const PROBE_TIME: Duration = Duration::from_s(2);

impl Execution<'_> {
    /// Runs every trial of `work` that is not in `finished`, in order. A volume that stops answering is given up: its other
    /// trials are left out, those of other volumes are not. A trial that cannot be run at all is stored as failed, and one that
    /// the system would not let begin is left for later: either way the others are run.
    ///
    /// # Errors
    /// A volume that cannot be filled, or the store.
    pub(crate) fn run(&mut self, work: &Work, finished: &BTreeSet<(String, u32)>) -> anyhow::Result<Ended> {
        let steps: Vec<Step> = work.left(finished).copied().collect();
        let cell_of = |step: &Step| &work.cells[step.cell];
        let fills = filled_before(self.volumes, steps.iter().map(cell_of));
        self.live.expect(steps.iter().map(|step| cell_of(step).spec.trial_time()).sum());
        self.live.expect(fills.values().copied().map(filling::time).sum());
        let all = work.steps.len();
        let before = all - steps.len();
        let mut given_up: Vec<String> = Vec::new();
        let mut not_started: Vec<String> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let cell = cell_of(step);
            if self.volumes[&cell.volume].lost {
                continue;
            }
            if self.interruption.asked() {
                return Ok(Ended::Interrupted);
            }
            let place = format!("{} of {all}", before + index + 1);
            let label = self.named(cell, step.trial);
            let planned = cell.spec.trial_time();
            if let Some(how) = impossible::why(&set_of(self.volumes, cell).volume, cell, self.settings.engine) {
                self.keep_refusal(cell, step.trial, &how.to_string())?;
                self.live.forgo(planned);
                self.live.say(&format!("{place}: {label}: cannot be run: {how}"));
                continue;
            }
            let ready = self.ready(cell)?;
            self.books.look()?;
            let (why, from) = match ready {
                Ready::Yes => {
                    self.live.begin(Shown { place: place.clone(), label: label.clone(), planned, is_guessed: false });
                    let trial = match self.trial(cell, step.trial) {
                        Ok(Some(trial)) => trial,
                        Ok(None) => return Ok(Ended::Interrupted),
                        // The system refused this one; others may want less of it.
                        Err(error) if error.is::<EngineError>() => {
                            self.live.say(&format!("{place}: {error:#}"));
                            not_started.push(format!("{error:#}"));
                            continue;
                        }
                        Err(error) => return Err(error),
                    };
                    self.live.say(&format!("{place}: {label}: {}", outcome(&trial)));
                    (self.why_to_give_up(&trial, cell)?, index + 1)
                }
                Ready::Interrupted => return Ok(Ended::Interrupted),
                Ready::Failed(why) => (Some(why), index),
            };
            if let Some(why) = why {
                self.volumes.get_mut(&cell.volume).expect("every volume of the plan is open").lost = true;
                let is_here = |step: &Step| cell_of(step).volume == cell.volume;
                let left: Vec<&RunCell> = steps[from..].iter().filter(|step| is_here(step)).map(cell_of).collect();
                self.live.forgo(left.iter().map(|c| c.spec.trial_time()).sum());
                // One that was begun is not ahead any more.
                let fills = fills.range(index + 1..).filter(|(step, _)| is_here(&steps[**step]));
                self.live.forgo(fills.map(|(_, size)| filling::time(*size)).sum());
                // A volume given up after its last trial has lost nothing.
                if !left.is_empty() {
                    let trials = if left.len() == 1 { "1 trial".to_owned() } else { format!("{} trials", left.len()) };
                    self.live.say(&format!("volume {}: {why}; {trials} left out", cell.volume));
                    given_up.push(format!("volume {}: {why}", cell.volume));
                }
            }
        }
        if let Some(first) = not_started.first() {
            let more = match not_started.len() {
                1 => String::new(),
                all => format!(" (and {} trials more)", all - 1),
            };
            given_up.push(format!("{first}{more}"));
        }
        Ok(if given_up.is_empty() { Ended::Complete } else { Ended::Broken(given_up.join("; ")) })
    }

    /// Runs one trial of a cell that need not be of any plan, filling its volume first where it wants that; `None` when the user
    /// stopped it.
    ///
    /// # Errors
    /// A volume that cannot be filled, a trial that could not be started, or the store.
    pub(crate) fn probe(&mut self, cell: &RunCell, trial: u32, place: &str) -> anyhow::Result<Option<TrialRecord>> {
        match self.ready(cell)? {
            Ready::Yes => {}
            Ready::Interrupted => return Ok(None),
            Ready::Failed(why) => anyhow::bail!("volume {}: {why}", cell.volume),
        }
        self.books.look()?;
        let (label, planned) = (label(&cell.spec), cell.spec.trial_time());
        self.live.begin(Shown { place: place.to_owned(), label, planned, is_guessed: false });
        self.trial(cell, trial)
    }

    /// Why no further trial on the volume would tell anything, after this one; `None` where it is worth going on.
    fn why_to_give_up(&mut self, trial: &TrialRecord, cell: &RunCell) -> anyhow::Result<Option<String>> {
        Ok(match &trial.ending {
            Ending::Hung(how) => Some(format!("it does not answer: {how}")),
            Ending::Failed(how) if trial.errors.contains_key(&ErrorKind::Gone) => Some(format!("it is gone: {how}")),
            // The load may have failed for a reason of its own, such as a full disk: then reads are still answered.
            Ending::Failed(how) if !self.answers(cell)? => Some(format!("not one read is answered any more: {how}")),
            Ending::Complete | Ending::Interrupted | Ending::Failed(_) => None,
        })
    }

    /// Whether the cell's volume answers any of a few reads.
    fn answers(&mut self, cell: &RunCell) -> anyhow::Result<bool> {
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
        let mut watch = Watch { live: self.live, interruption: self.interruption };
        let record = watch.trial(&mut set.volume, &probe, 0, self.seed, self.settings.engine)?;
        Ok(record.count() > 0)
    }

    /// "random read 4 KiB, depth 32 on data, trial 2 of 3"; leaves out what there is only one of.
    fn named(&self, cell: &RunCell, trial: u32) -> String {
        let trials = cell.spec.trials;
        let trial = if trials > 1 { format!(", trial {} of {trials}", trial + 1) } else { String::new() };
        run::named(&cell.spec, &cell.volume, self.settings) + &trial
    }

    /// Runs one trial and stores it; `None` when the user stopped it, and then nothing is stored.
    fn trial(&mut self, cell: &RunCell, trial: u32) -> anyhow::Result<Option<TrialRecord>> {
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
        let mut watch = Watch { live: self.live, interruption: self.interruption };
        let mut record = watch
            .trial(&mut set.volume, cell, trial, self.seed, self.settings.engine)
            .with_context(|| format!("{} on volume {}", label(&cell.spec), cell.volume))?;
        if record.ending == Ending::Interrupted {
            return Ok(None);
        }
        record.doubts = doubts(&load_summary(&cell.spec), &record, &set.volume.facts);
        // What was trimmed is as if it had never been written.
        set.filled &= !cell.spec.trims_any();
        // What this trial wrote is written when the next begins.
        let is_unwritten = |extents: &Extents| extents.unwritten_bytes + extents.hole_bytes > 0;
        let was_unwritten = set.volume.facts.extents.as_ref().is_some_and(is_unwritten);
        if cell.spec.trims_any() || cell.spec.writes_any() && was_unwritten {
            set.volume.facts.extents = set.volume.extents();
        }
        self.books.store()?.finish_trial(self.run, &cell.id, &record)?;
        Ok(Some(record))
    }

    /// Stores that a trial could not be run, so that it is not tried again.
    fn keep_refusal(&mut self, cell: &RunCell, trial: u32, how: &str) -> anyhow::Result<()> {
        let mut record = TrialRecord {
            trial,
            started_unix_s: moment::unix_s(),
            engine: EngineUsed { name: "none".into(), reason: how.to_owned(), options: Vec::new() },
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
            steady_state: None,
            verify: None,
            model: None,
            ending: Ending::Failed(how.to_owned()),
            doubts: Vec::new(),
        };
        let facts = &set_of(self.volumes, cell).volume.facts;
        record.doubts = doubts(&load_summary(&cell.spec), &record, facts);
        Ok(self.books.store()?.finish_trial(self.run, &cell.id, &record)?)
    }

    /// Fills the cell's volume where the cell wants that and it has not been done; says whether the cell may begin.
    fn ready(&mut self, cell: &RunCell) -> anyhow::Result<Ready> {
        let set = set_of(self.volumes, cell);
        if set.filled || !set.is_full_for(&cell.spec) {
            return Ok(Ready::Yes);
        }
        let range = set.volume.span();
        self.live.begin(Shown {
            place: format!("volume {}", cell.volume),
            label: format!("filling {}", range.human()),
            planned: filling::time(range),
            is_guessed: true,
        });
        let mut watch = Watch { live: self.live, interruption: self.interruption };
        let filling = Filling { content: set.wish.content, limit: None };
        let report = match watch.fill(&mut set.volume, range, self.seed, filling, self.settings.engine) {
            Ok(report) => report,
            Err(EngineError::Os { attempted, source }) => {
                return Ok(Ready::Failed(format!("cannot {attempted}: {source}")));
            }
            Err(error @ (EngineError::NoRoom { .. } | EngineError::Lacking { .. })) => {
                return Ok(Ready::Failed(error.to_string()));
            }
            Err(error) => return Err(anyhow::Error::new(error).context(format!("cannot fill volume {}", cell.volume))),
        };
        set.filled = report.complete;
        if set.filled {
            // What was found when it was opened is no longer so, and doubts rest on it.
            set.volume.facts.extents = set.volume.extents();
            let rate = report.bytes.get() as f64 / report.elapsed.as_s_f64().max(1e-9);
            self.live.say(&format!(
                "volume {}: filled {} in {}, {}",
                cell.volume,
                report.bytes.human(),
                report.elapsed.human(),
                figures::megabytes_per_s(rate)
            ));
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
    Failed(String),
}

/// A finished trial in a line: its figures, its doubts.
fn outcome(trial: &TrialRecord) -> String {
    let mut parts = match (trial.iops(), trial.bytes_per_s()) {
        (Some(iops), Some(bytes)) => vec![figures::iops(iops), figures::megabytes_per_s(bytes)],
        _ => vec!["nothing measured".to_owned()],
    };
    for operation in Operation::ALL {
        let Some(record) = trial.of(operation) else { continue };
        if let (Some(p50), Some(p99)) = (record.latency.quantile(0.5), record.latency.quantile(0.99)) {
            parts.push(format!("{} p50 {} p99 {}", operation.name(), p50.human(), p99.human()));
        }
    }
    match &trial.ending {
        Ending::Complete | Ending::Interrupted => {}
        Ending::Failed(how) | Ending::Hung(how) => parts.push(format!("ended early: {how}")),
    }
    let codes: Vec<&str> = trial.doubts.iter().map(|doubt| doubt.code.name()).collect();
    let doubts = if codes.is_empty() { String::new() } else { format!(" [{}]", codes.join(", ")) };
    parts.join(", ") + &doubts
}
