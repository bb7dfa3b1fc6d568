//! Predictions: plans on a described storage in virtual time, begun or resumed.

use crate::{
    Ahead, Error, ModelledPlace, Observer, PendingStore, PlannedCell, PredictionSettings, Refusal, RunOptions,
    RunOutcome, RunStore, RunUnderWay, TrialRound, TrialsPlanned, Work, environment_again, joined_names, label,
    plans_again, stored_environment,
};
use loadline_catalog::Environment;
use loadline_prediction::Model;
use loadline_record::{Clock, RunHeader, RunRecord, RunVerb};
use loadline_workload::Plan;
use std::collections::BTreeSet;

/// Plans that are to be predicted on an environment.
#[derive(Debug)]
pub struct Prediction {
    plans: Vec<Plan>,
    environment: Environment,
    settings: PredictionSettings,
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
        Self { plans, environment, settings }
    }

    /// Predicts every trial, on all processors.
    ///
    /// # Errors
    /// A [`Refusal`] before anything was stored; the store; what ended the run early.
    pub fn run(self, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let Self { plans, environment, mut settings } = self;
        let name = || format!("{} on {}", joined_names(&plans), environment.name);
        let new = options.new_run(name, RunVerb::Predict, Clock::Virtual);
        let models = settings.models(&environment, new.seed);
        settings.choose_volumes(&models[0]);
        let volumes = settings.facts(&models[0])?;
        let work = settings.work(plans, new.seed)?;
        check_predictable(&settings, &work, &models[0])?;
        let header = RunHeader {
            plans: work.plans.clone(),
            environment: Some(stored_environment(&environment)),
            volumes,
            settings: settings.stored(),
            ..new.header()
        };
        let store = PendingStore::start(options.store_path()?, |_| Vec::new()).begin(header, work.records())?;
        let run = PredictedRun { run: &new.id, seed: new.seed, settings: &settings, work: &work, models: &models };
        run.carry_out(store, &BTreeSet::new(), observer)
    }
}

/// Resumes a prediction on its environment.
pub(crate) fn resume(
    stored: &RunRecord,
    mut store: RunStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let RunHeader { id, seed, .. } = &stored.header;
    let settings = prediction_settings_of(stored)?;
    let environment = environment_again(stored, settings.catalog.as_deref())?;
    let models = settings.models(&environment, *seed);
    let work = settings.work(plans_again(stored)?, *seed)?;
    work.check_against(stored, "predict")?;
    let finished = store.store()?.finished_trials(id)?;
    let run = PredictedRun { run: id, seed: *seed, settings: &settings, work: &work, models: &models };
    run.carry_out(store, &finished, observer)
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

/// A prediction that stands in the store.
struct PredictedRun<'a> {
    run: &'a str,
    seed: u64,
    settings: &'a PredictionSettings,
    work: &'a Work,
    /// The plausible environments, the middle first.
    models: &'a [Model],
}

impl PredictedRun<'_> {
    /// Carries out what is not `finished`.
    fn carry_out(
        self,
        store: RunStore,
        finished: &BTreeSet<(String, u32)>,
        observer: &mut dyn Observer,
    ) -> Result<RunOutcome, Error> {
        let Self { run, seed, settings, work, models } = self;
        let cells: Vec<PlannedCell> = work.planned_cells();
        let schedule = settings.schedule(work, &cells, finished);
        let time = schedule.rounds().map(TrialRound::time).sum();
        let ahead = Ahead::Modelled { trials: schedule.trials(), time };
        let mut place = ModelledPlace::new(models, seed, settings.initially())
            .with_volumes(&settings.volumes)
            .with_course(settings.course);
        let under_way = RunUnderWay { run, seed, ahead, planned: TrialsPlanned::All };
        under_way.carry_out(&mut place, store, observer, |trials| trials.run(&schedule))
    }
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
