//! A throttle that can be read is named where requests wait for it, and nowhere else.

use crate::{KIB, even, limits, reads};
use loadline_analysis::example::{closed, run, throttled};
use loadline_analysis::{Certainty, Holder, Limit, summarize};
use loadline_block::Operation;
use loadline_record::{
    CellRecord, KernelThrottle, LoadFigures, OperationRecord, RunRecord, ThrottledQuantity, ThrottledRequests,
};

fn throttle(requests: ThrottledRequests, per_s: u64) -> KernelThrottle {
    KernelThrottle {
        requests,
        counts: ThrottledQuantity::Requests,
        per_s,
        group: "/db".into(),
        file: "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".into(),
        lifted_by: "7:1 0".into(),
    }
}

fn under(requests: ThrottledRequests, per_s: u64, cells: Vec<CellRecord>) -> RunRecord {
    let mut record = run(cells);
    record.header.volumes[0].devices[0].throttles = vec![throttle(requests, per_s)];
    record
}

fn held(record: &RunRecord) -> Vec<bool> {
    summarize(record).cells.iter().map(|cell| cell.held_by.is_some()).collect()
}

/// A disk of 955 behind a throttle of 1,000: no request waits above the device, and the rate is even at 955.
#[test]
fn a_rate_short_of_a_throttle_is_not_held_by_it_where_nothing_waits_above_the_device() {
    for rate in [955.0, 970.0, 985.0] {
        let record = under(ThrottledRequests::Reads, 1_000, vec![even(reads(4, 4), rate), even(reads(16, 4), rate)]);
        assert_eq!(held(&record), [false, false], "{rate}");
        let verdict = summarize(&record).verdict.expect("measured").volumes.remove(0);
        assert_ne!(verdict.certainty, Certainty::Certain, "{rate}: {verdict:?}");
    }
}

/// The kernel lets what waits through in turns: 96 % of a throttle in a short trial are all that it let through.
#[test]
fn a_rate_short_of_a_throttle_is_held_by_it_where_requests_wait_above_the_device() {
    let cells = [4, 16].map(|depth| throttled(reads(depth, 4), 960.0)).to_vec();
    assert_eq!(held(&under(ThrottledRequests::Reads, 1_000, cells)), [true, true]);
}

/// Four requests that take 3.95 ms each make 1,012 a second, whatever the throttle allows.
#[test]
fn requests_that_take_their_own_time_are_not_held_by_a_throttle_that_they_happen_to_come_near() {
    let latency = |depth: u32| f64::from(depth) * 253.0;
    for of_four in [983.0, 991.0, 1_000.0] {
        let record =
            under(ThrottledRequests::Reads, 1_000, vec![even(reads(1, 4), latency(1)), even(reads(4, 4), of_four)]);
        assert_eq!(held(&record), [false, false], "{of_four}");
        assert_eq!(limits(&record), [Limit::Latency; 2], "{of_four}");
    }
}

/// Each write is followed by a flush, whose journal writes go through the same throttle: the device counts twice what was asked.
#[test]
fn a_throttle_counts_what_the_device_wrote_and_not_what_was_asked() {
    let durable = || {
        let load = LoadFigures { flush_every: Some(1), ..closed("random", 0.0, 4 * KIB, 1) };
        let mut cell = throttled(load, 298.0);
        for trial in &mut cell.trials {
            let writes = trial.of(Operation::Write).map_or(0, |of| of.count);
            let latency = loadline_analysis::example::latencies(writes, 1e6);
            let flush = OperationRecord { count: writes, latency, ..OperationRecord::default() };
            trial.operations.insert(Operation::Flush, flush);
            trial.surroundings.devices[0].writes *= 2;
        }
        cell
    };
    let record = under(ThrottledRequests::Writes, 597, vec![durable()]);
    assert_eq!(held(&record), [true]);
    let verdict = summarize(&record).verdict.expect("measured").volumes.remove(0);
    assert!(matches!(verdict.held_by, Holder::Throttles { .. }), "{verdict:?}");
    // Of a throttle of twice that it has half.
    assert_eq!(held(&under(ThrottledRequests::Writes, 1_200, vec![durable()])), [false]);
}
