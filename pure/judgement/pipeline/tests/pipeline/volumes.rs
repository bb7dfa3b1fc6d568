//! Requests of segments and commits on the disk model: to the nanosecond where the disk has no spread.

use crate::made_up::{items, wide_open};
use loadline_disk::{DiskSpec, EnvironmentSpec, Latency, LatencySpec, Parallelism, VolumeSpec};
use loadline_pipeline::{Keep, PipelineItem, ReplayError, StorageModel, replay};
use loadline_record::{BatchCost, BatchRequests, CommitSpec, PipelineSpec, SegmentSpec, Station, VolumeRole};
use loadline_units::{Bytes, Duration};

/// A disk that takes a ms for a write and 3 ms for a flush, one request at a time.
fn disk() -> DiskSpec {
    let of = |ms| LatencySpec { median: Duration::from_ms(ms), p99: Duration::from_ms(ms), per_kib: Duration::ZERO };
    DiskSpec {
        latency: Latency { read: of(1), write: of(1), flush: Some(of(3)) },
        parallelism: Parallelism { requests: Some(1), throughput: None },
        ..DiskSpec::default()
    }
}

fn storage(volumes: [Option<&str>; 3]) -> StorageModel {
    let volume = |name: &str| VolumeSpec { name: name.to_owned(), disks: vec![disk()], ..VolumeSpec::default() };
    let environment = EnvironmentSpec { volumes: vec![volume("index"), volume("log")], ..EnvironmentSpec::default() };
    StorageModel { environment, seed: 1, volumes: volumes.map(|name| name.map(str::to_owned)) }
}

fn cost(bytes: u64, queue_depth: u32, syncs: u32) -> BatchCost {
    let write = Bytes::kib(64);
    let requests = Some(BatchRequests { bytes_per_unit: Bytes::new(bytes), write, queue_depth, syncs });
    BatchCost { write_per_unit_ns: 500, sync_ns: 7_000, requests, ..BatchCost::default() }
}

fn pipeline() -> PipelineSpec {
    PipelineSpec {
        segments: Some(SegmentSpec { budget: Bytes::gib(1), flush: cost(1_024, 1, 1), merge: None }),
        commit: Some(CommitSpec { every_items: None, every: None, index: cost(0, 1, 1), database: cost(4_096, 4, 1) }),
        ..wide_open(1)
    }
}

#[test]
fn a_commit_takes_as_long_as_its_requests() {
    // One item of 130 KiB of text: three writes and a flush of the segment, a flush of the index, one write and a flush of the log.
    let stream = vec![PipelineItem { text_bytes: 130 << 10, ..PipelineItem::default() }];
    let keep = Keep { interval_ns: 1_000_000, items_max: 1, seed: 0 };
    let storage = storage([Some("index"), None, Some("log")]);
    let record = replay(&pipeline(), &stream, Some(&storage), keep).unwrap().record;
    assert_eq!(Duration::from_ns(record.wall_ns), Duration::from_ms(3 + 3 + 3 + 1 + 3));
    let batches: Vec<_> = record.batches.iter().map(|of| (of.station, of.write_ns, of.sync_ns, of.writes)).collect();
    assert_eq!(
        batches,
        [
            (Station::Index, 3_000_000, 3_000_000, 3),
            (Station::Commit, 0, 3_000_000, 0),
            (Station::Database, 1_000_000, 3_000_000, 1)
        ]
    );
    let used: Vec<(VolumeRole, u64, u64, u64)> = record
        .volumes
        .iter()
        .map(|volume| {
            let sum = |of: fn(&loadline_record::VolumeSecond) -> u64| volume.series.iter().map(of).sum();
            (volume.role, sum(|of| of.requests), sum(|of| of.bytes), sum(|of| of.busy_ns))
        })
        .collect();
    assert_eq!(used, [(VolumeRole::Index, 5, 130 << 10, 9_000_000), (VolumeRole::Log, 2, 4_096, 4_000_000)]);
}

#[test]
fn a_role_without_a_volume_keeps_its_measured_waits() {
    let stream = vec![PipelineItem { text_bytes: 100 << 10, ..PipelineItem::default() }];
    let modelled = storage([None, None, Some("log")]);
    let record = replay(&pipeline(), &stream, Some(&modelled), Keep::default()).unwrap().record;
    // 100 units at 500 ns and a sync of the segment; an item at 500 ns and a sync of the index; the log on its disk.
    assert_eq!(record.wall_ns, 100 * 500 + 7_000 + 500 + 7_000 + 1_000_000 + 3_000_000);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let stream = items(1, || [1; 4]);
    let mut spec = wide_open(1);
    spec.index.workers = 0;
    assert_eq!(
        replay(&spec, &stream, None, Keep::default()).unwrap_err().to_string(),
        "the pipeline has no workers of index: it needs at least one"
    );
    let lost = [PipelineItem { source: 3, ..PipelineItem::default() }];
    assert!(matches!(replay(&wide_open(1), &lost, None, Keep::default()), Err(ReplayError::Source { .. })));
    let circle = [PipelineItem { release: loadline_pipeline::Release::After(0), ..PipelineItem::default() }];
    assert_eq!(replay(&wide_open(1), &circle, None, Keep::default()).unwrap_err(), ReplayError::Found(0));
}
