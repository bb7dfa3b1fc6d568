//! `hunt`: one factor at a time around a cell, until it is known what moves its ceiling and what is ruled out.

mod printed;
mod vary;

pub(crate) use printed::text;

use crate::arguments::{Driving, Format, Printing};
use crate::books::{Books, Opening};
use crate::catalog::Own;
use crate::failure::{Outcome, Usage};
use crate::impossible::{self, Tried};
use crate::interruption::Interruption;
use crate::live::Live;
use crate::moment::{self, Moment};
use crate::output::{self, Column, Field, Table};
use crate::preparation::{Length, Work, cell_record, label, read_again, read_plan};
use crate::probing::{Initially, Place, Probe, Prober, probe};
use crate::run::{remove_leftovers, tell_how_to_go_on};
use crate::settings::{Overrides, Settings, named_targets};
use crate::volumes;
use crate::{catalog, environments};
use anyhow::{Context as _, bail};
use clap::Args;
use loadline_catalog::Environment;
use loadline_engine::EngineOptions;
use loadline_hunt::{
    Effect, Factor, HUNT_LOOKS, HuntPlan, HuntResult, HuntVariant, NotTried, hunted, judge, nothing_bound, round_log,
};
use loadline_prediction::{fit, volume_facts};
use loadline_record::{Clock, PlanText, RunHeader, RunRecord, RunStatus, TrialRecord, VolumeFacts};
use loadline_store::{Claim, Store};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{Arrival, LoadSpec, Plan, RunCell, cell_seed};
use printed::not_tried;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use vary::{Ground, Varied, asked, variations};

/// `hunt`.
#[derive(Debug, Args)]
pub(crate) struct HuntArguments {
    /// Plan file (TOML), or a name from `loadline plans`
    plan: String,
    /// The cell that falls short: its number in the plan (from 1), or part of what it is called
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// What to vary: depth, threads, files, block, alignment, interleave, layout, vm, engine, direct; each may name settings,
    /// as in depth=64:256. By default all that can be varied here
    #[arg(long, value_name = "FACTOR", value_delimiter = ',')]
    vary: Vec<String>,
    /// Hunt on a model: an environment file (TOML), or a name from `loadline environments`
    #[arg(long, value_name = "FILE", conflicts_with = "on")]
    env: Option<String>,
    /// The volume of the environment; by default its first
    #[arg(long, value_name = "NAME", requires = "env")]
    volume: Option<String>,
    #[command(flatten)]
    own: Own,
    /// Hunt on this: a directory, a file or a block device
    #[arg(long, value_name = "TARGET", required_unless_present = "env")]
    on: Option<String>,
    /// Effects that are no larger are none
    #[arg(long, value_name = "SHARE", default_value = "5 %")]
    margin: Ratio,
    /// Measured time of each trial, in place of the plan's
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Load before each measurement, in place of the plan's
    #[arg(long, value_name = "TIME")]
    warm_up: Option<Duration>,
    /// Bytes that the load spreads over, in place of the plan's
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// Cut the plan's times short: 3 s each at most
    #[arg(long)]
    short: bool,
    /// Print what would be varied; touch nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    printing: Printing,
}

/// The key of a run's settings under which its hunt stands.
const SETTINGS_KEY: &str = "hunt";
/// The key under which stands what it was told.
const TOLD_KEY: &str = "told";
/// The verb under which hunts are stored.
pub(crate) const VERB: &str = "hunt";

/// Trials of a load that sets its own rate, before anything is varied, that tell whether it gets what it asks for.
const FIRST_TRIALS: u32 = 3;

/// Rounds at most.
const fn rounds_max() -> u32 {
    HUNT_LOOKS[HUNT_LOOKS.len() - 1]
}

/// What a hunt was told beside its plan, its environment and its targets: stored with its run, so that `--resume` hunts the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Told {
    cell: Option<String>,
    vary: Vec<String>,
    volume: Option<String>,
    overrides: Overrides,
    catalog: Option<PathBuf>,
    margin: Ratio,
}

impl Told {
    fn of(arguments: &HuntArguments) -> Self {
        let overrides = Overrides {
            trials: Some(rounds_max()),
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
    let length = if arguments.short { Length::Short } else { Length::Full };
    let plan = read_plan(&arguments.plan, length)?;
    let environment = match &arguments.env {
        Some(typed) => Some(environments::read(typed, &catalog::with_folder(arguments.own.catalog.as_deref())?)?),
        None => None,
    };
    let targets = match &arguments.on {
        Some(typed) => named_targets(std::slice::from_ref(typed))?,
        None => Vec::new(),
    };
    let settings = Settings::of_driving(targets, &arguments.driving);
    let told = Told::of(arguments);
    let hunt = Hunt::of(&plan, &arguments.plan, &told, &settings, environment.as_ref())?;
    if arguments.dry_run {
        let format = arguments.printing.format;
        let mut text = hunt.dry().render(format, output::colour_wanted());
        if matches!(format, Format::Table | Format::Markdown) {
            text.push_str(&not_tried(&hunt.plan.not_tried));
        }
        output::print(&text)?;
        return Ok(Outcome::Done);
    }
    let seed = arguments.driving.seed.unwrap_or_else(moment::fresh_seed);
    let begun = Begun { told: &told, seed, quiet, format: arguments.printing.format };
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
    let told: Told = serde_json::from_value(of(TOLD_KEY)).with_context(again)?;
    let planned: HuntPlan = serde_json::from_value(of(SETTINGS_KEY)).with_context(again)?;
    let Some(text) = header.plans.first() else { bail!("run {id} keeps no plan; begin it anew") };
    let plan = read_again(text)?;
    let environment = match &header.environment {
        Some(text) => {
            Some(environments::parsed(&text.text, &text.name, &catalog::with_folder(told.catalog.as_deref())?)?)
        }
        None => None,
    };
    let mut hunt = Hunt::of(&plan, &plan.name, &told, &settings, environment.as_ref())?;
    // What the target could not have when it began.
    hunt.leave_out(&planned.not_tried);
    if hunt.plan != planned {
        bail!("this version of loadline varies what run {id} varied otherwise than version {version}; begin it anew");
    }
    let interruption = Interruption::watch()?;
    let place = if environment.is_some() {
        Place::Modelled { models: hunt.models, volume: hunt.volume, initially: Initially::default() }
    } else {
        remove_leftovers(id, &settings)?;
        let opened = volumes::open(&work_of(&hunt.plans, &hunt.probes), &settings, id, &header.volumes, &interruption)?;
        Place::Measured { settings: Box::new(settings), volumes: opened }
    };
    let under_way = UnderWay {
        id,
        seed: *seed,
        probes: &hunt.probes,
        plan: &hunt.plan,
        quiet,
        format,
        interruption: &interruption,
    };
    carry_on(&under_way, place, Books::ready(store, claim), stored)
}

/// The plan's cell that was meant, with the values from the command line.
fn chosen(plan: &Plan, typed_plan: &str, told: &Told) -> Result<LoadSpec, Usage> {
    let cells: Vec<&LoadSpec> = plan.cells().map(|(spec, _)| spec).collect();
    let count = cells.len();
    let listed = || format!("plan {:?} has {count} cells; `loadline run {typed_plan} --dry-run` lists them", plan.name);
    let spec = match told.cell.as_deref() {
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
    told.overrides.apply(&mut spec);
    spec.check().map_err(|error| Usage(format!("with the values from the command line: {spec}: {error}")))?;
    Ok(spec)
}

/// A hunt that is about to begin.
struct Hunt {
    plans: Vec<PlanText>,
    name: String,
    volume: String,
    /// The baseline first.
    probes: Vec<Probe>,
    plan: HuntPlan,
    /// The baseline's first.
    models: Vec<loadline_prediction::Model>,
}

impl Hunt {
    /// What was told, made into loads to be tried.
    fn of(
        plan: &Plan,
        typed_plan: &str,
        told: &Told,
        settings: &Settings,
        environment: Option<&Environment>,
    ) -> anyhow::Result<Self> {
        let volume = match environment {
            Some(environment) => {
                let first = environment.volumes.first().map(|v| v.name.clone());
                told.volume.clone().or(first).expect("an environment has a volume")
            }
            None => {
                settings.targets.first().expect("clap asks for a target where there is no environment").volume.clone()
            }
        };
        let mut spec = chosen(plan, typed_plan, told)?;
        if let Some(environment) = environment {
            // Fixed for all variations, so that a larger layout is not asked for more.
            let facts =
                volume_facts(&vary::model(environment), &volume, &volume).map_err(|error| Usage(error.to_string()))?;
            spec = fit(&spec, facts.size_bytes.map(Bytes::new));
            loadline_prediction::check(&vary::model(environment), &volume, &spec)
                .map_err(|error| Usage(format!("{} on {volume}: {error}", label(&spec))))?;
        }
        if settings.read_only && spec.writes_any() {
            let text = format!("{} writes, and --read-only forbids it: choose another cell", label(&spec));
            return Err(Usage(text).into());
        }
        let ground = Ground {
            spec: &spec,
            environment: environment.map(|e| (e, volume.as_str())),
            directory: settings.targets.first().is_some_and(|t| Path::new(&t.target).is_dir()),
            engine: settings.engine.engine,
        };
        let found = variations(&ground, &asked(&told.vary)?)?;
        if found.variations.is_empty() {
            let text = "nothing can be varied around this cell; name a factor with --vary to see why not";
            return Err(Usage(text.into()).into());
        }
        Ok(Self::new(plan, &volume, &spec, found, environment, told.margin))
    }

    fn new(
        plan: &Plan,
        volume: &str,
        spec: &LoadSpec,
        found: Varied,
        environment: Option<&Environment>,
        margin: Ratio,
    ) -> Self {
        let baseline = probe(volume, spec, 0);
        let mut models: Vec<loadline_prediction::Model> = environment.map(vary::model).into_iter().collect();
        let mut variants = Vec::new();
        let mut probes = vec![baseline];
        for (number, variation) in (1u32..).zip(found.variations) {
            // Some variations leave the load as it is: their number tells the cells apart.
            let mut probe = probe(volume, &variation.spec, number);
            probe.label = format!("{}: {} {}", probes[0].label, variation.factor.name(), variation.to);
            probe.engine = variation.engine;
            if let Some(environment) = &variation.environment {
                models.push(vary::model(environment));
                probe.model = models.len() - 1;
            }
            variants.push(HuntVariant {
                cell: probe.cell.id.clone(),
                factor: variation.factor,
                from: variation.from,
                to: variation.to,
            });
            probes.push(probe);
        }
        let baseline = probes[0].cell.id.clone();
        let plans = vec![PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: plan.hash() }];
        let name = format!("hunt around {}", probes[0].label);
        let plan =
            HuntPlan { baseline, variants, margin: margin.as_f64(), not_tried: found.not_tried, lacks: found.lacks };
        Self { plans, name, volume: volume.to_owned(), probes, plan, models }
    }

    /// Leaves out the settings for which there is a reason, and refuses a hunt of which nothing is left.
    fn leave_out_impossible(&mut self, why: impl Fn(&HuntVariant, &Probe) -> Option<String>) -> Result<(), Usage> {
        let impossible = self.plan.variants.iter().zip(&self.probes[1..]).filter_map(|(variant, probe)| {
            let because = why(variant, probe)?;
            Some(NotTried { factor: variant.factor, to: Some(variant.to.clone()), because })
        });
        let impossible: Vec<NotTried> = impossible.collect();
        if impossible.len() == self.plan.variants.len() {
            let why = not_tried(&impossible);
            return Err(Usage(format!("nothing can be varied around this cell on this target\n{why}")));
        }
        self.leave_out(&impossible);
        Ok(())
    }

    /// Leaves out these settings, where they would be tried.
    fn leave_out(&mut self, settings: &[NotTried]) {
        let is_in = |variant: &HuntVariant| {
            settings.iter().any(|one| one.factor == variant.factor && one.to.as_deref() == Some(variant.to.as_str()))
        };
        let gone: Vec<String> =
            self.plan.variants.iter().filter(|variant| is_in(variant)).map(|variant| variant.cell.clone()).collect();
        self.plan.variants.retain(|variant| !gone.contains(&variant.cell));
        self.probes.retain(|probe| !gone.contains(&probe.cell.id));
        let known = self.plan.not_tried.len();
        let added = settings.iter().filter(|one| !self.plan.not_tried[..known].contains(one)).cloned();
        let added: Vec<NotTried> = added.collect();
        self.plan.not_tried.extend(added);
    }

    /// What would be varied.
    fn dry(&self) -> Table {
        let mut table = Table::new(&[
            Column::words("factor", "factor"),
            Column::words("from", "from"),
            Column::words("to", "to"),
            Column::numbers("rounds at most", "rounds_max"),
        ]);
        for variant in &self.plan.variants {
            table.push(vec![
                Field::text(variant.factor.name()),
                Field::text(&variant.from),
                Field::text(&variant.to),
                Field::count(rounds_max().into()),
            ]);
        }
        table
    }
}

/// How a hunt begins.
struct Begun<'a> {
    told: &'a Told,
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
    let interruption = Interruption::watch()?;
    let opening = Opening::start(store, |_| ());
    let id = moment::run_id(Moment::now());
    let opened = match environment {
        Some(_) => None,
        None => Some(volumes::open(&work_of(&hunt.plans, &hunt.probes), &settings, &id, &[], &interruption)?),
    };
    if let Some(opened) = &opened {
        let volume_of = |cell: &RunCell| opened[&cell.volume].volume_for(&cell.spec);
        // Where all goes through the page cache anyway, a load that asks for it is the same load.
        let vain = |variant: &HuntVariant, probe: &Probe| {
            let facts = opened[&probe.cell.volume].facts();
            let why = || facts.direct_reason.clone().unwrap_or_else(|| "it has no direct I/O".to_owned());
            (variant.factor == Factor::Direct && !facts.direct)
                .then(|| format!("all goes through the page cache on this target: {}", why()))
        };
        // Of what is usually varied, what the target cannot have is left out; what was named is refused.
        if begun.told.vary.is_empty() {
            let why = |variant: &HuntVariant, probe: &Probe| {
                let Tried { cell, options, .. } = tried(probe, settings.engine);
                let impossible = impossible::why(volume_of(cell), cell, options).map(|error| error.to_string());
                impossible.or_else(|| vain(variant, probe))
            };
            hunt.leave_out_impossible(why)?;
        } else if let Some(why) = hunt.plan.variants.iter().zip(&hunt.probes[1..]).find_map(|(v, probe)| vain(v, probe))
        {
            return Err(Usage(format!("direct cannot be varied: {why}")).into());
        }
        impossible::refuse(volume_of, hunt.probes.iter().map(|probe| tried(probe, settings.engine)))?;
    }
    let kept = if opened.is_some() { settings.standing() } else { settings.clone() };
    let mut told = serde_json::to_value(&kept).context("settings are plain data")?;
    if let Json::Object(fields) = &mut told {
        fields.insert(SETTINGS_KEY.into(), serde_json::to_value(&hunt.plan).context("a hunt is plain data")?);
        fields.insert(TOLD_KEY.into(), serde_json::to_value(begun.told).context("what was told is plain data")?);
    }
    let Hunt { plans, name, volume, probes, plan, models } = hunt;
    let (place, facts) = match opened {
        None => {
            let facts: Vec<VolumeFacts> = vec![volume_facts(&models[0], &volume, &volume)?];
            (Place::Modelled { models, volume, initially: Initially::default() }, facts)
        }
        Some(volumes) => {
            let facts = settings.targets.iter().map(|t| volumes[&t.volume].facts()).collect();
            (Place::Measured { settings: Box::new(settings), volumes }, facts)
        }
    };
    let header = RunHeader {
        id: id.clone(),
        name,
        verb: VERB.into(),
        clock: if environment.is_some() { Clock::Virtual } else { Clock::Real },
        started: Moment::now().rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: begun.seed,
        imported: None,
        host: loadline_engine::facts::host(),
        plans,
        environment: environment.map(|e| PlanText { name: e.name.clone(), text: e.text.clone(), hash: e.hash() }),
        volumes: facts,
        settings: told,
    };
    let records = probes.iter().map(|probe| {
        let mut record = cell_record(&probe.cell);
        record.label.clone_from(&probe.label);
        record
    });
    let books = opening.begin(header.clone(), records.collect())?;
    let nothing = RunRecord { header, status: RunStatus::Unfinished, cells: Vec::new() };
    let under_way = UnderWay {
        id: &id,
        seed: begun.seed,
        probes: &probes,
        plan: &plan,
        quiet: begun.quiet,
        format: begun.format,
        interruption: &interruption,
    };
    carry_on(&under_way, place, books, &nothing)
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
    quiet: bool,
    format: Format,
    interruption: &'a Interruption,
}

/// Runs what is not in `stored` yet, and prints what was found.
fn carry_on(hunt: &UnderWay<'_>, mut place: Place, mut books: Books, stored: &RunRecord) -> anyhow::Result<Outcome> {
    let UnderWay { id, seed, probes, plan, quiet, format, interruption } = *hunt;
    let mut live = Live::new(quiet);
    live.say(&format!("run {id}, seed {seed}: {} settings around {}", plan.variants.len(), probes[0].label));
    let mut prober = Prober { place: &mut place, books: &mut books, run: id, seed, live: &mut live, interruption };
    let result = rounds(&mut prober, probes, plan, stored);
    live.clear();
    if let Place::Measured { volumes: opened, .. } = place {
        volumes::close(opened);
    }
    let store = books.store()?;
    match &result {
        Ok(true) => store.finish_with_what_there_is(id)?,
        Ok(false) => store.set_status(id, RunStatus::Interrupted)?,
        Err(_) => store.set_status(id, RunStatus::Failed)?,
    }
    let complete =
        result.map_err(|error| error.context(format!("hunt {id} ended early; what was finished is kept")))?;
    let found = hunted(&store.load(id)?, plan);
    output::print(&text(&found, format))?;
    Ok(match complete {
        false => {
            tell_how_to_go_on(id);
            Outcome::Interrupted
        }
        true if found.nothing_bound.is_some() => Outcome::Done,
        true if found.rows.iter().any(|row| row.effect == Effect::CannotTell) => Outcome::Inconclusive,
        true => Outcome::Done,
    })
}

/// Round after round, each with the baseline and every setting that is not decided yet in random order; whether it came to an
/// end. The order follows from the seed, and trials that are stored are not run again: a hunt that was cut off goes the same way.
fn rounds(prober: &mut Prober<'_>, loads: &[Probe], plan: &HuntPlan, stored: &RunRecord) -> anyhow::Result<bool> {
    let known = |load: &Probe, round: u32| {
        let cell = stored.cells.iter().find(|cell| cell.id == load.cell.id)?;
        cell.trials.iter().find(|trial| trial.trial == round).cloned()
    };
    // Where the load sets its own rate, its first trials are run before anything is varied: what gets all that it asks for shows no limit,
    // however much is varied. As soon as one falls short, all goes on as with any load.
    let mut first: Vec<TrialRecord> = Vec::new();
    while sets_its_rate(&loads[0].cell.spec) {
        let round = first.len() as u32;
        let counted = format!("baseline, {} of {FIRST_TRIALS}", round + 1);
        let record = match known(&loads[0], round) {
            Some(record) => Some(record),
            None => prober.trial(&loads[0], round, &counted)?,
        };
        let Some(record) = record else { return Ok(false) };
        first.push(record);
        if nothing_bound(&so_far(stored, &loads[0], &first), &plan.baseline).is_none() {
            break;
        }
        if round + 1 == FIRST_TRIALS {
            prober.live.say("nothing bound the baseline: there is no ceiling to hunt for");
            return Ok(true);
        }
    }
    let known = |load: &Probe, round: u32| {
        let taken = || first.get(round as usize).filter(|_| load.cell.id == loads[0].cell.id).cloned();
        known(load, round).or_else(taken)
    };
    let mut logs: Vec<Vec<f64>> = vec![Vec::new(); plan.variants.len()];
    let mut undecided: Vec<usize> = (0..plan.variants.len()).collect();
    for round in 0..rounds_max() {
        let mut order: Vec<usize> = std::iter::once(0).chain(undecided.iter().map(|variant| variant + 1)).collect();
        order.sort_by_key(|index| cell_seed(prober.seed, &format!("round {round} of {index}")));
        let mut trials: Vec<(usize, TrialRecord)> = Vec::new();
        for (done, index) in order.iter().enumerate() {
            let counted = format!("round {}, {} of {}", round + 1, done + 1, order.len());
            let record = match known(&loads[*index], round) {
                Some(record) => Some(record),
                None => prober.trial(&loads[*index], round, &counted)?,
            };
            match record {
                Some(record) => trials.push((*index, record)),
                None => return Ok(false),
            }
        }
        let baseline = trials.iter().find(|(index, _)| *index == 0).map(|(_, record)| record);
        for (index, record) in trials.iter().filter(|(index, _)| *index > 0) {
            let log = baseline.and_then(|b| round_log(b, record, plan.variants[index - 1].factor));
            logs[index - 1].extend(log);
        }
        if HUNT_LOOKS.contains(&(round + 1)) {
            let effect = |variant: usize| judge(&logs[variant], plan.variants.len(), plan.margin);
            undecided.retain(|variant| effect(*variant).is_none_or(|j| j.effect == Effect::CannotTell));
            let decided = plan.variants.len() - undecided.len();
            prober.live.say(&format!("round {}: {decided} of {} settings are decided", round + 1, plan.variants.len()));
        }
        if undecided.is_empty() {
            break;
        }
    }
    Ok(true)
}

/// Whether the load itself says how much it asks for: an open loop, a closed one with a rate ceiling or think time.
fn sets_its_rate(spec: &LoadSpec) -> bool {
    match spec.arrival {
        Arrival::Closed { rate_max, think_time, .. } => rate_max.is_some() || think_time > Duration::ZERO,
        Arrival::Constant { .. } | Arrival::Poisson { .. } => true,
    }
}

/// The run with these trials of one load alone.
fn so_far(stored: &RunRecord, load: &Probe, trials: &[TrialRecord]) -> RunRecord {
    let mut cell = cell_record(&load.cell);
    cell.trials = trials.to_vec();
    RunRecord { header: stored.header.clone(), status: RunStatus::Unfinished, cells: vec![cell] }
}

/// The hunt behind a stored run; `None` where the run is of another verb.
pub(crate) fn of_run(record: &RunRecord) -> Option<HuntResult> {
    let plan: HuntPlan = serde_json::from_value(record.header.settings.get(SETTINGS_KEY)?.clone()).ok()?;
    Some(hunted(record, &plan))
}
