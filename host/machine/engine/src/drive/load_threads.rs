//! The load threads of a trial: made, started together, and joined, even if the kernel keeps one.

use super::TrialFiles;
use super::heartbeat::{Ends, Heartbeat, Stuck};
use super::hybrid_poll::HybridPoll;
use super::lane::{Lane, LaneEnd, TransferBudget};
use super::ledger::{Ledger, Log, Times};
use super::timed_sleep::TimedSleep;
use super::waiting::Waiting;
use super::workers::{Means, OPEN_WORKERS, Source, Stream, WORKERS_MAX, Worker};
use crate::backend::Backend;
use crate::backend::aio::Aio;
use crate::backend::nbd::Nbd;
use crate::backend::null::Null;
use crate::backend::uring::{Uring, UringOptions};
use crate::buffers::{self, BUFFERS_MAX, Buffers};
use crate::choose::Engine;
use crate::error::EngineError;
use crate::verify::{self, Checker};
use loadline_kernel::clock::{self, TscClock};
use loadline_kernel::scheduling;
use loadline_record::VerifyRecord;
use loadline_record::{EngineOptions, WaitMode};
use loadline_units::{Bytes, Duration, Instant, Ratio};
use loadline_workload::{Arrival, LoadGenerator, LoadSpec, Region};
use parking_lot::{Condvar, Mutex};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

/// Requests in flight of an open loop for each load thread at most; arrivals beyond wait, and their latency counts on.
const OPEN_SLOTS_MAX: u64 = 4_096;
/// Buffers of one open-loop thread at most, where blocks are large.
const OPEN_BUFFERS_MAX: Bytes = Bytes::mib(512);

/// What load threads are made from.
pub(super) struct Setup<'a> {
    pub(super) engine: Engine,
    pub(super) spec: &'a LoadSpec,
    pub(super) region: Region,
    pub(super) seed: u64,
    pub(super) options: EngineOptions,
    pub(super) volume_name: &'a str,
    /// Requests that the devices below the volume hold at once; `None` where they are not known, or not asked directly.
    pub(super) device_room: Option<u64>,
    pub(super) files: Arc<TrialFiles>,
    pub(super) ledger: &'a Arc<Ledger>,
    pub(super) times: &'a Arc<Times>,
    /// Of each thread; none if only time ends the load.
    pub(super) bounds: &'a [Arc<TransferBudget>],
    pub(super) verify: Option<&'a Arc<verify::Ledger>>,
}

/// Whether the load begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Start {
    #[default]
    NotYet,
    At(Instant),
    Never,
}

/// The starting signal: when the load begins, or that it does not.
#[derive(Debug, Default)]
struct Signal {
    start: Mutex<Start>,
    changed: Condvar,
}

impl Signal {
    fn give(&self, start: Start) {
        *self.start.lock() = start;
        self.changed.notify_all();
    }
    /// When to begin; `None` for never.
    fn wait(&self) -> Option<Instant> {
        let mut start = self.start.lock();
        self.changed.wait_while(&mut start, |s| *s == Start::NotYet);
        match *start {
            Start::At(at) => Some(at),
            Start::NotYet | Start::Never => None,
        }
    }
}

/// The load threads of a trial.
pub(super) struct Threads {
    handles: Vec<JoinHandle<VerifyRecord>>,
    beats: Vec<Arc<Heartbeat>>,
    signal: Arc<Signal>,
    streams: Vec<Arc<Mutex<Option<Stream>>>>,
}

/// Queue places of one load thread.
pub(super) fn slots(spec: &LoadSpec) -> u32 {
    match spec.arrival {
        Arrival::Closed { queue_depth, .. } => queue_depth,
        Arrival::Constant { .. } | Arrival::Poisson { .. } => {
            let by_memory = OPEN_BUFFERS_MAX.get() / spec.block_max().get().max(4096) / 3;
            by_memory.clamp(64, OPEN_SLOTS_MAX) as u32
        }
    }
}

/// Queue places of one of `threads` load threads where the devices hold `room` requests: `places` in a closed loop, whose
/// depth is the user's choice, and no more than its share of the room in an open one. What the devices cannot hold, the
/// kernel hands to worker threads of its own, which take the CPU from those that answer; here it waits at no cost, and its
/// latency counts on.
fn slots_within(room: Option<u64>, spec: &LoadSpec, places: u32) -> u32 {
    match room {
        Some(room) if spec.offered().is_some() => {
            let share = u32::try_from(room.div_ceil(u64::from(spec.threads))).unwrap_or(u32::MAX);
            places.min(share.max(1))
        }
        _ => places,
    }
}

/// Queue places of one load thread of `spec` with `engine`; found out without asking for anything.
///
/// # Errors
/// The region cannot hold the load; or it would take more threads or buffers than there may be.
pub(super) fn fitting_slots(
    engine: Engine,
    spec: &LoadSpec,
    region: &Region,
    device_room: Option<u64>,
    volume_name: &str,
) -> Result<u32, EngineError> {
    for thread in 0..spec.threads {
        // Whether a stretch is large enough is no question of the seed.
        LoadGenerator::new(spec, region, thread, 0, Instant::ZERO)
            .map_err(|source| EngineError::Region { volume: volume_name.to_owned(), source })?;
    }
    let slots = match (engine, spec.offered()) {
        (Engine::Threads, Some(_)) => OPEN_WORKERS,
        _ => slots_within(device_room, spec, slots(spec)),
    };
    let workers = u64::from(slots) * u64::from(spec.threads);
    let needed = if engine == Engine::Threads {
        if workers > WORKERS_MAX {
            let reason =
                format!("it would take {workers} threads, one for each request in flight; the limit is {WORKERS_MAX}");
            let volume = volume_name.to_owned();
            return Err(EngineError::Unavailable { engine: "the threads engine", volume, reason });
        }
        buffers::needed(spec, 1, workers as usize) * workers
    } else {
        buffers::needed(spec, slots as usize, spec.threads as usize) * u64::from(spec.threads)
    };
    if needed > BUFFERS_MAX { Err(EngineError::Buffers { needed, allowed: BUFFERS_MAX }) } else { Ok(slots) }
}

/// Everything about one load thread that does not depend on its engine.
struct LaneParts {
    spec: LoadSpec,
    region: Region,
    seed: u64,
    thread: u32,
    slots: u32,
    sharers: usize,
    wait: WaitMode,
    ring: UringOptions,
    files: Arc<TrialFiles>,
    ledger: Arc<Ledger>,
    times: Arc<Times>,
    bound: Option<Arc<TransferBudget>>,
    verify: Option<Arc<verify::Ledger>>,
    beat: Arc<Heartbeat>,
}

impl LaneParts {
    fn buffers(&self, slots: u32, number: u32) -> Result<Buffers, EngineError> {
        Buffers::new(&self.spec, slots as usize, number, self.sharers, self.seed)
    }
    fn raw_files(&self) -> Vec<RawFd> {
        self.files.files.iter().map(AsRawFd::as_raw_fd).collect()
    }
    fn log(&self, start_at: Instant) -> Log {
        let open_loop = self.spec.offered().is_some();
        Log::new(Arc::clone(&self.ledger), Arc::clone(&self.times), open_loop, self.spec.has_due_times(), start_at)
    }
    fn generator(&self, start_at: Instant) -> LoadGenerator {
        LoadGenerator::new(&self.spec, &self.region, self.thread, self.seed, start_at)
            .expect("the conductor has made this stream before")
    }
    fn waiting(&self, start_at: Instant, polls: bool) -> Waiting {
        let sleep = match self.wait {
            WaitMode::Asleep => TimedSleep::asleep(),
            WaitMode::Auto => TimedSleep::adaptive(),
        };
        let polling =
            if polls { HybridPoll::new(self.slots, scheduling::is_pinned(), start_at) } else { HybridPoll::off() };
        Waiting::new(polling, sleep, self.spec.offered().is_some())
    }
    fn lane(&self, buffers: Buffers, start_at: Instant, polls: bool) -> Lane {
        Lane {
            generator: self.generator(start_at),
            buffers,
            log: self.log(start_at),
            times: Arc::clone(&self.times),
            slots: self.slots,
            file_size: self.region.file_size,
            files: self.region.files,
            open_loop: self.spec.offered().is_some(),
            volume: self.bound.clone(),
            checker: self.verify.as_ref().map(|l| Checker::new(Arc::clone(l), self.thread, self.slots)),
            hang_limit: self.spec.hang_limit,
            waiting: self.waiting(start_at, polls),
            heartbeat: Arc::clone(&self.beat),
        }
    }
}

type Ready = Result<Vec<String>, EngineError>;

impl Threads {
    /// Makes all threads and waits until each has its buffers and its way to the device.
    pub(super) fn start(setup: &Setup<'_>) -> Result<Self, EngineError> {
        let spec = setup.spec;
        let slots = fitting_slots(setup.engine, spec, &setup.region, setup.device_room, setup.volume_name)?;
        let workers = u64::from(slots) * u64::from(spec.threads);
        let mut threads = Self { handles: Vec::new(), beats: Vec::new(), signal: Arc::default(), streams: Vec::new() };
        let (ready, answers) = mpsc::channel::<Ready>();
        for thread in 0..spec.threads {
            let part = |number| LaneParts {
                spec: spec.clone(),
                region: setup.region,
                seed: setup.seed,
                thread,
                slots,
                sharers: number,
                wait: setup.options.wait,
                ring: UringOptions {
                    sqpoll: setup.options.sqpoll,
                    iopoll: setup.options.iopoll,
                    wait: if spec.offered().is_some() { WaitMode::Asleep } else { setup.options.wait },
                    buffered: !setup.files.direct,
                },
                files: Arc::clone(&setup.files),
                ledger: Arc::clone(setup.ledger),
                times: Arc::clone(setup.times),
                bound: setup.bounds.get(thread as usize).cloned(),
                verify: setup.verify.cloned(),
                beat: Arc::default(),
            };
            if setup.engine == Engine::Threads {
                let stream = Arc::new(Mutex::new(None));
                threads.streams.push(Arc::clone(&stream));
                for worker in 0..slots {
                    let number = thread * slots + worker;
                    threads.spawn(part(workers as usize), &ready, {
                        let stream = Arc::clone(&stream);
                        move |part, ready, signal| work(&part, number, &stream, ready, signal)
                    })?;
                }
            } else {
                let engine = setup.engine;
                threads.spawn(part(spec.threads as usize), &ready, move |part, ready, signal| match engine {
                    Engine::Uring => drive(&part, ready, signal, |part, buffers| {
                        let files = part.raw_files();
                        let trims = (part.spec.trims != Ratio::ZERO).then_some(part.files.trims);
                        Uring::new(part.slots, &files, buffers.region(), part.ring, trims)
                            .map_err(|e| EngineError::os("set up io_uring", e))
                    }),
                    Engine::Aio => drive(&part, ready, signal, |part, _| {
                        let aio = Aio::new(part.slots, &part.raw_files(), part.files.trims);
                        aio.map(|aio| (aio, Vec::new())).map_err(|e| EngineError::os("set up Linux AIO", e))
                    }),
                    Engine::Nbd => drive(&part, ready, signal, |part, _| {
                        let export = part.files.export.as_ref().expect("an export was chosen for its engine");
                        let connection =
                            Nbd::new(export, part.slots, part.spec.block_max(), !part.spec.has_due_times());
                        connection
                            .map(|connection| (connection, Vec::new()))
                            .map_err(|e| EngineError::os("connect to the NBD server", e))
                    }),
                    Engine::Null | Engine::Threads => {
                        drive(&part, ready, signal, |_, _| Ok((Null::default(), Vec::new())))
                    }
                })?;
            }
        }
        drop(ready);
        for answer in answers {
            match answer {
                Ok(in_force) => setup.ledger.book().in_force = in_force,
                Err(error) => {
                    threads.signal.give(Start::Never);
                    for handle in threads.handles {
                        let _ = handle.join();
                    }
                    return Err(error);
                }
            }
        }
        Ok(threads)
    }

    fn spawn(
        &mut self,
        part: LaneParts,
        ready: &Sender<Ready>,
        body: impl FnOnce(LaneParts, Sender<Ready>, &Signal) -> VerifyRecord + Send + 'static,
    ) -> Result<(), EngineError> {
        self.beats.push(Arc::clone(&part.beat));
        let (ready, signal) = (ready.clone(), Arc::clone(&self.signal));
        let ends = Ends { beat: Arc::clone(&part.beat), conductor: std::thread::current() };
        let spawned = std::thread::Builder::new().name("load".into()).stack_size(1 << 20).spawn(move || {
            let _ends = ends;
            body(part, ready, &signal)
        });
        match spawned {
            Ok(handle) => {
                self.handles.push(handle);
                Ok(())
            }
            Err(error) => {
                self.signal.give(Start::Never);
                Err(EngineError::os(format!("start load thread {}", self.handles.len() + 1), error))
            }
        }
    }

    /// Lets all begin.
    pub(super) fn go(&self, start_at: Instant) {
        self.signal.give(Start::At(start_at));
    }

    /// Lets all end without a load; those that have begun go on.
    pub(super) fn dismiss(&self) {
        self.signal.give(Start::Never);
    }

    pub(super) fn finished(&self) -> bool {
        self.beats.iter().all(|beat| beat.ended())
    }

    pub(super) fn unfinished(&self) -> usize {
        self.beats.iter().filter(|beat| !beat.ended()).count()
    }

    /// What has held threads in the kernel for longer than `limit`.
    pub(super) fn held(&self, now: Instant, limit: Duration) -> Vec<Stuck> {
        self.beats.iter().filter_map(|beat| beat.stuck(now, limit)).collect()
    }

    /// Takes the threads in and leaves those behind that the kernel holds. Gives what reads found, and whether a thread
    /// panicked.
    pub(super) fn collect(self) -> (VerifyRecord, bool) {
        let (mut merged, mut panicked) = (VerifyRecord::default(), false);
        let all = self.finished();
        for (handle, beat) in self.handles.into_iter().zip(&self.beats) {
            if !beat.ended() || beat.left() {
                continue;
            }
            match handle.join() {
                Ok(record) => merge(&mut merged, record),
                Err(_) => panicked = true,
            }
        }
        for shared in &self.streams {
            let mut stream = shared.lock();
            if let Some(checker) = stream.as_ref().and_then(|stream| stream.checker.as_ref()) {
                checker.settle();
            }
            // A worker that is left behind still needs its stream.
            if all && let Some(checker) = stream.take().and_then(|stream| stream.checker) {
                merge(&mut merged, checker.record);
            }
        }
        (merged, panicked)
    }
}

fn merge(into: &mut VerifyRecord, from: VerifyRecord) {
    into.blocks_checked += from.blocks_checked;
    into.blocks_unwritten += from.blocks_unwritten;
    into.blocks_unknown += from.blocks_unknown;
    into.faults_total += from.faults_total;
    into.faults.extend(from.faults);
}

/// The body of a load thread over an asynchronous backend.
fn drive<B: Backend>(
    part: &LaneParts,
    ready: Sender<Ready>,
    signal: &Signal,
    make: impl FnOnce(&LaneParts, &Buffers) -> Result<(B, Vec<String>), EngineError>,
) -> VerifyRecord {
    let prepared = part.buffers(part.slots, part.thread).and_then(|buffers| {
        let (backend, mut in_force) = make(part, &buffers)?;
        if part.spec.offered().is_some() {
            let how = match part.wait {
                WaitMode::Asleep => "asleep between arrivals where there is time",
                WaitMode::Auto => "waiting awake for answers that come soon",
            };
            in_force.push(how.to_owned());
        }
        Ok((buffers, backend, in_force))
    });
    let (buffers, mut backend) = match prepared {
        Ok((buffers, backend, in_force)) => {
            let _ = ready.send(Ok(in_force));
            (buffers, backend)
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            return VerifyRecord::default();
        }
    };
    drop(ready);
    let polls = backend.announces() && part.ring.wait == WaitMode::Auto;
    if part.spec.has_due_times() || polls {
        clock::sharpen_timers();
    }
    let Some(start_at) = signal.wait() else { return VerifyRecord::default() };
    part.beat.beat(clock::now());
    let LaneEnd { in_flight, buffers, checker } = part.lane(buffers, start_at, polls).run(&mut backend);
    if in_flight {
        part.beat.leaves();
        // The kernel may still write into the buffers: they must never be given back.
        std::mem::forget(backend);
        std::mem::forget(buffers);
    } else {
        drop(backend);
        drop(buffers);
    }
    checker.map(|c| c.record).unwrap_or_default()
}

/// The body of one worker of the threads engine; the first to come makes the stream that all of its load thread share, if there are several.
fn work(
    part: &LaneParts,
    number: u32,
    shared: &Arc<Mutex<Option<Stream>>>,
    ready: Sender<Ready>,
    signal: &Signal,
) -> VerifyRecord {
    let buffers = match part.buffers(1, number) {
        Ok(buffers) => {
            let _ = ready.send(Ok(Vec::new()));
            buffers
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            return VerifyRecord::default();
        }
    };
    drop(ready);
    if part.spec.has_due_times() {
        clock::sharpen_timers();
    }
    let Some(start_at) = signal.wait() else { return VerifyRecord::default() };
    let stream = || Stream {
        generator: part.generator(start_at),
        checker: part.verify.as_ref().map(|l| Checker::new(Arc::clone(l), part.thread, part.slots)),
        held: None,
        last_file: 0,
        exhausted: false,
        in_flight: 0,
        before: true,
    };
    // What was checked is collected from where it is shared, also where the kernel holds this thread for ever.
    let source = if part.slots == 1 && part.verify.is_none() {
        Source::Own(Box::new(stream()))
    } else {
        shared.lock().get_or_insert_with(stream);
        Source::Shared(Arc::clone(shared))
    };
    let means = Means {
        log: part.log(start_at),
        times: Arc::clone(&part.times),
        files: Arc::clone(&part.files),
        volume: part.bound.clone(),
        buffers,
        open_loop: part.spec.offered().is_some(),
        watch: TscClock::start(),
        beat: Arc::clone(&part.beat),
    };
    Worker { source, means }.run();
    VerifyRecord::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Iops;

    #[test]
    fn an_open_loop_hands_over_no_more_than_the_devices_hold() {
        let rate = Iops::per_second(1_000).unwrap();
        let open = LoadSpec { arrival: Arrival::Poisson { rate }, threads: 3, ..LoadSpec::default() };
        assert_eq!(slots_within(Some(128), &open, slots(&open)), 43);
        assert_eq!(slots_within(Some(1), &open, slots(&open)), 1);
        assert_eq!(slots_within(Some(1 << 40), &open, slots(&open)), slots(&open));
        assert_eq!(slots_within(None, &open, slots(&open)), slots(&open));
        let arrival = Arrival::Closed { queue_depth: 1_024, rate_max: None, think_time: Duration::ZERO };
        let closed = LoadSpec { arrival, ..LoadSpec::default() };
        assert_eq!(slots_within(Some(128), &closed, slots(&closed)), 1_024);
    }
}
