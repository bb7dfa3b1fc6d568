//! Which limit a level is one of, where loads come near more than one.

use crate::example::{ExampleDisk, cell, closed, run, throttled};
use crate::summarize;
use loadline_block::Operation;
use loadline_record::{Binding, CellRecord, Histogram, Limit, LoadSummary};
use loadline_units::Duration;

const KIB: u64 = 1 << 10;

fn bindings(cells: Vec<CellRecord>) -> Vec<Binding> {
    summarize(&run(cells)).cells.into_iter().map(|c| c.binding.expect("measured")).collect()
}

/// Counts of seconds that scatter by a fifth of what they are.
fn restless(mut cell: CellRecord) -> CellRecord {
    for trial in &mut cell.trials {
        for (place, second) in trial.series.seconds.iter_mut().enumerate() {
            let of = &mut second.operations[Operation::Read.index()];
            of.count = if place % 2 == 0 { of.count * 4 / 5 } else { of.count * 6 / 5 };
        }
    }
    cell
}

#[test]
fn near_the_size_at_which_both_limits_meet_the_nearer_level_tells() {
    // 1,230 requests or 79 MB a second: 64 KiB requests have 1,205, 2 % fewer than small ones, and as many bytes as large ones.
    let disk = ExampleDisk { iops: 1_230.0, bytes_per_s: 79e6, ..ExampleDisk::default() };
    let of = |block: u64| [8, 32].map(|depth| cell(closed("random", 1.0, block, depth), &disk, &[1.0]));
    let found = bindings([of(8 * KIB), of(64 * KIB), of(1_024 * KIB)].concat());
    let limits: Vec<Limit> = found.iter().map(|binding| binding.limit).collect();
    assert_eq!(limits[..2], [Limit::DiskIops; 2], "{:?}", found[0]);
    assert_eq!(limits[2..], [Limit::DiskThroughput; 4], "{:?}", found[2]);
    assert!(found[2].evidence.contains("1 MiB requests move as many bytes a second"), "{:?}", found[2]);
}

#[test]
fn requests_that_take_longer_than_others_that_wait_wait_too() {
    // Two at a time are let through in turns, and 64 take thirty times as long for as many: their counts tell nothing by themselves.
    let disk = ExampleDisk { iops: 180.0, ..ExampleDisk::default() };
    let deep = restless(cell(closed("random", 1.0, 4 * KIB, 64), &disk, &[1.0]));
    let found = bindings(vec![throttled(closed("random", 1.0, 4 * KIB, 2), 200.0), deep]);
    assert_eq!(found[1].limit, Limit::DiskIops, "{:?}", found[1]);
    assert!(found[1].evidence.starts_with("Its requests take 356 ms, and 9.82 ms where fewer are"), "{:?}", found[1]);
}

/// A closed loop for 8 s whose requests take from `least` to `most`, ns.
fn short(depth: u32, rate: f64, (least, most): (f64, f64)) -> CellRecord {
    let load = LoadSummary { duration_ns: 8_000_000_000, ..closed("random", 1.0, 4 * KIB, depth) };
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e10 };
    let mut cell = cell(load, &disk, &[1.0]);
    let reads = cell.trials[0].operations.get_mut(&Operation::Read).unwrap();
    let count = reads.count;
    reads.latency = Histogram::new();
    let at = |place: u64| Duration::from_ns((least + (most - least) * place as f64 / count as f64) as u64);
    (0..count).for_each(|place| reads.latency.record(at(place)));
    cell
}

#[test]
fn what_a_shallow_queue_lives_on_for_a_while_contradicts_no_limit_of_a_deep_one() {
    let shallow = |rate: f64| restless(short(2, rate, (0.4e6, 1.0e6)));
    let of = |rate: f64| {
        let disk = ExampleDisk { bytes_per_s: 47e6, ..ExampleDisk::default() };
        let large = [2, 64].map(|depth| cell(closed("random", 1.0, 512 * KIB, depth), &disk, &[1.0]));
        bindings([[shallow(rate), short(64, 2_640.0, (24.0e6, 24.5e6))], large].concat())
    };
    // 230 a second more than 2,640, for 8 s: what a bucket of a second holds.
    let found = of(2_870.0);
    assert_eq!(found[1].limit, Limit::DiskIops, "{:?}", found[1]);
    assert_eq!(found[0].limit, Limit::Latency, "{:?}", found[0]);
    // 500 a second more are no bucket's.
    let found = of(3_140.0);
    assert_eq!(found[1].limit, Limit::Latency, "{:?}", found[1]);
}
