//! `run`: measures plans on volumes, or carries on with a run that was stopped.

use crate::arguments::{Format, RunArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::recommendations::summarized;
use crate::terminal::Terminal;
use crate::{catalog, dry_run, environments, hunt, output, printing, typed_settings, words};
use loadline_record::{Clock, RunStatus, RunVerb};
use loadline_runs::{
    DeclaredEnvironment, Ended, Error, Event, Loss, Measurement, Observer, PlanLength, Refusal, RunOutcome, RunStore,
    Work, joined_names, open_volumes, refuse_cells, resume_measurement, resume_search, search_measured, sole_target,
    target_named, wall_clock,
};
use loadline_store::Store;
use loadline_workload::Plan;
use std::path::PathBuf;

/// `run PLAN...`, not resumed: prints the plan, or measures it.
pub(crate) fn run(
    arguments: &RunArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let mut settings = typed_settings::of_run(arguments)?;
    let declared = declared(arguments)?;
    if let Some(declared) = declared.as_ref().filter(|_| settings.targets.is_empty() && !arguments.dry_run) {
        settings.targets = declared.targets()?;
    }
    let seed = arguments.driving.seed.unwrap_or_else(wall_clock::fresh_seed);
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let plans: Vec<Plan> = arguments.plan.iter().map(|typed| read_plan(typed, length)).collect::<Result<_, _>>()?;
    let name = arguments.name.clone().unwrap_or_else(|| joined_names(&plans));
    if arguments.dry_run {
        // A plan that is only printed needs no target.
        if settings.targets.is_empty() {
            settings.targets = sole_target(".");
        }
        let work = Work::of(plans, &settings.scope(), seed)?;
        dry_run::print(&work, Some(&settings), arguments.printing.format)?;
        if !arguments.on.is_empty() {
            open_volumes::check_loads(&work, &settings)?;
            let mut terminal = Terminal::new(quiet, &Interruption::default());
            refuse_cells(&work, &settings, &open_volumes::look(&work, &settings, &mut terminal))?;
        }
        return Ok(Outcome::Done);
    }
    if settings.targets.is_empty()
        && let Some(target) = arguments.plan.iter().find_map(|typed| target_named(typed))
    {
        settings.targets = sole_target(&target);
    }
    let format = arguments.printing.format;
    if arguments.find_objective {
        settings.check()?;
        if let Some(declared) = &declared {
            declared.check(&settings.targets)?;
        }
        let work = Work::of(plans, &settings.scope(), seed)?;
        for load in &work.left_out {
            Terminal::new(quiet, &Interruption::default()).says(&Event::LeftOut { load });
        }
        let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
        return conclude_search(search_measured(name, settings, work, seed, store()?, &mut terminal), format);
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let measurement = Measurement::of(plans, settings).named(name).seeded(seed).stored_in(store()?);
    let measurement = match declared {
        Some(declared) => measurement.declared(declared),
        None => measurement,
    };
    conclude(&measurement.run(&mut terminal)?, format)
}

/// Reads a plan, and says what of a job file means something else here.
pub(crate) fn read_plan(typed: &str, length: PlanLength) -> Result<Plan, Refusal> {
    let read = loadline_runs::read_plan(typed, length)?;
    for note in &read.notes {
        output::tell(&format!("{typed}: {note}"));
    }
    Ok(read.plan)
}

/// The environment of `--env`.
fn declared(arguments: &RunArguments) -> anyhow::Result<Option<DeclaredEnvironment>> {
    let Some(typed) = &arguments.env else { return Ok(None) };
    let environment = environments::read(typed, &catalog::with_folder(arguments.own.catalog.as_deref())?)?;
    Ok(Some(DeclaredEnvironment::new(environment)))
}

/// `run --resume RUN`.
pub(crate) fn resume(typed: &str, format: Format, quiet: bool, store: Store) -> anyhow::Result<Outcome> {
    let id = store.resolve(typed)?;
    let claim = store.claim(&id)?;
    let stored = store.load(&id)?;
    if stored.status == RunStatus::Finished {
        output::tell(&format!("run {id} is finished: nothing is left to do"));
        return conclude(&RunOutcome { record: stored, ended: Ended::Complete }, format);
    }
    match stored.header.verb {
        RunVerb::Hunt => return hunt::resume(&stored, format, quiet, store, claim),
        RunVerb::Search if stored.header.clock == Clock::Real => {
            let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
            return conclude_search(resume_search(&stored, RunStore::ready(store, claim), &mut terminal), format);
        }
        RunVerb::Emulate => {
            return Err(Usage(format!(
                "run {id} is an emulation that was killed: what applications asked of it cannot be asked again; `loadline show {id}` \
                 has what it did, and `loadline emulate` begins another"
            ))
            .into());
        }
        _ => {}
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let outcome = resume_measurement(store, claim, &stored, &mut terminal)?;
    if outcome.ended.is_complete() && stored.header.verb == RunVerb::Quick {
        output::tell(&format!("its report, as a page: loadline report {id} -o loadline-report.html"));
    }
    conclude(&outcome, format)
}

/// Prints what a search found, also where it ended early.
pub(crate) fn conclude_search(outcome: Result<RunOutcome, Error>, format: Format) -> anyhow::Result<Outcome> {
    if let Err(Error::SearchEndedEarly { record, .. }) = &outcome
        && record.cells.iter().any(|cell| !cell.trials.is_empty())
    {
        output::print(&printing::summary(&summarized(record), format))?;
    }
    conclude(&outcome?, format)
}

/// How a run that decides what to try as its figures come in is carried on with.
pub(crate) fn tell_how_to_go_on(run: &str) {
    output::tell(&format!("interrupted; what was finished is kept. Carry on with: loadline run --resume {run}"));
}

/// Why trials are missing, volume by volume.
fn why_broken(given_up: &[(String, Loss)], not_started: &[Error]) -> String {
    let mut why: Vec<String> =
        given_up.iter().map(|(volume, why)| format!("volume {volume}: {}", words::lost(why))).collect();
    if let Some(first) = not_started.first() {
        let more = match not_started.len() {
            1 => String::new(),
            all => format!(" (and {} trials more)", all - 1),
        };
        why.push(format!("{}{more}", words::in_a_line(first)));
    }
    why.join("; ")
}

/// Prints what is there and says how it came out.
pub(crate) fn conclude(outcome: &RunOutcome, format: Format) -> anyhow::Result<Outcome> {
    let RunOutcome { record, ended } = outcome;
    let run = &record.header.id;
    if record.cells.iter().any(|cell| !cell.trials.is_empty()) {
        output::print(&printing::summary(&summarized(record), format))?;
    }
    let outcome = match ended {
        Ended::Complete => match loadline_analysis::trials_cut_short(record) {
            0 => Outcome::from(loadline_analysis::run_verdict(record)),
            trials => {
                let trials = if trials == 1 { "1 trial was".to_owned() } else { format!("{trials} trials were") };
                output::tell(&format!("{trials} cut short by errors; the doubts say which and why"));
                Outcome::Failed
            }
        },
        Ended::Interrupted => {
            output::tell(&format!(
                "interrupted; what was finished is kept. Carry on with: loadline {} --resume {run}",
                if record.header.clock == Clock::Virtual { "predict" } else { "run" }
            ));
            Outcome::Interrupted
        }
        Ended::Broken { given_up, not_started } => {
            let why = why_broken(given_up, not_started);
            output::tell(&format!(
                "the run ended early: {why}. What was finished is kept; when that is mended, carry on with: \
                 loadline run --resume {run}"
            ));
            Outcome::Failed
        }
    };
    Ok(outcome)
}
