//! What the clocks say: for each second of a source, the lever that held it, by rules alone.

use crate::lever::Lever;
use loadline_record::{
    BatchRecord, PipelineRecord, SourceRecord, Station, StationInterval, StationRecord, VolumeRole, WORKER_STATES,
    WorkerState,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// From this share of their time on, processors are busy.
pub const CORES_BUSY: f64 = 0.85;

/// Counters of the machine and of the crawl begin and end apart: so much is taken as left at least.
const LEFT_MIN: f64 = 0.05;

/// The share of a source's time for which the clocks name a lever.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NamedShare {
    /// The lever.
    pub lever: Lever,
    /// Of the source's steady time, from 0.0 to 1.0.
    pub share: f64,
}

/// Which of the times is the largest.
fn largest<T: Copy>(times: &[(T, u64)]) -> T {
    let mut most = times[0];
    for time in times {
        if time.1 > most.1 {
            most = *time;
        }
    }
    most.0
}

const fn of(times: &[u64; WORKER_STATES], state: WorkerState) -> u64 {
    times[state.index()]
}

/// The share of processor time that the crawl wanted while a source ran, of what other processes and the hypervisor left it.
#[must_use]
pub fn cores_busy(record: &PipelineRecord, source: usize) -> f64 {
    let ended = record.sources[source].ended_ns;
    let intervals = ended.div_ceil(record.interval_ns.max(1)) as usize;
    let left = left_by_others(record);
    let (mut used, mut all) = (0u64, 0u64);
    for interval in 0..intervals {
        let length = length_of(record, interval);
        let series = record.stations.iter().map(|of| &of.series).chain(record.sources.iter().map(|of| &of.series));
        let wanted: u64 = series
            .filter_map(|series| series.get(interval))
            .map(|interval| of(&interval.times_ns, WorkerState::Cpu))
            .sum();
        let there = (length as f64 * f64::from(record.spec.cores) * left) as u64;
        used += wanted.min(there);
        all += there;
    }
    if all == 0 { 0.0 } else { used as f64 / all as f64 }
}

/// The share of all processor time that was neither other processes' nor the hypervisor's.
fn left_by_others(record: &PipelineRecord) -> f64 {
    let all = record.wall_ns as f64 * f64::from(record.spec.cores);
    let taken = (record.cpu.others_ns + record.cpu.steal_ns) as f64;
    if all > 0.0 { (1.0 - taken / all).max(LEFT_MIN) } else { 1.0 }
}

fn length_of(record: &PipelineRecord, interval: usize) -> u64 {
    record.wall_ns.saturating_sub(interval as u64 * record.interval_ns).min(record.interval_ns)
}

/// The first and the last interval of a source's steady time, the last not included: without the ramp until items leave the line,
/// and without the drain after the last was fetched.
fn steady(record: &PipelineRecord, source: &SourceRecord) -> (usize, usize) {
    let database = record.stations.iter().find(|of| of.station == Station::Database);
    let first = database.and_then(|of| of.series.iter().position(|interval| interval.passed > 0)).unwrap_or(0);
    let last = source.series.iter().rposition(|interval| interval.passed > 0).unwrap_or(0);
    // The interval in which it happens belongs to neither.
    if last > first + 2 { (first + 1, last) } else { (first.min(last), last + 1) }
}

/// Which shared resources had no room left while a source ran.
#[derive(Debug, Clone, Copy)]
struct Shared {
    cores: bool,
    network: bool,
}

/// A source's share of the network while it ran; `None` where its rate is not known.
fn network_busy(record: &PipelineRecord, source: usize) -> Option<f64> {
    let rate = record.spec.network?;
    let ended = record.sources[source].ended_ns.max(1);
    let intervals = ended.div_ceil(record.interval_ns.max(1)) as usize;
    let bytes: u64 = record.received_bytes.iter().take(intervals).sum();
    Some(bytes as f64 * 1e9 / ended as f64 / rate.get() as f64)
}

/// What the clocks name for a source, the largest share first.
#[must_use]
pub fn named_by_clocks(record: &PipelineRecord, number: usize) -> Vec<NamedShare> {
    let source = &record.sources[number];
    let shared = Shared {
        cores: cores_busy(record, number) >= CORES_BUSY,
        network: network_busy(record, number).is_some_and(|busy| busy >= SATURATED),
    };
    let (first, last) = steady(record, source);
    let mut times: BTreeMap<Lever, u64> = BTreeMap::new();
    for interval in first..last {
        if let Some(slots) = source.series.get(interval) {
            let lever = held_by(record, number, slots, interval, shared);
            *times.entry(lever).or_default() += length_of(record, interval);
        }
    }
    let all: u64 = times.values().sum();
    let mut named: Vec<NamedShare> =
        times.into_iter().map(|(lever, ns)| NamedShare { lever, share: ns as f64 / all.max(1) as f64 }).collect();
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    named
}

/// Slots that are not used for more than this share of their time are not what is short.
const UNUSED: f64 = 0.1;
/// From this share of its time on a station's workers have no room left, nor has a network at this share of its rate.
const SATURATED: f64 = 0.85;

/// Steps 1 to 3: is it the frontier, the gate, the source itself, or something behind it?
fn held_by(record: &PipelineRecord, number: usize, slots: &StationInterval, interval: usize, shared: Shared) -> Lever {
    let t = &slots.times_ns;
    let share = |ns: u64, whole: u64| ns as f64 / whole.max(1) as f64;
    let all: u64 = t.iter().sum();
    let starved = of(t, WorkerState::Starved);
    let gated = of(t, WorkerState::Gated);
    let blocked = of(t, WorkerState::Blocked);
    let fetches = all - starved - gated - blocked;
    let most = starved.max(gated).max(blocked);
    // Neither frontier nor gate is short where fetches wait for connections or for a network without room. A delay of the gate
    // is: it does not depend on how long a fetch takes.
    let by_network = shared.network && of(t, WorkerState::Network) * 2 >= fetches;
    let is_full = share(of(t, WorkerState::Pool), fetches) >= UNUSED || by_network;
    let is_delayed = most == gated && !is_by_host(&record.sources[number]);
    if share(most, all) < UNUSED || (is_full && !is_delayed && blocked <= fetches) {
        return fetching(record, number, t, shared);
    }
    if most == blocked {
        let has_room = !has_no_room_behind(record, interval);
        let fetches_most = has_room && fetches > blocked;
        return if fetches_most { fetching(record, number, t, shared) } else { behind(record, interval, shared) };
    }
    // Items that the gate keeps back could be fetched otherwise, whatever happens behind. Where few items are known, those spend their
    // time at the gate or on their way to the next links.
    if most == gated || gated > fetches + blocked {
        return Lever::Politeness(number);
    }
    // Links that wait behind a station without room starve the slots as well.
    if shared.cores || has_no_room_behind(record, interval) {
        return behind(record, interval, shared);
    }
    Lever::Discovery(number)
}

/// Whether the gate keeps items back because their hosts have fetches in flight, rather than for a time.
fn is_by_host(source: &SourceRecord) -> bool {
    let [delay, per_host, retry] = source.gated_by_ns;
    per_host > delay + retry
}

/// What slots that all fetch wait for.
fn fetching(record: &PipelineRecord, number: usize, t: &[u64; WORKER_STATES], shared: Shared) -> Lever {
    let network = of(t, WorkerState::Network);
    let cpu = of(t, WorkerState::Cpu);
    let answer = of(t, WorkerState::Other) + of(t, WorkerState::Device);
    let pool = of(t, WorkerState::Pool);
    if record.spec.network.is_some() && network >= cpu.max(answer) {
        Lever::Network
    } else if cpu >= answer && shared.cores {
        Lever::Cores
    } else if pool as f64 >= UNUSED * (network + cpu + answer + pool) as f64 {
        Lever::Connections(number)
    } else {
        Lever::Repository(number)
    }
}

/// Whether a station behind the slots works all the time, or waits for merges.
fn has_no_room_behind(record: &PipelineRecord, interval: usize) -> bool {
    let line = record.stations.iter().filter(|of| Station::LINE.contains(&of.station));
    line.filter_map(|station| Some((station, station.series.get(interval)?))).any(|(station, series)| {
        let by_merges = if is_blocked_by_merges(station) { of(&series.times_ns, WorkerState::Blocked) } else { 0 };
        let idle = of(&series.times_ns, WorkerState::Starved) + of(&series.times_ns, WorkerState::Blocked);
        let all: u64 = series.times_ns.iter().sum();
        (all - idle + by_merges) as f64 >= SATURATED * all as f64
    })
}

/// Steps 3 and 4: the station whose workers have the least time without work, and what they do.
fn behind(record: &PipelineRecord, interval: usize, shared: Shared) -> Lever {
    let mut most: Option<(f64, &StationRecord, &StationInterval)> = None;
    // Index workers that a commit keeps back wait for it, or for rows to be written: the workers that are busy then are the shortage.
    for station in record.stations.iter().filter(|of| of.station != Station::Merge) {
        let Some(series) = station.series.get(interval) else { continue };
        let all = series.times_ns.iter().sum::<u64>().max(1) as f64;
        let blocked = of(&series.times_ns, WorkerState::Blocked) as f64 / all;
        if station.station == Station::Index && blocked >= 0.5 && is_blocked_by_merges(station) {
            return Lever::Merges;
        }
        let idle = of(&series.times_ns, WorkerState::Starved) + of(&series.times_ns, WorkerState::Gated);
        let working = 1.0 - blocked - idle as f64 / all;
        if most.is_none_or(|(before, ..)| working > before) {
            most = Some((working, station, series));
        }
    }
    let Some((_, station, series)) = most else { return Lever::Cores };
    cause(record, station, series, shared.cores)
}

fn is_blocked_by_merges(station: &StationRecord) -> bool {
    station.blocked_by_merges_ns * 2 > station.clock.blocked_ns
}

/// Step 4: what a station's workers do with their time.
fn cause(record: &PipelineRecord, station: &StationRecord, series: &StationInterval, cores_are_busy: bool) -> Lever {
    let t = &series.times_ns;
    let cpu = of(t, WorkerState::Cpu);
    let device = of(t, WorkerState::Device);
    let other = of(t, WorkerState::Other) + of(t, WorkerState::Network) + of(t, WorkerState::Pool);
    if station.station == Station::Commit {
        return commits(record);
    }
    if device >= cpu.max(other) {
        return match station.station {
            Station::Index => index_writes(record, station, device),
            Station::Database => Lever::Volume(VolumeRole::Data),
            _ => Lever::Waits(station.station),
        };
    }
    if other >= cpu {
        return Lever::Waits(station.station);
    }
    if cores_are_busy { Lever::Cores } else { Lever::Workers(station.station) }
}

/// What a commit's time is: durability, which the commit policy asks for, or bytes that a volume writes.
fn commits(record: &PipelineRecord) -> Lever {
    let sum = |station: Station, of: fn(&BatchRecord) -> u64| -> u64 {
        let is_part = |batch: &&BatchRecord| batch.station == station && (station != Station::Index || batch.early);
        record.batches.iter().filter(is_part).map(of).sum()
    };
    let stations = [Station::Index, Station::Commit, Station::Database];
    let [segments, index, database] = stations.map(|station| sum(station, |batch| batch.write_ns));
    let sync: u64 = stations.map(|station| sum(station, |batch| batch.sync_ns)).iter().sum();
    largest(&[
        (Lever::Commit, sync),
        (Lever::Volume(VolumeRole::Index), segments + index),
        (Lever::Volume(VolumeRole::Log), database),
    ])
}

/// What of the index workers' waiting for their volume is: writes, or the price of many small segments.
fn index_writes(record: &PipelineRecord, station: &StationRecord, device: u64) -> Lever {
    let sum = |early: bool, of: fn(&BatchRecord) -> u64| -> u64 {
        let batches = record.batches.iter().filter(|batch| batch.station == Station::Index && batch.early == early);
        batches.map(of).sum()
    };
    let all = station.clock.busy.device_ns.max(1);
    let part = |ns: u64| (u128::from(ns) * u128::from(device) / u128::from(all)) as u64;
    let (full, early) = (part(sum(false, |batch| batch.sync_ns)), part(sum(true, |batch| batch.sync_ns)));
    let writes = device.saturating_sub(full + early);
    largest(&[(Lever::Volume(VolumeRole::Index), writes), (Lever::Memory, full), (Lever::Commit, early)])
}
