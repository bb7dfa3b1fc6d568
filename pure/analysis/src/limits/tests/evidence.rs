//! Limits that are named, and those for which there is no evidence.

use crate::example::{ExampleDisk, cell, closed, run, throttled};
use crate::summarize;
use loadline_block::Operation;
use loadline_record::{Binding, CellRecord, Limit};

const KIB: u64 = 1 << 10;

fn bindings(cells: Vec<CellRecord>) -> Vec<Binding> {
    summarize(&run(cells)).cells.into_iter().map(|c| c.binding.expect("measured")).collect()
}
fn limits(cells: Vec<CellRecord>) -> Vec<Limit> {
    bindings(cells).iter().map(|b| b.limit).collect()
}
fn is_of_disk(limit: Limit) -> bool {
    matches!(limit, Limit::DiskIops | Limit::DiskThroughput)
}

/// A closed loop of this rate whose seconds scatter by a twentieth: nothing counts it out.
fn at(depth: u32, kib: u64, rate: f64) -> CellRecord {
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e15 };
    let mut cell = cell(closed("random", 1.0, kib * KIB, depth), &disk, &[1.0]);
    for trial in &mut cell.trials {
        for (place, second) in trial.series.seconds.iter_mut().enumerate() {
            let of = &mut second.operations[Operation::Read.index()];
            of.count = if place % 2 == 0 { of.count * 19 / 20 } else { of.count * 21 / 20 };
        }
    }
    cell
}

#[test]
fn a_rate_that_still_grows_is_no_limit_though_requests_take_longer() {
    // A loop device without a throttle: at four times the depth there is half as much again.
    let unthrottled =
        |kib| [(1, 25_600.0), (8, 121_600.0), (32, 207_836.0), (128, 315_196.0)].map(|(d, r)| at(d, kib, r));
    let found = bindings(unthrottled(4).into());
    assert_eq!(found[0].limit, Limit::Latency);
    assert!(found.iter().all(|binding| !is_of_disk(binding.limit)), "{found:?}");
    assert_eq!(found[3].limit, Limit::Parallelism, "{found:?}");
    // 315,196 of 39.1 us each.
    assert!(found[3].evidence.contains("are what 12 served at once make"), "{:?}", found[3]);
    let two: Vec<CellRecord> = [
        unthrottled(4).to_vec(),
        [(1, 24_000.0), (8, 110_000.0), (32, 180_000.0), (128, 240_000.0)].map(|(d, r)| at(d, 8, r)).to_vec(),
    ]
    .concat();
    assert!(limits(two).into_iter().all(|limit| !is_of_disk(limit)));
    let list = crate::limits(&run(unthrottled(4).into()));
    assert!(list.iter().all(|figure| !is_of_disk(figure.limit)), "{list:?}");
}

#[test]
fn one_cell_does_not_explain_itself() {
    let found = bindings(vec![at(1, 4, 10_000.0), at(32, 4, 60_000.0)]);
    assert_eq!(found[1].limit, Limit::Parallelism, "{found:?}");
    // Its own clusters show a throttle, and so do counts that hardly scatter.
    let own = bindings(vec![throttled(closed("random", 1.0, 4 * KIB, 32), 3_000.0)]);
    assert!(own[0].limit == Limit::DiskIops && own[0].presumed, "{own:?}");
    let mut steady = cell(closed("random", 1.0, 4 * KIB, 32), &ExampleDisk::default(), &[1.0]);
    steady.trials[0].series.seconds.iter_mut().for_each(|second| second.operations[0].count = 5_000);
    assert_eq!(limits(vec![at(1, 4, 1_000.0), steady])[1], Limit::DiskIops);
}

#[test]
fn what_the_same_requests_had_more_of_is_no_limit() {
    // Two depths at 34,000 requests, and a third with twice as many.
    let found = bindings(vec![at(1, 4, 9_000.0), at(16, 4, 34_000.0), at(32, 4, 71_000.0), at(64, 4, 34_100.0)]);
    assert!(found.iter().all(|binding| !is_of_disk(binding.limit)), "{found:?}");
}

#[test]
fn two_sizes_at_one_figure_are_a_limit() {
    let cells = vec![at(1, 16, 2_000.0), at(32, 16, 6_400.0), at(1, 128, 500.0), at(16, 128, 800.0)];
    let found = bindings(cells);
    assert_eq!([found[1].limit, found[3].limit], [Limit::DiskThroughput; 2], "{found:?}");
    assert!(!found[1].presumed);
}

#[test]
fn a_round_figure_in_bytes_is_evidence_for_bytes() {
    let of = |iops: f64| {
        bindings([8, 32].map(|depth| throttled(closed("random", 1.0, 64 * KIB, depth), iops)).to_vec()).remove(1)
    };
    // 113.0 MiB/s and 27.00 MiB/s; and 118.5 MB/s.
    for iops in [1_808.0, 432.0] {
        let found = of(iops);
        assert!(found.limit == Limit::DiskThroughput && found.presumed, "{found:?}");
        assert!(found.evidence.contains("by the round figure of"), "{found:?}");
    }
    for iops in [1_800.0, 1_811.0, 1_600.0] {
        assert_eq!(of(iops).limit, Limit::DiskIops, "{iops}");
    }
}

#[test]
fn larger_requests_that_move_more_deny_a_limit_on_bytes() {
    // 355.0 MiB/s, a round figure; and 1 MiB in order moves ten times as much.
    let small = [16, 32, 128].map(|depth| throttled(closed("random", 1.0, 4 * KIB, depth), 90_880.0));
    let alone = bindings(small.to_vec());
    assert!(alone[2].limit == Limit::DiskThroughput && alone[2].presumed, "{:?}", alone[2]);
    let large = throttled(closed("sequential", 1.0, 1_024 * KIB, 8), 3_512.0);
    let found = bindings([small.to_vec(), vec![large]].concat());
    for of in &found[1..3] {
        assert!(of.limit != Limit::DiskThroughput, "{of:?}");
        assert!(of.limit != Limit::DiskIops || of.presumed, "{of:?}");
    }
    assert!(found[2].evidence.contains("not bytes"), "{:?}", found[2]);
}
