//! What an observer gets of a run, and what becomes of its wish to end.

use crate::folder;
use crate::measure::measure;
use loadline_record::{Ending, RunStatus};
use loadline_runs::{Advance, Ended, Event, Observer, Silent, resume, store_location};

/// Notes what it gets; wants an end after so many finished trials.
#[derive(Default)]
struct Notes {
    begun: Vec<String>,
    run: Option<String>,
    finished: usize,
    advances: usize,
    finished_max: Option<usize>,
}

impl Observer for Notes {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins(activity) => self.begun.push(activity.place.clone()),
            Event::Advances(advance) => {
                assert!(matches!(advance, Advance::Device(_)));
                self.advances += 1;
            }
            Event::RunBegins { run, seed, .. } => {
                assert_eq!(*seed, 1);
                self.run = Some((*run).to_owned());
            }
            Event::TrialFinished { trial, .. } => {
                assert_eq!(trial.ending, Ending::Complete);
                self.finished += 1;
            }
            _ => {}
        }
    }
    fn wants_an_end(&self) -> bool {
        self.finished_max.is_some_and(|most| self.finished >= most)
    }
}

#[test]
fn an_observer_gets_every_step_and_a_run_that_it_ends_can_be_resumed() {
    let folder = folder();
    let store = folder.path().join("runs.db");
    let mut notes = Notes { finished_max: Some(1), ..Notes::default() };
    let outcome = measure("null", &store, &mut notes).unwrap();
    assert!(matches!(outcome.ended, Ended::Interrupted));
    assert_eq!(notes.begun, ["1 of 2"]);
    assert!(notes.advances > 0);
    let id = notes.run.unwrap();
    assert_eq!((outcome.record.status, &outcome.record.header.id), (RunStatus::Interrupted, &id));

    let store = store_location::open_store(&store).unwrap();
    let mut notes = Notes::default();
    let resumed = resume(store, &id, &mut notes).unwrap();
    assert_eq!(notes.begun, ["2 of 2"]);
    assert!(resumed.ended.is_complete());
    let trials: usize = resumed.record.cells.iter().map(|cell| cell.trials.len()).sum();
    assert_eq!(trials, 2);
    let kept = |record: &loadline_record::RunRecord| record.cells.iter().flat_map(|cell| cell.trials.clone()).next();
    assert_eq!(kept(&outcome.record), kept(&resumed.record), "a finished trial is never run twice");
}

#[test]
fn a_silent_observer_ends_a_run_by_its_flag() {
    let folder = folder();
    let mut observer = Silent::default();
    observer.stop().store(true, std::sync::atomic::Ordering::Relaxed);
    let outcome = measure("null", &folder.path().join("runs.db"), &mut observer);
    // The null target answers at once, so that the run may have begun.
    assert!(outcome.is_err() || matches!(outcome.unwrap().ended, Ended::Interrupted));
}
