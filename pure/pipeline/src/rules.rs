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

/// A source's share of the machine's processors' time while it ran.
#[must_use]
pub fn cores_busy(record: &PipelineRecord, source: usize) -> f64 {
    let ended = record.sources[source].ended_ns;
    let intervals = ended.div_ceil(record.interval_ns.max(1)) as usize;
    let (mut used, mut all) = (0u64, 0u64);
    for interval in 0..intervals {
        let length = length_of(record, interval);
        let series = record.stations.iter().map(|of| &of.series).chain(record.sources.iter().map(|of| &of.series));
        let wanted: u64 = series
            .filter_map(|series| series.get(interval))
            .map(|interval| of(&interval.times_ns, WorkerState::Cpu))
            .sum();
        let there = length * u64::from(record.spec.cores);
        used += wanted.min(there);
        all += there;
    }
    if all == 0 { 0.0 } else { used as f64 / all as f64 }
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

/// What the clocks name for a source, the largest share first.
#[must_use]
pub fn named_by_clocks(record: &PipelineRecord, number: usize) -> Vec<NamedShare> {
    let source = &record.sources[number];
    let cores_are_busy = cores_busy(record, number) >= CORES_BUSY;
    let (first, last) = steady(record, source);
    let mut times: BTreeMap<Lever, u64> = BTreeMap::new();
    for interval in first..last {
        if let Some(slots) = source.series.get(interval) {
            let lever = held_by(record, number, slots, interval, cores_are_busy);
            *times.entry(lever).or_default() += length_of(record, interval);
        }
    }
    let all: u64 = times.values().sum();
    let mut shares: Vec<NamedShare> =
        times.into_iter().map(|(lever, ns)| NamedShare { lever, share: ns as f64 / all.max(1) as f64 }).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

/// Slots that are not used for more than this share of their time are not what is short.
const UNUSED: f64 = 0.1;
/// From this share of its time on a station's workers have no room left.
const SATURATED: f64 = 0.85;

/// Steps 1 to 3: is it the frontier, the gate, the source itself, or something behind it?
fn held_by(
    record: &PipelineRecord,
    number: usize,
    slots: &StationInterval,
    interval: usize,
    cores_are_busy: bool,
) -> Lever {
    let t = &slots.times_ns;
    let unused = (t.iter().sum::<u64>() as f64 * UNUSED) as u64;
    let starved = of(t, WorkerState::Starved);
    let gated = of(t, WorkerState::Gated);
    let blocked = of(t, WorkerState::Blocked);
    let most = starved.max(gated).max(blocked);
    // Slots that wait for a connection have passed the gate: it is not what is short.
    if most < unused || of(t, WorkerState::Pool) >= unused.max(blocked) {
        return fetching(record, number, t, unused, cores_are_busy);
    }
    if most == gated {
        return Lever::Politeness(number);
    }
    // Links that wait behind a station without room starve the slots as well.
    if most == starved && !is_saturated_behind(record, interval) {
        return Lever::Discovery(number);
    }
    behind(record, interval, cores_are_busy)
}

/// What slots that all fetch wait for.
fn fetching(
    record: &PipelineRecord,
    number: usize,
    t: &[u64; WORKER_STATES],
    unused: u64,
    cores_are_busy: bool,
) -> Lever {
    let network = of(t, WorkerState::Network);
    let cpu = of(t, WorkerState::Cpu);
    let answer = of(t, WorkerState::Other) + of(t, WorkerState::Device);
    if network >= cpu.max(answer) && record.spec.network.is_some() {
        Lever::Network
    } else if cpu >= answer && cores_are_busy {
        Lever::Cores
    } else if of(t, WorkerState::Pool) >= unused {
        Lever::Connections(number)
    } else {
        Lever::Repository(number)
    }
}

/// Whether a station behind the slots works all the time.
fn is_saturated_behind(record: &PipelineRecord, interval: usize) -> bool {
    let line = record.stations.iter().filter(|of| Station::LINE.contains(&of.station));
    line.filter_map(|station| station.series.get(interval)).any(|series| {
        let idle = of(&series.times_ns, WorkerState::Starved) + of(&series.times_ns, WorkerState::Blocked);
        let all: u64 = series.times_ns.iter().sum();
        (all - idle) as f64 >= SATURATED * all as f64
    })
}

/// Steps 3 and 4: the station whose workers have the least time without work, and what they do.
fn behind(record: &PipelineRecord, interval: usize, cores_are_busy: bool) -> Lever {
    let mut most: Option<(f64, &StationRecord, &StationInterval)> = None;
    for station in record.stations.iter().filter(|of| Station::LINE.contains(&of.station)) {
        let Some(series) = station.series.get(interval) else { continue };
        let all = series.times_ns.iter().sum::<u64>().max(1) as f64;
        let blocked = of(&series.times_ns, WorkerState::Blocked) as f64 / all;
        if station.station == Station::Index && blocked >= 0.5 && is_blocked_by_merges(station) {
            return Lever::Merges;
        }
        let working = 1.0 - blocked - of(&series.times_ns, WorkerState::Starved) as f64 / all;
        if most.is_none_or(|(before, ..)| working > before) {
            most = Some((working, station, series));
        }
    }
    let Some((_, station, series)) = most else { return Lever::Cores };
    cause(record, station, series, cores_are_busy)
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
    let gated = of(t, WorkerState::Gated);
    if gated >= cpu.max(device).max(other) && gated > 0 {
        return Lever::Commit;
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
