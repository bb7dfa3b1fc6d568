//! Closed loops that think between requests.

use super::*;

/// 8 outstanding, each 10 ms after the answer before it: 200 us of 10.2 ms are the disk's.
fn thinking() -> CellRecord {
    let disk = ExampleDisk { latency_ns: 200e3, iops: 784.0, bytes_per_s: 1e9 };
    let mut cell = cell(closed("random", 1.0, 4 << 10, 8), &disk, &[1.0]);
    for record in cell.trials[0].operations.values_mut() {
        record.latency = latencies(record.count, 200e3);
        (record.waiting, record.service) = (Some(record.latency.clone()), Some(record.latency.clone()));
    }
    cell
}

/// So many outstanding, each answered after one time and followed after the other.
fn answered_and_thinking(depth: u32, answer_ns: f64, think_ns: f64) -> CellRecord {
    let rate = f64::from(depth) * 1e9 / (answer_ns + think_ns);
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: 1e9 };
    let mut cell = cell(closed("random", 1.0, 4 * KIB, depth), &disk, &[1.0]);
    for record in cell.trials[0].operations.values_mut() {
        record.latency = latencies(record.count, answer_ns);
        (record.waiting, record.service) = (Some(record.latency.clone()), Some(record.latency.clone()));
    }
    cell
}

#[test]
fn of_a_load_that_thinks_the_larger_part_of_its_time_binds_unless_it_comes_to_a_limit() {
    let of = |cell: CellRecord| {
        let mut cells = sweep(1.0, 4 * KIB, &[1, 32]);
        cells.push(cell);
        bindings(&run(cells)).swap_remove(2)
    };
    // A disk of 1 ms and 5,000 IOPS. 8 / (1 ms + 3 ms) = 2,000.
    let thinks = of(answered_and_thinking(8, 1e6, 3e6));
    assert_eq!(thinks.limit, Limit::Arrival, "{thinks:?}");
    assert!((thinks.ceiling_iops.unwrap() - 2_000.0).abs() < 5.0, "{thinks:?}");
    let Fact::Load(LoadFact::ThinksAndWaits { share, think_ns, latency_ns, asked_iops, .. }) = thinks.seen.facts()[0]
    else {
        panic!("{thinks:?}");
    };
    assert!(about(share, 0.75, 0.5) && about(think_ns, 3e6, 0.5) && about(latency_ns, 1e6, 0.5), "{thinks:?}");
    assert!(about(asked_iops, 2_000.0, 0.5), "{thinks:?}");
    // 8 / (1.5 ms + 0.5 ms) = 4,000: the disk's own time is the larger part.
    let answers = of(answered_and_thinking(8, 1.5e6, 0.5e6));
    assert_eq!(answers.limit, Limit::Latency, "{answers:?}");
    let quarter = |share: f64| about(share, 0.25, 1.0);
    assert!(shows!(answers, Fact::Load(LoadFact::ThinksLess { share, .. }) if quarter(*share)), "{answers:?}");
    // 64 / (2.8 ms + 10 ms) = 5,000: the limit, for which its requests wait, however long it thinks.
    let waits = of(answered_and_thinking(64, 2.8e6, 10e6));
    assert_eq!(waits.limit, Limit::DiskIops, "{waits:?}");
    let most = |share: f64| about(share, 0.78, 1.0);
    assert!(shows!(waits, Fact::Load(LoadFact::ThinksAtLimit { share }) if most(*share)), "{waits:?}");
    let thinks = of(answered_and_thinking(256, 3.2e6, 48e6));
    assert_eq!(thinks.limit, Limit::DiskIops, "{thinks:?}");
    // Or for which they do not: it asks for no more.
    assert_eq!(of(answered_and_thinking(8, 0.7e6, 0.9e6)).limit, Limit::Arrival);
}

#[test]
fn a_load_that_thinks_most_of_the_time_asks_for_no_more() {
    let mut record = run(vec![thinking()]);
    let binding = summarize(&record).cells[0].binding.clone().unwrap();
    assert_eq!(binding.limit, Limit::Arrival, "{binding:?}");
    let Fact::Load(LoadFact::Thinks { asked_iops, rate_iops, .. }) = binding.seen.facts()[0] else {
        panic!("{binding:?}");
    };
    assert!(about(asked_iops, 800.0, 0.1) && about(rate_iops, 784.0, 0.1), "{binding:?}");
    // Nor does it say anything of the tool, where there is nothing below it.
    record.header.volumes[0].kind = TargetKind::Null;
    record.cells.push(cell(open("random", 1.0, 4 << 10, 800.0), &ExampleDisk::default(), &[1.0]));
    let summary = summarize(&record);
    assert!(summary.cells.iter().all(|c| c.binding.as_ref().unwrap().limit == Limit::Arrival), "{:?}", summary.cells);
    assert!(summary.findings.iter().all(|f| f.code != crate::FindingCode::ToolAlone), "{:?}", summary.findings);
}
