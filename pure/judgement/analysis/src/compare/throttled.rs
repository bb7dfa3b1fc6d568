//! Sides whose loads are held by limits in files of the kernel: two disks may differ in nothing else.

use super::Side;
use super::comparison::{SideSetting, ThrottledSide};
use crate::device_throttle::HeldBy;
use crate::summarize;
use crate::summary::{CellSummary, RunSummary};
use crate::verdict_block::Holder;
use loadline_record::{Clock, RunVerb, SourceLimit};

/// Each side with such limits; none where all sides have the same.
pub(super) fn throttled(sides: &[Side<'_>]) -> Vec<ThrottledSide> {
    let all: Vec<ThrottledSide> = sides.iter().zip(0..).map(|(side, place)| of_side(side, place)).collect();
    let alike = |a: &ThrottledSide, b: &ThrottledSide| {
        a.settings == b.settings && a.held_by.iter().map(key).eq(b.held_by.iter().map(key))
    };
    if all.windows(2).all(|pair| alike(&pair[0], &pair[1])) {
        return Vec::new();
    }
    all.into_iter().filter(|side| !side.held_by.is_empty() || !side.settings.is_empty()).collect()
}

/// What makes a throttle of two sides the same, whatever file holds it.
fn key(held: &HeldBy) -> impl Ord + '_ {
    let limit = &held.limit;
    let (requests, counts) = (limit.requests as u8, limit.counts as u8);
    (&limit.group, held.devices.max(1), &held.device, requests, counts, limit.per_s)
}

fn of_side(side: &Side<'_>, place: u32) -> ThrottledSide {
    let header = &side.run.header;
    let devices = || header.volumes.iter().flat_map(|volume| &volume.devices);
    // What no kernel was read for has no such limit.
    let is_read = header.clock == Clock::Real
        && (header.verb == RunVerb::Watch
            || !header.host.cpu_quotas.is_empty()
            || devices().any(|device| !device.throttles.is_empty() || device.queue_folder.is_some()));
    if !is_read {
        return ThrottledSide { side: place, held_by: Vec::new(), settings: Vec::new() };
    }
    let summary = summarize(side.run);
    let own = |cell: &&CellSummary| side.volume.is_none_or(|volume| cell.volume == volume);
    let mut held_by: Vec<HeldBy> = summary.cells.iter().filter(own).filter_map(|cell| cell.held_by.clone()).collect();
    held_by.sort_by(|a, b| key(a).cmp(&key(b)));
    held_by.dedup_by(|a, b| key(a) == key(b));
    let mut settings: Vec<SideSetting> = summary.cells.iter().filter(own).filter_map(watched).collect();
    settings.extend(before_load(&summary, own));
    settings.dedup();
    ThrottledSide { side: place, held_by, settings }
}

/// What a watch saw to hold a device, unless it is a throttle.
fn watched(cell: &CellSummary) -> Option<SideSetting> {
    let standing = cell.watch.as_ref()?.standing.as_ref()?;
    (!matches!(standing, SourceLimit::Throttle { .. })).then(|| SideSetting::Watched(standing.clone()))
}

/// What holds the volumes by their verdicts.
fn before_load(summary: &RunSummary, own: impl Fn(&&CellSummary) -> bool) -> Vec<SideSetting> {
    let is_own = |id: &str| summary.cells.iter().filter(&own).any(|cell| cell.id == id);
    let volumes = summary.verdict.iter().flat_map(|block| &block.volumes).filter(|volume| is_own(&volume.cell));
    let standing = volumes.filter_map(|volume| match &volume.held_by {
        Holder::Standing(limit) => Some(SideSetting::BeforeLoad(limit.clone())),
        _ => None,
    });
    standing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::{CompareOptions, compare};
    use loadline_record::{
        KernelThrottle, RunRecord, ShortQueue, ThrottledQuantity, ThrottledRequests, WatchRecord, WatchSecond,
        WatchTick,
    };

    fn measured(iops: f64, throttle: Option<u64>) -> RunRecord {
        let disk = ExampleDisk { iops, ..ExampleDisk::default() };
        let mut run = run([8, 32].map(|depth| cell(closed("random", 1.0, 4096, depth), &disk, &[1.0])).into());
        run.header.volumes[0].devices[0].throttles = throttle
            .map(|per_s| KernelThrottle {
                requests: ThrottledRequests::Reads,
                counts: ThrottledQuantity::Requests,
                per_s,
                group: "/db".into(),
                file: "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".into(),
                lifted_by: "7:0 0".into(),
            })
            .into_iter()
            .collect();
        run
    }

    #[test]
    fn a_throttle_of_one_side_is_named_and_one_of_all_is_not() {
        let compared = |runs: &[&RunRecord]| compare(runs, &CompareOptions::default()).unwrap().throttled;
        let (slow, fast) = (measured(500.0, Some(500)), measured(9_000.0, None));
        let found = compared(&[&slow, &fast]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].side, 0);
        let [held] = found[0].held_by.as_slice() else { panic!("{found:?}") };
        assert_eq!((held.limit.per_s, held.limit.group.as_str(), held.device.as_str()), (500, "/db", "vda"));
        assert_eq!(compared(&[&slow, &slow]), []);
        assert_eq!(compared(&[&fast, &fast]), []);
    }

    #[test]
    fn the_queue_that_holds_one_side_is_named_beside_a_throttle_of_the_other() {
        let throttled = measured(500.0, Some(500));
        let mut queued = measured(9_000.0, None);
        let queue = ShortQueue {
            device: "vda".into(),
            requests: 4,
            queues: 1,
            file: "/sys/block/vda/queue/nr_requests".into(),
            lifted_by: "128".into(),
        };
        let tick = WatchTick {
            elapsed_us: 1_000_000,
            reads: 4_000,
            read_ms: 4_000,
            busy_ms: 1_000,
            in_flight: 4,
            ..WatchTick::default()
        };
        queued.header.verb = RunVerb::Watch;
        for trial in queued.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
            trial.watched = Some(Box::new(WatchRecord {
                ticks: vec![tick; 5],
                seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; 5],
                queue: Some(queue.clone()),
                ..WatchRecord::default()
            }));
        }
        let found = compare(&[&throttled, &queued], &CompareOptions::default()).unwrap().throttled;
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.held_by.len(), first.settings.as_slice()), (1, [].as_slice()));
        let of = SideSetting::Watched(SourceLimit::Queue { queue });
        assert_eq!((second.held_by.as_slice(), second.settings.first()), ([].as_slice(), Some(&of)));
    }
}
