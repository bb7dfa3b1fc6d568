//! `predict`: what plans would do on storage that is described rather than there.

use crate::arguments::{CachesName, Hours, PredictArguments};
use crate::conclusion::{conclude, conclude_search};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::schema::Schema;
use crate::sweep::{RowsPlace, SweepView};
use crate::terminal::Terminal;
use crate::typed_plan::read_plans;
use crate::typed_settings::named_targets;
use crate::{compare, dry_run, environments, output, printing};
use loadline_catalog::Environment;
use loadline_disk::Fullness;
use loadline_prediction::Model;
use loadline_report::words::sweep::{PredictedRate, SpentBurst, SweptPredictions, predictions_lines};
use loadline_runs::sweep::{
    PredictionSweep, RowFigures, SweepMethod, SweptEnvironment, described_in, prediction_frame,
};
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{
    Course, InputKind, NamedTarget, ObjectiveSearch, Overrides, PlanLength, Prediction, PredictionSettings, RunOptions,
    Work, catalog_with, check_predictable,
};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan};
use std::path::{Path, PathBuf};

/// The seed of a sweep where none is typed.
const SWEEP_SEED: u64 = 1;
/// The columns of a sweep that people are shown.
const SHOWN: [(&str, &str); 14] = [
    ("environment", "environment"),
    ("volume", "volume"),
    ("label", "load"),
    ("iops", "IOPS"),
    ("iops_low", "low"),
    ("iops_high", "high"),
    ("latency_mean_ns", "mean"),
    ("latency_p99_ns", "p99"),
    ("binding_limit", "limit"),
    ("next_limit", "next"),
    ("burst_iops", "in its burst"),
    ("burst_ends_s", "burst ends after s"),
    ("lasting_iops", "for good"),
    ("problem", "problem"),
];

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
    let folder = match arguments.env.as_slice() {
        [one] => Some(Path::new(one)).filter(|path| path.is_dir()),
        _ => None,
    };
    if folder.is_some() || arguments.limits_only {
        return many(arguments, folder, quiet);
    }
    if let Some(option) = arguments.sweep.typed().or(arguments.rows.output.as_ref().map(|_| "--output")) {
        return Err(
            Usage(format!("{option} is of a folder of environments (--env FOLDER), or of --limits-only")).into()
        );
    }
    if arguments.env.len() > 1 {
        return side_by_side(arguments, quiet, store);
    }
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

/// Refuses what is of one environment.
fn one_environment(arguments: &PredictArguments) -> Result<(), Usage> {
    let asked = [("--dry-run", arguments.dry_run), ("--find-objective", arguments.find_objective)];
    match asked.into_iter().find(|(_, is_asked)| *is_asked) {
        Some((option, _)) => {
            Err(Usage(format!("{option} takes one environment: give --env once, with a file or a name")))
        }
        None => Ok(()),
    }
}

/// The plan on each of several environments by the same random choices, each a run of its own, and all of them compared.
fn side_by_side(
    arguments: &PredictArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    one_environment(arguments)?;
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    // All of them are read before the first is predicted.
    let each =
        arguments.env.iter().map(|env| typed_on(arguments, env, seed)).collect::<anyhow::Result<Vec<Typed>>>()?;
    for Typed { plans, settings, models, .. } in &each {
        check_predictable(settings, &settings.work(plans.clone(), seed)?, &models[0])?;
    }
    let options = RunOptions { name: arguments.name.clone(), seed: Some(seed), store: Some(store()?) };
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let mut records = Vec::new();
    for Typed { plans, environment, settings, .. } in each {
        let outcome = Prediction::of(plans, environment, settings).run(&options, &mut terminal)?;
        if !outcome.ended.is_complete() {
            return conclude(&outcome, arguments.printing.format);
        }
        records.push(outcome.record);
    }
    let comparison = compare::usual(&records)?;
    output::print(&printing::comparison(&comparison, arguments.printing.format))?;
    Ok(Outcome::Done)
}

/// A row for each environment of a folder, volume and load; or of a single environment by limits alone.
fn many(arguments: &PredictArguments, folder: Option<&Path>, quiet: bool) -> anyhow::Result<Outcome> {
    one_environment(arguments)?;
    let environments = match folder {
        Some(folder) => described_in(folder, InputKind::Environment)?
            .into_iter()
            .map(|path| SweptEnvironment::Named(path.display().to_string()))
            .collect(),
        None => arguments.env.iter().cloned().map(SweptEnvironment::Named).collect(),
    };
    let sweep = sweep_of(arguments, environments)?;
    let place = RowsPlace::claim(arguments.rows.output.as_deref(), arguments.rows.force, arguments.printing.format)?;
    let progress = SweepView::new(quiet)?;
    let part = arguments.sweep.part();
    let rows = match progress.ended(sweep.run(part, arguments.sweep.threads, &progress)) {
        Ok(rows) => rows,
        Err(outcome) => return Ok(outcome),
    };
    place.put(&prediction_frame(&rows), &SHOWN, Schema::PredictionRows)?;
    let problems: Vec<&str> = rows.iter().filter_map(|row| row.problem.as_deref()).collect();
    let figures = || rows.iter().map(|row| &row.figures);
    let lines = predictions_lines(&SweptPredictions {
        rows: rows.len() - problems.len(),
        environments: part.of(sweep.len()).len(),
        part: arguments.sweep.part.map(|part| part.to_string()).as_deref(),
        limits_only: arguments.limits_only,
        limits: figures().filter_map(|figures| figures.binding.as_ref()).map(|(limit, _)| limit.as_str()).collect(),
        rates: figures().filter_map(rate).collect(),
        spent_column: "burst_ends_s",
    });
    place.conclude(lines, &problems, quiet)
}

/// The rate of a row, with both of its levels where a burst ends within it.
fn rate(figures: &RowFigures) -> Option<PredictedRate> {
    let (before, lasting) = (figures.burst_iops, figures.lasting_iops);
    let spent = figures.burst_ends_s.map(|after_s| SpentBurst { after_s, before, lasting });
    Some(PredictedRate { mean: figures.iops?, spent })
}

/// The sweep that was typed. Without a seed it has the same one everywhere, so that parts belong together.
pub(crate) fn sweep_of(
    arguments: &PredictArguments,
    environments: Vec<SweptEnvironment>,
) -> anyhow::Result<PredictionSweep> {
    let mut settings = settings_of(arguments);
    settings.volumes = chosen(arguments)?;
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let (plans, _) = read_plans(&arguments.plan, length)?;
    let method = if arguments.limits_only { SweepMethod::Limits } else { SweepMethod::Simulation };
    Ok(PredictionSweep::new(environments, plans, settings, method, arguments.seed.unwrap_or(SWEEP_SEED))?)
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
    let [env] = arguments.env.as_slice() else {
        return Err(Usage("this takes one environment: give --env once".to_owned()).into());
    };
    typed_on(arguments, env, arguments.seed.unwrap_or_else(fresh_seed))
}

fn typed_on(arguments: &PredictArguments, typed: &str, seed: u64) -> anyhow::Result<Typed> {
    let mut settings = settings_of(arguments);
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
