//! What a verdict says of a run as a whole.

use crate::{counted, even, limits, reads};
use loadline_analysis::example::{ExampleDisk, cell, closed, open, run, volume};
use loadline_analysis::{Advised, Certainty, Holder, Limit, MoreInFlight, StopWay, VolumeVerdict, summarize};
use loadline_record::{CellRecord, Doubt, DoubtCode, LoadFigures, RunRecord};

fn verdict(record: &RunRecord) -> VolumeVerdict {
    summarize(record).verdict.expect("measured").volumes.remove(0)
}

/// Whether it says that more requests in flight would give more, or advises it.
fn wants_more(verdict: &VolumeVerdict) -> bool {
    let says = matches!(&verdict.held_by, Holder::Limit(held) if held.more.is_some_and(MoreInFlight::may_help));
    let advises = matches!(verdict.next, Some(Advised::Move { limit: Limit::Latency, .. }));
    says || advises
}

fn concludes_more(record: &RunRecord) -> bool {
    let summary = summarize(record);
    summary.conclusions.iter().any(|one| match &one.reached {
        loadline_analysis::LoadReached::Closed(reached) => {
            reached.stop.as_ref().is_some_and(|stop| matches!(stop.way, StopWay::NotYet))
        }
        _ => false,
    })
}

/// Credits of the first cell are spent in the second, and the others have the baseline.
#[test]
fn more_in_flight_is_not_advised_where_deeper_cells_of_the_run_had_less() {
    let cells = || {
        vec![
            counted(reads(8, 5), &[3_440, 3_430, 3_441, 3_436, 3_438]),
            counted(reads(32, 5), &[3_033, 707, 706, 708, 707]),
            counted(reads(64, 5), &[707; 5]),
        ]
    };
    let record = run(cells());
    assert!(!wants_more(&verdict(&record)), "{:?}", verdict(&record));
    assert!(!concludes_more(&record));
}

#[test]
fn more_in_flight_is_not_advised_where_it_brought_next_to_nothing() {
    let scattered = |depth: u32, rate: f64| {
        let counts: Vec<u64> = (0..10).map(|i| (rate * if i % 2 == 0 { 0.95 } else { 1.05 }) as u64).collect();
        let mut cell = counted(reads(depth, 10), &counts);
        for record in cell.trials[0].operations.values_mut() {
            record.latency = loadline_analysis::example::latencies(record.count, f64::from(depth) * 1e9 / rate);
        }
        cell
    };
    // From 4 to 16 the rate grows by 8 %.
    for rates in [[21_420.0, 9_446.0, 18_099.0], [9_000.0, 20_000.0, 21_600.0]] {
        let record = run([1, 4, 16].into_iter().zip(rates).map(|(depth, rate)| scattered(depth, rate)).collect());
        assert!(!wants_more(&verdict(&record)), "{rates:?}: {:?}", verdict(&record));
        assert!(!concludes_more(&record), "{rates:?}");
    }
    // And where it grew with the depth it is.
    let record = run([1, 4, 16].map(|depth| scattered(depth, 1_000.0 * f64::from(depth))).to_vec());
    assert!(wants_more(&verdict(&record)), "{:?}", verdict(&record));
}

#[test]
fn more_in_flight_is_not_advised_where_the_lightest_load_breaks_the_objective() {
    let slow = ExampleDisk { latency_ns: 30e6, iops: 1e6, bytes_per_s: f64::MAX };
    let record = run([1, 4, 16].map(|depth| cell(closed("random", 1.0, 4096, depth), &slow, &[1.0])).to_vec());
    assert_eq!(limits(&record), [Limit::Latency; 3]);
    let verdict = verdict(&record);
    assert!(!matches!(verdict.next, Some(Advised::Move { limit: Limit::Latency, .. })), "{verdict:?}");
}

/// Offered 500, 1,500 and 2,856 a second: the last stops at 2,470.
#[test]
fn a_run_that_offered_more_than_was_served_says_what_stopped_it() {
    let disk = ExampleDisk { iops: 2_470.0, ..ExampleDisk::default() };
    let cells = [500.0, 1_500.0, 2_856.0].map(|rate| cell(open("random", 1.0, 4096, rate), &disk, &[1.0]));
    let record = run(cells.to_vec());
    assert_eq!(limits(&record)[..2], [Limit::Arrival; 2]);
    let verdict = verdict(&record);
    assert_ne!(verdict.limit, Some(Limit::Arrival), "{verdict:?}");
    assert!(!matches!(verdict.next, Some(Advised::Move { limit: Limit::Arrival, .. })), "{verdict:?}");
}

/// A load with a rate ceiling of its own is judged as well.
#[test]
fn a_run_of_paced_loads_alone_has_a_verdict() {
    let load = LoadFigures { rate_iops: Some(500.0), ..reads(8, 20) };
    let paced = even(load, 500.0);
    let record = run(vec![paced]);
    let verdict = summarize(&record).verdict.expect("a verdict");
    assert_eq!(verdict.volumes[0].limit, Some(Limit::Arrival), "{verdict:?}");
}

/// Reads and writes at 5,099 a second at 4 KiB, and at 207.7 MB/s at 1 MiB, as of a P30.
#[test]
fn equal_rates_both_ways_at_two_sizes_are_two_limits_in_both() {
    let at = |reads: f64, block: u64, depth: u32, rate: f64| {
        let mut cell = even(LoadFigures { block_bytes: block, ..closed("random", reads, block, depth) }, rate);
        // Another tool tells no seconds.
        cell.trials[0].series.seconds.clear();
        cell
    };
    let mib = 1 << 20;
    let mut cells = Vec::new();
    for reads in [1.0, 0.0] {
        let off = if reads > 0.5 { 1.0 } else { 0.9995 };
        cells.push(at(reads, mib, 8, 198.1 * off));
        cells.push(at(reads, 4096, 32, 5_099.9 * off));
        cells.push(at(reads, 4096, 1, 390.0 + reads * 30.0));
    }
    let record = run(cells);
    let found = limits(&record);
    let (large, small) = (Limit::DiskThroughput, Limit::DiskIops);
    assert_eq!([found[0], found[1], found[3], found[4]], [large, small, large, small], "{found:?}");
    assert!(!wants_more(&verdict(&record)));
    assert!(!concludes_more(&record));
}

/// Four fifths of the bytes came from the device, at a throttle or at its own latency.
#[test]
fn a_small_share_of_hits_is_not_what_holds_a_load() {
    let buffered = |depth: u32, rate: f64, hits: f64| {
        let mut cell = even(LoadFigures { buffered: true, threads: depth, ..reads(1, 8) }, rate);
        let trial = &mut cell.trials[0];
        let device = &mut trial.surroundings.devices[0];
        device.reads = (device.reads as f64 * (1.0 - hits)) as u64;
        device.read_bytes = (device.read_bytes as f64 * (1.0 - hits)) as u64;
        cell.trials[0].doubts = loadline_analysis::doubts(&cell.load.figures(), &cell.trials[0], &volume("data"));
        cell
    };
    for hits in [0.1, 0.21, 0.4] {
        let record = run(vec![buffered(4, 2_506.0, hits), buffered(16, 2_495.0, hits)]);
        let found = limits(&record);
        assert!(!found.contains(&Limit::Cache), "{hits}: {found:?}");
    }
    let record = run(vec![buffered(4, 2_506.0, 0.9), buffered(16, 2_495.0, 0.9)]);
    assert_eq!(limits(&record), [Limit::Cache; 2]);
}

/// What was never written is answered without the device, as fast as the tool asks.
#[test]
fn a_sparse_file_is_not_held_by_loadline() {
    let mut cell: CellRecord = even(reads(32, 10), 90_000.0);
    cell.trials[0].doubts = vec![
        Doubt::written(DoubtCode::UnwrittenExtents, "never written"),
        Doubt::written(DoubtCode::GeneratorBound, "load threads were busy"),
    ];
    let verdict = verdict(&run(vec![cell]));
    assert!(matches!(verdict.held_by, Holder::NeverWritten), "{verdict:?}");
    assert!(matches!(verdict.next, Some(Advised::Fill)), "{verdict:?}");
    assert_eq!(verdict.certainty, Certainty::Doubtful);
}

/// Three in a thousand wait 76 ms, the others take 159 us.
#[test]
fn where_the_mean_lies_above_p99_the_next_percentile_is_there() {
    let mut cell = even(reads(1, 20), 2_993.0);
    for record in cell.trials[0].operations.values_mut() {
        let slow = record.count * 3 / 1000;
        record.latency = loadline_analysis::example::latencies(record.count - slow, 106e3);
        (0..slow).for_each(|_| record.latency.record(loadline_units::Duration::from_ms(76)));
    }
    let verdict = verdict(&run(vec![cell]));
    let first = &verdict.gives[0];
    assert!(
        first.p99_9_ns.is_some_and(|ns| ns > 70_000_000) && first.p99_ns.is_some_and(|ns| ns < 1_000_000),
        "{first:?}"
    );
}
