//! `replay`: an application that was recorded on an emulated disk, on another disk.

use crate::arguments::{self, Printing};
use crate::catalog::{self, Own};
use crate::environments;
use crate::failure::{Outcome, Usage};
use crate::modelled::{self, Asker, How};
use crate::output;
use crate::run::conclude;
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use loadline_disk::{BurstCredits, Machine, Target};
use loadline_emulation::replay::{
    Dependence, NoRoom, Relocation, ReplayedRequest, account, join_slices, relocate, replay_on, trial,
};
use loadline_emulation::{LateExport, Trace, TraceRecord};
use loadline_prediction::{CreditsReading, CreditsWatch, most_plausible, volume_facts};
use loadline_record::{Clock, Doubt, DoubtCode, PlanText, RunHeader, RunStatus, RunVerb, TrialRecord};
use loadline_runs::wall_clock::{UtcTime, fresh_seed, run_id, unix_s};
use loadline_runs::{Ended, PendingStore};
use loadline_units::{Bytes, Duration};
use std::io::BufReader;
use std::path::PathBuf;

/// `replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// What `loadline emulate --trace` recorded
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The other storage: an environment file (TOML), or a name from `loadline environments`
    #[arg(long, value_name = "FILE")]
    env: String,
    /// What makes a request come: the time at which it came, or the answer that its client had before it
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", hide_possible_values = true)]
    #[arg(help = "What makes a request come: time, at which it came, or answers, that its client had before it")]
    by: DependenceName,
    /// Seed of every random choice; by default drawn anew and stored with the run
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// What to call the run; by default the names of the trace and the environment, and --by
    #[arg(long, value_parser = arguments::name, value_name = "NAME")]
    name: Option<String>,
    /// Credits of bursts when the first request comes: full, empty, or apart for disks and the VM, as in disks=full,vm=empty
    #[arg(long, default_value = "full", value_name = "STATE")]
    bursts: BurstCredits,
    #[command(flatten)]
    own: Own,
    #[command(flatten)]
    printing: Printing,
}

/// What is to be known of a trace without an end; follows its name.
const CUT_SHORT: &str = "was cut short: whoever records it is still at it, was killed, or could write no more. What came after its last \
                         record is missing: of a killed one a second or two and what was under way, of a full disk all the rest.";

/// What makes a request come, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DependenceName {
    /// Open loop, as recorded
    #[default]
    Time,
    /// Closed loop, with the recorded dependence
    Answers,
}

impl DependenceName {
    const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Answers => "answers",
        }
    }

    /// What this way of replaying cannot know.
    const fn blind_spot(self) -> &'static str {
        match self {
            Self::Time => {
                "By time: requests come when they came, however the storage does. A slower one builds queues that the application \
                 would not have built, a faster one does not speed the application up; rates say little, latencies say what \
                 these arrivals meet. --by answers keeps what waited for what."
            }
            Self::Answers => {
                "By answers: each request waits for the answer on its own connection that came last before it in the recording, comes \
                 as long after it as it did, and no connection ever has more outstanding than it had then; a flush waits for \
                 every write of its volume that was answered before it. Connections and volumes do not wait for each other \
                 otherwise: what one client did after an answer on another connection or volume no longer waits for that. Which \
                 answer an application really waited for is not in a trace: programs that share a connection, such as those on one \
                 attached volume, hold each other up here, what else depended on two answers waits for one, and what goes by the clock, \
                 such as checkpoints, moves with the storage. --by time keeps the clock."
            }
        }
    }
}

/// Puts a trace on another environment and stores the result as a run in virtual time.
pub(crate) fn replay(
    arguments: &ReplayArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let shown = arguments.trace.display();
    let file = std::fs::File::open(&arguments.trace)
        .map_err(|error| Usage(format!("cannot open the trace {shown}: {error}")))?;
    let mut trace = Trace::read(BufReader::with_capacity(1 << 20, file)).with_context(|| format!("{shown}"))?;
    if trace.records.is_empty() && trace.cut_short {
        bail!(
            "{shown} was cut short before it held a request: whoever recorded it was killed, or could write no more; record it again, \
             where there is room"
        );
    }
    if trace.records.is_empty() {
        bail!("{shown} holds no request: nothing was asked of the emulation");
    }
    trace.records = join_slices(&trace.records);
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let environment = environments::read(&arguments.env, &catalog::with_folder(arguments.own.catalog.as_deref())?)?;
    let model = most_plausible(&environment);
    let initial = arguments.bursts.initial_state();
    let mut machine = Machine::new(&model.spec, seed, initial)?;
    machine.keep_accounts();
    let (targets, moved) = targets(&mut trace, &machine, &environment.name)?;
    if !quiet {
        output::tell(arguments.by.blind_spot());
        let failed = trace.records.iter().filter(|record| record.error.is_some()).count();
        if !trace.changes.is_empty() || failed > 0 {
            output::tell(&format!(
                "The trace has {} changes to the emulation and {failed} requests that failed: here nothing goes wrong, and what failed \
                 is answered.",
                trace.changes.len()
            ));
        }
    }
    if trace.cut_short {
        output::tell(&format!("{shown} {CUT_SHORT}"));
    }
    moved.iter().flatten().for_each(|told| output::tell(told));
    let opening = PendingStore::start(store()?, |_| Vec::new());
    let dependence = match arguments.by {
        DependenceName::Time => Dependence::Time,
        DependenceName::Answers => Dependence::Answers,
    };
    let saved = |target: &Target| machine.credits(machine.now(), *target);
    let mut watches: Vec<_> = targets.iter().map(|target| CreditsWatch::new(initial, saved(target))).collect();
    let replayed = replay_on(&mut machine, &targets, &trace.records, dependence, &mut |reached| {
        for (number, (watch, target)) in watches.iter_mut().zip(&targets).enumerate() {
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
    let mut cells = Vec::new();
    let mut facts = Vec::new();
    let mut trials: Vec<(String, TrialRecord)> = Vec::new();
    for (number, export) in trace.exports.iter().enumerate() {
        let own: Vec<(TraceRecord, ReplayedRequest)> = (trace.records.iter().copied().zip(replayed.iter().copied()))
            .filter(|(record, _)| usize::from(record.export) == number)
            .collect();
        let Some(mut trial) = trial(&own, started_unix_s, dependence) else { continue };
        let waits = machine.held(targets[number]).expect("accounts are kept");
        let (account, credits) = (account(&own, waits), &watches[number]);
        let how = How { seed, initial, account: &account, series: &trial.series, credits: Some(credits) };
        trial.model = Some(modelled::record(&model, export, &how)?);
        let volume = volume_facts(&model, export, export)?;
        let (id, label) = (format!("replay-{number}"), format!("recorded load, by {}", arguments.by.name()));
        let cell = modelled::cell(id, export, label, Asker::Trace { by: arguments.by.name() }, &trial);
        trial.doubts = loadline_analysis::doubts(&cell.load.figures(), &trial, &volume);
        if trace.cut_short {
            trial.doubts.push(Doubt { code: DoubtCode::EndedEarly, detail: format!("The trace {CUT_SHORT}") });
        }
        trial.doubts.extend(credits.doubt(&model, export, &trial));
        trial.doubts.extend(trace.late.iter().find(|late| late.export == *export).map(late_recording));
        let moved = moved[number].clone();
        trial.doubts.extend(moved.map(|detail| Doubt { code: DoubtCode::RequestsMoved, detail }));
        trial.doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
        facts.push(volume);
        trials.push((cell.id.clone(), trial));
        cells.push(cell);
    }
    let stem = arguments.trace.file_stem().map_or_else(|| "trace".into(), |stem| stem.to_string_lossy().into_owned());
    let id = run_id(UtcTime::now());
    let header = RunHeader {
        id: id.clone(),
        name: arguments
            .name
            .clone()
            .unwrap_or_else(|| format!("{stem} on {}, by {}", environment.name, arguments.by.name())),
        verb: RunVerb::Replay,
        clock: Clock::Virtual,
        started: UtcTime::now().rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed,
        imported: None,
        host: loadline_kernel::facts::host(),
        plans: Vec::new(),
        environment: Some(PlanText {
            name: environment.name.clone(),
            text: environment.text.clone(),
            hash: environment.hash(),
        }),
        volumes: facts,
        settings: serde_json::json!({
            "trace": arguments.trace, "by": arguments.by.name(), "bursts": arguments.bursts.to_string(), "recorded_on": trace.about,
            "cannot_know": arguments.by.blind_spot(),
        }),
    };
    let mut run_store = opening.begin(header, cells)?;
    let store = run_store.store()?;
    for (cell, trial) in &trials {
        store.finish_trial(&id, cell, trial)?;
    }
    store.set_status(&id, RunStatus::Finished)?;
    conclude(store, &id, Ended::Complete, arguments.printing.format, &|_, _| Ok(()))
}

/// That the recorded requests came at this machine's pace as much as at the recorded disk's.
fn late_recording(late: &LateExport) -> Doubt {
    let LateExport { late_p99_ns, modelled_p99_ns, .. } = late;
    let detail = format!(
        "When it was recorded, answers left late: p99 {} after the model's time, beside a modelled latency of p99 {}. Whoever waited for \
         them asked later than on the recorded disk.",
        Duration::from_ns(*late_p99_ns).human(),
        Duration::from_ns(*modelled_p99_ns).human()
    );
    Doubt { code: DoubtCode::LateDelivery, detail }
}

/// Where a request ends, bytes.
fn record_end(record: &TraceRecord) -> u64 {
    record.offset + record.length
}

/// Where the requests of each export go: what is not asked for need not be there. What lies beyond the end is moved; says so of each
/// export of which it is.
fn targets(
    trace: &mut Trace,
    machine: &Machine,
    environment: &str,
) -> anyhow::Result<(Vec<Target>, Vec<Option<String>>)> {
    let mut used = vec![0_u64; trace.exports.len()];
    for record in &trace.records {
        let end = &mut used[usize::from(record.export)];
        *end = (*end).max(record_end(record)).max(1);
    }
    let (mut targets, mut told) = (Vec::new(), Vec::new());
    let mut found = None;
    for ((export, name), end) in (0_u16..).zip(&trace.exports).zip(&used) {
        let target = machine.target(name);
        let mut moved = None;
        if *end > 0 {
            let Some(target) = target else {
                bail!(
                    "the trace has requests to {name}, and {environment} has no volume of that name; name its volumes as the \
                       recorded environment does"
                );
            };
            if let Some(size) = machine.size(target).filter(|size| size.get() < *end) {
                let reach = Bytes::new(*end);
                let Relocation { requests, asked_for, trims } = relocate(&mut trace.records, export, size).map_err(|NoRoom { asked_for }| {
                    anyhow::anyhow!(
                        "the trace asks for {} of {name}, in places of 1 MiB, and {environment} holds {size}: choose larger disks, or give \
                         them a size in an environment file of your own (size = \"...\"; `loadline environments show {environment}` prints \
                         one to begin with)",
                        asked_for.human()
                    )
                })?;
                let what = match (requests, trims) {
                    (0, trims) => format!("{trims} trims were cut at its end"),
                    (requests, trims) => format!(
                        "{requests} beyond its end, to {} in places of 1 MiB, were moved to its last places that nobody asks for{}",
                        asked_for.human(),
                        if trims > 0 { format!(", and {trims} trims moved with them or cut") } else { String::new() }
                    ),
                };
                moved = Some(format!(
                    "{name}: the recorded requests reach {reach}, and {environment} holds {size}: {what}."
                ));
            }
            found = found.or(Some(target));
        }
        targets.push(target);
        told.push(moved);
    }
    let any = found.context("the trace has no request")?;
    Ok((targets.into_iter().map(|target| target.unwrap_or(any)).collect(), told))
}
