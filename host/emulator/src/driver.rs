//! The disk model under the real clock.

use crate::answer::{Answer, Ask, Leaves};
use crate::clock::{Clock, Waiter};
use crate::lead::Lead;
use crate::trace_file::TraceWriter;
use loadline_block::{ErrorKind, Request};
use loadline_emulation::{
    Change, ChangeError, EndedRequest, FaultyMachine, History, LateExport, RecordedChange, RequestEnd, SeriesBuilder,
    SlicePart, TimeAccount, TraceRecord,
};
use loadline_record::Series;
use loadline_units::{Duration, Instant};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration as Span;

/// Parts of requests under way at once, over all connections: a request has one for each piece of its layout that it touches
/// on each disk. Whoever would exceed it waits.
pub(crate) const PARTS_MAX: u64 = 1 << 22;
/// Parts begun in one go, about a millisecond's work: then whoever else wants something of the model comes first. Of a disk that
/// answers at once, a request for all of it would keep others waiting until the last of its slices.
const GO_PARTS_MAX: u64 = 1 << 15;
/// And slices.
const SLICES_MAX: u32 = 64;
/// For how long others are waited for at most, and between two looks at whether they are through.
const GIVE_WAY_MAX: Span = Span::from_millis(10);
const GIVE_WAY_LOOK: Span = Span::from_micros(20);

/// What is due within so much is waited for awake: about what a thread's sleep and wake-up take.
const LINGER: Duration = Duration::from_us(5);
/// No longer in one go.
const LINGER_MAX: Duration = Duration::from_us(20);

/// Of many requests under way the next answer waits for others that follow within so long: that is little beside what it waited
/// already, and spares whoever delivers a way back from sleep for each.
const HOLD: Duration = Duration::from_us(20);
/// How many are many.
const HOLD_MIN: usize = 16;

/// How often is looked whether an asker who waits is still there.
pub(crate) const ASKER_LOOK: Span = Span::from_millis(100);

/// How it is known that whoever asks waits for room no more.
pub(crate) struct Asker<G, L> {
    /// Whether it gave up: it is told apart by [`Driver::give_up`].
    pub(crate) given_up: G,
    /// Whether it is gone, of which nobody is told: looked at every [`ASKER_LOOK`].
    pub(crate) is_gone: L,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    ask: Ask,
    /// Where the slice under way ends, from the request's beginning.
    until: u64,
    parts: u64,
    /// Of the slice under way, in the order of all slices.
    sequence: u64,
    /// The slice under way.
    request: Request,
    /// Its bytes began to leave.
    ahead: bool,
}

#[derive(Debug)]
struct State {
    model: FaultyMachine,
    /// By the model's own numbers.
    under_way: Vec<Option<UnderWay>>,
    requests: usize,
    /// Of the requests, reads whose bytes leave before they end.
    long: usize,
    lead: Arc<Lead>,
    parts: u64,
    /// Those who wait for parts to end.
    waiting: usize,
    alarm_at: Instant,
    sequence: u64,
    recorder: Option<TraceWriter>,
    /// What was done so far.
    history: History,
    /// Of each export that was asked for anything.
    courses: Vec<SeriesBuilder>,
}

/// The model, its clock, and what it owes to whom.
#[derive(Debug)]
pub(crate) struct Driver {
    state: Mutex<State>,
    /// Those who wait for the state.
    wanting: AtomicU32,
    room: Condvar,
    pub(crate) lead: Arc<Lead>,
    pub(crate) clock: Clock,
    pub(crate) waiter: Waiter,
}

impl Driver {
    /// Begins now.
    pub(crate) fn start(model: FaultyMachine, recorder: Option<TraceWriter>, spins: bool) -> rustix::io::Result<Self> {
        let clock = Clock::start();
        let state = State::new(model, recorder);
        let (lead, waiter) = (Arc::clone(&state.lead), Waiter::new(clock, spins)?);
        let (state, wanting) = (Mutex::new(state), AtomicU32::new(0));
        Ok(Self { state, wanting, room: Condvar::new(), lead, clock, waiter })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.wanting.fetch_add(1, Ordering::Relaxed);
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                self.wanting.fetch_sub(1, Ordering::Relaxed);
                state
            }
        }
    }

    /// Lets those have the state who wait for it: whoever took it for long and takes it again at once is there before they wake.
    fn give_way(&self) {
        let begun = std::time::Instant::now();
        // Asleep, as they may need this processor.
        while self.wanting.load(Ordering::Relaxed) > 0 && begun.elapsed() < GIVE_WAY_MAX {
            std::thread::sleep(GIVE_WAY_LOOK);
        }
    }

    /// Hands requests to the model, now, and takes every answer that is due by now: theirs, and others'. Where parts must end first, it
    /// waits for them as long as nobody gives up, and what was not handed over by then fails: see [`Driver::give_up`]. `false`: whoever
    /// asks was found gone.
    pub(crate) fn submit(
        &self,
        asks: &mut Vec<Ask>,
        answers: &mut Vec<Answer>,
        asker: &Asker<impl Fn() -> bool, impl Fn() -> bool>,
    ) -> bool {
        let mut state = self.state();
        let mut now = self.clock.now();
        let (mut gone, mut begun) = (false, 0);
        for ask in asks.drain(..) {
            let parts = ask.parts_max();
            begun += parts;
            if begun > GO_PARTS_MAX && begun > parts {
                self.leave(state);
                self.give_way();
                state = self.state();
                (now, begun) = (self.clock.now(), parts);
            }
            if state.parts + parts > PARTS_MAX && state.parts > 0 {
                state.set_alarm(&self.waiter);
                state.waiting += 1;
                let full = |state: &State| state.parts + parts > PARTS_MAX && state.parts > 0;
                let waits = |state: &mut State| full(state) && !(asker.given_up)();
                while !gone {
                    let waited = self.room.wait_timeout_while(state, ASKER_LOOK, waits);
                    let (now, in_vain) = waited.unwrap_or_else(PoisonError::into_inner);
                    state = now;
                    if !in_vain.timed_out() {
                        break;
                    }
                    // Nobody else waits for that.
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

    /// Has those look who wait for parts to end, whether they are to give up: faults may hold these parts for good.
    pub(crate) fn give_up(&self) {
        // Who looked before that is made known waits by the time that the lock is free.
        drop(self.state());
        self.room.notify_all();
    }

    /// Takes what is due by now, and what follows so soon that waiting for it takes less than being woken for it; and the long read that
    /// ends next, if it is time for its bytes to leave. `false`: more is due already, for the next time.
    fn collect_soon(&self, state: &mut State, answers: &mut Vec<Answer>) -> bool {
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

    /// Does something to the model, now, and records it. Gives the number of a fault that began.
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
        // What was held may be due.
        state.alarm_at = now;
        self.waiter.set(now);
        self.leave(state);
        Ok(number)
    }

    /// What was done so far.
    pub(crate) fn history(&self) -> History {
        self.state().history.clone()
    }

    /// What became of the time of an export so far, and how that went from its first request until the last answer.
    pub(crate) fn account_and_series(&self, export: usize) -> (TimeAccount, Series) {
        let state = self.state();
        let account = state.model.account(self.clock.now(), export);
        let of_export = |under_way: &&UnderWay| usize::from(under_way.ask.export) == export;
        let under_way = state.under_way.iter().flatten().filter(of_export).map(|under_way| under_way.ask.due_at);
        let series = state.courses.get(export).map(|course| course.series(account.last, under_way));
        (account, series.unwrap_or_default())
    }

    /// Looks at the model as it is now.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&FaultyMachine, Instant) -> T) -> T {
        let state = self.state();
        at(&state.model, self.clock.now())
    }

    /// Ends the recording, with what is still under way, and how late answers were.
    pub(crate) fn end_recording(&self, late: Vec<LateExport>) -> std::io::Result<()> {
        let mut state = self.state();
        let Some(mut recorder) = state.recorder.take() else { return Ok(()) };
        for under_way in state.under_way.iter().flatten() {
            recorder.record(under_way.record(None, None, false));
        }
        drop(state);
        recorder.end(late)
    }

    /// Has what was recorded so far written, and tells why it is not any more.
    pub(crate) fn hurry_recording(&self) -> Option<String> {
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

    fn leave(&self, mut state: MutexGuard<'_, State>) {
        state.set_alarm(&self.waiter);
        let wake = state.waiting > 0;
        drop(state);
        if wake {
            self.room.notify_all();
        }
    }
}

impl State {
    fn new(model: FaultyMachine, recorder: Option<TraceWriter>) -> Self {
        Self {
            model,
            under_way: Vec::new(),
            requests: 0,
            long: 0,
            lead: Arc::default(),
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

    fn begin(&mut self, now: Instant, mut ask: Ask) {
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

    /// Takes what is due by `now`; `false`: more of it is left for the next time.
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
                if slices == SLICES_MAX || begun >= GO_PARTS_MAX {
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
            answers.push(if under_way.ahead { Answer { leaves: Leaves::Rest, ..answer } } else { answer });
        }
        true
    }

    /// The long read that is answered next, when, and when its bytes are to begin to leave.
    fn next_ahead(&mut self) -> Option<(usize, Instant, Instant)> {
        if self.long == 0 {
            return None;
        }
        let (id, at) = self.model.next_certain()?;
        let UnderWay { ask, until, ahead, .. } = self.under_way[id].as_ref()?;
        let begins = at.as_ns().saturating_sub(self.lead.of(ask.length).as_ns());
        (ask.goes_ahead() && !ahead && *until == ask.length).then(|| (id, at, Instant::from_ns(begins)))
    }

    /// Its answer as far as it may leave now, once.
    fn take_ahead(&mut self, now: Instant) -> Option<Answer> {
        let (id, at, _) = self.next_ahead().filter(|(.., begins)| *begins <= now)?;
        let under_way = self.under_way[id].as_mut()?;
        under_way.ahead = true;
        self.lead.begin();
        Some(Answer { leaves: Leaves::Ahead, ..under_way.ask.answer(at, None) })
    }

    /// Sets the alarm where something happens before it goes off.
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
    /// Whether another slice follows one that ended like that: what failed once is not gone on with.
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

impl Ask {
    /// The slice that begins at `from`, handed over at `now`.
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
    use crate::answer::Body;
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

    fn state() -> State {
        let spec = LatencySpec { median: LATENCY, p99: LATENCY, ..LatencySpec::default() };
        let latency = Latency { read: spec, write: spec, flush: None };
        state_of(DiskSpec { size: Some(Bytes::gib(1)), latency, ..DiskSpec::default() })
    }

    fn state_of(disk: DiskSpec) -> State {
        let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
        let environment = EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() };
        State::new(FaultyMachine::new(&environment, 1, InitialState::default()).unwrap(), None)
    }

    fn ask(cookie: u64, operation: Operation, length: u64) -> Ask {
        Ask {
            connection: 1,
            export: 0,
            cut: Slicing::of(Layout::Single),
            operation,
            durable: false,
            offset: 0,
            length,
            to: ReplyTo { form: ReplyForm::Simple, cookie, offset: 0 },
            body: if operation == Operation::Read { Body::Data } else { Body::Done },
            settles: Settles::Nothing,
            ahead: true,
            due_at: Instant::ZERO,
        }
    }

    /// Who is answered by `now`, and how much of each answer leaves.
    fn until(state: &mut State, now: Instant) -> Vec<(u64, Leaves)> {
        let mut answers = Vec::new();
        state.collect(now, &mut answers);
        answers.extend(state.take_ahead(now));
        answers.iter().map(|answer| (answer.to.cookie, answer.leaves)).collect()
    }

    #[test]
    fn of_a_long_read_bytes_leave_a_little_before_it_ends_and_the_last_ones_when_it_does() {
        let mut state = state();
        let long = ask(7, Operation::Read, 256 << 10);
        let (lead, ends) = (state.lead.of(long.length), Instant::ZERO + LATENCY);
        assert!(lead > Duration::ZERO && lead < LATENCY);
        state.begin(Instant::ZERO, long);
        // Neither what writes nor what is short.
        state.begin(Instant::ZERO, ask(8, Operation::Write, 256 << 10));
        state.begin(Instant::ZERO, ask(9, Operation::Read, 4_096));
        let begins = Instant::from_ns(ends.as_ns() - lead.as_ns());
        assert_eq!(state.next_ahead().map(|(_, at, begins)| (at, begins)), Some((ends, begins)));
        assert_eq!(until(&mut state, Instant::from_ns(begins.as_ns() - 1)), []);
        assert_eq!(until(&mut state, begins), [(7, Leaves::Ahead)]);
        assert_eq!(until(&mut state, Instant::from_ns(ends.as_ns() - 1)), []);
        assert_eq!(until(&mut state, ends), [(7, Leaves::Rest), (8, Leaves::Whole), (9, Leaves::Whole)]);
        assert_eq!((state.requests, state.long, state.parts), (0, 0, 0));
        // Whoever comes too late for it gets all at once.
        state.begin(ends, long);
        assert_eq!(until(&mut state, ends + LATENCY), [(7, Leaves::Whole)]);
    }

    #[test]
    fn of_a_request_for_all_of_a_huge_disk_that_answers_at_once_a_few_slices_are_done_in_one_go() {
        for operation in [Operation::Trim, Operation::Read] {
            let mut state = state_of(DiskSpec::default());
            // It is answered though it came before what ends with it, and the long one goes on where it was.
            state.begin(Instant::ZERO, Ask { body: Body::Done, ..ask(7, operation, 1 << 50) });
            state.begin(Instant::ZERO, ask(8, Operation::Write, 4_096));
            let mut answered = Vec::new();
            for turn in 1..=20 {
                let before = state.sequence;
                answered.extend(until(&mut state, Instant::from_ns(turn)));
                let slices = state.sequence - before;
                assert!(slices > 0 && slices <= u64::from(SLICES_MAX), "{slices} slices in one go");
                assert!(state.model.next_event_at().is_some_and(|next| next <= Instant::from_ns(turn)));
            }
            assert_eq!(answered, [(8, Leaves::Whole)]);
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
        let fault = Fault {
            on: "data".into(),
            kind: FaultKind::Hang,
            operations: Vec::new(),
            from: Bytes::ZERO,
            until: None,
            share: Ratio::ONE,
        };
        driver.change(&Change::Begin(fault)).unwrap();
        // Their layout cuts them finely.
        let cut = Slicing::of(Layout::Stripe { columns: 2, interleave: Bytes::new(512) });
        let trim = |cookie| Ask { cut, ..ask(cookie, Operation::Trim, 16 << 20) };
        let (count, room) = (200, PARTS_MAX / trim(0).parts_max());
        let (over, gone) = (AtomicBool::new(false), AtomicBool::new(false));
        let waits = || {
            while driver.state().waiting == 0 {
                std::thread::yield_now();
            }
        };
        let submit = || {
            let (mut asks, mut answers) = ((0..count).map(trim).collect(), Vec::new());
            let asker = Asker { given_up: || over.load(Ordering::SeqCst), is_gone: || gone.load(Ordering::SeqCst) };
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
            let failed = Body::Error { error: loadline_nbd::NbdError::Io, read: false };
            assert!(answers.iter().all(|answer| answer.body == failed && answer.timed.is_none()));
            assert!(answers.iter().map(|answer| answer.to.cookie).eq(room..count));
            // What it had handed over is under way still; cleared, it makes room for whoever waits and did not give up.
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
            assert!(answers.iter().all(|answer| answer.body == Body::Done));
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
        state.begin(now, Ask { ahead: false, offset: 1 << 20, ..ask(2, Operation::Read, 1 << 20) });
        assert_eq!(until(&mut state, Instant::from_ns(LATENCY.as_ns() - 1)), []);
        assert_eq!(until(&mut state, now + LATENCY), [(2, Leaves::Whole)]);
        assert_eq!(until(&mut state, now + LATENCY + Duration::from_ms(1)), [(1, Leaves::Whole)]);
    }
}
