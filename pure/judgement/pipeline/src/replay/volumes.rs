//! Volumes of the pipeline on the disk model.

use loadline_block::{Operation, Request};
use loadline_disk::{EnvironmentError, EnvironmentSpec, InitialState, Machine, RequestId, Target};
use loadline_record::{VolumeRole, VolumeSecond, VolumeUse};
use loadline_units::{Bytes, Instant};

/// The end of a volume without one: its writes begin anew there.
const UNBOUNDED: u64 = 1 << 50;

/// The storage below a replay: which volume of an environment serves each role.
#[derive(Debug, Clone)]
pub struct StorageModel {
    /// The environment.
    pub environment: EnvironmentSpec,
    /// The seed of its service times.
    pub seed: u64,
    /// The volume of each role, by [`VolumeRole::ALL`]; `None`: its waits stay as they were measured.
    pub volumes: [Option<String>; 3],
}

#[derive(Debug, Clone)]
struct Place {
    target: Target,
    name: String,
    cursor: u64,
    in_flight: u32,
    busy_since: u64,
    series: Vec<VolumeSecond>,
}

impl Place {
    fn second(&mut self, at_ns: u64, interval_ns: u64) -> &mut VolumeSecond {
        let interval = (at_ns / interval_ns) as usize;
        if self.series.len() <= interval {
            self.series.resize(interval + 1, VolumeSecond::default());
        }
        &mut self.series[interval]
    }
    /// Requests were in flight until now.
    fn add_busy(&mut self, now_ns: u64, interval_ns: u64) {
        let mut from = self.busy_since;
        while from < now_ns {
            let until = now_ns.min((from / interval_ns + 1) * interval_ns);
            self.second(from, interval_ns).busy_ns += until - from;
            from = until;
        }
    }
}

/// The machine, and who waits for which request.
#[derive(Debug, Clone)]
pub(super) struct Volumes {
    machine: Machine,
    places: [Option<Place>; 3],
    owners: Vec<(u32, usize)>,
    interval_ns: u64,
}

impl Volumes {
    pub(super) fn new(model: &StorageModel, interval_ns: u64) -> Result<Self, EnvironmentError> {
        let machine = Machine::new(&model.environment, model.seed, InitialState::default())?;
        let places = model.volumes.clone().map(|name| {
            let name = name?;
            let target = machine.target(&name)?;
            Some(Place { target, name, cursor: 0, in_flight: 0, busy_since: 0, series: Vec::new() })
        });
        Ok(Self { machine, places, owners: Vec::new(), interval_ns })
    }
    pub(super) const fn serves(&self, role: VolumeRole) -> bool {
        self.places[role as usize].is_some()
    }
    pub(super) const fn next_ns(&self) -> u64 {
        self.machine.next_event().as_ns()
    }
    /// Submits a write of `length` bytes, or with 0 a flush.
    pub(super) fn submit(&mut self, now_ns: u64, role: VolumeRole, task: u32, length: u32) {
        let place = self.places[role as usize].as_mut().expect("the role has a volume");
        let end = self.machine.size(place.target).map_or(UNBOUNDED, Bytes::get);
        if place.cursor + u64::from(length) > end {
            place.cursor = 0;
        }
        let is_flush = length == 0;
        let operation = if is_flush { Operation::Flush } else { Operation::Write };
        let offset = if is_flush { 0 } else { place.cursor };
        place.cursor += u64::from(length);
        let due_at = Instant::from_ns(now_ns);
        let id =
            self.machine.submit(due_at, place.target, Request { operation, durable: false, length, offset, due_at });
        if self.owners.len() <= id.index() {
            self.owners.resize(id.index() + 1, (0, 0));
        }
        self.owners[id.index()] = (task, role as usize);
        if place.in_flight == 0 {
            place.busy_since = now_ns;
        }
        place.in_flight += 1;
    }
    /// The task of a request that is done by now.
    pub(super) fn take_done(&mut self, now_ns: u64) -> Option<u32> {
        let id: RequestId = self.machine.take_completed(Instant::from_ns(now_ns))?;
        let completion = self.machine.completion(id);
        let (task, role) = self.owners[id.index()];
        let place = self.places[role].as_mut().expect("the role has a volume");
        place.in_flight -= 1;
        if self.interval_ns > 0 {
            let second = place.second(now_ns, self.interval_ns);
            second.requests += 1;
            second.bytes += u64::from(completion.request.length);
            second.latency_ns += completion.latency().as_ns();
            if place.in_flight == 0 {
                place.add_busy(now_ns, self.interval_ns);
            }
        }
        Some(task)
    }
    /// What went to each volume.
    pub(super) fn finish(self) -> Vec<VolumeUse> {
        let used = self.places.into_iter().zip(VolumeRole::ALL);
        used.filter_map(|(place, role)| {
            place.map(|place| VolumeUse { role, name: place.name, devices: Vec::new(), series: place.series })
        })
        .collect()
    }
}
