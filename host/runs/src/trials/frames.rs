//! A run as it is now, once a second, out of the events that its observer gets: the step under way, and the judgement of the stored trials.

use crate::wall_clock::unix_ms;
use crate::{Activity, Advance, Event};
use loadline_analysis::{LiveFrame, RunSummary};
use loadline_record::{CellRecord, RunRecord, RunStatus, RunVerb};
use loadline_units::Duration;
use std::time::{Duration as Wait, Instant};

/// Between two frames.
const EVERY: Wait = Wait::from_secs(1);

/// Makes frames of a run out of its events.
pub struct RunFrames {
    /// The last one.
    pub(crate) frame: LiveFrame,
    judge: fn(&RunRecord) -> RunSummary,
    began: Instant,
    made: Option<Instant>,
    pub(crate) step: Option<(Activity, Instant)>,
    /// Planned time of the steps that have not begun.
    ahead: Duration,
    /// Of an emulation.
    pub(crate) clears: Option<String>,
}

impl RunFrames {
    /// Of a run that is about to begin. `judge` makes the summary of the stored trials.
    #[must_use]
    pub fn new(verb: &RunVerb, judge: fn(&RunRecord) -> RunSummary) -> Self {
        let frame = LiveFrame::new(String::new(), verb.name().to_owned(), String::new());
        Self { frame, judge, began: Instant::now(), made: None, step: None, ahead: Duration::ZERO, clears: None }
    }

    /// The same of an emulation that is stored as this run. A fault's number after `clears` is the command that clears it.
    pub fn emulates(&mut self, run: &str, name: &str, clears: Option<String>) {
        (self.frame.run, self.frame.name) = (run.to_owned(), name.to_owned());
        self.clears = clears;
    }

    /// Takes an event in. A frame comes about once a second while a step goes on, and when something new is stored.
    pub fn take(&mut self, event: &Event<'_>) -> Option<LiveFrame> {
        match event {
            Event::Planned(more) => self.ahead = self.ahead + *more,
            Event::Forgone(less) => self.ahead = self.ahead.saturating_sub(*less),
            Event::Begins(step) => {
                self.ahead = self.ahead.saturating_sub(step.planned);
                self.step = Some(((*step).clone(), Instant::now()));
            }
            Event::Idle => self.step = None,
            Event::RunBegins { run, .. } => (*run).clone_into(&mut self.frame.run),
            Event::Advances(Advance::Device(progress)) => {
                let is_due = self.made.is_none_or(|made| made.elapsed() >= EVERY);
                return (is_due && self.step.is_some()).then(|| self.advanced(progress));
            }
            Event::Live(frame) => {
                self.frame = (*frame).clone();
                return Some(self.frame.clone());
            }
            Event::Emulated(view) => return Some(self.emulated(view)),
            Event::Stored(stored) => {
                self.frame.run.clone_from(&stored.header.id);
                self.frame.name.clone_from(&stored.header.name);
                self.judge(stored);
                return Some(self.made(Duration::ZERO));
            }
            _ => {}
        }
        None
    }

    /// Judges what is stored. While the run goes on it is the run that would be stored if it ended now: loads to come are none of it.
    fn judge(&mut self, stored: &RunRecord) {
        let is_measured = |cell: &&CellRecord| !cell.trials.is_empty();
        if stored.status == RunStatus::Unfinished && !stored.cells.iter().all(|cell| is_measured(&cell)) {
            let cells = stored.cells.iter().filter(is_measured).cloned().collect();
            let seen = RunRecord { header: stored.header.clone(), status: RunStatus::Finished, cells };
            self.frame.judge_run(&seen, (self.judge)(&seen));
        } else {
            self.frame.judge_run(stored, (self.judge)(stored));
        }
    }

    /// The frame as it is now, with so much left of the step.
    pub(crate) fn made(&mut self, left: Duration) -> LiveFrame {
        self.made = Some(Instant::now());
        if self.step.is_none() {
            self.frame.step = None;
        }
        self.frame.at_unix_ms = unix_ms();
        self.frame.elapsed_ns = self.began.elapsed().as_nanos() as u64;
        let left = left + self.ahead;
        self.frame.planned_ns = (left > Duration::ZERO).then(|| self.frame.elapsed_ns + left.as_ns());
        self.frame.clone()
    }
}

/// How long the step still takes: by its plan; where its share done is known, at the pace so far, if that is sooner or the plan is
/// a guess.
pub(crate) fn left_of(step: &Activity, elapsed: Duration, done: Option<f64>) -> Duration {
    /// Below this share the pace so far says little.
    const SHARE_LEAST: f64 = 0.01;
    let planned = step.planned.saturating_sub(elapsed);
    let paced = done
        .filter(|share| *share >= SHARE_LEAST)
        .map(|share| Duration::from_ns((elapsed.as_ns() as f64 * (1.0 / share.min(1.0) - 1.0)) as u64));
    match paced {
        Some(paced) if step.planned > Duration::ZERO && !step.is_guessed => paced.min(planned),
        Some(paced) => paced,
        None => planned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::Holder;
    use loadline_analysis::example::{ExampleDisk, cell, closed, run};

    fn step() -> Activity {
        let (place, label) = ("3 of 12".into(), "random read 4 KiB, depth 32".into());
        Activity { place, label, volumes: vec!["data".into()], planned: Duration::from_s(30), is_guessed: false }
    }

    #[test]
    fn filling_takes_as_long_as_its_pace_says_but_no_longer_than_planned() {
        let at = |planned, elapsed, done| {
            let step = Activity { planned: Duration::from_s(planned), ..step() };
            left_of(&step, Duration::from_s(elapsed), done)
        };
        assert_eq!(at(0, 10, Some(0.25)), Duration::from_s(30));
        assert_eq!(at(12, 10, Some(0.25)), Duration::from_s(2));
        assert_eq!(at(12, 2, Some(0.5)), Duration::from_s(2));
        assert_eq!(at(30, 12, None), Duration::from_s(18));
        assert_eq!(at(30, 40, Some(1.0)), Duration::ZERO);
        let guessed = Activity { planned: Duration::from_s(12), is_guessed: true, ..step() };
        assert_eq!(left_of(&guessed, Duration::from_s(10), Some(0.25)), Duration::from_s(30));
        assert_eq!(left_of(&guessed, Duration::from_s(2), None), Duration::from_s(10));
    }

    #[test]
    fn loads_to_come_are_judged_only_when_the_run_is_over() {
        let disk = ExampleDisk::default();
        let cells = [(1, &[1.0][..]), (64, &[1.0]), (128, &[])];
        let cells = cells.map(|(depth, trials)| cell(closed("random", 1.0, 4_096, depth), &disk, trials));
        let mut stored = run(cells.to_vec());
        let mut held = |status| {
            stored.status = status;
            let mut frames = RunFrames::new(&RunVerb::Run, loadline_analysis::summarize);
            let frame = frames.take(&Event::Stored(&stored)).unwrap();
            assert_eq!(frame.cells_done, 2);
            frame.volumes[0].judged.clone().unwrap().held_by
        };
        assert!(!matches!(held(RunStatus::Unfinished), Holder::NotMeasured));
        assert_eq!(held(RunStatus::Interrupted), Holder::NotMeasured);
    }
}
