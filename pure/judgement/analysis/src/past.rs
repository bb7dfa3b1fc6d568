//! What a stored watch looked like at a time, and when which limit held: the judge is that of the whole run.

use crate::live::{LIVE_WINDOW_S, LiveFrame, LiveMachine, LiveProgram, LiveVolume};
use crate::watching::watch_course;
use loadline_record::{CellRecord, Limit, RunRecord, WatchCause, WatchRecord, WatchTick};

/// Programs of a frame.
const PROGRAMS_MAX: usize = 12;
/// A limit that comes back within this goes on, us.
const PAUSE_MAX_US: u64 = 5_000_000;
/// What lasts shorter is no incident, us.
const HELD_MIN_US: u64 = 5_000_000;

/// A time for which a device was at a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// The device.
    pub volume: String,
    /// What it was.
    pub cause: WatchCause,
    /// The limit that it is, where that is known.
    pub limit: Option<Limit>,
    /// Its begin, us since 1970.
    pub since_us: u64,
    /// Its end.
    pub until_us: u64,
    /// For how much of that the limit held, us.
    pub held_us: u64,
    /// What the device did meanwhile.
    pub did: WatchTick,
}

impl Incident {
    /// Whether another one goes on where this one ends.
    fn goes_on_with(&self, next: &Self) -> bool {
        let is_same = self.volume == next.volume && self.cause == next.cause;
        is_same && next.since_us <= self.until_us + PAUSE_MAX_US
    }
    /// Goes on with the next.
    fn take(&mut self, next: &Self) {
        self.until_us = self.until_us.max(next.until_us);
        self.held_us += next.held_us;
        self.did = self.did.joined(next.did);
    }
    /// Requests per second.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.did.requests() as f64 * 1e6 / self.did.elapsed_us.max(1) as f64
    }
}

/// The incidents of several watches, such as the hours of a recorder.
#[derive(Debug, Default)]
pub struct Incidents(Vec<Incident>);

impl Incidents {
    /// Adds those of a watch.
    pub fn add(&mut self, record: &RunRecord) {
        for cell in &record.cells {
            let (Some(trial), Some(course)) = (cell.trials.last(), watch_course(cell, &record.cells)) else { continue };
            let spans = trial.watched.as_deref().map(WatchRecord::spans_us).unwrap_or_default();
            let begun_us = trial.started_unix_s * 1_000_000;
            let mut last: Option<usize> = None;
            for (second, span) in course.seconds.iter().zip(spans) {
                let most = second.causes.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
                let Some(found) = most.and_then(|(place, _)| course.causes.get(*place)) else { continue };
                if !is_limit(&found.cause) {
                    continue;
                }
                let own = Incident {
                    volume: cell.volume.clone(),
                    cause: found.cause.clone(),
                    limit: found.limit,
                    since_us: begun_us + span.start,
                    until_us: begun_us + span.end,
                    held_us: span.end - span.start,
                    did: second.tick,
                };
                if let Some(place) = last.filter(|place| self.0[*place].goes_on_with(&own)) {
                    self.0[place].take(&own);
                } else {
                    last = Some(self.0.len());
                    self.0.push(own);
                }
            }
        }
    }

    /// All that lasted, in their order.
    #[must_use]
    pub fn found(mut self) -> Vec<Incident> {
        self.0.sort_by(|a, b| (&a.volume, a.since_us).cmp(&(&b.volume, b.since_us)));
        let mut all: Vec<Incident> = Vec::new();
        for own in self.0 {
            match all.last_mut().filter(|before| before.goes_on_with(&own)) {
                Some(before) => before.take(&own),
                None => all.push(own),
            }
        }
        all.retain(|incident| incident.held_us >= HELD_MIN_US);
        all.sort_by(|a, b| (a.since_us, &a.volume).cmp(&(b.since_us, &b.volume)));
        all
    }
}

/// Whether more would have been done without it. Answers, flushes and a device that waits for work are how a device is at any time.
const fn is_limit(cause: &WatchCause) -> bool {
    match cause {
        WatchCause::Throttle { .. }
        | WatchCause::CountedExcess { .. }
        | WatchCause::DeclaredLimit { .. }
        | WatchCause::Queue { .. }
        | WatchCause::Level
        | WatchCause::LevelAfterBurst
        | WatchCause::Quota { .. }
        | WatchCause::Processors
        | WatchCause::Memory { .. }
        | WatchCause::Swap => true,
        WatchCause::Flushes
        | WatchCause::Answers
        | WatchCause::PageCache { .. }
        | WatchCause::Application { .. }
        | WatchCause::NoWork => false,
    }
}

/// The frames that a stored watch had between two times, one for each of its samples: each judged by the minute before it.
#[must_use]
pub fn past_frames(record: &RunRecord, since_unix_s: u64, until_unix_s: u64) -> Vec<LiveFrame> {
    let mut ends: Vec<u64> = record.cells.iter().flat_map(sample_ends).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.retain(|end| (since_unix_s + 1..=until_unix_s).contains(end));
    let begun = record.watched_span().map_or(0, |(begun, _)| begun);
    ends.into_iter().filter_map(|end| past_frame(record, begun, end)).collect()
}

/// When the samples of a cell end, seconds since 1970.
fn sample_ends(cell: &CellRecord) -> Vec<u64> {
    let Some(trial) = cell.trials.last() else { return Vec::new() };
    let spans = trial.watched.as_deref().map(WatchRecord::spans_us).unwrap_or_default();
    spans.iter().map(|span| trial.started_unix_s + (span.end + 500_000) / 1_000_000).collect()
}

fn past_frame(record: &RunRecord, begun_unix_s: u64, at_unix_s: u64) -> Option<LiveFrame> {
    let past = record.between(at_unix_s.saturating_sub(LIVE_WINDOW_S as u64), at_unix_s)?;
    let header = &record.header;
    let mut frame = LiveFrame::new(header.id.clone(), header.verb.name().to_owned(), header.name.clone());
    frame.is_past = true;
    frame.at_unix_ms = at_unix_s * 1_000;
    frame.elapsed_ns = at_unix_s.saturating_sub(begun_unix_s) * 1_000_000_000;
    for cell in &record.cells {
        let seen = past.cells.iter().find(|own| own.volume == cell.volume);
        let watch = seen.and_then(|own| own.trials.last()?.watched.as_deref());
        let tick = watch.and_then(|watch| watch.by_second().last());
        let (Some(watch), Some(tick)) = (watch, tick) else {
            frame.volumes.push(LiveVolume { name: cell.volume.clone(), ..LiveVolume::default() });
            continue;
        };
        let seconds = tick.elapsed_us.max(1) as f64 / 1e6;
        frame.volumes.push(LiveVolume::of_tick(&cell.volume, tick, &watch.throttles, seconds));
        let cpu = watch.seconds.last().and_then(|second| second.cpu);
        frame.machine = cpu.map_or(frame.machine, LiveMachine::from);
        frame.own_cpu_share = Some(watch.cost.share());
        for program in &watch.programs {
            let Some(did) = program.seconds.last() else { continue };
            if !frame.programs.iter().any(|own| own.pid == program.pid && own.name == program.name) {
                frame.programs.push(LiveProgram::of((&program.name, program.pid, program.processes, *did), seconds));
            }
        }
    }
    let bytes = |program: &LiveProgram| program.read_bytes_per_s + program.write_bytes_per_s;
    frame.programs.sort_by(|a, b| bytes(b).total_cmp(&bytes(a)));
    frame.programs.truncate(PROGRAMS_MAX);
    frame.judge(&past);
    Some(frame)
}
