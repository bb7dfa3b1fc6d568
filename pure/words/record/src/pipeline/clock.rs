//! How workers spend their time: in exactly one state at every moment, so that the times add up to wall time.

use serde::{Deserialize, Serialize};

/// What a worker does at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerState {
    /// It waits for an item.
    Starved,
    /// It has an item and no place to put it.
    Blocked,
    /// A rule keeps it from working: politeness, a commit, too many merges.
    Gated,
    /// It runs, or is ready to run.
    Cpu,
    /// It waits for a volume.
    Device,
    /// It waits for bytes over the network.
    Network,
    /// It waits for a connection of its own side.
    Pool,
    /// It waits for something else: the repository's answer, a lock, a server.
    Other,
}

/// How many states there are.
pub const WORKER_STATES: usize = 8;

impl WorkerState {
    /// Every state, in the order of [`WorkerState::index`].
    pub const ALL: [Self; WORKER_STATES] =
        [Self::Starved, Self::Blocked, Self::Gated, Self::Cpu, Self::Device, Self::Network, Self::Pool, Self::Other];

    /// A dense index for tables.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
    /// Whether the worker has work in hand that goes on.
    #[must_use]
    pub const fn is_busy(self) -> bool {
        matches!(self, Self::Cpu | Self::Device | Self::Network | Self::Pool | Self::Other)
    }
}

/// The time of a station's workers by state. The states add up to wall time times workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationClock {
    /// Waiting for an item, ns.
    pub starved_ns: u64,
    /// Waiting for a place to put one, ns.
    pub blocked_ns: u64,
    /// Kept from working by a rule, ns.
    pub gated_ns: u64,
    /// Working.
    pub busy: BusySplit,
}

/// Where working time went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusySplit {
    /// On a processor, ns.
    pub on_cpu_ns: u64,
    /// Ready to run and not running, ns.
    pub runnable_ns: u64,
    /// Waiting for a volume, ns.
    pub device_ns: u64,
    /// Waiting for bytes over the network, ns.
    pub network_ns: u64,
    /// Waiting for a connection of its own side, ns.
    pub pool_ns: u64,
    /// Waiting for anything else, ns.
    pub other_ns: u64,
}

impl BusySplit {
    /// Of a worker's working time: what the kernel counted as running and as ready to run, and a rest that waited for `rest`.
    /// The kernel's two counts are cut to the time there was.
    #[must_use]
    pub fn measured(busy_ns: u64, on_cpu_ns: u64, runnable_ns: u64, rest: WorkerState) -> Self {
        let on_cpu_ns = on_cpu_ns.min(busy_ns);
        let runnable_ns = runnable_ns.min(busy_ns - on_cpu_ns);
        let mut split = Self { on_cpu_ns, runnable_ns, ..Self::default() };
        let rest_ns = busy_ns - on_cpu_ns - runnable_ns;
        match rest {
            WorkerState::Device => split.device_ns = rest_ns,
            WorkerState::Network => split.network_ns = rest_ns,
            WorkerState::Pool => split.pool_ns = rest_ns,
            WorkerState::Starved
            | WorkerState::Blocked
            | WorkerState::Gated
            | WorkerState::Cpu
            | WorkerState::Other => split.other_ns = rest_ns,
        }
        split
    }
    /// Running or ready to run, ns.
    #[must_use]
    pub const fn cpu_ns(&self) -> u64 {
        self.on_cpu_ns + self.runnable_ns
    }
    /// All of it, ns.
    #[must_use]
    pub const fn total_ns(&self) -> u64 {
        self.cpu_ns() + self.device_ns + self.network_ns + self.pool_ns + self.other_ns
    }
}

impl StationClock {
    /// Of times by [`WorkerState::index`], of which `on_cpu_ns` were spent on a processor.
    ///
    /// # Panics
    /// When they do not add up to `wall_ns` times `workers`, or more was on a processor than could run: a time was lost.
    #[must_use]
    pub fn of(times_ns: [u64; WORKER_STATES], on_cpu_ns: u64, wall_ns: u64, workers: u32) -> Self {
        let of = |state: WorkerState| times_ns[state.index()];
        let clock = Self {
            starved_ns: of(WorkerState::Starved),
            blocked_ns: of(WorkerState::Blocked),
            gated_ns: of(WorkerState::Gated),
            busy: BusySplit {
                on_cpu_ns,
                runnable_ns: of(WorkerState::Cpu)
                    .checked_sub(on_cpu_ns)
                    .unwrap_or_else(|| panic!("{on_cpu_ns} ns on a processor, of {times_ns:?}")),
                device_ns: of(WorkerState::Device),
                network_ns: of(WorkerState::Network),
                pool_ns: of(WorkerState::Pool),
                other_ns: of(WorkerState::Other),
            },
        };
        let wanted = u128::from(wall_ns) * u128::from(workers);
        assert_eq!(u128::from(clock.total_ns()), wanted, "{workers} workers over {wall_ns} ns: {clock:?}");
        clock
    }
    /// All states together, ns.
    #[must_use]
    pub const fn total_ns(&self) -> u64 {
        self.starved_ns + self.blocked_ns + self.gated_ns + self.busy.total_ns()
    }
    /// A part of all states together, from 0.0 to 1.0; 0 without time.
    #[must_use]
    pub fn share(&self, part_ns: u64) -> f64 {
        if self.total_ns() == 0 { 0.0 } else { part_ns as f64 / self.total_ns() as f64 }
    }
}

/// The clock of one worker: told each change of its state, at its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerClock {
    began_ns: u64,
    since_ns: u64,
    state: WorkerState,
    times_ns: [u64; WORKER_STATES],
}

impl WorkerClock {
    /// Starts at `now_ns` in this state.
    #[must_use]
    pub const fn new(now_ns: u64, state: WorkerState) -> Self {
        Self { began_ns: now_ns, since_ns: now_ns, state, times_ns: [0; WORKER_STATES] }
    }
    /// Its state is another from `now_ns` on.
    ///
    /// # Panics
    /// When time goes back.
    pub fn enter(&mut self, now_ns: u64, state: WorkerState) {
        assert!(now_ns >= self.since_ns, "time went back from {} to {now_ns} ns", self.since_ns);
        self.times_ns[self.state.index()] += now_ns - self.since_ns;
        (self.since_ns, self.state) = (now_ns, state);
    }
    /// Its state.
    #[must_use]
    pub const fn state(&self) -> WorkerState {
        self.state
    }
    /// Ends at `now_ns`: the time by [`WorkerState::index`], which adds up to the time since the start.
    ///
    /// # Panics
    /// When time goes back.
    #[must_use]
    pub fn finish(mut self, now_ns: u64) -> [u64; WORKER_STATES] {
        self.enter(now_ns, self.state);
        assert_eq!(self.times_ns.iter().sum::<u64>(), now_ns - self.began_ns, "a worker's clock lost time");
        self.times_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_of_a_worker_add_up_to_its_time() {
        let mut clock = WorkerClock::new(100, WorkerState::Starved);
        for (at, state) in [(130, WorkerState::Cpu), (130, WorkerState::Other), (190, WorkerState::Blocked)] {
            clock.enter(at, state);
        }
        let times = clock.finish(250);
        assert_eq!(times, [30, 60, 0, 0, 0, 0, 0, 60]);
        let of = StationClock::of(times, 0, 150, 1);
        assert_eq!((of.starved_ns, of.blocked_ns, of.busy.total_ns()), (30, 60, 60));
    }

    #[test]
    #[should_panic(expected = "2 workers over 150 ns")]
    fn a_station_whose_times_do_not_add_up_is_a_bug() {
        let _ = StationClock::of([150, 0, 0, 0, 0, 0, 0, 0], 0, 150, 2);
    }

    #[test]
    fn what_the_kernel_counts_is_cut_to_the_time_there_was() {
        let split = BusySplit::measured(100, 70, 50, WorkerState::Device);
        assert_eq!((split.on_cpu_ns, split.runnable_ns, split.device_ns), (70, 30, 0));
        let split = BusySplit::measured(100, 20, 10, WorkerState::Device);
        assert_eq!((split.device_ns, split.total_ns()), (70, 100));
    }
}
