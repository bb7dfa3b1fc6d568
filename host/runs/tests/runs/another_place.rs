//! Another place: applications that do as they are told stand where devices and models stand, and the same loop judges,
//! keeps, shows, ends and resumes.

use crate::folder;
use loadline_record::{
    ArrivalKind, CellRecord, Clock, Doubt, DoubtCode, Ending, EngineName, EngineUsed, Load, LoadFigures, OthersLoad,
    RunRecord, RunStatus, RunVerb, StepName, TargetKind, TrialRecord, VolumeFacts,
};
use loadline_runs::{
    Ahead, Ended, Error, Event, Loss, NewRun, NoTrial, Observer, PendingStore, RunOutcome, RunStore, RunUnderWay,
    TrialCell, TrialPlace, TrialRound, TrialSchedule, TrialsPlanned, store_location,
};
use loadline_store::Store;
use loadline_units::Duration;
use loadline_workload::{GroupEnd, LoadSpec, ScheduledTrial};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What becomes of a round.
#[derive(Clone, Copy)]
enum Fate {
    Unsure,
    Impossible,
    NotStarted,
    Lost,
    Interrupted,
}

/// Applications, one for each cell. Rounds that are not listed are carried out without a doubt.
#[derive(Clone, Default)]
struct Applications {
    fates: BTreeMap<(String, u32), Fate>,
    threads: usize,
    carried_out: Vec<(String, u32)>,
    is_closed: bool,
}

impl Applications {
    fn with(fates: &[(&str, u32, Fate)]) -> Self {
        let fates = fates.iter().map(|(cell, trial, fate)| (((*cell).to_owned(), *trial), *fate)).collect();
        Self { fates, ..Self::default() }
    }

    /// A trial that depends on nothing but its cell and its number.
    fn trial(cell: &CellRecord, trial: u32) -> TrialRecord {
        let name = StepName::new("page fetched").unwrap();
        let engine =
            EngineUsed { name: EngineName::Emulator, reason: "an application".to_owned(), options: Vec::new() };
        let mut record = TrialRecord { measured_ns: 1_000_000_000, ..TrialRecord::empty(trial, 1, engine) };
        let step = record.steps.at(&name).unwrap();
        step.record.count = 100 + u64::from(trial) + cell.id.len() as u64;
        record
    }
}

fn refused(what: &str) -> Error {
    Error::Lost { volume: what.to_owned(), why: Loss::from("no such page".to_owned()) }
}

/// The doubt of an application that is not sure of its trial.
fn unsure() -> Doubt {
    Doubt::written(DoubtCode::LateDelivery, "the site answered late")
}

impl TrialPlace for Applications {
    type Cell = CellRecord;

    fn prepare(&mut self, round: &TrialRound<'_, CellRecord>, _: &mut dyn Observer) -> Result<(), NoTrial> {
        let volume = || round.cells[0].volume.clone();
        match self.fates.get(&(round.cells[0].id.clone(), round.trial)) {
            Some(Fate::Impossible) => Err(NoTrial::Impossible(refused("a"))),
            Some(Fate::Lost) => Err(NoTrial::VolumeLost { volume: volume(), why: Loss::from("gone".to_owned()) }),
            _ => Ok(()),
        }
    }

    fn carry_out(
        &mut self,
        round: &TrialRound<'_, CellRecord>,
        _: &mut dyn Observer,
    ) -> Result<Vec<TrialRecord>, NoTrial> {
        let mut records: Vec<TrialRecord> = round.cells.iter().map(|cell| Self::trial(cell, round.trial)).collect();
        match self.fates.get(&(round.cells[0].id.clone(), round.trial)) {
            Some(Fate::NotStarted) => return Err(NoTrial::NotStarted(refused("a"))),
            Some(Fate::Interrupted) => return Err(NoTrial::Interrupted),
            Some(Fate::Unsure) => {
                records[0].doubts.push(unsure());
            }
            _ => {}
        }
        self.carried_out.extend(round.cells.iter().map(|cell| (cell.id.clone(), round.trial)));
        Ok(records)
    }

    fn facts(&self, cell: &CellRecord) -> Result<VolumeFacts, Error> {
        Ok(VolumeFacts {
            name: cell.volume.clone(),
            target: "an application".to_owned(),
            kind: TargetKind::File,
            direct: true,
            ..VolumeFacts::default()
        })
    }

    fn lanes(&self, sequences: usize) -> Vec<Box<dyn TrialPlace<Cell = CellRecord> + Send + '_>> {
        let lane = || Box::new(Self { threads: 0, ..self.clone() }) as Box<dyn TrialPlace<Cell = CellRecord> + Send>;
        std::iter::repeat_with(lane).take(self.threads.min(sequences)).collect()
    }

    fn close(&mut self, _: &mut dyn Observer) {
        self.is_closed = true;
    }
}

/// Notes what it is shown.
#[derive(Default)]
struct Shown(Vec<String>);

impl Observer for Shown {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::TrialFinished { place, label, .. } => format!("{place}: {label}"),
            Event::TrialImpossible { place, .. } => format!("{place} is impossible"),
            Event::TrialNotStarted { place, .. } => format!("{place} did not start"),
            Event::VolumeGivenUp { volume, trials, .. } => format!("{volume} without {trials}"),
            Event::Planned(time) => format!("planned {time}"),
            Event::Forgone(time) => format!("forgone {time}"),
            _ => return,
        });
    }
}

fn cell(id: &str, volume: &str) -> CellRecord {
    let figures = LoadFigures {
        arrival: ArrivalKind::Application,
        duration_ns: 1_000_000_000,
        ..LoadFigures::from(&LoadSpec::default())
    };
    let load = Load::Application(OthersLoad { volume: volume.to_owned(), by: None, figures });
    CellRecord {
        id: id.to_owned(),
        volume: volume.to_owned(),
        label: format!("crawl {id}"),
        load,
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: 2,
        trials: Vec::new(),
    }
}

fn cells() -> Vec<CellRecord> {
    vec![cell("one", "a"), cell("two", "a"), cell("other", "b")]
}

/// Each trial of each cell, the first ones first.
fn steps() -> Vec<ScheduledTrial> {
    (0..2).flat_map(|trial| (0..3).map(move |cell| ScheduledTrial { group: cell, trial })).collect()
}

fn begun(path: &Path, cells: &[CellRecord]) -> (String, RunStore) {
    let new = NewRun::now("crawl".to_owned(), RunVerb::Run, Clock::Real, Some(1));
    let store = PendingStore::start(path.to_owned(), |_| Vec::new()).begin(new.header(), cells.to_vec()).unwrap();
    (new.id, store)
}

fn carry_out(
    run: &str,
    store: RunStore,
    place: &mut Applications,
    schedule: &TrialSchedule<'_, CellRecord>,
    observer: &mut dyn Observer,
) -> RunOutcome {
    let ahead = Ahead::Measured { time: Duration::from_s(6), fill: loadline_units::Bytes::ZERO };
    let under_way = RunUnderWay { run, seed: 1, ahead, planned: TrialsPlanned::All };
    under_way.carry_out(place, store, observer, |trials| trials.run(schedule)).unwrap()
}

fn again(path: &Path, run: &str) -> (Store, loadline_store::Claim, BTreeSet<(String, u32)>) {
    let store = store_location::open_store(path).unwrap();
    let (claim, finished) = (store.claim(run).unwrap(), store.finished_trials(run).unwrap());
    (store, claim, finished)
}

fn trials(record: &RunRecord) -> Vec<(&str, &TrialRecord)> {
    record.cells.iter().flat_map(|cell| cell.trials.iter().map(|trial| (cell.id.as_str(), trial))).collect()
}

#[test]
fn whatever_becomes_of_a_trial_the_others_are_carried_out_judged_and_kept() {
    let folder = folder();
    let path = folder.path().join("runs.db");
    let (cells, nothing) = (cells(), BTreeSet::new());
    let (run, store) = begun(&path, &cells);
    let mut place = Applications::with(&[
        ("one", 0, Fate::Unsure),
        ("two", 0, Fate::NotStarted),
        ("other", 0, Fate::Lost),
        ("one", 1, Fate::Impossible),
    ]);
    let mut shown = Shown::default();
    let schedule = TrialSchedule::of(&cells, &steps(), &nothing);
    let outcome = carry_out(&run, store, &mut place, &schedule, &mut shown);
    assert!(place.is_closed);
    let Ended::Broken { given_up, not_started } = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!((given_up[0].0.as_str(), given_up.len(), not_started.len()), ("b", 1, 1));
    assert_eq!(
        shown.0,
        [
            "planned 6 s",
            "1 of 6: crawl one on a, trial 1 of 2",
            "2 of 6 did not start",
            "forgone 2 s",
            "b without 2",
            "forgone 1 s",
            "4 of 6 is impossible",
            "5 of 6: crawl two on a, trial 2 of 2",
        ]
    );
    let kept = trials(&outcome.record);
    let names: Vec<(&str, u32)> = kept.iter().map(|(cell, trial)| (*cell, trial.trial)).collect();
    assert_eq!(names, [("one", 0), ("one", 1), ("two", 1)]);
    // The place's own doubt is kept beside those of the analysis.
    assert!(kept[0].1.doubts.contains(&unsure()), "{:?}", kept[0].1.doubts);
    assert_eq!((&kept[1].1.engine.name, matches!(kept[1].1.ending, Ending::Failed(_))), (&EngineName::Nothing, true));
    assert!(kept[1].1.doubts.iter().any(|doubt| doubt.code == DoubtCode::EndedEarly), "{:?}", kept[1].1.doubts);
    assert_eq!(outcome.record.status, RunStatus::Failed);

    // When it is mended, what is left is carried out, and nothing a second time.
    let (store, claim, finished) = again(&path, &run);
    let mut place = Applications::default();
    let schedule = TrialSchedule::of(&cells, &steps(), &finished);
    let resumed = carry_out(&run, RunStore::ready(store, claim), &mut place, &schedule, &mut Shown::default());
    let left = [("two", 0), ("other", 0), ("other", 1)].map(|(cell, trial)| (cell.to_owned(), trial));
    assert_eq!(place.carried_out, left);
    assert!(resumed.ended.is_complete() && resumed.record.status == RunStatus::Finished);
    assert_eq!(trials(&resumed.record)[0], kept[0]);
}

#[test]
fn a_place_that_is_interrupted_ends_the_run_and_keeps_nothing_of_the_trial() {
    let folder = folder();
    let path = folder.path().join("runs.db");
    let (cells, nothing) = (cells(), BTreeSet::new());
    let (run, store) = begun(&path, &cells);
    let mut place = Applications::with(&[("two", 0, Fate::Interrupted)]);
    let schedule = TrialSchedule::of(&cells, &steps(), &nothing);
    let outcome = carry_out(&run, store, &mut place, &schedule, &mut Shown::default());
    assert!(matches!(outcome.ended, Ended::Interrupted) && outcome.record.status == RunStatus::Interrupted);
    assert_eq!(trials(&outcome.record).len(), 1);
}

#[test]
fn side_by_side_the_same_is_kept_as_one_by_one() {
    let kept = |threads: usize| {
        let folder = folder();
        let path = folder.path().join("runs.db");
        let (cells, nothing) = (cells(), BTreeSet::new());
        let (run, store) = begun(&path, &cells);
        let fates = [("one", 0, Fate::Unsure), ("two", 1, Fate::Impossible)];
        let mut place = Applications { threads, ..Applications::with(&fates) };
        // Two cells at the same time, twice; then a chain, of which the first trial stands in no need of being kept.
        let together = |trial| TrialRound { cells: vec![&cells[0], &cells[2]], trial, ends: GroupEnd::Each };
        let chain = (0..2).map(|trial| TrialRound::of(&cells[1], trial)).collect();
        let sequences = vec![vec![together(0)], vec![together(1)], chain];
        let schedule = TrialSchedule::of_sequences(&cells, sequences, &nothing);
        let outcome = carry_out(&run, store, &mut place, &schedule, &mut Shown::default());
        assert!(outcome.ended.is_complete() && place.is_closed);
        let all = trials(&outcome.record).into_iter();
        // When an impossible one was found is the clock's.
        all.map(|(cell, trial)| (cell.to_owned(), TrialRecord { started_unix_s: 1, ..trial.clone() }))
            .collect::<Vec<_>>()
    };
    let one_by_one = kept(0);
    assert_eq!(one_by_one.len(), 6);
    assert_eq!(kept(2), one_by_one);
}

#[test]
fn a_chain_that_was_cut_is_carried_out_from_its_beginning_and_kept_once() {
    let folder = folder();
    let path = folder.path().join("runs.db");
    let cells = vec![cell("chain", "a")];
    let (run, store) = begun(&path, &cells);
    let nothing = BTreeSet::new();
    let chain = |trials: u32| vec![(0..trials).map(|trial| TrialRound::of(&cells[0], trial)).collect()];
    let schedule = TrialSchedule::of_sequences(&cells, chain(1), &nothing);
    let mut cut = Applications::default();
    let under_way = RunUnderWay {
        run: &run,
        seed: 1,
        ahead: Ahead::Modelled { trials: 2, time: cells[0].trial_time() * 2 },
        planned: TrialsPlanned::All,
    };
    let ended = under_way.carry_out(&mut cut, store, &mut Shown::default(), |trials| {
        trials.run(&schedule)?;
        Ok(Ended::Interrupted)
    });
    assert!(matches!(ended.unwrap().ended, Ended::Interrupted));
    let (store, claim, finished) = again(&path, &run);
    let schedule = TrialSchedule::of_sequences(&cells, chain(2), &finished);
    let mut place = Applications::default();
    let outcome = carry_out(&run, RunStore::ready(store, claim), &mut place, &schedule, &mut Shown::default());
    assert_eq!(place.carried_out.len(), 2);
    assert!(outcome.ended.is_complete() && trials(&outcome.record).len() == 2);
}
