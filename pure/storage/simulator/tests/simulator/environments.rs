//! Environments and loads for the tests.

use loadline_disk::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, InitialState, IopsBudget, Latency, LatencySpec, Limit, Machine,
    ThroughputBudget, VolumeSpec,
};
use loadline_record::TrialRecord;
use loadline_simulator::{Simulated, TrialSetup, simulate};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, LoadSpec};

pub(crate) const SETUP: TrialSetup = TrialSetup { trial: 0, seed: 1, started_unix_s: 1_700_000_000 };

pub(crate) fn iops(rate: u64) -> Iops {
    Iops::per_second(rate).unwrap()
}

pub(crate) fn byte_rate(rate: u64) -> ByteRate {
    ByteRate::per_second(rate).unwrap()
}

pub(crate) fn limit(requests: u64, bytes: u64, enforcement: Enforcement) -> Limit {
    Limit {
        iops: Some(Directions::Together(IopsBudget::steady(iops(requests)))),
        throughput: Some(Directions::Together(ThroughputBudget::steady(byte_rate(bytes)))),
        counted_size: Some(Bytes::kib(256)),
        enforcement,
        ..Limit::default()
    }
}

pub(crate) fn latency(median: Duration, p99: Duration) -> Latency {
    let latency = LatencySpec { median, p99, per_kib: Duration::ZERO };
    Latency { read: latency, write: latency, flush: None }
}

pub(crate) fn disk(limit: Limit, latency: Latency) -> DiskSpec {
    DiskSpec { size: Some(Bytes::gib(1024)), limit, latency, ..DiskSpec::default() }
}

pub(crate) fn single(disk: DiskSpec) -> EnvironmentSpec {
    let volume = VolumeSpec { name: "data".to_owned(), disks: vec![disk], ..VolumeSpec::default() };
    EnvironmentSpec { volumes: vec![volume], ..EnvironmentSpec::default() }
}

pub(crate) fn closed(depth: u32) -> Arrival {
    Arrival::Closed { queue_depth: depth, rate_max: None, think_time: Duration::ZERO }
}

pub(crate) fn blocks(size: Bytes) -> Vec<BlockShare> {
    vec![BlockShare { size, share: Ratio::ONE }]
}

pub(crate) fn run(environment: &EnvironmentSpec, load: &LoadSpec) -> Simulated {
    let machine = Machine::new(environment, 1, InitialState::default()).unwrap();
    let target = machine.target("data").unwrap();
    simulate(load, machine, target, SETUP).unwrap()
}

pub(crate) fn record(environment: &EnvironmentSpec, load: &LoadSpec) -> TrialRecord {
    run(environment, load).record
}
