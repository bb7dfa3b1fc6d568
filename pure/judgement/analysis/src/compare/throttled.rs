//! Sides whose loads a throttle of the kernel holds: two disks may differ in nothing else.

use super::Side;
use super::comparison::ThrottledSide;
use crate::device_throttle::HeldBy;
use crate::summarize;
use crate::summary::CellSummary;

/// Each side with a throttle that its loads reach; none where all sides have the same.
pub(super) fn throttled(sides: &[Side<'_>]) -> Vec<ThrottledSide> {
    let all: Vec<Vec<HeldBy>> = sides.iter().map(of_side).collect();
    let alike = |a: &[HeldBy], b: &[HeldBy]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| key(a) == key(b));
    if all.windows(2).all(|pair| alike(&pair[0], &pair[1])) {
        return Vec::new();
    }
    let held = all.into_iter().zip(0..).filter(|(held, _)| !held.is_empty());
    held.map(|(held_by, side)| ThrottledSide { side, held_by }).collect()
}

/// What makes a throttle of two sides the same, whatever file holds it.
fn key(held: &HeldBy) -> impl Ord + '_ {
    let limit = &held.limit;
    let (requests, counts) = (limit.requests as u8, limit.counts as u8);
    (&limit.group, held.devices.max(1), &held.device, requests, counts, limit.per_s)
}

fn of_side(side: &Side<'_>) -> Vec<HeldBy> {
    let mut devices = side.run.header.volumes.iter().flat_map(|volume| &volume.devices);
    let mut trials = side.run.cells.iter().flat_map(|cell| &cell.trials);
    // A watch has the throttles of every control group, a run those of its own.
    let was_watched = trials.any(|trial| trial.watched.as_ref().is_some_and(|watch| !watch.throttles.is_empty()));
    if !was_watched && devices.all(|device| device.throttles.is_empty()) {
        return Vec::new();
    }
    let own = |cell: &CellSummary| side.volume.is_none_or(|volume| cell.volume == volume);
    let mut held: Vec<HeldBy> =
        summarize(side.run).cells.into_iter().filter(own).filter_map(|cell| cell.held_by).collect();
    held.sort_by(|a, b| key(a).cmp(&key(b)));
    held.dedup_by(|a, b| key(a) == key(b));
    held
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::{CompareOptions, compare};
    use loadline_record::{KernelThrottle, RunRecord, ThrottledQuantity, ThrottledRequests};

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
}
