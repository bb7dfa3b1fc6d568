//! What the load threads write down: each for itself within a second, all together in the ledger.

#![expect(clippy::inline_always, reason = "a call for each request costs a tenth of what the loop does for it")]

use super::heartbeat::unanswered;
use super::turns::{PAUSE, TurnCounter};
use loadline_block::{ErrorKind, Operation, Request};
use loadline_kernel::clock::{self, CpuTime};
use loadline_record::{Histogram, OperationRecord, Second, Series, Tally, ThreadBusy, Turns};
use loadline_units::{Duration, Instant, NS_PER_S};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Failures described in words at most.
const ERROR_SAMPLES_MAX: usize = 8;
/// How long after its end an open loop still issues arrivals that were due before: what a late thread or a short stall left
/// behind is not lost, and a load far beyond the device does not go on for long.
const ARREARS: Duration = Duration::from_s(1);
/// A second of the series is closed this long after its end, when every thread that is alive has entered its counts.
pub(super) const SECOND_GRACE: Duration = Duration::from_ms(300);

/// The times of a trial, set by its conductor and read by its load threads on every turn.
#[derive(Debug)]
pub(super) struct Times {
    from: AtomicU64,
    to: AtomicU64,
    stop: AtomicU64,
    /// Ends the load at once: the user's wish, or a failure that makes going on pointless.
    abort: AtomicBool,
}

impl Times {
    pub(super) const fn new() -> Self {
        Self {
            from: AtomicU64::new(u64::MAX),
            to: AtomicU64::new(u64::MAX),
            stop: AtomicU64::new(u64::MAX),
            abort: AtomicBool::new(false),
        }
    }
    /// The measurement begins at `from`, ends at `to`; requests are issued until `stop`.
    pub(super) fn set(&self, from: Instant, to: Instant, stop: Instant) {
        self.stop.store(stop.as_ns(), Ordering::SeqCst);
        self.to.store(to.as_ns(), Ordering::SeqCst);
        self.from.store(from.as_ns(), Ordering::SeqCst);
    }
    /// Set last and read first: a thread that sees it sees the end, too, also on processors that order loads weakly.
    #[inline]
    pub(super) fn from(&self) -> Instant {
        Instant::from_ns(self.from.load(Ordering::Acquire))
    }
    #[inline]
    pub(super) fn to(&self) -> Instant {
        Instant::from_ns(self.to.load(Ordering::Relaxed))
    }
    /// Up to when requests that are due are to be issued at `now`; `None` when the load is over. An open loop still
    /// issues for a while what fell due before its end.
    #[inline]
    pub(super) fn due_until(&self, now: Instant, open_loop: bool) -> Option<Instant> {
        let stop = Instant::from_ns(self.stop.load(Ordering::Relaxed));
        if self.abort.load(Ordering::Relaxed) {
            None
        } else if now < stop {
            Some(now)
        } else {
            (open_loop && now < stop + ARREARS).then(|| Instant::from_ns(stop.as_ns() - 1))
        }
    }
    /// Until when arrivals count, for a thread that ends at `now`: the end of the measurement, or now if it was cut short.
    pub(super) fn last_due(&self, now: Instant) -> Instant {
        Instant::from_ns(self.to().as_ns().saturating_sub(1)).min(now)
    }
    pub(super) fn abort(&self) {
        self.abort.store(true, Ordering::SeqCst);
    }
    pub(super) fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}

/// Why a load thread gave up before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GaveUp {
    Failed(String),
    Hung(String),
}

/// Figures of the last full second, for the live view.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LastSecond {
    pub(super) iops: f64,
    pub(super) bytes_per_s: f64,
    /// Requests in flight on average; `None`: not counted, in the warm-up.
    pub(super) outstanding: Option<f64>,
    pub(super) latency: Option<Duration>,
    pub(super) p50: Option<Duration>,
    pub(super) p99: Option<Duration>,
}

#[derive(Debug, Default)]
struct OpenSecond {
    tallies: [Tally; 4],
    outstanding_ns: u128,
    errors: u64,
}

/// The counts that all threads have entered so far.
#[derive(Debug, Default)]
pub(super) struct Book {
    totals: [Tally; 4],
    open: BTreeMap<u64, OpenSecond>,
    series: Series,
    closed_until: u64,
    /// Requests completed in each second before the measurement, for the steady-state rule.
    pub(super) warm_up_counts: Vec<u64>,
    warm_up_open: BTreeMap<u64, [Tally; 4]>,
    pub(super) last: Option<LastSecond>,
    /// What the seconds had that were closed since this was taken.
    pub(super) closed: Option<[Tally; 4]>,
    pub(super) errors: BTreeMap<ErrorKind, u64>,
    pub(super) error_samples: Vec<String>,
    operation_errors: [u64; 4],
    /// Arrivals due within the measured time; those of them that were never issued.
    pub(super) offered: u64,
    pub(super) missed: u64,
    pub(super) asked: BTreeMap<Operation, (u64, u64)>,
    pub(super) threads: Vec<ThreadBusy>,
    /// Of each thread whose answers came in turns.
    pub(super) turns: Vec<Turns>,
    pub(super) load_user: Duration,
    pub(super) load_system: Duration,
    /// What load threads spent waiting awake for answers.
    pub(super) awake: Duration,
    pub(super) gave_up: Vec<GaveUp>,
    /// When the last thread that ended by itself had its last answer, or gave up waiting for it.
    pub(super) finished_at: Option<Instant>,
    pub(super) in_force: Vec<String>,
}

/// The book that all threads of a trial share.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    book: Mutex<Book>,
}

impl Ledger {
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock()
    }
}

impl Book {
    /// A request was left behind, or a thread that hands over requests.
    pub(super) fn timed_out(&mut self, operation: Option<Operation>, detail: String) {
        *self.errors.entry(ErrorKind::TimedOut).or_default() += 1;
        if let Some(operation) = operation {
            self.operation_errors[operation.index()] += 1;
        }
        if self.error_samples.len() < ERROR_SAMPLES_MAX {
            self.error_samples.push(detail);
        }
    }

    /// Closes every second of the measurement that ended a while before `now`.
    pub(super) fn close_seconds(&mut self, from: Instant, now: Instant) {
        while let Some((&number, _)) = self.open.first_key_value() {
            let end = from + Duration::from_ns((number + 1).saturating_mul(NS_PER_S));
            if end + SECOND_GRACE > now {
                break;
            }
            self.close_first();
        }
    }

    fn close_first(&mut self) {
        let Some((number, second)) = self.open.pop_first() else { return };
        let mut merged = Histogram::new();
        for tally in &second.tallies[..3] {
            merged.merge(&tally.latency);
        }
        let outstanding = second.outstanding_ns as f64 / NS_PER_S as f64;
        self.last = Some(LastSecond { outstanding: Some(outstanding), ..last_second(&second.tallies, &merged) });
        let counts = self.closed.get_or_insert_default();
        counts.iter_mut().zip(&second.tallies).for_each(|(sum, more)| sum.merge(more));
        let closed = Second {
            operations: std::array::from_fn(|index| second.tallies[index].in_second()),
            outstanding,
            errors: second.errors,
        };
        while self.closed_until < number {
            self.series_push(Second::default());
        }
        if self.closed_until == number {
            self.series_push(closed);
        } else {
            // A thread that was held up in the kernel enters its counts late: they are kept.
            let index = (number / u64::from(self.series.interval_s)) as usize;
            if let Some(kept) = self.series.seconds.get_mut(index) {
                for (mine, theirs) in kept.operations.iter_mut().zip(closed.operations) {
                    mine.count += theirs.count;
                    mine.bytes += theirs.bytes;
                    mine.max_ns = mine.max_ns.max(theirs.max_ns);
                }
                kept.outstanding += closed.outstanding / f64::from(self.series.interval_s);
                kept.errors += closed.errors;
            }
        }
    }

    fn series_push(&mut self, second: Second) {
        self.closed_until += 1;
        let interval = u64::from(self.series.interval_s);
        if interval == 1 {
            self.series.push(second);
            return;
        }
        // After a day, several seconds make one interval.
        if (self.closed_until - 1).is_multiple_of(interval) {
            self.series.push(second);
        } else if let Some(kept) = self.series.seconds.last_mut() {
            *kept = kept.joined(&second);
        }
    }

    /// What the load wrote was made durable after it, which took so long.
    pub(super) fn flushed(&mut self, took: Duration) {
        let tally = &mut self.totals[Operation::Flush.index()];
        tally.count += 1;
        tally.latency.record(took);
        self.asked.entry(Operation::Flush).or_default().0 += 1;
    }

    /// Ends the book: the operations, the series, and how much of its last interval was covered.
    pub(super) fn finish(
        &mut self,
        measured: Duration,
        due_times: bool,
    ) -> (BTreeMap<Operation, OperationRecord>, Series) {
        while !self.open.is_empty() {
            self.close_first();
        }
        let mut series = std::mem::take(&mut self.series);
        let interval_ns = u64::from(series.interval_s) * NS_PER_S;
        let wanted = measured.as_ns().div_ceil(interval_ns) as usize;
        while series.seconds.len() < wanted {
            series.seconds.push(Second::default());
        }
        let full = (series.seconds.len() as u64).saturating_sub(1) * interval_ns;
        series.last_ns = measured.as_ns().saturating_sub(full).min(interval_ns);
        if let Some(last) = series.seconds.last_mut()
            && series.last_ns > 0
        {
            last.outstanding *= interval_ns as f64 / series.last_ns as f64;
        }
        let mut operations = BTreeMap::new();
        for operation in Operation::ALL {
            let tally = std::mem::take(&mut self.totals[operation.index()]);
            let errors = self.operation_errors[operation.index()];
            if tally.count + tally.latency.count() + errors > 0 {
                operations.insert(
                    operation,
                    OperationRecord {
                        count: tally.count,
                        bytes: tally.bytes,
                        errors,
                        latency: tally.latency,
                        waiting: due_times.then_some(tally.waiting),
                        service: due_times.then_some(tally.service),
                        told: None,
                    },
                );
            }
        }
        (operations, series)
    }
}

fn last_second(tallies: &[Tally; 4], merged: &Histogram) -> LastSecond {
    LastSecond {
        iops: tallies[..3].iter().map(|t| t.count).sum::<u64>() as f64,
        bytes_per_s: tallies[..3].iter().map(|t| t.bytes).sum::<u64>() as f64,
        outstanding: None,
        latency: merged.mean_ns().map(|ns| Duration::from_ns(ns as u64)),
        p50: merged.quantile(0.50),
        p99: merged.quantile(0.99),
    }
}

/// Where a thread is in the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    WarmUp,
    Measuring,
    After,
}

/// One thread's own notes. The caller passes it the time once a turn, and each answer as it comes.
pub(super) struct Log {
    ledger: Arc<Ledger>,
    times: Arc<Times>,
    /// Open loop: requests are kept by when they were due, so that none escapes at the end of the measurement.
    open_loop: bool,
    due_times: bool,
    stage: Stage,
    started_at: Instant,
    tallies: Box<[Tally; 4]>,
    /// Answers after the end of the measurement to requests due within it.
    late: Option<Box<[Tally; 4]>>,
    second: u64,
    boundary: Instant,
    previous: Instant,
    outstanding_ns: u128,
    second_errors: u64,
    asked: [(u64, u64); 4],
    offered: u64,
    missed: u64,
    spun: Duration,
    /// Spent waiting awake for answers, in all stages.
    awake: Duration,
    /// Readiness holds the time in the queue for a processor.
    queue_is_told: bool,
    ready_at_begin: Duration,
    usage_at_begin: CpuTime,
    measured_from: Instant,
    queued_at_begin: Option<Duration>,
    /// Transfers completed in the measured seconds before this one.
    completed_before: u64,
    turns: TurnCounter,
}

impl Log {
    pub(super) fn new(ledger: Arc<Ledger>, times: Arc<Times>, open_loop: bool, due_times: bool, now: Instant) -> Self {
        Self {
            ledger,
            times,
            open_loop,
            due_times,
            stage: Stage::WarmUp,
            started_at: now,
            tallies: Box::default(),
            late: None,
            second: 0,
            boundary: now,
            previous: now,
            outstanding_ns: 0,
            second_errors: 0,
            asked: [(0, 0); 4],
            offered: 0,
            missed: 0,
            spun: Duration::ZERO,
            awake: Duration::ZERO,
            queue_is_told: clock::queue_time_is_counted(),
            ready_at_begin: Duration::ZERO,
            usage_at_begin: CpuTime::default(),
            measured_from: now,
            queued_at_begin: None,
            completed_before: 0,
            turns: TurnCounter::default(),
        }
    }

    /// Whether requests have due times of their own.
    pub(super) const fn has_due_times(&self) -> bool {
        self.due_times
    }

    /// Notes the time: once a turn, before that turn's answers. `outstanding` held since the last turn.
    #[inline]
    pub(super) fn turn(&mut self, now: Instant, outstanding: u32) {
        // A turn may have taken seconds: each gets its part.
        while now >= self.boundary || (self.stage == Stage::WarmUp && now >= self.times.from()) {
            let end = if self.stage == Stage::WarmUp { self.boundary.min(self.times.from()) } else { self.boundary };
            self.was_outstanding(outstanding, end);
            self.roll(end);
        }
        self.was_outstanding(outstanding, now);
    }

    /// A wait for answers took `span` and ended at `now`; none of them is counted yet. A long one may be the pause of a throttle.
    #[inline(always)]
    pub(super) fn waited(&mut self, span: Duration, now: Instant, outstanding: u32) {
        if span >= PAUSE {
            self.paused_until(now, outstanding);
        }
    }

    /// Nothing was answered for a while.
    #[cold]
    #[inline(never)]
    fn paused_until(&mut self, now: Instant, outstanding: u32) {
        if self.stage == Stage::Measuring && !self.due_times && outstanding > 0 && now < self.times.to() {
            self.turns.paused_until(now, self.completed_before + self.completed_here());
        }
    }

    /// Transfers completed in this second.
    fn completed_here(&self) -> u64 {
        self.tallies.iter().take(Operation::Flush.index()).map(|tally| tally.count).sum()
    }

    /// So many requests were outstanding from the last noted time until `until`.
    #[inline]
    fn was_outstanding(&mut self, outstanding: u32, until: Instant) {
        self.outstanding_ns += u128::from(until.since(self.previous).as_ns() * u64::from(outstanding));
        self.previous = self.previous.max(until);
    }

    /// A request is handed over.
    #[inline]
    pub(super) fn issued(&mut self, request: &Request) {
        let asked = &mut self.asked[request.operation.index()];
        asked.0 += 1;
        asked.1 += u64::from(request.length);
        if self.open_loop && self.is_arrival(request) {
            self.offered += 1;
        }
    }

    /// Whether it is one of the arrivals that the load offers within the measurement: flushes come with writes, beside them.
    #[inline]
    fn is_arrival(&self, request: &Request) -> bool {
        request.operation != Operation::Flush && self.within(request.due_at)
    }

    /// A request was due but never issued.
    pub(super) fn missed(&mut self, request: &Request) {
        if self.is_arrival(request) {
            self.offered += 1;
            self.missed += 1;
        }
    }

    /// The thread spun, waiting for the next arrival.
    #[inline]
    pub(super) fn spun(&mut self, span: Duration) {
        if self.stage == Stage::Measuring {
            self.spun = self.spun + span;
        }
    }

    /// The thread waited awake for an answer.
    #[inline]
    pub(super) fn waited_awake(&mut self, span: Duration) {
        self.awake = self.awake + span;
        self.spun(span);
    }

    /// The thread left its processor to others: what it waited there for is not its own work, though it was ready to run.
    #[inline]
    pub(super) fn gave_way(&mut self, span: Duration) {
        if self.queue_is_told {
            self.spun(span);
        }
    }

    #[inline]
    fn within(&self, at: Instant) -> bool {
        at >= self.times.from() && at < self.times.to()
    }

    /// A request was answered without error at `now`, the last noted time.
    #[inline(always)]
    pub(super) fn completed(&mut self, request: &Request, submitted_at: Instant, now: Instant) {
        let index = request.operation.index();
        if self.stage != Stage::After {
            let tally = &mut self.tallies[index];
            tally.count += 1;
            tally.bytes += u64::from(request.length);
            if !self.open_loop || self.stage == Stage::WarmUp || request.due_at >= self.measured_from {
                keep(tally, request, submitted_at, now, self.due_times);
            }
        } else if self.open_loop && self.within(request.due_at) {
            let late = self.late.get_or_insert_default();
            keep(&mut late[index], request, submitted_at, now, self.due_times);
        }
    }

    /// A request failed at `now`. Returns how many have failed so far, over all threads.
    pub(super) fn failed(&mut self, request: &Request, kind: ErrorKind, detail: &str) -> u64 {
        if self.stage == Stage::Measuring {
            self.second_errors += 1;
        }
        let mut book = self.ledger.book();
        *book.errors.entry(kind).or_default() += 1;
        book.operation_errors[request.operation.index()] += 1;
        if book.error_samples.len() < ERROR_SAMPLES_MAX {
            let Request { operation, offset, length, .. } = request;
            book.error_samples.push(format!("{} of {length} B at offset {offset}: {detail}", operation.name()));
        }
        book.errors.values().sum()
    }

    /// The thread leaves a request behind that was not answered.
    pub(super) fn timed_out(&mut self, request: &Request, span: Duration) {
        if self.stage == Stage::Measuring {
            self.second_errors += 1;
        }
        self.ledger.book().timed_out(Some(request.operation), unanswered(request, span));
    }

    /// The thread ends early.
    pub(super) fn gave_up(&self, why: GaveUp) {
        self.ledger.book().gave_up.push(why);
    }

    /// The thread ends: enters the rest.
    pub(super) fn finish(mut self, now: Instant) {
        if self.stage == Stage::WarmUp && now >= self.times.from() {
            self.roll(now);
        }
        if self.stage == Stage::Measuring {
            self.flush_second();
            self.end_of_measurement(now);
        }
        let mut book = self.ledger.book();
        if let Some(late) = &self.late {
            for (total, tally) in book.totals.iter_mut().zip(late.iter()) {
                total.merge(tally);
            }
        }
        for operation in Operation::ALL {
            let (count, bytes) = self.asked[operation.index()];
            if count > 0 {
                let asked = book.asked.entry(operation).or_default();
                asked.0 += count;
                asked.1 += bytes;
            }
        }
        book.offered += self.offered;
        book.missed += self.missed;
        book.awake = book.awake + self.awake;
        book.finished_at = book.finished_at.max(Some(now));
    }

    /// The current second, or a stage, is over.
    #[cold]
    #[inline(never)]
    fn roll(&mut self, now: Instant) {
        match self.stage {
            Stage::WarmUp => {
                let from = self.times.from();
                self.flush_warm_up();
                if now < from {
                    self.second = now.since(self.started_at).as_ns() / NS_PER_S;
                    self.boundary = self.started_at + Duration::from_ns((self.second + 1) * NS_PER_S);
                    return;
                }
                self.stage = Stage::Measuring;
                self.measured_from = from;
                self.outstanding_ns = 0;
                self.ready_at_begin = clock::thread_time_total();
                self.queued_at_begin = clock::thread_time().map(|time| time.queued);
                self.usage_at_begin = clock::thread_cpu_time();
            }
            Stage::Measuring => self.flush_second(),
            Stage::After => {
                self.boundary = Instant::MAX;
                return;
            }
        }
        let to = self.times.to();
        if now >= to {
            self.end_of_measurement(to);
            return;
        }
        self.second = now.since(self.measured_from).as_ns() / NS_PER_S;
        self.boundary = (self.measured_from + Duration::from_ns((self.second + 1) * NS_PER_S)).min(to);
    }

    fn flush_second(&mut self) {
        let mut book = self.ledger.book();
        let open = book.open.entry(self.second).or_default();
        for (mine, tally) in open.tallies.iter_mut().zip(self.tallies.iter()) {
            mine.merge(tally);
        }
        open.outstanding_ns += self.outstanding_ns;
        open.errors += self.second_errors;
        for (total, tally) in book.totals.iter_mut().zip(self.tallies.iter()) {
            total.merge(tally);
        }
        drop(book);
        self.completed_before += self.completed_here();
        self.tallies.iter_mut().for_each(Tally::clear);
        (self.outstanding_ns, self.second_errors) = (0, 0);
    }

    fn flush_warm_up(&mut self) {
        let mut book = self.ledger.book();
        let second = self.second as usize;
        if book.warm_up_counts.len() <= second {
            book.warm_up_counts.resize(second + 1, 0);
        }
        book.warm_up_counts[second] += self.tallies[..3].iter().map(|t| t.count).sum::<u64>();
        let open = book.warm_up_open.entry(self.second).or_default();
        for (mine, tally) in open.iter_mut().zip(self.tallies.iter()) {
            mine.merge(tally);
        }
        // Seconds before the last are complete enough for the live view.
        while book.warm_up_open.len() > 1 {
            if let Some((_, tallies)) = book.warm_up_open.pop_first() {
                let mut merged = Histogram::new();
                for tally in &tallies[..3] {
                    merged.merge(&tally.latency);
                }
                book.last = Some(last_second(&tallies, &merged));
            }
        }
        drop(book);
        self.tallies.iter_mut().for_each(Tally::clear);
    }

    fn end_of_measurement(&mut self, at: Instant) {
        self.stage = Stage::After;
        self.boundary = Instant::MAX;
        let elapsed = at.since(self.measured_from).as_s_f64().max(1e-9);
        let ready = clock::thread_time_total().saturating_sub(self.ready_at_begin);
        let usage = clock::thread_cpu_time().since(self.usage_at_begin);
        let spun = self.spun.as_s_f64() / elapsed;
        let busy = (ready.as_s_f64() / elapsed - spun).clamp(0.0, 1.0);
        let queued = self.queued_at_begin.zip(clock::thread_time());
        let queued = queued.map(|(before, now)| now.queued.saturating_sub(before).as_s_f64() / elapsed);
        let turns = self.turns.record(self.completed_before);
        let mut book = self.ledger.book();
        book.threads.push(ThreadBusy { busy, spun: spun.min(1.0), queued });
        book.turns.extend(turns);
        book.load_user = book.load_user + usage.user;
        book.load_system = book.load_system + usage.system;
    }
}

#[inline]
fn keep(tally: &mut Tally, request: &Request, submitted_at: Instant, now: Instant, due_times: bool) {
    tally.latency.record(now.since(request.due_at));
    if due_times {
        tally.waiting.record(submitted_at.since(request.due_at));
        tally.service.record(now.since(submitted_at));
    }
}
