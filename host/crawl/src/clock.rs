//! The clocks of a crawl's workers: each is in one state at a time, and a station's board adds them up by interval.

use loadline_kernel::clock::{ThreadTime, now, thread_time};
use loadline_record::{
    GateRule, QueueIntegral, Station, StationClock, StationInterval, StationRecord, WORKER_STATES, Work, WorkerState,
};
use loadline_units::Instant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time since the crawl began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrawlClock {
    began: Instant,
}

impl CrawlClock {
    /// A crawl begins now.
    pub(crate) fn start() -> Self {
        Self { began: now() }
    }
    /// ns since then.
    pub(crate) fn ns(self) -> u64 {
        now().since(self.began).as_ns()
    }
}

/// Locks, also after a thread that held it panicked: its panic is passed on when it is joined.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the workers of a station, or the slots of a source, note their time.
#[derive(Debug)]
pub(crate) struct StationBoard {
    clock: CrawlClock,
    interval_ns: u64,
    workers: u32,
    state: Mutex<BoardState>,
}

#[derive(Debug, Default, Clone)]
struct BoardState {
    times_ns: [u64; WORKER_STATES],
    on_cpu_ns: u64,
    series: Vec<StationInterval>,
    passed: u64,
    inside: u64,
    inside_since_ns: u64,
    inside_item_ns: u128,
    busy_by_source_ns: Vec<u64>,
    blocked_by_merges_ns: u64,
    gated_by_ns: [u64; 3],
    /// When each worker that is done ended.
    ended_ns: Vec<u64>,
}

/// A board at the end of the crawl.
#[derive(Debug, Clone)]
pub(crate) struct BoardRecord {
    pub(crate) clock: StationClock,
    pub(crate) series: Vec<StationInterval>,
    pub(crate) passed: u64,
    pub(crate) inside_item_us: u64,
    pub(crate) busy_by_source_ns: Vec<u64>,
    pub(crate) blocked_by_merges_ns: u64,
    pub(crate) gated_by_ns: [u64; 3],
}

impl BoardState {
    fn interval(&mut self, at_ns: u64, interval_ns: u64) -> &mut StationInterval {
        let place = (at_ns / interval_ns) as usize;
        if self.series.len() <= place {
            self.series.resize(place + 1, StationInterval::default());
        }
        &mut self.series[place]
    }
    /// Time from `from_ns` on, in parts that follow one another.
    fn charge(&mut self, mut from_ns: u64, interval_ns: u64, parts: &[(WorkerState, u64)]) {
        for &(state, length_ns) in parts {
            self.times_ns[state.index()] += length_ns;
            let end_ns = from_ns + length_ns;
            while from_ns < end_ns {
                let until = end_ns.min((from_ns / interval_ns + 1) * interval_ns);
                self.interval(from_ns, interval_ns).times_ns[state.index()] += until - from_ns;
                from_ns = until;
            }
        }
    }
    /// Makes the times add up to `all_ns` while workers are at work: in which state one is becomes known when it is over.
    fn fit(&mut self, all_ns: u64) {
        let known_ns: u64 = self.times_ns.iter().sum();
        let waited_ns = known_ns - self.times_ns[WorkerState::Cpu.index()];
        let (rest_ns, mut left_ns) = (all_ns.saturating_sub(known_ns), all_ns.saturating_sub(known_ns));
        // Most of it is a wait, as those were that are over.
        for state in WorkerState::ALL.into_iter().filter(|state| *state != WorkerState::Cpu) {
            let own = u128::from(self.times_ns[state.index()]) * u128::from(rest_ns) / u128::from(waited_ns.max(1));
            self.times_ns[state.index()] += (own as u64).min(left_ns);
            left_ns = left_ns.saturating_sub(own as u64);
        }
        self.times_ns[WorkerState::Starved.index()] += left_ns;
        // What was charged since the clock was read.
        let mut more_ns = known_ns.saturating_sub(all_ns);
        for time in &mut self.times_ns {
            let less = more_ns.min(*time);
            *time -= less;
            more_ns -= less;
        }
        self.on_cpu_ns = self.on_cpu_ns.min(self.times_ns[WorkerState::Cpu.index()]);
    }
    fn integrate(&mut self, now_ns: u64) {
        // Threads read the clock before they have the lock: a reading may be older than the last.
        let now_ns = now_ns.max(self.inside_since_ns);
        self.inside_item_ns += u128::from(self.inside) * u128::from(now_ns - self.inside_since_ns);
        self.inside_since_ns = now_ns;
    }
}

impl StationBoard {
    /// Of a station with so many workers, and work for so many sources.
    pub(crate) fn new(clock: CrawlClock, interval_ns: u64, workers: u32, sources: usize) -> Arc<Self> {
        let state = BoardState { busy_by_source_ns: vec![0; sources], ..BoardState::default() };
        Arc::new(Self { clock, interval_ns, workers, state: Mutex::new(state) })
    }
    /// An item comes to the station's queue or slot.
    pub(crate) fn enter(&self) {
        let mut state = lock(&self.state);
        state.integrate(self.clock.ns());
        state.inside += 1;
    }
    /// An item leaves the station; one that failed does not pass.
    pub(crate) fn leave(&self, passes: bool) {
        let now_ns = self.clock.ns();
        let mut state = lock(&self.state);
        state.integrate(now_ns);
        state.inside = state.inside.saturating_sub(1);
        if passes {
            state.passed += 1;
            state.interval(now_ns, self.interval_ns).passed += 1;
        }
    }
    /// A piece of work that is no item is done.
    pub(crate) fn pass(&self) {
        let now_ns = self.clock.ns();
        let mut state = lock(&self.state);
        state.passed += 1;
        state.interval(now_ns, self.interval_ns).passed += 1;
    }
    /// The time in each state until now, as far as the states are over.
    pub(crate) fn times_ns(&self) -> [u64; WORKER_STATES] {
        lock(&self.state).times_ns
    }
    /// Index workers waited so long for merges.
    pub(crate) fn blocked_by_merges(&self, ns: u64) {
        lock(&self.state).blocked_by_merges_ns += ns;
    }
    /// Whether every worker is done.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.state).ended_ns.len() as u64 == u64::from(self.workers)
    }
    /// All of it so far. Workers that are done are starved from then on; what those do that are not is spread over what they did.
    ///
    /// # Panics
    /// When time was lost.
    pub(crate) fn record(&self, wall_ns: u64) -> BoardRecord {
        let mut state = lock(&self.state).clone();
        let is_over = state.ended_ns.len() as u64 == u64::from(self.workers);
        for ended_ns in std::mem::take(&mut state.ended_ns) {
            let rest_ns = wall_ns.saturating_sub(ended_ns);
            state.charge(ended_ns, self.interval_ns, &[(WorkerState::Starved, rest_ns)]);
        }
        state.integrate(wall_ns);
        if !is_over {
            state.fit(wall_ns * u64::from(self.workers));
        }
        BoardRecord {
            clock: StationClock::of(state.times_ns, state.on_cpu_ns, wall_ns, self.workers),
            series: state.series,
            passed: state.passed,
            inside_item_us: (state.inside_item_ns / 1_000) as u64,
            busy_by_source_ns: state.busy_by_source_ns,
            blocked_by_merges_ns: state.blocked_by_merges_ns,
            gated_by_ns: state.gated_by_ns,
        }
    }
}

impl BoardRecord {
    /// As the record of a station.
    pub(crate) fn station(self, station: Station, workers: u32, queue: QueueIntegral) -> StationRecord {
        let is_of_sources = Station::LINE.contains(&station);
        StationRecord {
            station,
            workers,
            clock: self.clock,
            queue,
            passed: self.passed,
            inside_item_us: self.inside_item_us,
            blocked_by_merges_ns: self.blocked_by_merges_ns,
            busy_by_source_ns: if is_of_sources { self.busy_by_source_ns } else { Vec::new() },
            series: self.series,
        }
    }
}

/// What the kernel counted of a thread: ns running, and ns in the queue for a processor.
pub(crate) fn thread_ns() -> (u64, u64) {
    thread_time().map_or_else(
        || (loadline_kernel::clock::thread_time_total().as_ns(), 0),
        |ThreadTime { running, queued }| (running.as_ns(), queued.as_ns()),
    )
}

/// A span of work: its length, and what of it was on a processor, ready to run, or waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "times carry their unit")]
pub(crate) struct WorkedSpan {
    /// When it ended, ns since the crawl began.
    pub(crate) end_ns: u64,
    pub(crate) on_cpu_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) waited_ns: u64,
}

impl WorkedSpan {
    /// Of a span of this length; the kernel's counts are cut to it.
    pub(crate) fn of(end_ns: u64, length_ns: u64, (running, queued): (u64, u64)) -> Self {
        let on_cpu_ns = running.min(length_ns);
        let runnable_ns = queued.min(length_ns - on_cpu_ns);
        Self { end_ns, on_cpu_ns, runnable_ns, waited_ns: length_ns - on_cpu_ns - runnable_ns }
    }
    /// As the work that a station did for an item, waiting in `rest`.
    pub(crate) const fn work(self, rest: WorkerState) -> Work {
        let Self { on_cpu_ns: cpu_ns, waited_ns, .. } = self;
        match rest {
            WorkerState::Device => Work { cpu_ns, device_ns: waited_ns, other_ns: 0 },
            _ => Work { cpu_ns, device_ns: 0, other_ns: waited_ns },
        }
    }
}

/// The clock of one worker: every moment since the crawl began is charged to one state.
#[derive(Debug)]
pub(crate) struct WorkerTimer {
    board: Arc<StationBoard>,
    at_ns: u64,
    thread_at: (u64, u64),
}

impl WorkerTimer {
    /// Of the calling thread. Until now it was starved.
    pub(crate) fn start(board: &Arc<StationBoard>) -> Self {
        let mut timer = Self { board: Arc::clone(board), at_ns: 0, thread_at: (0, 0) };
        timer.spent(WorkerState::Starved);
        timer
    }
    /// When the last change was, ns since the crawl began.
    pub(crate) const fn at_ns(&self) -> u64 {
        self.at_ns
    }
    /// The time since the last change was spent so, without work.
    pub(crate) fn spent(&mut self, state: WorkerState) -> u64 {
        let now_ns = self.board.clock.ns();
        let length_ns = now_ns - self.at_ns;
        lock(&self.board.state).charge(self.at_ns, self.board.interval_ns, &[(state, length_ns)]);
        self.at_ns = now_ns;
        self.thread_at = thread_ns();
        length_ns
    }
    /// The same, kept back by a rule of the gate.
    pub(crate) fn gated(&mut self, rule: GateRule) {
        let length_ns = self.spent(WorkerState::Gated);
        lock(&self.board.state).gated_by_ns[rule.index()] += length_ns;
    }
    /// The time since the last change was work, for a source where there is one. What was no processor time was spent in `rest`.
    pub(crate) fn worked(&mut self, rest: WorkerState, source: Option<u32>) -> WorkedSpan {
        let thread = thread_ns();
        let now_ns = self.board.clock.ns();
        let since = (thread.0 - self.thread_at.0, thread.1 - self.thread_at.1);
        let span = WorkedSpan::of(now_ns, now_ns - self.at_ns, since);
        self.charge_work(span, rest, source);
        self.thread_at = thread;
        span
    }
    /// Work that another thread did on behalf of this one since the last change.
    pub(crate) fn worked_elsewhere(&mut self, running_queued: (u64, u64), rest: WorkerState) -> WorkedSpan {
        let now_ns = self.board.clock.ns();
        let span = WorkedSpan::of(now_ns, now_ns - self.at_ns, running_queued);
        self.charge_work(span, rest, None);
        self.thread_at = thread_ns();
        span
    }
    fn charge_work(&mut self, span: WorkedSpan, rest: WorkerState, source: Option<u32>) {
        let WorkedSpan { end_ns, on_cpu_ns, runnable_ns, waited_ns } = span;
        let mut state = lock(&self.board.state);
        let parts = [(WorkerState::Cpu, on_cpu_ns + runnable_ns), (rest, waited_ns)];
        state.charge(self.at_ns, self.board.interval_ns, &parts);
        state.on_cpu_ns += on_cpu_ns;
        if let Some(of) = source.and_then(|source| state.busy_by_source_ns.get_mut(source as usize)) {
            *of += end_ns - self.at_ns;
        }
        self.at_ns = end_ns;
    }
    /// The worker is done.
    pub(crate) fn end(self) {
        lock(&self.board.state).ended_ns.push(self.at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_adds_up_to_wall_time_over_intervals_of_any_length() {
        let clock = CrawlClock::start();
        // Long enough that a machine that is stopped for minutes meanwhile makes no more of them than memory has room for.
        let board = StationBoard::new(clock, 100_000, 2, 1);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let board = Arc::clone(&board);
                std::thread::spawn(move || {
                    let mut timer = WorkerTimer::start(&board);
                    for _ in 0..50 {
                        board.enter();
                        std::hint::black_box((0..2_000u64).sum::<u64>());
                        timer.worked(WorkerState::Device, Some(0));
                        timer.spent(WorkerState::Blocked);
                        board.leave(true);
                    }
                    timer.end();
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let wall_ns = clock.ns();
        // `StationClock::of` asserts the sum.
        let record = board.record(wall_ns);
        assert_eq!(record.passed, 100);
        assert_eq!(record.series.iter().map(|of| of.passed).sum::<u64>(), 100);
        let by_interval: u64 = record.series.iter().flat_map(|of| of.times_ns).sum();
        assert_eq!(by_interval, 2 * wall_ns);
        assert_eq!(record.busy_by_source_ns[0], record.clock.busy.total_ns());
    }

    #[test]
    fn a_board_whose_workers_are_at_work_adds_up_to_the_time_so_far() {
        let clock = CrawlClock::start();
        let board = StationBoard::new(clock, 100_000, 3, 1);
        let mut timer = WorkerTimer::start(&board);
        WorkerTimer::start(&board).end();
        timer.worked(WorkerState::Device, Some(0));
        timer.spent(WorkerState::Blocked);
        // `StationClock::of` asserts the sum; a reading may be older than what was charged, too.
        for wall_ns in [timer.at_ns() / 2, timer.at_ns(), timer.at_ns() + 1_000_000] {
            assert_eq!(board.record(wall_ns).clock.total_ns(), 3 * wall_ns);
        }
        timer.end();
    }

    #[test]
    fn what_the_kernel_counts_beyond_the_span_is_cut() {
        let span = WorkedSpan::of(100, 50, (40, 20));
        assert_eq!((span.on_cpu_ns, span.runnable_ns, span.waited_ns), (40, 10, 0));
        assert_eq!(WorkedSpan::of(100, 50, (10, 5)).work(WorkerState::Device).device_ns, 35);
    }
}
