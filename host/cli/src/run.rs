//! `run`: measures plans on volumes, or carries on with a run that was stopped.

use crate::arguments::{Format, RunArguments};
use crate::books::{Books, Opening};
use crate::declared::Declared;
use crate::execution::{Ended, Execution};
use crate::failure::{Outcome, Usage};
use crate::impossible::{self, Tried};
use crate::interruption::Interruption;
use crate::leftovers;
use crate::live::Live;
use crate::moment::{self, Moment};
use crate::preparation::{Length, Work, label, read_again, read_plan, target_named};
use crate::settings::{Settings, sole_target};
use crate::volumes::{self, OpenVolumes};
use crate::{catalog, dry_run, environments, filling, hunt, output, printing, search};
use anyhow::{Context, bail};
use loadline_analysis::RunSummary;
use loadline_record::{Clock, RunHeader, RunRecord, RunStatus};
use loadline_store::Store;
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, Plan, RunCell};
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
    pub(crate) verb: &'static str,
    /// The seed of every random choice.
    pub(crate) seed: u64,
    /// What it was told.
    pub(crate) settings: Settings,
    /// What it does.
    pub(crate) work: Work,
    /// The environment that it was told of.
    pub(crate) declared: Option<Declared>,
}

/// `run PLAN...`, not resumed: prints the plan, or measures it.
pub(crate) fn run(
    arguments: &RunArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let mut settings = Settings::of_run(arguments)?;
    let declared = declared(arguments)?;
    if let Some(declared) = declared.as_ref().filter(|_| settings.targets.is_empty() && !arguments.dry_run) {
        settings.targets = declared.targets()?;
    }
    let seed = arguments.driving.seed.unwrap_or_else(moment::fresh_seed);
    let length = if arguments.short { Length::Short } else { Length::Full };
    let plans: Vec<Plan> =
        arguments.plan.iter().map(|typed| read_plan(typed, length)).collect::<anyhow::Result<_>>()?;
    let name = arguments.name.clone().unwrap_or_else(|| joined_names(&plans));
    if arguments.dry_run {
        settings.targets_or_default();
        let work = Work::of(plans, &settings.scope(), seed)?;
        dry_run::print(&work, Some(&settings), arguments.printing.format)?;
        if !arguments.on.is_empty() {
            volumes::check_loads(&work, &settings)?;
            refuse_impossible(&work, &settings, &volumes::look(&work, &settings))?;
        }
        return Ok(Outcome::Done);
    }
    if settings.targets.is_empty()
        && let Some(target) = arguments.plan.iter().find_map(|typed| target_named(typed))
    {
        settings.targets = sole_target(&target);
    }
    if settings.targets.is_empty() {
        return Err(Usage("say what to measure: --on PATH, or --on VOLUME=PATH for each of several".into()).into());
    }
    declared.as_ref().map_or(Ok(()), |declared| declared.check(&settings.targets))?;
    let work = Work::of(plans, &settings.scope(), seed)?;
    for load in &work.left_out {
        output::tell(&format!("left out, because --read-only forbids writing: {load}"));
    }
    if arguments.find_objective {
        let manner = Manner { quiet, format: arguments.printing.format };
        return search::measured(name, settings, work, seed, store()?, &manner);
    }
    let interruption = Interruption::watch()?;
    let directories = settings.clone();
    let id = moment::run_id(Moment::now());
    let own = id.clone();
    let store = Opening::start(store()?, move |store| tell_of_strangers(&directories, store, &own));
    let opened = volumes::open(&work, &settings, &id, &[], &interruption)?;
    refuse_impossible(&work, &settings, &opened)?;
    if !quiet {
        volumes::tell_unfilled(&opened, &work);
    }
    let beginning = Beginning { id, name, verb: "run", seed, settings, work, declared };
    let manner = Manner { quiet, format: arguments.printing.format };
    begin(beginning, opened, store, &interruption, &manner, &|_, _| Ok(()))
}

/// Refuses a run of which some cells cannot be run on what was opened, before anything is filled or stored.
///
/// # Errors
/// [`Usage`], which names the cells.
pub(crate) fn refuse_impossible(work: &Work, settings: &Settings, opened: &OpenVolumes) -> Result<(), Usage> {
    let cells: Vec<&RunCell> = work.cells.iter().filter(|cell| opened.contains_key(&cell.volume)).collect();
    let labels: Vec<String> = cells.iter().map(|cell| named(&cell.spec, &cell.volume, settings)).collect();
    let options = settings.engine;
    let volume_of = |cell: &RunCell| opened[&cell.volume].volume_for(&cell.spec);
    impossible::refuse(volume_of, cells.into_iter().zip(&labels).map(|(cell, label)| Tried { cell, label, options }))
}

/// A load for people, with its volume where there are several.
pub(crate) fn named(spec: &LoadSpec, volume: &str, settings: &Settings) -> String {
    let on = if settings.targets.len() > 1 { format!(" on {volume}") } else { String::new() };
    label(spec) + &on
}

/// The environment of `--env`.
fn declared(arguments: &RunArguments) -> anyhow::Result<Option<Declared>> {
    let Some(typed) = &arguments.env else { return Ok(None) };
    let environment = environments::read(typed, &catalog::with_folder(arguments.own.catalog.as_deref())?)?;
    Ok(Some(Declared::new(environment)))
}

/// Names test files that belong to no run.
fn tell_of_strangers(settings: &Settings, store: &Store, own: &str) {
    for leftover in leftovers::of_no_run(settings, store, own) {
        output::tell(&format!(
            "{} ({}) looks like a test file of a run that was killed as it began; if no loadline is at work there, remove it",
            leftover.path.display(),
            leftover.size.human()
        ));
    }
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
    match stored.header.verb.as_str() {
        hunt::VERB => return hunt::resume(&stored, format, quiet, store, claim),
        search::VERB if stored.header.clock == Clock::Real => {
            return search::resume_measured(&stored, &Manner { quiet, format }, Books::ready(store, claim));
        }
        "emulate" => {
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
    let interruption = Interruption::watch()?;
    remove_leftovers(&id, &settings)?;
    let opened = volumes::open(&work, &settings, &id, &stored.header.volumes, &interruption)?;
    let finished = store.finished_trials(&id)?;
    let seed = stored.header.seed;
    let mut books = Books::ready(store, claim);
    let going = Going { run: &id, seed, settings: &settings, work: &work, quiet, interruption: &interruption };
    let ended = execute(going, &mut books, opened, &finished)?;
    if ended == Ended::Complete && stored.header.verb == "quick" {
        output::tell(&format!("its report, as a page: loadline report {id} -o loadline-report.html"));
    }
    conclude(books.store()?, &id, ended, format, &|_, _| Ok(()))
}

/// Removes the test files that a run left behind when it was cut off, and says so.
pub(crate) fn remove_leftovers(run: &str, settings: &Settings) -> anyhow::Result<()> {
    for leftover in leftovers::of_run(run, settings) {
        leftovers::remove(&leftover)?;
        output::tell(&format!(
            "removed {}, a test file that the run left when it was cut off",
            leftover.path.display()
        ));
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
        let text = format!(
            "run {0} is a prediction, with nothing to measure: carry on with `loadline predict --resume {0}`",
            stored.header.id
        );
        return Err(Usage(text).into());
    }
    serde_json::from_value(stored.header.settings.clone()).with_context(|| {
        format!("the settings of run {} are not of this version of loadline; measure it anew", stored.header.id)
    })
}

/// What a stored run had to do, made from its plans once more.
pub(crate) fn work_of(stored: &RunRecord, settings: &Settings) -> anyhow::Result<Work> {
    let plans = stored.header.plans.iter().map(read_again).collect::<anyhow::Result<Vec<_>>>()?;
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
    store: Opening,
    interruption: &Interruption,
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
        verb: verb.into(),
        clock: Clock::Real,
        started: Moment::now().rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed,
        imported: None,
        host: loadline_kernel::facts::host(),
        plans: work.plans.clone(),
        environment: declared.as_ref().map(Declared::text),
        volumes: settings.targets.iter().map(|t| opened[&t.volume].facts()).collect(),
        settings: serde_json::to_value(settings.standing()).context("settings are plain data")?,
    };
    let run = header.id.clone();
    let mut books = store.begin(header, records)?;
    let going = Going { run: &run, seed, settings: &settings, work: &work, quiet: manner.quiet, interruption };
    let ended = execute(going, &mut books, opened, &BTreeSet::new())?;
    conclude(books.store()?, &run, ended, manner.format, keep)
}

/// A run under way.
#[derive(Clone, Copy)]
struct Going<'a> {
    run: &'a str,
    seed: u64,
    settings: &'a Settings,
    work: &'a Work,
    quiet: bool,
    interruption: &'a Interruption,
}

/// Runs what is left and stores how it ended, also when it ends with an error. Test files go before that: of a run that is
/// over nobody would look for them. And before anything is printed: what follows may end with a closed output.
fn execute(
    going: Going<'_>,
    books: &mut Books,
    mut opened: OpenVolumes,
    finished: &BTreeSet<(String, u32)>,
) -> anyhow::Result<Ended> {
    let Going { run, seed, settings, work, quiet, interruption } = going;
    let mut live = Live::new(quiet);
    live.say(&format!("run {run}, seed {seed}: {}", foretold(work, finished, &opened)));
    if settings.keep {
        volumes::keep(&mut opened);
    }
    let mut execution = Execution { books, run, seed, settings, volumes: &mut opened, live: &mut live, interruption };
    let result = execution.run(work, finished);
    live.clear();
    volumes::close(opened);
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

/// How long what is not `finished` takes, in words.
fn foretold(work: &Work, finished: &BTreeSet<(String, u32)>, opened: &OpenVolumes) -> String {
    let left = || work.left(finished).map(|step| &work.cells[step.cell]);
    let time: Duration = left().map(|cell| cell.spec.trial_time()).sum();
    let size = volumes::filled_before(opened, left()).into_values().fold(Bytes::ZERO, |sum, size| sum + size);
    let filling = match size {
        Bytes::ZERO => String::new(),
        size => format!(", and the time to fill {} ({})", size.human(), filling::in_words(size)),
    };
    format!("{} at most{filling}", time.clock())
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
        Ended::Broken(why) => {
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
