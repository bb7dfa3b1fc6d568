//! `hunt`: one factor at a time around a cell, until it is known what moves its ceiling and what is ruled out.

mod printed;

pub(crate) use printed::text;

use crate::arguments::Format;
use crate::arguments::hunt::HuntArguments;
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::output::{self, Column, Field, Table};
use crate::run::{read_plan, tell_how_to_go_on};
use crate::terminal::Terminal;
use crate::{catalog, environments, typed_settings, words};
use anyhow::{Context as _, bail};
use loadline_catalog::Environment;
use loadline_engine::{EngineChoice, EngineOptions};
use loadline_hunt::{
    Baseline, BaselineStorage, Effect, Factor, FactorRequest, HuntDesign, HuntLoad, HuntPlan, HuntResult, HuntRounds,
    HuntVariant, IoEngine, Obstacle, VaryError, hunted, variations,
};
use loadline_prediction::{Model, fit, most_plausible, volume_facts};
use loadline_record::{CellRecord, Clock, PlanText, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts};
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{
    Ended, Initially, NewRun, Overrides, PendingStore, PlanLength, Probe, Prober, RunStore, Settings, TrialPlace,
    Tried, Work, cell_record, label, leftovers, measure_hunt, open_volumes, read_again, refusal_of, refuse_impossible,
    stored_environment,
};
use loadline_store::{Claim, Store};
use loadline_units::{Bytes, Ratio};
use loadline_workload::{LoadSpec, Plan, RunCell};
use printed::not_tried;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The key of a run's settings under which its hunt stands.
const SETTINGS_KEY: &str = "hunt";
/// The key under which its options stand.
const OPTIONS_KEY: &str = "told";

/// The options of a hunt beside its plan, environment and targets. They are stored with the run for `--resume`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HuntOptions {
    cell: Option<String>,
    vary: Vec<String>,
    volume: Option<String>,
    overrides: Overrides,
    catalog: Option<PathBuf>,
    margin: Ratio,
}

impl HuntOptions {
    fn of(arguments: &HuntArguments) -> Self {
        let overrides = Overrides {
            trials: Some(HuntRounds::MAX),
            duration: arguments.duration,
            warm_up: arguments.warm_up,
            size: arguments.size,
            short: arguments.short,
        };
        Self {
            cell: arguments.cell.clone(),
            vary: arguments.vary.clone(),
            volume: arguments.volume.clone(),
            overrides,
            catalog: arguments.own.catalog.clone(),
            margin: arguments.margin,
        }
    }
}

/// Hunts, prints what was found.
pub(crate) fn hunt(
    arguments: &HuntArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if arguments.margin == Ratio::ZERO || arguments.margin >= Ratio::ONE {
        return Err(Usage("--margin is a share above 0 % and below 100 %".into()).into());
    }
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let plan = read_plan(&arguments.plan, length)?;
    let environment = match &arguments.env {
        Some(typed) => Some(environments::read(typed, &catalog::with_folder(arguments.own.catalog.as_deref())?)?),
        None => None,
    };
    let targets = match &arguments.on {
        Some(typed) => typed_settings::named_targets(std::slice::from_ref(typed))?,
        None => Vec::new(),
    };
    let settings = typed_settings::of_driving(targets, &arguments.driving);
    let options = HuntOptions::of(arguments);
    let hunt = Hunt::of(&plan, &arguments.plan, &options, &settings, environment.as_ref())?;
    if arguments.dry_run {
        let format = arguments.printing.format;
        let mut text = hunt.dry().render(format, output::colour_wanted());
        if matches!(format, Format::Table | Format::Markdown) {
            text.push_str(&not_tried(&hunt.design.plan.not_tried));
        }
        output::print(&text)?;
        return Ok(Outcome::Done);
    }
    let seed = arguments.driving.seed.unwrap_or_else(fresh_seed);
    let begun = Begun { options: &options, seed, quiet, format: arguments.printing.format };
    begin(hunt, settings, environment.as_ref(), &begun, store()?)
}

/// `run --resume RUN` of a hunt: its trials are taken as they are, and the others run.
pub(crate) fn resume(
    stored: &RunRecord,
    format: Format,
    quiet: bool,
    store: Store,
    claim: Claim,
) -> anyhow::Result<Outcome> {
    let header = &stored.header;
    let RunHeader { id, version, seed, .. } = header;
    let of = |key: &str| header.settings.get(key).cloned().unwrap_or_default();
    let again = || format!("the settings of run {id} are not of this version of loadline; begin it anew");
    let settings: Settings = serde_json::from_value(header.settings.clone()).with_context(again)?;
    let options: HuntOptions = serde_json::from_value(of(OPTIONS_KEY)).with_context(again)?;
    let planned: HuntPlan = serde_json::from_value(of(SETTINGS_KEY)).with_context(again)?;
    let Some(text) = header.plans.first() else { bail!("run {id} keeps no plan; begin it anew") };
    let plan = read_again(text)?;
    let environment = match &header.environment {
        Some(text) => {
            Some(environments::parsed(&text.text, &text.name, &catalog::with_folder(options.catalog.as_deref())?)?)
        }
        None => None,
    };
    let mut hunt = Hunt::of(&plan, &plan.name, &options, &settings, environment.as_ref())?;
    // What the target could not have when it began.
    hunt.design.leave_out(&planned.not_tried);
    if !hunt.design.plan.varies_as(&planned) {
        bail!("this version of loadline varies what run {id} varied otherwise than version {version}; begin it anew");
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let (models, probes) = (hunt.models(environment.as_ref()), hunt.probes());
    let place = if environment.is_some() {
        TrialPlace::Modelled { models, volume: hunt.volume, initially: Initially::default() }
    } else {
        leftovers::remove_of_run(id, &settings, &mut terminal)?;
        let opened = open_volumes::open(&work_of(&hunt.plans, &probes), &settings, id, &header.volumes, &mut terminal)?;
        TrialPlace::Measured { settings: Box::new(settings), volumes: opened }
    };
    let under_way = UnderWay { id, seed: *seed, probes: &probes, plan: &planned, format };
    carry_on(&under_way, place, RunStore::ready(store, claim), stored.clone(), &mut terminal)
}

/// The plan's cell that was meant, with the values from the command line.
fn chosen(plan: &Plan, typed_plan: &str, options: &HuntOptions) -> Result<LoadSpec, Usage> {
    let cells: Vec<&LoadSpec> = plan.cells().map(|(spec, _)| spec).collect();
    let count = cells.len();
    let listed = || format!("plan {:?} has {count} cells; `loadline run {typed_plan} --dry-run` lists them", plan.name);
    let spec = match options.cell.as_deref() {
        None if count == 1 => cells[0],
        None => return Err(Usage(format!("say around which cell, with --cell: {}", listed()))),
        Some(typed) => {
            if let Ok(place) = typed.parse::<usize>() {
                let cell = place.checked_sub(1).and_then(|index| cells.get(index).copied());
                cell.ok_or_else(|| Usage(format!("there is no cell {place}: {}", listed())))?
            } else {
                let lower = typed.to_lowercase();
                let called = |spec: &LoadSpec| label(spec).to_lowercase();
                let whole: Vec<&LoadSpec> = cells.iter().copied().filter(|spec| called(spec) == lower).collect();
                let part = || cells.iter().copied().filter(|spec| called(spec).contains(&lower)).collect();
                // "depth 1" is also a part of "depth 16".
                let fitting: Vec<&LoadSpec> = if whole.is_empty() { part() } else { whole };
                match fitting.as_slice() {
                    [one] => *one,
                    [] => return Err(Usage(format!("no cell is called {typed:?}: {}", listed()))),
                    many => {
                        let count = many.len();
                        return Err(Usage(format!(
                            "{count} cells are called {typed:?}: name one by its number; {}",
                            listed()
                        )));
                    }
                }
            }
        }
    };
    let mut spec = spec.clone();
    options.overrides.apply(&mut spec);
    spec.check().map_err(|error| Usage(format!("with the values from the command line: {spec}: {error}")))?;
    Ok(spec)
}

/// A hunt that is about to begin.
struct Hunt {
    plans: Vec<PlanText>,
    volume: String,
    design: HuntDesign,
}

impl Hunt {
    /// From what was typed: the load, its storage, and the variations.
    fn of(
        plan: &Plan,
        typed_plan: &str,
        options: &HuntOptions,
        settings: &Settings,
        environment: Option<&Environment>,
    ) -> anyhow::Result<Self> {
        let volume = match environment {
            Some(environment) => {
                let first = environment.volumes.first().map(|v| v.name.clone());
                options.volume.clone().or(first).expect("an environment has a volume")
            }
            None => {
                settings.targets.first().expect("clap asks for a target where there is no environment").volume.clone()
            }
        };
        let mut spec = chosen(plan, typed_plan, options)?;
        if let Some(environment) = environment {
            // Fixed for all variations, so that a larger layout is not asked for more.
            let model = most_plausible(environment);
            let facts = volume_facts(&model, &volume, &volume).map_err(|error| Usage(error.to_string()))?;
            spec = fit(&spec, facts.size_bytes.map(Bytes::new));
            loadline_prediction::check(&model, &volume, &spec)
                .map_err(|error| Usage(format!("{} on {volume}: {}", label(&spec), words::of(&error))))?;
        }
        if settings.read_only && spec.writes_any() {
            let text = format!("{} writes, and --read-only forbids it: choose another cell", label(&spec));
            return Err(Usage(text).into());
        }
        let storage = match environment {
            Some(environment) => BaselineStorage::Model { environment, volume: &volume },
            None => BaselineStorage::Target {
                is_directory: settings.targets.first().is_some_and(|t| Path::new(&t.target).is_dir()),
                engine: io_engine(settings.engine.engine),
            },
        };
        let wanted = FactorRequest::parse_all(&options.vary).map_err(|error| refusal(&error))?;
        let found = variations(&Baseline { load: &spec, storage }, &wanted).map_err(|error| refusal(&error))?;
        if found.variations.is_empty() {
            let text = "nothing can be varied around this cell; name a factor with --vary to see why not";
            return Err(Usage(text.into()).into());
        }
        let plans = vec![PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: plan.hash() }];
        let design = HuntDesign::new(&volume, &spec, &label(&spec), found, options.margin);
        Ok(Self { plans, volume, design })
    }

    /// The models that its loads are put on, where it is modelled: that of `environment`, then that of each variation of it.
    fn models(&self, environment: Option<&Environment>) -> Vec<Model> {
        let varied = self.design.loads.iter().filter_map(|load| load.environment.as_ref());
        environment.into_iter().chain(varied).map(most_plausible).collect()
    }

    /// Its loads, as they are measured.
    fn probes(&self) -> Vec<Probe> {
        let mut models = 0;
        let probe = |load: &HuntLoad| {
            models += usize::from(load.environment.is_some());
            Probe {
                cell: load.cell.clone(),
                label: load.label.clone(),
                engine: load.engine.map(engine_choice),
                model: if load.environment.is_some() { models } else { 0 },
            }
        };
        self.design.loads.iter().map(probe).collect()
    }

    /// What would be varied.
    fn dry(&self) -> Table {
        let mut table = Table::new(&[
            Column::words("factor", "factor"),
            Column::words("from", "from"),
            Column::words("to", "to"),
            Column::numbers("rounds at most", "rounds_max"),
        ]);
        for variant in &self.design.plan.variants {
            table.push(vec![
                Field::text(variant.factor.name()),
                Field::text(&variant.from),
                Field::text(&variant.to),
                Field::count(HuntRounds::MAX.into()),
            ]);
        }
        table
    }
}

/// The refusal of `--vary`, with the option that helps.
fn refusal(error: &VaryError) -> Usage {
    let help = match error {
        VaryError::Impossible { obstacle: Obstacle::RealStorage | Obstacle::RealMachine, .. } => " (--env FILE)",
        _ => "",
    };
    Usage(format!("--vary {error}{help}"))
}

const fn io_engine(choice: EngineChoice) -> Option<IoEngine> {
    match choice {
        EngineChoice::Auto => None,
        EngineChoice::IoUring => Some(IoEngine::IoUring),
        EngineChoice::Aio => Some(IoEngine::Aio),
        EngineChoice::Threads => Some(IoEngine::Threads),
    }
}

const fn engine_choice(engine: IoEngine) -> EngineChoice {
    match engine {
        IoEngine::IoUring => EngineChoice::IoUring,
        IoEngine::Aio => EngineChoice::Aio,
        IoEngine::Threads => EngineChoice::Threads,
    }
}

/// How a hunt begins.
struct Begun<'a> {
    options: &'a HuntOptions,
    seed: u64,
    quiet: bool,
    format: Format,
}

fn begin(
    mut hunt: Hunt,
    settings: Settings,
    environment: Option<&Environment>,
    begun: &Begun<'_>,
    store: PathBuf,
) -> anyhow::Result<Outcome> {
    let mut terminal = Terminal::new(begun.quiet, &Interruption::watch()?);
    let opening = PendingStore::start(store, |_| Vec::new());
    let clock = if environment.is_some() { Clock::Virtual } else { Clock::Real };
    let new = NewRun::now(String::new(), RunVerb::Hunt, clock, Some(begun.seed));
    let id = new.id.clone();
    let opened = match environment {
        Some(_) => None,
        None => Some(open_volumes::open(&work_of(&hunt.plans, &hunt.probes()), &settings, &id, &[], &mut terminal)?),
    };
    if let Some(opened) = &opened {
        let volume_of = |cell: &RunCell| opened[&cell.volume].volume_for(&cell.spec);
        // Where all goes through the page cache anyway, a load that asks for it is the same load.
        let unchanged = |variant: &HuntVariant, load: &HuntLoad| {
            let facts = opened[&load.cell.volume].facts();
            let why = || facts.direct_reason.clone().unwrap_or_else(|| "it has no direct I/O".to_owned());
            (variant.factor == Factor::Direct && !facts.direct)
                .then(|| format!("all goes through the page cache on this target: {}", why()))
        };
        // Of what is usually varied, what the target cannot have is left out; what was named is refused.
        if begun.options.vary.is_empty() {
            let why = |variant: &HuntVariant, load: &HuntLoad| {
                let engine = load.engine.map_or(settings.engine.engine, engine_choice);
                let options = EngineOptions { engine, ..settings.engine };
                let impossible = refusal_of(volume_of(&load.cell), &load.cell, options);
                impossible.map(|error| words::in_a_line(&error)).or_else(|| unchanged(variant, load))
            };
            hunt.design.leave_out_impossible(why).map_err(|all| {
                let why = not_tried(&all);
                Usage(format!("nothing can be varied around this cell on this target\n{why}"))
            })?;
        } else if let Some(why) = hunt.design.variants().find_map(|(variant, load)| unchanged(variant, load)) {
            return Err(Usage(format!("direct cannot be varied: {why}")).into());
        }
        let probes = hunt.probes();
        refuse_impossible(volume_of, probes.iter().map(|probe| tried(probe, settings.engine)))?;
    }
    let kept = if opened.is_some() { settings.standing() } else { settings.clone() };
    let mut stored_settings = serde_json::to_value(&kept).context("settings are plain data")?;
    if let Json::Object(fields) = &mut stored_settings {
        fields.insert(SETTINGS_KEY.into(), serde_json::to_value(&hunt.design.plan).context("a hunt is plain data")?);
        fields.insert(OPTIONS_KEY.into(), serde_json::to_value(begun.options).context("options are plain data")?);
    }
    let (models, probes) = (hunt.models(environment), hunt.probes());
    let Hunt { plans, volume, design } = hunt;
    let (place, facts) = match opened {
        None => {
            let facts: Vec<VolumeFacts> = vec![volume_facts(&models[0], &volume, &volume)?];
            (TrialPlace::Modelled { models, volume, initially: Initially::default() }, facts)
        }
        Some(volumes) => {
            let facts = settings.targets.iter().map(|t| volumes[&t.volume].facts()).collect();
            (TrialPlace::Measured { settings: Box::new(settings), volumes }, facts)
        }
    };
    let header = RunHeader {
        plans,
        environment: environment.map(stored_environment),
        volumes: facts,
        settings: stored_settings,
        name: format!("hunt around {}", probes[0].label),
        ..new.header()
    };
    let records = probes.iter().map(|probe| {
        let mut record = cell_record(&probe.cell);
        record.label.clone_from(&probe.label);
        record
    });
    let cells: Vec<CellRecord> = records.collect();
    let run_store = opening.begin(header.clone(), cells.clone())?;
    let begun_run = RunRecord { header, status: RunStatus::Unfinished, cells };
    let under_way = UnderWay { id: &id, seed: begun.seed, probes: &probes, plan: &design.plan, format: begun.format };
    carry_on(&under_way, place, run_store, begun_run, &mut terminal)
}

fn tried(probe: &Probe, run: EngineOptions) -> Tried<'_> {
    let options = EngineOptions { engine: probe.engine.unwrap_or(run.engine), ..run };
    Tried { cell: &probe.cell, label: &probe.label, options }
}

fn work_of(plans: &[PlanText], probes: &[Probe]) -> Work {
    let cells = probes.iter().map(|probe| probe.cell.clone()).collect();
    Work { plans: plans.to_vec(), cells, steps: Vec::new(), left_out: Vec::new() }
}

/// A hunt under way.
struct UnderWay<'a> {
    id: &'a str,
    seed: u64,
    probes: &'a [Probe],
    plan: &'a HuntPlan,
    format: Format,
}

/// Measures what `run` does not hold yet, and prints what was found.
fn carry_on(
    hunt: &UnderWay<'_>,
    mut place: TrialPlace,
    mut run_store: RunStore,
    run: RunRecord,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let UnderWay { id, seed, probes, plan, format } = *hunt;
    terminal.say(&format!("run {id}, seed {seed}: {} settings around {}", plan.variants.len(), probes[0].label));
    let mut prober = Prober { place: &mut place, store: &mut run_store, run: id, seed, observer: terminal };
    let rounds = HuntRounds::new(plan, &probes[0].cell.spec, seed);
    let ended = measure_hunt(&mut prober, &rounds, probes, run);
    terminal.clear();
    if let TrialPlace::Measured { volumes: opened, .. } = place {
        open_volumes::close(opened, terminal);
    }
    let store = run_store.store()?;
    match &ended {
        Ok(Ended::Complete) => store.finish_with_what_there_is(id)?,
        Ok(_) => store.set_status(id, RunStatus::Interrupted)?,
        Err(_) => store.set_status(id, RunStatus::Failed)?,
    }
    let ended = ended.with_context(|| format!("hunt {id} ended early; what was finished is kept"))?;
    let found = hunted(&store.load(id)?, plan);
    output::print(&text(&found, format))?;
    Ok(match ended {
        Ended::Complete if found.nothing_bound.is_some() => Outcome::Done,
        Ended::Complete if found.rows.iter().any(|row| row.effect == Effect::CannotTell) => Outcome::Inconclusive,
        Ended::Complete => Outcome::Done,
        _ => {
            tell_how_to_go_on(id);
            Outcome::Interrupted
        }
    })
}

/// The hunt behind a stored run; `None` where the run is of another verb.
pub(crate) fn of_run(record: &RunRecord) -> Option<HuntResult> {
    let plan: HuntPlan = serde_json::from_value(record.header.settings.get(SETTINGS_KEY)?.clone()).ok()?;
    Some(hunted(record, &plan))
}
