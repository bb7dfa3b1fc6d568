//! `--find-objective`: the deepest queue, or the highest rate of arrivals, that keeps the latency asked for, found with few
//! probes. Each probe is a trial of a cell of its own, stored like any other.

use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::run::{Manner, conclude};
use crate::terminal::Terminal;
use crate::{output, printing, run};
use anyhow::{Context as _, bail};
use loadline_analysis::{Probed, Search};
use loadline_catalog::Environment;
use loadline_prediction::Model;
use loadline_record::{CellRecord, Clock, Ending, PlanText, RunHeader, RunRecord, RunStatus, VolumeFacts};
use loadline_runs::wall_clock::{UtcTime, run_id};
use loadline_runs::{
    Ended, Event, Initially, PendingStore, Prober, RunStore, Settings, TrialPlace, Work, cell_record, open_volumes,
    probe, read_again,
};
use loadline_units::Iops;
use loadline_workload::{Arrival, LoadSpec, QUEUE_DEPTH_MAX};
use std::path::PathBuf;

/// The verb under which searches are stored; analysis knows them by it.
pub(crate) const VERB: &str = "search";
/// Arrivals per second that are tried at most.
const RATE_MAX: u64 = 100_000_000;

/// A load whose depth or rate is looked for.
struct Question {
    volume: String,
    spec: LoadSpec,
    figure: &'static str,
    search: Search,
}

/// An environment to be searched on.
pub(crate) struct Modelled<'a> {
    /// The environment.
    pub(crate) environment: &'a Environment,
    /// Its most plausible model.
    pub(crate) model: Model,
    /// How its storage is when a load begins.
    pub(crate) initially: Initially,
    /// Names in the results, each with the volume of the environment.
    pub(crate) volumes: Vec<(String, String)>,
    /// What is stored of them.
    pub(crate) facts: Vec<VolumeFacts>,
    /// What the search was told, for `--resume`.
    pub(crate) told: serde_json::Value,
}

/// The amount of a load: its queue depth, or its arrivals per second.
fn amount(spec: &LoadSpec) -> u64 {
    match spec.arrival {
        Arrival::Closed { queue_depth, .. } => queue_depth.into(),
        Arrival::Constant { rate } | Arrival::Poisson { rate } => rate.get(),
    }
}

/// The load with another amount.
fn with_amount(spec: &LoadSpec, amount: u64) -> LoadSpec {
    let rate = || Iops::per_second(amount).expect("a search stays above 0");
    let arrival = match spec.arrival {
        Arrival::Closed { rate_max, think_time, .. } => {
            let queue_depth = u32::try_from(amount).expect("a search stays within what a load may have");
            Arrival::Closed { queue_depth, rate_max, think_time }
        }
        Arrival::Constant { .. } => Arrival::Constant { rate: rate() },
        Arrival::Poisson { .. } => Arrival::Poisson { rate: rate() },
    };
    LoadSpec { arrival, ..spec.clone() }
}

/// One question for all cells of a volume that differ in their amount alone; the search begins in the middle of their amounts.
fn questions(work: &Work) -> Result<Vec<Question>, Usage> {
    let mut asked: Vec<(String, LoadSpec, Vec<u64>)> = Vec::new();
    for cell in work.cells.iter().filter(|cell| cell.spec.objective.is_some()) {
        let spec = LoadSpec { trials: 1, ..with_amount(&cell.spec, 1) };
        match asked.iter_mut().find(|(volume, known, _)| *volume == cell.volume && *known == spec) {
            Some((_, _, amounts)) => amounts.push(amount(&cell.spec)),
            None => asked.push((cell.volume.clone(), spec, vec![amount(&cell.spec)])),
        }
    }
    if asked.is_empty() {
        return Err(Usage(
            "no load of the plan has an objective to find: write objective = { p99 = \"20 ms\" } in one".into(),
        ));
    }
    let question = |(volume, spec, mut amounts): (String, LoadSpec, Vec<u64>)| {
        amounts.sort_unstable();
        let objective = spec.objective.expect("only loads with one were asked about");
        let most = if spec.outstanding().is_some() { u64::from(QUEUE_DEPTH_MAX) } else { RATE_MAX };
        let search =
            Search { limit_ns: objective.limit.as_ns() as f64, least: 1, most, start: amounts[amounts.len() / 2] };
        Question { volume, figure: objective.of.name(), spec, search }
    };
    Ok(asked.into_iter().map(question).collect())
}

/// Searches on what stands on this machine.
pub(crate) fn measured(
    name: String,
    settings: Settings,
    work: Work,
    seed: u64,
    store: PathBuf,
    manner: &Manner,
) -> anyhow::Result<Outcome> {
    let questions = questions(&work)?;
    let id = run_id(UtcTime::now());
    let mut terminal = Terminal::new(manner.quiet, &Interruption::watch()?);
    let mut opened = open_volumes::open(&work, &settings, &id, &[], &mut terminal)?;
    run::refuse_cells(&work, &settings, &opened)?;
    if settings.keep {
        open_volumes::keep(&mut opened);
    }
    let header = RunHeader {
        clock: Clock::Real,
        volumes: settings.targets.iter().map(|t| opened[&t.volume].facts()).collect(),
        settings: serde_json::to_value(settings.standing()).context("settings are plain data")?,
        ..header(id, name, seed, work.plans)
    };
    let place = TrialPlace::Measured { settings: Box::new(settings), volumes: opened };
    begin(header, place, &questions, &[], store, &mut terminal, manner)
}

/// `run --resume RUN` of a search: its probes are taken as they are, and the others run.
pub(crate) fn resume_measured(stored: &RunRecord, manner: &Manner, run_store: RunStore) -> anyhow::Result<Outcome> {
    let RunHeader { id, plans, seed, .. } = &stored.header;
    let settings = run::settings_of(stored)?;
    let plans = plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()?;
    let work = Work::of(plans, &settings.scope(), *seed)?;
    let questions = questions(&work)?;
    let mut terminal = Terminal::new(manner.quiet, &Interruption::watch()?);
    run::remove_leftovers(id, &settings, &mut terminal)?;
    let mut opened = open_volumes::open(&work, &settings, id, &stored.header.volumes, &mut terminal)?;
    if settings.keep {
        open_volumes::keep(&mut opened);
    }
    let place = TrialPlace::Measured { settings: Box::new(settings), volumes: opened };
    carry_on(stored, place, &questions, &[], run_store, &mut terminal, manner)
}

/// `predict --resume RUN` of a search.
pub(crate) fn resume_modelled(
    stored: &RunRecord,
    (model, initially): (Model, Initially),
    volumes: &[(String, String)],
    work: &Work,
    manner: &Manner,
    run_store: RunStore,
) -> anyhow::Result<Outcome> {
    let questions = questions(work)?;
    let mut terminal = Terminal::new(manner.quiet, &Interruption::watch()?);
    let place = TrialPlace::Modelled { models: vec![model], volume: String::new(), initially };
    carry_on(stored, place, &questions, volumes, run_store, &mut terminal, manner)
}

/// Searches on the most plausible model of an environment.
pub(crate) fn modelled(
    name: String,
    modelled: Modelled<'_>,
    work: Work,
    seed: u64,
    store: PathBuf,
    manner: &Manner,
) -> anyhow::Result<Outcome> {
    let questions = questions(&work)?;
    let Modelled { environment, model, initially, volumes, facts, told } = modelled;
    let mut terminal = Terminal::new(manner.quiet, &Interruption::watch()?);
    let header = RunHeader {
        clock: Clock::Virtual,
        environment: Some(PlanText {
            name: environment.name.clone(),
            text: environment.text.clone(),
            hash: environment.hash(),
        }),
        volumes: facts,
        settings: told,
        ..header(run_id(UtcTime::now()), name, seed, work.plans)
    };
    let place = TrialPlace::Modelled { models: vec![model], volume: String::new(), initially };
    begin(header, place, &questions, &volumes, store, &mut terminal, manner)
}

fn header(id: String, name: String, seed: u64, plans: Vec<PlanText>) -> RunHeader {
    RunHeader {
        id,
        name,
        verb: VERB.into(),
        clock: Clock::Real,
        started: UtcTime::now().rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed,
        imported: None,
        host: loadline_kernel::facts::host(),
        plans,
        environment: None,
        volumes: Vec::new(),
        settings: serde_json::Value::Null,
    }
}

fn begin(
    header: RunHeader,
    place: TrialPlace,
    questions: &[Question],
    modelled: &[(String, String)],
    store: PathBuf,
    terminal: &mut Terminal,
    manner: &Manner,
) -> anyhow::Result<Outcome> {
    let run_store = PendingStore::start(store, |_| Vec::new()).begin(header.clone(), Vec::new())?;
    let nothing = RunRecord { header, status: RunStatus::Unfinished, cells: Vec::new() };
    carry_on(&nothing, place, questions, modelled, run_store, terminal, manner)
}

/// Probes what is not in `stored` yet: where the next probe goes follows from those before it, so the way is the same.
fn carry_on(
    stored: &RunRecord,
    mut place: TrialPlace,
    questions: &[Question],
    modelled: &[(String, String)],
    mut run_store: RunStore,
    terminal: &mut Terminal,
    manner: &Manner,
) -> anyhow::Result<Outcome> {
    let (id, seed) = (stored.header.id.clone(), stored.header.seed);
    terminal.say(&format!(
        "run {id}, seed {seed}: {} to find",
        if questions.len() == 1 { "1 load".to_owned() } else { format!("{} loads", questions.len()) }
    ));
    let mut ended = Ok(Ended::Complete);
    for question in questions {
        if let (TrialPlace::Modelled { volume, .. }, Some((_, target))) =
            (&mut place, modelled.iter().find(|(name, _)| *name == question.volume))
        {
            volume.clone_from(target);
        }
        let mut prober = Prober { place: &mut place, store: &mut run_store, run: &id, seed, observer: terminal };
        ended = answer(&mut prober, question, &stored.cells);
        if !matches!(ended, Ok(Ended::Complete)) {
            break;
        }
    }
    terminal.clear();
    if let TrialPlace::Measured { volumes: opened, .. } = place {
        open_volumes::close(opened, terminal);
    }
    let store = run_store.store()?;
    match &ended {
        Ok(Ended::Complete) => store.finish_with_what_there_is(&id)?,
        Ok(_) => store.set_status(&id, RunStatus::Interrupted)?,
        Err(_) => store.set_status(&id, RunStatus::Failed)?,
    }
    match ended {
        Ok(ended) => conclude(store, &id, ended, manner.format, &|_, _| Ok(())),
        // One load that cannot be tried takes nothing from what is known of the others.
        Err(error) => {
            let record = store.load(&id)?;
            if record.cells.iter().any(|cell| !cell.trials.is_empty()) {
                output::print(&printing::summary(&loadline_analysis::summarize(&record), manner.format))?;
            }
            Err(error.context(format!("run {id} ended early; what was finished is kept")))
        }
    }
}

/// Probes until the turn is known well enough.
fn answer(prober: &mut Prober<'_>, question: &Question, stored: &[CellRecord]) -> anyhow::Result<Ended> {
    let mut tried: Vec<Probed> = Vec::new();
    while let Some(load) = question.search.next_load(&tried) {
        let probe = probe(&question.volume, &with_amount(&question.spec, load), 0);
        let record = cell_record(&probe.cell);
        let known = stored.iter().find(|cell| cell.id == probe.cell.id);
        if known.is_none() {
            prober.store.store()?.add_cell(prober.run, &record)?;
        }
        let trial = match known.and_then(|cell| cell.trials.first()) {
            Some(trial) if trial.ending != Ending::Complete => {
                bail!("{}: its trial ended early and is kept, and no trial is run twice: begin anew", probe.label)
            }
            Some(trial) => Some(trial.clone()),
            None => prober.trial(&probe, 0, &format!("probe {}", tried.len() + 1))?,
        };
        let Some(trial) = trial else { return Ok(Ended::Interrupted) };
        let cell = CellRecord { trials: vec![trial], ..record };
        let Some(outcome) = Probed::of(&cell, load, question.figure) else {
            prober.observer.says(&Event::NothingCompleted { load: &probe.label });
            return Ok(Ended::Complete);
        };
        tried.push(outcome);
    }
    Ok(Ended::Complete)
}
