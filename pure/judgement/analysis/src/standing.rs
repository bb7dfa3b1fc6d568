//! What holds a load by what was read before it began: quotas, throttles and settings of queues, each with its file and what lifts it.

use crate::device_throttle::HeldBy;
use crate::summary::CellSummary;
use loadline_record::{
    CpuQuota, DeviceFacts, HostFacts, Limit, LoadFigures, ThrottledRequests, TrialRecord, VolumeFacts,
};
use serde::{Deserialize, Serialize};

/// A quota that leaves this share of the CPUs leaves enough.
const CPUS_LEFT: f64 = 0.999;
/// A quota that stopped the load for less of the time is not what holds it.
const STOPPED_SHARE: f64 = 0.02;
/// A queue is full if its device has this share of its room in flight on average, warm-up included.
const QUEUE_FULL: f64 = 0.7;
/// A shallower load with this share of the rate shows that the rate is not the queue's.
const LEVEL_BEFORE: f64 = 0.85;
/// The scheduler that gives a device to one process at a time.
const SCHEDULER_COSTLY: &str = "bfq";

/// A limit that stands in a file of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StandingLimit {
    /// What it does.
    pub rule: StandingRule,
    /// The file that holds it.
    pub file: String,
    /// The command that lifts it, for a shell; `None` where a file cannot.
    pub lifted_by: Option<String>,
}

/// What a limit that stands in a file does, the gravest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StandingRule {
    /// A CPU quota of a control group.
    CpuQuota {
        /// The control group.
        group: String,
        /// CPUs whose time it gets.
        cpus: f64,
        /// Of so many.
        of_cpus: u32,
    },
    /// A rate limit of a control group on a device.
    Throttle(HeldBy),
    /// The requests that the kernel's queue of a device holds.
    QueueDepth {
        /// The device.
        device: String,
        /// Requests in each of its queues.
        requests: u64,
        /// Queues that the load uses.
        queues: u64,
        /// Requests that the load has in flight.
        in_flight: u64,
    },
    /// The largest request of a device.
    RequestSize {
        /// The device.
        device: String,
        /// Of the load.
        block_bytes: u64,
        /// The largest that the device gets.
        bytes_max: u64,
    },
    /// Writes from the page cache wait for reads.
    Writeback {
        /// The device.
        device: String,
        /// The latency of reads from which on they wait, microseconds.
        latency_us: u64,
    },
    /// A scheduler costs a fast device more than it brings.
    Scheduler {
        /// The device.
        device: String,
        /// The scheduler.
        scheduler: String,
    },
}

impl StandingLimit {
    /// A throttle of the kernel.
    pub(crate) fn throttle(held: HeldBy) -> Self {
        let (file, lifted_by) = (held.limit.file.clone(), Some(held.lifting_command()));
        Self { rule: StandingRule::Throttle(held), file, lifted_by }
    }
}

impl StandingRule {
    /// Its place among the others.
    const fn rank(&self) -> u8 {
        match self {
            Self::CpuQuota { .. } => 0,
            Self::Throttle(_) => 1,
            Self::QueueDepth { .. } => 2,
            Self::RequestSize { .. } => 3,
            Self::Writeback { .. } => 4,
            Self::Scheduler { .. } => 5,
        }
    }

    /// By how much a load outgrows it.
    const fn demand(&self) -> u64 {
        match self {
            Self::QueueDepth { in_flight, .. } => *in_flight,
            Self::RequestSize { block_bytes, .. } => *block_bytes,
            _ => 0,
        }
    }

    /// Whether it is the same limit for another load. Of the second version of control groups one file has several throttles.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Throttle(own), Self::Throttle(other)) => {
                let of = |held: &HeldBy| (held.limit.requests, held.limit.counts, held.limit.per_s);
                of(own) == of(other)
            }
            _ => self.rank() == other.rank(),
        }
    }
}

/// What stands in the way of these loads on their volumes, the gravest first.
#[must_use]
pub fn standing_limits<'a>(
    host: &HostFacts,
    loads: impl IntoIterator<Item = (&'a VolumeFacts, LoadFigures)>,
) -> Vec<StandingLimit> {
    let mut found: Vec<StandingLimit> = quota(host).into_iter().collect();
    for (volume, load) in loads {
        for device in &volume.devices {
            let here = [
                throttles(&volume.devices, device, &load),
                load.queue_depth.and_then(|depth| queue_depth(device, depth, load.threads)).into_iter().collect(),
                request_size(device, &load).into_iter().collect(),
                writeback(device, &load).into_iter().collect(),
                scheduler(device).into_iter().collect(),
            ];
            for limit in here.into_iter().flatten() {
                // Of queues that several loads outgrow the deepest load's line stays.
                match found.iter_mut().find(|known| known.file == limit.file && known.rule.is_same(&limit.rule)) {
                    Some(known) if known.rule.demand() < limit.rule.demand() => *known = limit,
                    Some(_) => {}
                    None => found.push(limit),
                }
            }
        }
    }
    found.sort_by_key(|limit| limit.rule.rank());
    found
}

/// The limit that explains why a cell stops where it does; `None` where none of them can.
pub(crate) fn holder(
    host: &HostFacts,
    volume: Option<&VolumeFacts>,
    cell: &CellSummary,
    trials: &[TrialRecord],
    all: &[CellSummary],
) -> Option<StandingLimit> {
    match cell.binding.as_ref().map(|binding| binding.limit) {
        Some(Limit::Cpu | Limit::Generator) => quota(host).filter(|_| trials.iter().any(was_stopped)),
        None | Some(Limit::Parallelism | Limit::Unexplained) => {
            let depth = cell.load.queue_depth?;
            volume?.devices.iter().find_map(|device| queue_depth(device, depth, threads_of_each(cell, trials)))
        }
        // What is only inferred gives way to a queue that was full, of which the kernel tells its length.
        Some(Limit::DiskIops | Limit::DiskThroughput | Limit::Latency)
            if cell.binding.as_ref().is_some_and(|binding| binding.inferred) =>
        {
            volume?.devices.iter().find_map(|device| full_queue(device, cell, trials, all))
        }
        Some(_) => None,
    }
}

/// The threads of each host: a device is one host's.
fn threads_of_each(cell: &CellSummary, trials: &[TrialRecord]) -> u32 {
    let hosts = trials.iter().filter_map(|trial| trial.hosts.as_ref()).map(|of| of.hosts.len()).max().unwrap_or(1);
    cell.load.threads / (hosts.max(1) as u32)
}

/// The queue of a device that the load filled all the time, and before which the rate had not yet come to its limit.
fn full_queue(
    device: &DeviceFacts,
    cell: &CellSummary,
    trials: &[TrialRecord],
    all: &[CellSummary],
) -> Option<StandingLimit> {
    let threads = threads_of_each(cell, trials);
    let limit = queue_depth(device, cell.load.queue_depth?, threads)?;
    let queues = device.queues.unwrap_or(1).clamp(1, u64::from(threads.max(1)));
    let room = (device.queue_requests? * queues) as f64;
    let was_full = |trial: &TrialRecord| {
        let counted = trial.surroundings.devices.iter().find(|counted| counted.name == device.name);
        let elapsed_ms = trial.surroundings.elapsed_ns as f64 / 1e6;
        counted.is_some_and(|counted| counted.queue_ms as f64 >= room * QUEUE_FULL * elapsed_ms.max(1.0))
    };
    let rate = cell.iops_lasting()?;
    let in_flight =
        |other: &CellSummary| Some(f64::from(other.load.queue_depth?) * f64::from(other.load.threads.max(1)));
    let is_alike = |other: &&CellSummary| {
        let (a, b) = (&other.load, &cell.load);
        other.volume == cell.volume
            && (&a.pattern, a.block_bytes, a.buffered) == (&b.pattern, b.block_bytes, b.buffered)
            && (a.read_ratio - b.read_ratio).abs() < f64::EPSILON
            && other.flush.is_some() == cell.flush.is_some()
    };
    // A rate that is there with half of the room is not the queue's.
    let is_level_before = |other: &CellSummary| {
        in_flight(other).is_some_and(|depth| depth <= room / 2.0)
            && other.iops_lasting().is_some_and(|shallow| shallow >= rate * LEVEL_BEFORE)
    };
    let is_queue =
        !trials.is_empty() && trials.iter().all(was_full) && !all.iter().filter(is_alike).any(is_level_before);
    is_queue.then_some(limit)
}

/// Whether a quota kept a trial from running for a share of its time that counts.
fn was_stopped(trial: &TrialRecord) -> bool {
    let stopped = trial.surroundings.stops.and_then(|stops| stops.throttled_ns).unwrap_or(0);
    stopped as f64 >= STOPPED_SHARE * trial.measured_ns.max(1) as f64
}

/// The tightest quota, if it leaves fewer CPUs than the process could use.
fn quota(host: &HostFacts) -> Option<StandingLimit> {
    let of_cpus = host.cpus?;
    let is_less = |quota: &&CpuQuota| quota.cpus() < f64::from(of_cpus) * CPUS_LEFT;
    let quota = host.cpu_quotas.first().filter(is_less)?;
    Some(StandingLimit {
        rule: StandingRule::CpuQuota { group: quota.group.clone(), cpus: quota.cpus(), of_cpus },
        file: quota.file.clone(),
        lifted_by: Some(quota.lifting_command()),
    })
}

fn throttles(devices: &[DeviceFacts], device: &DeviceFacts, load: &LoadFigures) -> Vec<StandingLimit> {
    let is_met = |requests: ThrottledRequests| match requests {
        ThrottledRequests::Reads => load.read_ratio > 0.0,
        ThrottledRequests::Writes => load.read_ratio < 1.0,
    };
    let met = device.throttles.iter().filter(|limit| is_met(limit.requests));
    met.map(|limit| StandingLimit::throttle(HeldBy::on(devices, device, limit))).collect()
}

fn queue_depth(device: &DeviceFacts, depth: u32, threads: u32) -> Option<StandingLimit> {
    let (room, folder) = (device.queue_requests?, device.queue_folder.as_ref()?);
    let threads = u64::from(threads.max(1));
    let in_flight = u64::from(depth) * threads;
    // A thread's requests go to the queue of its processor.
    let queues = device.queues.unwrap_or(1).clamp(1, threads);
    let fits = room * queues;
    if in_flight <= fits {
        return None;
    }
    let file = format!("{folder}/nr_requests");
    // Without a scheduler the device's own room is all that there is.
    let most = if device.has_scheduler() { u64::MAX } else { device.queue_requests_hardware.unwrap_or(room) };
    Some(StandingLimit {
        rule: StandingRule::QueueDepth { device: device.name.clone(), requests: room, queues, in_flight },
        lifted_by: (most > room).then(|| written(&in_flight.div_ceil(queues).min(most).to_string(), &file)),
        file,
    })
}

fn request_size(device: &DeviceFacts, load: &LoadFigures) -> Option<StandingLimit> {
    let (most, folder) = (device.request_bytes_max?, device.queue_folder.as_ref()?);
    if load.block_bytes <= most || most == 0 {
        return None;
    }
    let file = format!("{folder}/max_sectors_kb");
    let can_grow = device.request_bytes_hardware.is_some_and(|hardware| hardware >= load.block_bytes);
    Some(StandingLimit {
        rule: StandingRule::RequestSize { device: device.name.clone(), block_bytes: load.block_bytes, bytes_max: most },
        lifted_by: can_grow.then(|| written(&load.block_bytes.div_ceil(1024).to_string(), &file)),
        file,
    })
}

fn writeback(device: &DeviceFacts, load: &LoadFigures) -> Option<StandingLimit> {
    let (latency_us, folder) = (device.writeback_latency_us?, device.queue_folder.as_ref()?);
    if latency_us == 0 || !load.buffered || load.read_ratio >= 1.0 {
        return None;
    }
    let file = format!("{folder}/wbt_lat_usec");
    Some(StandingLimit {
        rule: StandingRule::Writeback { device: device.name.clone(), latency_us },
        lifted_by: Some(written("0", &file)),
        file,
    })
}

fn scheduler(device: &DeviceFacts) -> Option<StandingLimit> {
    let folder = device.queue_folder.as_ref()?;
    let scheduler = device.scheduler.clone().filter(|scheduler| scheduler == SCHEDULER_COSTLY)?;
    if device.rotational != Some(false) {
        return None;
    }
    let file = format!("{folder}/scheduler");
    Some(StandingLimit {
        rule: StandingRule::Scheduler { device: device.name.clone(), scheduler },
        lifted_by: Some(written("none", &file)),
        file,
    })
}

fn written(value: &str, file: &str) -> String {
    format!("echo {value} | sudo tee {file}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;
    use loadline_record::{DeviceCounters, KernelThrottle, Stops, ThrottledQuantity};

    fn device() -> DeviceFacts {
        DeviceFacts {
            name: "vda".into(),
            queue_requests: Some(64),
            queue_folder: Some("/sys/block/vda/queue".into()),
            queues: Some(2),
            scheduler: Some("none".into()),
            rotational: Some(false),
            ..DeviceFacts::default()
        }
    }

    fn quota_of(quota_us: u64) -> CpuQuota {
        let file = "/sys/fs/cgroup/db/cpu.max".to_owned();
        CpuQuota { quota_us, period_us: 100_000, group: "/db".into(), file, lifted_by: "max".into() }
    }

    fn found(host: &HostFacts, device: DeviceFacts, load: LoadFigures) -> Vec<StandingLimit> {
        let mut record = example::run(vec![example::cell(load.clone(), &ExampleDisk::default(), &[1.0])]);
        record.header.volumes[0].devices = vec![device];
        standing_limits(host, [(&record.header.volumes[0], load)])
    }

    #[test]
    fn a_quota_counts_if_it_leaves_fewer_cpus_than_there_are() {
        let of = |quota_us| {
            let host = HostFacts { cpus: Some(4), cpu_quotas: vec![quota_of(quota_us)], ..HostFacts::default() };
            found(&host, device(), example::closed("random", 1.0, 4096, 8))
        };
        let [limit] = &of(50_000)[..] else { panic!("one limit") };
        let quota = |cpus| StandingRule::CpuQuota { group: "/db".to_owned(), cpus, of_cpus: 4 };
        assert_eq!(limit.rule, quota(0.5));
        assert_eq!(limit.lifted_by.as_deref(), Some("echo max | sudo tee /sys/fs/cgroup/db/cpu.max"));
        let [small] = &of(5_000)[..] else { panic!("one limit") };
        assert_eq!(small.rule, quota(0.05));
        assert_eq!(of(400_000), []);
    }

    #[test]
    fn a_queue_is_named_by_loads_that_outgrow_it() {
        let of = |depth, threads, scheduler: &str| {
            let load = LoadFigures { threads, ..example::closed("random", 1.0, 4096, depth) };
            let device = DeviceFacts { scheduler: Some(scheduler.into()), ..device() };
            found(&HostFacts::default(), device, load)
        };
        assert_eq!(of(64, 1, "none"), []);
        assert_eq!(of(64, 2, "none"), [], "each thread has a queue");
        let full = of(128, 1, "none");
        let rule = StandingRule::QueueDepth { device: "vda".to_owned(), requests: 64, queues: 1, in_flight: 128 };
        assert_eq!(full[0].rule, rule);
        assert_eq!(full[0].lifted_by, None, "the device itself has no more");
        let grows = of(256, 2, "mq-deadline");
        assert_eq!(grows[0].lifted_by.as_deref(), Some("echo 256 | sudo tee /sys/block/vda/queue/nr_requests"));
        let set = DeviceFacts { queue_requests_hardware: Some(100), ..device() };
        let set = found(&HostFacts::default(), set, example::closed("random", 1.0, 4096, 128));
        assert_eq!(set[0].lifted_by.as_deref(), Some("echo 100 | sudo tee /sys/block/vda/queue/nr_requests"));
    }

    #[test]
    fn settings_that_matter_to_a_load_are_named_with_what_lifts_them() {
        let limit = KernelThrottle {
            requests: ThrottledRequests::Writes,
            counts: ThrottledQuantity::Requests,
            per_s: 300,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/io.max".into(),
            lifted_by: "7:0 wiops=max".into(),
        };
        let device = DeviceFacts {
            scheduler: Some("bfq".into()),
            request_bytes_max: Some(128 << 10),
            request_bytes_hardware: Some(4 << 20),
            writeback_latency_us: Some(2_000),
            throttles: vec![limit],
            ..device()
        };
        let reads = found(&HostFacts::default(), device.clone(), example::closed("random", 1.0, 4096, 8));
        assert!(matches!(&reads[..], [StandingLimit { rule: StandingRule::Scheduler { .. }, .. }]), "{reads:?}");
        let load = LoadFigures { buffered: true, ..example::closed("random", 0.0, 1 << 20, 8) };
        let writes = found(&HostFacts::default(), device, load);
        let commands: Vec<&str> = writes.iter().filter_map(|one| one.lifted_by.as_deref()).collect();
        assert_eq!(
            commands,
            [
                "echo '7:0 wiops=max' | sudo tee /sys/fs/cgroup/db/io.max",
                "echo 1024 | sudo tee /sys/block/vda/queue/max_sectors_kb",
                "echo 0 | sudo tee /sys/block/vda/queue/wbt_lat_usec",
                "echo none | sudo tee /sys/block/vda/queue/scheduler",
            ]
        );
    }

    #[test]
    fn the_verdict_names_a_quota_that_stopped_the_load_and_no_other() {
        let disk = ExampleDisk::default();
        let mut record = example::run(vec![example::cell(example::closed("random", 1.0, 4096, 8), &disk, &[1.0])]);
        record.header.host.cpu_quotas = vec![quota_of(50_000)];
        let mut cell = summarize(&record).cells.remove(0);
        let binding = cell.binding.get_or_insert_with(|| {
            loadline_record::Binding::known(Limit::Cpu, None, None, loadline_record::Evidence::default())
        });
        binding.limit = Limit::Cpu;
        let trial = &mut record.cells[0].trials[0];
        let of = |trial: &TrialRecord| holder(&record.header.host, None, &cell, std::slice::from_ref(trial), &[]);
        assert_eq!(of(trial), None, "it never ran out");
        let throttled_ns = Some(trial.measured_ns / 2);
        trial.surroundings.stops = Some(Stops { throttled_ns, ..Stops::default() });
        assert!(of(trial).is_some_and(|limit| matches!(limit.rule, StandingRule::CpuQuota { .. })));
    }

    /// A sweep of single requests and deep ones on a device with room for 4, on which so many were in flight; whether its verdict names the queue.
    fn of_a_full_queue(disk: &ExampleDisk, depths: &[u32], in_flight: f64) -> (Limit, bool) {
        let cells = depths.iter().map(|depth| {
            let mut cell = example::cell(example::closed("random", 1.0, 4096, *depth), disk, &[1.0]);
            for trial in &mut cell.trials {
                let elapsed_ms = trial.measured_ns / 1_000_000;
                trial.surroundings.elapsed_ns = trial.measured_ns;
                trial.surroundings.devices = vec![DeviceCounters {
                    name: "vda".into(),
                    queue_ms: (elapsed_ms as f64 * f64::from(*depth).min(in_flight)) as u64,
                    ..DeviceCounters::default()
                }];
            }
            cell
        });
        let mut record = example::run(cells.collect());
        record.header.volumes[0].devices =
            vec![DeviceFacts { queue_requests: Some(4), scheduler: Some("mq-deadline".into()), ..device() }];
        let summary = summarize(&record);
        let deepest = summary.cells.len() - 1;
        let (cell, trials) = (&summary.cells[deepest], &record.cells[deepest].trials);
        let found = holder(&record.header.host, Some(&record.header.volumes[0]), cell, trials, &summary.cells);
        (
            cell.binding.as_ref().unwrap().limit,
            found.is_some_and(|limit| matches!(limit.rule, StandingRule::QueueDepth { .. })),
        )
    }

    #[test]
    fn a_queue_that_was_full_is_named_before_a_limit_of_the_disk_that_is_only_presumed() {
        let disk = ExampleDisk { iops: 4_000.0, ..ExampleDisk::default() };
        assert_eq!(of_a_full_queue(&disk, &[1, 8, 32], 4.0), (Limit::DiskIops, true));
        // The rate is there with two in flight already.
        let slow = ExampleDisk { iops: 1_900.0, ..ExampleDisk::default() };
        assert!(!of_a_full_queue(&slow, &[1, 2, 8, 32], 4.0).1);
        // The device never had as many as fit.
        assert!(!of_a_full_queue(&disk, &[1, 8, 32], 1.5).1);
    }
}
