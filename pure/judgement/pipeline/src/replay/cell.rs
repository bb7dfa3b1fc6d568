//! The clock of a station's workers: how many are in each state, integrated over time.

use loadline_record::{StationClock, StationInterval, WORKER_STATES, WorkerState};

/// Workers that are counted by state. Their number never changes, so their times add up by construction.
#[derive(Debug, Clone)]
pub(super) struct WorkerCell {
    workers: u32,
    counts: [u32; WORKER_STATES],
    at_ns: u64,
    times_ns: [u64; WORKER_STATES],
    on_cpu_ns: u64,
    /// 0: no series.
    interval_ns: u64,
    series: Vec<StationInterval>,
    passed: u64,
    inside: u64,
    inside_item_ns: u128,
}

impl WorkerCell {
    pub(super) fn new(workers: u32, interval_ns: u64) -> Self {
        let mut counts = [0; WORKER_STATES];
        counts[WorkerState::Starved.index()] = workers;
        Self {
            workers,
            counts,
            at_ns: 0,
            times_ns: [0; WORKER_STATES],
            on_cpu_ns: 0,
            interval_ns,
            series: Vec::new(),
            passed: 0,
            inside: 0,
            inside_item_ns: 0,
        }
    }
    pub(super) const fn count(&self, state: WorkerState) -> u32 {
        self.counts[state.index()]
    }
    /// Workers with no item in hand.
    pub(super) const fn idle(&self) -> u32 {
        self.count(WorkerState::Starved) + self.count(WorkerState::Gated)
    }
    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }
    pub(super) const fn inside_item_ns(&self) -> u128 {
        self.inside_item_ns
    }
    fn charge(&mut self, now_ns: u64) {
        let span = now_ns - self.at_ns;
        if span == 0 {
            return;
        }
        self.inside_item_ns += u128::from(self.inside) * u128::from(span);
        for (time, count) in self.times_ns.iter_mut().zip(self.counts) {
            *time += u64::from(count) * span;
        }
        while self.interval_ns > 0 && self.at_ns < now_ns {
            let interval = (self.at_ns / self.interval_ns) as usize;
            let until = now_ns.min((interval as u64 + 1) * self.interval_ns);
            self.interval(interval);
            for (time, count) in self.series[interval].times_ns.iter_mut().zip(self.counts) {
                *time += u64::from(count) * (until - self.at_ns);
            }
            self.at_ns = until;
        }
        self.at_ns = now_ns;
    }
    fn interval(&mut self, interval: usize) {
        if self.series.len() <= interval {
            self.series.resize(interval + 1, StationInterval::default());
        }
    }
    /// A worker changes its state.
    pub(super) fn shift(&mut self, now_ns: u64, from: WorkerState, to: WorkerState) {
        self.charge(now_ns);
        assert!(self.counts[from.index()] > 0, "no worker is {from:?}");
        self.counts[from.index()] -= 1;
        self.counts[to.index()] += 1;
    }
    /// A worker without an item takes one.
    pub(super) fn take(&mut self, now_ns: u64, to: WorkerState) {
        let from = if self.count(WorkerState::Starved) > 0 { WorkerState::Starved } else { WorkerState::Gated };
        self.shift(now_ns, from, to);
    }
    /// Of the workers without an item, `gated` are kept back by a rule and the others have nothing to take.
    pub(super) fn set_gated(&mut self, now_ns: u64, gated: u32) {
        if self.count(WorkerState::Gated) != gated {
            self.charge(now_ns);
            let idle = self.idle();
            self.counts[WorkerState::Gated.index()] = gated;
            self.counts[WorkerState::Starved.index()] = idle - gated;
        }
    }
    /// An item comes to the station's queue or slot.
    pub(super) fn enter(&mut self, now_ns: u64) {
        self.charge(now_ns);
        self.inside += 1;
    }
    /// An item leaves the station.
    pub(super) fn leave(&mut self, now_ns: u64) {
        self.charge(now_ns);
        self.inside -= 1;
        self.pass(now_ns);
    }
    /// A piece of work that is no item is done.
    pub(super) fn pass(&mut self, now_ns: u64) {
        self.passed += 1;
        if let Some(interval) = now_ns.checked_div(self.interval_ns) {
            self.interval(interval as usize);
            self.series[interval as usize].passed += 1;
        }
    }
    pub(super) const fn ran(&mut self, on_cpu_ns: u64) {
        self.on_cpu_ns += on_cpu_ns;
    }
    /// The clock at the end, and the series.
    pub(super) fn finish(mut self, now_ns: u64) -> (StationClock, Vec<StationInterval>) {
        self.charge(now_ns);
        (StationClock::of(self.times_ns, self.on_cpu_ns, now_ns, self.workers), self.series)
    }
}
