//! A crawl as it is now: what its sources, stations and queues did over the last seconds, and what bound each source so far.

use crate::attribution::{Bound, attribute_within};
use loadline_record::{PipelineRecord, SourceRecord, Station, StationInterval, WORKER_STATES, WorkerState};
use serde::{Deserialize, Serialize};

/// Figures are of so many full intervals at the end.
const INTERVALS: usize = 5;
/// Items that are replayed at most while the crawl goes on.
pub const LIVE_REPLAYED_MAX: u64 = 2_000;

/// A crawl while it goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveCrawl {
    /// In the plan's order.
    pub sources: Vec<LiveSource>,
    /// Stations that sources share, in the order in which an item passes.
    pub stations: Vec<LiveStation>,
    /// The epoch that the next commit makes durable.
    pub epoch: LiveEpoch,
    /// The time that what bound the sources is judged by, ns: 0 while it is too early.
    pub judged_ns: u64,
}

/// A source over the last seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveSource {
    /// Its name.
    pub name: String,
    /// Items that passed every station.
    pub items: u64,
    /// Items that failed.
    pub failed: u64,
    /// Items per second that were fetched.
    pub items_per_s: f64,
    /// Fetches in flight at most.
    pub slots: u32,
    /// What the slots did.
    pub states: LiveShares,
    /// Mean time of a fetch, ns; `null` where none was at work.
    pub latency_ns: Option<u64>,
    /// Items that are known and wait.
    pub left: u64,
    /// What bound it so far; `null` where it is too early.
    pub bound: Option<Bound>,
}

/// A station that sources share over the last seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveStation {
    /// Which.
    pub station: Station,
    /// Its workers.
    pub workers: u32,
    /// What they did.
    pub states: LiveShares,
    /// Items that passed it, per second.
    pub passed_per_s: f64,
    /// The queue before it, where it has one.
    pub queue: Option<LiveQueue>,
}

/// A queue now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveQueue {
    /// Items in it.
    pub items: u64,
    /// Items that it has room for.
    pub items_max: u64,
}

/// An epoch under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveEpoch {
    /// Its number.
    pub number: u64,
    /// Items that were indexed in it.
    pub items: u64,
    /// With so many it ends.
    pub items_max: u64,
}

/// What workers did, as shares of their time. The rest is a state that has gone on for longer than that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveShares {
    /// On a processor, or ready to run.
    pub cpu: f64,
    /// Waiting for a volume, the network or an answer, with work in hand.
    pub waiting: f64,
    /// Waiting for an item.
    pub starved: f64,
    /// With an item and no place to put it.
    pub blocked: f64,
    /// Kept back by a rule.
    pub gated: f64,
}

impl LiveShares {
    fn of(times_ns: [u64; WORKER_STATES], all_ns: u64) -> Self {
        let of = |states: &[WorkerState]| {
            let sum: u64 = states.iter().map(|state| times_ns[state.index()]).sum();
            sum as f64 / all_ns.max(times_ns.iter().sum()).max(1) as f64
        };
        Self {
            cpu: of(&[WorkerState::Cpu]),
            waiting: of(&[WorkerState::Device, WorkerState::Network, WorkerState::Pool, WorkerState::Other]),
            starved: of(&[WorkerState::Starved]),
            blocked: of(&[WorkerState::Blocked]),
            gated: of(&[WorkerState::Gated]),
        }
    }
    /// With work in hand.
    #[must_use]
    pub fn busy(self) -> f64 {
        self.cpu + self.waiting
    }
}

/// The last full intervals: times, items that passed, and how long they are, s.
fn last(record: &PipelineRecord, series: &[StationInterval]) -> ([u64; WORKER_STATES], u64, f64) {
    let full = (record.wall_ns / record.interval_ns.max(1)) as usize;
    let first = full.saturating_sub(INTERVALS);
    let own = series.get(first.min(series.len())..full.min(series.len())).unwrap_or_default();
    let mut times = [0; WORKER_STATES];
    for interval in own {
        times.iter_mut().zip(interval.times_ns).for_each(|(sum, ns)| *sum += ns);
    }
    let seconds = (full - first) as f64 * record.interval_ns as f64 / 1e9;
    (times, own.iter().map(|interval| interval.passed).sum(), seconds)
}

impl LiveCrawl {
    /// Of what was measured so far; `left` has the items of each source that wait, `queues` those before stations.
    #[must_use]
    pub fn of(record: &PipelineRecord, left: &[u64], queues: &[(Station, LiveQueue)], epoch: LiveEpoch) -> Self {
        let source = |(place, of): (usize, &SourceRecord)| {
            let slots = record.spec.sources.get(place).map_or(0, |source| source.slots);
            let (times, passed, seconds) = last(record, &of.series);
            let states = LiveShares::of(times, (seconds * 1e9 * f64::from(slots)) as u64);
            let in_flight = states.busy() * f64::from(slots);
            let items_per_s = if seconds > 0.0 { passed as f64 / seconds } else { 0.0 };
            LiveSource {
                name: of.name.clone(),
                items: of.items,
                failed: of.failed(),
                items_per_s,
                slots,
                states,
                // Little's law.
                latency_ns: (items_per_s > 0.0).then(|| (in_flight / items_per_s * 1e9) as u64),
                left: left.get(place).copied().unwrap_or_default(),
                bound: None,
            }
        };
        let stations = record.stations.iter().map(|of| {
            let (times, passed, seconds) = last(record, &of.series);
            LiveStation {
                station: of.station,
                workers: of.workers,
                states: LiveShares::of(times, (seconds * 1e9 * f64::from(of.workers)) as u64),
                passed_per_s: if seconds > 0.0 { passed as f64 / seconds } else { 0.0 },
                queue: queues.iter().find(|(station, _)| *station == of.station).map(|(_, queue)| *queue),
            }
        });
        let stations = stations.collect();
        let sources = record.sources.iter().enumerate().map(source).collect();
        Self { sources, stations, epoch, judged_ns: 0 }
    }

    /// Has what bound each source judged as of a stored crawl, with so many items replayed at most.
    pub fn judge(&mut self, record: &PipelineRecord, replayed_max: u64) {
        let Ok(found) = attribute_within(record, replayed_max) else { return };
        self.judged_ns = record.wall_ns;
        for source in &mut self.sources {
            let own = found.iter().find(|of| of.source == source.name);
            source.bound = own.map(|of| of.bound.clone());
        }
    }

    /// Takes over what bound the sources of an earlier frame.
    pub fn judged_as(&mut self, before: &Self) {
        self.judged_ns = before.judged_ns;
        self.sources.iter_mut().zip(&before.sources).for_each(|(own, before)| own.bound.clone_from(&before.bound));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_time_and_a_state_that_goes_on_is_not_in_them() {
        let mut times = [0; WORKER_STATES];
        times[WorkerState::Cpu.index()] = 2_000;
        times[WorkerState::Network.index()] = 3_000;
        let shares = LiveShares::of(times, 10_000);
        assert_eq!((shares.cpu, shares.waiting, shares.busy(), shares.starved), (0.2, 0.3, 0.5, 0.0));
        // What is charged at its end may be longer than the intervals are.
        assert!((LiveShares::of(times, 1_000).busy() - 1.0).abs() < 1e-9);
    }
}
