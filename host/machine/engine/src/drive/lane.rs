//! One load thread over an asynchronous backend: issues what is due, waits, takes in what was answered.
//!
//! The clock is read once a turn, after waiting: the answers of that turn were seen at that moment, and the requests that
//! follow are submitted at it. A latency therefore ends when the tool learns of the answer, and begins, in a closed loop,
//! when the place in the queue became free.

#![expect(clippy::inline_always, reason = "a return after a sleep costs more than it does: see `raw_call`")]

use super::heartbeat::{Heartbeat, unanswered};
use super::ledger::{GaveUp, Log, Times};
use super::waiting::{Issued, Waiting};
use crate::backend::{BATCH_MAX, Backend, Io, SLICE, error_kind};
use crate::buffers::{Buffer, Buffers};
use crate::verify::Checker;
use loadline_block::{ErrorKind, Operation, Request};
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{Due, LoadGenerator, Next};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Deeper queues than this are filled to seven eighths before answers are taken in.
const DEEP_MIN: u32 = 4 * BATCH_MAX;
/// A turn that lasts longer than the hang check's interval by this much: the process was stopped.
const STANDING: Duration = Duration::from_ms(100);
/// After a request was found hung, the others have this long to be answered.
const DRAIN: Duration = Duration::from_ms(200);
/// After so many failed requests, more of them show nothing new.
pub(super) const ERRORS_MAX: u64 = 64;

/// A bound on the bytes that a thread moves from the begin of the measurement on.
#[derive(Debug)]
pub(super) struct TransferBudget {
    left: AtomicU64,
}

impl TransferBudget {
    pub(super) const fn of(volume: Bytes) -> Self {
        Self { left: AtomicU64::new(volume.get()) }
    }

    pub(super) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes `length` off what is left; says whether there was enough.
    pub(super) fn take(&self, length: u64) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(length)).is_ok()
    }

    /// The measurement began while so many bytes were in flight: they count when they come.
    pub(super) fn in_flight(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Returns bytes that [`Self::in_flight`] took for requests answered before the measurement began.
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
    pub(super) volume: Option<Arc<TransferBudget>>,
    pub(super) checker: Option<Checker>,
    pub(super) hang_limit: Duration,
    /// How the thread waits, and its clock.
    pub(super) waiting: Waiting,
    /// By it the conductor knows that the thread is not stuck in the kernel.
    pub(super) heartbeat: Arc<Heartbeat>,
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

/// The places of the queue.
struct InFlight {
    flights: Vec<Flight>,
    /// Last in, first out: the buffer used last is the one still in the CPU's cache.
    free: Vec<u32>,
    outstanding: u32,
}

impl InFlight {
    fn new(slots: u32, buffer: Buffer) -> Self {
        let (operation, due_at) = (Operation::Flush, Instant::ZERO);
        let request = Request { operation, durable: false, length: 0, offset: 0, due_at };
        let idle = Flight { request, submitted_at: Instant::ZERO, buffer, number: 0, busy: false };
        Self { flights: vec![idle; slots as usize], free: (0..slots).rev().collect(), outstanding: 0 }
    }
}

fn busy(flights: &[Flight]) -> impl Iterator<Item = &Flight> {
    flights.iter().filter(|flight| flight.busy)
}

/// How far issuing came. Plain values only: a list that can grow would give its address to the allocator, and keep all of them out of
/// registers.
struct Issuing {
    /// Taken from the generator, and not issued so far: the checker still forbids it.
    held: Option<Request>,
    last_file: u32,
    /// The bound on the volume's bytes is reached.
    exhausted: bool,
    /// Open loop: the load is over, and all that was due before has been issued.
    settled: bool,
    /// Buffers are stamped just before they are handed over.
    stamps_late: bool,
}

/// When to look for requests that hang. Looking through all flights takes time, so it is done a few times within the limit.
#[derive(Clone, Copy)]
struct HangCheck {
    between: Duration,
    next_at: Instant,
    /// Once a request was found hung: when to leave the others unanswered.
    give_up_at: Instant,
}

impl HangCheck {
    fn new(limit: Duration, now: Instant) -> Self {
        let between = Duration::from_ns(limit.as_ns() / 16).max(SLICE);
        Self { between, next_at: now + between, give_up_at: Instant::MAX }
    }
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
    #[inline(always)]
    pub(super) fn run<B: Backend>(mut self, backend: &mut B) -> LaneEnd {
        let mut queue = InFlight::new(self.slots, self.buffers.for_read(0));
        let mut issuing = Issuing {
            held: None,
            last_file: 0,
            exhausted: false,
            settled: false,
            stamps_late: backend.waits_for_enter(),
        };
        self.waiting.begin(backend, self.slots);
        let mut before_measurement = true;
        let mut now = self.waiting.clock.now();
        self.generator.begin(now);
        let mut hangs = HangCheck::new(self.hang_limit, now);
        let mut in_flight = false;
        // Dropped first when something below panics: before buffers are given back that the kernel still writes into.
        let _guard = AbortOnPanic;
        while let Some(issued) = self.issue(backend, &mut queue, &mut issuing, now) {
            self.buffers.stamp_late();
            if let Err(error) = self.waiting.wait(backend, issued, &mut self.log) {
                self.log.gave_up(GaveUp::Failed(format!("handing requests to the kernel: {error}")));
                self.times.abort();
                in_flight = queue.outstanding > 0;
                break;
            }
            let turned = self.waiting.clock.now();
            let span = turned.since(now);
            self.heartbeat.beat(turned);
            self.log.waited(span, turned, queue.outstanding);
            self.log.turn(turned, queue.outstanding);
            if before_measurement && turned >= self.times.from() {
                before_measurement = false;
                self.bound_from_here(&queue.flights);
            }
            // A deep queue is filled first: where handing over takes as long as answers do, as many would come back in each turn as
            // are handed over, and the queue would stay as short as it is.
            let fills = issued.more && self.slots > DEEP_MIN && queue.free.len() > self.slots as usize / 8;
            let answers = if fills { 0 } else { self.take_in(backend, &mut queue, turned) };
            self.waiting.turned(issued, span, answers, queue.outstanding, &mut self.log);
            now = turned;
            if now >= hangs.next_at {
                hangs = self.look_for_hangs(hangs, &queue.flights, span, now);
            }
            if now >= hangs.give_up_at && queue.outstanding > 0 {
                for flight in busy(&queue.flights) {
                    self.log.timed_out(&flight.request, now.since(flight.submitted_at));
                }
                in_flight = true;
                break;
            }
        }
        if self.open_loop {
            self.count_missed(issuing.held, now);
        }
        if let Some(checker) = &self.checker {
            checker.settle();
        }
        self.waiting.end(&mut self.log);
        self.log.finish(now);
        LaneEnd { in_flight, buffers: self.buffers, checker: self.checker }
    }

    /// Queues what is due at `now`, a batch at most. `None`: nothing is in flight, and nothing more is to come.
    #[inline(always)]
    fn issue<B: Backend>(
        &mut self,
        backend: &mut B,
        queue: &mut InFlight,
        issuing: &mut Issuing,
        now: Instant,
    ) -> Option<Issued> {
        let is_over = issuing.exhausted || issuing.settled;
        let due_until = if is_over { None } else { self.times.due_until(now, self.open_loop) };
        let batch = self.waiting.batch();
        let mut count = 0;
        let mut next_at = None;
        while let Some(due_until) = due_until
            && count < batch
        {
            let Some(&slot) = queue.free.last() else { break };
            let request = if let Some(held) = issuing.held {
                issuing.held = None;
                held
            } else {
                match self.generator.due(due_until) {
                    Due::Now(due_at) => self.generator.take(due_at),
                    Due::At(at) => {
                        issuing.settled = due_until < now;
                        next_at = Some(at);
                        break;
                    }
                    Due::Blocked => break,
                }
            };
            // The checker gets a copy: a request whose address is known to nobody stays in the processor's registers.
            if let Some(checker) = &self.checker
                && !checker.may_issue(&{ request })
            {
                issuing.held = Some(request);
                break;
            }
            if let Some(volume) = &self.volume
                && now >= self.times.from()
                && !volume.take(u64::from(request.length))
            {
                issuing.exhausted = true;
                break;
            }
            queue.free.pop();
            let (buffer, number) = self.buffer_for(slot, request, issuing.stamps_late);
            let file = self.queue(backend, slot, request, buffer, issuing.last_file);
            if request.operation == Operation::Write {
                issuing.last_file = file;
            }
            queue.flights[slot as usize] = Flight { request, submitted_at: now, buffer, number, busy: true };
            self.log.issued(&request);
            count += 1;
        }
        queue.outstanding += count;
        let is_over = issuing.exhausted || issuing.settled || due_until.is_none();
        let more = count == batch && !queue.free.is_empty() && issuing.held.is_none();
        (queue.outstanding > 0 || !is_over).then_some(Issued { now, count, more, next_at })
    }

    /// The buffer of a request, with its contents where it writes, and its number where contents are checked.
    #[inline(always)]
    fn buffer_for(&mut self, slot: u32, request: Request, stamps_late: bool) -> (Buffer, u32) {
        let buffer = match request.operation {
            Operation::Write => {
                let buffer = self.buffers.for_write();
                if stamps_late {
                    self.buffers.keep_unstamped(buffer, request.length);
                } else {
                    self.buffers.stamp(buffer, request.length);
                }
                buffer
            }
            _ => self.buffers.for_read(slot),
        };
        let Some(checker) = &mut self.checker else { return (buffer, 0) };
        // SAFETY: this buffer was just taken and is in no request; `length` is a block of the load.
        let bytes = unsafe { buffer.bytes_mut(request.length as usize) };
        (buffer, checker.issue(&{ request }, bytes))
    }

    /// Hands a request to the backend's queue; returns its file. A flush goes to the file of the last write.
    #[inline(always)]
    fn queue<B: Backend>(&self, backend: &mut B, slot: u32, request: Request, buffer: Buffer, last_file: u32) -> u32 {
        let (file, offset) = if self.files == 1 {
            (0, request.offset)
        } else {
            ((request.offset / self.file_size.get()) as u32, request.offset % self.file_size.get())
        };
        let Request { operation, durable, length, .. } = request;
        let file = if operation == Operation::Flush { last_file } else { file };
        backend.queue(slot, &Io { operation, durable, file, length, offset, buffer: buffer.start });
        file
    }

    /// Takes in what was answered by `turned`; returns how many requests.
    #[inline(always)]
    fn take_in<B: Backend>(&mut self, backend: &mut B, queue: &mut InFlight, turned: Instant) -> u32 {
        let mut answers = 0;
        backend.reap(|slot, result| {
            answers += 1;
            let flight = &mut queue.flights[slot as usize];
            flight.busy = false;
            queue.free.push(slot);
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
        queue.outstanding -= answers;
        answers
    }

    /// The measurement has begun: the bytes then in flight count when they come.
    fn bound_from_here(&self, flights: &[Flight]) {
        let Some(volume) = &self.volume else { return };
        let from = self.times.from();
        let earlier = busy(flights).filter(|flight| flight.submitted_at < from);
        volume.in_flight(earlier.map(|flight| u64::from(flight.request.length)).sum());
    }

    /// Ends the load where its oldest request has been in flight for longer than the limit. After a turn of `span`.
    #[cold]
    fn look_for_hangs(&mut self, mut hangs: HangCheck, flights: &[Flight], span: Duration, now: Instant) -> HangCheck {
        hangs.next_at = now + hangs.between;
        // This process may have been stopped: what was answered meanwhile is collected before anything is missed.
        let stood_still = span > hangs.between + STANDING;
        if stood_still || hangs.give_up_at != Instant::MAX {
            return hangs;
        }
        let oldest = busy(flights).min_by_key(|flight| flight.submitted_at);
        if let Some(flight) = oldest.filter(|flight| now.since(flight.submitted_at) > self.hang_limit) {
            self.log.gave_up(GaveUp::Hung(unanswered(&flight.request, now.since(flight.submitted_at))));
            self.times.abort();
            hangs.give_up_at = now + DRAIN;
        }
        hangs
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
