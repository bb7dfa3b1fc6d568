//! `predict`: what plans would do on storage that is described rather than there.

use crate::arguments::{CachesName, Hours, PredictArguments};
use crate::conclusion::{conclude, conclude_search};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::terminal::Terminal;
use crate::typed_plan::read_plans;
use crate::typed_settings::named_targets;
use crate::{dry_run, environments, output};
use loadline_catalog::Environment;
use loadline_disk::Fullness;
use loadline_prediction::Model;
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{
    Course, NamedTarget, ObjectiveSearch, Overrides, PlanLength, Prediction, PredictionSettings, RunOptions, Work,
    catalog_with, check_predictable,
};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan};
use std::path::PathBuf;

/// The settings that were typed.
fn settings_of(arguments: &PredictArguments) -> PredictionSettings {
    let modelling = &arguments.modelling;
    let hours = arguments.hours.map(|Hours(time)| time);
    let overrides = Overrides {
        trials: None,
        duration: hours.or(arguments.duration),
        warm_up: hours.map(|_| Duration::ZERO).or(arguments.warm_up),
        size: arguments.size,
        short: arguments.short,
        objective: arguments.objective,
    };
    PredictionSettings {
        volumes: Vec::new(),
        catalog: modelling.own.catalog.clone(),
        draws: if modelling.carry { 1 } else { modelling.draws },
        published: modelling.published,
        bursts_empty: modelling.bursts.disks == Fullness::Empty,
        vm_bursts_empty: Some(modelling.bursts.vm == Fullness::Empty)
            .filter(|_| modelling.bursts.vm != modelling.bursts.disks),
        caches_warm: modelling.caches.map(|caches| caches == CachesName::Warm),
        course: match (modelling.carry, arguments.together) {
            (true, _) => Course::Carried,
            (false, true) => Course::Together,
            (false, false) => Course::Apart,
        },
        trials: arguments.trials,
        overrides,
    }
}

/// `predict PLAN... --env FILE`, not resumed.
pub(crate) fn predict(
    arguments: &PredictArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let format = arguments.printing.format;
    let Typed { plans, environment, settings, models, seed } = typed(arguments)?;
    let work = settings.work(plans.clone(), seed)?;
    if arguments.dry_run {
        dry_run::print(&work, None, format)?;
        return Ok(Outcome::Done);
    }
    check_predictable(&settings, &work, &models[0])?;
    let options = RunOptions { name: arguments.name.clone(), seed: Some(seed), store: Some(store()?) };
    if arguments.find_objective {
        let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
        let search = ObjectiveSearch::modelled(plans, environment, settings);
        return conclude_search(search.run(&options, &mut terminal), format);
    }
    if !quiet {
        for note in notes(&work) {
            output::tell(&note);
        }
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let prediction = Prediction::of(plans, environment, settings);
    conclude(&prediction.run(&options, &mut terminal)?, format)
}

/// What `predict` was told to predict.
struct Typed {
    plans: Vec<Plan>,
    environment: Environment,
    settings: PredictionSettings,
    models: Vec<Model>,
    seed: u64,
}

fn typed(arguments: &PredictArguments) -> anyhow::Result<Typed> {
    let mut settings = settings_of(arguments);
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let typed = arguments.env.as_deref().expect("clap asks for an environment where nothing is resumed");
    let environment = environments::read(typed, &catalog_with(settings.catalog.as_deref())?)?;
    settings.volumes = chosen(arguments)?;
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let models = settings.models(&environment, seed);
    settings.choose_volumes(&models[0]);
    settings.facts(&models[0])?;
    let (plans, _) = read_plans(&arguments.plan, length)?;
    Ok(Typed { plans, environment, settings, models, seed })
}

/// The prediction that was typed, for a caller that follows it itself.
pub(crate) fn prepared(
    arguments: &PredictArguments,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(Prediction, RunOptions)> {
    let Typed { plans, environment, settings, seed, .. } = typed(arguments)?;
    let options = RunOptions { name: arguments.name.clone(), seed: Some(seed), store: Some(store()?) };
    Ok((Prediction::of(plans, environment, settings), options))
}

/// The volumes asked for; none where all are meant.
fn chosen(arguments: &PredictArguments) -> Result<Vec<NamedTarget>, Usage> {
    if !arguments.on.is_empty() {
        return named_targets(&arguments.on);
    }
    let mut chosen: Vec<NamedTarget> = Vec::new();
    for name in &arguments.volume {
        if chosen.iter().any(|known| known.volume == *name) {
            return Err(Usage(format!("--volume {name} is given twice")));
        }
        chosen.push(NamedTarget { volume: name.clone(), target: name.clone() });
    }
    Ok(chosen)
}

/// What of the plans means something else here than on a real disk.
fn notes(work: &Work) -> Vec<String> {
    let mut notes = Vec::new();
    let any = |test: fn(&LoadSpec) -> bool| work.cells.iter().any(|cell| test(&cell.spec));
    if any(|spec| spec.verify) {
        notes.push("verify: a model keeps no data, so nothing is read back".to_owned());
    }
    if any(|spec| spec.drop_caches) {
        notes.push("drop_caches: the operating system's caches are not modelled, so there are none to drop".to_owned());
    }
    notes
}
