//! Trials in virtual time on all the machine's processors, each stored as soon as it is finished.
//!
//! What is predicted does not depend on how many there are: every trial has its own model and seed.

use crate::prediction_settings::PredictionSettings;
use crate::work::{Work, label};
use crate::{Advance, Ahead, Ended, Error, Event, Observer, RunStore, wall_clock};
use loadline_analysis::doubts;
use loadline_disk::{InitialState, Machine, Warmth};
use loadline_prediction::{
    Going, Model, Predicted, PredictionError, Progress, Putting, for_draw, predict, predict_together, volume_facts,
};
use loadline_record::{DoubtCode, LoadFigures, TrialRecord};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, RunCell, cell_seed};
use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration as RealDuration, Instant};

/// How often the observer is called.
const LOOK_EVERY: RealDuration = RealDuration::from_millis(100);

/// A prediction about to be made.
#[derive(Clone, Copy)]
pub struct ModelledTrials<'a> {
    /// The run's id.
    pub run: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// What it was told.
    pub settings: &'a PredictionSettings,
    /// Its cells and trials.
    pub work: &'a Work,
    /// The plausible environments, the middle first.
    pub models: &'a [Model],
}

/// Trials that one thread makes, one after the other: of a cell, or of several at the same time.
#[derive(Debug, Clone)]
struct Job {
    cells: Vec<usize>,
    trials: Vec<u32>,
}

/// What threads have in common.
struct Shared {
    next: AtomicUsize,
    stop: AtomicBool,
    /// Virtual time gone by in all threads, ns.
    elapsed_ns: AtomicU64,
}

/// A finished trial, or why there is none.
type Made = Result<TrialRecord, PredictionError>;

impl ModelledTrials<'_> {
    /// Makes every trial that is not in `finished`.
    ///
    /// # Errors
    /// A load that cannot be predicted, or the store.
    pub fn run(
        self,
        store: &mut RunStore,
        finished: &BTreeSet<(String, u32)>,
        observer: &mut dyn Observer,
    ) -> Result<Ended, Error> {
        let jobs = self.jobs(finished);
        let all: usize = jobs.iter().map(|job| job.trials.len() * job.cells.len()).sum();
        let time: Duration = jobs.iter().map(|job| self.time(job) * job.trials.len() as u64).sum();
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len()).max(1);
        let ahead = Ahead::Modelled { trials: all, time };
        observer.says(&Event::RunBegins { run: self.run, seed: self.seed, ahead });
        let shared = Shared { next: AtomicUsize::new(0), stop: AtomicBool::new(false), elapsed_ns: AtomicU64::new(0) };
        let started_unix_s = wall_clock::unix_s();
        let began = Instant::now();
        let mut done = 0;
        std::thread::scope(|scope| {
            let (sender, receiver) = channel::<(usize, Made)>();
            for _ in 0..threads {
                let (sender, shared, jobs) = (sender.clone(), &shared, &jobs);
                scope.spawn(move || self.work_off(jobs, shared, started_unix_s, &sender));
            }
            drop(sender);
            let ended = loop {
                match receiver.recv_timeout(LOOK_EVERY) {
                    Ok((cell, made)) => {
                        done += 1;
                        if let Err(error) = self.keep(store, cell, made, finished) {
                            break Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        break Ok(if done == all { Ended::Complete } else { Ended::Interrupted });
                    }
                }
                if observer.wants_an_end() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                let share = shared.elapsed_ns.load(Ordering::Relaxed) as f64 / time.as_ns().max(1) as f64;
                observer.progresses(&Advance::Trials { done, all, share, elapsed: began.elapsed() });
            };
            shared.stop.store(true, Ordering::Relaxed);
            ended
        })
    }

    /// The longest that a trial of the job takes.
    fn time(&self, job: &Job) -> Duration {
        let times = job.cells.iter().map(|cell| self.work.cells[*cell].spec.trial_time());
        times.max().unwrap_or_default()
    }

    /// One trial each; where trials go on from one another, all of a cell.
    fn jobs(&self, finished: &BTreeSet<(String, u32)>) -> Vec<Job> {
        let id = |cell: usize| self.work.cells[cell].id.clone();
        if self.settings.carries() {
            // A chain that was cut is made from its beginning again, for the state that its first trials leave.
            let whole = |cell: usize| (0..self.work.cells[cell].spec.trials).collect::<Vec<u32>>();
            let left = |cell: &usize| whole(*cell).iter().any(|trial| !finished.contains(&(id(*cell), *trial)));
            let cells = (0..self.work.cells.len()).filter(left);
            return cells.map(|cell| Job { cells: vec![cell], trials: whole(cell) }).collect();
        }
        if self.settings.is_together() {
            let by_volume: Vec<Vec<usize>> = self.settings.names().map(|name| self.work.on(name).collect()).collect();
            let groups = (0..by_volume.first().map_or(0, Vec::len))
                .map(|place| by_volume.iter().map(|cells| cells[place]).collect::<Vec<usize>>());
            let jobs = groups.flat_map(|cells| {
                let trials = cells.iter().map(|cell| self.work.cells[*cell].spec.trials).max().unwrap_or(0);
                (0..trials).map(move |trial| Job { cells: cells.clone(), trials: vec![trial] })
            });
            let left = |job: &Job| job.cells.iter().any(|cell| !finished.contains(&(id(*cell), job.trials[0])));
            return jobs.filter(left).collect();
        }
        let steps = self.work.steps.iter().filter(|step| !finished.contains(&(id(step.cell), step.trial)));
        steps.map(|step| Job { cells: vec![step.cell], trials: vec![step.trial] }).collect()
    }

    /// Makes job after job until none is left or all are to stop.
    fn work_off(self, jobs: &[Job], shared: &Shared, started_unix_s: u64, sender: &Sender<(usize, Made)>) {
        while let Some(job) = jobs.get(shared.next.fetch_add(1, Ordering::Relaxed)) {
            let mut machine = None;
            for trial in &job.trials {
                let mut counted = Duration::ZERO;
                let mut count = |elapsed: Duration| {
                    let more = elapsed.saturating_sub(counted);
                    counted = elapsed;
                    shared.elapsed_ns.fetch_add(more.as_ns(), Ordering::Relaxed);
                };
                let made = self.made(job, *trial, started_unix_s, &mut machine, &mut |progress| {
                    count(progress.elapsed.min(progress.expected));
                    if shared.stop.load(Ordering::Relaxed) { Going::Stop } else { Going::On }
                });
                count(self.time(job));
                let Some(made) = made else { return };
                for (cell, made) in made {
                    let failed = made.is_err();
                    // Nobody listens any more where the store has failed.
                    if sender.send((cell, made)).is_err() || failed || shared.stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }
        }
    }

    /// One trial of each cell of a job; `None` where it was given up. Where trials go on from one another, `machine` is what the
    /// one before left.
    fn made(
        &self,
        job: &Job,
        trial: u32,
        started_unix_s: u64,
        machine: &mut Option<Machine>,
        watch: &mut dyn FnMut(Progress) -> Going,
    ) -> Option<Vec<(usize, Made)>> {
        let cells = job.cells.iter().map(|cell| &self.work.cells[*cell]);
        let loads: Vec<LoadSpec> = cells.clone().map(|cell| self.load_of(cell, trial)).collect();
        let states: Vec<InitialState> = cells.clone().map(|cell| self.settings.initially().of(&cell.spec)).collect();
        // One load that begins with warm caches warms those of all.
        let initial = *states.iter().find(|state| state.caches == Warmth::Warm).unwrap_or(&states[0]);
        let puttings: Vec<Putting<'_>> = cells
            .zip(&loads)
            .map(|(cell, load)| Putting {
                model: &self.models[trial as usize % self.models.len()],
                volume: self.settings.volume(&cell.volume),
                load,
                trial,
                seed: cell_seed(self.seed, &cell.id),
                initial,
                started_unix_s,
            })
            .collect();
        let first = job.cells[0];
        if let [putting] = &puttings[..] {
            return match predict(putting, machine.take(), watch) {
                Ok(None) => None,
                Ok(Some(Predicted { record, machine: left })) => {
                    *machine = self.settings.carries().then_some(left);
                    Some(vec![(first, Ok(record))])
                }
                Err(error) => Some(vec![(first, Err(error))]),
            };
        }
        match predict_together(&puttings, watch) {
            Ok(None) => None,
            Ok(Some(records)) => Some(job.cells.iter().copied().zip(records.into_iter().map(Ok)).collect()),
            Err(error) => Some(vec![(first, Err(error))]),
        }
    }

    /// A cell's load as a trial of it puts it.
    fn load_of(&self, cell: &RunCell, trial: u32) -> LoadSpec {
        if self.settings.is_together() {
            return cell.spec.clone();
        }
        let model = &self.models[trial as usize % self.models.len()];
        for_draw(model, self.settings.volume(&cell.volume), &cell.spec)
    }

    /// Stores a trial, with its doubts.
    fn keep(
        &self,
        store: &mut RunStore,
        cell: usize,
        made: Made,
        finished: &BTreeSet<(String, u32)>,
    ) -> Result<(), Error> {
        let cell = &self.work.cells[cell];
        let mut record = made.map_err(|source| Error::Prediction {
            what: format!("{} on volume {}", label(&cell.spec), cell.volume),
            source,
        })?;
        if finished.contains(&(cell.id.clone(), record.trial)) {
            return Ok(());
        }
        let facts = volume_facts(&self.models[0], self.settings.volume(&cell.volume), &cell.volume)?;
        let load = self.load_of(cell, record.trial);
        record.doubts = doubts(&LoadFigures::from(&load), &record, &facts);
        if load != cell.spec {
            // It tells a range, and no figure that rests on so few requests.
            record.doubts.retain(|doubt| doubt.code != DoubtCode::FewSamples);
        }
        Ok(store.store()?.finish_trial(self.run, &cell.id, &record)?)
    }
}
