//! Limits that are named, and those for which there is no evidence.

use crate::example::{ExampleDisk, cell, closed, run, throttled};
use crate::summarize;
use crate::words::{about, shows};
use loadline_block::Operation;
use loadline_record::{
    Binding, CellRecord, DepthRate, Fact, LevelFact, Limit, LoadFact, LoadFigures, PresumedBy, Series, Surroundings,
    WaitingFact,
};

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
    let twelve = |served: f64| about(served, 12.0, 3.0);
    assert!(
        shows!(found[3], Fact::Waiting(WaitingFact::ServedAtOnce { served, .. }) if twelve(*served)),
        "{:?}",
        found[3]
    );
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
        assert!(
            shows!(found, Fact::Level(LevelFact::Presumed { by: PresumedBy::RoundFigure { .. }, .. })),
            "{found:?}"
        );
    }
    // 30 and 21 MB/s as short trials have them, a thousandth off: no tens of requests, which lie far apart there.
    for iops in [458.2, 320.8] {
        let found = of(iops);
        assert!(found.limit == Limit::DiskThroughput && found.presumed, "{found:?}");
    }
    for iops in [1_800.0, 1_811.0, 1_600.0, 460.0, 320.0, 465.0] {
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
    assert!(shows!(found[2], Fact::Level(LevelFact::PresumedByLarger { .. })), "{:?}", found[2]);
}

/// The same with so many threads.
fn by_threads(threads: u32, depth: u32, rate: f64) -> CellRecord {
    let load = LoadFigures { threads, ..closed("random", 1.0, 4 * KIB, depth) };
    let disk = ExampleDisk { latency_ns: f64::from(threads * depth) * 1e9 / rate, iops: 1e9, bytes_per_s: 1e15 };
    imported(cell(load, &disk, &[1.0]))
}

/// As another tool leaves it: no seconds, and nothing of the machine.
fn imported(mut cell: CellRecord) -> CellRecord {
    for trial in &mut cell.trials {
        trial.series = Series::default();
        trial.surroundings = Surroundings::default();
    }
    cell
}

#[test]
fn of_loads_with_as_many_outstanding_the_one_that_had_most_shows_how_the_rate_grows() {
    // A SATA SSD by threads and by depth: 4 outstanding at 15,511 once, and at 20,052 by two threads. 8 have 1.4 times that, no more.
    let cells = [(1, 1, 6_614.0), (1, 4, 15_511.0), (2, 2, 20_052.0), (1, 8, 30_829.0), (8, 1, 28_049.0)];
    let found = bindings(cells.map(|(threads, depth, rate)| by_threads(threads, depth, rate)).into());
    for binding in &found[3..] {
        let is_slower = |at: &DepthRate| about(at.rate_iops, 15_511.0, 0.01);
        assert!(
            !shows!(binding, Fact::Load(LoadFact::GrowsWithDepth { from, to, .. }) if is_slower(from) || is_slower(to)),
            "{binding:?}"
        );
    }
}

#[test]
fn a_level_is_one_though_some_of_many_loads_on_it_were_disturbed() {
    // Writes of an SSD, as published: 7,429 alone, and from 4 outstanding on no more than 6 % below 7,017.
    let rates = [
        (1, 1, 7_429.0),
        (2, 1, 6_276.0),
        (1, 2, 6_662.0),
        (4, 1, 6_702.0),
        (1, 4, 6_845.0),
        (8, 1, 6_888.0),
        (1, 8, 6_578.0),
        (16, 1, 6_842.0),
        (1, 16, 6_590.0),
        (4, 16, 6_674.0),
        (64, 1, 6_858.0),
        (8, 64, 7_017.0),
        (64, 8, 6_695.0),
        (64, 64, 6_919.0),
    ];
    let found = bindings(rates.map(|(depth, threads, rate)| by_threads(threads, depth, rate)).into());
    let on_level = |binding: &Binding| shows!(binding, Fact::Level(LevelFact::Plateau { rate_iops, .. }) if about(*rate_iops, 7_018.0, 0.01));
    assert!(found[3..].iter().all(on_level), "{found:?}");
    // No fewer than one is served at once.
    let is_below_one =
        |binding: &Binding| shows!(binding, Fact::Waiting(WaitingFact::ServedAtOnce { served, .. }) if *served < 1.0);
    assert!(!found.iter().any(is_below_one), "{found:?}");
    assert!(found[1].presumed && shows!(found[1], Fact::Waiting(WaitingFact::OneAtATime { .. })), "{:?}", found[1]);
}

#[test]
fn a_load_of_which_more_bring_no_more_is_not_bound_by_latency() {
    // Two places of 1.37 ms each on a busy machine: 2.60 ms at depth 4 are less than twice that, and 16 bring no more.
    let found = limits(vec![at(1, 4, 729.0), at(4, 4, 1_540.0), at(16, 4, 1_704.0), at(64, 4, 1_563.0)]);
    assert_eq!(found[0], Limit::Latency);
    assert!(!found[1..].contains(&Limit::Latency), "{found:?}");
}

#[test]
fn of_many_requests_a_second_tens_are_no_round_figure() {
    // 41.00 MB/s of 4 KiB: 10,010 is a multiple of ten, as every figure near it is.
    let of = |iops: f64| bindings(vec![throttled(closed("random", 1.0, 4 * KIB, 32), iops)]).remove(0).limit;
    assert_eq!(of(10_010.0), Limit::DiskThroughput);
    assert_eq!(of(10_000.0), Limit::DiskIops);
    // 169.1 and 192.0 MB/s of 64 KiB: up to five thousand, multiples of ten are round.
    let large = |iops: f64| bindings(vec![throttled(closed("random", 1.0, 64 * KIB, 32), iops)]).remove(0).limit;
    assert_eq!([large(2_580.0), large(2_930.0)], [Limit::DiskIops; 2]);
}
