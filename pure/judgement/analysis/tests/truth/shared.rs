//! Limits that loads or volumes share.

use crate::{bindings, even, reads};
use loadline_analysis::example::{run, throttled, volume};
use loadline_analysis::{Limit, ObjectiveFound, RunVerdict, run_verdict, summarize};
use loadline_load::{LatencyFigure, Objective};
use loadline_record::{
    CellRecord, KernelThrottle, LoadBeside, LoadFigures, RunRecord, ThrottledQuantity, ThrottledRequests,
};
use loadline_units::Duration;

/// Loads that ran at the same time.
fn together(mut cells: Vec<CellRecord>) -> Vec<CellRecord> {
    for (place, cell) in cells.iter_mut().enumerate() {
        cell.id = format!("{}-together-{place}", cell.id);
    }
    let ids: Vec<(String, String)> = cells.iter().map(|cell| (cell.id.clone(), cell.volume.clone())).collect();
    for (place, cell) in cells.iter_mut().enumerate() {
        let others = ids.iter().enumerate().filter(|(other, _)| *other != place);
        cell.beside = others
            .map(|(_, (id, volume))| LoadBeside {
                cell: id.clone(),
                volume: volume.clone(),
                name: None,
                load: "random read 4 KiB, depth 32".into(),
            })
            .collect();
    }
    cells
}

fn on(name: &str, mut cell: CellRecord) -> CellRecord {
    cell.id = format!("{name}-{}", cell.id);
    cell.label = format!("{name}: {}", cell.label);
    name.clone_into(&mut cell.volume);
    cell
}

#[test]
fn two_volumes_whose_sum_is_what_each_has_alone_share_a_limit() {
    let load = || reads(32, 4);
    let mut cells = vec![on("x", even(load(), 2_000.0)), on("y", even(load(), 1_999.0))];
    cells.extend(together(vec![on("x", even(load(), 1_000.0)), on("y", even(load(), 1_000.0))]));
    let mut record: RunRecord = run(cells);
    record.header.volumes = ["x", "y"].map(volume).into();
    record.header.volumes[1].devices[0].name = "vdb".into();
    let summary = summarize(&record);
    for binding in &bindings(&summary)[2..] {
        assert_eq!(binding.limit, Limit::Interface, "{binding:?}");
        assert!(binding.ceiling_iops.is_some_and(|iops| (iops / 2_000.0 - 1.0).abs() < 0.02), "{binding:?}");
    }
    for binding in &bindings(&summary)[..2] {
        assert_ne!(binding.limit, Limit::Latency, "{binding:?}");
    }
}

#[test]
fn loads_that_share_a_throttle_that_was_read_are_held_by_it() {
    let cells = together(vec![throttled(reads(8, 4), 778.0), throttled(reads(8, 4), 802.0)]);
    let mut record = run(cells);
    record.header.volumes[0].devices[0].throttles = vec![KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: 1_585,
        group: "/db".into(),
        file: "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".into(),
        lifted_by: "7:0 0".into(),
    }];
    let summary = summarize(&record);
    for cell in &summary.cells {
        let binding = cell.binding.as_ref().expect("named");
        assert!(cell.held_by.is_some(), "{binding:?}");
        assert_eq!(binding.limit, Limit::DiskIops);
        assert!(binding.ceiling_iops.is_some_and(|iops| (iops / 1_585.0 - 1.0).abs() < 0.02), "{binding:?}");
    }
}

#[test]
fn depths_of_loads_together_are_one_question() {
    // On two volumes at once, at depth 1 and at depth 64: 10 ms, and then 640.
    let objective = Some(Objective { of: LatencyFigure::Mean, limit: Duration::from_ms(20) });
    let pair = |depth: u32| {
        let load = || LoadFigures { objective, ..reads(depth, 4) };
        let mut cells = together(vec![on("x", even(load(), 100.0)), on("y", even(load(), 100.0))]);
        let ids: Vec<String> = cells.iter().map(|cell| format!("{}-{depth}", cell.id)).collect();
        for (place, cell) in cells.iter_mut().enumerate() {
            cell.id.clone_from(&ids[place]);
            let beside = &mut cell.beside[0];
            (beside.cell, beside.load) = (ids[1 - place].clone(), format!("random read 4 KiB, depth {depth}"));
        }
        cells
    };
    let mut record: RunRecord = run(pair(1).into_iter().chain(pair(64)).collect());
    record.header.volumes = ["x", "y"].map(volume).into();
    let found = summarize(&record).verdict.and_then(|verdict| verdict.objective).expect("an objective").found;
    assert!(matches!(found, ObjectiveFound::UpTo { .. }), "{found:?}");
    assert_eq!(run_verdict(&record), RunVerdict::Kept);
}
