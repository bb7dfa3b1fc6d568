//! `predict`: what plans would do on storage that is described rather than there.

use crate::arguments::{CachesName, Format, Hours, PredictArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::run::{Manner, conclude, joined_names, read_plan};
use crate::search::{self, Modelled};
use crate::terminal::Terminal;
use crate::typed_settings::named_targets;
use crate::{catalog, dry_run, environments, hunt, output};
use anyhow::{Context as _, bail};
use loadline_catalog::Environment;
use loadline_disk::Fullness;
use loadline_prediction::{Model, volume_facts, volume_names};
use loadline_record::{Clock, PlanText, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts};
use loadline_runs::wall_clock::{UtcTime, fresh_seed, run_id};
use loadline_runs::{
    Course, Ended, Error, Event, ModelledTrials, NamedTarget, Observer, Overrides, PendingStore, PlanLength,
    PredictionSettings, Refusal, RunStore, Work, label, read_again,
};
use loadline_store::Store;
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan};
use std::collections::BTreeSet;
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
    settings.volumes = chosen(arguments, &models[0])?;
    let facts = facts(&settings, &models[0])?;
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let plans: Vec<Plan> = arguments.plan.iter().map(|typed| read_plan(typed, length)).collect::<Result<_, _>>()?;
    let name = arguments.name.clone().unwrap_or_else(|| format!("{} on {}", joined_names(&plans), environment.name));
    let work = settings.work(plans, seed)?;
    if arguments.dry_run {
        dry_run::print(&work, None, arguments.printing.format)?;
        return Ok(Outcome::Done);
    }
    check(&settings, &work, &models[0])?;
    if arguments.find_objective {
        let manner = Manner { quiet, format: arguments.printing.format };
        let told = serde_json::to_value(&settings).context("settings are plain data")?;
        let modelled = Modelled {
            environment: &environment,
            model: models[0].clone(),
            initially: settings.initially(),
            volumes: settings.pairs(),
            facts,
            told,
        };
        return search::modelled(name, modelled, work, seed, store()?, &manner);
    }
    if !quiet {
        for note in notes(&work) {
            output::tell(&note);
        }
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let opening = PendingStore::start(store()?, |_| Vec::new());
    let id = run_id(UtcTime::now());
    let header = RunHeader {
        id: id.clone(),
        name,
        verb: RunVerb::Predict,
        clock: Clock::Virtual,
        started: UtcTime::now().rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed,
        imported: None,
        host: loadline_kernel::facts::host(),
        plans: work.plans.clone(),
        environment: Some(PlanText {
            name: environment.name.clone(),
            text: environment.text.clone(),
            hash: environment.hash(),
        }),
        volumes: facts,
        settings: serde_json::to_value(&settings).context("settings are plain data")?,
    };
    let mut run_store = opening.begin(header, work.records())?;
    let trials = ModelledTrials { run: &id, seed, settings: &settings, work: &work, models: &models };
    let ended = execute(trials, &mut run_store, &BTreeSet::new(), &mut terminal)?;
    conclude(run_store.store()?, &id, ended, arguments.printing.format, &|_, _| Ok(()))
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
        return conclude(&store, &id, Ended::Complete, format, &|_, _| Ok(()));
    }
    if stored.header.verb == RunVerb::Hunt {
        return hunt::resume(&stored, format, quiet, store, claim);
    }
    let (settings, environment) = told(&stored)?;
    let seed = stored.header.seed;
    let models = settings.models(&environment, seed);
    let plans = stored.header.plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()?;
    let work = settings.work(plans, seed)?;
    if stored.header.verb == RunVerb::Search {
        let volumes = settings.pairs();
        let manner = Manner { quiet, format };
        return search::resume_modelled(
            &stored,
            (models[0].clone(), settings.initially()),
            &volumes,
            &work,
            &manner,
            RunStore::ready(store, claim),
        );
    }
    if !work.cells.iter().map(|cell| &cell.id).eq(stored.cells.iter().map(|cell| &cell.id)) {
        let version = &stored.header.version;
        bail!("this version of loadline reads the plan of run {id} otherwise than version {version}; predict it anew");
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let finished = store.finished_trials(&id)?;
    let mut run_store = RunStore::ready(store, claim);
    let trials = ModelledTrials { run: &id, seed, settings: &settings, work: &work, models: &models };
    let ended = execute(trials, &mut run_store, &finished, &mut terminal)?;
    conclude(run_store.store()?, &id, ended, format, &|_, _| Ok(()))
}

/// What a stored prediction was told beside its plans.
fn told(stored: &RunRecord) -> anyhow::Result<(PredictionSettings, Environment)> {
    let settings: PredictionSettings = serde_json::from_value(stored.header.settings.clone()).with_context(|| {
        format!("the settings of run {} are not of this version of loadline; predict it anew", stored.header.id)
    })?;
    let Some(text) = &stored.header.environment else {
        bail!("run {} keeps no environment; predict it anew", stored.header.id);
    };
    let catalog = catalog::with_folder(settings.catalog.as_deref())?;
    let environment = environments::parsed(&text.text, &text.name, &catalog)?;
    Ok((settings, environment))
}

/// Predicts what is left and stores how it ended, also when it ends with an error.
fn execute(
    trials: ModelledTrials<'_>,
    run_store: &mut RunStore,
    finished: &BTreeSet<(String, u32)>,
    observer: &mut dyn Observer,
) -> Result<Ended, Error> {
    let run = trials.run;
    let result = trials.run(run_store, finished, observer);
    observer.says(&Event::Idle);
    let status = Ended::status(&result);
    let stored = run_store.store().and_then(|store| Ok(store.set_status(run, status)?));
    match result {
        Ok(ended) => stored.map(|()| ended),
        Err(error) => Err(Error::RunEndedEarly { run: run.to_owned(), source: Box::new(error) }),
    }
}

/// The volumes asked for, or all.
fn chosen(arguments: &PredictArguments, model: &Model) -> Result<Vec<NamedTarget>, Usage> {
    if !arguments.on.is_empty() {
        return named_targets(&arguments.on);
    }
    let names = if arguments.volume.is_empty() { volume_names(model) } else { arguments.volume.clone() };
    let mut chosen: Vec<NamedTarget> = Vec::new();
    for name in names {
        if chosen.iter().any(|known| known.volume == name) {
            return Err(Usage(format!("--volume {name} is given twice")));
        }
        chosen.push(NamedTarget { volume: name.clone(), target: name });
    }
    Ok(chosen)
}

fn facts(settings: &PredictionSettings, model: &Model) -> Result<Vec<VolumeFacts>, Refusal> {
    let one = |named: &NamedTarget| volume_facts(model, &named.target, &named.volume);
    settings.volumes.iter().map(|named| one(named).map_err(Refusal::NoSuchVolume)).collect()
}

/// Finds loads that cannot be predicted before anything begins.
fn check(settings: &PredictionSettings, work: &Work, model: &Model) -> Result<(), Refusal> {
    for cell in &work.cells {
        loadline_prediction::check(model, settings.volume(&cell.volume), &cell.spec)
            .map_err(|source| Refusal::NotModelled { load: label(&cell.spec), volume: cell.volume.clone(), source })?;
    }
    Ok(())
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
