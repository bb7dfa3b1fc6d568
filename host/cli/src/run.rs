//! `run`: measures plans on volumes, or carries on with a run that was stopped.

use crate::arguments::{Format, RunArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::terminal::Terminal;
use crate::{catalog, dry_run, environments, hunt, output, printing, search, typed_settings, words};
use anyhow::{Context, bail};
use loadline_analysis::RunSummary;
use loadline_record::{Clock, RunHeader, RunRecord, RunStatus, RunVerb};
use loadline_runs::open_volumes::{self, OpenVolumes};
use loadline_runs::{
    Ahead, DeclaredEnvironment, Ended, Error, Event, MeasuredTrials, Observer, PendingStore, PlanLength, Refusal,
    RunStore, Settings, Tried, Work, leftovers, read_again, refuse_impossible, sole_target, target_named, wall_clock,
};
use loadline_store::Store;
use loadline_units::{Bytes, Duration};
use loadline_workload::{Plan, RunCell};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How a verb reports while it works.
pub(crate) struct Manner {
    /// No progress.
    pub(crate) quiet: bool,
    /// How results are printed.
    pub(crate) format: Format,
}

/// A run that is about to begin.
pub(crate) struct Beginning {
    /// Its id.
    pub(crate) id: String,
    /// What to call it.
    pub(crate) name: String,
    /// The verb that makes it.
    pub(crate) verb: RunVerb,
    /// The seed of every random choice.
    pub(crate) seed: u64,
    /// What it was told.
    pub(crate) settings: Settings,
    /// What it does.
    pub(crate) work: Work,
    /// The environment that it was told of.
    pub(crate) declared: Option<DeclaredEnvironment>,
}

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
    if settings.targets.is_empty() {
        return Err(Refusal::NoTarget.into());
    }
    if let Some(declared) = &declared {
        declared.check(&settings.targets)?;
    }
    let work = Work::of(plans, &settings.scope(), seed)?;
    for load in &work.left_out {
        Terminal::new(quiet, &Interruption::default()).says(&Event::LeftOut { load });
    }
    if arguments.find_objective {
        let manner = Manner { quiet, format: arguments.printing.format };
        return search::measured(name, settings, work, seed, store()?, &manner);
    }
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let directories = settings.clone();
    let id = wall_clock::run_id(wall_clock::UtcTime::now());
    let own = id.clone();
    let store = PendingStore::start(store()?, move |store| leftovers::of_no_run(&directories, store, &own));
    let opened = open_volumes::open(&work, &settings, &id, &[], &mut terminal)?;
    refuse_cells(&work, &settings, &opened)?;
    open_volumes::report_unfilled(&opened, &work, &mut terminal);
    let beginning = Beginning { id, name, verb: RunVerb::Run, seed, settings, work, declared };
    let manner = Manner { quiet, format: arguments.printing.format };
    begin(beginning, opened, store, &mut terminal, &manner, &|_, _| Ok(()))
}

/// Refuses a run of which some cells cannot be run on what was opened, before anything is filled or stored.
///
/// # Errors
/// [`Refusal::Impossible`], which names the cells.
pub(crate) fn refuse_cells(work: &Work, settings: &Settings, opened: &OpenVolumes) -> Result<(), Refusal> {
    let cells: Vec<&RunCell> = work.cells.iter().filter(|cell| opened.contains_key(&cell.volume)).collect();
    let labels: Vec<String> = cells.iter().map(|cell| settings.named(&cell.spec, &cell.volume)).collect();
    let options = settings.engine;
    let volume_of = |cell: &RunCell| opened[&cell.volume].volume_for(&cell.spec);
    refuse_impossible(volume_of, cells.into_iter().zip(&labels).map(|(cell, label)| Tried { cell, label, options }))
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
        return conclude(&store, &id, Ended::Complete, format, &|_, _| Ok(()));
    }
    match stored.header.verb {
        RunVerb::Hunt => return hunt::resume(&stored, format, quiet, store, claim),
        RunVerb::Search if stored.header.clock == Clock::Real => {
            return search::resume_measured(&stored, &Manner { quiet, format }, RunStore::ready(store, claim));
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
    let settings = settings_of(&stored)?;
    let work = work_of(&stored, &settings)?;
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    remove_leftovers(&id, &settings, &mut terminal)?;
    let opened = open_volumes::open(&work, &settings, &id, &stored.header.volumes, &mut terminal)?;
    let finished = store.finished_trials(&id)?;
    let seed = stored.header.seed;
    let mut run_store = RunStore::ready(store, claim);
    let going = Going { run: &id, seed, settings: &settings, work: &work };
    let ended = execute(going, &mut run_store, opened, &finished, &mut terminal)?;
    if ended.is_complete() && stored.header.verb == RunVerb::Quick {
        output::tell(&format!("its report, as a page: loadline report {id} -o loadline-report.html"));
    }
    conclude(run_store.store()?, &id, ended, format, &|_, _| Ok(()))
}

/// Removes the test files that a run left behind when it was cut off, and says so.
pub(crate) fn remove_leftovers(run: &str, settings: &Settings, observer: &mut dyn Observer) -> Result<(), Error> {
    for leftover in leftovers::of_run(run, settings) {
        leftovers::remove(&leftover)?;
        observer.says(&Event::LeftoverRemoved { path: &leftover.path });
    }
    Ok(())
}

/// How a run that decides what to try as its figures come in is carried on with.
pub(crate) fn tell_how_to_go_on(run: &str) {
    output::tell(&format!("interrupted; what was finished is kept. Carry on with: loadline run --resume {run}"));
}

/// What a stored run was told beside its plans.
pub(crate) fn settings_of(stored: &RunRecord) -> anyhow::Result<Settings> {
    if stored.header.clock == Clock::Virtual {
        return Err(Refusal::IsPrediction { run: stored.header.id.clone() }.into());
    }
    serde_json::from_value(stored.header.settings.clone()).with_context(|| {
        format!("the settings of run {} are not of this version of loadline; measure it anew", stored.header.id)
    })
}

/// What a stored run had to do, made from its plans once more.
pub(crate) fn work_of(stored: &RunRecord, settings: &Settings) -> anyhow::Result<Work> {
    let plans = stored.header.plans.iter().map(read_again).collect::<Result<Vec<_>, _>>()?;
    let work = Work::of(plans, &settings.scope(), stored.header.seed)?;
    if !work.cells.iter().map(|cell| &cell.id).eq(stored.cells.iter().map(|cell| &cell.id)) {
        let RunHeader { id, version, .. } = &stored.header;
        bail!("this version of loadline reads the plan of run {id} otherwise than version {version}; measure it anew");
    }
    Ok(work)
}

/// What is done with a run's record before it is printed: printing may end with a closed output.
pub(crate) type Keep<'a> = &'a dyn Fn(&RunRecord, &RunSummary) -> anyhow::Result<()>;

/// Stores the new run's header and cells, runs all of it, lets `keep` have what came out, and prints it.
pub(crate) fn begin(
    beginning: Beginning,
    opened: OpenVolumes,
    store: PendingStore,
    observer: &mut dyn Observer,
    manner: &Manner,
    keep: Keep<'_>,
) -> anyhow::Result<Outcome> {
    let Beginning { id, name, verb, seed, settings, work, declared } = beginning;
    let records = match &declared {
        Some(declared) => declared.records(&work, |cell| opened[&cell.volume].facts().size_bytes.map(Bytes::new))?,
        None => work.records(),
    };
    let header = RunHeader {
        id,
        name,
        verb,
        clock: Clock::Real,
        started: wall_clock::UtcTime::now().rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed,
        imported: None,
        host: loadline_kernel::facts::host(),
        plans: work.plans.clone(),
        environment: declared.as_ref().map(DeclaredEnvironment::text),
        volumes: settings.targets.iter().map(|t| opened[&t.volume].facts()).collect(),
        settings: serde_json::to_value(settings.standing()).context("settings are plain data")?,
    };
    let run = header.id.clone();
    let mut run_store = store.begin(header, records)?;
    let going = Going { run: &run, seed, settings: &settings, work: &work };
    let ended = execute(going, &mut run_store, opened, &BTreeSet::new(), observer)?;
    conclude(run_store.store()?, &run, ended, manner.format, keep)
}

/// A run under way.
#[derive(Clone, Copy)]
struct Going<'a> {
    run: &'a str,
    seed: u64,
    settings: &'a Settings,
    work: &'a Work,
}

/// Runs what is left and stores how it ended, also when it ends with an error. Test files go before that: of a run that is
/// over nobody would look for them. And before anything is printed: what follows may end with a closed output.
fn execute(
    going: Going<'_>,
    run_store: &mut RunStore,
    mut opened: OpenVolumes,
    finished: &BTreeSet<(String, u32)>,
    observer: &mut dyn Observer,
) -> Result<Ended, Error> {
    let Going { run, seed, settings, work } = going;
    let ahead = ahead(work, finished, &opened);
    observer.says(&Event::RunBegins { run, seed, ahead });
    if settings.keep {
        open_volumes::keep(&mut opened);
    }
    let mut trials = MeasuredTrials { store: run_store, run, seed, settings, volumes: &mut opened, observer };
    let result = trials.run(work, finished);
    observer.says(&Event::Idle);
    open_volumes::close(opened, observer);
    let status = Ended::status(&result);
    let stored = run_store.store().and_then(|store| Ok(store.set_status(run, status)?));
    match result {
        Ok(ended) => stored.map(|()| ended),
        Err(error) => Err(Error::RunEndedEarly { run: run.to_owned(), source: Box::new(error) }),
    }
}

/// How long what is not `finished` takes.
fn ahead(work: &Work, finished: &BTreeSet<(String, u32)>, opened: &OpenVolumes) -> Ahead {
    let left = || work.left(finished).map(|step| &work.cells[step.cell]);
    let time: Duration = left().map(|cell| cell.spec.trial_time()).sum();
    let fills = open_volumes::filled_before(opened, left());
    Ahead::Measured { time, fill: fills.into_values().fold(Bytes::ZERO, |sum, size| sum + size) }
}

/// Why trials are missing, volume by volume.
fn why_broken(given_up: &[(String, String)], not_started: &[Error]) -> String {
    let mut why: Vec<String> = given_up.iter().map(|(volume, why)| format!("volume {volume}: {why}")).collect();
    if let Some(first) = not_started.first() {
        let more = match not_started.len() {
            1 => String::new(),
            all => format!(" (and {} trials more)", all - 1),
        };
        why.push(format!("{}{more}", words::in_a_line(first)));
    }
    why.join("; ")
}

/// Keeps and prints what is there and says how it came out.
pub(crate) fn conclude(
    store: &Store,
    run: &str,
    ended: Ended,
    format: Format,
    keep: Keep<'_>,
) -> anyhow::Result<Outcome> {
    let record = store.load(run)?;
    let summary = loadline_analysis::summarize(&record);
    if record.cells.iter().any(|cell| !cell.trials.is_empty()) {
        let kept = keep(&record, &summary);
        output::print(&printing::summary(&summary, format))?;
        kept?;
    }
    let outcome = match ended {
        Ended::Complete => match loadline_analysis::trials_cut_short(&record) {
            0 => Outcome::from(loadline_analysis::run_verdict(&record)),
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
            let why = why_broken(&given_up, &not_started);
            output::tell(&format!(
                "the run ended early: {why}. What was finished is kept; when that is mended, carry on with: \
                 loadline run --resume {run}"
            ));
            Outcome::Failed
        }
    };
    Ok(outcome)
}

pub(crate) fn joined_names(plans: &[Plan]) -> String {
    plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>().join(" + ")
}
