//! What is concluded of example runs.

use super::*;
use crate::conclusion::{DiskCheck, InsteadOfRange, NextMeasurement};
use crate::example::{ExampleDisk, cell, closed, run};
use crate::summarize;
use loadline_record::Ceiling;

#[test]
fn what_nothing_explains_recommends_to_vary_one_factor_at_a_time() {
    let record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    let cells = summarize(&record).cells;
    let next = advice(&record, &cells[0], Limit::Unexplained, true);
    assert_eq!((&next, next.measurement()), (&AdvisedStep::VaryFactors, Some(NextMeasurement::VaryFactors)));
}

#[test]
fn a_cache_recommends_a_range_that_memory_does_not_hold() {
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    let cells = summarize(&record).cells;
    let larger = |record: &RunRecord| advice(record, &cells[0], Limit::Cache, true).measurement();
    (record.header.host.memory_bytes, record.header.volumes[0].size_bytes) = (Some(16_000_000_000), Some(1 << 40));
    assert_eq!(larger(&record), Some(NextMeasurement::LargerRange { size_bytes: 30 << 30 }));
    // A test file grows, a device does not.
    record.header.volumes[0].kind = TargetKind::BlockDevice;
    assert_eq!(larger(&record), Some(NextMeasurement::LargerRange { size_bytes: 30 << 30 }));
    record.header.volumes[0].size_bytes = Some(20 << 30);
    assert_eq!(larger(&record), None);
    record.header.volumes[0].size_bytes = Some(1 << 40);
    // Nor does a test file grow beyond the room of its file system.
    record.header.volumes[0].kind = TargetKind::TestFile;
    record.header.volumes[0].file_system =
        Some(loadline_record::FileSystemFacts { kind: "ext4".into(), free_bytes: Some(4 << 30), ..Default::default() });
    record.header.volumes[0].size_bytes = Some(1 << 30);
    assert_eq!(larger(&record), None);
    record.header.volumes[0].file_system.as_mut().unwrap().free_bytes = Some(40 << 30);
    assert!(larger(&record).is_some());
    // No range of a file system in memory is on a disk, and none of a buffered load is surely not in the page cache.
    record.header.volumes[0].file_system.as_mut().unwrap().kind = "tmpfs".into();
    let in_memory = advice(&record, &cells[0], Limit::Cache, true);
    assert_eq!(in_memory, AdvisedStep::InsteadOfRange(InsteadOfRange::OnDisk));
    record.header.volumes[0].file_system.as_mut().unwrap().kind = "ext4".into();
    let mut buffered = record.clone();
    buffered.cells[0] = cell(
        loadline_record::LoadFigures { buffered: true, ..closed("random", 1.0, 4 << 10, 8) },
        &ExampleDisk::default(),
        &[1.0],
    );
    buffered.cells[0].id = record.cells[0].id.clone();
    let through_cache = advice(&buffered, &cells[0], Limit::Cache, true);
    assert_eq!(through_cache, AdvisedStep::InsteadOfRange(InsteadOfRange::Direct));
    record.header.volumes[0].size_bytes = Some(1 << 40);
    // Neither the caches of a model nor those of an unknown machine have a size here.
    record.header.host.memory_bytes = None;
    assert_eq!(larger(&record), None);
}

#[test]
fn where_an_environment_was_declared_it_is_not_asked_for() {
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 64), &ExampleDisk::default(), &[1.0])]);
    let mut cells = summarize(&record).cells;
    record.header.environment = Some(record.header.plans[0].clone());
    // It may declare a VM alone.
    cells[0].ceilings.clear();
    let asked = |cells: &[CellSummary]| advice(&record, &cells[0], Limit::DiskIops, true);
    let (limit, check) = (Limit::DiskIops, Some(DiskCheck::AsSold));
    assert_eq!(asked(&cells), AdvisedStep::MoveLimit { limit, check });
    cells[0].ceilings.push(Ceiling { limit: Limit::DiskThroughput, iops: 1e5, source: "declared".into() });
    assert_eq!(asked(&cells), AdvisedStep::MoveLimit { limit, check: Some(DiskCheck::AsDeclared) });
}

#[test]
fn where_more_depth_brought_little_no_more_of_it_is_advised() {
    // One request at a time, whatever waits: 100 IOPS alone, 130 with a choice of 32.
    let disk = |rate: f64| ExampleDisk { latency_ns: 1e9 / rate, iops: rate, bytes_per_s: 1e9 };
    let record = run(vec![cell(closed("random", 1.0, 4 << 10, 1), &disk(100.0), &[1.0])]);
    let mut summary = summarize(&record);
    let mut deep = summary.cells[0].clone();
    (deep.load.queue_depth, deep.id) = (Some(32), "deep".into());
    deep.total.as_mut().unwrap().iops *= 1.3;
    deep.binding.as_mut().unwrap().limit = Limit::Latency;
    summary.cells.push(deep);
    let told = conclusions(&record, &summary.cells).remove(0);
    let Some(Meaning::DeeperBringsLittle { times, faster, .. }) = told.means.first() else { panic!("{told:?}") };
    assert!((times - 32.0).abs() < 1e-9 && (faster - 1.3).abs() < 0.01, "{told:?}");
    assert_eq!(told.steps, [AdvisedStep::Faster]);
}

#[test]
fn where_deeper_queues_brought_nothing_none_is_asked_for() {
    let disk = ExampleDisk { latency_ns: 200e3, iops: 4_930.0, bytes_per_s: 1e9 };
    let mut record = run([1, 4, 64].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &disk, &[1.0])).into());
    // A place in the disk for one request at a time, as a model names it.
    let mut cells = summarize(&record).cells;
    record.header.clock = Clock::Virtual;
    for cell in &mut cells {
        cell.binding.as_mut().unwrap().limit = Limit::Latency;
    }
    let told = conclusions(&record, &cells).remove(0);
    let LoadReached::Closed(reached) = &told.reached else { panic!("{told:?}") };
    assert!(reached.rate.iops.is_some_and(|iops| (iops - 4_930.0).abs() < 100.0), "{reached:?}");
    assert_eq!((reached.at.as_str(), reached.is_onwards), ("depth 1", true));
    assert_eq!(told.means[0], Meaning::DeeperBringsNothing { times: 64.0, at: "depth 1".to_owned() });
    assert!(!told.means.iter().any(|one| matches!(one, Meaning::OfLimit { .. })), "{told:?}");
    assert_eq!(told.steps, [AdvisedStep::Faster]);
}
