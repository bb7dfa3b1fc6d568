//! Predictions: plans on a described storage in virtual time, begun or resumed.

use crate::{
    Error, Event, ModelledTrials, NewRun, Observer, PendingStore, PredictionSettings, Refusal, RunOutcome, RunStore,
    Work, joined_names, label, read_again, store_location,
};
use loadline_catalog::Environment;
use loadline_prediction::Model;
use loadline_record::{Clock, PlanText, RunHeader, RunRecord, RunVerb};
use loadline_store::{Claim, Store};
use loadline_workload::Plan;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Plans that are to be predicted on an environment.
#[derive(Debug)]
pub struct Prediction {
    plans: Vec<Plan>,
    environment: Environment,
    settings: PredictionSettings,
    name: Option<String>,
    seed: Option<u64>,
    store: Option<PathBuf>,
}

impl Prediction {
    /// Of one plan, on each volume of the environment.
    #[must_use]
    pub fn new(plan: Plan, environment: Environment) -> Self {
        Self::of(vec![plan], environment, PredictionSettings::default())
    }

    /// Of plans, with settings made elsewhere.
    #[must_use]
    pub const fn of(plans: Vec<Plan>, environment: Environment, settings: PredictionSettings) -> Self {
        Self { plans, environment, settings, name: None, seed: None, store: None }
    }

    /// Calls the run so. By default it has the names of the plans and of the environment.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes every random choice by this seed. By default one is drawn.
    #[must_use]
    pub const fn seeded(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Keeps the run in this store, which is made where it is missing. By default it is the user's.
    #[must_use]
    pub fn stored_in(mut self, store: impl Into<PathBuf>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// Predicts every trial, on all processors.
    ///
    /// # Errors
    /// A [`Refusal`] before anything was stored; the store; what ended the run early.
    pub fn run(self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let Self { plans, environment, mut settings, name, seed, store } = self;
        let name = name.unwrap_or_else(|| format!("{} on {}", joined_names(&plans), environment.name));
        let new = NewRun::now(name, RunVerb::Predict, Clock::Virtual, seed);
        let models = settings.models(&environment, new.seed);
        settings.choose_volumes(&models[0]);
        let volumes = settings.facts(&models[0])?;
        let work = settings.work(plans, new.seed)?;
        check_predictable(&settings, &work, &models[0])?;
        let path = store.map_or_else(|| store_location::store_path(None), Ok)?;
        let header = RunHeader {
            plans: work.plans.clone(),
            environment: Some(stored_environment(&environment)),
            volumes,
            settings: settings.stored(),
            ..new.header()
        };
        let store = PendingStore::start(path, |_| Vec::new()).begin(header, work.records())?;
        let trials = ModelledTrials { run: &new.id, seed: new.seed, settings: &settings, work: &work, models: &models };
        execute(trials, store, &BTreeSet::new(), observer)
    }
}

/// Resumes a prediction on its environment, which the caller has read once more.
///
/// # Errors
/// A run of another version; the store; what ended the run early.
pub fn resume_prediction(
    store: Store,
    claim: Claim,
    stored: &RunRecord,
    environment: &Environment,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let RunHeader { id, seed, plans, .. } = &stored.header;
    let settings = prediction_settings_of(stored)?;
    let models = settings.models(environment, *seed);
    let plans = plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()?;
    let work = settings.work(plans, *seed)?;
    work.check_against(stored, "predict")?;
    let finished = store.finished_trials(id)?;
    let trials = ModelledTrials { run: id, seed: *seed, settings: &settings, work: &work, models: &models };
    execute(trials, RunStore::ready(store, claim), &finished, observer)
}

/// The settings of a stored prediction.
///
/// # Errors
/// Settings of another version.
pub fn prediction_settings_of(stored: &RunRecord) -> Result<PredictionSettings, Error> {
    let run = || stored.header.id.clone();
    serde_json::from_value(stored.header.settings.clone()).map_err(|source| Error::OtherSettings {
        run: run(),
        again: "predict",
        source,
    })
}

/// Predicts what is left and stores how it ended, also when it ends with an error.
fn execute(
    trials: ModelledTrials<'_>,
    mut store: RunStore,
    finished: &BTreeSet<(String, u32)>,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let run = trials.run;
    let result = trials.run(&mut store, finished, observer);
    observer.says(&Event::Idle);
    store.conclude(run, result)
}

/// Finds loads that cannot be predicted before anything begins.
///
/// # Errors
/// [`Refusal::NotModelled`], which names the first.
pub fn check_predictable(settings: &PredictionSettings, work: &Work, model: &Model) -> Result<(), Refusal> {
    for cell in &work.cells {
        loadline_prediction::check(model, settings.volume(&cell.volume), &cell.spec)
            .map_err(|source| Refusal::NotModelled { load: label(&cell.spec), volume: cell.volume.clone(), source })?;
    }
    Ok(())
}

/// An environment as a run keeps it.
#[must_use]
pub fn stored_environment(environment: &Environment) -> PlanText {
    PlanText { name: environment.name.clone(), text: environment.text.clone(), hash: environment.hash() }
}
