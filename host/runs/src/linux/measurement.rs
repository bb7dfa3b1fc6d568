//! Measurements: plans on targets, begun or resumed, carried out to the end.

use crate::open_volumes::{self, OpenVolumes};
use crate::{
    Ahead, DeclaredEnvironment, Error, Event, MeasuredPlace, NamedTarget, NewRun, Observer, PendingStore, Refusal,
    RunOptions, RunOutcome, RunStore, RunUnderWay, Settings, StartTime, TrialSchedule, TrialsPlanned, Tried, Work,
    hosts::host_part, joined_names, keep::leftovers, placed, plans_again, refuse_impossible, settings_of,
};
use loadline_record::{Clock, HostPart, RunHeader, RunRecord, RunVerb};
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{Plan, RunCell};
use std::collections::BTreeSet;

/// Plans that are to be measured on targets.
///
/// ```no_run
/// use loadline_runs::{Measurement, PlanLength, RunOptions, Silent, read_plan};
///
/// let plan = read_plan("queue-depth", PlanLength::Short)?.plan;
/// let options = RunOptions::default().stored_in("runs.db");
/// let outcome = Measurement::new(plan).on("data", "/mnt/data").run(&options, &mut Silent::default())?;
/// println!("{} cells", outcome.record.cells.len());
/// # Ok::<(), loadline_runs::Error>(())
/// ```
#[derive(Debug)]
pub struct Measurement {
    plans: Vec<Plan>,
    settings: Settings,
    declared: Option<DeclaredEnvironment>,
    start: Option<StartTime>,
}

impl Measurement {
    /// Of one plan. Its targets are named by [`Measurement::on`].
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self::of(vec![plan], Settings::of(Vec::new()))
    }

    /// Of plans, with settings made elsewhere.
    #[must_use]
    pub const fn of(plans: Vec<Plan>, settings: Settings) -> Self {
        Self { plans, settings, declared: None, start: None }
    }

    /// Measures `target`, too: a directory, a file, a block device or an NBD URI. `volume` is its name in the results.
    #[must_use]
    pub fn on(mut self, volume: &str, target: &str) -> Self {
        self.settings.targets.push(NamedTarget { volume: volume.to_owned(), target: target.to_owned() });
        self
    }

    /// Writes nothing to the targets; loads that write are left out.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.settings.read_only = true;
        self
    }

    /// Allows writing to a target that exists, by its name or by the serial number or UUID that a refusal asks for.
    #[must_use]
    pub fn overwrite(mut self, word: &str) -> Self {
        self.settings.overwrite.push(word.to_owned());
        self
    }

    /// What the storage is: its ceilings name limits, and it says where its volumes are if no target is named.
    #[must_use]
    pub fn declared(mut self, environment: DeclaredEnvironment) -> Self {
        self.declared = Some(environment);
        self
    }

    /// Begins the first trial at this time, and each other one at a time that follows from it: hosts that run the same plan begin
    /// each trial together.
    #[must_use]
    pub fn starting_at(mut self, start: StartTime) -> Self {
        self.start = Some(start);
        self.settings.hosts.get_or_insert_default();
        self
    }

    /// Which of the hosts this one is, in which steps it loads, and whether it loads its own part of each target alone.
    #[must_use]
    pub fn as_host(mut self, part: HostPart) -> Self {
        self.settings.hosts = Some(part);
        self
    }

    /// Opens the targets as [`Measurement::run`] does, and closes them again: what would be refused is known before anything is
    /// written. Returns a fingerprint of what hosts must have in common to run it together.
    ///
    /// # Errors
    /// A [`Refusal`], or what kept a target from being opened.
    pub fn check(self, observer: &mut dyn Observer) -> Result<String, Error> {
        let Self { plans, settings, declared, .. } = self;
        // The start may be agreed on when all hosts have checked.
        settings.hosts.as_ref().map_or(Ok(()), |part| host_part::check(part, true))?;
        let settings = placed(settings, declared.as_ref())?;
        let new = RunOptions::default().new_run(|| joined_names(&plans), RunVerb::Run, Clock::Real);
        let work = Work::of(plans, &settings.scope(), new.seed)?;
        let opened = open_volumes::open(&work, &settings, &new.id, &[], observer)?;
        let looked = refuse_cells(&work, &settings, &opened)
            .map_err(Error::from)
            .and_then(|()| open_volumes::look_at_use(&opened, &work, observer));
        open_volumes::close(opened, observer);
        looked.map(|()| host_part::in_common(&work.plans, &settings))
    }

    /// Opens the targets, begins the run and carries it out.
    ///
    /// # Errors
    /// A [`Refusal`] before anything was written; what kept the run from beginning or ended it early.
    pub fn run(self, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let Self { plans, settings, declared, start } = self;
        settings.hosts.as_ref().map_or(Ok(()), |part| host_part::check(part, start.is_some()))?;
        let start = start.map(StartTime::instant).transpose()?;
        let settings = placed(settings, declared.as_ref())?;
        let new = options.new_run(|| joined_names(&plans), RunVerb::Run, Clock::Real);
        let work = Work::of(plans, &settings.scope(), new.seed)?;
        for load in &work.left_out {
            observer.event(&Event::LeftOut { load });
        }
        let path = options.store_path()?;
        let (own, directories) = (new.id.clone(), settings.clone());
        let mut store = PendingStore::start(path, move |store| leftovers::of_no_run(&directories, store, &own));
        let opened = open_volumes::open(&work, &settings, &new.id, &[], observer)?;
        refuse_cells(&work, &settings, &opened)?;
        open_volumes::report_unfilled(&opened, &work, observer);
        store.prove()?;
        open_volumes::look_at_use(&opened, &work, observer)?;
        OpenedMeasurement { new, settings, work, declared, opened, start }.begin(store, observer)
    }
}

/// A measurement whose targets are open.
#[derive(Debug)]
pub(crate) struct OpenedMeasurement {
    /// The run.
    pub new: NewRun,
    /// Its choices.
    pub settings: Settings,
    /// What it does.
    pub work: Work,
    /// What the storage is, where that is known.
    pub declared: Option<DeclaredEnvironment>,
    /// By name.
    pub opened: OpenVolumes,
    /// When its first trial begins, if that was agreed on with other hosts.
    pub start: Option<Instant>,
}

impl OpenedMeasurement {
    /// Stores the run's header and cells, and carries out all of it.
    ///
    /// # Errors
    /// The store; a load that cannot be modelled on the declared storage; what ended the run early.
    pub(crate) fn begin(self, store: PendingStore, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let Self { new, settings, work, declared, opened, start } = self;
        let records = match &declared {
            Some(declared) => {
                declared.records(&work, |cell| opened[&cell.volume].facts().size_bytes.map(Bytes::new))?
            }
            None => work.records(),
        };
        let header = RunHeader {
            plans: work.plans.clone(),
            environment: declared.as_ref().map(DeclaredEnvironment::text),
            volumes: settings.targets.iter().map(|t| opened[&t.volume].facts()).collect(),
            settings: settings.standing().stored(),
            ..new.header()
        };
        let run_store = store.begin(header, records)?;
        let run = MeasuredRun { run: &new.id, seed: new.seed, settings, work: &work, start };
        run.carry_out(run_store, opened, &BTreeSet::new(), observer)
    }
}

/// Resumes a measurement: finished trials are taken as they are, the others are run.
pub(crate) fn resume(
    stored: &RunRecord,
    mut store: RunStore,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let RunHeader { id, seed, volumes, .. } = &stored.header;
    let settings = settings_of(stored)?;
    let work = work_of(stored, &settings)?;
    leftovers::remove_of_run(id, &settings, observer)?;
    let opened = open_volumes::open(&work, &settings, id, volumes, observer)?;
    let finished = store.store()?.finished_trials(id)?;
    MeasuredRun { run: id, seed: *seed, settings, work: &work, start: None }
        .carry_out(store, opened, &finished, observer)
}

/// A measurement that stands in the store.
struct MeasuredRun<'a> {
    run: &'a str,
    seed: u64,
    settings: Settings,
    work: &'a Work,
    start: Option<Instant>,
}

impl MeasuredRun<'_> {
    /// Carries out what is not `finished`.
    fn carry_out(
        self,
        store: RunStore,
        mut opened: OpenVolumes,
        finished: &BTreeSet<(String, u32)>,
        observer: &mut dyn Observer,
    ) -> Result<RunOutcome, Error> {
        let Self { run, seed, settings, work, start } = self;
        let ahead = ahead(work, finished, &opened);
        if settings.keep {
            open_volumes::keep(&mut opened);
        }
        let cells = work.planned_cells();
        let schedule = TrialSchedule::of_work(&cells, work, finished);
        let mut place = MeasuredPlace::new(settings, opened, seed).starting_at(start, &work.others_before);
        let under_way = RunUnderWay { run, seed, ahead, planned: TrialsPlanned::All };
        under_way.carry_out(&mut place, store, observer, |trials| trials.run(&schedule))
    }
}

/// How long what is not `finished` takes.
fn ahead(work: &Work, finished: &BTreeSet<(String, u32)>, opened: &OpenVolumes) -> Ahead<'static> {
    let time: Duration = work.left(finished).map(|step| work.step_time(step)).sum();
    let cells = work.left(finished).flat_map(|step| work.cells_of(step)).map(|cell| &work.cells[*cell]);
    let fills = open_volumes::filled_before(opened, cells);
    Ahead::Measured { time, fill: fills.into_values().fold(Bytes::ZERO, |sum, size| sum + size) }
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

/// Refuses what cannot be run on the targets of `settings`, as far as a look shows that writes to nothing. What cannot be
/// looked at is reported and left out.
///
/// # Errors
/// A target that cannot take the loads; cells that cannot be run.
pub fn check_targets(work: &Work, settings: &Settings, observer: &mut dyn Observer) -> Result<(), Refusal> {
    open_volumes::check_loads(work, settings)?;
    refuse_cells(work, settings, &open_volumes::look(work, settings, observer))
}

/// What a stored measurement had to do, made from its plans once more.
///
/// # Errors
/// A plan that this version does not read, or reads otherwise.
pub(crate) fn work_of(stored: &RunRecord, settings: &Settings) -> Result<Work, Error> {
    let work = Work::of(plans_again(stored)?, &settings.scope(), stored.header.seed)?;
    work.check_against(stored, "measure")?;
    Ok(work)
}
