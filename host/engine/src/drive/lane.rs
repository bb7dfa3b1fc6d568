//! One load thread over an asynchronous backend: issues what is due, waits, takes in what was answered.
//!
//! The clock is read once a turn, after waiting: the answers of that turn were seen at that moment, and the requests that
//! follow are submitted at it. A latency therefore ends when the tool learns of the answer, and begins, in a closed loop,
//! when the place in the queue became free.

use super::beat::{Beat, unanswered};
use super::ledger::{GaveUp, Log, Times};
use super::nap::Nap;
use super::vigil::{AWAKE_MAX, Vigil, Wait};
use crate::backend::{BATCH_MAX, Backend, Io, SLICE, error_kind};
use crate::buffers::{Buffer, Buffers};
use crate::verify::Checker;
use loadline_block::{ErrorKind, Operation, Request};
use loadline_kernel::clock::{self, TscClock};
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{Due, LoadGenerator, Next};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of queues with more places than this an eighth may stand free at most, but for what cannot be handed over.
const DEEP_MIN: u32 = 4 * BATCH_MAX;
/// Workers carry out what a queue holds in less than this. Who keeps the processor for longer is someone else.
const WAY_MAX: Duration = Duration::from_ms(1);
/// After the processor was kept by someone else, it is not left again for so many times as long.
const WAY_REST: u64 = 16;
/// So much longer than a wait does no turn take by itself, whatever the kernel's ticks add to it.
const STANDING: Duration = Duration::from_ms(100);
/// After a request was found hung, the others have this long to be answered.
const DRAIN: Duration = Duration::from_ms(200);
/// After so many failed requests going on tells nothing new.
pub(super) const ERRORS_MAX: u64 = 64;

/// A bound on the bytes that all threads together move from the begin of the measurement on.
#[derive(Debug)]
pub(super) struct VolumeBound {
    pub(super) left: AtomicU64,
}

impl VolumeBound {
    /// Takes `length` off what is left; says whether there was enough.
    pub(super) fn take(&self, length: u64) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(length)).is_ok()
    }

    /// The measurement began while so many bytes were in flight: they count when they come.
    pub(super) fn in_flight(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Of those, these came before.
    pub(super) fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What one load thread needs besides its backend.
pub(super) struct Lane {
    pub(super) generator: LoadGenerator,
    pub(super) buffers: Buffers,
    pub(super) log: Log,
    pub(super) times: Arc<Times>,
    pub(super) slots: u32,
    pub(super) file_size: Bytes,
    pub(super) files: u32,
    pub(super) open_loop: bool,
    pub(super) volume: Option<Arc<VolumeBound>>,
    pub(super) checker: Option<Checker>,
    pub(super) hang_limit: Duration,
    /// Until when the thread does not leave its processor to others.
    pub(super) stays_until: Instant,
    /// When the thread waits awake.
    pub(super) vigil: Vigil,
    /// When it sleeps though something is due later.
    pub(super) nap: Nap,
    /// What the thread reads the time from.
    pub(super) watch: TscClock,
    /// Tells the conductor that the thread is not stuck in the kernel.
    pub(super) beat: Arc<Beat>,
}

/// A request in flight.
#[derive(Clone, Copy)]
struct Flight {
    request: Request,
    submitted_at: Instant,
    buffer: Buffer,
    number: u32,
    busy: bool,
}

/// A panic with requests in flight must not unwind: the kernel would go on writing into memory that is given back.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// How a lane ended.
pub(super) struct LaneEnd {
    /// Requests are still in flight: backend and buffers must be leaked, not dropped.
    pub(super) in_flight: bool,
    pub(super) buffers: Buffers,
    pub(super) checker: Option<Checker>,
}

impl Lane {
    /// Runs until the times say stop and every request is answered, or something makes going on pointless.
    pub(super) fn run<B: Backend>(mut self, backend: &mut B) -> LaneEnd {
        let idle = Flight {
            request: Request {
                operation: Operation::Flush,
                durable: false,
                length: 0,
                offset: 0,
                due_at: Instant::ZERO,
            },
            submitted_at: Instant::ZERO,
            buffer: self.buffers.for_read(0),
            number: 0,
            busy: false,
        };
        let mut flights = vec![idle; self.slots as usize];
        // Last in, first out: the buffer used last is the one still in the CPU's cache.
        let mut free: Vec<u32> = (0..self.slots).rev().collect();
        let mut outstanding: u32 = 0;
        let batch_usual = backend.batch_max(self.slots);
        let mut unstamped: Vec<(Buffer, u32)> = Vec::with_capacity(BATCH_MAX as usize);
        let stamp_late = backend.waits_for_enter();
        // An open loop may have to issue before the workers are through, and with a depth of 1 there is nothing to gather.
        let gives_way = backend.has_workers() && !self.open_loop && self.slots > 1;
        let mut held: Option<Request> = None;
        let mut last_file = 0;
        let mut exhausted = false;
        // Open loop: the load is over, and all that was due before has been issued.
        let mut settled = false;
        // The measurement has not begun.
        let mut before = true;
        let mut now = self.watch.now();
        self.generator.begin(now);
        let mut in_flight = false;
        // Looking through all flights takes time, so it is done a few times within the limit.
        let between_looks = Duration::from_ns(self.hang_limit.as_ns() / 16).max(SLICE);
        let mut look_at = now + between_looks;
        let mut give_up_at = Instant::MAX;
        // Dropped first when something below panics: before buffers are given back that the kernel still writes into.
        let _guard = AbortOnPanic;
        loop {
            // Issue what is due.
            let due_until = if exhausted || settled { None } else { self.times.due_until(now, self.open_loop) };
            // Where waiting awake brings nothing, who answers waits for this thread's processor, or the device takes far longer than a call:
            // nobody is kept waiting by a larger batch, and fewer calls wake them less often.
            let batch_max = if self.vigil.rests() { BATCH_MAX } else { batch_usual };
            let mut batch = 0;
            let mut next_at = None;
            while let Some(due_until) = due_until
                && batch < batch_max
            {
                let Some(&slot) = free.last() else { break };
                let request = match held.take() {
                    Some(request) => request,
                    None => match self.generator.due(due_until) {
                        Due::Now(due_at) => self.generator.take(due_at),
                        Due::At(at) => {
                            settled = due_until < now;
                            next_at = Some(at);
                            break;
                        }
                        Due::Blocked => break,
                    },
                };
                // Who checks gets a copy: a request whose address is known to nobody stays in the processor's registers.
                if let Some(checker) = &self.checker
                    && !checker.may_issue(&{ request })
                {
                    held = Some(request);
                    break;
                }
                if let Some(volume) = &self.volume
                    && now >= self.times.from()
                    && !volume.take(u64::from(request.length))
                {
                    exhausted = true;
                    break;
                }
                free.pop();
                let buffer = match request.operation {
                    Operation::Write => {
                        let buffer = self.buffers.for_write();
                        if stamp_late {
                            unstamped.push((buffer, request.length));
                        } else {
                            self.buffers.stamp(buffer, request.length);
                        }
                        buffer
                    }
                    _ => self.buffers.for_read(slot),
                };
                let mut number = 0;
                if let Some(checker) = &mut self.checker {
                    // SAFETY: this buffer was just taken and is in no request; `length` is a block of the load.
                    let bytes = unsafe { buffer.bytes_mut(request.length as usize) };
                    number = checker.issue(&{ request }, bytes);
                }
                let (file, offset) = if self.files == 1 {
                    (0, request.offset)
                } else {
                    ((request.offset / self.file_size.get()) as u32, request.offset % self.file_size.get())
                };
                let file = if request.operation == Operation::Flush { last_file } else { file };
                if request.operation == Operation::Write {
                    last_file = file;
                }
                backend.queue(
                    slot,
                    &Io {
                        operation: request.operation,
                        durable: request.durable,
                        file,
                        length: request.length,
                        offset,
                        buffer: buffer.start,
                    },
                );
                flights[slot as usize] = Flight { request, submitted_at: now, buffer, number, busy: true };
                self.log.issued(&request);
                batch += 1;
            }
            outstanding += batch;
            if self.open_loop && batch > 0 {
                self.nap.issued(now);
            }
            if outstanding == 0 && (exhausted || settled || due_until.is_none()) {
                break;
            }

            // The blocks of the last round may still stand in another CPU's cache. One after the other each store to them is
            // waited for; together they are fetched at once.
            for &(buffer, length) in &unstamped {
                self.buffers.stamp(buffer, length);
            }
            unstamped.clear();

            // Hand over and wait.
            let more = batch == batch_max && !free.is_empty() && held.is_none();
            let wait = match next_at {
                _ if more => None,
                None => Some(SLICE),
                Some(at) => self.nap.before(at, now).map(|nap| nap.min(SLICE)),
            };
            let only_waits = next_at.is_none() && !more;
            let mut waited = Wait::Asleep;
            let entered = if gives_way && batch > 0 && only_waits && now >= self.stays_until {
                self.give_way(backend).and_then(|answered| if answered { Ok(()) } else { backend.enter(wait) })
            } else if only_waits && self.vigil.stands(now, clock::thread_time, |span| self.log.waited_awake(span)) {
                self.wait_awake(backend, now).map(|wait| waited = wait)
            } else {
                backend.enter(wait)
            };
            if let Err(error) = entered {
                self.log.gave_up(GaveUp::Failed(format!("handing requests to the kernel: {error}")));
                self.times.abort();
                in_flight = outstanding > 0;
                break;
            }
            let turned = self.watch.now();
            self.beat.came_by(turned);
            self.log.turn(turned, outstanding);

            if let Some(volume) = self.volume.as_ref().filter(|_| before && turned >= self.times.from()) {
                before = false;
                let from = self.times.from();
                let earlier = flights.iter().filter(|flight| flight.busy && flight.submitted_at < from);
                volume.in_flight(earlier.map(|flight| u64::from(flight.request.length)).sum());
            }

            // A deep queue is filled first: where handing over takes as long as answers do, as many would come back in each turn as
            // are handed over, and the queue would stay as short as it is.
            let fills = more && self.slots > DEEP_MIN && free.len() > self.slots as usize / 8;

            // Take in what was answered.
            let mut answers = 0;
            if !fills {
                backend.reap(|slot, result| {
                    answers += 1;
                    let flight = &mut flights[slot as usize];
                    flight.busy = false;
                    free.push(slot);
                    self.generator.complete(turned);
                    let request = &flight.request;
                    let ok = result == request.length as i32;
                    if let Some(checker) = &mut self.checker {
                        // SAFETY: the request was just answered, so its buffer is in no request.
                        let bytes = unsafe { flight.buffer.bytes_mut(request.length as usize) };
                        checker.complete(request, flight.number, ok || request.operation == Operation::Trim, bytes);
                    }
                    self.buffers.release(flight.buffer);
                    if ok || (result == 0 && request.operation == Operation::Trim) {
                        self.log.completed(request, flight.submitted_at, turned);
                    } else {
                        refuse(&mut self.log, &self.times, request, result);
                    }
                });
            }
            outstanding -= answers;
            if outstanding == 0 {
                self.nap.answered();
            }
            self.vigil.turned(turned.since(now), answers, waited);
            if wait.is_none() && batch == 0 && answers == 0 {
                if outstanding > 0 {
                    // What is to answer may be queued behind this thread: a kernel thread, or a server on this machine.
                    std::thread::yield_now();
                }
                self.log.spun(turned.since(now));
            }
            // The tool may have been stopped: what was answered meanwhile is collected before anything is missed.
            let stood_still = turned.since(now) > between_looks + STANDING;
            now = turned;
            if now >= look_at {
                look_at = now + between_looks;
                let waiting = flights.iter().filter(|f| f.busy && !stood_still);
                let oldest = waiting.min_by_key(|f| f.submitted_at);
                if let Some(flight) = oldest.filter(|f| now.since(f.submitted_at) > self.hang_limit)
                    && give_up_at == Instant::MAX
                {
                    self.log.gave_up(GaveUp::Hung(unanswered(&flight.request, now.since(flight.submitted_at))));
                    self.times.abort();
                    give_up_at = now + DRAIN;
                }
            }
            if now >= give_up_at && outstanding > 0 {
                for flight in flights.iter().filter(|f| f.busy) {
                    self.log.timed_out(&flight.request, now.since(flight.submitted_at));
                }
                in_flight = true;
                break;
            }
        }
        if self.open_loop {
            self.count_missed(held, now);
        }
        if let Some(checker) = &self.checker {
            checker.settle();
        }
        self.log.waited_awake(self.vigil.ends(clock::thread_time));
        self.log.finish(now);
        LaneEnd { in_flight, buffers: self.buffers, checker: self.checker }
    }

    /// Hands over, and lets the workers that share this processor go first, once: they carry out what they have, where each answer
    /// would wake this thread and take the processor from them. Says whether there are answers to collect.
    fn give_way<B: Backend>(&mut self, backend: &mut B) -> std::io::Result<bool> {
        backend.enter(None)?;
        if !backend.is_answered() {
            let from = self.watch.now();
            std::thread::yield_now();
            let back = self.watch.now();
            self.log.gave_way(back.since(from));
            if back.since(from) > WAY_MAX {
                self.stays_until = back + Duration::from_ns(WAY_REST * back.since(from).as_ns());
            }
        }
        Ok(backend.is_answered())
    }

    /// Hands over, and waits awake for answers for a while from `now` on, then asleep.
    #[expect(clippy::inline_always, reason = "see `in_place`")]
    #[inline(always)]
    fn wait_awake<B: Backend>(&mut self, backend: &mut B, now: Instant) -> std::io::Result<Wait> {
        if self.vigil.tells_apart() {
            return self.wait_awake_apart(backend, now).map(Wait::AwakeFor);
        }
        backend.enter(Some(clock::SLEEP_MIN))?;
        while !backend.is_answered() {
            let at = self.watch.now();
            if at.since(now) >= AWAKE_MAX {
                backend.enter(Some(SLICE))?;
                self.vigil.waited_in_vain(self.watch.now().since(at));
                break;
            }
            backend.enter(Some(clock::SLEEP_MIN))?;
        }
        Ok(Wait::Awake)
    }

    /// The same, with a system call and a reading of the clock for each part. Collecting answers is work, as handing over is.
    fn wait_awake_apart<B: Backend>(&mut self, backend: &mut B, now: Instant) -> std::io::Result<Duration> {
        backend.enter(None)?;
        let from = self.watch.now();
        let mut at = from;
        while !backend.is_announced() {
            if at.since(now) >= AWAKE_MAX {
                backend.enter(Some(SLICE))?;
                let slept = self.watch.now().since(at);
                self.vigil.waited_in_vain(slept);
                return Ok(at.since(from) + slept);
            }
            clock::sleep_min();
            at = self.watch.now();
        }
        backend.enter(None)?;
        Ok(at.since(from))
    }

    /// Arrivals that were due within the measured time, or before `now` where that was cut short, and never issued.
    fn count_missed(&mut self, held: Option<Request>, now: Instant) {
        if let Some(request) = held {
            self.log.missed(&request);
        }
        let last = self.times.last_due(now);
        while let Next::Request(request) = self.generator.next(last) {
            self.log.missed(&request);
        }
    }
}

/// Counts a failure; ends the load where going on is pointless.
pub(super) fn refuse(log: &mut Log, times: &Times, request: &Request, result: i32) {
    let (kind, detail) = if result >= 0 {
        (ErrorKind::Short, format!("only {result} B were moved"))
    } else {
        (error_kind(-result), std::io::Error::from_raw_os_error(-result).to_string())
    };
    let failures = log.failed(request, kind, &detail);
    let fatal = matches!(kind, ErrorKind::Gone | ErrorKind::NoSpace | ErrorKind::Refused | ErrorKind::Denied);
    if (fatal || failures >= ERRORS_MAX) && !times.aborted() {
        times.abort();
        log.gave_up(GaveUp::Failed(format!(
            "{} at offset {}: {detail}{}",
            request.operation.name(),
            request.offset,
            if fatal { String::new() } else { format!("; {failures} requests failed") }
        )));
    }
}
