//! Limits that rest on one source: the page cache, a declared ceiling above a level, a single depth.

use super::*;
use crate::words::shows;
use loadline_record::{Ceiling, Residency};

/// Reads through the page cache, of which so many bytes in a hundred reached the device, or of a file that lay in memory.
fn buffered(reached: Option<u64>, resident: f64) -> Limit {
    let mut record = run(sweep(1.0, 4 * KIB, &[8]));
    record.header.volumes[0].direct = false;
    let around = &mut record.cells[0].trials[0].surroundings;
    around.residency = Some(Residency { before: resident, after: 1.0 });
    match reached {
        Some(percent) => {
            let device = &mut around.devices[0];
            device.read_bytes = device.read_bytes / 100 * percent;
        }
        None => around.devices.clear(),
    }
    limits(&record)[0]
}

#[test]
fn the_page_cache_answers_if_most_bytes_reached_no_device() {
    assert_eq!(buffered(Some(40), 0.0), Limit::Cache);
    assert_ne!(buffered(Some(60), 0.0), Limit::Cache);
    // Counters go before what lay in memory.
    assert_ne!(buffered(Some(100), 1.0), Limit::Cache);
}

#[test]
fn without_counters_the_page_cache_answers_if_it_has_the_whole_file() {
    assert_eq!(buffered(None, 0.995), Limit::Cache);
    assert_ne!(buffered(None, 0.95), Limit::Cache);
}

#[test]
fn a_level_well_below_a_declared_ceiling_is_not_that_ceilings() {
    // 5,000 IOPS from depth 16 on, where the rate had grown with the depth.
    let named = |declared: f64| {
        let mut record = run(sweep(1.0, 4 * KIB, &[1, 16, 64]));
        for cell in &mut record.cells {
            cell.ceilings = vec![Ceiling { limit: Limit::DiskIops, iops: declared, source: "as sold".into() }];
        }
        let found = bindings(&record).swap_remove(1);
        (found.limit, found.ceiling_iops.map(|iops| (iops / 100.0).round() as u64), found.inferred)
    };
    assert_eq!(named(5_400.0), (Limit::DiskIops, Some(54), false));
    assert_eq!(named(5_700.0), (Limit::DiskIops, Some(50), true));
}

#[test]
fn one_request_at_a_time_is_latency_if_nothing_else_was_measured() {
    // As fio reports it: no seconds, which could show that something counts.
    let mut record = run(sweep(1.0, 4 * KIB, &[1]));
    record.cells[0].trials[0].series.seconds.clear();
    let found = bindings(&record).remove(0);
    assert_eq!(found.limit, Limit::Latency, "{found:?}");
    assert!(shows!(found, Fact::Load(LoadFact::SingleRequests { deeper: None, .. })), "{found:?}");
}

#[test]
fn a_rate_that_grows_with_the_depth_is_latency_however_long_requests_wait() {
    // A stripe of many disks: at depth 64 some requests wait for a disk that is busy, and deeper queues still give more.
    let disk = |rate: f64| ExampleDisk { iops: rate, ..ExampleDisk::default() };
    let cells = [(1, 1_000.0), (16, 8_000.0), (64, 26_000.0)]
        .map(|(depth, rate)| cell(closed("random", 1.0, 4 * KIB, depth), &disk(rate), &[1.0]));
    let found = bindings(&run(cells.into())).pop().unwrap();
    assert_eq!(found.limit, Limit::Latency, "{found:?}");
    assert!(shows!(found, Fact::Load(LoadFact::GrowsWithDepth { .. })), "{found:?}");
}
