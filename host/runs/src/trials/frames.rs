//! A run as it is now, once a second, out of the events that its observer gets: the step under way, and the judgement of the stored trials.

use crate::wall_clock::unix_ms;
use crate::{Activity, Advance, Event};
use loadline_analysis::{LiveExport, LiveFault, LiveFrame, LivePhase, LiveStep, LiveVolume, RunSummary};
use loadline_emulator::{ContentsState, ExportView, NumberedFault, View};
use loadline_engine::{Phase, Progress};
use loadline_record::{CellRecord, RunRecord, RunStatus, RunVerb};
use loadline_units::Duration;
use std::time::{Duration as Wait, Instant};

/// Between two frames.
const EVERY: Wait = Wait::from_secs(1);

/// Makes frames of a run out of its events.
pub struct RunFrames {
    /// The last one.
    frame: LiveFrame,
    judge: fn(&RunRecord) -> RunSummary,
    began: Instant,
    made: Option<Instant>,
    step: Option<(Activity, Instant)>,
    /// Planned time of the steps that have not begun.
    ahead: Duration,
    /// Of an emulation.
    clears: Option<String>,
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

    /// A frame of an emulation.
    fn emulated(&mut self, view: &View) -> LiveFrame {
        // A disk is shown where it is used by itself.
        let is_shown = |of: &&ExportView| !of.export.contains('/') || of.iops > 0.0 || of.queue > 0.0;
        let shown = || view.exports.iter().filter(is_shown);
        self.frame.volumes = shown().map(volume_of).collect();
        let emulation = self.frame.emulation.get_or_insert_default();
        emulation.clients = view.clients;
        let clears = &self.clears;
        let fault = |fault: &NumberedFault| LiveFault {
            number: fault.number,
            text: fault.text.clone(),
            command: clears.as_ref().map(|clears| format!("{clears} {}", fault.number)),
        };
        emulation.faults = view.faults.iter().map(fault).collect();
        emulation.exports = shown().map(export_of).collect();
        self.frame.judged_ns = view.elapsed_ns;
        self.made(Duration::ZERO)
    }

    /// A frame of a step that has come so far.
    fn advanced(&mut self, progress: &Progress) -> LiveFrame {
        let Some((step, began)) = &self.step else { return self.made(Duration::ZERO) };
        let left = left_of(step, Duration::from_ns(began.elapsed().as_nanos() as u64), progress.done);
        self.frame.step = Some(LiveStep {
            place: step.place.clone(),
            label: step.label.clone(),
            phase: phase(progress.phase),
            elapsed_ns: progress.elapsed.as_ns(),
            planned_ns: progress.expected.map(Duration::as_ns),
            done_share: progress.done,
        });
        // Several volumes that are loaded at the same time have one figure.
        let name = step.volumes.join(", ");
        for volume in &mut self.frame.volumes {
            *volume = LiveVolume {
                name: std::mem::take(&mut volume.name),
                judged: volume.judged.take(),
                ..LiveVolume::default()
            };
        }
        let place = self.frame.volumes.iter().position(|volume| volume.name == name);
        let place = place.unwrap_or_else(|| {
            self.frame.volumes.push(LiveVolume { name, ..LiveVolume::default() });
            self.frame.volumes.len() - 1
        });
        let volume = &mut self.frame.volumes[place];
        let ns = |of: Option<Duration>| of.map(Duration::as_ns);
        volume.iops = progress.iops;
        volume.throughput_bytes_per_s = progress.bytes_per_s;
        (volume.latency_ns, volume.p50_ns, volume.p99_ns) = (ns(progress.latency), ns(progress.p50), ns(progress.p99));
        volume.outstanding = progress.outstanding;
        self.made(left)
    }

    /// The frame as it is now, with so much left of the step.
    fn made(&mut self, left: Duration) -> LiveFrame {
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

fn volume_of(of: &ExportView) -> LiveVolume {
    LiveVolume {
        name: of.export.clone(),
        iops: Some(of.iops),
        throughput_bytes_per_s: Some(of.bytes_per_s),
        p50_ns: of.p50_ns,
        p99_ns: of.p99_ns,
        outstanding: Some(of.queue),
        ..LiveVolume::default()
    }
}

fn export_of(of: &ExportView) -> LiveExport {
    LiveExport {
        state: (of.state != ContentsState::Present).then(|| of.state.name().to_owned()),
        faults: of.faults.clone(),
        held: of.held.clone(),
        throttled: of.throttled,
        credits: of.credits,
        cache_hits: of.cache_hits,
    }
}

const fn phase(of: Phase) -> LivePhase {
    match of {
        Phase::Waiting => LivePhase::Waiting,
        Phase::Filling => LivePhase::Filling,
        Phase::WarmUp => LivePhase::WarmUp,
        Phase::Measuring => LivePhase::Measuring,
        Phase::CoolDown => LivePhase::CoolDown,
        Phase::Verifying => LivePhase::Verifying,
    }
}

/// How long the step still takes: by its plan; where its share done is known, at the pace so far, if that is sooner or the plan is
/// a guess.
fn left_of(step: &Activity, elapsed: Duration, done: Option<f64>) -> Duration {
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
    fn a_frame_has_the_step_its_volume_and_the_time_that_is_left() {
        let mut frames = RunFrames::new(&RunVerb::Run, loadline_analysis::summarize);
        let progress = Progress {
            phase: Phase::Measuring,
            elapsed: Duration::from_s(12),
            expected: Some(Duration::from_s(30)),
            iops: Some(40_000.0),
            outstanding: Some(32.0),
            p99: Some(Duration::from_ms(2)),
            ..Progress::default()
        };
        assert_eq!(frames.take(&Event::Advances(Advance::Device(&progress))), None);
        assert_eq!(frames.take(&Event::Planned(Duration::from_s(90))), None);
        assert_eq!(frames.take(&Event::Begins(&step())), None);
        let frame = frames.take(&Event::Advances(Advance::Device(&progress))).unwrap();
        let planned_s = frame.planned_ns.unwrap() as f64 / 1e9;
        assert!((89.0..91.0).contains(&planned_s), "{planned_s}");
        let LiveStep { place, phase, elapsed_ns, .. } = frame.step.unwrap();
        assert_eq!((place.as_str(), phase, elapsed_ns), ("3 of 12", LivePhase::Measuring, 12_000_000_000));
        let volume = &frame.volumes[0];
        assert_eq!((volume.name.as_str(), volume.p99_ns, volume.outstanding), ("data", Some(2_000_000), Some(32.0)));
        assert_eq!(frames.take(&Event::Advances(Advance::Device(&progress))), None, "a second has not gone by");
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
