//! Conducts a trial: prepares the load threads, sets the times, watches, and gathers what was measured.

mod filling;
mod heartbeat;
mod hybrid_poll;
mod lane;
mod ledger;
mod load_threads;
mod recorded;
mod stalls;
mod timed_sleep;
mod turns;
mod verify_pass;
mod waiting;
mod workers;
mod write_back;

use crate::backend::Trims;
use crate::choose;
use crate::control::{Control, Phase, Progress};
use crate::error::EngineError;
use crate::nbd::NbdExport;
use crate::options::EngineOptions;
use crate::surroundings::Observation;
use crate::target::Volume;
use crate::verify;
use lane::TransferBudget;
use ledger::{GaveUp, Ledger, Times};
use load_threads::Threads;
use loadline_kernel::clock;
use loadline_kernel::facts::CacheScope;
use loadline_record::{Ending, MachineCpu, SteadyState, Stops, TargetKind, TrialRecord, VerifyRecord};
use loadline_units::{Bytes, Duration, Instant, NS_PER_S};
use loadline_workload::{LoadSpec, Region, SteadyStateRule};
use stalls::Stalls;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use verify_pass::Kept;

pub use filling::{FillReport, Filling, fill};
pub use recorded::{RECORDED_LENGTH_MAX, RecordedAnswer, RecordedIo, RecordedRun, RecordedSource, replay_recorded};
pub use verify_pass::{Ground, verify_only};
pub use write_back::{Settled, settle};

/// How long the conductor sleeps at a time: it learns of stops of the tool by sleeping longer than it wanted.
const CONDUCTOR_SLEEP: Duration = Duration::from_ms(10);
/// How often the conductor looks.
const LOOK: Duration = Duration::from_ms(100);
/// A load thread that was given this long beyond the hang limit, and since the tool last stood still, and is not back is left
/// behind.
const HANG_GRACE: Duration = Duration::from_ms(500);

/// The files of a trial; load threads hold them as long as they need.
#[derive(Debug)]
struct TrialFiles {
    files: Vec<File>,
    file_size: Bytes,
    trims: Trims,
    /// They are read and written past the page cache.
    direct: bool,
    /// In place of files.
    export: Option<Arc<NbdExport>>,
}

/// Where `spec` puts its requests on `volume`.
fn region_of(volume: &Volume, spec: &LoadSpec) -> Region {
    let files = volume.parts();
    let room = volume.file_size.saturating_sub(spec.start);
    let wanted = spec.size.map_or(room, |size| Bytes::new(size.get() / u64::from(files)));
    Region { files, file_size: volume.file_size, start: spec.start, size: wanted.min(room) }
}

/// Takes off what the machine's CPUs were busy with for `awake` of `elapsed`, on one of them at a time: load threads that wait awake give
/// way to threads that need the processor.
fn leave_out_waiting(machine: &mut MachineCpu, awake: Duration, elapsed: Duration) {
    let all = elapsed.as_s_f64() * f64::from(machine.cpus);
    if all > 0.0 {
        machine.busy = (machine.busy - awake.as_s_f64() / all).max(0.0);
    }
}

/// Puts `spec` on `volume` once.
///
/// The seed decides every random choice together with the trial's number. Doubts are left to the analysis.
///
/// # Errors
/// When the trial cannot be started. What goes wrong later is in the record: `ending`, `errors`.
pub fn run_trial(
    volume: &mut Volume,
    spec: &LoadSpec,
    trial: u32,
    seed: u64,
    options: EngineOptions,
    control: &Control,
) -> Result<TrialRecord, EngineError> {
    spec.check()?;
    check_access(volume, spec)?;
    rest(spec.pause, control);
    let caches_dropped = spec.drop_caches.then(|| volume.drop_caches(CacheScope::Machine));
    let observation = Observation::begin(volume);
    let started_unix_s = clock::wall_s();
    let outcome = conduct(volume, spec, trial_seed(seed, trial), options, control, None)?;
    let mut surroundings = observation.end(volume);
    let (mut verify, mut ending) = (None, outcome.ending);
    if let Some(ledger) = &outcome.verify_ledger
        && !matches!(ending, Ending::Hung(_))
    {
        let mut record = outcome.verify.clone();
        record.streams = ledger.written();
        let any = record.streams.iter().any(|stream| stream.issued > 0);
        if any && verify_pass::make_durable(volume, spec.hang_limit, control) {
            record.streams.iter_mut().for_each(|stream| stream.durable = stream.acknowledged);
        }
        match verify_pass::read_all(volume, ledger, spec.hang_limit, control, &mut record) {
            Some(Kept::Hung(detail)) => {
                outcome.ledger.book().timed_out(None, detail.clone());
                ending = Ending::Hung(detail);
            }
            Some(Kept::Away(error)) if ending == Ending::Complete => ending = Ending::Failed(error.to_string()),
            // The cause that ended the load is reported already.
            Some(Kept::Away(_)) | None => {}
        }
        verify = Some(record);
    }
    let mut book = outcome.ledger.book();
    let (operations, series) = book.finish(outcome.measured, spec.has_due_times());
    surroundings.caches_dropped = caches_dropped;
    // The observation knows what quotas held back.
    let throttled_ns = surroundings.stops.and_then(|stops| stops.throttled_ns);
    surroundings.stops = Some(Stops { throttled_ns, ..outcome.stops.record() });
    surroundings.threads = std::mem::take(&mut book.threads);
    surroundings.turns = std::mem::take(&mut book.turns);
    surroundings.load_user_ns = book.load_user.as_ns();
    surroundings.load_system_ns = book.load_system.as_ns();
    if let Some(machine) = &mut surroundings.machine {
        leave_out_waiting(machine, book.awake, Duration::from_ns(surroundings.elapsed_ns));
    }
    surroundings.asked = std::mem::take(&mut book.asked);
    let mut engine = outcome.engine;
    engine.options = std::mem::take(&mut book.in_force);
    let offered = spec.offered().map(|_| book.offered as f64 / outcome.measured.as_s_f64().max(1e-9));
    Ok(TrialRecord {
        warm_up_ns: outcome.warm_up.as_ns(),
        measured_ns: outcome.measured.as_ns(),
        operations,
        offered_iops: offered,
        missed: book.missed,
        series,
        errors: std::mem::take(&mut book.errors),
        error_samples: std::mem::take(&mut book.error_samples),
        surroundings,
        steady_state: outcome.steady_state,
        verify,
        ending,
        ..TrialRecord::empty(trial, started_unix_s, engine)
    })
}

/// Whether `spec` can be put on `volume` with these options at all, found out without one request of it: what follows from
/// the load, the volume and the machine alone. Of an export the connections that the load takes are made, and kept.
///
/// # Errors
/// What [`run_trial`] would refuse the load with, every time.
pub fn check(volume: &Volume, spec: &LoadSpec, options: EngineOptions) -> Result<(), EngineError> {
    spec.check()?;
    check_access(volume, spec)?;
    let (engine, _) = choose::choose(volume, spec, options)?;
    let (region, room) = (region_of(volume, spec), device_room(volume, spec));
    load_threads::fitting_slots(engine, spec, &region, room, &volume.facts.name).map(drop)
}

/// The seed of one trial of a run.
fn trial_seed(seed: u64, trial: u32) -> u64 {
    seed ^ (u64::from(trial) + 1).wrapping_mul(0xd134_2543_de82_ef95)
}

/// Whether the volume keeps what a load with `verify` writes.
fn check_keeps(volume: &Volume, spec: &LoadSpec) -> Result<(), EngineError> {
    if spec.verify && volume.parts_kept() == 0 {
        return Err(EngineError::KeepsNothing { volume: volume.facts.name.clone() });
    }
    Ok(())
}

fn check_access(volume: &Volume, spec: &LoadSpec) -> Result<(), EngineError> {
    check_keeps(volume, spec)?;
    let name = || volume.facts.name.clone();
    if volume.parts_kept() == 0 {
        return Ok(());
    }
    if spec.writes_any() && !volume.writable {
        return Err(EngineError::ReadOnly { volume: name(), load: spec.to_string() });
    }
    if let Some(export) = volume.export() {
        export.check(spec, &volume.facts.name)?;
    }
    let logical_block = volume.alignment().offset;
    if volume.facts.direct && !spec.buffered {
        let odd = [spec.block_min(), spec.alignment(), spec.start]
            .into_iter()
            .chain(spec.blocks.iter().map(|b| b.size))
            .find(|size| !size.get().is_multiple_of(logical_block.get()));
        if let Some(asked) = odd {
            return Err(EngineError::Alignment { volume: name(), logical_block, asked });
        }
    }
    Ok(())
}

/// Refuses a load that writes on a volume that may not be written to.
fn check_writes(volume: &Volume, writes: bool, load: &str) -> Result<(), EngineError> {
    if writes && volume.parts_kept() > 0 && !volume.writable {
        return Err(EngineError::ReadOnly { volume: volume.facts.name.clone(), load: load.to_owned() });
    }
    Ok(())
}

/// Switches direct I/O on or off for an open file, so that one volume serves direct and buffered loads in turn.
fn set_direct(file: &File, direct: bool) -> std::io::Result<()> {
    // SAFETY: F_GETFL takes and gives numbers only.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let wanted = if direct { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
    // SAFETY: F_SETFL takes numbers only.
    if wanted != flags && unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, wanted) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Requests that the devices below a volume hold at once.
fn device_room(volume: &Volume, spec: &LoadSpec) -> Option<u64> {
    if spec.buffered || !volume.facts.direct || volume.facts.devices.is_empty() {
        return None;
    }
    volume.facts.devices.iter().map(|device| device.queue_requests).sum()
}

/// Waits, unless the user stops it.
fn rest(span: Duration, control: &Control) {
    let until = clock::now() + span;
    while clock::now() < until && !control.stopped() {
        std::thread::sleep(LOOK.min(until.since(clock::now())).into());
    }
}

/// What `conduct` gathered.
struct Outcome {
    ledger: Arc<Ledger>,
    engine: loadline_record::EngineUsed,
    warm_up: Duration,
    measured: Duration,
    steady_state: Option<SteadyState>,
    ending: Ending,
    verify_ledger: Option<Arc<verify::Ledger>>,
    verify: VerifyRecord,
    stops: Stalls,
}

fn conduct(
    volume: &Volume,
    spec: &LoadSpec,
    seed: u64,
    options: EngineOptions,
    control: &Control,
    instead: Option<Phase>,
) -> Result<Outcome, EngineError> {
    let (engine, engine_used) = choose::choose(volume, spec, options)?;
    let region = region_of(volume, spec);
    let verify_ledger =
        spec.verify.then(|| Arc::new(verify::Ledger::new(seed, spec.block_max().get(), region, spec.threads)));
    let ledger = Arc::new(Ledger::default());
    let times = Arc::new(Times::new());
    let files = volume
        .files
        .iter()
        .map(File::try_clone)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| EngineError::os(format!("share the files of volume {}", volume.facts.name), e))?;
    let direct = volume.facts.direct && !spec.buffered;
    for file in &files {
        set_direct(file, direct)
            .map_err(|e| EngineError::os(format!("switch direct I/O on volume {}", volume.facts.name), e))?;
    }
    let bound = spec.volume.map(|volume| Arc::new(TransferBudget { left: AtomicU64::new(volume.get()) }));
    let trims = if volume.facts.kind == TargetKind::BlockDevice { Trims::Discard } else { Trims::Hole };
    let threads = Threads::start(&load_threads::Setup {
        engine,
        spec,
        region,
        seed,
        options,
        volume_name: &volume.facts.name,
        device_room: device_room(volume, spec),
        files: Arc::new(TrialFiles {
            files,
            file_size: region.file_size,
            trims,
            direct,
            export: volume.holding.export.clone(),
        }),
        ledger: &ledger,
        times: &times,
        bound: bound.as_ref(),
        verify: verify_ledger.as_ref(),
    })?;
    let started_at = clock::now();
    let mut conductor = Conductor {
        spec,
        times: &times,
        ledger: &ledger,
        control,
        started_at,
        from: None,
        steady: spec.steady_state.map(|rule| Steady::new(rule, spec.warm_up)),
        instead,
        bound: bound.as_deref(),
    };
    conductor.set_times();
    threads.go(started_at);
    let (mut hung, mut held) = (None, Vec::new());
    let mut stops = Stalls::default();
    let mut look_at = started_at;
    let mut judged_from = started_at;
    while !threads.finished() {
        // A thread that ends wakes this one.
        let from = clock::now();
        std::thread::park_timeout(CONDUCTOR_SLEEP.into());
        let now = clock::now();
        stops.slept(from, now, (times.from(), times.to()));
        if now.since(from) > HANG_GRACE {
            // The tool stood still (Ctrl-Z, a machine that slept), and the load threads with it: they come by first.
            judged_from = now + HANG_GRACE;
        }
        if now < look_at && !threads.finished() {
            continue;
        }
        look_at = now + LOOK;
        conductor.look(now);
        held = if now < judged_from { Vec::new() } else { threads.held(now, spec.hang_limit + HANG_GRACE) };
        if let Some(longest) = held.iter().min_by_key(|thread| thread.since) {
            times.abort();
            hung.get_or_insert_with(|| longest.describe(now));
            // The others end by themselves, or are held in their turn.
            if held.len() == threads.unfinished() {
                break;
            }
        }
    }
    if threads.finished() {
        held.clear();
    }
    let ended_at = clock::now();
    let (verify_during, panicked) = threads.collect();
    assert!(!panicked, "a load thread panicked; its message is above");
    let from = conductor.from.map_or(ended_at, |from| from.min(ended_at));
    let mut book = ledger.book();
    // Their counts since the last entry in the ledger are lost with them: at most a second.
    for thread in &held {
        book.timed_out(thread.request.map(|request| request.operation), thread.describe(ended_at));
    }
    if let Some(detail) = hung {
        book.gave_up.push(GaveUp::Hung(detail));
    }
    let gave_up = book.gave_up.first().cloned();
    let early = control.stopped() || gave_up.is_some() || bound.is_some();
    let last_at = book.finished_at.filter(|_| held.is_empty()).unwrap_or(ended_at);
    let to = if early { times.to().min(last_at) } else { times.to() };
    drop(book);
    let ending = match gave_up {
        Some(GaveUp::Hung(detail)) => Ending::Hung(detail),
        Some(GaveUp::Failed(detail)) => Ending::Failed(detail),
        None if control.stopped() => Ending::Interrupted,
        None => Ending::Complete,
    };
    control.report(Progress::default());
    Ok(Outcome {
        engine: engine_used,
        warm_up: from.since(started_at),
        measured: to.since(from),
        steady_state: conductor.steady.map(Steady::outcome),
        ending,
        verify_ledger,
        verify: verify_during,
        ledger,
        stops,
    })
}

/// Sets the times of a trial and reports its progress to watchers.
struct Conductor<'a> {
    spec: &'a LoadSpec,
    times: &'a Times,
    ledger: &'a Ledger,
    control: &'a Control,
    started_at: Instant,
    /// When the measurement begins, once that is known.
    from: Option<Instant>,
    steady: Option<Steady>,
    /// What the phase is called when this is no ordinary trial.
    instead: Option<Phase>,
    bound: Option<&'a TransferBudget>,
}

impl Conductor<'_> {
    fn set_times(&mut self) {
        if self.steady.is_none() {
            self.begin(self.started_at + self.spec.warm_up);
        }
    }
    fn begin(&mut self, from: Instant) {
        let to = from + self.spec.duration;
        self.from = Some(from);
        self.times.set(from, to, to + self.spec.cool_down);
    }

    fn look(&mut self, now: Instant) {
        if self.control.stopped() && !self.times.aborted() {
            self.times.abort();
        }
        let mut book = self.ledger.book();
        if let Some(from) = self.from {
            book.close_seconds(from, now);
        }
        let last = book.last;
        let steady_now = match &mut self.steady {
            Some(steady) if self.from.is_none() => steady.look(now.since(self.started_at), &book.warm_up_counts),
            _ => false,
        };
        drop(book);
        if steady_now {
            // The load threads learn of it on their next turn: a moment ahead, so that all begin together.
            self.begin(now + Duration::from_ms(10));
        }
        self.control.report(self.progress(now, last));
    }

    fn progress(&self, now: Instant, last: Option<ledger::LastSecond>) -> Progress {
        let to = self.times.to();
        let (phase, since, expected) = match self.from {
            Some(from) if now >= to => (Phase::CoolDown, from + self.spec.duration, Some(self.spec.cool_down)),
            Some(from) if now >= from => (Phase::Measuring, from, Some(self.spec.duration)),
            _ => (Phase::WarmUp, self.started_at, self.steady.is_none().then_some(self.spec.warm_up)),
        };
        let done = self.bound.zip(self.spec.volume).map(|(bound, volume)| {
            1.0 - bound.left.load(std::sync::atomic::Ordering::Relaxed) as f64 / volume.get().max(1) as f64
        });
        Progress {
            phase: self.instead.unwrap_or(phase),
            elapsed: now.since(since),
            expected: if done.is_some() { None } else { expected },
            done,
            iops: last.map(|l| l.iops),
            bytes_per_s: last.map(|l| l.bytes_per_s),
            p50: last.and_then(|l| l.p50),
            p99: last.and_then(|l| l.p99),
        }
    }
}

/// Follows the rate round by round until it is steady. Rounds are whole seconds of the load's own count, so that the
/// moment at which the conductor looks does not matter.
struct Steady {
    rule: SteadyStateRule,
    first_second: usize,
    round_seconds: usize,
    rounds: Vec<f64>,
    reached: bool,
}

impl Steady {
    fn new(rule: SteadyStateRule, warm_up: Duration) -> Self {
        assert!(rule.round.as_ns().is_multiple_of(NS_PER_S), "the load was checked: {rule:?}");
        Self {
            rule,
            first_second: warm_up.as_ns().div_ceil(NS_PER_S) as usize,
            round_seconds: (rule.round.as_ns() / NS_PER_S) as usize,
            rounds: Vec::new(),
            reached: false,
        }
    }
    /// Whether the measurement may begin at `elapsed` since the load's begin, with `counts` completed in each second so
    /// far: the rate is steady, or the rounds are used up.
    fn look(&mut self, elapsed: Duration, counts: &[u64]) -> bool {
        let begin = self.first_second + self.rounds.len() * self.round_seconds;
        let end = begin + self.round_seconds;
        if elapsed < Duration::from_s(end as u64) + ledger::SECOND_GRACE {
            return false;
        }
        let completed: u64 = counts.iter().take(end).skip(begin).sum();
        self.rounds.push(completed as f64 / self.round_seconds as f64);
        self.reached = self.rule.met(&self.rounds);
        self.reached || self.rounds.len() >= self.rule.rounds_max as usize
    }
    fn outcome(self) -> SteadyState {
        SteadyState { reached: self.reached, rounds: self.rounds, round_ns: self.round_seconds as u64 * NS_PER_S }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_awake_keeps_no_processor_from_others() {
        let seen = MachineCpu { busy: 0.9, iowait: 0.05, steal: 0.01, cpus: 4 };
        let mut machine = seen;
        leave_out_waiting(&mut machine, Duration::from_ms(1_500), Duration::from_s(1));
        assert!((machine.busy - 0.525).abs() < 1e-12, "{machine:?}");
        assert_eq!(MachineCpu { busy: seen.busy, ..machine }, seen);
        leave_out_waiting(&mut machine, Duration::from_s(9), Duration::from_s(1));
        assert!(machine.busy.abs() < 1e-12, "{machine:?}");
        let mut machine = seen;
        leave_out_waiting(&mut machine, Duration::from_s(1), Duration::ZERO);
        assert_eq!(machine, seen);
    }

    #[test]
    fn the_measurement_begins_when_five_rounds_agree_wherever_the_conductor_looks() {
        let rule = SteadyStateRule { round: Duration::from_s(2), ..SteadyStateRule::default() };
        let mut steady = Steady::new(rule, Duration::from_ms(1_500));
        // A rate that settles: two seconds of warm-up, then falling rounds, then level ones.
        let counts: Vec<u64> = [9, 9].into_iter().chain((0..40).map(|s| 100 + 400u64.saturating_sub(s * 50))).collect();
        let begun = (0..60_000u64).step_by(37).find(|ms| {
            let seen = ((ms / 1_000) as usize + 1).min(counts.len());
            steady.look(Duration::from_ms(*ms), &counts[..seen])
        });
        assert!(steady.reached);
        assert_eq!(&steady.rounds[..5], [475.0, 375.0, 275.0, 175.0, 100.0]);
        let rounds = steady.rounds.len() as u64;
        assert_eq!(rounds, 9, "{:?}", steady.rounds);
        let begun = begun.unwrap();
        assert!((2_000 + rounds * 2_000..2_000 + rounds * 2_000 + 400).contains(&begun), "{begun} ms");
    }

    #[test]
    fn rounds_run_out_when_the_rate_never_settles() {
        let rule = SteadyStateRule { round: Duration::from_s(1), rounds_max: 7, ..SteadyStateRule::default() };
        let mut steady = Steady::new(rule, Duration::ZERO);
        let counts: Vec<u64> = (0..20).map(|s| if s % 2 == 0 { 100 } else { 1_000 }).collect();
        let ended = (0..20_000u64).step_by(20).find(|ms| steady.look(Duration::from_ms(*ms), &counts));
        assert!(ended.is_some() && !steady.reached);
        assert_eq!(steady.outcome().rounds.len(), 7);
    }
}
