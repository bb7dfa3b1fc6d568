//! Runs trials on open volumes and stores each as soon as it is finished.

use crate::figures;
use crate::interruption::Interruption;
use crate::live::{Live, Step as Shown};
use crate::measure::Watch;
use crate::preparation::{Work, label, load_summary};
use crate::settings::Settings;
use anyhow::Context;
use loadline_analysis::doubts;
use loadline_block::{ErrorKind, Operation};
use loadline_engine::Volume;
use loadline_record::{Ending, TargetKind, TrialRecord};
use loadline_store::Store;
use loadline_units::{Bytes, Duration};
use loadline_workload::{Fill, LoadSpec, RunCell, Step};
use std::collections::{BTreeMap, BTreeSet};

/// A volume with what has been done to it.
#[derive(Debug)]
pub(crate) struct OpenVolume {
    /// The target.
    pub(crate) volume: Volume,
    /// Whether all of it holds data written by this process.
    pub(crate) filled: bool,
}

/// What a run needs while it goes on.
pub(crate) struct Execution<'a> {
    /// Where finished trials go.
    pub(crate) store: &'a Store,
    /// The run's id.
    pub(crate) run: &'a str,
    /// The run's seed.
    pub(crate) seed: u64,
    /// What the run was told.
    pub(crate) settings: &'a Settings,
    /// By name.
    pub(crate) volumes: &'a mut BTreeMap<String, OpenVolume>,
    /// What people see.
    pub(crate) live: &'a mut Live,
    /// Whether the user wants an end.
    pub(crate) interruption: &'a Interruption,
}

/// How the execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every trial was run; so many of them ended badly.
    Complete {
        /// Trials that failed or hung.
        bad: u32,
    },
    /// The user stopped it.
    Interrupted,
    /// Going on made no sense; says why.
    Broken(String),
}

impl Execution<'_> {
    /// Runs every trial of `work` that is not in `finished`, in order.
    ///
    /// # Errors
    /// A trial that could not be started, or the store.
    pub(crate) fn run(&mut self, work: &Work, finished: &BTreeSet<(String, u32)>) -> anyhow::Result<Ended> {
        let done = |step: &Step| finished.contains(&(work.cells[step.cell].id.clone(), step.trial));
        let steps: Vec<Step> = work.steps.iter().filter(|step| !done(step)).copied().collect();
        self.live.expect(steps.iter().map(|step| work.cells[step.cell].spec.trial_time()).sum());
        let (mut bad, all) = (0, work.steps.len());
        let before = all - steps.len();
        for (index, step) in steps.into_iter().enumerate() {
            let cell = &work.cells[step.cell];
            if !self.ready(cell)? || self.interruption.asked() {
                return Ok(Ended::Interrupted);
            }
            let place = format!("{} of {all}", before + index + 1);
            let label = self.named(cell, step.trial);
            let planned = cell.spec.trial_time();
            self.live.begin(Shown { place: place.clone(), label: label.clone(), planned });
            let Some(trial) = self.trial(cell, step.trial)? else { return Ok(Ended::Interrupted) };
            self.live.say(&format!("{place}: {label}: {}", outcome(&trial)));
            match &trial.ending {
                Ending::Complete | Ending::Interrupted => {}
                // What hung or vanished answers no further cell either.
                Ending::Hung(how) => return Ok(Ended::Broken(how.clone())),
                Ending::Failed(how) if trial.errors.contains_key(&ErrorKind::Gone) => {
                    return Ok(Ended::Broken(how.clone()));
                }
                Ending::Failed(_) => bad += 1,
            }
        }
        Ok(Ended::Complete { bad })
    }

    /// "random read 4 KiB, depth 32 on data, trial 2 of 3"; leaves out what there is only one of.
    fn named(&self, cell: &RunCell, trial: u32) -> String {
        let volume = if self.settings.targets.len() > 1 { format!(" on {}", cell.volume) } else { String::new() };
        let trials = cell.spec.trials;
        let trial = if trials > 1 { format!(", trial {} of {trials}", trial + 1) } else { String::new() };
        format!("{}{volume}{trial}", label(&cell.spec))
    }

    /// Runs one trial and stores it; `None` when the user stopped it, and then nothing is stored.
    fn trial(&mut self, cell: &RunCell, trial: u32) -> anyhow::Result<Option<TrialRecord>> {
        let open = self.volumes.get_mut(&cell.volume).expect("every volume of the plan is open");
        let mut watch = Watch { live: self.live, interruption: self.interruption };
        let mut record = watch
            .trial(&mut open.volume, cell, trial, self.seed, self.settings.engine)
            .with_context(|| format!("{} on volume {}", label(&cell.spec), cell.volume))?;
        if record.ending == Ending::Interrupted {
            return Ok(None);
        }
        record.doubts = doubts(&load_summary(&cell.spec), &record, &open.volume.facts);
        self.store.finish_trial(self.run, &cell.id, &record)?;
        Ok(Some(record))
    }

    /// Fills the cell's volume where the cell wants that and it has not been done; says whether the cell may begin.
    fn ready(&mut self, cell: &RunCell) -> anyhow::Result<bool> {
        let open = self.volumes.get_mut(&cell.volume).expect("every volume of the plan is open");
        if open.filled || !wants_fill(&cell.spec, &open.volume) {
            return Ok(true);
        }
        let range = Bytes::new(open.volume.facts.size_bytes);
        self.live.begin(Shown {
            place: format!("volume {}", cell.volume),
            label: format!("filling {}", range.human()),
            planned: Duration::ZERO,
        });
        let mut watch = Watch { live: self.live, interruption: self.interruption };
        let report = watch
            .fill(&mut open.volume, range, self.seed, None, self.settings.engine)
            .with_context(|| format!("cannot fill volume {}", cell.volume))?;
        open.filled = report.complete;
        if open.filled {
            // What was found when it was opened is no longer so, and doubts rest on it.
            open.volume.facts.extents = open.volume.extents();
            self.live.say(&format!(
                "volume {}: filled {} in {}",
                cell.volume,
                report.bytes.human(),
                report.elapsed.clock()
            ));
        }
        Ok(open.filled)
    }
}

/// Whether the volume is to be written in full before this load.
fn wants_fill(spec: &LoadSpec, volume: &Volume) -> bool {
    if !volume.writable || volume.facts.kind == TargetKind::Null {
        return false;
    }
    match spec.fill {
        Fill::Auto => spec.reads_any(),
        Fill::Always => true,
        Fill::Never => false,
    }
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
