//! The threads engine: one thread for each request in flight, plain `pread` and `pwrite`. Works on any file system, and
//! where the page cache answers it is the fastest.

use super::TrialFiles;
use super::heartbeat::Heartbeat;
use super::lane::{TransferBudget, refuse};
use super::ledger::{Log, Times};
use crate::backend::{Io, Trims, trim};
use crate::buffers::Buffers;
use crate::verify::Checker;
use loadline_block::{Operation, Request};
use loadline_kernel::clock::TscClock;
use loadline_kernel::raw_call::system_call;
use loadline_units::{Duration, Instant};
use loadline_workload::{LoadGenerator, Next};
use parking_lot::{Mutex, MutexGuard};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Threads at most; beyond it the machine measures its scheduler.
pub(super) const WORKERS_MAX: u64 = 2_048;
/// Requests in flight of an open loop, for each load thread.
pub(super) const OPEN_WORKERS: u32 = 64;
/// A sleep is cut into pieces this long, so that stops are noticed.
const SLICE: Duration = Duration::from_ms(20);
/// An arrival nearer than this is waited for by spinning.
const SPIN: Duration = Duration::from_us(80);

/// A load thread's stream, shared by the workers that keep its requests in flight.
pub(super) struct Stream {
    pub(super) generator: LoadGenerator,
    pub(super) checker: Option<Checker>,
    pub(super) held: Option<Request>,
    pub(super) last_file: u32,
    pub(super) exhausted: bool,
    /// Bytes.
    pub(super) in_flight: u64,
    /// The measurement has not begun.
    pub(super) before: bool,
}

impl Stream {
    /// Notes the time. When the measurement begins, requests in flight count towards its bound.
    fn tell(&mut self, volume: &TransferBudget, from: Instant, now: Instant) {
        if self.before && now >= from {
            self.before = false;
            volume.in_flight(self.in_flight);
        }
    }
}

/// Where a worker's requests come from.
pub(super) enum Source {
    /// From a stream that all workers of its load thread share.
    Shared(Arc<Mutex<Option<Stream>>>),
    /// The only worker of its load thread has the stream to itself: nothing is locked for a request.
    Own(Box<Stream>),
}

/// One worker.
pub(super) struct Worker {
    pub(super) source: Source,
    pub(super) means: Means,
}

/// What a worker needs besides its stream.
pub(super) struct Means {
    pub(super) log: Log,
    pub(super) times: Arc<Times>,
    pub(super) files: Arc<TrialFiles>,
    pub(super) volume: Option<Arc<TransferBudget>>,
    pub(super) buffers: Buffers,
    pub(super) open_loop: bool,
    /// What the worker reads the time from.
    pub(super) watch: TscClock,
    /// Reports the request in flight to the conductor.
    pub(super) beat: Arc<Heartbeat>,
}

/// What a worker is to do next.
enum Task {
    Do { request: Request, file: u32, number: u32 },
    Pause,
    End,
}

/// The stream for one worker at a time.
enum Turn<'a> {
    Shared(MutexGuard<'a, Option<Stream>>),
    Own(&'a mut Stream),
}

impl Source {
    #[inline]
    fn lock(&mut self) -> Turn<'_> {
        match self {
            Self::Shared(stream) => Turn::Shared(stream.lock()),
            Self::Own(stream) => Turn::Own(stream),
        }
    }

    /// The same; also says whether another worker had it, so that this one queued.
    #[inline]
    fn lock_or_queue(&mut self) -> (Turn<'_>, bool) {
        match self {
            Self::Shared(stream) => match stream.try_lock() {
                Some(stream) => (Turn::Shared(stream), false),
                None => (Turn::Shared(stream.lock()), true),
            },
            Self::Own(stream) => (Turn::Own(stream), false),
        }
    }
}

const MADE: &str = "the stream is made before any worker runs";

impl std::ops::Deref for Turn<'_> {
    type Target = Stream;
    #[inline]
    fn deref(&self) -> &Stream {
        match self {
            Self::Shared(stream) => stream.as_ref().expect(MADE),
            Self::Own(stream) => stream,
        }
    }
}
impl std::ops::DerefMut for Turn<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Stream {
        match self {
            Self::Shared(stream) => stream.as_mut().expect(MADE),
            Self::Own(stream) => stream,
        }
    }
}

impl Worker {
    /// Runs until the times say stop or something makes going on pointless.
    pub(super) fn run(self) {
        let Self { mut source, mut means } = self;
        let mut now = means.watch.now();
        source.lock().generator.begin(now);
        // Time has passed since then: in the queue for the stream, or for checking a block.
        let mut late = false;
        loop {
            let (request, file, number) = match means.next_task(&mut source, &mut now, late) {
                Task::Do { request, file, number } => (request, file, number),
                Task::Pause => {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    now = means.watch.now();
                    late = false;
                    means.log.turn(now, 0);
                    continue;
                }
                Task::End => break,
            };
            let submitted_at = now;
            means.log.issued(&request);
            means.beat.waits_for(&request, now);
            let buffer = match request.operation {
                // A verified write was marked in place when it was taken.
                Operation::Write if number == 0 => {
                    let buffer = means.buffers.for_write();
                    means.buffers.stamp(buffer, request.length);
                    buffer
                }
                _ => means.buffers.for_read(0),
            };
            let offset = request.offset % means.files.file_size.get();
            let io = Io {
                operation: request.operation,
                durable: request.durable,
                file,
                length: request.length,
                offset,
                buffer: buffer.start,
            };
            let result = perform(means.files.files[file as usize].as_raw_fd(), &io, means.files.trims);
            let turned = means.watch.now();
            means.beat.idles();
            means.log.waited(turned.since(now), turned, 1);
            now = turned;
            means.log.turn(now, 1);
            let ok = result == request.length as i32;
            {
                let (mut stream, queued) = source.lock_or_queue();
                late = queued || stream.checker.is_some();
                stream.generator.complete(now);
                if let Some(volume) = &means.volume {
                    let (length, from) = (u64::from(request.length), means.times.from());
                    stream.tell(volume, from, now);
                    stream.in_flight -= length;
                    if now < from && !stream.before {
                        volume.give_back(length);
                    }
                }
                if let Some(checker) = &mut stream.checker {
                    // SAFETY: the request was answered, so its buffer is in no request.
                    let bytes = unsafe { buffer.bytes_mut(request.length as usize) };
                    checker.complete(&request, number, ok, bytes);
                }
            }
            means.buffers.release(buffer);
            if ok {
                means.log.completed(&request, submitted_at, now);
            } else {
                refuse(&mut means.log, &means.times, &request, result);
            }
        }
        if means.open_loop {
            let mut stream = source.lock();
            if let Some(request) = stream.held.take() {
                means.log.missed(&request);
            }
            let last = means.times.last_due(now);
            while let Next::Request(request) = stream.generator.next(last) {
                means.log.missed(&request);
            }
        }
        means.log.finish(now);
    }
}

impl Means {
    /// Takes the next request off the stream, waiting for it to be due while holding the stream: the other workers queue
    /// behind, so that one wakes for one arrival. `late` says that time has passed since `now`.
    fn next_task(&mut self, source: &mut Source, now: &mut Instant, late: bool) -> Task {
        let (mut stream, queued) = source.lock_or_queue();
        let late = late || queued;
        if late && self.log.has_due_times() {
            // With the old time this worker would sleep past a due request.
            *now = self.watch.now();
            self.log.turn(*now, 0);
        }
        loop {
            let due_until = self.times.due_until(*now, self.open_loop).filter(|_| !stream.exhausted);
            let Some(due_until) = due_until else { return Task::End };
            let next = stream.held.take().map_or_else(|| stream.generator.next(due_until), Next::Request);
            let request = match next {
                Next::Request(request) => request,
                Next::Blocked => return Task::Pause,
                Next::At(_) if due_until < *now => return Task::End,
                Next::At(at) => {
                    let ahead = at.since(*now);
                    if ahead > SPIN {
                        std::thread::sleep(ahead.saturating_sub(SPIN).min(SLICE).into());
                    } else {
                        std::hint::spin_loop();
                    }
                    let turned = self.watch.now();
                    if ahead <= SPIN {
                        self.log.spun(turned.since(*now));
                    }
                    *now = turned;
                    self.log.turn(*now, 0);
                    continue;
                }
            };
            if let Some(checker) = &stream.checker
                && !checker.may_issue(&request)
            {
                stream.held = Some(request);
                return Task::Pause;
            }
            if let Some(volume) = &self.volume {
                let (length, from) = (u64::from(request.length), self.times.from());
                stream.tell(volume, from, *now);
                if !stream.before && !volume.take(length) {
                    if stream.in_flight > 0 {
                        // Of that, what was answered before the begin may yet be given back.
                        stream.held = Some(request);
                        return Task::Pause;
                    }
                    stream.exhausted = true;
                    return Task::End;
                }
                stream.in_flight += length;
            }
            let mut file = (request.offset / self.files.file_size.get()) as u32;
            match request.operation {
                Operation::Flush => file = stream.last_file,
                Operation::Write => stream.last_file = file,
                Operation::Read | Operation::Trim => {}
            }
            let mut number = 0;
            if let Some(checker) = &mut stream.checker {
                let buffer = self.buffers.for_read(0);
                // SAFETY: a worker has one request at a time and none now, so its buffer is in no request.
                let bytes = unsafe { buffer.bytes_mut(request.length as usize) };
                number = checker.issue(&request, bytes);
            }
            if late || stream.checker.is_some() {
                // The queue for the stream, or marking a block, took a while: the submission is now.
                *now = self.watch.now();
                self.log.turn(*now, 0);
            }
            return Task::Do { request, file, number };
        }
    }
}

/// Does one request: the bytes moved, or a negative error number.
#[expect(clippy::inline_always, reason = "see `raw_call`")]
#[inline(always)]
fn perform(file: i32, io: &Io, trims: Trims) -> i32 {
    let vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.length as usize };
    let (at, length, offset) = (io.buffer as usize, io.length as usize, io.offset as usize);
    let to = file as usize;
    let (number, arguments) = match io.operation {
        Operation::Read => (libc::SYS_pread64, [to, at, length, offset, 0, 0]),
        Operation::Write if io.durable => {
            (libc::SYS_pwritev2, [to, &raw const vector as usize, 1, offset, 0, libc::RWF_DSYNC as usize])
        }
        Operation::Write => (libc::SYS_pwrite64, [to, at, length, offset, 0, 0]),
        Operation::Trim => return trim(file, io, trims),
        Operation::Flush => (libc::SYS_fdatasync, [to, 0, 0, 0, 0, 0]),
    };
    loop {
        // SAFETY: the buffer is the worker's own, as long as the largest block, and in no other request; so is the one vector of it,
        // which outlives the call.
        match unsafe { system_call(number, arguments) }.result() {
            Ok(moved) => return moved as i32,
            Err(error) => match error.raw_os_error().unwrap_or(libc::EIO) {
                libc::EINTR => {}
                errno => return -errno,
            },
        }
    }
}
