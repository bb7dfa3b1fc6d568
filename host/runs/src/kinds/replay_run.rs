//! The replay of a trace on another environment, as a run in virtual time.
//!
//! [`ReplayRun::prepare`] finds a place for every recorded request, and [`ReplayRun::run`] answers them on the model.

use crate::error::ReplayError;
use crate::kinds::application::{ApplicationTrial, RequestSource, application_cell, application_model_record};
use crate::wall_clock::unix_s;
use crate::{Ended, Error, NewRun, PendingStore, RunOutcome, stored_environment};
use loadline_catalog::Environment;
use loadline_disk::{BurstCredits, InitialState, Machine, Target};
use loadline_emulation::replay::{
    Dependence, NoRoom, ReplayedRequest, account, join_slices, relocate, replay_on, trial,
};
use loadline_emulation::{LateExport, RecordingNotes, Trace, TraceRecord};
use loadline_prediction::{CreditsReading, CreditsWatch, Model, most_plausible, volume_facts};
use loadline_record::{
    Clock, Doubt, DoubtCode, DoubtEvidence, RunHeader, RunRecord, RunStatus, RunVerb, SmallerStorage, VolumeFacts,
};
use std::path::PathBuf;

/// How a trace is replayed.
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// Name of the run; by default the names of the trace and the environment, and the dependence.
    pub name: Option<String>,
    /// The trace's file, as the record names it.
    pub file: PathBuf,
    /// What makes a request come.
    pub dependence: Dependence,
    /// Seed of every random choice.
    pub seed: u64,
    /// Burst credits when the first request comes.
    pub credits: BurstCredits,
}

/// A trace and the model that answers it.
pub struct ReplayRun {
    trace: Trace,
    options: ReplayOptions,
    environment: Environment,
    model: Model,
    initial: InitialState,
    machine: Machine,
    /// Of each export.
    targets: Vec<Target>,
    /// Of each export: that requests beyond the end were moved.
    relocated: Vec<Option<Doubt>>,
}

/// The name of a dependence, as typed and stored.
#[must_use]
pub(crate) const fn dependence_name(dependence: Dependence) -> &'static str {
    match dependence {
        Dependence::Time => "time",
        Dependence::Answers => "answers",
        Dependence::Haste => "as-fast",
    }
}

/// What a replay with this dependence cannot know.
#[must_use]
pub const fn blind_spot(dependence: Dependence) -> &'static str {
    match dependence {
        Dependence::Time => {
            "By time: requests come when they came, however the storage does. A slower one builds queues that the application \
             would not have built, a faster one does not speed the application up; rates say little, latencies say what \
             these arrivals meet. A replay by answers keeps what waited for what."
        }
        Dependence::Answers => {
            "By answers: each request waits for the answer on its own connection that came last before it in the recording, comes \
             as long after it as it did, and no connection ever has more outstanding than it had then; a flush waits for \
             every write of its volume that was answered before it, but for what the page cache writes back: that comes by the clock. \
             Connections and volumes do not wait for each other \
             otherwise: what one client did after an answer on another connection or volume no longer waits for that. Which \
             answer an application really waited for is not in a trace: programs that share a connection, such as those on one \
             attached volume, hold each other up here, what else depended on two answers waits for one, and what goes by the clock, \
             such as checkpoints, moves with the storage. A replay by time keeps the clock."
        }
        Dependence::Haste => {
            "As fast as possible: the pauses of the application are left out, and each connection has as many requests in flight as it ever \
             had. It shows how fast the storage can work these requests off, and no latency that the application would meet."
        }
    }
}

impl ReplayRun {
    /// Finds a place on the environment for every request of a trace.
    ///
    /// # Errors
    /// [`ReplayError`]; or the environment is impossible.
    pub fn prepare(mut trace: Trace, environment: &Environment, options: ReplayOptions) -> Result<Self, Error> {
        if trace.records.is_empty() {
            return Err(if trace.cut_short { ReplayError::CutShort } else { ReplayError::NoRequest }.into());
        }
        trace.records = join_slices(&trace.records);
        let model = most_plausible(environment);
        let initial = options.credits.initial_state();
        let mut machine = Machine::new(&model.spec, options.seed, initial)?;
        machine.keep_accounts();
        // A recorded device has a name of its machine: the only volume is meant.
        if let ([export], [volume]) = (trace.exports.as_mut_slice(), environment.volumes.as_slice())
            && trace.recording.is_some()
            && machine.target(export).is_none()
        {
            export.clone_from(&volume.name);
        }
        let (targets, relocated) = targets(&mut trace, &machine, &environment.name)?;
        Ok(Self { trace, options, environment: environment.clone(), model, initial, machine, targets, relocated })
    }

    /// The trace, with every request where it goes.
    #[must_use]
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// A doubt for each volume of which requests beyond the end were moved.
    pub fn relocations(&self) -> impl Iterator<Item = &Doubt> {
        self.relocated.iter().flatten()
    }

    /// Answers every request, and stores the run.
    ///
    /// # Errors
    /// A recorded volume is not in the model; the store.
    pub fn run(self, store: PathBuf) -> Result<RunOutcome, Error> {
        let pending = PendingStore::start(store, |_| Vec::new());
        let RunRecord { header, cells, .. } = self.answered()?;
        pending.keep(header, cells, Ended::Complete)
    }

    /// The finished run.
    fn answered(mut self) -> Result<RunRecord, Error> {
        let Self { trace, options, environment, model, initial, machine, targets, relocated } = &mut self;
        let initial = *initial;
        let saved = |machine: &Machine, target: &Target| machine.credits(machine.now(), *target);
        let mut watches: Vec<CreditsWatch> =
            targets.iter().map(|target| CreditsWatch::new(initial, saved(machine, target))).collect();
        let replayed = replay_on(machine, targets, &trace.records, options.dependence, &mut |reached| {
            for (number, (watch, target)) in watches.iter_mut().zip(targets.iter()).enumerate() {
                watch.look(CreditsReading {
                    at: reached.now,
                    first: reached.first[number],
                    answered: reached.answered[number],
                    waits: reached.machine.held(*target).expect("accounts are kept"),
                    credits: reached.machine.credits(reached.now, *target),
                });
            }
        });
        let started_unix_s = unix_s();
        let by = dependence_name(options.dependence);
        let (mut cells, mut volumes) = (Vec::new(), Vec::new());
        for (number, export) in trace.exports.iter().enumerate() {
            let own: Vec<(TraceRecord, ReplayedRequest)> =
                (trace.records.iter().copied().zip(replayed.iter().copied()))
                    .filter(|(record, _)| usize::from(record.export) == number)
                    .filter_map(|(record, replayed)| Some((record, replayed?)))
                    .collect();
            let Some(mut trial) = trial(&own, started_unix_s, options.dependence) else { continue };
            let waits = machine.held(targets[number]).expect("accounts are kept");
            let (account, credits) = (account(&own, waits), &watches[number]);
            let of_trial = ApplicationTrial {
                seed: options.seed,
                initial,
                account: &account,
                series: &trial.series,
                credits: Some(credits),
            };
            trial.model = Some(application_model_record(model, export, &of_trial)?);
            let volume: VolumeFacts = volume_facts(model, export, export)?;
            let (id, label) = (format!("replay-{number}"), format!("recorded load, by {by}"));
            let mut cell = application_cell(id, export, label, RequestSource::Trace { by }, &trial);
            trial.doubts = loadline_analysis::doubts(&cell.load.figures(), &trial, &volume);
            trial.doubts.extend(source_doubts(trace));
            trial.doubts.extend(credits.doubt(model, export, &trial));
            trial.doubts.extend(trace.late.iter().find(|late| late.export == *export).map(late_recording));
            trial.doubts.extend(relocated[number].clone());
            trial.doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
            cell.trials.push(trial);
            volumes.push(volume);
            cells.push(cell);
        }
        let header = header(trace, options, environment, volumes);
        Ok(RunRecord { header, status: RunStatus::Finished, cells })
    }
}

fn header(trace: &Trace, options: &ReplayOptions, environment: &Environment, volumes: Vec<VolumeFacts>) -> RunHeader {
    let by = dependence_name(options.dependence);
    let stem = options.file.file_stem().map_or_else(|| "trace".into(), |stem| stem.to_string_lossy().into_owned());
    let name = options.name.clone().unwrap_or_else(|| format!("{stem} on {}, by {by}", environment.name));
    RunHeader {
        environment: Some(stored_environment(environment)),
        volumes,
        settings: serde_json::json!({
            "trace": options.file, "by": by, "bursts": options.credits.to_string(), "recorded_on": trace.about,
            "cannot_know": blind_spot(options.dependence),
        }),
        ..NewRun::now(name, RunVerb::Replay, Clock::Virtual, Some(options.seed)).header()
    }
}

/// Doubts about a recording as the source of a load: it has not all that was asked, or what asked could not ask for more.
pub(crate) fn source_doubts(trace: &Trace) -> Vec<Doubt> {
    let cut_short = trace.cut_short.then_some(DoubtEvidence::TraceCutShort);
    let cut_short = cut_short.map(|seen| Doubt { code: DoubtCode::EndedEarly, seen });
    let limit = trace.recording.as_ref().and_then(RecordingNotes::source_limit);
    let limit = limit.map(|(limit, share)| Doubt {
        code: DoubtCode::SourceLimited,
        seen: DoubtEvidence::SourceLimited { limit, share },
    });
    cut_short.into_iter().chain(trace.recording.as_ref().and_then(lossy)).chain(limit).collect()
}

/// A doubt: the recording has not all that was asked.
fn lossy(notes: &RecordingNotes) -> Option<Doubt> {
    let missing = notes.missing().unwrap_or(0);
    (missing > 0 || notes.events_lost > 0).then(|| Doubt {
        code: DoubtCode::EndedEarly,
        seen: DoubtEvidence::RecordingNotWhole {
            requests_missing: missing,
            requests: missing + notes.requests,
            events_lost: notes.events_lost,
        },
    })
}

/// A doubt: the recorded requests came at this machine's pace as much as at the recorded disk's.
fn late_recording(late: &LateExport) -> Doubt {
    let LateExport { late_p99_ns, modelled_p99_ns, .. } = *late;
    let seen = DoubtEvidence::AnswersLate { recorded: true, late_p99_ns, modelled_p99_ns };
    Doubt { code: DoubtCode::LateDelivery, seen }
}

/// Targets of the exports' requests, and what was moved of each export that has requests beyond the end. A volume
/// that nobody asked for need not be there.
fn targets(
    trace: &mut Trace,
    machine: &Machine,
    environment: &str,
) -> Result<(Vec<Target>, Vec<Option<Doubt>>), ReplayError> {
    let mut used = vec![0_u64; trace.exports.len()];
    for record in &trace.records {
        let end = &mut used[usize::from(record.export)];
        *end = (*end).max(record.offset + record.length).max(1);
    }
    let (mut targets, mut relocated) = (Vec::new(), Vec::new());
    let mut any = None;
    for ((export, name), end) in (0_u16..).zip(&trace.exports).zip(&used) {
        let target = machine.target(name);
        let mut moved = None;
        if *end > 0 {
            let Some(target) = target else {
                return Err(ReplayError::NoVolume { volume: name.clone(), environment: environment.to_owned() });
            };
            if let Some(size) = machine.size(target).filter(|size| size.get() < *end) {
                let found = relocate(&mut trace.records, export, size).map_err(|NoRoom { asked_for }| {
                    ReplayError::NoRoom { volume: name.clone(), environment: environment.to_owned(), asked_for, size }
                })?;
                let seen = DoubtEvidence::RequestsBeyondEnd {
                    storage: SmallerStorage::Model {
                        volume: name.clone(),
                        environment: environment.to_owned(),
                        moved_bytes: found.asked_for.get(),
                        trims: found.trims,
                    },
                    reach_bytes: *end,
                    size_bytes: size.get(),
                    requests: found.requests,
                };
                moved = Some(Doubt { code: DoubtCode::RequestsMoved, seen });
            }
            any = any.or(Some(target));
        }
        targets.push(target);
        relocated.push(moved);
    }
    let any = any.ok_or(ReplayError::NoRequest)?;
    Ok((targets.into_iter().map(|target| target.unwrap_or(any)).collect(), relocated))
}
