//! The simulation loop: takes the next requests of the load, submits them to the machine, and goes from event to event.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use crate::guest::GuestQueue;
use crate::log::{Log, Stage};
use crate::transfer_budget::TransferBudget;
use loadline_block::{Completion, ErrorKind, Request};
use loadline_disk::{Machine, RequestId, Target, Waits};
use loadline_record::{Ending, EngineName, EngineUsed, Surroundings, TrialRecord};
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{Due, LoadGenerator, LoadSpec, Next, Region, RegionUnfit, SpecError};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Requests of a thread in flight in an open loop at most; further ones wait to be issued.
pub const OPEN_OUTSTANDING_MAX: u32 = 4_096;
/// Events at one instant for each request outstanding, and in all, above which time will not advance. Even the deepest
/// token bucket passes fewer requests at once.
const AT_ONCE_FOR_EACH: u64 = 64;
const AT_ONCE: u64 = 1 << 22;
/// Events between two checks that time advances.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 18;
/// The range of a load if neither it nor the storage has a size.
pub const UNBOUNDED_SIZE: Bytes = Bytes::gib(1024);

/// The parameters of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialSetup {
    /// Which trial of its cell, from 0.
    pub trial: u32,
    /// Decides every choice of the load, together with the trial's number.
    pub seed: u64,
    /// The start time in the record, seconds since 1970.
    pub started_unix_s: u64,
}

/// A load that cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// The load contradicts itself.
    #[error("the load contradicts itself: {0}")]
    Load(#[from] SpecError),
    /// It does not fit.
    #[error("the load does not fit on the modelled storage: {0}")]
    Region(#[from] RegionUnfit),
    /// The load uses the page cache.
    #[error("{load}: the operating system's page cache is not modelled; leave out `buffered` to predict the storage")]
    Buffered {
        /// The load in words.
        load: String,
    },
    /// Its requests cost no time.
    #[error(
        "{answered} events and more come at one instant on {volume}, because neither a limit nor a latency ever costs them time; \
         give the disks of {volume} a latency, `latency.read.median = \"1 ms\"`, or a limit, `limit.iops = \"5000 IOPS\"`, or the load a \
         rate ceiling"
    )]
    Timeless {
        /// The volume, or the disk of one.
        volume: String,
        /// Events in which the time stood still.
        answered: u64,
    },
}

/// How far a simulation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The trial is over.
    End,
    /// Nothing more happens until the time given.
    Time,
    /// As many events as were allowed have happened, and more are to come.
    Events,
}

/// Runs on until the time that `run_for` knows, in steps of so many events; returns whether it came to the end.
pub(crate) fn is_over(
    mut run_for: impl FnMut(u64) -> Result<Reached, SimulationError>,
) -> Result<bool, SimulationError> {
    loop {
        match run_for(EVENTS_BETWEEN_LOOKS)? {
            Reached::End => return Ok(true),
            Reached::Time => return Ok(false),
            Reached::Events => {}
        }
    }
}

/// Checks now and then that time advances.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SimulationProgress {
    at: Instant,
    /// Events since then at least, all of them at that time.
    events: u64,
}

impl SimulationProgress {
    /// `events` more have happened, and it is `now`. Returns the events at this very time if there are so many, with
    /// `outstanding` requests, that time will never advance.
    pub(crate) fn look(&mut self, now: Instant, events: u64, outstanding: u64) -> Option<u64> {
        if self.at != now {
            *self = Self { at: now, events: 0 };
            return None;
        }
        self.events += events;
        (self.events >= AT_ONCE.max(outstanding.saturating_mul(AT_ONCE_FOR_EACH))).then_some(self.events)
    }
}

/// The results of a simulated trial.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// As from a real device.
    pub record: TrialRecord,
    /// The waiting at each limit, from the beginning of the measurement on. A machine with accounts gives the waiting
    /// that decided the answers of the load's own requests; otherwise it is that of their parts.
    pub waits: Waits,
    /// The storage as it is afterwards: its caches warm, its credits spent. Nothing is outstanding.
    pub machine: Machine,
}

/// A load on a machine, on its way through virtual time.
///
/// It begins at the machine's own time, after the load's pause.
#[derive(Debug, Clone)]
pub struct Simulation {
    machine: Machine,
    party: Party,
    progress: SimulationProgress,
}

/// A load with all that is known of it, beside the machine that it is put on.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    target: Target,
    setup: TrialSetup,
    generators: Vec<LoadGenerator>,
    /// Further requests that a thread may have in flight, in an open loop; a closed loop has its own bound.
    places: Vec<u32>,
    /// The thread of a request, by its number; only with several threads.
    threads: Vec<u32>,
    /// The guest's device queues, if several threads may have more outstanding than there are places.
    guest: Option<Box<GuestQueue>>,
    /// The next wake-up of each thread.
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    /// The first of these; `Instant::MAX` if there is none.
    next_timer: Instant,
    /// The valid timer of each thread.
    armed: Vec<Instant>,
    log: Log,
    open_loop: bool,
    /// Whether each answer is followed by one request at once, as long as any are issued.
    follows_at_once: bool,
    hang_limit: Duration,
    cool_down: Duration,
    /// Bytes that each thread may still issue; none if only time ends it.
    volume: Vec<TransferBudget>,
    exhausted: bool,
    /// From when on nothing is issued any more, as far as that is known.
    issues_until: Instant,
    now: Instant,
    started_at: Instant,
    answered_at: Instant,
    outstanding: u64,
    waits_before: Option<Waits>,
    ending: Option<Ending>,
    errors: BTreeMap<ErrorKind, u64>,
}

/// Puts `load` on a volume of `machine` once, in one go.
///
/// # Errors
/// When the load cannot be simulated there.
pub fn simulate(
    load: &LoadSpec,
    machine: Machine,
    target: Target,
    setup: TrialSetup,
) -> Result<Simulated, SimulationError> {
    let mut simulation = Simulation::new(load, machine, target, setup)?;
    simulation.run_until(Instant::MAX)?;
    Ok(simulation.finish())
}

/// The range of `load`'s requests.
fn region(load: &LoadSpec, size: Option<Bytes>) -> Region {
    let files = u64::from(load.files);
    let wanted = load.size.map(|size| load.start + Bytes::new(size.get() / files));
    let file_size = match size {
        Some(size) => Bytes::new(size.get() / files).round_down(Bytes::new(512)),
        None => wanted.unwrap_or(UNBOUNDED_SIZE),
    };
    let room = file_size.saturating_sub(load.start);
    let size = Bytes::new(load.size_in(room * files).get() / files).min(room);
    Region { files: load.files, file_size, start: load.start, size }
}

/// The seed of one trial.
const fn trial_seed(seed: u64, trial: u32) -> u64 {
    seed ^ (trial as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95)
}

impl Simulation {
    /// `load` on a volume of `machine`; nothing has happened yet.
    ///
    /// # Errors
    /// When the load cannot be simulated there.
    pub fn new(load: &LoadSpec, machine: Machine, target: Target, setup: TrialSetup) -> Result<Self, SimulationError> {
        let party = Party::new(load, &machine, target, setup)?;
        Ok(Self { machine, party, progress: SimulationProgress::default() })
    }

    /// Runs until the trial is over or nothing more happens until `until`; returns whether it is over.
    ///
    /// # Errors
    /// [`SimulationError::Timeless`].
    pub fn run_until(&mut self, until: Instant) -> Result<bool, SimulationError> {
        is_over(|events| self.run_for(until, events))
    }

    /// [`Simulation::run_until`] with at most `events` events, so that the caller regains control however little time
    /// passes.
    ///
    /// # Errors
    /// [`SimulationError::Timeless`].
    pub fn run_for(&mut self, until: Instant, events: u64) -> Result<Reached, SimulationError> {
        let reached = self.go_on(until, events);
        if reached == Reached::Events
            && let Some(answered) = self.progress.look(self.party.now, events, self.party.outstanding)
        {
            return Err(self.party.timeless(&self.machine, answered));
        }
        Ok(reached)
    }

    fn go_on(&mut self, until: Instant, events: u64) -> Reached {
        let Self { machine, party, .. } = self;
        let mut left = events;
        while party.ending.is_none() {
            let answer = if party.outstanding > 0 { machine.next_event() } else { Instant::MAX };
            let next = answer.min(party.next_timer);
            if next == Instant::MAX {
                party.ending = Some(Ending::Complete);
                break;
            }
            if next > until {
                return Reached::Time;
            }
            if left == 0 {
                return Reached::Events;
            }
            left -= 1;
            party.reach(machine, next);
            if let Some(id) = machine.take_completed(next) {
                party.answer(machine, id, &mut |_| ());
            } else {
                party.look_at_timers(machine, &mut |_| ());
            }
        }
        Reached::End
    }

    /// How long requests have waited at each limit since the machine began; other than the figure of
    /// [`Simulated::waits`], not from the beginning of the measurement on.
    #[must_use]
    pub fn waits(&self) -> Waits {
        self.machine.waits(self.party.target)
    }

    /// Whether the trial is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.party.is_over()
    }

    /// The results. An unfinished trial counts as interrupted.
    #[must_use]
    pub fn finish(self) -> Simulated {
        let Self { mut machine, party, .. } = self;
        let (record, waits) = party.finish(&machine);
        drain(&mut machine);
        Simulated { record, waits, machine }
    }
}

/// How long requests to a target have waited so far.
fn waits_of(machine: &Machine, target: Target) -> Waits {
    machine.held(target).unwrap_or_else(|| machine.waits(target))
}

/// Waits until all outstanding requests are answered.
pub(crate) fn drain(machine: &mut Machine) {
    while machine.outstanding() > 0
        && let Some(at) = machine.next_event_at()
    {
        machine.pop_completed(at);
    }
}

impl Party {
    /// `load` on a volume of `machine`; nothing has happened yet.
    ///
    /// # Errors
    /// When the load cannot be simulated there.
    pub(crate) fn new(
        load: &LoadSpec,
        machine: &Machine,
        target: Target,
        setup: TrialSetup,
    ) -> Result<Self, SimulationError> {
        load.check()?;
        if load.buffered {
            return Err(SimulationError::Buffered { load: load.to_string() });
        }
        let region = region(load, machine.size(target));
        let now = machine.now() + load.pause;
        let seed = trial_seed(setup.seed, setup.trial);
        let generators: Vec<LoadGenerator> = (0..load.threads)
            .map(|thread| LoadGenerator::new(load, &region, thread, seed, now))
            .collect::<Result<_, _>>()?;
        let open_loop = load.offered().is_some();
        let count = generators.len();
        // Requests of one thread wait in order, which makes no difference here; and a queue may have room for all.
        let most = load.outstanding().unwrap_or(u64::from(load.threads) * u64::from(OPEN_OUTSTANDING_MAX));
        let queues = machine
            .device_queues(target)
            .filter(|columns| load.threads > 1 && columns.iter().any(|of| u64::from(of.depth) < most));
        let guest = queues.map(|of| Box::new(GuestQueue::new(machine.layout(target), &of, load.threads, seed)));
        let follows_at_once =
            guest.is_none() && !load.is_bound_in_bytes() && generators.iter().all(LoadGenerator::follows_at_once);
        let volume = load.volume_over(region.size * u64::from(region.files));
        let of_thread =
            |volume| (0..load.threads).map(move |thread| TransferBudget::of(load.volume_of(thread, volume)));
        let budgets = volume.into_iter().flat_map(of_thread).collect();
        let log = Log::new(load, now);
        Ok(Self {
            guest,
            target,
            setup,
            generators,
            places: vec![OPEN_OUTSTANDING_MAX; count],
            threads: Vec::new(),
            timers: (0..load.threads).map(|thread| Reverse((now, thread))).collect(),
            next_timer: now,
            armed: vec![now; count],
            waits_before: log.has_begun().then(|| waits_of(machine, target)),
            log,
            open_loop,
            follows_at_once,
            hang_limit: load.hang_limit,
            cool_down: load.cool_down,
            volume: budgets,
            exhausted: false,
            issues_until: Instant::MAX,
            now,
            started_at: now,
            answered_at: now,
            outstanding: 0,
            ending: None,
            errors: BTreeMap::new(),
        })
    }

    /// When a thread wants to run again.
    #[inline(always)]
    pub(crate) fn timer_at(&self) -> Option<Instant> {
        (self.next_timer < Instant::MAX).then_some(self.next_timer)
    }

    /// Of all timers the first decides.
    fn look_for_timer(&mut self) {
        self.next_timer = self.timers.peek().map_or(Instant::MAX, |Reverse((at, _))| *at);
    }

    /// Requests not answered yet.
    pub(crate) const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The volume.
    pub(crate) const fn target(&self) -> Target {
        self.target
    }

    /// Whether the trial is over.
    pub(crate) const fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    /// The time of its last event.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Why it never ends.
    #[cold]
    pub(crate) fn timeless(&self, machine: &Machine, answered: u64) -> SimulationError {
        SimulationError::Timeless { volume: machine.name(self.target).to_owned(), answered }
    }

    /// Nothing of it will happen any more.
    pub(crate) fn end(&mut self) {
        self.ending.get_or_insert(Ending::Complete);
    }

    /// Ended by the end of another load.
    pub(crate) fn call_off(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Ending::Complete);
            self.exhausted = true;
        }
    }

    /// The time is `now`, that of an event.
    #[inline(always)]
    pub(crate) fn reach(&mut self, machine: &Machine, now: Instant) {
        if now >= self.log.boundary() {
            self.pass_boundary(machine, now);
        }
        self.log.integrate(now, self.outstanding);
        self.now = now;
    }

    /// One of its requests was answered. `issued` gets the number of each request that follows.
    #[inline(always)]
    pub(crate) fn answer(&mut self, machine: &mut Machine, id: RequestId, issued: &mut impl FnMut(usize)) {
        let thread = self.thread_of(id);
        if self.follows_at_once && self.now < self.issues_until {
            self.answered(|| machine.completion(id));
            let request = self.generators[thread as usize].follow(self.now);
            self.log.issued(&request);
            self.submit::<false>(machine, thread, request, issued);
        } else if self.guest.is_some() {
            self.answer_in_guest(machine, id, issued);
        } else {
            self.taken_up(thread, || machine.completion(id));
            self.issue::<false>(machine, thread, issued);
        }
    }

    /// [`Party::answer`] for a thread before device queues. It is separate, so that the fast path stays short.
    #[inline(never)]
    fn answer_in_guest(&mut self, machine: &mut Machine, id: RequestId, issued: &mut impl FnMut(usize)) {
        let thread = self.thread_of(id);
        let Some(guest) = &mut self.guest else { return };
        guest.leave(id.index(), thread, &machine.completion(id));
        let is_first = guest.is_answered_first();
        if is_first {
            self.go_on_in_guest(machine, thread, issued);
        }
        self.wake_in_guest(machine, issued);
        if !is_first {
            self.go_on_in_guest(machine, thread, issued);
        }
    }

    /// A thread has its answer.
    #[inline(always)]
    fn taken_up(&mut self, thread: u32, completion: impl Fn() -> Completion) {
        self.outstanding -= 1;
        if self.open_loop {
            self.places[thread as usize] += 1;
        }
        if let Some(bound) = self.volume.get_mut(thread as usize) {
            bound.answered(u64::from(completion().request.length), self.log.has_begun());
        }
        self.answered(completion);
        self.generators[thread as usize].complete(self.now);
    }

    /// A thread before device queues issues due requests and looks at its answers, one by one, until it sleeps or there
    /// are none.
    #[inline(never)]
    fn go_on_in_guest(&mut self, machine: &mut Machine, thread: u32, issued: &mut impl FnMut(usize)) {
        loop {
            self.issue::<true>(machine, thread, issued);
            let Some(guest) = self.guest.as_mut().filter(|guest| !guest.is_blocked(thread)) else { return };
            let Some(answer) = guest.look(thread) else { return };
            let now = self.now;
            self.taken_up(thread, || Completion { completed_at: now, ..answer });
        }
    }

    /// Threads that device queues have woken go on.
    fn wake_in_guest(&mut self, machine: &mut Machine, issued: &mut impl FnMut(usize)) {
        while let Some((thread, request)) = self.guest.as_mut().and_then(|guest| guest.wake()) {
            if self.enter(thread, &request) {
                self.submit::<true>(machine, thread, request, issued);
                self.go_on_in_guest(machine, thread, issued);
            }
        }
    }

    /// Whether a request finds its places in the guest; else its thread sleeps.
    #[inline(always)]
    fn enter(&mut self, thread: u32, request: &Request) -> bool {
        self.guest.as_mut().is_none_or(|guest| guest.enter(thread, request))
    }

    /// Issues the requests of a thread whose timer has expired.
    #[inline(always)]
    pub(crate) fn look_at_timers(&mut self, machine: &mut Machine, issued: &mut impl FnMut(usize)) {
        if let Some(thread) = self.timer(self.now) {
            if self.guest.is_some() {
                self.go_on_in_guest(machine, thread, issued);
            } else {
                self.issue::<false>(machine, thread, issued);
            }
        }
    }

    /// The thread whose timer has expired by now.
    fn timer(&mut self, now: Instant) -> Option<u32> {
        let Reverse((at, thread)) = self.timers.peek().copied().filter(|Reverse((at, _))| *at <= now)?;
        self.timers.pop();
        self.look_for_timer();
        let armed = &mut self.armed[thread as usize];
        (*armed == at).then(|| {
            *armed = Instant::MAX;
            thread
        })
    }

    /// The owner of a request.
    #[inline]
    fn thread_of(&self, id: RequestId) -> u32 {
        if self.generators.len() == 1 { 0 } else { self.threads[id.index()] }
    }

    /// Stores the waiting so far when the measurement begins. The time may pass several boundaries at once.
    #[cold]
    fn pass_boundary(&mut self, machine: &Machine, now: Instant) {
        self.log.tell(now, self.outstanding);
        if !self.exhausted {
            self.issues_until = self.log.to() + self.cool_down;
        }
        if self.waits_before.is_none() && matches!(self.log.stage(), Stage::Measuring | Stage::After) {
            self.waits_before = Some(waits_of(machine, self.target));
        }
    }

    /// A request was answered. `completion` returns the answer, any number of times: few of its fields are read as long
    /// as nothing hangs.
    #[inline(always)]
    fn answered(&mut self, completion: impl Fn() -> Completion) {
        let silent = self.now.since(self.answered_at);
        self.answered_at = self.now;
        match completion().outcome {
            Ok(()) => self.log.completed(&completion),
            Err(kind) => *self.errors.entry(kind).or_default() += 1,
        }
        if silent > self.hang_limit {
            self.hung(completion());
        }
    }

    /// Nothing was answered for so long that a request may have hung.
    #[cold]
    fn hung(&mut self, completion: Completion) {
        if completion.completed_at.since(completion.submitted_at) <= self.hang_limit {
            return;
        }
        let request = completion.request;
        *self.errors.entry(ErrorKind::TimedOut).or_default() += 1;
        self.ending = Some(Ending::Hung(format!(
            "{} of {} B at offset {} was not answered for {}",
            request.operation.name(),
            request.length,
            request.offset,
            completion.completed_at.since(completion.submitted_at).human()
        )));
    }

    /// Issues the due requests of a thread, with or without device queues.
    #[inline(always)]
    fn issue<const GUEST: bool>(&mut self, machine: &mut Machine, thread: u32, issued: &mut impl FnMut(usize)) {
        let index = thread as usize;
        if GUEST && self.guest.as_ref().is_some_and(|guest| guest.is_blocked(thread)) {
            return;
        }
        if self.volume.get(index).is_some_and(TransferBudget::is_spent) {
            return;
        }
        while self.now < self.issues_until && (!self.open_loop || self.places[index] > 0) {
            match self.generators[index].due(self.now) {
                Due::Now(due_at) => {
                    let request = self.generators[index].take(due_at);
                    // Requests before the measurement do not count.
                    if let Some(bound) = self.volume.get_mut(index)
                        && !bound.takes(u64::from(request.length), self.log.has_begun())
                    {
                        if self.volume.iter().all(TransferBudget::is_spent) {
                            self.exhausted = true;
                            self.issues_until = Instant::ZERO;
                        }
                        return;
                    }
                    if self.open_loop {
                        self.places[index] -= 1;
                    }
                    // It is outstanding from now on; the time was set for those before.
                    self.outstanding += 1;
                    self.log.issued(&request);
                    if GUEST && !self.enter(thread, &request) {
                        return;
                    }
                    self.submit::<GUEST>(machine, thread, request, issued);
                }
                Due::At(at) => {
                    if at < self.issues_until && self.armed[index] != at {
                        self.armed[index] = at;
                        self.timers.push(Reverse((at, thread)));
                        self.next_timer = self.next_timer.min(at);
                    }
                    return;
                }
                Due::Blocked => return,
            }
        }
    }

    /// Submits a request to the machine.
    #[inline(always)]
    fn submit<const GUEST: bool>(
        &mut self,
        machine: &mut Machine,
        thread: u32,
        request: Request,
        issued: &mut impl FnMut(usize),
    ) {
        let id = machine.submit(self.now, self.target, request).index();
        issued(id);
        if self.generators.len() > 1 {
            if self.threads.len() <= id {
                self.threads.resize(id + 1, 0);
            }
            self.threads[id] = thread;
        }
        if GUEST && let Some(guest) = &mut self.guest {
            guest.entered(id, thread);
        }
    }

    /// The results and the waiting. An unfinished trial counts as interrupted.
    pub(crate) fn finish(mut self, machine: &Machine) -> (TrialRecord, Waits) {
        let ending = self.ending.take().unwrap_or(Ending::Interrupted);
        // A measurement in which nothing happened any more lasts its time all the same.
        let mut ended_at = self.now;
        if ending == Ending::Complete && !self.exhausted {
            ended_at = self.log.to().max(self.now);
            self.log.tell(ended_at, self.outstanding);
        }
        if self.open_loop && ending == Ending::Complete && self.log.stage() == Stage::After {
            let last = Instant::from_ns(self.log.to().as_ns().saturating_sub(1));
            for generator in &mut self.generators {
                while let Next::Request(request) = generator.next(last) {
                    self.log.missed(&request);
                }
            }
        }
        let waits = waits_of(machine, self.target).since(&self.waits_before.unwrap_or_default());
        let kept = self.log.finish(ended_at);
        let elapsed = ended_at.since(self.started_at);
        let record = TrialRecord {
            warm_up_ns: kept.warm_up.as_ns(),
            measured_ns: kept.measured.as_ns(),
            operations: kept.operations,
            offered_iops: (self.open_loop && kept.measured > Duration::ZERO)
                .then(|| kept.offered as f64 / kept.measured.as_s_f64()),
            missed: kept.missed,
            series: kept.series,
            errors: self.errors,
            surroundings: Surroundings { elapsed_ns: elapsed.as_ns(), asked: kept.asked, ..Surroundings::default() },
            steady_state: kept.steady_state,
            ending,
            ..TrialRecord::empty(
                self.setup.trial,
                self.setup.started_unix_s,
                EngineUsed {
                    name: EngineName::Simulator,
                    reason: "the storage is a model in virtual time".to_owned(),
                    options: Vec::new(),
                },
            )
        };
        (record, waits)
    }
}
