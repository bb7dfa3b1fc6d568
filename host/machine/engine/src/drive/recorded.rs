//! Requests that others made, put on a volume again: each at its time, or when the one that it waits for was answered.
//!
//! One thread asks. A request that is due while every place in the queue is taken waits, and its latency counts from when it was due.

use super::{TrialFiles, check_writes, set_direct};
use crate::backend::aio::Aio;
use crate::backend::nbd::Nbd;
use crate::backend::null::Null;
use crate::backend::uring::{Uring, UringOptions};
use crate::backend::{Backend, Io, SLICE, Trims, error_kind};
use crate::buffers::{Buffer, Buffers};
use crate::choose::{self, Engine};
use crate::control::{Control, LoadCounts, Phase, Progress};
use crate::error::EngineError;
use crate::surroundings::Observation;
use crate::target::Volume;
use loadline_block::{ErrorKind, Operation};
use loadline_kernel::clock;
use loadline_record::{Ending, EngineUsed, Surroundings, Tally, TargetKind};
use loadline_record::{EngineChoice, EngineOptions, WaitMode};
use loadline_units::{Bytes, Duration, Instant, NS_PER_S, Ratio};
use loadline_workload::{BlockShare, LoadSpec};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

/// Places in the queue at most.
const SLOTS_MAX: u64 = 1_024;
/// And at least, however long requests are.
const SLOTS_MIN: u64 = 16;
/// Buffers to read into at most.
const BUFFERS: Bytes = Bytes::mib(256);
/// The longest read or write that is asked for at once.
pub const RECORDED_LENGTH_MAX: u32 = 4 << 20;
/// The last of the time before a request is due is spent awake: a thread that sleeps wakes too late.
const AWAKE: Duration = Duration::from_us(80);
/// A request that is unanswered for so long ends the replay.
const HANG_LIMIT: Duration = Duration::from_s(60);
/// Between two notes of how far it is.
const NOTE: Duration = Duration::from_ms(100);

/// A request as the volume gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedIo {
    /// What is asked.
    pub operation: Operation,
    /// A write that must be durable when it is answered.
    pub durable: bool,
    /// Where the range begins, in bytes.
    pub offset: u64,
    /// In bytes; of reads and writes at most [`RECORDED_LENGTH_MAX`].
    pub length: u32,
}

/// When requests come. Times count from the beginning of the replay.
pub trait RecordedSource {
    /// When the next one is due; `None`: none before another answer.
    fn next_at(&self) -> Option<Duration>;
    /// The next one that is due: its number, and when it was due.
    fn take(&mut self, now: Duration) -> Option<(usize, Duration)>;
    /// One was answered.
    fn answer(&mut self, number: usize, at: Duration);
}

/// What became of a request. Times count from the beginning of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// When it was due.
    pub due: Duration,
    /// When it went to the device.
    pub submitted: Duration,
    /// When it was answered.
    pub completed: Duration,
    /// Why it failed.
    pub error: Option<ErrorKind>,
}

/// A replay that was carried out.
#[derive(Debug)]
pub struct RecordedRun {
    /// By the number of the request; `None`: it was not asked for, or not answered.
    pub answers: Vec<Option<RecordedAnswer>>,
    /// How it ended.
    pub ending: Ending,
    /// The way to the device.
    pub engine: EngineUsed,
    /// What happened around it.
    pub surroundings: Surroundings,
    /// Places in the queue.
    pub slots: u32,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    number: usize,
    due: Duration,
    submitted: Duration,
    buffer: Buffer,
}

/// Puts requests on a volume: one of several that share the control, at this place among them.
///
/// # Errors
/// It cannot be started. What goes wrong later is in the answers and the ending.
pub fn replay_recorded(
    volume: &mut Volume,
    requests: &[RecordedIo],
    source: &mut dyn RecordedSource,
    options: EngineOptions,
    (control, place): (&Control, usize),
) -> Result<RecordedRun, EngineError> {
    let writes = requests.iter().any(|io| io.operation != Operation::Read && io.operation != Operation::Flush);
    check_writes(volume, writes, "the recorded load")?;
    let transfers = || requests.iter().filter(|io| matches!(io.operation, Operation::Read | Operation::Write));
    let largest = transfers().map(|io| io.length).max().unwrap_or(4_096).max(4_096);
    let reads = if writes { Ratio::percent(50) } else { Ratio::ONE };
    let block = BlockShare { size: Bytes::new(u64::from(largest)), share: Ratio::ONE };
    let spec = LoadSpec { reads, blocks: vec![block], ..LoadSpec::default() };
    let slots = (BUFFERS.get() / u64::from(largest)).clamp(SLOTS_MIN, SLOTS_MAX) as u32;
    // Plain calls take one request at a time: a ring takes them all, also through the page cache.
    let chosen = match options.engine {
        EngineChoice::Auto | EngineChoice::Threads if crate::capabilities().io_uring.is_ok() => EngineChoice::IoUring,
        other => other,
    };
    let is_file = matches!(volume.facts.kind, TargetKind::File | TargetKind::TestFile | TargetKind::BlockDevice);
    let options = EngineOptions { engine: if is_file { chosen } else { options.engine }, ..options };
    let (engine, mut used) = choose::choose(volume, &spec, options)?;
    let name = volume.facts.name.clone();
    let files: Result<Vec<File>, _> = volume.files.iter().map(File::try_clone).collect();
    let files = TrialFiles {
        files: files.map_err(|error| EngineError::os(format!("share the files of volume {name}"), error))?,
        file_size: volume.file_size,
        trims: if volume.facts.kind == TargetKind::BlockDevice { Trims::Discard } else { Trims::Hole },
        direct: volume.facts.direct,
        export: volume.export().cloned(),
    };
    for file in &files.files {
        set_direct(file, files.direct)
            .map_err(|error| EngineError::os(format!("switch direct I/O on volume {name}"), error))?;
    }
    let buffers = Buffers::new(&spec, slots as usize, 0, 1, 0)?;
    let raw: Vec<RawFd> = files.files.iter().map(AsRawFd::as_raw_fd).collect();
    clock::sharpen_timers();
    let observation = Observation::begin(volume);
    let asker = Asker {
        requests,
        source,
        buffers,
        control,
        place,
        counts: LoadCounts::default(),
        slots,
        file_size: files.file_size.get().max(1),
        answers: vec![None; requests.len()],
        under_way: vec![None; slots as usize],
        free: (0..slots).rev().collect(),
        begun: Instant::ZERO,
    };
    let (answers, ending) = match engine {
        Engine::Uring => {
            let ring = UringOptions {
                sqpoll: options.sqpoll,
                iopoll: options.iopoll,
                wait: WaitMode::Asleep,
                buffered: !files.direct,
            };
            let trims = writes.then_some(files.trims);
            let (uring, in_force) = Uring::new(slots, &raw, asker.buffers.region(), ring, trims)
                .map_err(|error| EngineError::os("set up io_uring", error))?;
            used.options = in_force;
            asker.ask(uring)
        }
        Engine::Aio => {
            let aio = Aio::new(slots, &raw, files.trims).map_err(|error| EngineError::os("set up Linux AIO", error))?;
            asker.ask(aio)
        }
        Engine::Nbd => {
            let export = files.export.as_ref().expect("an export was chosen for its engine");
            let connection = Nbd::new(export, slots, spec.block_max(), false);
            asker.ask(connection.map_err(|error| EngineError::os("connect to the NBD server", error))?)
        }
        Engine::Null => asker.ask(Null::default()),
        Engine::Threads => {
            let reason = "a replay has many requests under way in one thread, which takes io_uring or Linux AIO".into();
            return Err(EngineError::Unavailable { engine: "the threads engine", volume: name, reason });
        }
    };
    let mut surroundings = observation.end(volume);
    let mut amounts: BTreeMap<Operation, (u64, u64)> = BTreeMap::new();
    for (io, _) in requests.iter().zip(&answers).filter(|(_, answer)| answer.is_some()) {
        let own = amounts.entry(io.operation).or_default();
        *own = (own.0 + 1, own.1 + u64::from(io.length));
    }
    surroundings.asked = amounts;
    Ok(RecordedRun { answers, ending, engine: used, surroundings, slots })
}

/// Asks, and takes answers in.
struct Asker<'a> {
    requests: &'a [RecordedIo],
    source: &'a mut dyn RecordedSource,
    buffers: Buffers,
    control: &'a Control,
    place: usize,
    counts: LoadCounts,
    slots: u32,
    file_size: u64,
    answers: Vec<Option<RecordedAnswer>>,
    under_way: Vec<Option<UnderWay>>,
    free: Vec<u32>,
    begun: Instant,
}

impl Asker<'_> {
    fn now(&self) -> Duration {
        clock::now().since(self.begun)
    }

    fn in_flight(&self) -> usize {
        self.slots as usize - self.free.len()
    }

    fn ask<B: Backend>(mut self, mut backend: B) -> (Vec<Option<RecordedAnswer>>, Ending) {
        self.begun = clock::now();
        let (mut noted, mut noted_count, mut count) = (Duration::ZERO, 0_u64, 0_u64);
        let (mut moved_at, mut ending) = (Duration::ZERO, Ending::Complete);
        loop {
            let now = self.now();
            if self.control.stopped() {
                ending = Ending::Interrupted;
            } else {
                self.submit(&mut backend, now);
            }
            let next = self.source.next_at().filter(|_| ending == Ending::Complete);
            if self.in_flight() == 0 && next.is_none() {
                break;
            }
            if let Err(error) = backend.submit_and_wait(self.patience(next)) {
                ending = Ending::Failed(format!("requests could not be handed over: {error}"));
                break;
            }
            let answered = self.take_in(&mut backend);
            count += answered;
            let now = self.now();
            if answered > 0 || self.in_flight() == 0 {
                moved_at = now;
            } else if now.saturating_sub(moved_at) > HANG_LIMIT {
                let detail = format!("{} requests got no answer for {}", self.in_flight(), HANG_LIMIT.human());
                ending = Ending::Hung(detail);
                break;
            }
            if now.saturating_sub(noted) >= NOTE {
                let span_s = now.saturating_sub(noted).as_s_f64();
                self.control.report(Progress {
                    phase: Phase::Measuring,
                    elapsed: now,
                    done: Some(count as f64 / self.requests.len().max(1) as f64),
                    iops: Some((count - noted_count) as f64 / span_s),
                    ..Progress::default()
                });
                if now.as_ns() / NS_PER_S > noted.as_ns() / NS_PER_S {
                    self.control.count(self.place, &self.counts);
                    self.counts.iter_mut().for_each(Tally::clear);
                }
                (noted, noted_count) = (now, count);
            }
        }
        let Self { buffers, answers, free, slots, .. } = self;
        if free.len() < slots as usize {
            // The kernel may still write into them.
            std::mem::forget((backend, buffers));
        }
        (answers, ending)
    }

    /// How long answers are waited for: until the next request is nearly due.
    fn patience(&self, next: Option<Duration>) -> Option<Duration> {
        let Some(next) = next else { return Some(SLICE) };
        if self.free.is_empty() {
            return Some(SLICE);
        }
        let left = next.saturating_sub(self.now());
        (left > AWAKE).then(|| left.saturating_sub(AWAKE).min(SLICE))
    }

    fn submit<B: Backend>(&mut self, backend: &mut B, now: Duration) {
        while !self.free.is_empty()
            && let Some((number, due)) = self.source.take(now)
        {
            let slot = self.free.pop().expect("a place is free");
            let RecordedIo { operation, durable, offset, length } = self.requests[number];
            let buffer = if operation == Operation::Write {
                let buffer = self.buffers.for_write();
                self.buffers.stamp(buffer, length);
                buffer
            } else {
                self.buffers.for_read(slot)
            };
            // Several files are one range.
            let (file, offset) = ((offset / self.file_size) as u32, offset % self.file_size);
            backend.queue(slot, &Io { operation, durable, file, length, offset, buffer: buffer.start });
            self.under_way[slot as usize] = Some(UnderWay { number, due, submitted: now, buffer });
        }
    }

    fn take_in<B: Backend>(&mut self, backend: &mut B) -> u64 {
        let now = self.now();
        let mut count = 0;
        let Self { requests, source, buffers, answers, under_way, free, counts, .. } = self;
        backend.reap(|slot, result| {
            let Some(done) = under_way[slot as usize].take() else { return };
            buffers.release(done.buffer);
            free.push(slot);
            let io = requests[done.number];
            let moves = matches!(io.operation, Operation::Read | Operation::Write);
            let error = match result {
                failed if failed < 0 => Some(error_kind(-failed)),
                short if moves && (short as u32) < io.length => Some(ErrorKind::Short),
                _ => None,
            };
            let UnderWay { number, due, submitted, .. } = done;
            if error.is_none() {
                let tally = &mut counts[io.operation.index()];
                tally.count += 1;
                tally.bytes += u64::from(io.length);
                tally.latency.record(now.saturating_sub(due));
            }
            answers[number] = Some(RecordedAnswer { due, submitted, completed: now, error });
            source.answer(number, now);
            count += 1;
        });
        count
    }
}
