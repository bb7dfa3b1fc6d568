//! The guest's device queues, and limits that delay answers, against closed forms.

use crate::environments::{blocks, closed, disk, latency, limit, record, single};
use loadline_block::Operation;
use loadline_disk::{DeviceQueues, Enforcement, EnvironmentSpec, Holds};
use loadline_record::TrialRecord;
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::LoadSpec;

const RATE: u64 = 4_000;

/// A disk of 4,000 IOPS that serves in 0.5 ms with some spread, behind queues of 31 places each.
fn behind(queues: Option<u32>, holds: Holds) -> EnvironmentSpec {
    let times = latency(Duration::from_us(500), Duration::from_us(1_000));
    let mut one = disk(limit(RATE, 1 << 40, Enforcement::Smooth), times);
    one.device_queues = queues.map(|queues| DeviceQueues { queues, depth: 31 });
    one.holds = holds;
    single(one)
}

/// Reads of 4 KiB for a minute.
fn reads(environment: &EnvironmentSpec, threads: u32, depth: u32) -> TrialRecord {
    let load = LoadSpec {
        reads: Ratio::ONE,
        blocks: blocks(Bytes::kib(4)),
        arrival: closed(depth),
        threads,
        size: Some(Bytes::gib(8)),
        warm_up: Duration::from_s(2),
        duration: Duration::from_s(60),
        ..LoadSpec::default()
    };
    let record = record(environment, &load);
    assert!((record.iops().unwrap() / RATE as f64 - 1.0).abs() < 0.01, "the limit binds: {:?}", record.iops());
    record
}

/// p10, p50, p90 and p99, in ms.
fn percentiles(record: &TrialRecord) -> [f64; 4] {
    let reads = &record.operations[&Operation::Read].latency;
    [0.10, 0.50, 0.90, 0.99].map(|share| reads.quantile(share).unwrap().as_s_f64() * 1e3)
}

/// Requests in flight are answered in `places / rate`: hardly any is quicker. The mean is always `outstanding / rate`.
/// Threads that find their answers in a row are quicker than it, and sleeping threads are slower.
#[test]
fn many_threads_behind_few_places_overtake_one_another() {
    let record = reads(&behind(Some(4), Holds::Answers), 16, 16);
    let [low, median, high, highest] = percentiles(&record);
    let (mean, places) = (256.0 / RATE as f64 * 1e3, 4.0 * 31.0 / RATE as f64 * 1e3);
    let found = record.operations[&Operation::Read].latency.mean_ns().unwrap() / 1e6;
    assert!((found / mean - 1.0).abs() < 0.02, "{found} for {mean} ms");
    assert!(low > 0.7 * places && low < places, "{low} of {places} ms");
    assert!(median < 0.9 * mean && high > 1.5 * mean && highest > 2.2 * mean, "{median} {high} {highest} of {mean} ms");
}

/// Each of a thread's requests takes as many of its turns as it has outstanding. More turns come nearer to the mean.
#[test]
fn the_more_a_thread_has_outstanding_the_more_alike_its_requests_take() {
    let spread = |depth| {
        let [low, median, high, _] = percentiles(&reads(&behind(Some(2), Holds::Answers), 16, depth));
        (high - low) / median
    };
    let spreads = [16, 64, 256].map(spread);
    assert!(spreads[0] > spreads[1] && spreads[1] > spreads[2], "{spreads:?}");
}

#[test]
fn one_thread_keeps_its_order_however_few_the_places() {
    let with = reads(&behind(Some(4), Holds::Answers), 1, 256);
    assert_eq!(with, reads(&behind(None, Holds::Answers), 1, 256));
    let [low, .., high] = percentiles(&with);
    assert!(high < low * 1.02, "{low} to {high}");
}

#[test]
fn threads_that_find_a_place_at_once_are_as_without_queues() {
    let with = reads(&behind(Some(32), Holds::Answers), 4, 8);
    assert_eq!(with, reads(&behind(None, Holds::Answers), 4, 8));
}

/// Delayed answers: the wait includes the service, and nearly all take `outstanding / rate`. Delayed requests are
/// served after their wait, with the whole spread of the service.
#[test]
fn where_answers_are_held_back_the_wait_covers_the_service() {
    let [low, median, high, _] = percentiles(&reads(&behind(None, Holds::Answers), 1, 8));
    for found in [low, median, high] {
        assert!((found / 2.0 - 1.0).abs() < 0.02, "{found} for 2 ms");
    }
    let [low, _, high, _] = percentiles(&reads(&behind(None, Holds::Requests), 1, 8));
    assert!(high > low * 1.2, "{low} to {high}");
}
