//! `predict`: what plans would do on storage that is described rather than there.

use crate::arguments::{CachesName, Format, Hours, PredictArguments};
use crate::books::{Books, Opening};
use crate::execution::Ended;
use crate::failure::{Outcome, Usage};
use crate::forecast::Forecast;
use crate::interruption::Interruption;
use crate::live::Live;
use crate::moment::{self, Moment};
use crate::preparation::{Length, Scope, Work, label, read_again, read_plan};
use crate::probing::Initially;
use crate::run::{Manner, conclude, joined_names};
use crate::search::{self, Modelled};
use crate::settings::{NamedTarget, Overrides, named_targets};
use crate::{catalog, dry_run, environments, hunt, output};
use anyhow::{Context as _, bail};
use loadline_analysis::statistics::SERIES_MIN;
use loadline_catalog::Environment;
use loadline_disk::{Fullness, Warmth};
use loadline_prediction::{Limits, Model, models, volume_facts, volume_names};
use loadline_record::{Clock, PlanText, RunHeader, RunRecord, RunStatus, VolumeFacts};
use loadline_store::Store;
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan, TRIALS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The seconds of a single trial tell how well its figures are known from so long a measurement on.
const TELLS_BY_SECONDS: Duration = Duration::from_s(SERIES_MIN as u64);

/// Everything that a prediction's command line decided, apart from its plans, its environment and its seed, which the header
/// keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Names in the results, each with the volume of the environment.
    volumes: Vec<NamedTarget>,
    /// A folder of catalog files beside the catalog that comes along.
    catalog: Option<PathBuf>,
    /// Environments drawn.
    draws: u32,
    /// Limits as they are published.
    published: bool,
    /// Buckets of credits are empty.
    bursts_empty: bool,
    /// Those of the virtual machine are; `None`: as the others.
    #[serde(default)]
    vm_bursts_empty: Option<bool>,
    /// Caches are warm, or cold, whatever the load.
    caches_warm: Option<bool>,
    /// What trials have to do with one another.
    course: Course,
    /// Trials of each cell at least.
    trials: Option<u32>,
    /// What replaces the plans' own values.
    overrides: Overrides,
}

/// What the trials of a prediction have to do with one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Course {
    /// Nothing: each begins with the storage as new.
    Apart,
    /// Each trial of a cell goes on where the one before it left the storage.
    Carried,
    /// Those at the same place on all volumes run at the same time.
    Together,
}

impl Settings {
    fn of(arguments: &PredictArguments) -> Self {
        let modelling = &arguments.modelling;
        let hours = arguments.hours.map(|Hours(time)| time);
        let overrides = Overrides {
            trials: None,
            duration: hours.or(arguments.duration),
            warm_up: hours.map(|_| Duration::ZERO).or(arguments.warm_up),
            size: arguments.size,
            short: arguments.short,
        };
        Self {
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

    fn models(&self, environment: &Environment, seed: u64) -> Vec<Model> {
        let limits = if self.published { Limits::Published } else { Limits::Delivered };
        models(environment, self.draws, seed, limits)
    }

    fn work(&self, plans: Vec<Plan>, seed: u64) -> Result<Work, Usage> {
        let volumes: Vec<String> = self.volumes.iter().map(|named| named.volume.clone()).collect();
        let scope = |volumes| Scope { volumes, overrides: &self.overrides, read_only: false };
        let work = if self.is_together() && plans.len() > 1 {
            if plans.len() != volumes.len() {
                return Err(Usage(format!(
                    "--together takes one plan for all volumes or one for each: there are {} plans and {} volumes ({})",
                    plans.len(),
                    volumes.len(),
                    volumes.join(", ")
                )));
            }
            let each = plans.into_iter().zip(volumes);
            let parts = each.map(|(plan, volume)| Work::of(vec![plan], &scope(vec![volume]), seed));
            Work::joined(parts.collect::<Result<_, _>>()?)
        } else {
            Work::of(plans, &scope(volumes), seed)?
        };
        if self.is_together() {
            let counts: Vec<usize> = self.volumes.iter().map(|named| work.on(&named.volume).count()).collect();
            if counts.iter().any(|count| *count != counts[0]) {
                return Err(Usage(format!(
                    "--together puts the loads at the same place of each plan on the volumes: the plans have {counts:?} cells"
                )));
            }
        }
        let trials = |spec: &LoadSpec| self.trials_of(spec);
        if self.is_together() {
            self.check_trials(&work, trials)?;
        }
        Ok(work.with_trials(trials))
    }

    /// One for each draw, or as many as are wanted. The seconds of a short trial do not tell how far chance moves a figure: then each
    /// draw is tried as often as the plan wants, so that the first can be compared with others.
    fn trials_of(&self, spec: &LoadSpec) -> u32 {
        let least = self.trials.unwrap_or(spec.trials).max(self.draws);
        if self.trials.is_some() || self.overrides.short || spec.duration >= TELLS_BY_SECONDS {
            return least;
        }
        least.max(spec.trials.saturating_mul(self.draws).min(TRIALS_MAX))
    }

    /// Loads that run together run as often.
    fn check_trials(&self, work: &Work, trials: impl Fn(&LoadSpec) -> u32) -> Result<(), Usage> {
        let of = |named: &NamedTarget| {
            work.on(&named.volume).map(|cell| trials(&work.cells[cell].spec)).collect::<Vec<u32>>()
        };
        let Some((first, others)) = self.volumes.split_first() else { return Ok(()) };
        for other in others {
            let differing = of(first).into_iter().zip(of(other)).find(|(one, another)| one != another);
            if let Some((one, another)) = differing {
                return Err(Usage(format!(
                    "--together runs the loads at the same place of each plan as often: {} would have {one} trials and {} {another}; \
                     give --trials {}",
                    first.volume,
                    other.volume,
                    one.max(another)
                )));
            }
        }
        Ok(())
    }

    /// Whether all volumes are loaded at the same time.
    pub(crate) fn is_together(&self) -> bool {
        self.course == Course::Together
    }

    /// Names in the results, each with the volume of the environment.
    fn pairs(&self) -> Vec<(String, String)> {
        self.volumes.iter().map(|named| (named.volume.clone(), named.target.clone())).collect()
    }

    /// The names of the volumes in the results.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.volumes.iter().map(|named| named.volume.as_str())
    }

    /// The volume of the environment behind a name in the results.
    pub(crate) fn volume(&self, name: &str) -> &str {
        let named = self.volumes.iter().find(|named| named.volume == name);
        &named.expect("every cell is on a volume of the settings").target
    }

    /// Whether trials go on from one another.
    pub(crate) fn carries(&self) -> bool {
        self.course == Course::Carried
    }

    /// The state in which the storage is when a load begins.
    pub(crate) fn initially(&self) -> Initially {
        let fullness = |empty: bool| if empty { Fullness::Empty } else { Fullness::Full };
        Initially {
            bursts: fullness(self.bursts_empty),
            vm_bursts: self.vm_bursts_empty.map(fullness),
            caches: self.caches_warm.map(|warm| if warm { Warmth::Warm } else { Warmth::Cold }),
        }
    }
}

/// `predict PLAN... --env FILE`, not resumed.
pub(crate) fn predict(
    arguments: &PredictArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let mut settings = Settings::of(arguments);
    let seed = arguments.seed.unwrap_or_else(moment::fresh_seed);
    let typed = arguments.env.as_deref().expect("clap asks for an environment where nothing is resumed");
    let environment = environments::read(typed, &catalog::with_folder(settings.catalog.as_deref())?)?;
    let models = settings.models(&environment, seed);
    settings.volumes = chosen(arguments, &models[0])?;
    let facts = facts(&settings, &models[0])?;
    let length = if arguments.short { Length::Short } else { Length::Full };
    let plans: Vec<Plan> =
        arguments.plan.iter().map(|typed| read_plan(typed, length)).collect::<anyhow::Result<_>>()?;
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
    let interruption = Interruption::watch()?;
    let opening = Opening::start(store()?, |_| ());
    let id = moment::run_id(Moment::now());
    let header = RunHeader {
        id: id.clone(),
        name,
        verb: "predict".into(),
        clock: Clock::Virtual,
        started: Moment::now().rfc3339(),
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
    let mut books = opening.begin(header, work.records())?;
    let forecast = Forecast { run: &id, seed, settings: &settings, work: &work, models: &models };
    let ended = execute(forecast, &mut books, &BTreeSet::new(), quiet, &interruption)?;
    conclude(books.store()?, &id, ended, arguments.printing.format, &|_, _| Ok(()))
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
    if stored.header.verb == hunt::VERB {
        return hunt::resume(&stored, format, quiet, store, claim);
    }
    let (settings, environment) = told(&stored)?;
    let seed = stored.header.seed;
    let models = settings.models(&environment, seed);
    let plans = stored.header.plans.iter().map(read_again).collect::<anyhow::Result<Vec<_>>>()?;
    let work = settings.work(plans, seed)?;
    if stored.header.verb == search::VERB {
        let volumes = settings.pairs();
        let manner = Manner { quiet, format };
        return search::resume_modelled(
            &stored,
            (models[0].clone(), settings.initially()),
            &volumes,
            &work,
            &manner,
            Books::ready(store, claim),
        );
    }
    if !work.cells.iter().map(|cell| &cell.id).eq(stored.cells.iter().map(|cell| &cell.id)) {
        let version = &stored.header.version;
        bail!("this version of loadline reads the plan of run {id} otherwise than version {version}; predict it anew");
    }
    let interruption = Interruption::watch()?;
    let finished = store.finished_trials(&id)?;
    let mut books = Books::ready(store, claim);
    let forecast = Forecast { run: &id, seed, settings: &settings, work: &work, models: &models };
    let ended = execute(forecast, &mut books, &finished, quiet, &interruption)?;
    conclude(books.store()?, &id, ended, format, &|_, _| Ok(()))
}

/// What a stored prediction was told beside its plans.
fn told(stored: &RunRecord) -> anyhow::Result<(Settings, Environment)> {
    let settings: Settings = serde_json::from_value(stored.header.settings.clone()).with_context(|| {
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
    forecast: Forecast<'_>,
    books: &mut Books,
    finished: &BTreeSet<(String, u32)>,
    quiet: bool,
    interruption: &Interruption,
) -> anyhow::Result<Ended> {
    let run = forecast.run;
    let mut live = Live::new(quiet);
    let result = forecast.run(books, finished, &mut live, interruption);
    live.clear();
    let status = match &result {
        Ok(Ended::Complete) => RunStatus::Finished,
        Ok(Ended::Interrupted) => RunStatus::Interrupted,
        Ok(Ended::Broken(_)) | Err(_) => RunStatus::Failed,
    };
    let stored = books.store().and_then(|store| Ok(store.set_status(run, status)?));
    match result {
        Ok(ended) => stored.map(|()| ended),
        Err(error) => Err(error.context(format!("run {run} ended early; what was finished is kept"))),
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

fn facts(settings: &Settings, model: &Model) -> Result<Vec<VolumeFacts>, Usage> {
    let one = |named: &NamedTarget| volume_facts(model, &named.target, &named.volume);
    settings.volumes.iter().map(|named| one(named).map_err(|error| Usage(error.to_string()))).collect()
}

/// Finds loads that cannot be predicted before anything begins.
fn check(settings: &Settings, work: &Work, model: &Model) -> Result<(), Usage> {
    for cell in &work.cells {
        loadline_prediction::check(model, settings.volume(&cell.volume), &cell.spec)
            .map_err(|error| Usage(format!("{} on {}: {error}", label(&cell.spec), cell.volume)))?;
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
