//! A quota in each window of 50 ms against arithmetic.

use crate::environments::{closed, disk, latency, limit, record, single};
use loadline_block::Operation;
use loadline_disk::{Enforcement, EnvironmentSpec};
use loadline_units::{Duration, Ratio};
use loadline_workload::LoadSpec;

const WINDOW_MS: f64 = 50.0;

fn environment(requests: u64, service: Duration, p99: Duration, jitter: Duration) -> EnvironmentSpec {
    let enforcement = Enforcement::Window { length: Duration::from_ms(50), jitter };
    single(disk(limit(requests, 1 << 40, enforcement), latency(service, p99)))
}

fn load(depth: u32) -> LoadSpec {
    LoadSpec { arrival: closed(depth), duration: Duration::from_s(60), ..LoadSpec::default() }
}

/// The latencies of one window's requests in ms, with their counts, by counting. The loop of `depth` requests turns
/// every `service` from the edge on until `quota` have passed. The waiting ones pass at the next edge.
fn by_counting(depth: u64, quota: u64, service: f64) -> Vec<(f64, u64)> {
    assert!(depth <= quota);
    let mut slow = Vec::new();
    let (mut left, mut turn) = (quota, 0);
    let mut waiting = depth;
    // Who comes at `turn x service` and finds nothing left waits for the rest of the window.
    loop {
        let through = waiting.min(left);
        left -= through;
        if waiting > through {
            slow.push((WINDOW_MS - f64::from(turn) * service + service, waiting - through));
        }
        if through == 0 {
            break;
        }
        waiting = through;
        turn += 1;
    }
    let held: u64 = slow.iter().map(|(_, count)| count).sum();
    let mut all = vec![(service, quota - held)];
    slow.reverse();
    all.extend(slow);
    all
}

fn percentile(latencies: &[(f64, u64)], share: f64) -> f64 {
    let total: u64 = latencies.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    for (latency, count) in latencies {
        seen += count;
        if seen as f64 >= share * total as f64 {
            return *latency;
        }
    }
    latencies[latencies.len() - 1].0
}

#[test]
fn percentiles_under_a_quota_are_those_that_counting_gives() {
    for (requests, depth, service_us) in
        [(5_000, 64, 2_500), (5_000, 32, 1_000), (7_500, 128, 3_000), (1_100, 16, 2_000)]
    {
        let service = Duration::from_us(service_us);
        let record = record(&environment(requests, service, service, Duration::ZERO), &load(depth));
        let counted = by_counting(u64::from(depth), requests / 20, service_us as f64 / 1e3);
        let latency = &record.of(Operation::Read).unwrap().latency;
        for share in [0.5, 0.9, 0.99] {
            let simulated = latency.quantile(share).unwrap().as_ns() as f64 / 1e6;
            let exact = percentile(&counted, share);
            assert!((simulated / exact - 1.0).abs() < 0.008, "{requests} x {depth}, {share}: {simulated} for {exact}");
        }
        assert!((record.iops().unwrap() / requests as f64 - 1.0).abs() < 1e-3);
    }
}

#[test]
fn a_deep_queue_waits_for_whole_windows() {
    // 1,000 outstanding at 250 a window: each waits for four windows.
    let service = Duration::from_ms(2);
    let record = record(&environment(5_000, service, service, Duration::ZERO), &load(1_000));
    let latency = &record.of(Operation::Read).unwrap().latency;
    for share in [0.01, 0.5, 0.99] {
        let simulated = latency.quantile(share).unwrap().as_ns() as f64 / 1e6;
        assert!((simulated / 200.0 - 1.0).abs() < 0.008, "{share}: {simulated}");
    }
}

#[test]
fn with_spread_and_jitter_the_clusters_stay_where_they_were() {
    // A log-normal of sigma 0.2: p99 is 1.59 of the median.
    let environment = environment(5_000, Duration::from_us(2_500), Duration::from_us(3_980), Duration::from_ms(2));
    let record = record(&environment, &load(64));
    let latency = &record.of(Operation::Read).unwrap().latency;
    let at = |share| latency.quantile(share).unwrap().as_ns() as f64 / 1e6;
    assert!(at(0.5) < 4.0, "p50 {}", at(0.5));
    assert!((35.0..50.0).contains(&at(0.8)) && (40.0..52.0).contains(&at(0.99)), "p80 {}, p99 {}", at(0.8), at(0.99));
    // The mean is Little's, however the clusters lie.
    let mean = latency.mean_ns().unwrap() / 1e6;
    assert!((mean / (64.0 / 5.0) - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn reads_and_writes_of_a_mix_share_the_quota() {
    let service = Duration::from_ms(1);
    let environment = environment(3_000, service, service, Duration::ZERO);
    let record = record(&environment, &LoadSpec { reads: Ratio::percent(70), ..load(32) });
    let count = |operation| record.of(operation).unwrap().count as f64;
    let (reads, writes) = (count(Operation::Read), count(Operation::Write));
    assert!((reads / (reads + writes) - 0.7).abs() < 0.01);
    assert!(((reads + writes) / 180_000.0 - 1.0).abs() < 1e-3);
}
