//! The replay of a trace on real storage: the recorded requests, asked of a device again.
//!
//! Targets are opened under the same rules as those of `run`: what writes needs the same permission. Latency counts from when a request
//! was due, so that storage that falls behind hides no waiting.

use crate::error::ReplayError;
use crate::kinds::application::{RequestSource, application_cell};
use crate::kinds::replay_run::{blind_spot, dependence_name, source_doubts};
use crate::open_volumes::open_watched;
use crate::wall_clock::unix_s;
use crate::{
    Activity, Advance, CellCounts, Ended, Error, Event, NamedTarget, Observer, PendingStore, Refusal, RunOptions,
    RunOutcome,
};
use loadline_block::Operation;
use loadline_emulation::replay::{Dependence, NoRoom, ReplaySchedule, ReplayedRequest, join_slices, relocate, trial};
use loadline_emulation::{Trace, TraceRecord};
use loadline_engine::{
    Access, Control, EngineOptions, Need, RECORDED_LENGTH_MAX, RecordedIo, RecordedRun, RecordedSource, Volume,
    replay_recorded,
};
use loadline_record::{
    CellRecord, Clock, Doubt, DoubtCode, DoubtEvidence, Ending, Histogram, RunHeader, RunVerb, SmallerStorage,
    TrialRecord, VolumeFacts,
};
use loadline_units::{Bytes, Duration, Instant};
use std::path::PathBuf;

/// Between two looks at whether the caller wants an end.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
/// What was counted is shown once in so many.
const LOOKS_PER_COUNT: u64 = 10;
/// Trims are cut into pieces of this length.
const TRIM_MAX: u64 = 1 << 30;
/// A backlog that takes longer than this share of the recorded time to work off, at its end, was more than the storage can carry.
const BACKLOG_SHARE: f64 = 0.02;
/// And at least so long.
const BACKLOG_MIN: Duration = Duration::from_ms(500);

/// How a trace is put on storage.
#[derive(Debug, Clone)]
pub struct StorageReplaySettings {
    /// The trace's file, as the record names it.
    pub file: PathBuf,
    /// What stands for each recorded volume; one alone stands for the only one.
    pub targets: Vec<NamedTarget>,
    /// What makes a request come.
    pub dependence: Dependence,
    /// So many times as fast as recorded.
    pub speed: f64,
    /// Writes, trims and flushes are left out.
    pub reads_only: bool,
    /// What the user allowed.
    pub access: Access,
    /// How the engine works.
    pub engine: EngineOptions,
}

/// A trace and the storage that it is put on.
pub struct StorageReplay {
    settings: StorageReplaySettings,
    options: RunOptions,
    parts: Vec<Part>,
    about: String,
    doubts: Vec<Doubt>,
    left_out: u64,
}

/// The requests to one volume.
struct Part {
    export: String,
    volume: Volume,
    /// As they are asked for.
    records: Vec<TraceRecord>,
    doubts: Vec<Doubt>,
}

impl StorageReplay {
    /// Opens the targets, and finds a place for every request.
    ///
    /// # Errors
    /// A recorded volume has no target, or no room there; the engine's refusal to open a target.
    pub fn prepare(
        mut trace: Trace,
        settings: StorageReplaySettings,
        options: RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let all = join_slices(&trace.records);
        let before = all.len();
        trace.records = all
            .into_iter()
            .filter(|record| !settings.reads_only || record.operation == Operation::Read)
            .map(|record| faster(record, settings.speed))
            .collect();
        let left_out = (before - trace.records.len()) as u64;
        if trace.records.is_empty() {
            return Err(if trace.cut_short { ReplayError::CutShort } else { ReplayError::NoRequest }.into());
        }
        let used: Vec<u16> = (0..trace.exports.len() as u16)
            .filter(|export| trace.records.iter().any(|record| record.export == *export))
            .collect();
        let targets: Result<Vec<&NamedTarget>, Error> = used
            .iter()
            .map(|export| target_of(&settings.targets, &trace.exports[usize::from(*export)], used.len()))
            .collect();
        let targets = targets?;
        refuse_overlaps(&targets, &trace)?;
        let mut parts = Vec::new();
        for (export, target) in used.iter().zip(targets) {
            parts.push(Part::open(&mut trace, *export, target, &settings, observer)?);
        }
        let doubts = source_doubts(&trace);
        Ok(Self { settings, options, parts, about: trace.about, doubts, left_out })
    }

    /// How long the recorded requests took, at the speed of the replay.
    #[must_use]
    pub fn planned(&self) -> Duration {
        let last = |part: &Part| part.records.iter().map(|record| record.submitted_at).max();
        let last = self.parts.iter().filter_map(last).max().unwrap_or(Instant::ZERO);
        if self.settings.dependence == Dependence::Haste { Duration::ZERO } else { last.since(Instant::ZERO) }
    }

    /// Requests that are left out.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Asks for every request, and stores the run.
    ///
    /// # Errors
    /// A volume cannot be asked at all; the store.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let pending = PendingStore::start(self.options.store_path()?, |_| Vec::new());
        let by = dependence_name(self.settings.dependence);
        let name = || {
            let stem = self.settings.file.file_stem();
            let stem = stem.map_or_else(|| "trace".into(), |stem| stem.to_string_lossy().into_owned());
            let targets: Vec<&str> = self.settings.targets.iter().map(|target| target.target.as_str()).collect();
            format!("{stem} on {}, by {by}", targets.join(", "))
        };
        let new = self.options.new_run(name, RunVerb::Replay, Clock::Real);
        let started_unix_s = unix_s();
        observer.event(&Event::Begins(&Activity {
            place: "1 of 1".to_owned(),
            label: format!("recorded load, by {by}"),
            volumes: self.parts.iter().map(|part| part.export.clone()).collect(),
            planned: self.planned(),
            is_guessed: true,
        }));
        let runs = carry_out(&mut self.parts, &self.settings, observer)?;
        let (mut cells, mut volumes, mut interrupted) = (Vec::new(), Vec::new(), false);
        for (number, (part, (run, missed))) in self.parts.iter().zip(runs).enumerate() {
            interrupted |= run.ending == Ending::Interrupted;
            let Some(mut trial) = trial_of(part, &run, started_unix_s, self.settings.dependence) else { continue };
            let facts = VolumeFacts { name: part.export.clone(), ..part.volume.facts.clone() };
            trial.missed = missed;
            let (id, label) = (cell_id(number), format!("recorded load, by {by}"));
            let mut cell: CellRecord = application_cell(id, &part.export, label, RequestSource::Trace { by }, &trial);
            trial.doubts = loadline_analysis::doubts(&cell.load.figures(), &trial, &facts);
            trial.doubts.extend(self.doubts.iter().chain(&part.doubts).cloned());
            if let Some(own) = backlog(part, &run, self.settings.dependence) {
                trial.doubts.retain(|doubt| doubt.code != own.code);
                trial.doubts.push(own);
            }
            trial.doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
            observer.event(&Event::Measured { volume: &part.export, cell: &cell.id, trial: &trial });
            cell.trials.push(trial);
            volumes.push(facts);
            cells.push(cell);
        }
        let header = RunHeader {
            volumes,
            settings: serde_json::json!({
                "trace": self.settings.file, "by": by, "speed": self.settings.speed, "reads_only": self.settings.reads_only,
                "left_out": self.left_out, "recorded_on": self.about, "cannot_know": blind_spot(self.settings.dependence),
            }),
            ..new.header()
        };
        let ended = if interrupted && cells.is_empty() { Ended::Interrupted } else { Ended::Complete };
        let outcome = pending.keep(header, cells, ended)?;
        observer.event(&Event::Stored(&outcome.record));
        Ok(outcome)
    }
}

/// The same so many times as fast.
fn faster(record: TraceRecord, speed: f64) -> TraceRecord {
    let at = |at: Instant| Instant::from_ns((at.as_ns() as f64 / speed) as u64);
    if (speed - 1.0).abs() < f64::EPSILON {
        return record;
    }
    TraceRecord { submitted_at: at(record.submitted_at), completed_at: record.completed_at.map(at), ..record }
}

/// What stands for a recorded volume: the target of its name, or the only one for the only one.
fn target_of<'a>(targets: &'a [NamedTarget], export: &str, used: usize) -> Result<&'a NamedTarget, Error> {
    let named = targets.iter().find(|target| target.volume == export);
    let only = || targets.first().filter(|_| targets.len() == 1 && used == 1);
    named.or_else(only).ok_or_else(|| {
        let known = targets.iter().map(|target| target.volume.clone()).collect();
        ReplayError::NoTarget { volume: export.to_owned(), known }.into()
    })
}

/// Two volumes of which one is written to must not share storage.
fn refuse_overlaps(targets: &[&NamedTarget], trace: &Trace) -> Result<(), Error> {
    let writes = trace.records.iter().any(|record| !matches!(record.operation, Operation::Read | Operation::Flush));
    for (place, one) in targets.iter().enumerate().filter(|_| writes) {
        for other in &targets[..place] {
            if let Some(how) = loadline_engine::target::overlap(&other.target, &one.target) {
                let volumes = [other.volume.clone(), one.volume.clone()];
                return Err(Refusal::Overlap { volumes, how }.into());
            }
        }
    }
    Ok(())
}

impl Part {
    fn open(
        trace: &mut Trace,
        export: u16,
        target: &NamedTarget,
        settings: &StorageReplaySettings,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let own = |record: &&TraceRecord| record.export == export;
        let reach = trace.records.iter().filter(own).map(|record| record.offset + record.length).max().unwrap_or(0);
        let writes = trace
            .records
            .iter()
            .filter(own)
            .any(|record| !matches!(record.operation, Operation::Read | Operation::Flush));
        // A folder gets a file that the requests fit in; what exists is taken as it is.
        let is_folder = std::path::Path::new(&target.target).is_dir();
        let size = is_folder.then(|| Bytes::new(reach.next_multiple_of(1 << 20)));
        let need = Need { size, files: 1, writes, ..Need::default() };
        let volume = open_watched(&target.volume, &target.target, &need, &settings.access, observer)?;
        let mut doubts = Vec::new();
        let name = trace.exports[usize::from(export)].clone();
        let room = volume.size();
        if reach > room.get() {
            let found = relocate(&mut trace.records, export, room).map_err(|NoRoom { asked_for }| {
                ReplayError::NoRoom { volume: name.clone(), environment: target.target.clone(), asked_for, size: room }
            })?;
            let seen = DoubtEvidence::RequestsBeyondEnd {
                storage: SmallerStorage::Target { target: target.target.clone() },
                reach_bytes: reach,
                size_bytes: room.get(),
                requests: found.requests,
            };
            doubts.push(Doubt { code: DoubtCode::RequestsMoved, seen });
        }
        let block = if volume.facts.direct { volume.alignment().offset.get() } else { 1 };
        let mut widened = 0;
        let records: Vec<TraceRecord> = trace
            .records
            .iter()
            .filter(own)
            .flat_map(|record| pieces(&mut widened, *record, block, room.get()))
            .collect();
        if widened > 0 {
            let seen = DoubtEvidence::RequestsWidened { requests: widened, block_bytes: block };
            doubts.push(Doubt { code: DoubtCode::RequestsMoved, seen });
        }
        Ok(Self { export: name, volume, records, doubts })
    }
}

/// A request as it can be asked for: of whole blocks, and no longer than one request may be.
fn pieces(widened: &mut u64, record: TraceRecord, block: u64, room: u64) -> Vec<TraceRecord> {
    if record.length == 0 {
        return vec![record];
    }
    let from = record.offset / block * block;
    let to = (record.offset + record.length).next_multiple_of(block).min(room / block * block);
    *widened += u64::from(from != record.offset || to != record.offset + record.length);
    let most = if record.operation == Operation::Trim { TRIM_MAX } else { u64::from(RECORDED_LENGTH_MAX) };
    let mut all = Vec::new();
    let mut offset = from;
    while offset < to {
        let length = (to - offset).min(most);
        all.push(TraceRecord { offset, length, export: 0, ..record });
        offset += length;
    }
    all
}

/// A schedule, whose times count from the beginning.
struct Schedule<'a>(ReplaySchedule<'a>);

impl RecordedSource for Schedule<'_> {
    fn next_at(&self) -> Option<Duration> {
        self.0.next_at().map(|at| at.since(Instant::ZERO))
    }
    fn take(&mut self, now: Duration) -> Option<(usize, Duration)> {
        let (number, due) = self.0.take(Instant::ZERO + now)?;
        Some((number, due.since(Instant::ZERO)))
    }
    fn answer(&mut self, number: usize, at: Duration) {
        let at = Instant::ZERO + at;
        self.0.answer(number, at, at);
    }
}

/// The cell of a part.
fn cell_id(place: usize) -> String {
    format!("replay-{place}")
}

/// Asks all volumes at the same time, each in a thread of its own. Beside each run stands how many requests it missed.
fn carry_out(
    parts: &mut [Part],
    settings: &StorageReplaySettings,
    observer: &mut dyn Observer,
) -> Result<Vec<(RecordedRun, u64)>, Error> {
    let control = Control::new();
    let ids: Vec<(String, String)> =
        parts.iter().enumerate().map(|(place, part)| (part.export.clone(), cell_id(place))).collect();
    let cells: Vec<(&str, &str)> = ids.iter().map(|(volume, cell)| (&**volume, &**cell)).collect();
    std::thread::scope(|scope| {
        let control = &control;
        let threads: Vec<_> = parts
            .iter_mut()
            .enumerate()
            .map(|(place, part)| {
                let (dependence, engine) = (settings.dependence, settings.engine);
                scope.spawn(move || -> Result<(RecordedRun, u64), Error> {
                    let Part { volume, records, .. } = part;
                    let requests: Vec<RecordedIo> = records
                        .iter()
                        .map(|record| RecordedIo {
                            operation: record.operation,
                            durable: record.durable,
                            offset: record.offset,
                            length: record.length as u32,
                        })
                        .collect();
                    let mut schedule = Schedule(ReplaySchedule::new(records, 1, dependence));
                    let run = replay_recorded(volume, &requests, &mut schedule, engine, (control, place))?;
                    let is_left_out =
                        |number: usize| run.ending == Ending::Complete && schedule.0.is_background(number);
                    let unanswered = run.answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
                    let missed = unanswered.filter(|(number, _)| !is_left_out(*number)).count() as u64;
                    Ok((run, missed))
                })
            })
            .collect();
        let mut looks = 0_u64;
        while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(LOOK);
            observer.event(&Event::Advances(Advance::Device(&control.progress())));
            looks += 1;
            if looks.is_multiple_of(LOOKS_PER_COUNT) {
                observer.event(&Event::Counted(&CellCounts::of(&cells, control)));
            }
            if observer.wants_an_end() {
                control.stop();
            }
        }
        let runs = threads.into_iter().map(|thread| match thread.join() {
            Ok(run) => run,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        runs.collect()
    })
}

/// What became of the requests, as a trial. Latency counts from when they were due.
fn trial_of(part: &Part, run: &RecordedRun, started_unix_s: u64, dependence: Dependence) -> Option<TrialRecord> {
    let at = |span: Duration| Instant::ZERO + span;
    let answered = || part.records.iter().zip(&run.answers).filter_map(|(record, answer)| Some((*record, (*answer)?)));
    let good: Vec<(TraceRecord, ReplayedRequest)> = answered()
        .filter(|(_, answer)| answer.error.is_none())
        .map(|(record, answer)| {
            (record, ReplayedRequest { submitted_at: at(answer.due), completed_at: at(answer.completed) })
        })
        .collect();
    let mut trial = trial(&good, started_unix_s, dependence)?;
    trial.engine = run.engine.clone();
    trial.ending = run.ending.clone();
    let asked = std::mem::take(&mut trial.surroundings.asked);
    trial.surroundings = run.surroundings.clone();
    trial.surroundings.asked = asked;
    for (record, answer) in answered() {
        let own = trial.operations.entry(record.operation).or_default();
        if let Some(error) = answer.error {
            own.errors += 1;
            *trial.errors.entry(error).or_default() += 1;
            if trial.error_samples.len() < 5 {
                let what = record.operation.name();
                trial.error_samples.push(format!("{what} at {} of {}: {error}", record.offset, record.length));
            }
            continue;
        }
        let waiting = answer.submitted.saturating_sub(answer.due);
        own.waiting.get_or_insert_with(Histogram::new).record(waiting);
        let service = answer.completed.saturating_sub(answer.submitted);
        own.service.get_or_insert_with(Histogram::new).record(service);
    }
    Some(trial)
}

/// A doubt: requests came faster than the storage can answer them.
fn backlog(part: &Part, run: &RecordedRun, dependence: Dependence) -> Option<Doubt> {
    if dependence != Dependence::Time {
        return None;
    }
    let answers = || run.answers.iter().flatten();
    let last_due = answers().map(|answer| answer.due).max()?;
    let last_answered = answers().map(|answer| answer.completed).max()?;
    let late = last_answered.saturating_sub(last_due);
    let is_late = late > BACKLOG_MIN && late.as_s_f64() > last_due.as_s_f64() * BACKLOG_SHARE;
    let waiting = answers().filter(|answer| answer.due <= last_due && answer.completed > last_due).count();
    let span_s = last_answered.as_s_f64().max(1e-9);
    is_late.then(|| Doubt {
        code: DoubtCode::OfferedLoadMissed,
        seen: DoubtEvidence::Backlog {
            requests: part.records.len() as u64,
            unanswered: waiting as u64,
            late_ns: late.as_ns(),
            answered_iops: answers().count() as f64 / span_s,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(offset: u64, length: u64, operation: Operation) -> TraceRecord {
        TraceRecord {
            submitted_at: Instant::from_ns(1_000),
            completed_at: Some(Instant::from_ns(3_000)),
            operation,
            offset,
            length,
            ..TraceRecord::default()
        }
    }

    #[test]
    fn requests_are_widened_to_blocks_and_cut_to_what_can_be_asked_at_once() {
        let mut widened = 0;
        let mut of = |offset, length, operation| {
            let all = pieces(&mut widened, record(offset, length, operation), 4_096, 1 << 30);
            all.iter().map(|piece| (piece.offset, piece.length)).collect::<Vec<_>>()
        };
        assert_eq!(of(512, 1_024, Operation::Read), [(0, 4_096)]);
        assert_eq!(of(4_096, 4_096, Operation::Read), [(4_096, 4_096)]);
        assert_eq!(of(0, 6 << 20, Operation::Write), [(0, 4 << 20), (4 << 20, 2 << 20)]);
        assert_eq!(of(0, 6 << 20, Operation::Trim), [(0, 6 << 20)]);
        assert_eq!(of(0, 0, Operation::Flush), [(0, 0)]);
        // The last block of the storage ends where it does.
        assert_eq!(of((1 << 30) - 512, 512, Operation::Read), [((1 << 30) - 4_096, 4_096)]);
        assert_eq!(widened, 2);
    }

    #[test]
    fn twice_as_fast_is_half_the_time() {
        let faster = faster(record(0, 1, Operation::Read), 2.0);
        assert_eq!((faster.submitted_at.as_ns(), faster.completed_at.unwrap().as_ns()), (500, 1_500));
    }

    #[test]
    fn the_only_target_stands_for_the_only_volume_and_names_for_several() {
        let target = |volume: &str| NamedTarget { volume: volume.into(), target: "/dev/x".into() };
        assert!(target_of(&[target("data")], "sda", 1).is_ok());
        assert!(target_of(&[target("data")], "sda", 2).is_err());
        assert!(target_of(&[target("log"), target("sda")], "sda", 2).is_ok());
    }
}
