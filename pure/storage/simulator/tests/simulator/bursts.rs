//! When bursts end: the published moments, to the second.

use crate::environments::{SETUP, blocks, byte_rate, closed, disk, iops, latency, record, single};
use loadline_disk::{
    Directions, Enforcement, EnvironmentSpec, Fullness, InitialState, IopsBudget, IopsBurst, Limit, Machine,
    ThroughputBudget, Warmth,
};
use loadline_record::{Series, TrialRecord};
use loadline_simulator::simulate;
use loadline_units::{Bytes, Duration};
use loadline_workload::LoadSpec;

const HOUR: u64 = 3_600;

/// 3 IOPS for each GiB, 100 at least; 5.4 million credits, full at the start; 3,000 while they last (EBS user guide).
fn general_purpose(gib: u64, enforcement: Enforcement) -> EnvironmentSpec {
    let burst = IopsBurst { rate: iops(3_000), credits: 5_400_000 };
    let budget = IopsBudget { rate: iops((3 * gib).max(100)), burst: Some(burst) };
    let limit = Limit {
        iops: Some(Directions::Together(budget)),
        counted_size: Some(Bytes::kib(256)),
        enforcement,
        ..Limit::default()
    };
    single(disk(limit, latency(Duration::from_ms(1), Duration::from_ms(2))))
}

/// Requests of 4 MiB count 16 each: a day of them is a sixteenth of the work.
fn a_day_of_large_reads() -> LoadSpec {
    LoadSpec {
        arrival: closed(64),
        blocks: blocks(Bytes::mib(4)),
        warm_up: Duration::ZERO,
        duration: Duration::from_s(24 * HOUR),
        ..LoadSpec::default()
    }
}

/// The first second from which on ten in a row stay below half-way between the two rates.
fn fall(series: &Series, high: f64, low: f64) -> usize {
    let rates: Vec<f64> = series.iops().collect();
    let middle = f64::midpoint(high, low);
    rates.windows(10).position(|ten| ten.iter().sum::<f64>() / 10.0 < middle).expect("it falls") + 5
}

/// Counted requests per second over all full seconds from `from` on.
fn mean_from(record: &TrialRecord, from: usize, counted: f64) -> f64 {
    let rates: Vec<f64> = record.series.iops().skip(from).collect();
    rates.iter().sum::<f64>() / rates.len() as f64 * counted
}

#[test]
fn general_purpose_volumes_fall_to_their_base_rate_when_their_credits_are_spent() {
    let window = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(2) };
    let bucket = Enforcement::Bucket { depth: Duration::from_s(1) };
    for (gib, enforcement) in [(20, bucket), (256, bucket), (20, window), (256, window)] {
        let base = (3 * gib).max(100) as f64;
        // The guide's formula: credits / (burst - base).
        let published = 5_400_000.0 / (3_000.0 - base);
        let record = record(&general_purpose(gib, enforcement), &a_day_of_large_reads());
        assert!(record.series.seconds.len() <= 86_400 && record.series.interval_s <= 2);
        let interval = f64::from(record.series.interval_s);
        let fell = fall(&record.series, 3_000.0 / 16.0, base / 16.0);
        assert!((fell as f64 * interval / published - 1.0).abs() < 0.01, "{gib} GiB: after {fell} of {published} s");
        let after = mean_from(&record, fell + 10, 16.0);
        assert!((after / base - 1.0).abs() < 0.01, "{gib} GiB: {after} for {base}");
    }
}

#[test]
fn without_credits_a_volume_begins_at_its_base_rate() {
    let environment = general_purpose(20, Enforcement::Smooth);
    let initial = InitialState { bursts: Fullness::Empty, vm_bursts: None, caches: Warmth::Cold };
    let machine = Machine::new(&environment, 1, initial).unwrap();
    let target = machine.target("data").unwrap();
    let load = LoadSpec { duration: Duration::from_s(HOUR), ..a_day_of_large_reads() };
    let record = simulate(&load, machine, target, SETUP).unwrap().record;
    assert!((record.iops().unwrap() * 16.0 / 100.0 - 1.0).abs() < 0.01);
}

/// A disk of 500 IOPS and 100 MB/s whose two buckets last for half an hour at 3,500 IOPS and 170 MB/s (azure-docs, disk
/// bursting).
fn credit_bursting(span: Duration) -> EnvironmentSpec {
    let limit = Limit {
        iops: Some(Directions::Together(IopsBudget::bursting(iops(500), iops(3_500), span))),
        throughput: Some(Directions::Together(ThroughputBudget::bursting(
            byte_rate(100_000_000),
            byte_rate(170_000_000),
            span,
        ))),
        counted_size: Some(Bytes::kib(256)),
        enforcement: Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(2) },
        ..Limit::default()
    };
    single(disk(limit, latency(Duration::from_us(2_500), Duration::from_ms(4))))
}

#[test]
fn each_of_two_buckets_lasts_half_an_hour_at_its_full_rate() {
    let environment = credit_bursting(Duration::from_s(HOUR / 2));
    for (size, high, low) in [(Bytes::kib(4), 3_500.0, 500.0), (Bytes::kib(256), 648.5, 381.5)] {
        let load = LoadSpec {
            arrival: closed(64),
            blocks: blocks(size),
            warm_up: Duration::ZERO,
            duration: Duration::from_s(HOUR),
            ..LoadSpec::default()
        };
        let record = record(&environment, &load);
        let fell = fall(&record.series, high, low);
        // Large requests spend little of the bucket of requests, so it does not end this burst.
        assert!(fell.abs_diff(1_800) <= 10, "{size}: after {fell} s");
        let after = mean_from(&record, fell + 10, 1.0);
        assert!((after / low - 1.0).abs() < 0.01, "{size}: {after} for {low}");
    }
}

#[test]
fn what_held_requests_after_a_burst_is_known() {
    let environment = credit_bursting(Duration::from_s(10));
    let load = LoadSpec {
        arrival: closed(64),
        warm_up: Duration::from_s(20),
        duration: Duration::from_s(20),
        ..LoadSpec::default()
    };
    let waits = crate::environments::run(&environment, &load).waits;
    assert!(waits.disks.iops > Duration::from_s(1_000), "{waits:?}");
    assert!(waits.disks.credits >= Duration::from_s(1_000), "{waits:?}");
    assert_eq!(waits.disks.throughput, Duration::ZERO);
}
