//! Which throttle of the kernel holds a cell: a limit that was read from its file, and that the load reaches.

use crate::summary::CellSummary;
use crate::verdict_block::HeldBy;
use crate::words::{number, throughput};
use loadline_record::{DeviceFacts, KernelThrottle, Limit, RunRecord, ThrottledQuantity, ThrottledRequests};

/// A load is at a throttle if its rate comes as near to the limit from below.
const BELOW_MOST: f64 = 0.05;
/// And from above: a turn of the kernel's throttle more than its share, in a short trial.
const ABOVE_MOST: f64 = 0.08;

/// Names the throttle that holds each cell, after the limits are named.
pub(crate) fn name_holders(record: &RunRecord, cells: &mut [CellSummary]) {
    for cell in cells {
        cell.held_by = held_by(record, cell).filter(|_| may_be_a_throttle(cell));
    }
}

/// Whether the limit that the figures show can be a throttle's. A load that another limit stops is near a throttle by chance.
fn may_be_a_throttle(cell: &CellSummary) -> bool {
    let limit = cell.binding.as_ref().map(|binding| binding.limit);
    matches!(limit, None | Some(Limit::DiskIops | Limit::DiskThroughput | Limit::Unexplained))
}

fn held_by(record: &RunRecord, cell: &CellSummary) -> Option<HeldBy> {
    let volume = record.header.volumes.iter().find(|volume| volume.name == cell.volume)?;
    let reached = volume.devices.iter().flat_map(|device| device.throttles.iter().map(move |limit| (device, limit)));
    reached
        .filter_map(|(device, limit)| {
            let among = devices_alike(&volume.devices, limit);
            let allowed = limit.per_s as f64 * f64::from(among);
            let share = asked(cell, device, limit)? / allowed;
            ((1.0 - BELOW_MOST)..=(1.0 + ABOVE_MOST)).contains(&share).then(|| {
                let held = HeldBy { device: device.name.clone(), devices: among, limit: limit.clone() };
                ((share - 1.0).abs(), held)
            })
        })
        .min_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, held)| held)
}

/// Devices of the volume that have the same limit: a stripe over them gets it so many times.
fn devices_alike(devices: &[DeviceFacts], limit: &KernelThrottle) -> u32 {
    let is_alike = |other: &&KernelThrottle| {
        (other.requests, other.counts, other.per_s) == (limit.requests, limit.counts, limit.per_s)
    };
    devices.iter().filter(|device| device.throttles.iter().any(|other| is_alike(&other))).count() as u32
}

/// What the load asked of the device in a second, counted as the throttle does.
fn asked(cell: &CellSummary, device: &DeviceFacts, limit: &KernelThrottle) -> Option<f64> {
    let of = match limit.requests {
        ThrottledRequests::Reads => cell.read.as_ref()?,
        ThrottledRequests::Writes => cell.write.as_ref()?,
    };
    Some(match limit.counts {
        ThrottledQuantity::Bytes => of.throughput_bytes_per_s,
        ThrottledQuantity::Requests => {
            let largest = device.request_bytes_max.filter(|largest| *largest > 0).unwrap_or(u64::MAX);
            of.iops * cell.load.block_bytes.div_ceil(largest).max(1) as f64
        }
    })
}

impl HeldBy {
    /// "3,000 reads/s", "125 MB/s of writes".
    #[must_use]
    pub fn amount(&self) -> String {
        let requests = match self.limit.requests {
            ThrottledRequests::Reads => "reads",
            ThrottledRequests::Writes => "writes",
        };
        match self.limit.counts {
            ThrottledQuantity::Requests => format!("{} {requests}/s", number(self.limit.per_s as f64)),
            ThrottledQuantity::Bytes => format!("{} of {requests}", throughput(self.limit.per_s as f64)),
        }
    }

    /// "the kernel's throttle of control group / limits loop0 to 3,000 reads/s".
    #[must_use]
    pub fn sentence(&self) -> String {
        let each = match self.devices {
            0 | 1 => self.device.clone(),
            several => format!("each of {several} devices ({} among them)", self.device),
        };
        format!("a kernel throttle in control group {} limits {each} to {}", self.limit.group, self.amount())
    }

    /// The command that lifts the limit, for a shell.
    #[must_use]
    pub fn lifting_command(&self) -> String {
        format!("echo '{}' | sudo tee {}", self.limit.lifted_by, self.limit.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;

    fn limit(requests: ThrottledRequests, counts: ThrottledQuantity, per_s: u64) -> KernelThrottle {
        let file = "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".to_owned();
        KernelThrottle { requests, counts, per_s, group: "/db".into(), file, lifted_by: "7:0 0".into() }
    }

    fn run(limits: Vec<KernelThrottle>, devices: usize) -> RunRecord {
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let load = |depth| example::closed("random", 1.0, 4096, depth);
        let cells = [1, 8, 32].map(|depth| example::cell(load(depth), &disk, &[1.0])).into();
        let mut record = example::run(cells);
        let volume = &mut record.header.volumes[0];
        volume.devices[0].throttles = limits;
        volume.devices = vec![volume.devices[0].clone(); devices];
        record
    }

    #[test]
    fn a_throttle_is_named_by_the_cells_that_reach_it_and_by_no_other() {
        let limits = vec![
            limit(ThrottledRequests::Writes, ThrottledQuantity::Requests, 3_000),
            limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000),
            limit(ThrottledRequests::Reads, ThrottledQuantity::Bytes, 125_000_000),
        ];
        let summary = summarize(&run(limits, 1));
        let conclusion = &summary.conclusions[0];
        assert!(conclusion.text.contains("a kernel throttle in control group /db limits vda to 3,000 reads/s"));
        assert!(conclusion.next.as_deref().is_some_and(|next| next.contains("echo '7:0 0' | sudo tee")));
        let held: Vec<Option<String>> =
            summary.cells.iter().map(|cell| Some(cell.held_by.as_ref()?.amount())).collect();
        assert_eq!(held, [None, Some("3,000 reads/s".to_owned()), Some("3,000 reads/s".to_owned())]);
    }

    #[test]
    fn a_stripe_gets_the_limit_of_each_of_its_devices() {
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 1_500)];
        let summary = summarize(&run(limits, 2));
        let held = summary.cells[2].held_by.as_ref().expect("held");
        assert_eq!(
            held.sentence(),
            "a kernel throttle in control group /db limits each of 2 devices (vda among them) to 1,500 reads/s"
        );
        assert_eq!(
            held.lifting_command(),
            "echo '7:0 0' | sudo tee /sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device"
        );
    }

    #[test]
    fn a_load_that_something_else_limits_is_near_a_throttle_by_chance() {
        // One request at a time takes 1 ms: 1,000 a second, with or without the throttle.
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 1_020)];
        let summary = summarize(&run(limits, 1));
        assert_eq!(summary.cells[0].binding.as_ref().map(|binding| binding.limit), Some(Limit::Latency));
        assert_eq!(summary.cells[0].held_by, None);
    }

    #[test]
    fn a_limit_that_the_load_stays_below_holds_nothing() {
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 5_000)];
        assert!(summarize(&run(limits, 1)).cells.iter().all(|cell| cell.held_by.is_none()));
    }
}
