//! `run`: measures plans on volumes, or carries on with a run that was stopped.

use crate::arguments::run::RunArguments;
use crate::conclusion::{conclude, conclude_search};
use crate::failure::Outcome;
use crate::interruption::Interruption;
use crate::terminal::Terminal;
use crate::typed_plan::read_plans;
use crate::{dry_run, environments, typed_settings};
use loadline_record::RunVerb;
use loadline_runs::{
    DeclaredEnvironment, Measurement, NamedTarget, ObjectiveSearch, PlanLength, RunOptions, Settings, Work,
    catalog_with, check_targets, sole_target, wall_clock,
};
use loadline_workload::Plan;
use std::path::PathBuf;

/// `run PLAN...`, not resumed: prints the plan, or measures it.
pub(crate) fn run(
    arguments: &RunArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if arguments.dry_run {
        let mut settings = typed_settings::of_run(arguments)?;
        declared(arguments)?;
        let seed = arguments.driving.seed.unwrap_or_else(wall_clock::fresh_seed);
        let (plans, named) = read_plans(&arguments.plan, length(arguments))?;
        // A plan that is only printed needs no target.
        if settings.targets.is_empty() {
            settings.targets = if named.is_empty() { anywhere(&plans) } else { named };
        }
        let work = Work::of(plans, &settings.scope(), seed)?;
        dry_run::print(&work, Some(&settings), arguments.printing.format)?;
        if !arguments.on.is_empty() {
            check_targets(&work, &settings, &mut Terminal::new(quiet, &Interruption::default()))?;
        }
        return Ok(Outcome::Done);
    }
    let format = arguments.printing.format;
    let Typed { plans, settings, declared, options } = typed(arguments, store)?;
    let terminal = Terminal::following(&RunVerb::Run, &arguments.live, quiet)?;
    let mut terminal = terminal.agreeing(arguments.driving.yes);
    let concluded = if arguments.find_objective {
        let outcome = ObjectiveSearch::measured(plans, settings, declared).run(&options, &mut terminal);
        terminal.close();
        conclude_search(outcome, format)
    } else {
        let outcome = starting(arguments, measurement(plans, settings, declared)).run(&options, &mut terminal);
        terminal.close();
        conclude(&outcome?, format)
    };
    terminal.print_command()?;
    concluded
}

/// What `run` was told to measure.
struct Typed {
    plans: Vec<Plan>,
    settings: Settings,
    declared: Option<DeclaredEnvironment>,
    options: RunOptions,
}

fn typed(arguments: &RunArguments, store: impl FnOnce() -> anyhow::Result<PathBuf>) -> anyhow::Result<Typed> {
    let mut settings = typed_settings::of_run(arguments)?;
    let declared = declared(arguments)?;
    if let Some(declared) = declared.as_ref().filter(|_| settings.targets.is_empty()) {
        settings.targets = declared.targets()?;
    }
    let seed = arguments.driving.seed.unwrap_or_else(wall_clock::fresh_seed);
    let (plans, named) = read_plans(&arguments.plan, length(arguments))?;
    if settings.targets.is_empty() {
        settings.targets = named;
    }
    let options = RunOptions { name: arguments.name.clone(), seed: Some(seed), store: Some(store()?) };
    Ok(Typed { plans, settings, declared, options })
}

fn measurement(plans: Vec<Plan>, settings: Settings, declared: Option<DeclaredEnvironment>) -> Measurement {
    let measurement = Measurement::of(plans, settings);
    match declared {
        Some(declared) => measurement.declared(declared),
        None => measurement,
    }
}

/// The same, with the start that was agreed on.
fn starting(arguments: &RunArguments, measurement: Measurement) -> Measurement {
    match arguments.start_at {
        Some(start) => measurement.starting_at(start),
        None => measurement,
    }
}

/// The measurement that was typed, for a caller that follows it itself.
pub(crate) fn prepared(
    arguments: &RunArguments,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(Measurement, RunOptions)> {
    let Typed { plans, settings, declared, options } = typed(arguments, store)?;
    Ok((starting(arguments, measurement(plans, settings, declared)), options))
}

const fn length(arguments: &RunArguments) -> PlanLength {
    if arguments.short { PlanLength::Short } else { PlanLength::Full }
}

/// A place for each volume that loads of the plans name, or for the usual one.
fn anywhere(plans: &[Plan]) -> Vec<NamedTarget> {
    let mut volumes: Vec<&String> =
        plans.iter().flat_map(|plan| &plan.loads).filter_map(|load| load.on.as_ref()).collect();
    volumes.sort_unstable();
    volumes.dedup();
    if volumes.is_empty() {
        return sole_target(".");
    }
    volumes.into_iter().map(|volume| NamedTarget { volume: volume.clone(), target: ".".to_owned() }).collect()
}

/// The environment of `--env`.
fn declared(arguments: &RunArguments) -> anyhow::Result<Option<DeclaredEnvironment>> {
    let Some(typed) = &arguments.env else { return Ok(None) };
    let environment = environments::read(typed, &catalog_with(arguments.own.catalog.as_deref())?)?;
    Ok(Some(DeclaredEnvironment::new(environment)))
}
