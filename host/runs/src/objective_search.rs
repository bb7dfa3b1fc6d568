//! Searches: the deepest queue, or the highest rate of arrivals, that keeps the latency asked for.
//!
//! Few probes are needed. Each is a trial of a cell of its own, stored like any other.

use crate::prediction::stored_environment;
use crate::trial_place::{Initially, Prober, TrialPlace};
use crate::{
    Ahead, Ended, Error, Event, NewRun, Observer, PendingStore, Refusal, RunOutcome, RunStore, Settings, Work,
    answer_question, leftovers, open_volumes, read_again, refuse_cells, settings_of,
};
use loadline_analysis::SearchQuestion;
use loadline_catalog::Environment;
use loadline_prediction::Model;
use loadline_record::{Clock, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts};
use std::path::PathBuf;

/// An environment to be searched on.
pub struct SearchedModel<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// Its most plausible model.
    pub model: Model,
    /// How its storage is when a load begins.
    pub initially: Initially,
    /// Names in the results, each with the volume of the environment.
    pub volumes: Vec<(String, String)>,
    /// What is stored of them.
    pub facts: Vec<VolumeFacts>,
    /// What the search was told, for `--resume`.
    pub told: serde_json::Value,
}

/// The questions that the loads ask.
fn questions(work: &Work) -> Result<Vec<SearchQuestion>, Refusal> {
    let questions = SearchQuestion::all(work.cells.iter().map(|cell| (cell.volume.as_str(), &cell.spec)));
    if questions.is_empty() {
        return Err(Refusal::NoObjective);
    }
    Ok(questions)
}

/// Searches on what stands on this machine.
///
/// # Errors
/// A [`Refusal`] before anything is stored; a load that cannot be tried, with what is known so far; the store.
pub fn search_measured(
    name: String,
    settings: Settings,
    work: Work,
    seed: u64,
    store: PathBuf,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let questions = questions(&work)?;
    let new = NewRun::now(name, RunVerb::Search, Clock::Real, Some(seed));
    let mut opened = open_volumes::open(&work, &settings, &new.id, &[], observer)?;
    refuse_cells(&work, &settings, &opened)?;
    if settings.keep {
        open_volumes::keep(&mut opened);
    }
    let header = RunHeader {
        plans: work.plans,
        volumes: settings.targets.iter().map(|t| opened[&t.volume].facts()).collect(),
        settings: settings.standing().stored(),
        ..new.header()
    };
    let place = TrialPlace::Measured { settings: Box::new(settings), volumes: opened };
    begin(header, place, &questions, &[], store, observer)
}

/// `run --resume RUN` of a search: its probes are taken as they are, and the others run.
///
/// # Errors
/// A [`Refusal`] before anything is stored; a load that cannot be tried, with what is known so far; the store.
pub fn resume_search(
    stored: &RunRecord,
    run_store: RunStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let RunHeader { id, plans, seed, .. } = &stored.header;
    let settings = settings_of(stored)?;
    let plans = plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()?;
    let work = Work::of(plans, &settings.scope(), *seed)?;
    let questions = questions(&work)?;
    leftovers::remove_of_run(id, &settings, observer)?;
    let mut opened = open_volumes::open(&work, &settings, id, &stored.header.volumes, observer)?;
    if settings.keep {
        open_volumes::keep(&mut opened);
    }
    let place = TrialPlace::Measured { settings: Box::new(settings), volumes: opened };
    carry_on(stored, place, &questions, &[], run_store, observer)
}

/// `predict --resume RUN` of a search.
///
/// # Errors
/// A [`Refusal`] before anything is stored; a load that cannot be tried, with what is known so far; the store.
pub fn resume_modelled_search(
    stored: &RunRecord,
    (model, initially): (Model, Initially),
    volumes: &[(String, String)],
    work: &Work,
    observer: &mut dyn Observer,
    run_store: RunStore,
) -> Result<RunOutcome, Error> {
    let questions = questions(work)?;
    let place = TrialPlace::Modelled { models: vec![model], volume: String::new(), initially };
    carry_on(stored, place, &questions, volumes, run_store, observer)
}

/// Searches on the most plausible model of an environment.
///
/// # Errors
/// A [`Refusal`] before anything is stored; a load that cannot be tried, with what is known so far; the store.
pub fn search_modelled(
    name: String,
    modelled: SearchedModel<'_>,
    work: Work,
    seed: u64,
    store: PathBuf,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let questions = questions(&work)?;
    let SearchedModel { environment, model, initially, volumes, facts, told } = modelled;
    let header = RunHeader {
        plans: work.plans,
        environment: Some(stored_environment(environment)),
        volumes: facts,
        settings: told,
        ..NewRun::now(name, RunVerb::Search, Clock::Virtual, Some(seed)).header()
    };
    let place = TrialPlace::Modelled { models: vec![model], volume: String::new(), initially };
    begin(header, place, &questions, &volumes, store, observer)
}

fn begin(
    header: RunHeader,
    place: TrialPlace,
    questions: &[SearchQuestion],
    modelled: &[(String, String)],
    store: PathBuf,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let run_store = PendingStore::start(store, |_| Vec::new()).begin(header.clone(), Vec::new())?;
    let nothing = RunRecord { header, status: RunStatus::Unfinished, cells: Vec::new() };
    carry_on(&nothing, place, questions, modelled, run_store, observer)
}

/// Probes what is not in `stored` yet: where the next probe goes follows from those before it, so the way is the same.
fn carry_on(
    stored: &RunRecord,
    mut place: TrialPlace,
    questions: &[SearchQuestion],
    modelled: &[(String, String)],
    mut run_store: RunStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let (id, seed) = (stored.header.id.clone(), stored.header.seed);
    let ahead = Ahead::Searched { loads: questions.len() };
    observer.says(&Event::RunBegins { run: &id, seed, ahead });
    let mut ended = Ok(Ended::Complete);
    for question in questions {
        if let (TrialPlace::Modelled { volume, .. }, Some((_, target))) =
            (&mut place, modelled.iter().find(|(name, _)| *name == question.volume))
        {
            volume.clone_from(target);
        }
        let mut prober = Prober { place: &mut place, store: &mut run_store, run: &id, seed, observer };
        ended = answer_question(&mut prober, question, &stored.cells);
        if !matches!(ended, Ok(Ended::Complete)) {
            break;
        }
    }
    observer.says(&Event::Idle);
    if let TrialPlace::Measured { volumes: opened, .. } = place {
        open_volumes::close(opened, observer);
    }
    let store = run_store.store()?;
    match &ended {
        Ok(Ended::Complete) => store.finish_with_what_there_is(&id)?,
        Ok(_) => store.set_status(&id, RunStatus::Interrupted)?,
        Err(_) => store.set_status(&id, RunStatus::Failed)?,
    }
    let record = store.load(&id)?;
    match ended {
        Ok(ended) => Ok(RunOutcome { record, ended }),
        // One load that cannot be tried takes nothing from what is known of the others.
        Err(error) => Err(Error::SearchEndedEarly { record: Box::new(record), source: Box::new(error) }),
    }
}
