//! `predict`: what plans would do on storage that is described rather than there.

use crate::arguments::{CachesName, Format, Hours, PredictArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::run::{conclude, conclude_search, read_plan};
use crate::terminal::Terminal;
use crate::typed_settings::named_targets;
use crate::{catalog, dry_run, environments, hunt, output};
use anyhow::bail;
use loadline_disk::Fullness;
use loadline_record::{Clock, RunStatus, RunVerb};
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{
    Course, Ended, NamedTarget, Overrides, PlanLength, Prediction, PredictionSettings, RunOutcome, RunStore,
    SearchedModel, Work, check_predictable, joined_names, prediction_settings_of, read_again, resume_modelled_search,
    resume_prediction, search_modelled,
};
use loadline_store::Store;
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
    let mut settings = settings_of(arguments);
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let typed = arguments.env.as_deref().expect("clap asks for an environment where nothing is resumed");
    let environment = environments::read(typed, &catalog::with_folder(settings.catalog.as_deref())?)?;
    let models = settings.models(&environment, seed);
    settings.volumes = chosen(arguments)?;
    settings.choose_volumes(&models[0]);
    let facts = settings.facts(&models[0])?;
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let plans: Vec<Plan> = arguments.plan.iter().map(|typed| read_plan(typed, length)).collect::<Result<_, _>>()?;
    let name = arguments.name.clone().unwrap_or_else(|| format!("{} on {}", joined_names(&plans), environment.name));
    let work = settings.work(plans.clone(), seed)?;
    let format = arguments.printing.format;
    if arguments.dry_run {
        dry_run::print(&work, None, format)?;
        return Ok(Outcome::Done);
    }
    check_predictable(&settings, &work, &models[0])?;
    if arguments.find_objective {
        let modelled = SearchedModel {
            environment: &environment,
            model: models[0].clone(),
            initially: settings.initially(),
            volumes: settings.pairs(),
            facts,
            told: settings.stored(),
        };
        let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
        return conclude_search(search_modelled(name, modelled, work, seed, store()?, &mut terminal), format);
    }
    if !quiet {
        for note in notes(&work) {
            output::tell(&note);
        }
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let prediction = Prediction::of(plans, environment, settings).named(name).seeded(seed).stored_in(store()?);
    conclude(&prediction.run(&mut terminal)?, format)
}

/// `predict --resume RUN`.
pub(crate) fn resume(typed: &str, format: Format, quiet: bool, store: Store) -> anyhow::Result<Outcome> {
    let id = store.resolve(typed)?;
    let claim = store.claim(&id)?;
    let stored = store.load(&id)?;
    if stored.header.clock != Clock::Virtual {
        return Err(Usage(format!("run {id} was measured: carry on with `loadline run --resume {id}`")).into());
    }
    if stored.status == RunStatus::Finished {
        output::tell(&format!("run {id} is finished: nothing is left to do"));
        return conclude(&RunOutcome { record: stored, ended: Ended::Complete }, format);
    }
    if stored.header.verb == RunVerb::Hunt {
        return hunt::resume(&stored, format, quiet, store, claim);
    }
    let settings = prediction_settings_of(&stored)?;
    let Some(text) = &stored.header.environment else {
        bail!("run {id} keeps no environment; predict it anew");
    };
    let environment =
        environments::parsed(&text.text, &text.name, &catalog::with_folder(settings.catalog.as_deref())?)?;
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    if stored.header.verb == RunVerb::Search {
        let seed = stored.header.seed;
        let plans = stored.header.plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()?;
        let outcome = resume_modelled_search(
            &stored,
            (settings.models(&environment, seed).remove(0), settings.initially()),
            &settings.pairs(),
            &settings.work(plans, seed)?,
            &mut terminal,
            RunStore::ready(store, claim),
        );
        return conclude_search(outcome, format);
    }
    conclude(&resume_prediction(store, claim, &stored, &environment, &mut terminal)?, format)
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
