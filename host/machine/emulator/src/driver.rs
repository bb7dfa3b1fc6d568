//! The driver: the disk model under the real clock, and the requests that are in flight in it.

use crate::answer::{Answer, AnswerPart, ModelRequest};
use crate::clock::{Clock, Waiter};
use crate::early_send::EarlySend;
use crate::trace_file::TraceWriter;
use loadline_block::{ErrorKind, Request};
use loadline_emulation::{
    Change, ChangeError, EndedRequest, FaultyMachine, History, LateExport, RecordedChange, RequestEnd, SeriesBuilder,
    SlicePart, TimeAccount, TraceRecord,
};
use loadline_record::Series;
use loadline_units::{Duration, Instant};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration as Span;

/// The most parts of requests in flight, over all connections. A request has one part for each piece of its layout on each disk. A
/// client that would exceed the bound waits.
pub(crate) const PARTS_MAX: u64 = 1 << 22;
/// The most parts submitted under one hold of the lock, about a millisecond's work. Then waiting threads come first: otherwise one
/// client with a huge request on an unlimited disk would keep the lock until its last slice (lock fairness).
const HOLD_PARTS_MAX: u64 = 1 << 15;
/// The most slices under one hold.
const SLICES_MAX: u32 = 64;
/// How long a thread gives way to waiting ones at most, and the interval of its looks.
const GIVE_WAY_MAX: Span = Span::from_millis(10);
const GIVE_WAY_LOOK: Span = Span::from_micros(20);

/// Events due within this time are waited for by polling: sleeping and waking take about as long.
const LINGER: Duration = Duration::from_us(5);
/// The longest polling at a time.
const LINGER_MAX: Duration = Duration::from_us(20);

/// With many requests in flight, an answer waits this long for others that follow, so that one wake-up delivers a batch. The delay is
/// little beside its latency.
const HOLD: Duration = Duration::from_us(20);
/// How many requests are many.
const HOLD_MIN: usize = 16;

/// The interval of looks at whether a waiting client is still there.
pub(crate) const ROOM_LOOK: Span = Span::from_millis(100);

/// How a client that waits for room ends its waiting.
pub(crate) struct RoomWaiter<G, L> {
    /// Whether it gave up; [`Driver::give_up`] makes it look.
    pub(crate) given_up: G,
    /// Whether it is gone. Nothing signals that, so it is looked at every [`ROOM_LOOK`].
    pub(crate) is_gone: L,
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    ask: ModelRequest,
    /// Where its current slice ends, from the request's beginning.
    until: u64,
    parts: u64,
    /// The number of its current slice among all slices.
    sequence: u64,
    /// Its current slice.
    request: Request,
    /// Its early part was sent.
    ahead: bool,
}

#[derive(Debug)]
struct DriverState {
    model: FaultyMachine,
    /// By the model's own numbers.
    under_way: Vec<Option<UnderWay>>,
    requests: usize,
    /// How many of them are reads with early send.
    long: usize,
    early_send: Arc<EarlySend>,
    parts: u64,
    /// Threads that wait for room.
    waiting: usize,
    alarm_at: Instant,
    sequence: u64,
    recorder: Option<TraceWriter>,
    /// What was done so far.
    history: History,
    /// Of each export that was asked for anything.
    courses: Vec<SeriesBuilder>,
}

/// The model, its clock, and the requests in flight.
#[derive(Debug)]
pub(crate) struct Driver {
    state: Mutex<DriverState>,
    /// Threads that wait for the lock of the state.
    wanting: AtomicU32,
    room: Condvar,
    pub(crate) early_send: Arc<EarlySend>,
    pub(crate) clock: Clock,
    pub(crate) waiter: Waiter,
}

impl Driver {
    /// Starts the clock.
    pub(crate) fn start(model: FaultyMachine, recorder: Option<TraceWriter>, spins: bool) -> rustix::io::Result<Self> {
        let clock = Clock::start();
        let state = DriverState::new(model, recorder);
        let (early_send, waiter) = (Arc::clone(&state.early_send), Waiter::new(clock, spins)?);
        let (state, wanting) = (Mutex::new(state), AtomicU32::new(0));
        Ok(Self { state, wanting, room: Condvar::new(), early_send, clock, waiter })
    }

    fn state(&self) -> MutexGuard<'_, DriverState> {
        self.state.try_lock().unwrap_or_else(|| {
            self.wanting.fetch_add(1, Ordering::Relaxed);
            let state = self.state.lock();
            self.wanting.fetch_sub(1, Ordering::Relaxed);
            state
        })
    }

    /// Gives way to threads that wait for the lock. A thread that held it long and takes it again would get it before they wake.
    fn give_way(&self) {
        let begun = std::time::Instant::now();
        // Sleeping, as they may need this processor.
        while self.wanting.load(Ordering::Relaxed) > 0 && begun.elapsed() < GIVE_WAY_MAX {
            std::thread::sleep(GIVE_WAY_LOOK);
        }
    }

    /// Submits requests to the model, and takes every answer that is due by now, of any client. Without room for a request it waits,
    /// unless the client gives up ([`Driver::give_up`]); then the remaining requests fail. `false`: the client was found gone.
    pub(crate) fn submit(
        &self,
        asks: &mut Vec<ModelRequest>,
        answers: &mut Vec<Answer>,
        asker: &RoomWaiter<impl Fn() -> bool, impl Fn() -> bool>,
    ) -> bool {
        let mut state = self.state();
        let mut now = self.clock.now();
        let (mut gone, mut begun) = (false, 0);
        for ask in asks.drain(..) {
            let parts = ask.parts_max();
            begun += parts;
            if begun > HOLD_PARTS_MAX && begun > parts {
                self.leave(state);
                self.give_way();
                state = self.state();
                (now, begun) = (self.clock.now(), parts);
            }
            if state.parts + parts > PARTS_MAX && state.parts > 0 {
                state.set_alarm(&self.waiter);
                state.waiting += 1;
                let full = |state: &DriverState| state.parts + parts > PARTS_MAX && state.parts > 0;
                let waits = |state: &mut DriverState| full(state) && !(asker.given_up)();
                while !gone {
                    if !self.room.wait_while_for(&mut state, waits, ROOM_LOOK).timed_out() {
                        break;
                    }
                    // Not under the lock.
                    drop(state);
                    gone = (asker.is_gone)();
                    state = self.state();
                }
                state.waiting -= 1;
                now = self.clock.now();
                if full(&state) {
                    answers.push(Answer { timed: None, ..ask.answer(now, Some(ErrorKind::Gone)) });
                    continue;
                }
            }
            state.begin(now, ask);
        }
        let all = self.collect_soon(&mut state, answers);
        self.leave(state);
        if !all {
            self.give_way();
        }
        !gone
    }

    /// Makes threads that wait for room look whether they are to give up: faults may hold the room forever.
    pub(crate) fn give_up(&self) {
        // A thread that looked before this call is waiting once the lock is free.
        drop(self.state());
        self.room.notify_all();
    }

    /// Takes the answers that are due, and those that follow so soon that polling is cheaper than waking; and the early part of the next
    /// long read, if it is time. `false`: more is due already.
    fn collect_soon(&self, state: &mut DriverState, answers: &mut Vec<Answer>) -> bool {
        let mut now = self.clock.now();
        let last = now + LINGER_MAX;
        let mut all = state.collect(now, answers);
        while all
            && let Some(next) = state.model.next_event_at()
            && next <= last.min(now + LINGER)
        {
            while now < next {
                std::hint::spin_loop();
                now = self.clock.now();
            }
            all = state.collect(now, answers);
        }
        answers.extend(state.take_ahead(now));
        all
    }

    /// Makes a change to the model now, and records it. Returns the number of a fault that began.
    pub(crate) fn change(&self, change: &Change) -> Result<Option<u32>, ChangeError> {
        let mut state = self.state();
        let now = self.clock.now();
        let ended = if let Change::Clear(which) = change { state.model.selected(which) } else { Vec::new() };
        let number = state.model.change(now, change)?;
        state.history.add(now, change, number, &ended);
        let sequence = state.sequence;
        state.sequence += 1;
        if let Some(recorder) = &mut state.recorder {
            recorder.record_change(&RecordedChange { sequence, at: now, change: change.clone() });
        }
        // Delayed answers may be due.
        state.alarm_at = now;
        self.waiter.set(now);
        self.leave(state);
        Ok(number)
    }

    /// The changes so far.
    pub(crate) fn history(&self) -> History {
        self.state().history.clone()
    }

    /// The time account of an export so far, and its series from the first request until the last answer.
    pub(crate) fn account_and_series(&self, export: usize) -> (TimeAccount, Series) {
        let state = self.state();
        let account = state.model.account(self.clock.now(), export);
        let of_export = |under_way: &&UnderWay| usize::from(under_way.ask.export) == export;
        let under_way = state.under_way.iter().flatten().filter(of_export).map(|under_way| under_way.ask.due_at);
        let series = state.courses.get(export).map(|course| course.series(account.last, under_way));
        (account, series.unwrap_or_default())
    }

    /// Reads from the model as it is now.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&FaultyMachine, Instant) -> T) -> T {
        let state = self.state();
        at(&state.model, self.clock.now())
    }

    /// Ends the trace, with the requests in flight and the exports whose answers were late.
    pub(crate) fn end_recording(&self, late: Vec<LateExport>) -> std::io::Result<()> {
        let mut state = self.state();
        let Some(mut recorder) = state.recorder.take() else { return Ok(()) };
        for under_way in state.under_way.iter().flatten() {
            recorder.record(under_way.record(None, None, false));
        }
        drop(state);
        recorder.end(late)
    }

    /// Writes the trace as far as it was recorded. Returns why it is no longer written; `None`: it is, or nobody wants it.
    pub(crate) fn flush_trace(&self) -> Option<String> {
        let mut state = self.state();
        let recorder = state.recorder.as_mut()?;
        recorder.flush();
        recorder.error().map(ToString::to_string)
    }

    /// Takes every answer that is due by now.
    pub(crate) fn collect(&self, answers: &mut Vec<Answer>) {
        let mut state = self.state();
        let now = self.clock.now();
        if state.alarm_at <= now {
            state.alarm_at = Instant::MAX;
        }
        let all = self.collect_soon(&mut state, answers);
        self.leave(state);
        if !all {
            self.give_way();
        }
    }

    fn leave(&self, mut state: MutexGuard<'_, DriverState>) {
        state.set_alarm(&self.waiter);
        let wake = state.waiting > 0;
        drop(state);
        if wake {
            self.room.notify_all();
        }
    }
}

impl DriverState {
    fn new(model: FaultyMachine, recorder: Option<TraceWriter>) -> Self {
        Self {
            model,
            under_way: Vec::new(),
            requests: 0,
            long: 0,
            early_send: Arc::default(),
            parts: 0,
            waiting: 0,
            alarm_at: Instant::MAX,
            sequence: 0,
            recorder,
            history: History::default(),
            courses: Vec::new(),
        }
    }

    /// Of an export.
    fn course(&mut self, export: u16) -> &mut SeriesBuilder {
        let export = usize::from(export);
        if self.courses.len() <= export {
            self.courses.resize_with(export + 1, SeriesBuilder::default);
        }
        &mut self.courses[export]
    }

    fn begin(&mut self, now: Instant, mut ask: ModelRequest) {
        ask.due_at = now;
        self.course(ask.export).begin(now);
        let parts = ask.parts_max();
        self.requests += 1;
        self.long += usize::from(ask.goes_ahead());
        self.parts += parts;
        let request = ask.part(now, 0);
        let until = u64::from(request.length);
        self.submit(UnderWay { ask, until, parts, sequence: self.sequence, request, ahead: false });
    }

    fn submit(&mut self, under_way: UnderWay) {
        self.sequence += 1;
        let UnderWay { ask, request, .. } = under_way;
        let id = self.model.submit(request.due_at, usize::from(ask.export), request);
        if self.under_way.len() <= id {
            self.under_way.resize(id + 1, None);
        }
        self.under_way[id] = Some(under_way);
    }

    /// Takes the answers due by `now`; `false`: more are left for the next time.
    fn collect(&mut self, now: Instant, answers: &mut Vec<Answer>) -> bool {
        let (mut slices, mut begun) = (0, 0);
        while let Some((id, RequestEnd { at, error })) = self.model.pop_ended(now) {
            let under_way = self.under_way[id].take().expect("every request of the model is owed to someone");
            let ask = under_way.ask;
            if let Some(recorder) = &mut self.recorder {
                recorder.record(under_way.record(Some(at), error, under_way.is_followed(error)));
            }
            if under_way.is_followed(error) {
                let request = ask.part(now, under_way.until);
                let until = under_way.until + u64::from(request.length);
                self.submit(UnderWay { until, sequence: self.sequence, request, ..under_way });
                (slices, begun) = (slices + 1, begun + under_way.parts);
                if slices == SLICES_MAX || begun >= HOLD_PARTS_MAX {
                    return false;
                }
                continue;
            }
            self.requests -= 1;
            self.long -= usize::from(ask.goes_ahead());
            self.parts -= under_way.parts;
            let answer = ask.answer(at, error);
            self.course(ask.export).end(EndedRequest {
                operation: ask.operation,
                due_at: ask.due_at,
                completed_at: at,
                length: ask.length,
                failed: answer.error().is_some(),
            });
            answers.push(if under_way.ahead { Answer { part: AnswerPart::Rest, ..answer } } else { answer });
        }
        true
    }

    /// The next long read: its number, when it completes, and when its early part is to leave.
    fn next_ahead(&mut self) -> Option<(usize, Instant, Instant)> {
        if self.long == 0 {
            return None;
        }
        let (id, at) = self.model.next_certain()?;
        let UnderWay { ask, until, ahead, .. } = self.under_way[id].as_ref()?;
        let begins = at.as_ns().saturating_sub(self.early_send.of(ask.length).as_ns());
        (ask.goes_ahead() && !ahead && *until == ask.length).then(|| (id, at, Instant::from_ns(begins)))
    }

    /// The early part of its answer, once, if it is time.
    fn take_ahead(&mut self, now: Instant) -> Option<Answer> {
        let (id, at, _) = self.next_ahead().filter(|(.., begins)| *begins <= now)?;
        let under_way = self.under_way[id].as_mut()?;
        under_way.ahead = true;
        self.early_send.begin();
        Some(Answer { part: AnswerPart::Early, ..under_way.ask.answer(at, None) })
    }

    /// Sets the alarm earlier if an event comes before it.
    fn set_alarm(&mut self, waiter: &Waiter) {
        let Some(next) = self.model.next_event_at() else { return };
        let held = if self.requests < HOLD_MIN { None } else { self.model.last_planned_until(next + HOLD) };
        let last = held.map_or(next, |last| last.max(next));
        let at = self.next_ahead().map_or(last, |(.., begins)| begins.min(last));
        if at < self.alarm_at {
            waiter.set(at);
            self.alarm_at = at;
        }
    }
}

impl UnderWay {
    /// Whether another slice follows; after an error none does.
    fn is_followed(&self, error: Option<ErrorKind>) -> bool {
        error.is_none() && self.until < self.ask.length
    }

    fn record(&self, completed_at: Option<Instant>, error: Option<ErrorKind>, is_followed: bool) -> TraceRecord {
        let Request { operation, durable, offset, length, due_at } = self.request;
        TraceRecord {
            sequence: self.sequence,
            submitted_at: due_at,
            completed_at,
            error,
            export: self.ask.export,
            client: self.ask.connection,
            operation,
            durable,
            offset,
            length: length.into(),
            part: SlicePart::of(offset > self.ask.offset, is_followed),
        }
    }
}

impl ModelRequest {
    /// The slice that begins at `from`, submitted at `now`.
    fn part(&self, now: Instant, from: u64) -> Request {
        Request {
            operation: self.operation,
            durable: self.durable,
            length: (self.length - from).min(self.cut.slice_max(self.operation)) as u32,
            offset: self.offset + from,
            due_at: now,
        }
    }
    fn parts_max(&self) -> u64 {
        self.cut.parts_max(self.length.min(self.cut.slice_max(self.operation)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ReplyBody;
    use crate::contents::Settles;
    use loadline_block::Operation;
    use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, Latency, LatencySpec, Layout, VolumeSpec};
    use loadline_emulation::{Fault, FaultKind, Slicing};
    use loadline_nbd::ReplyForm;
    use loadline_nbd::reply::ReplyTo;
    use loadline_units::{Bytes, Ratio};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Every request takes so long.
    const LATENCY: Duration = Duration::from_ms(2);

    fn state() -> DriverState {
        let spec = LatencySpec { median: LATENCY, p99: LATENCY, ..LatencySpec::default() };
        let latency = Latency { read: spec, write: spec, flush: None };
        state_of(DiskSpec { size: Some(Bytes::gib(1)), latency, ..DiskSpec::default() })
    }

    fn state_of(disk: DiskSpec) -> DriverState {
        let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
        let environment = EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() };
        DriverState::new(FaultyMachine::new(&environment, 1, InitialState::default()).unwrap(), None)
    }

    fn ask(cookie: u64, operation: Operation, length: u64) -> ModelRequest {
        ModelRequest {
            connection: 1,
            export: 0,
            cut: Slicing::of(Layout::Single),
            operation,
            durable: false,
            offset: 0,
            length,
            to: ReplyTo { form: ReplyForm::Simple, cookie, offset: 0 },
            body: if operation == Operation::Read { ReplyBody::Data } else { ReplyBody::Done },
            settles: Settles::Nothing,
            ahead: true,
            due_at: Instant::ZERO,
        }
    }

    /// Who is answered by `now`, and how much of each answer leaves.
    fn until(state: &mut DriverState, now: Instant) -> Vec<(u64, AnswerPart)> {
        let mut answers = Vec::new();
        state.collect(now, &mut answers);
        answers.extend(state.take_ahead(now));
        answers.iter().map(|answer| (answer.to.cookie, answer.part)).collect()
    }

    #[test]
    fn of_a_long_read_bytes_leave_a_little_before_it_ends_and_the_last_ones_when_it_does() {
        let mut state = state();
        let long = ask(7, Operation::Read, 256 << 10);
        let (ahead, ends) = (state.early_send.of(long.length), Instant::ZERO + LATENCY);
        assert!(ahead > Duration::ZERO && ahead < LATENCY);
        state.begin(Instant::ZERO, long);
        // Neither what writes nor what is short.
        state.begin(Instant::ZERO, ask(8, Operation::Write, 256 << 10));
        state.begin(Instant::ZERO, ask(9, Operation::Read, 4_096));
        let begins = Instant::from_ns(ends.as_ns() - ahead.as_ns());
        assert_eq!(state.next_ahead().map(|(_, at, begins)| (at, begins)), Some((ends, begins)));
        assert_eq!(until(&mut state, Instant::from_ns(begins.as_ns() - 1)), []);
        assert_eq!(until(&mut state, begins), [(7, AnswerPart::Early)]);
        assert_eq!(until(&mut state, Instant::from_ns(ends.as_ns() - 1)), []);
        assert_eq!(until(&mut state, ends), [(7, AnswerPart::Rest), (8, AnswerPart::Whole), (9, AnswerPart::Whole)]);
        assert_eq!((state.requests, state.long, state.parts), (0, 0, 0));
        // A client that comes too late for it gets all at once.
        state.begin(ends, long);
        assert_eq!(until(&mut state, ends + LATENCY), [(7, AnswerPart::Whole)]);
    }

    #[test]
    fn of_a_request_for_all_of_a_huge_disk_that_answers_at_once_a_few_slices_are_done_in_one_go() {
        for operation in [Operation::Trim, Operation::Read] {
            let mut state = state_of(DiskSpec::default());
            // It is answered though it came before what ends with it, and the long one goes on where it was.
            state.begin(Instant::ZERO, ModelRequest { body: ReplyBody::Done, ..ask(7, operation, 1 << 50) });
            state.begin(Instant::ZERO, ask(8, Operation::Write, 4_096));
            let mut answered = Vec::new();
            for turn in 1..=20 {
                let before = state.sequence;
                answered.extend(until(&mut state, Instant::from_ns(turn)));
                let slices = state.sequence - before;
                assert!(slices > 0 && slices <= u64::from(SLICES_MAX), "{slices} slices in one go");
                assert!(state.model.next_event_at().is_some_and(|next| next <= Instant::from_ns(turn)));
            }
            assert_eq!(answered, [(8, AnswerPart::Whole)]);
        }
        let mut state = state_of(DiskSpec::default());
        state.begin(Instant::ZERO, ask(7, Operation::Trim, 1 << 40));
        let mut turns = 1;
        while until(&mut state, Instant::from_ns(turns)).is_empty() {
            turns += 1;
        }
        assert_eq!((turns, state.sequence, state.requests, state.parts), (16, 1_024, 0, 0));
    }

    #[test]
    fn of_many_requests_an_answer_waits_for_what_follows_closely_and_for_nothing_else() {
        let waiter = Waiter::new(Clock::start(), false).unwrap();
        let us = |us: u64| Instant::ZERO + Duration::from_us(us);
        let alarm = |begun: &[u64]| {
            let mut state = state();
            for (cookie, at) in (0..).zip(begun) {
                state.begin(us(*at), ask(cookie, Operation::Read, 4_096));
            }
            state.set_alarm(&waiter);
            state.alarm_at
        };
        let latency = LATENCY.as_ns() / 1_000;
        let close: Vec<u64> = (0..40).map(|number| number * 3).collect();
        assert_eq!(alarm(&close), us(latency + 18));
        let apart: Vec<u64> = (0..40).map(|number| number * 25).collect();
        assert_eq!(alarm(&apart), us(latency));
        assert_eq!(alarm(&close[..HOLD_MIN - 1]), us(latency));
    }

    #[test]
    fn whoever_waits_for_what_hangs_gives_up_when_told_to_and_others_go_on_meanwhile() {
        let driver = Driver::start(state().model, None, false).unwrap();
        let fault = Fault::of_all("data", FaultKind::Hang);
        driver.change(&Change::Begin(fault)).unwrap();
        // Their layout cuts them finely.
        let cut = Slicing::of(Layout::Stripe { columns: 2, interleave: Bytes::new(512) });
        let trim = |cookie| ModelRequest { cut, ..ask(cookie, Operation::Trim, 16 << 20) };
        let (count, room) = (200, PARTS_MAX / trim(0).parts_max());
        let (over, gone) = (AtomicBool::new(false), AtomicBool::new(false));
        let waits = || {
            while driver.state().waiting == 0 {
                std::thread::yield_now();
            }
        };
        let submit = || {
            let (mut asks, mut answers) = ((0..count).map(trim).collect(), Vec::new());
            let asker =
                RoomWaiter { given_up: || over.load(Ordering::SeqCst), is_gone: || gone.load(Ordering::SeqCst) };
            let stayed = driver.submit(&mut asks, &mut answers, &asker);
            assert_eq!(stayed, !gone.load(Ordering::SeqCst));
            answers
        };
        std::thread::scope(|scope| {
            let client = scope.spawn(submit);
            waits();
            over.store(true, Ordering::SeqCst);
            driver.give_up();
            let answers = client.join().unwrap();
            let failed = ReplyBody::Error { error: loadline_nbd::NbdError::Io, read: false };
            assert!(answers.iter().all(|answer| answer.body == failed && answer.timed.is_none()));
            assert!(answers.iter().map(|answer| answer.to.cookie).eq(room..count));
            // What it had handed over is under way still; cleared, it makes room for clients that still wait.
            over.store(false, Ordering::SeqCst);
            // One that is gone gives up too, and nobody says so.
            gone.store(true, Ordering::SeqCst);
            assert!(submit().iter().map(|answer| answer.to.cookie).eq(0..count));
            gone.store(false, Ordering::SeqCst);
            let client = scope.spawn(submit);
            waits();
            driver.change(&Change::Clear(loadline_emulation::FaultSelection::All)).unwrap();
            let mut answers = Vec::new();
            while !client.is_finished() || driver.state().requests > 0 {
                driver.collect(&mut answers);
            }
            answers.extend(client.join().unwrap());
            assert_eq!(answers.len() as u64, room + count);
            assert!(answers.iter().all(|answer| answer.body == ReplyBody::Done));
        });
    }

    #[test]
    fn nothing_leaves_ahead_of_an_answer_that_may_fail_or_come_later_or_that_is_not_wanted_so() {
        let mut state = state();
        let now = Instant::ZERO;
        let kind = FaultKind::Delay(Duration::from_ms(1));
        let fault = Fault {
            on: "data".into(),
            kind,
            operations: Vec::new(),
            from: Bytes::ZERO,
            until: Some(Bytes::mib(1)),
            share: Ratio::ONE,
        };
        state.model.change(now, &Change::Begin(fault)).unwrap();
        state.begin(now, ask(1, Operation::Read, 1 << 20));
        state.begin(now, ModelRequest { ahead: false, offset: 1 << 20, ..ask(2, Operation::Read, 1 << 20) });
        assert_eq!(until(&mut state, Instant::from_ns(LATENCY.as_ns() - 1)), []);
        assert_eq!(until(&mut state, now + LATENCY), [(2, AnswerPart::Whole)]);
        assert_eq!(until(&mut state, now + LATENCY + Duration::from_ms(1)), [(1, AnswerPart::Whole)]);
    }
}
