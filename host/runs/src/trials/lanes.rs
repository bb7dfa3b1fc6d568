//! Rounds side by side: several places, each on a thread of its own, while one thread judges and keeps.
//!
//! What comes out does not depend on how many there are.

use crate::TrialCell;
use crate::trials::trial_loop::{Keeper, Missing};
use crate::trials::{NoTrial, TrialPlace, TrialRound, TrialSchedule};
use crate::{Advance, Ended, Error, Event, Observer, RunStore};
use loadline_record::{Ending, TrialRecord};
use loadline_units::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration as RealDuration, Instant};

/// How often the observer is called.
const LOOK_EVERY: RealDuration = RealDuration::from_millis(100);

/// A place on a thread of its own.
type Lane<'a, C> = Box<dyn TrialPlace<Cell = C> + Send + 'a>;

/// A round, by its sequence and its place there, and what came of it.
type Carried = (usize, usize, Result<Vec<TrialRecord>, NoTrial>);

/// What the threads have in common.
struct Shared {
    /// The sequence that the next free lane takes.
    next: AtomicUsize,
    stop: AtomicBool,
    /// Time of loads gone by in all threads, ns.
    elapsed_ns: AtomicU64,
}

/// Carries out all sequences, each on one of the lanes.
pub(super) fn side_by_side<C: TrialCell>(
    schedule: &TrialSchedule<'_, C>,
    lanes: Vec<Lane<'_, C>>,
    keeper: &Keeper<'_, C>,
    store: &mut RunStore,
    observer: &mut dyn Observer,
) -> Result<Ended, Error> {
    let all = schedule.trials();
    let time: Duration = schedule.rounds().map(TrialRound::time).sum();
    let shared = Shared { next: AtomicUsize::new(0), stop: AtomicBool::new(false), elapsed_ns: AtomicU64::new(0) };
    let began = Instant::now();
    let mut settling = Settling { schedule, keeper, store, observer, done: 0, all, missing: Missing::default() };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel::<Carried>();
        for mut lane in lanes {
            let (sender, shared, sequences) = (sender.clone(), &shared, &schedule.sequences);
            scope.spawn(move || work_off(&mut *lane, sequences, shared, &sender));
        }
        drop(sender);
        let ended = loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok((sequence, place, carried)) => {
                    if let Err(error) = settling.settle(&schedule.sequences[sequence][place], carried) {
                        break Err(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break Ok(if settling.done == all {
                        std::mem::take(&mut settling.missing).ended()
                    } else {
                        Ended::Interrupted
                    });
                }
            }
            if settling.observer.wants_an_end() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            let share = shared.elapsed_ns.load(Ordering::Relaxed) as f64 / time.as_ns().max(1) as f64;
            let advance = Advance::Trials { done: settling.done, all, share, elapsed: began.elapsed() };
            settling.observer.event(&Event::Advances(advance));
        };
        shared.stop.store(true, Ordering::Relaxed);
        ended
    })
}

/// The thread that judges and keeps.
struct Settling<'a, C> {
    schedule: &'a TrialSchedule<'a, C>,
    keeper: &'a Keeper<'a, C>,
    store: &'a mut RunStore,
    observer: &'a mut dyn Observer,
    done: usize,
    all: usize,
    missing: Missing,
}

impl<C: TrialCell> Settling<'_, C> {
    /// Keeps what came of a round.
    fn settle(&mut self, round: &TrialRound<'_, C>, carried: Result<Vec<TrialRecord>, NoTrial>) -> Result<(), Error> {
        self.done += round.cells.len();
        let (place, label) = (format!("{} of {}", self.done, self.all), self.schedule.label(round));
        match carried {
            Ok(records) => {
                for trial in &self.keeper.keep(round, records, self.store)? {
                    self.observer.event(&Event::TrialFinished { place: &place, label: &label, trial });
                }
            }
            Err(NoTrial::Interrupted) => unreachable!("a lane that is interrupted sends nothing"),
            Err(NoTrial::Impossible(why)) => {
                self.keeper.keep_impossible(round, &why, self.store)?;
                self.observer.event(&Event::TrialImpossible { place: &place, label: &label, why: &why });
            }
            Err(NoTrial::NotStarted(error)) => {
                self.observer.event(&Event::TrialNotStarted { place: &place, error: &error });
                self.missing.not_started(error);
            }
            Err(NoTrial::VolumeLost { volume, why }) => return Err(Error::Lost { volume, why }),
            Err(NoTrial::RunEnds(error)) => return Err(error),
        }
        Ok(())
    }
}

/// Carries out sequence after sequence until none is left or all are to stop.
fn work_off<C: TrialCell>(
    lane: &mut (dyn TrialPlace<Cell = C> + Send),
    sequences: &[Vec<TrialRound<'_, C>>],
    shared: &Shared,
    sender: &Sender<Carried>,
) {
    loop {
        let sequence = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(rounds) = sequences.get(sequence) else { return };
        for (place, round) in rounds.iter().enumerate() {
            let mut watch = LaneObserver { shared, counted: Duration::ZERO };
            let carried = lane.prepare(round, &mut watch).and_then(|()| lane.carry_out(round, &mut watch));
            watch.count(round.time());
            let is_interrupted = match &carried {
                Ok(records) => records.iter().any(|record| record.ending == Ending::Interrupted),
                Err(why) => matches!(why, NoTrial::Interrupted),
            };
            if is_interrupted {
                return;
            }
            let ends = matches!(carried, Err(NoTrial::RunEnds(_) | NoTrial::VolumeLost { .. }));
            // Nobody listens any more where the store has failed.
            if sender.send((sequence, place, carried)).is_err() || ends || shared.stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// What a lane sees of the observer.
struct LaneObserver<'a> {
    shared: &'a Shared,
    /// Time of the round under way that is counted already.
    counted: Duration,
}

impl LaneObserver<'_> {
    fn count(&mut self, elapsed: Duration) {
        let more = elapsed.saturating_sub(self.counted);
        self.counted = self.counted.max(elapsed);
        self.shared.elapsed_ns.fetch_add(more.as_ns(), Ordering::Relaxed);
    }
}

impl Observer for LaneObserver<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Advances(Advance::Virtual { elapsed, planned }) = event {
            self.count((*elapsed).min(*planned));
        }
    }

    fn wants_an_end(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }
}
