//! Limits that stand in files of the kernel, in words.

use loadline_analysis::{HeldBy, StandingLimit, StandingRule};
use loadline_record::{CpuQuota, KernelThrottle, MemoryLimit, ShortQueue, ThrottledQuantity, ThrottledRequests};
use loadline_units::words::{block, counted, number, throughput};

/// "3,000 reads/s", "125 MB/s of writes".
pub(crate) fn amount(limit: &KernelThrottle) -> String {
    let requests = match limit.requests {
        ThrottledRequests::Reads => "reads",
        ThrottledRequests::Writes => "writes",
    };
    match limit.counts {
        ThrottledQuantity::Requests => format!("{} {requests}/s", number(limit.per_s as f64)),
        ThrottledQuantity::Bytes => format!("{} of {requests}", throughput(limit.per_s as f64)),
    }
}

/// "a kernel throttle in control group / limits loop0 to 3,000 reads/s".
pub(crate) fn throttle(held: &HeldBy) -> String {
    let each = match held.devices {
        0 | 1 => held.device.clone(),
        several => format!("each of {several} devices ({} among them)", held.device),
    };
    format!("a kernel throttle in control group {} limits {each} to {}", held.limit.group, amount(&held.limit))
}

/// "4 requests", "4 requests in each of 2 queues".
pub(crate) fn requests(queue: &ShortQueue) -> String {
    let requests = counted(queue.requests as usize, "request");
    if queue.queues == 1 { requests } else { format!("{requests} in each of {} queues", queue.queues) }
}

/// "the kernel's queue of vda holds 4 requests (nr_requests), and is full".
pub(crate) fn full_queue(queue: &ShortQueue) -> String {
    format!("the kernel's queue of {} holds {} (nr_requests), and is full", queue.device, requests(queue))
}

/// "0.05 CPUs": a small quota has more digits than other figures.
pub(crate) fn cpus(quota: &CpuQuota) -> String {
    format!("{} CPUs", (quota.cpus() * 100.0).round() / 100.0)
}

/// "a memory limit of 64 MiB on control group /db leaves too little for the page cache".
pub(crate) fn memory(limit: &MemoryLimit) -> String {
    let MemoryLimit { bytes, group, .. } = limit;
    format!("a memory limit of {} on control group {group} leaves too little for the page cache", block(*bytes))
}

/// What a limit does that was read before a load began: "a CPU quota gives control group /db the time of 0.5 of 4 CPUs".
#[must_use]
pub fn standing(limit: &StandingLimit) -> String {
    match &limit.rule {
        // A small quota has more digits than other figures: "0.05".
        StandingRule::CpuQuota { group, cpus, of_cpus } => {
            format!(
                "a CPU quota gives control group {group} the time of {} of {of_cpus} CPUs",
                (cpus * 100.0).round() / 100.0
            )
        }
        StandingRule::Throttle(held) => throttle(held),
        StandingRule::QueueDepth { device, requests, queues, in_flight } => {
            let several = if *queues == 1 { String::new() } else { format!(" in each of {queues} queues") };
            format!(
                "the kernel's queue of {device} holds {requests} requests{several} (nr_requests): of {in_flight} in flight the others wait \
                 above it"
            )
        }
        StandingRule::RequestSize { device, block_bytes, bytes_max } => format!(
            "requests of {} reach {device} in pieces of {} (max_sectors_kb)",
            block(*block_bytes),
            block(*bytes_max)
        ),
        StandingRule::Writeback { device, latency_us } => format!(
            "writes from the page cache to {device} are held back while its reads take over {} us (wbt_lat_usec)",
            number(*latency_us as f64)
        ),
        StandingRule::Scheduler { device, scheduler } => {
            format!("the scheduler {scheduler} gives {device} to one process at a time, which costs a fast device rate")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttle_names_its_group_its_devices_and_its_amount() {
        let limit = |counts, per_s| KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts,
            per_s,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/io.max".into(),
            lifted_by: "7:0 riops=max".into(),
        };
        let held = |devices| HeldBy { device: "vda".into(), devices, limit: limit(ThrottledQuantity::Requests, 1_500) };
        assert_eq!(throttle(&held(1)), "a kernel throttle in control group /db limits vda to 1,500 reads/s");
        assert_eq!(
            throttle(&held(2)),
            "a kernel throttle in control group /db limits each of 2 devices (vda among them) to 1,500 reads/s"
        );
        assert_eq!(amount(&limit(ThrottledQuantity::Bytes, 125_000_000)), "125 MB/s of reads");
    }

    #[test]
    fn standing_limits_say_what_they_do() {
        let of = |rule| standing(&StandingLimit { rule, file: String::new(), lifted_by: None });
        let quota = StandingRule::CpuQuota { group: "/db".into(), cpus: 0.05, of_cpus: 4 };
        assert_eq!(of(quota), "a CPU quota gives control group /db the time of 0.05 of 4 CPUs");
        let queue =
            |queues| StandingRule::QueueDepth { device: "vda".into(), requests: 64, queues, in_flight: 128 * queues };
        assert_eq!(
            of(queue(1)),
            "the kernel's queue of vda holds 64 requests (nr_requests): of 128 in flight the others wait above it"
        );
        assert_eq!(
            of(queue(2)),
            "the kernel's queue of vda holds 64 requests in each of 2 queues (nr_requests): of 256 in flight the others wait above it"
        );
        let size = StandingRule::RequestSize { device: "vda".into(), block_bytes: 1 << 20, bytes_max: 128 << 10 };
        assert_eq!(of(size), "requests of 1 MiB reach vda in pieces of 128 KiB (max_sectors_kb)");
    }
}
