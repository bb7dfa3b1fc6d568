//! The threads engine: one thread for each request in flight, plain `pread` and `pwrite`. Works on any file system, and
//! where the page cache answers it is the fastest.

use super::TrialFiles;
use super::beat::Beat;
use super::lane::{VolumeBound, refuse};
use super::ledger::{Log, Times};
use crate::backend::{Io, Trims, trim};
use crate::buffers::Buffers;
use crate::clock;
use crate::verify::Checker;
use loadline_block::{Operation, Request};
use loadline_units::{Duration, Instant};
use loadline_workload::{LoadGenerator, Next};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// It is `now`: with the begin of the measurement what is in flight counts towards its bound.
    fn tell(&mut self, volume: &VolumeBound, from: Instant, now: Instant) {
        if self.before && now >= from {
            self.before = false;
            volume.in_flight(self.in_flight);
        }
    }
}

/// One worker.
pub(super) struct Worker {
    pub(super) stream: Arc<Mutex<Option<Stream>>>,
    pub(super) log: Log,
    pub(super) times: Arc<Times>,
    pub(super) files: Arc<TrialFiles>,
    pub(super) volume: Option<Arc<VolumeBound>>,
    pub(super) buffers: Buffers,
    pub(super) open_loop: bool,
    /// Tells the conductor of the request in flight.
    pub(super) beat: Arc<Beat>,
}

/// What a worker is to do next.
enum Task {
    Do { request: Request, file: u32, number: u32 },
    Pause,
    End,
}

/// The stream for one worker at a time.
struct Turn<'a>(MutexGuard<'a, Option<Stream>>);

fn lock(stream: &Mutex<Option<Stream>>) -> Turn<'_> {
    Turn(stream.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The same; also says whether another worker had it, so that this one queued.
fn lock_or_queue(stream: &Mutex<Option<Stream>>) -> (Turn<'_>, bool) {
    match stream.try_lock() {
        Ok(stream) => (Turn(stream), false),
        Err(_) => (lock(stream), true),
    }
}

impl std::ops::Deref for Turn<'_> {
    type Target = Stream;
    fn deref(&self) -> &Stream {
        self.0.as_ref().expect("the stream is made before any worker runs")
    }
}
impl std::ops::DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Stream {
        self.0.as_mut().expect("the stream is made before any worker runs")
    }
}

impl Worker {
    /// Runs until the times say stop or something makes going on pointless.
    pub(super) fn run(mut self) {
        let mut now = clock::now();
        lock(&self.stream).generator.begin(now);
        // Time has passed since then: in the queue for the stream, or for checking a block.
        let mut late = false;
        loop {
            let (request, file, number) = match self.next_task(&mut now, late) {
                Task::Do { request, file, number } => (request, file, number),
                Task::Pause => {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                    now = clock::now();
                    late = false;
                    self.log.turn(now, 0);
                    continue;
                }
                Task::End => break,
            };
            let submitted_at = now;
            self.log.issued(&request);
            self.beat.waits_for(&request, now);
            let buffer = match request.operation {
                // A verified write was marked in place when it was taken.
                Operation::Write if number == 0 => {
                    let buffer = self.buffers.for_write();
                    self.buffers.stamp(buffer, request.length);
                    buffer
                }
                _ => self.buffers.for_read(0),
            };
            let offset = request.offset % self.files.file_size.get();
            let io = Io {
                operation: request.operation,
                durable: request.durable,
                file,
                length: request.length,
                offset,
                buffer: buffer.start,
            };
            let result = perform(self.files.files[file as usize].as_raw_fd(), &io, self.files.trims);
            now = clock::now();
            self.beat.rests();
            self.log.turn(now, 1);
            let ok = result == request.length as i32;
            {
                let (mut stream, queued) = lock_or_queue(&self.stream);
                late = queued || stream.checker.is_some();
                stream.generator.complete(now);
                if let Some(volume) = &self.volume {
                    let (length, from) = (u64::from(request.length), self.times.from());
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
            self.buffers.release(buffer);
            if ok {
                self.log.completed(&request, submitted_at, now);
            } else {
                refuse(&mut self.log, &self.times, &request, result);
            }
        }
        if self.open_loop {
            let mut stream = lock(&self.stream);
            if let Some(request) = stream.held.take() {
                self.log.missed(&request);
            }
            let last = self.times.last_due(now);
            while let Next::Request(request) = stream.generator.next(last) {
                self.log.missed(&request);
            }
        }
        self.log.finish(now);
    }

    /// Takes the next request off the stream, waiting for it to be due while holding the stream: the other workers queue
    /// behind, so that one wakes for one arrival. `late` says that time has passed since `now`.
    fn next_task(&mut self, now: &mut Instant, late: bool) -> Task {
        let shared = Arc::clone(&self.stream);
        let (mut stream, queued) = lock_or_queue(&shared);
        let late = late || queued;
        if late && self.log.has_due_times() {
            // With the old time this worker would sleep past what is due.
            *now = clock::now();
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
                    let turned = clock::now();
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
                *now = clock::now();
                self.log.turn(*now, 0);
            }
            return Task::Do { request, file, number };
        }
    }
}

/// Does one request: the bytes moved, or a negative error number.
fn perform(file: i32, io: &Io, trims: Trims) -> i32 {
    let vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.length as usize };
    let offset = io.offset as i64;
    loop {
        let result = match io.operation {
            // SAFETY: the buffer is the worker's own, as long as the largest block, and in no other request.
            Operation::Read => unsafe { libc::pread(file, io.buffer.cast(), io.length as usize, offset) },
            Operation::Write if io.durable => {
                // SAFETY: as above; one vector of that buffer.
                unsafe { libc::pwritev2(file, &raw const vector, 1, offset, libc::RWF_DSYNC) }
            }
            // SAFETY: as above.
            Operation::Write => unsafe { libc::pwrite(file, io.buffer.cast(), io.length as usize, offset) },
            Operation::Trim => return trim(file, io, trims),
            // SAFETY: fdatasync takes a number only.
            Operation::Flush => unsafe { libc::fdatasync(file) as isize },
        };
        if result >= 0 {
            return result as i32;
        }
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        if errno != libc::EINTR {
            return -errno;
        }
    }
}
