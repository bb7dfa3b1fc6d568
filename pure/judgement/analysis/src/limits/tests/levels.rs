//! Which limit a level is one of, where loads come near more than one.

use crate::example::{ExampleDisk, cell, closed, run, throttled};
use crate::summarize;
use crate::words::{about, shows};
use loadline_block::Operation;
use loadline_record::{
    Binding, CellRecord, Doubt, DoubtCode, Fact, Histogram, KindShown, LevelFact, LevelShown, Limit, LoadFact,
    LoadFigures, OtherSizes, Series, Surroundings, ThrottledQuantity, WaitingFact,
};
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
    let kind = KindShown::OtherSize { load: "1 MiB requests".to_owned(), counted: ThrottledQuantity::Bytes };
    let as_many_bytes = LevelShown::Kind(kind);
    assert!(
        shows!(found[2], Fact::Level(LevelFact::Plateau { shown, .. }) if *shown == as_many_bytes),
        "{:?}",
        found[2]
    );
}

#[test]
fn requests_that_take_longer_than_others_that_wait_wait_too() {
    // Two at a time are let through in turns, and 64 take thirty times as long for as many: their counts tell nothing by themselves.
    let disk = ExampleDisk { iops: 180.0, ..ExampleDisk::default() };
    let deep = restless(cell(closed("random", 1.0, 4 * KIB, 64), &disk, &[1.0]));
    let found = bindings(vec![throttled(closed("random", 1.0, 4 * KIB, 2), 200.0), deep]);
    assert_eq!(found[1].limit, Limit::DiskIops, "{:?}", found[1]);
    let Fact::Waiting(WaitingFact::TakesLonger { takes, fewer_ns }) = found[1].seen.facts()[0] else {
        panic!("{:?}", found[1]);
    };
    assert!(about(takes.latency_ns, 356e6, 0.5) && about(fewer_ns, 9.82e6, 0.5), "{:?}", found[1]);
}

/// A closed loop for 8 s whose requests take from `least` to `most`, ns.
fn short(depth: u32, rate: f64, (least, most): (f64, f64)) -> CellRecord {
    let load = LoadFigures { duration_ns: 8_000_000_000, ..closed("random", 1.0, 4 * KIB, depth) };
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
    assert_eq!(found[1].limit, Limit::Parallelism, "{:?}", found[1]);
}

/// Reads at depths 1, 4 and 16 with these rates, whose counts scatter.
fn at_depths(block: u64, rates: [f64; 3]) -> [CellRecord; 3] {
    let depths = [1_u32, 4, 16];
    [0, 1, 2].map(|place| {
        let (depth, rate) = (depths[place], rates[place]);
        let disk = ExampleDisk { latency_ns: f64::from(depth) * 1e9 / rate, iops: rate, bytes_per_s: 1e12 };
        restless(cell(closed("random", 1.0, block, depth), &disk, &[1.0]))
    })
}

#[test]
fn a_device_that_serves_few_at_once_has_no_limit_that_is_named_with_confidence() {
    // A loop device without any throttle on two CPUs: as fast as it copies, and evenly so. Larger requests move as many bytes or more.
    for [small, large] in [
        [[50_121.0, 104_562.0, 112_739.0], [7_017.0, 9_593.0, 8_136.0]],
        [[45_481.0, 119_530.0, 195_590.0], [13_233.0, 28_392.0, 22_153.0]],
        [[19_204.0, 105_315.0, 99_313.0], [6_710.0, 8_887.0, 7_170.0]],
        [[59_172.0, 71_753.0, 106_117.0], [8_937.0, 8_640.0, 7_536.0]],
    ] {
        for found in bindings([at_depths(64 * KIB, small), at_depths(1_024 * KIB, large)].concat()) {
            let is_disk = matches!(found.limit, Limit::DiskIops | Limit::DiskThroughput);
            assert!(!is_disk || found.presumed, "{small:?}, {large:?}: {found:?}");
        }
    }
}

#[test]
fn a_level_of_what_lies_in_memory_is_presumed_to_be_the_disks() {
    // The same loop device; 64 KiB requests have one rate at two depths, and larger ones move more bytes.
    let mut cells =
        [at_depths(64 * KIB, [50_121.0, 110_881.0, 110_881.0]), at_depths(1_024 * KIB, [7_017.0, 9_593.0, 8_136.0])]
            .concat();
    let found = bindings(cells.clone());
    assert!(found[2].limit == Limit::DiskIops && !found[2].presumed, "{:?}", found[2]);
    for trial in cells.iter_mut().flat_map(|cell| &mut cell.trials) {
        trial.doubts.push(Doubt::written(DoubtCode::CachedBelow, "A file in memory."));
    }
    let found = bindings(cells);
    assert!(found[2].limit == Limit::DiskIops && found[2].presumed, "{:?}", found[2]);
    assert!(shows!(found[2], Fact::Waiting(WaitingFact::InMemoryBelow)), "{:?}", found[2]);
}

/// As another tool leaves it: no seconds, and nothing of the machine.
fn imported(mut cell: CellRecord) -> CellRecord {
    for trial in &mut cell.trials {
        trial.series = Series::default();
        trial.surroundings = Surroundings::default();
    }
    cell
}
fn at(iops: f64, bytes_per_s: f64, kib: u64, depth: u32) -> CellRecord {
    cell(closed("random", 1.0, kib * KIB, depth), &ExampleDisk { latency_ns: 1e5, iops, bytes_per_s }, &[1.0])
}

#[test]
fn that_depth_over_latency_makes_the_rate_is_no_evidence_of_latency() {
    // 8,000 requests or 131 MB a second, each of two sizes at one depth: neither explains the other.
    let found = bindings([4, 64].map(|kib| imported(at(8_000.0, 131e6, kib, 32))).into());
    for binding in &found {
        assert_eq!((binding.limit, binding.ceiling_iops), (Limit::Unexplained, None), "{binding:?}");
        assert!(shows!(binding, Fact::Load(LoadFact::OneDepth)), "{binding:?}");
    }
    // One request at a time waits for nothing but its own time; seconds would show that something counts.
    assert_eq!(bindings(vec![imported(at(1e6, 1e12, 4, 1))])[0].limit, Limit::Latency);
    assert_eq!(bindings(vec![restless(at(8_000.0, 131e6, 4, 32))])[0].limit, Limit::Latency);
}

#[test]
fn two_sizes_at_one_rate_show_a_limit_though_each_was_measured_at_one_depth() {
    for edit in [imported as fn(CellRecord) -> CellRecord, restless] {
        let of = |loads: [(u64, u32); 2], iops: f64, bytes: f64| {
            bindings(loads.map(|(kib, depth)| edit(at(iops, bytes, kib, depth))).into())
        };
        for binding in of([(4, 32), (64, 32)], 1e6, 131e6) {
            assert_eq!(binding.limit, Limit::DiskThroughput, "{binding:?}");
            let level = |bytes: f64| about(bytes, 131e6, 0.5);
            assert!(
                shows!(binding, Fact::Level(LevelFact::EqualBytes { bytes_per_s, .. }) if level(*bytes_per_s)),
                "{binding:?}"
            );
        }
        for binding in of([(4, 32), (64, 8)], 5_000.0, 1e12) {
            assert_eq!(binding.limit, Limit::DiskIops, "{binding:?}");
        }
        // As many outstanding that take as long: Little's law makes the rates equal.
        let alike = of([(4, 32), (64, 32)], 5_000.0, 1e12);
        assert!(alike.iter().all(|binding| binding.limit != Limit::DiskIops), "{alike:?}");
        let alike = of([(4, 32), (64, 2)], 1e12, 1e12);
        assert!(alike.iter().all(|binding| binding.limit != Limit::DiskThroughput), "{alike:?}");
    }
}

#[test]
fn levels_of_two_sizes_that_deny_each_other_are_not_presumed_to_be_one_limit() {
    // 64 KiB requests have 12 % more requests a second than those of 4 KiB: 5,000 are no limit on requests, and 20 MB/s none on bytes.
    let of = |kib, iops| [8, 32].map(|depth| at(iops, 1e12, kib, depth));
    let found = bindings([of(4, 5_000.0), of(64, 5_600.0)].concat());
    for binding in &found[..2] {
        assert_eq!(binding.limit, Limit::Unexplained, "{binding:?}");
        let larger = |load: &str, bytes: f64| load == "random 64 KiB reads" && about(bytes, 367e6, 0.5);
        assert!(
            shows!(binding, Fact::Level(LevelFact::LargerMoveMore { load, bytes_per_s })
                if larger(load, *bytes_per_s)),
            "{binding:?}"
        );
    }
    for binding in &found[2..] {
        let alone = Fact::Level(LevelFact::NoOtherSize);
        assert!(!binding.seen.facts().contains(&alone), "{binding:?}");
        assert!(
            !shows!(binding, Fact::Level(LevelFact::Presumed { others: OtherSizes::NotAtALimit, .. })),
            "{binding:?}"
        );
    }
}

#[test]
fn trials_that_differ_widely_make_no_interval_below_nothing() {
    let of = |depth| cell(closed("random", 1.0, 4 * KIB, depth), &ExampleDisk::default(), &[0.05, 1.0]);
    let figures = crate::limits(&run([8, 32].map(of).to_vec()));
    let lows: Vec<f64> = figures.iter().filter_map(|figure| figure.low).collect();
    assert!(lows.contains(&0.0) && lows.iter().all(|low| *low >= 0.0), "{figures:?}");
}
