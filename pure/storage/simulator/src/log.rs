//! The results of a simulated trial: histograms by operation and a series of seconds, in memory that does not grow with
//! the number of requests.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use loadline_block::{Completion, Operation, Request};
use loadline_record::{OperationRecord, Second, Series, SteadyState, Tally};
use loadline_units::{Duration, Instant, NS_PER_S};
use loadline_workload::{LoadSpec, SteadyStateRule};
use std::collections::BTreeMap;

const SECOND: Duration = Duration::from_ns(NS_PER_S);

#[inline(always)]
fn keep(tally: &mut Tally, completion: &Completion, due_times: bool) {
    tally.latency.record(completion.latency());
    if due_times {
        tally.waiting.record(completion.waiting());
        tally.service.record(completion.completed_at.since(completion.submitted_at));
    }
}

/// The phase of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    WarmUp,
    /// Rounds of the steady-state rule.
    Settling,
    Measuring,
    After,
}

/// The results of a log besides the record's operations and series.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) operations: BTreeMap<Operation, OperationRecord>,
    pub(crate) series: Series,
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
    pub(crate) offered: u64,
    pub(crate) missed: u64,
    pub(crate) asked: BTreeMap<Operation, (u64, u64)>,
    pub(crate) steady_state: Option<SteadyState>,
}

/// The log of one trial. The caller gives the time before each event, and then the event.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    /// Requests count by their due time, so that none is missed at the end of the measurement.
    open_loop: bool,
    due_times: bool,
    duration: Duration,
    rule: Option<SteadyStateRule>,
    stage: Stage,
    started_at: Instant,
    from: Instant,
    to: Instant,
    /// When the current second, round or stage ends.
    boundary: Instant,
    previous: Instant,
    /// The current second; the whole measurement; answers after it to requests due within it.
    second: Box<[Tally; 4]>,
    totals: Box<[Tally; 4]>,
    late: Box<[Tally; 4]>,
    series: Series,
    seconds: u64,
    /// Requests outstanding, integrated over the current second; a sum that wraps before the measurement is thrown away.
    outstanding_ns: u64,
    round_count: u64,
    rounds: Vec<f64>,
    reached: bool,
    /// Requests that were handed over, and their bytes.
    asked: [[u64; 4]; 2],
    offered: u64,
    missed: u64,
}

impl Log {
    pub(crate) fn new(spec: &LoadSpec, now: Instant) -> Self {
        let mut log = Self {
            open_loop: spec.offered().is_some(),
            due_times: spec.has_due_times(),
            duration: spec.duration,
            rule: spec.steady_state,
            stage: Stage::WarmUp,
            started_at: now,
            from: Instant::MAX,
            to: Instant::MAX,
            boundary: now + spec.warm_up,
            previous: now,
            second: Box::default(),
            totals: Box::default(),
            late: Box::default(),
            series: Series::default(),
            seconds: 0,
            outstanding_ns: 0,
            round_count: 0,
            rounds: Vec::new(),
            reached: false,
            asked: [[0; 4]; 2],
            offered: 0,
            missed: 0,
        };
        if spec.warm_up == Duration::ZERO {
            log.end_of_stretch(0);
        }
        log
    }

    /// When the current second, round or stage ends.
    pub(crate) const fn boundary(&self) -> Instant {
        self.boundary
    }

    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether the measurement has begun.
    pub(crate) const fn has_begun(&self) -> bool {
        matches!(self.stage, Stage::Measuring | Stage::After)
    }

    /// When the measurement ends, as far as that is known.
    pub(crate) const fn to(&self) -> Instant {
        self.to
    }

    /// Sets the time; `outstanding` requests were in flight since the last call.
    pub(crate) fn tell(&mut self, now: Instant, outstanding: u64) {
        while now >= self.boundary {
            self.end_of_stretch(outstanding);
        }
        self.integrate(now, outstanding);
    }

    /// As [`Log::tell`], for a time before the boundary.
    #[inline(always)]
    pub(crate) fn integrate(&mut self, now: Instant, outstanding: u64) {
        let area = now.since(self.previous).as_ns().wrapping_mul(outstanding);
        self.outstanding_ns = self.outstanding_ns.wrapping_add(area);
        self.previous = now;
    }

    #[cold]
    #[inline(never)]
    fn end_of_stretch(&mut self, outstanding: u64) {
        let at = self.boundary;
        self.integrate(at, outstanding);
        match (self.stage, self.rule) {
            (Stage::WarmUp, Some(rule)) => {
                self.stage = Stage::Settling;
                self.boundary = at + rule.round;
            }
            (Stage::WarmUp, None) => self.begin(at),
            (Stage::Settling, rule) => {
                let rule = rule.expect("only a rule has rounds");
                self.rounds.push(self.round_count as f64 / rule.round.as_s_f64());
                self.round_count = 0;
                self.reached = rule.met(&self.rounds);
                if self.reached || self.rounds.len() >= rule.rounds_max as usize {
                    self.begin(at);
                } else {
                    self.boundary = at + rule.round;
                }
            }
            (Stage::Measuring, _) => {
                self.end_of_second(SECOND);
                if at >= self.to {
                    self.stage = Stage::After;
                    self.boundary = Instant::MAX;
                } else {
                    self.boundary = (at + SECOND).min(self.to);
                }
            }
            (Stage::After, _) => self.boundary = Instant::MAX,
        }
    }

    fn begin(&mut self, at: Instant) {
        self.stage = Stage::Measuring;
        (self.from, self.to) = (at, at + self.duration);
        self.boundary = (at + SECOND).min(self.to);
        self.outstanding_ns = 0;
    }

    /// Closes the current second; `length` is how much of it there was.
    fn end_of_second(&mut self, length: Duration) {
        let second = Second {
            operations: std::array::from_fn(|index| self.second[index].in_second()),
            outstanding: self.outstanding_ns as f64 / length.as_ns().max(1) as f64,
            errors: 0,
        };
        for (total, tally) in self.totals.iter_mut().zip(self.second.iter_mut()) {
            total.merge(tally);
            tally.clear();
        }
        self.outstanding_ns = 0;
        let interval = u64::from(self.series.interval_s);
        if self.seconds.is_multiple_of(interval) {
            self.series.push(second);
        } else if let Some(last) = self.series.seconds.last_mut() {
            // After a day, several seconds make one interval.
            *last = last.joined(&second);
        }
        self.seconds += 1;
    }

    fn within(&self, at: Instant) -> bool {
        at >= self.from && at < self.to
    }

    /// A request is handed over.
    #[inline(always)]
    pub(crate) fn issued(&mut self, request: &Request) {
        let index = request.operation.index();
        let [count, bytes] = &mut self.asked;
        count[index] += 1;
        bytes[index] += u64::from(request.length);
        if self.open_loop && self.is_arrival(request) {
            self.offered += 1;
        }
    }

    /// Whether it is one of the arrivals that the load offers within the measurement: flushes come with writes, beside them.
    #[inline(always)]
    fn is_arrival(&self, request: &Request) -> bool {
        request.operation != Operation::Flush && self.within(request.due_at)
    }

    /// A request was due but never handed over.
    pub(crate) fn missed(&mut self, request: &Request) {
        if self.is_arrival(request) {
            self.offered += 1;
            self.missed += 1;
        }
    }

    /// A request was answered at the time last set. `completion` returns the answer, any number of times.
    #[inline(always)]
    pub(crate) fn completed(&mut self, completion: impl Fn() -> Completion) {
        if self.stage != Stage::Measuring {
            return self.completed_outside(completion());
        }
        let Completion { request, .. } = completion();
        let tally = &mut self.second[request.operation.index()];
        tally.count += 1;
        tally.bytes += u64::from(request.length);
        if !self.open_loop || request.due_at >= self.from {
            keep(tally, &completion(), self.due_times);
        }
    }

    /// As [`Log::completed`], before the measurement or after it.
    #[inline(never)]
    fn completed_outside(&mut self, completion: Completion) {
        let operation = completion.request.operation;
        match self.stage {
            Stage::After if self.open_loop && self.within(completion.request.due_at) => {
                keep(&mut self.late[operation.index()], &completion, self.due_times);
            }
            Stage::Settling if operation != Operation::Flush => self.round_count += 1,
            Stage::WarmUp | Stage::Settling | Stage::Measuring | Stage::After => {}
        }
    }

    /// The trial is over at `now`, or was cut short then.
    pub(crate) fn finish(mut self, now: Instant) -> Kept {
        let mut last_ns = (NS_PER_S * u64::from(self.series.interval_s)).min(self.duration.as_ns());
        if self.stage == Stage::Measuring {
            self.to = now;
            let begun = self.from + SECOND * self.seconds;
            last_ns = now.since(begun).as_ns();
            if last_ns > 0 {
                self.end_of_second(Duration::from_ns(last_ns));
            }
        } else if !self.duration.as_ns().is_multiple_of(NS_PER_S) {
            last_ns = self.duration.as_ns() % NS_PER_S;
            if let Some(second) = self.series.seconds.last_mut() {
                second.outstanding *= NS_PER_S as f64 / last_ns as f64;
            }
        }
        if self.series.interval_s > 1 {
            let interval = u64::from(self.series.interval_s);
            let before = self.seconds.saturating_sub(1) % interval;
            last_ns = before * NS_PER_S + last_ns.min(NS_PER_S);
        }
        self.series.last_ns = if self.series.seconds.is_empty() { 0 } else { last_ns };
        let mut operations = BTreeMap::new();
        for (operation, (mut total, late)) in
            Operation::ALL.into_iter().zip(self.totals.into_iter().zip(self.late.iter()))
        {
            total.merge(late);
            if total.count + total.latency.count() > 0 {
                let record = OperationRecord {
                    count: total.count,
                    bytes: total.bytes,
                    errors: 0,
                    latency: total.latency,
                    waiting: self.due_times.then_some(total.waiting),
                    service: self.due_times.then_some(total.service),
                    told: None,
                };
                operations.insert(operation, record);
            }
        }
        let [count, bytes] = self.asked;
        let asked = std::iter::zip(count, bytes);
        let asked = Operation::ALL.into_iter().zip(asked).filter(|(_, (count, _))| *count > 0).collect();
        let from = self.from.min(now);
        Kept {
            operations,
            series: self.series,
            warm_up: from.since(self.started_at),
            measured: self.to.min(now.max(from)).since(from),
            offered: self.offered,
            missed: self.missed,
            asked,
            steady_state: self.rule.map(|rule| SteadyState {
                reached: self.reached,
                rounds: self.rounds,
                round_ns: rule.round.as_ns(),
            }),
        }
    }
}
