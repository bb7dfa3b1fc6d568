//! Busy CPUs, other load and flushes: which of several causes is the one.

use crate::example::{ExampleDisk, cell, closed, latencies, run, stored, throttled};
use crate::summarize;
use crate::words::{about, shows};
use loadline_block::Operation;
use loadline_record::{
    BesideFact, Binding, CellRecord, CourseFact, Doubt, DoubtCode, Fact, Histogram, LevelFact, Limit, Load, LoadFact,
    LoadFigures, MachineFact, OperationRecord, OtherLoad, RateHeld, RunRecord, Turns, WaitingFact,
};

const KIB: u64 = 1 << 10;

fn bindings(record: &RunRecord) -> Vec<Binding> {
    summarize(record).cells.into_iter().map(|c| c.binding.expect("measured")).collect()
}
fn limits(record: &RunRecord) -> Vec<Limit> {
    bindings(record).iter().map(|b| b.limit).collect()
}

/// A closed loop of this rate whose seconds scatter by a twentieth.
fn at(depth: u32, kib: u64, rate: f64) -> CellRecord {
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e15 };
    let mut cell = cell(closed("random", 1.0, kib * KIB, depth), &disk, &[1.0]);
    for (place, second) in cell.trials[0].series.seconds.iter_mut().enumerate() {
        let of = &mut second.operations[Operation::Read.index()];
        of.count = if place % 2 == 0 { of.count * 19 / 20 } else { of.count * 21 / 20 };
    }
    cell
}

/// Others keep all CPUs busy, and load threads wait for one for `queued` of their time.
fn beside_hogs(cells: Vec<CellRecord>, queued: Option<f64>) -> RunRecord {
    let mut record = run(cells);
    for cell in &mut record.cells {
        let surroundings = &mut cell.trials[0].surroundings;
        surroundings.machine.as_mut().unwrap().busy = 1.0;
        (surroundings.tool_user_ns, surroundings.tool_system_ns) =
            (surroundings.elapsed_ns / 40, surroundings.elapsed_ns / 40);
        surroundings.threads.iter_mut().for_each(|thread| {
            thread.queued = queued;
            thread.busy = 0.02 + queued.unwrap_or(0.0);
        });
    }
    record
}

#[test]
fn equal_bytes_over_sizes_are_a_limit_however_busy_the_cpus_are() {
    let cells = || vec![at(1, 16, 1_279.0), at(16, 16, 1_281.0), at(1, 128, 160.1), at(16, 128, 160.0)];
    for queued in [None, Some(0.15), Some(0.6)] {
        assert_eq!(limits(&beside_hogs(cells(), queued)), [Limit::DiskThroughput; 4], "{queued:?}");
    }
}

#[test]
fn a_rate_in_proportion_to_the_depth_is_latency_unless_the_load_waits_for_a_cpu() {
    let cells = || vec![at(1, 4, 248.0), at(4, 4, 1_000.0), at(16, 4, 4_100.0)];
    assert_eq!(limits(&beside_hogs(cells(), None)), [Limit::Latency; 3]);
    assert_eq!(limits(&beside_hogs(cells(), Some(0.2))), [Limit::Latency; 3]);
    assert_eq!(limits(&beside_hogs(cells(), Some(0.7)))[1..], [Limit::Cpu; 2]);
}

#[test]
fn busy_cpus_bind_where_requests_waited_for_them() {
    let cells = || vec![at(1, 4, 3_000.0), at(8, 4, 22_164.0), at(32, 4, 35_783.0)];
    let starved = bindings(&beside_hogs(cells(), Some(0.6)));
    assert_eq!(starved[2].limit, Limit::Cpu);
    let most = |share: f64| about(share, 0.6, 0.1);
    assert!(shows!(starved[2], Fact::Machine(MachineFact::NoCpu { share }) if most(*share)), "{starved:?}");
    assert_eq!(limits(&beside_hogs(cells(), Some(0.1)))[2], Limit::Parallelism);
    assert_eq!(limits(&beside_hogs(cells(), None))[2], Limit::Cpu, "older records tell no more");
}

#[test]
fn waiting_awake_uses_a_cpu_that_others_waited_for() {
    let mut record = run(vec![at(1, 4, 9_000.0), at(32, 4, 60_000.0)]);
    let surroundings = &mut record.cells[1].trials[0].surroundings;
    surroundings.machine.as_mut().unwrap().busy = 0.80;
    surroundings.threads[0].spun = 0.7;
    assert_eq!(limits(&record)[1], Limit::Parallelism);
    let surroundings = &mut record.cells[1].trials[0].surroundings;
    surroundings.pressure.as_mut().unwrap().cpu_some_us = surroundings.elapsed_ns / 2_000;
    assert_eq!(limits(&record)[1], Limit::Cpu);
}

/// A neighbour that reads as many as `requests` a second of the same device.
fn beside_reader(cells: Vec<CellRecord>, requests: &[f64]) -> RunRecord {
    let mut record = run(cells);
    for (cell, requests) in record.cells.iter_mut().zip(requests) {
        let surroundings = &mut cell.trials[0].surroundings;
        let more = (requests * surroundings.elapsed_ns as f64 / 1e9) as u64;
        surroundings.devices[0].reads += more;
        surroundings.devices[0].read_bytes += more * 4 * KIB;
        surroundings.others =
            vec![OtherLoad { pid: 7, name: "fio".to_owned(), read_bytes: more * 4 * KIB, write_bytes: 0 }];
    }
    record
}

#[test]
fn beside_another_load_a_rate_is_no_limit() {
    let found =
        bindings(&beside_reader(vec![at(1, 4, 15_000.0), at(8, 4, 76_000.0), at(32, 4, 130_976.0)], &[60e3; 3]));
    assert_eq!(found[2].limit, Limit::Unexplained, "{found:?}");
    let of_fio = |process: &str, rate: f64| process == "fio" && about(rate, 60e3, 0.01);
    assert!(
        shows!(found[2], Fact::Beside(BesideFact::Others { process: Some(process), others_iops, .. })
            if of_fio(process, *others_iops)),
        "{found:?}"
    );
}

#[test]
fn a_limit_that_is_shared_with_another_load_is_what_both_have() {
    let of = |depth, rate| throttled(closed("random", 1.0, 4 * KIB, depth), rate);
    let shared = beside_reader(vec![of(16, 1_962.0), of(64, 2_600.0)], &[1_038.0, 400.0]);
    for binding in bindings(&shared) {
        assert!(binding.limit == Limit::DiskIops && binding.presumed, "{binding:?}");
        assert!((binding.ceiling_iops.unwrap() / 3_000.0 - 1.0).abs() < 0.01, "{binding:?}");
    }
    // One that has its own whatever the other asks keeps it.
    let own = beside_reader(vec![of(16, 1_000.0), of(64, 1_000.0)], &[1_038.0, 400.0]);
    for binding in bindings(&own) {
        assert!((binding.ceiling_iops.unwrap() / 1_000.0 - 1.0).abs() < 0.01, "{binding:?}");
        assert!(shows!(binding, Fact::Beside(BesideFact::SameLimit { .. })), "{binding:?}");
    }
}

/// Writes of so many threads, each made durable: flushes take nine tenths of the time, and the device writes twice what is asked.
fn durable(threads: u32, rate: f64) -> CellRecord {
    let load = LoadFigures { threads, flush_every: Some(1), ..closed("random", 0.0, 4 * KIB, 1) };
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e12 };
    let mut cell = cell(load, &disk, &[1.0]);
    let trial = &mut cell.trials[0];
    for (place, second) in trial.series.seconds.iter_mut().enumerate() {
        let of = &mut second.operations[Operation::Write.index()];
        of.count = if place % 2 == 0 { of.count * 19 / 20 } else { of.count * 21 / 20 };
    }
    let count = trial.of(Operation::Write).unwrap().count;
    let each_ns = f64::from(threads) * 1e9 / rate;
    trial.operations.get_mut(&Operation::Write).unwrap().latency = latencies(count, each_ns * 0.1);
    let flush = OperationRecord { count, latency: latencies(count, each_ns * 0.9), ..OperationRecord::default() };
    trial.operations.insert(Operation::Flush, flush);
    trial.surroundings.devices[0].writes *= 2;
    cell
}

#[test]
fn writes_that_wait_for_their_flushes_are_bound_by_these() {
    let found = bindings(&run(vec![durable(1, 1_592.0), durable(4, 5_000.0), durable(16, 9_000.0)]));
    assert_eq!([found[0].limit, found[2].limit], [Limit::Latency, Limit::Flush], "{found:?}");
    let most = |share: f64| about(share, 0.9, 0.5);
    assert!(shows!(found[2], Fact::Load(LoadFact::Flushes { share, .. }) if most(*share)), "{:?}", found[2]);
    let twice = |times: f64| about(times, 2.0, 1.0);
    assert!(shows!(found[2], Fact::Load(LoadFact::Amplified { times, .. }) if twice(*times)), "{:?}", found[2]);
    assert!((found[2].amplification.unwrap() - 2.0).abs() < 0.01);
}

#[test]
fn one_writer_that_waits_for_its_flushes_is_bound_by_them_and_not_by_the_tool() {
    let mut record = run(vec![durable(1, 290.0)]);
    let doubts = [DoubtCode::GeneratorBound, DoubtCode::Buffered];
    record.cells[0].trials[0].doubts = doubts.map(|code| Doubt::written(code, "As seen.")).to_vec();
    let found = bindings(&record);
    assert!(found[0].limit == Limit::Flush && !found[0].presumed, "{found:?}");
    // Writes into memory are far quicker than any flush, which is no turn of a throttle.
    let mut cell = durable(1, 240.0);
    let trial = &mut cell.trials[0];
    let count = trial.of(Operation::Write).unwrap().count;
    for (operation, each_ns) in [(Operation::Write, 70e3), (Operation::Flush, 4e6)] {
        trial.operations.get_mut(&operation).unwrap().latency = latencies(count, each_ns);
    }
    let found = bindings(&run(vec![cell]));
    assert!(found[0].limit == Limit::Flush && !found[0].presumed, "{found:?}");
    // How long flushes take is not known, as in results of other tools: their number says it, presumably.
    for (flushes, bound) in [(952, true), (100, false)] {
        let mut cell = durable(1, 738.0);
        let trial = &mut cell.trials[0];
        let count = trial.of(Operation::Write).unwrap().count * flushes / 738;
        let flush = trial.operations.get_mut(&Operation::Flush).unwrap();
        (flush.count, flush.latency, flush.told) = (count, Histogram::new(), None);
        let found = bindings(&run(vec![cell]));
        assert_eq!((found[0].limit == Limit::Flush, found[0].presumed), (bound, bound), "{found:?}");
        let is_shown =
            shows!(found[0], Fact::Load(LoadFact::FlushesCounted { share, .. }) if about(*share, 0.563, 0.5));
        assert_eq!(is_shown, bound, "{found:?}");
    }
}

#[test]
fn writes_into_memory_do_not_count_against_the_flushes_behind_them() {
    // As sysbench tells it: eight files are flushed for each ten writes, and one time stands for all.
    let mut cell = durable(1, 344.0);
    let trial = &mut cell.trials[0];
    trial.doubts = [DoubtCode::Imported, DoubtCode::Buffered].map(|code| Doubt::written(code, "As seen.")).to_vec();
    let count = trial.of(Operation::Write).unwrap().count;
    trial.operations.get_mut(&Operation::Write).unwrap().latency = latencies(count, 1.6e6);
    let flush = trial.operations.get_mut(&Operation::Flush).unwrap();
    (flush.count, flush.latency, flush.told) = (count * 8 / 10, Histogram::new(), None);
    let found = bindings(&run(vec![cell]));
    assert!(found[0].limit == Limit::Flush && found[0].presumed, "{found:?}");
}

#[test]
fn a_load_of_another_tool_that_held_itself_back_is_bound_by_that() {
    let mut of = closed("random", 1.0, 8 * KIB, 8);
    of.threads = 1;
    let disk = ExampleDisk { latency_ns: 16e6, iops: 500.0, bytes_per_s: 1e12 };
    let mut cell = cell(of, &disk, &[1.0]);
    let trial = &mut cell.trials[0];
    let count = trial.of(Operation::Read).unwrap().count;
    trial.series = loadline_record::Series::default();
    trial.surroundings = loadline_record::Surroundings::default();
    trial.operations.get_mut(&Operation::Read).unwrap().latency = latencies(count, 2.75e6);
    trial.doubts = vec![Doubt::written(DoubtCode::Imported, "As seen.")];
    let found = bindings(&run(vec![cell.clone()]));
    assert!(found[0].limit == Limit::Arrival && found[0].presumed, "{found:?}");
    let fits = |in_flight: f64| about(in_flight, 1.375, 1.0);
    assert!(shows!(found[0], Fact::Load(LoadFact::HeldItselfBack { in_flight, .. }) if fits(*in_flight)), "{found:?}");
    // Of one at a time, what lies between two is said.
    let mut one = crate::example::cell(closed("random", 1.0, 8 * KIB, 1), &disk, &[1.0]);
    let trial = &mut one.trials[0];
    trial.series = loadline_record::Series::default();
    trial.surroundings = loadline_record::Surroundings::default();
    let of_one = trial.of(Operation::Read).unwrap().count;
    let turn_ns = trial.measured_ns as f64 / of_one as f64;
    trial.operations.get_mut(&Operation::Read).unwrap().latency = latencies(of_one, turn_ns * 0.6);
    trial.doubts = vec![Doubt::written(DoubtCode::Imported, "As seen.")];
    let found = bindings(&run(vec![one]));
    assert_eq!(found[0].limit, Limit::Latency, "{found:?}");
    let fits = |latency_ns: f64| about(latency_ns, turn_ns * 0.6, 2.0);
    assert!(shows!(found[0], Fact::Load(LoadFact::ShareOfTurn { latency_ns, .. }) if fits(*latency_ns)), "{found:?}");
    // With all of them in flight it is none of its own.
    cell.trials[0].operations.get_mut(&Operation::Read).unwrap().latency = latencies(count, 15e6);
    assert_ne!(bindings(&run(vec![cell]))[0].limit, Limit::Arrival);
}

/// As CrystalDiskMark prints it: a rate, and no latency.
fn without_latency(load: LoadFigures, rate: f64) -> CellRecord {
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e12 };
    let mut cell = cell(load, &disk, &[1.0]);
    for trial in &mut cell.trials {
        trial.series = loadline_record::Series::default();
        trial.surroundings = loadline_record::Surroundings::default();
        for operation in trial.operations.values_mut() {
            operation.latency = Histogram::new();
        }
    }
    cell
}

#[test]
fn of_a_disk_behind_a_link_large_transfers_are_bound_by_bytes_and_small_ones_wait() {
    let of = |pattern, block, depth, rate| without_latency(closed(pattern, 1.0, block, depth), rate);
    let found = bindings(&run(vec![
        of("sequential", 1024 * KIB, 8, 509.6),
        of("sequential", 1024 * KIB, 1, 481.0),
        of("random", 4 * KIB, 32, 63_947.5),
        of("random", 4 * KIB, 1, 9_418.5),
    ]));
    assert!(found[0].limit == Limit::DiskThroughput && found[0].presumed, "{:?}", found[0]);
    assert!((found[0].ceiling_iops.unwrap() - 509.6).abs() < 1.0, "{:?}", found[0]);
    // 32 times as many brought 6.8 times: they wait, and larger ones move more.
    assert!(found[2].limit == Limit::DiskIops && found[2].presumed, "{:?}", found[2]);
    assert_eq!(found[3].limit, Limit::Latency, "{:?}", found[3]);
}

#[test]
fn what_has_no_latency_is_not_said_to_have_held_itself_back() {
    let imported = |mut cell: CellRecord| {
        cell.trials[0].doubts = vec![Doubt::written(DoubtCode::Imported, "As seen.")];
        bindings(&run(vec![cell])).remove(0).limit
    };
    let deep = closed("random", 1.0, 4 * KIB, 32);
    assert_ne!(imported(without_latency(deep.clone(), 63_947.5)), Limit::Arrival);
    assert_ne!(imported(without_latency(closed("sequential", 1.0, 2048 * KIB, 1), 85.0)), Limit::Arrival);
    // Nor one half of which has none.
    let mut half = without_latency(LoadFigures { read_ratio: 0.5, ..deep }, 63_947.5);
    let read = half.trials[0].operations.get_mut(&Operation::Read).unwrap();
    read.latency = latencies(read.count, 1e5);
    assert_ne!(imported(half), Limit::Arrival);
}

#[test]
fn writes_that_are_durable_by_themselves_are_bound_by_that() {
    // On ext4 over a loop device: more at once come to little more.
    let of = |threads: u32, rate: f64, how: &str| {
        let load = LoadFigures { threads, ..closed("random", 0.0, 4 * KIB, 1) };
        let disk = ExampleDisk { latency_ns: f64::from(threads) * 1e9 / rate, iops: rate, bytes_per_s: 1e12 };
        let mut cell = cell(load, &disk, &[1.0]);
        for (place, second) in cell.trials[0].series.seconds.iter_mut().enumerate() {
            let of = &mut second.operations[Operation::Write.index()];
            of.count = if place % 2 == 0 { of.count * 19 / 20 } else { of.count * 21 / 20 };
        }
        let figures = cell.load.figures();
        let mut spec = stored(&figures);
        spec["flush"] = serde_json::json!({"every": 1, "how": how});
        cell.load = Load::stored(figures, spec);
        cell
    };
    let found = bindings(&run(vec![of(1, 35_300.0, "fua"), of(4, 36_216.0, "fua"), of(16, 60_363.0, "fua")]));
    assert_eq!([found[1].limit, found[2].limit], [Limit::Flush; 2], "{found:?}");
    assert!(shows!(found[2], Fact::Waiting(WaitingFact::DurableEach { .. })), "{found:?}");
    let found = bindings(&run(vec![of(1, 35_300.0, "fdatasync"), of(16, 60_363.0, "fdatasync")]));
    assert_eq!(found[1].limit, Limit::Parallelism, "{found:?}");
}

#[test]
fn a_throttle_on_durable_writes_is_told_with_what_the_device_wrote() {
    let mut cells = vec![durable(1, 200.0), durable(4, 200.0)];
    for cell in &mut cells {
        let flush = throttled(closed("random", 0.0, 4 * KIB, cell.load.figures().threads), 200.0).trials.remove(0);
        let latency = flush.operations[&Operation::Write].latency.clone();
        cell.trials[0].operations.get_mut(&Operation::Flush).unwrap().latency = latency;
    }
    let found = bindings(&run(cells));
    for binding in &found {
        assert_eq!(binding.limit, Limit::DiskIops, "{binding:?}");
        let twice = |written: f64, asked: f64| about(written, 400.0, 0.1) && about(asked, 200.0, 0.1);
        assert!(
            shows!(binding, Fact::Load(LoadFact::Amplified { written_iops, asked_iops, .. })
                if twice(*written_iops, *asked_iops)),
            "{binding:?}"
        );
    }
}

/// A throttled cell whose seconds completed so many.
fn by_second(counts: &[(usize, u64)]) -> CellRecord {
    let mut cell = throttled(closed("random", 1.0, 4 * KIB, 16), 1_000.0);
    let trial = &mut cell.trials[0];
    let all: Vec<u64> = counts.iter().flat_map(|(times, count)| vec![*count; *times]).collect();
    let second = trial.series.seconds[0];
    trial.measured_ns = all.len() as u64 * 1_000_000_000;
    trial.series.seconds = vec![second; all.len()];
    for (second, count) in trial.series.seconds.iter_mut().zip(&all) {
        second.operations[0].count = *count;
    }
    let reads = trial.operations.get_mut(&Operation::Read).unwrap();
    (reads.count, reads.bytes) = (all.iter().sum(), all.iter().sum::<u64>() * 4 * KIB);
    cell
}

#[test]
fn two_levels_in_a_trial_are_two_values_and_the_last_counts() {
    let found = bindings(&run(vec![by_second(&[(6, 800), (1, 2_400), (7, 4_000)])])).remove(0);
    assert_eq!(found.limit, Limit::DiskIops, "{found:?}");
    assert!((found.ceiling_iops.unwrap() / 4_000.0 - 1.0).abs() < 0.01, "{found:?}");
    let held = |level: &RateHeld, rate: f64, seconds: f64| {
        about(level.rate_iops, rate, 0.5) && about(level.length_ns as f64, seconds * 1e9, 1.0)
    };
    assert!(
        shows!(found, Fact::Course(CourseFact::Rose { levels })
            if levels.len() == 2 && held(&levels[0], 800.0, 6.5) && held(&levels[1], 4_000.0, 7.5)),
        "{found:?}"
    );
}

#[test]
fn a_change_in_the_first_second_is_told() {
    let found = bindings(&run(vec![by_second(&[(1, 900), (6, 2_000)])])).remove(0);
    assert!((found.ceiling_iops.unwrap() / 2_000.0 - 1.0).abs() < 0.01, "{found:?}");
    let first = |level: &RateHeld| about(level.rate_iops, 900.0, 0.5) && about(level.length_ns as f64, 1e9, 1.0);
    assert!(shows!(found, Fact::Course(CourseFact::Rose { levels }) if first(&levels[0])), "{found:?}");
    let found = bindings(&run(vec![by_second(&[(1, 2_600), (6, 800)])])).remove(0);
    assert!((found.ceiling_iops.unwrap() / 800.0 - 1.0).abs() < 0.01, "{found:?}");
    let fell = |before: f64, after: f64| about(before, 2_600.0, 0.5) && about(after, 800.0, 0.5);
    assert!(
        shows!(found, Fact::Course(CourseFact::BeganHigher { before_iops, after_iops, .. })
            if fell(*before_iops, *after_iops)),
        "{found:?}"
    );
}

#[test]
fn whole_turns_of_a_throttle_count_and_not_the_cut_one() {
    // 31 turns of 80 in 3 s, and 29 between the first and the last.
    let mut cell = by_second(&[(2, 800), (1, 880)]);
    cell.trials[0].surroundings.turns = vec![Turns { turns: 29, requests: 29 * 80, span_ns: 2_900_000_000 }];
    let found = bindings(&run(vec![cell.clone()])).remove(0);
    assert!((found.ceiling_iops.unwrap() - 800.0).abs() < 1e-6, "{found:?}");
    // A late wake-up is no cut turn: the mean is exact.
    let mut exact = by_second(&[(3, 1_808)]);
    exact.trials[0].surroundings.turns = vec![Turns { turns: 28, requests: 28 * 181, span_ns: 2_812_000_000 }];
    let found = bindings(&run(vec![exact])).remove(0);
    assert!((found.ceiling_iops.unwrap() - 1_808.0).abs() < 1e-6, "{found:?}");
    // Where one thread saw no turns, it is the mean.
    cell.trials[0].surroundings.threads.push(loadline_record::ThreadBusy::default());
    let found = bindings(&run(vec![cell])).remove(0);
    assert!((found.ceiling_iops.unwrap() - 826.7).abs() < 0.1, "{found:?}");
}

#[test]
fn a_throttle_that_changed_between_two_cells_is_one_in_both() {
    let of = |depth, rate| throttled(closed("random", 1.0, 4 * KIB, depth), rate);
    let found = bindings(&run(vec![of(8, 3_000.0), of(16, 600.0), of(32, 600.0)]));
    assert_eq!(found.iter().map(|b| b.limit).collect::<Vec<_>>(), [Limit::DiskIops; 3], "{found:?}");
    assert!((found[0].ceiling_iops.unwrap() / 3_000.0 - 1.0).abs() < 0.01, "{found:?}");
}

#[test]
fn so_many_places_are_told_where_single_requests_all_take_as_long() {
    let even = |depth: u32, rate: f64| {
        let mut cell = at(depth, 4, rate);
        let reads = cell.trials[0].operations.get_mut(&Operation::Read).unwrap();
        let each = f64::from(depth) * 1e9 / rate;
        let count = reads.count;
        reads.latency = Histogram::new();
        (0..count).for_each(|_| reads.latency.record(loadline_units::Duration::from_ns(each as u64)));
        cell
    };
    let found = bindings(&run(vec![even(1, 240.0), even(16, 1_922.0), even(64, 1_920.0)]));
    assert_eq!(found[2].limit, Limit::Parallelism, "{found:?}");
    assert!(shows!(found[2], Fact::Level(LevelFact::WholePlaces { places: 8.0 })), "{found:?}");
}

#[test]
fn a_level_that_a_load_had_in_time_is_not_what_a_late_one_lost() {
    // 1,150 requests a second at two depths, as a throttle leaves them: at one of them the load waited for a CPU, and lost nothing.
    let late = |queued: [f64; 2], rates: [f64; 2]| {
        let mut record = beside_hogs(vec![at(16, 4, rates[0]), at(32, 4, rates[1])], None);
        for (cell, queued) in record.cells.iter_mut().zip(queued) {
            for thread in &mut cell.trials[0].surroundings.threads {
                (thread.queued, thread.busy) = (Some(queued), queued);
            }
        }
        limits(&record)
    };
    assert_ne!(late([0.37, 0.03], [1_150.0, 1_150.0])[0], Limit::Cpu);
    assert_eq!(late([0.37, 0.37], [1_150.0, 1_150.0])[0], Limit::Cpu);
    // It lost a twentieth.
    assert_eq!(late([0.37, 0.03], [1_100.0, 1_150.0])[0], Limit::Cpu);
}

/// Three seconds of 310 writes each, 31 in each turn of a throttle, though 32 are outstanding.
fn fewer_in_each_turn(kib: u64) -> CellRecord {
    let load = LoadFigures { duration_ns: 3_000_000_000, ..closed("random", 1.0, kib * KIB, 32) };
    let disk = ExampleDisk { latency_ns: 1e8, iops: 310.0, bytes_per_s: 1e12 };
    let mut cell = cell(load, &disk, &[1.0]);
    let trial = &mut cell.trials[0];
    trial.surroundings.turns = vec![Turns { turns: 28, requests: 28 * 31, span_ns: 2_800_000_000 }];
    trial.surroundings.devices[0].queue_ms = 3;
    cell
}

#[test]
fn turns_before_the_device_show_a_limit_though_fewer_pass_than_wait() {
    let beside = |cells| beside_reader(cells, &[300.0; 2]);
    let found = bindings(&beside(vec![fewer_in_each_turn(32), fewer_in_each_turn(256)]));
    for binding in &found {
        assert!(binding.limit == Limit::DiskIops && binding.presumed, "{binding:?}");
        assert!((binding.ceiling_iops.unwrap() / 310.0 - 1.0).abs() < 0.01, "{binding:?}");
    }
    // Where the device has them all, so many at once may be served in the same time.
    let served = |kib| {
        let mut cell = fewer_in_each_turn(kib);
        cell.trials[0].surroundings.devices[0].queue_ms = 31 * 3_000;
        cell
    };
    let found = bindings(&beside(vec![served(32), served(256)]));
    assert!(found.iter().all(|binding| binding.limit == Limit::Unexplained), "{found:?}");
}

#[test]
fn what_a_throttle_saved_up_is_no_part_of_a_level_that_two_others_agree_on() {
    let turns = |depth: u32, rate: f64, requests: u64| {
        let load = LoadFigures { duration_ns: 3_000_000_000, ..closed("random", 1.0, 4 * KIB, depth) };
        let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e12 };
        let mut cell = cell(load, &disk, &[1.0]);
        let span_ns = cell.trials[0].measured_ns;
        let count = (requests as f64 * span_ns as f64 / 1e9) as u64;
        cell.trials[0].surroundings.turns = vec![Turns { turns: span_ns / 100_000_000, requests: count, span_ns }];
        cell
    };
    let cells = vec![turns(1, 1_000.0, 1_005), turns(8, 1_032.0, 1_048), turns(32, 1_000.0, 996)];
    for binding in bindings(&run(cells)) {
        assert!((binding.ceiling_iops.unwrap() / 1_000.0 - 1.0).abs() < 0.01, "{binding:?}");
    }
}
