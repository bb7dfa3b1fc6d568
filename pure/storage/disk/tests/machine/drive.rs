//! Closed loops and steady arrivals on a machine, and environments to run them on.

use loadline_block::{Operation, Request};
use loadline_disk::{
    Directions, DiskSpec, EnvironmentSpec, InitialState, IopsBudget, Latency, LatencySpec, Layout, Limit, Machine,
    ThroughputBudget, VolumeSpec,
};
use loadline_units::{ByteRate, Bytes, Duration, Instant, Iops};

pub(crate) const MIB: u64 = 1 << 20;

/// A load on one volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) volume: &'static str,
    pub(crate) operation: Operation,
    pub(crate) length: u32,
    /// Requests outstanding.
    pub(crate) depth: u32,
    /// Requests a second, instead of `depth`.
    pub(crate) rate: Option<u64>,
    /// One after the other; else spread over `span`.
    pub(crate) sequential: bool,
    pub(crate) span: u64,
}

pub(crate) fn reads(volume: &'static str, length: u32, depth: u32) -> Load {
    Load { volume, operation: Operation::Read, length, depth, rate: None, sequential: false, span: 1 << 30 }
}

pub(crate) fn writes(volume: &'static str, length: u32, depth: u32) -> Load {
    Load { operation: Operation::Write, ..reads(volume, length, depth) }
}

/// What a load achieved in the measured time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Achieved {
    pub(crate) count: u64,
    pub(crate) latencies: Vec<u64>,
}

impl Achieved {
    /// A percentile of the latencies, in ms.
    pub(crate) fn percentile(&mut self, share: f64) -> f64 {
        self.latencies.sort_unstable();
        self.latencies[((self.latencies.len() - 1) as f64 * share) as usize] as f64 / 1e6
    }
}

/// SplitMix64: numbers without pattern.
fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `number`-th offset of a load: spread without pattern, the same each time.
fn offset(load: &Load, number: u64) -> u64 {
    let blocks = load.span / u64::from(load.length);
    let block = if load.sequential { number } else { scramble(number) };
    block % blocks * u64::from(load.length)
}

/// Runs loads side by side; what is done within `from .. to` counts.
pub(crate) fn run(machine: &mut Machine, loads: &[Load], from: Duration, to: Duration) -> Vec<Achieved> {
    let begin = machine.now();
    let (from, to) = (begin + from, begin + to);
    let mut achieved = vec![Achieved::default(); loads.len()];
    let mut issued = vec![0u64; loads.len()];
    let mut whose: Vec<usize> = Vec::new();
    let mut submit = |machine: &mut Machine, index: usize, now: Instant, whose: &mut Vec<usize>| {
        let load = &loads[index];
        let offset = offset(load, issued[index]);
        issued[index] += 1;
        let target = machine.target(load.volume).unwrap();
        let request = Request { operation: load.operation, durable: false, length: load.length, offset, due_at: now };
        let id = machine.submit(now, target, request).index();
        whose.resize(whose.len().max(id + 1), 0);
        whose[id] = index;
    };
    for (index, load) in loads.iter().enumerate().filter(|(_, load)| load.rate.is_none()) {
        (0..load.depth).for_each(|_| submit(machine, index, begin, &mut whose));
    }
    let mut arrivals: Vec<u64> = vec![0; loads.len()];
    loop {
        let due = |index: usize, arrivals: &[u64]| {
            loads[index].rate.map(|rate| begin + Duration::from_ns(arrivals[index] * 1_000_000_000 / rate))
        };
        let next = (0..loads.len()).filter_map(|index| due(index, &arrivals).map(|at| (at, index))).min();
        let event = machine.next_event_at();
        if let Some((at, index)) = next
            && event.is_none_or(|event| at < event)
        {
            if at >= to {
                return achieved;
            }
            submit(machine, index, at, &mut whose);
            arrivals[index] += 1;
            continue;
        }
        let Some(at) = event.filter(|at| *at < to) else { return achieved };
        let Some((id, completion)) = machine.pop_completed(at) else { continue };
        assert_eq!(completion.completed_at, at);
        assert!(completion.submitted_at <= completion.admitted_at && completion.admitted_at <= at);
        let index = whose[id.index()];
        if at >= from {
            achieved[index].count += 1;
            achieved[index].latencies.push(completion.latency().as_ns());
        }
        if loads[index].rate.is_none() {
            submit(machine, index, at, &mut whose);
        }
    }
}

/// Requests a second of each load, after a warm-up of 2 s, over 10 s, rounded.
pub(crate) fn rates(environment: &EnvironmentSpec, initial: InitialState, loads: &[Load]) -> Vec<u64> {
    let mut machine = Machine::new(environment, 1, initial).unwrap();
    let achieved = run(&mut machine, loads, Duration::from_s(2), Duration::from_s(12));
    achieved.iter().map(|achieved| (achieved.count + 5) / 10).collect()
}

/// Requests a second of all loads together.
pub(crate) fn total_rate(environment: &EnvironmentSpec, initial: InitialState, loads: &[Load]) -> u64 {
    let mut machine = Machine::new(environment, 1, initial).unwrap();
    let achieved = run(&mut machine, loads, Duration::from_s(2), Duration::from_s(12));
    (achieved.iter().map(|achieved| achieved.count).sum::<u64>() + 5) / 10
}

pub(crate) fn limit(iops: u64, bytes_per_s: u64) -> Limit {
    Limit {
        iops: Iops::per_second(iops).map(|rate| Directions::Together(IopsBudget::steady(rate))),
        throughput: ByteRate::per_second(bytes_per_s).map(|rate| Directions::Together(ThroughputBudget::steady(rate))),
        counted_size: Some(Bytes::kib(256)),
        ..Limit::default()
    }
}

pub(crate) fn constant(median: Duration) -> Latency {
    let latency = LatencySpec { median, p99: median, per_kib: Duration::ZERO };
    Latency { read: latency, write: latency, flush: None }
}

pub(crate) fn disk(limit: Limit) -> DiskSpec {
    DiskSpec { size: Some(Bytes::gib(1024)), limit, latency: constant(Duration::from_ms(1)), ..DiskSpec::default() }
}

pub(crate) fn volume(name: &str, disk: &DiskSpec, count: u32) -> VolumeSpec {
    let layout = match count {
        1 => Layout::Single,
        columns => Layout::Stripe { columns, interleave: Bytes::kib(64) },
    };
    VolumeSpec { name: name.to_owned(), disks: vec![disk.clone(); count as usize], layout, ..VolumeSpec::default() }
}

pub(crate) fn environment(volumes: Vec<VolumeSpec>) -> EnvironmentSpec {
    EnvironmentSpec { volumes, ..EnvironmentSpec::default() }
}
