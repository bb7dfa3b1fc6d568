//! Searches: the deepest queue, or the highest rate of arrivals, that keeps the latency asked for.
//!
//! Few probes are needed. Each is a trial of a cell of its own, stored like any other.

use crate::{
    Ahead, DeclaredEnvironment, Ended, Error, Event, MeasuredPlace, ModelledPlace, Observer, PendingStore, PlannedCell,
    PredictionSettings, Refusal, RunOptions, RunOutcome, RunStore, RunUnderWay, Settings, TrialPlace, TrialsPlanned,
    Work, answer_question, check_predictable, environment_again, joined_names, keep::leftovers, open_volumes, placed,
    plans_again, prediction_settings_of, refuse_cells, settings_of, stored_environment,
};
use loadline_analysis::SearchQuestion;
use loadline_catalog::Environment;
use loadline_record::{Clock, RunHeader, RunRecord, RunStatus, RunVerb};
use loadline_workload::Plan;

/// Plans whose loads with an objective are to be searched for the turn.
#[derive(Debug)]
pub struct ObjectiveSearch {
    plans: Vec<Plan>,
    on: SearchStorage,
}

/// On what is searched.
#[derive(Debug)]
enum SearchStorage {
    Measured { settings: Settings, declared: Option<Box<DeclaredEnvironment>> },
    Modelled { environment: Box<Environment>, settings: PredictionSettings },
}

impl ObjectiveSearch {
    /// On targets. What is declared of the storage says where its volumes are.
    #[must_use]
    pub fn measured(plans: Vec<Plan>, settings: Settings, declared: Option<DeclaredEnvironment>) -> Self {
        Self { plans, on: SearchStorage::Measured { settings, declared: declared.map(Box::new) } }
    }

    /// On the models of an environment: on the most plausible one, then on the others with what that one keeps.
    #[must_use]
    pub fn modelled(plans: Vec<Plan>, environment: Environment, settings: PredictionSettings) -> Self {
        Self { plans, on: SearchStorage::Modelled { environment: Box::new(environment), settings } }
    }

    /// Searches.
    ///
    /// # Errors
    /// A [`Refusal`] before anything is stored; a load that cannot be tried, with what is known so far; the store.
    pub fn run(self, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let Self { plans, on } = self;
        match on {
            SearchStorage::Measured { settings, declared } => {
                let settings = placed(settings, declared.as_deref())?;
                let new = options.new_run(|| joined_names(&plans), RunVerb::Search, Clock::Real);
                let work = Work::of(plans, &settings.scope(), new.seed)?;
                for load in &work.left_out {
                    observer.event(&Event::LeftOut { load });
                }
                let questions = questions(&work)?;
                let mut store = PendingStore::start(options.store_path()?, |_| Vec::new());
                let mut opened = open_volumes::open(&work, &settings, &new.id, &[], observer)?;
                store.prove()?;
                open_volumes::look_at_use(&opened, &work, observer)?;
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
                let mut place = MeasuredPlace::new(settings, opened, new.seed);
                begin(header, &mut place, &Asked { questions, draws: 1 }, store, observer)
            }
            SearchStorage::Modelled { environment, mut settings } => {
                let name = || format!("{} on {}", joined_names(&plans), environment.name);
                let new = options.new_run(name, RunVerb::Search, Clock::Virtual);
                let models = settings.models(&environment, new.seed);
                settings.choose_volumes(&models[0]);
                let volumes = settings.facts(&models[0])?;
                let work = settings.work(plans, new.seed)?;
                check_predictable(&settings, &work, &models[0])?;
                let questions = questions(&work)?;
                let header = RunHeader {
                    plans: work.plans,
                    environment: Some(stored_environment(&environment)),
                    volumes,
                    settings: settings.stored(),
                    ..new.header()
                };
                let place = ModelledPlace::new(&models, new.seed, settings.initially());
                let store = PendingStore::start(options.store_path()?, |_| Vec::new());
                let asked = Asked { questions, draws: models.len() as u32 };
                begin(header, &mut place.with_volumes(&settings.volumes), &asked, store, observer)
            }
        }
    }
}

/// What is searched for.
struct Asked {
    questions: Vec<SearchQuestion>,
    /// Draws of a model; 1 of real storage.
    draws: u32,
}

/// The questions that the loads ask.
fn questions(work: &Work) -> Result<Vec<SearchQuestion>, Refusal> {
    if work.is_any_together() {
        return Err(Refusal::RunsTogether { what: "a search" });
    }
    let questions = SearchQuestion::all(work.cells.iter().map(|cell| (cell.volume.as_str(), &cell.spec)));
    if questions.is_empty() {
        return Err(Refusal::NoObjective);
    }
    Ok(questions)
}

/// Resumes a search: its probes are taken as they are, and the others run.
pub(crate) fn resume(stored: &RunRecord, store: RunStore, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
    let RunHeader { id, seed, clock, volumes, .. } = &stored.header;
    match clock {
        Clock::Real => {
            let settings = settings_of(stored)?;
            let work = Work::of(plans_again(stored)?, &settings.scope(), *seed)?;
            let questions = questions(&work)?;
            leftovers::remove_of_run(id, &settings, observer)?;
            let mut opened = open_volumes::open(&work, &settings, id, volumes, observer)?;
            if settings.keep {
                open_volumes::keep(&mut opened);
            }
            let asked = Asked { questions, draws: 1 };
            carry_on(stored, &mut MeasuredPlace::new(settings, opened, *seed), &asked, store, observer)
        }
        Clock::Virtual => {
            let settings = prediction_settings_of(stored)?;
            let environment = environment_again(stored, settings.catalog.as_deref())?;
            let models = settings.models(&environment, *seed);
            let questions = questions(&settings.work(plans_again(stored)?, *seed)?)?;
            let place = ModelledPlace::new(&models, *seed, settings.initially());
            let asked = Asked { questions, draws: models.len() as u32 };
            carry_on(stored, &mut place.with_volumes(&settings.volumes), &asked, store, observer)
        }
    }
}

fn begin(
    header: RunHeader,
    place: &mut dyn TrialPlace<Cell = PlannedCell>,
    asked: &Asked,
    store: PendingStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let store = store.begin(header.clone(), Vec::new())?;
    let nothing = RunRecord { header, status: RunStatus::Unfinished, cells: Vec::new() };
    carry_on(&nothing, place, asked, store, observer)
}

/// Probes what is not in `stored` yet: where the next probe goes follows from those before it, so the way is the same.
fn carry_on(
    stored: &RunRecord,
    place: &mut dyn TrialPlace<Cell = PlannedCell>,
    asked: &Asked,
    store: RunStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let RunHeader { id, seed, .. } = &stored.header;
    let ahead = Ahead::Searched { loads: asked.questions.len() };
    let under_way = RunUnderWay { run: id, seed: *seed, ahead, planned: TrialsPlanned::AtMost };
    under_way.carry_out(place, store, observer, |trials| {
        for question in &asked.questions {
            let ended = answer_question(trials, question, asked.draws, &stored.cells)?;
            if !ended.is_complete() {
                return Ok(ended);
            }
        }
        Ok(Ended::Complete)
    })
}
