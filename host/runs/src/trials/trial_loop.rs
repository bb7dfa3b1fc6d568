//! The one loop over trials: each is carried out at its place, judged, kept, and shown to the observer.

use crate::TrialCell;
use crate::trials::{NoTrial, TrialPlace, TrialRound, TrialSchedule, lanes};
use crate::{Activity, Ended, Error, Event, Loss, Observer, RunStore, wall_clock};
use loadline_analysis::doubts;
use loadline_record::{Doubt, DoubtCode, Ending, EngineName, EngineUsed, TrialRecord};
use std::collections::BTreeSet;
use std::time::Instant;

/// Carries out the trials of a run, whatever their place is.
pub struct TrialLoop<'a, C> {
    /// Where they are carried out.
    pub place: &'a mut dyn TrialPlace<Cell = C>,
    /// Where finished trials go.
    pub store: &'a mut RunStore,
    /// The run's id.
    pub run: &'a str,
    /// Who follows.
    pub observer: &'a mut dyn Observer,
    /// Before then the observer is not shown again what is stored.
    show_at: Instant,
}

/// Of the time, reading what is stored for the observer takes one part in so many at most.
const SHOWN_SHARE: u32 = 50;

/// A volume or a system that did not let trials be carried out.
#[derive(Default)]
pub(super) struct Missing {
    given_up: Vec<(String, Loss)>,
    not_started: Vec<Error>,
}

impl Missing {
    pub(super) fn not_started(&mut self, error: Error) {
        self.not_started.push(error);
    }
    /// How a loop ended that went through all of its rounds.
    pub(super) fn ended(self) -> Ended {
        let Self { given_up, not_started } = self;
        if given_up.is_empty() && not_started.is_empty() {
            Ended::Complete
        } else {
            Ended::Broken { given_up, not_started }
        }
    }
}

impl<'a, C> TrialLoop<'a, C> {
    /// Over trials of this run at this place.
    pub(super) fn of(
        place: &'a mut dyn TrialPlace<Cell = C>,
        store: &'a mut RunStore,
        run: &'a str,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self { place, store, run, observer, show_at: Instant::now() }
    }
}

impl<C: TrialCell> TrialLoop<'_, C> {
    /// Carries out all that is left. A volume that stops answering is given up: its other trials are left out, those of
    /// other volumes are not. A trial that can never be carried out is kept as failed, and one that the system would not
    /// let begin is left for later: either way the others are carried out.
    ///
    /// # Errors
    /// What ended the run early: its place, or the store.
    pub fn run(&mut self, schedule: &TrialSchedule<'_, C>) -> Result<Ended, Error> {
        let Self { place, store, run, observer, .. } = self;
        let lanes = place.lanes(schedule.sequences.len());
        if lanes.is_empty() {
            drop(lanes);
            return self.one_by_one(schedule);
        }
        let keeper = Keeper { place: &**place, run, finished: schedule.finished };
        lanes::side_by_side(schedule, lanes, &keeper, store, &mut **observer)
    }

    /// Carries out one trial that was chosen by those before it; `None` where the observer wanted an end. `counted` says
    /// which of how many it is.
    ///
    /// # Errors
    /// A trial that could not be carried out, or that did not last as long as it should; or the store.
    pub fn trial(&mut self, cell: &C, trial: u32, counted: &str) -> Result<Option<TrialRecord>, Error> {
        if self.observer.wants_an_end() {
            return Ok(None);
        }
        let nothing = BTreeSet::new();
        let none = TrialSchedule { sequences: Vec::new(), finished: &nothing, done: 0, is_on_several: false };
        let mut records = match self.round(&none, &TrialRound::of(cell, trial), counted, cell.label()) {
            Ok(records) => records,
            Err(NoTrial::Interrupted) => return Ok(None),
            Err(NoTrial::VolumeLost { volume, why }) => return Err(Error::Lost { volume, why }),
            Err(NoTrial::Impossible(error) | NoTrial::NotStarted(error) | NoTrial::RunEnds(error)) => {
                return Err(error);
            }
        };
        match records.pop() {
            Some(TrialRecord { ending: Ending::Failed(how) | Ending::Hung(how), .. }) => {
                Err(Error::EndedEarly { load: cell.label().to_owned(), how })
            }
            record => Ok(record),
        }
    }

    fn one_by_one(&mut self, schedule: &TrialSchedule<'_, C>) -> Result<Ended, Error> {
        let rounds: Vec<&TrialRound<'_, C>> = schedule.rounds().collect();
        self.observer.event(&Event::Planned(rounds.iter().map(|round| round.time()).sum()));
        self.place.look_ahead(&rounds, self.observer);
        let all = schedule.done + rounds.len();
        let mut missing = Missing::default();
        for (index, &round) in rounds.iter().enumerate() {
            if missing.given_up.iter().any(|(volume, _)| round.is_on(volume)) {
                continue;
            }
            if self.observer.wants_an_end() {
                return Ok(Ended::Interrupted);
            }
            let place = format!("{} of {all}", schedule.done + index + 1);
            let label = schedule.label(round);
            match self.round(schedule, round, &place, &label) {
                Ok(_) => {}
                Err(NoTrial::Interrupted) => return Ok(Ended::Interrupted),
                Err(NoTrial::RunEnds(error)) => return Err(error),
                Err(NoTrial::Impossible(why)) => {
                    let keeper = Keeper { place: &*self.place, run: self.run, finished: schedule.finished };
                    keeper.keep_impossible(round, &why, self.store)?;
                    self.observer.event(&Event::Forgone(round.time()));
                    self.observer.event(&Event::TrialImpossible { place: &place, label: &label, why: &why });
                }
                Err(NoTrial::NotStarted(error)) => {
                    self.observer.event(&Event::TrialNotStarted { place: &place, error: &error });
                    missing.not_started(error);
                }
                Err(NoTrial::VolumeLost { volume, why }) => {
                    let left: Vec<_> = rounds[index..].iter().filter(|round| round.is_on(&volume)).collect();
                    self.observer.event(&Event::Forgone(left.iter().map(|round| round.time()).sum()));
                    self.observer.event(&Event::VolumeGivenUp { volume: &volume, why: &why, trials: left.len() });
                    missing.given_up.push((volume, why));
                }
            }
        }
        Ok(missing.ended())
    }

    /// Carries out a round and keeps its trials.
    fn round(
        &mut self,
        schedule: &TrialSchedule<'_, C>,
        round: &TrialRound<'_, C>,
        place: &str,
        label: &str,
    ) -> Result<Vec<TrialRecord>, NoTrial> {
        self.place.prepare(round, self.observer)?;
        self.look_at_store()?;
        self.observer.event(&Event::Begins(&Activity {
            place: place.to_owned(),
            label: label.to_owned(),
            volumes: volumes_of(round),
            planned: round.time(),
            is_guessed: false,
        }));
        let records = self.place.carry_out(round, self.observer)?;
        if records.iter().any(|record| record.ending == Ending::Interrupted) {
            return Err(NoTrial::Interrupted);
        }
        let keeper = Keeper { place: &*self.place, run: self.run, finished: schedule.finished };
        let kept = keeper.keep(round, records, self.store)?;
        for trial in &kept {
            self.observer.event(&Event::TrialFinished { place, label, trial });
        }
        self.show_stored()?;
        Ok(kept)
    }

    /// Shows the observer what is stored, unless that was done a moment ago for what it takes.
    fn show_stored(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        if began >= self.show_at {
            self.observer.event(&Event::Stored(&self.store.store()?.load(self.run)?));
            self.show_at = Instant::now() + began.elapsed() * SHOWN_SHARE;
        }
        Ok(())
    }

    /// Finds out whether there will be no store, and passes on what was found beside it.
    fn look_at_store(&mut self) -> Result<(), Error> {
        for leftover in self.store.leftovers_found() {
            self.observer.event(&Event::LeftoverFound { path: &leftover.path, size: leftover.size });
        }
        self.store.look()
    }
}

/// The volumes that a round is on, each once.
fn volumes_of<C: TrialCell>(round: &TrialRound<'_, C>) -> Vec<String> {
    let mut volumes: Vec<String> = round.cells.iter().map(|cell| cell.volume().to_owned()).collect();
    volumes.sort_unstable();
    volumes.dedup();
    volumes
}

/// Judges trials and keeps them.
pub(super) struct Keeper<'a, C> {
    pub(super) place: &'a dyn TrialPlace<Cell = C>,
    pub(super) run: &'a str,
    pub(super) finished: &'a BTreeSet<(String, u32)>,
}

impl<C: TrialCell> Keeper<'_, C> {
    /// Keeps the trials of a round that are not kept yet, each with its doubts.
    pub(super) fn keep(
        &self,
        round: &TrialRound<'_, C>,
        records: Vec<TrialRecord>,
        store: &mut RunStore,
    ) -> Result<Vec<TrialRecord>, Error> {
        assert_eq!(records.len(), round.cells.len(), "a round has a record for each of its cells");
        let mut kept = Vec::new();
        for (cell, mut record) in round.cells.iter().zip(records) {
            if self.finished.contains(&(cell.id().to_owned(), record.trial)) {
                continue;
            }
            record.doubts = self.judged(cell, &record)?;
            store.store()?.finish_trial(self.run, cell.id(), &record)?;
            kept.push(record);
        }
        Ok(kept)
    }

    /// Keeps that a round could not be carried out, so that it is not tried again.
    pub(super) fn keep_impossible(
        &self,
        round: &TrialRound<'_, C>,
        why: &Error,
        store: &mut RunStore,
    ) -> Result<(), Error> {
        let how = why.to_string();
        let engine = EngineUsed { name: EngineName::Nothing, reason: how.clone(), options: Vec::new() };
        let record = TrialRecord {
            ending: Ending::Failed(how),
            ..TrialRecord::empty(round.trial, wall_clock::unix_s(), engine)
        };
        self.keep(round, vec![record; round.cells.len()], store).map(drop)
    }

    /// Why the figures of a trial should not be believed as they stand: what its place knows, and what the trial shows.
    fn judged(&self, cell: &C, record: &TrialRecord) -> Result<Vec<Doubt>, Error> {
        let facts = self.place.facts(cell)?;
        let cut_short = self.place.cut_short(cell, record.trial);
        let is_range = cut_short.is_some();
        let mut judged = doubts(&cut_short.unwrap_or_else(|| cell.figures()), record, &facts);
        if is_range {
            // It shows a range, and no figure that rests on so few requests.
            judged.retain(|doubt| doubt.code != DoubtCode::FewSamples);
        }
        judged.extend(record.doubts.iter().cloned());
        judged.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
        Ok(judged)
    }
}
