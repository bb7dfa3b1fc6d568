//! `--find-objective`: the deepest queue, or the highest rate of arrivals, that keeps the latency asked for, found with few
//! probes. Each probe is a trial of a cell of its own, stored like any other.

use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::run::{Manner, conclude};
use crate::terminal::Terminal;
use crate::{output, printing, run};
use anyhow::Context as _;
use loadline_analysis::SearchQuestion;
use loadline_catalog::Environment;
use loadline_prediction::Model;
use loadline_record::{Clock, PlanText, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts};
use loadline_runs::wall_clock::{UtcTime, run_id};
use loadline_runs::{
    Ended, Initially, PendingStore, Prober, RunStore, Settings, TrialPlace, Work, answer_question, open_volumes,
    read_again,
};
use std::path::PathBuf;

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

/// The questions that the loads ask.
fn questions(work: &Work) -> Result<Vec<SearchQuestion>, Usage> {
    let questions = SearchQuestion::all(work.cells.iter().map(|cell| (cell.volume.as_str(), &cell.spec)));
    if questions.is_empty() {
        return Err(Usage(
            "no load of the plan has an objective to find: write objective = { p99 = \"20 ms\" } in one".into(),
        ));
    }
    Ok(questions)
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
        verb: RunVerb::Search,
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
    questions: &[SearchQuestion],
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
    questions: &[SearchQuestion],
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
        ended = answer_question(&mut prober, question, &stored.cells);
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
            Err(anyhow::Error::from(error).context(format!("run {id} ended early; what was finished is kept")))
        }
    }
}
