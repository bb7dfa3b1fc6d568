//! What was asked of a volume against what its devices counted.

use super::{is_busy, split_requests};
use crate::device_throttle::{HeldBy, counted_by, in_slices};
use loadline_block::Operation;
use loadline_record::{
    AskedAndMoved, DeviceCounters, DeviceFacts, DoubtEvidence, Excess, InFlight, KernelThrottle, LoadFigures,
    OtherLoad, OthersWaited, QueueFacts, Recut, THROTTLE_REACHED, TargetKind, TrialRecord, VolumeFacts,
};
use loadline_units::SECTOR;

/// Devices may do this much more than was asked.
const OTHER_LOAD_SHARE: f64 = 0.05;
/// And at least so many bytes more: a log line, the tool's own store.
const OTHER_LOAD_FLOOR_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
/// And so many bytes for each second: a file system commits its journal, its times and its superblock now and then.
const METADATA_BYTES_PER_S: f64 = 256.0 * 1024.0;
/// And so many bytes for each flush of a file: a journal transaction is a few blocks.
const METADATA_BYTES_PER_FLUSH: f64 = 64.0 * 1024.0;
/// The same for requests: of the journal, by second.
const METADATA_REQUESTS_PER_S: f64 = 20.0;
/// By flush.
const METADATA_REQUESTS_PER_FLUSH: f64 = 8.0;
/// Requests that are never worth a word.
const OTHER_LOAD_FLOOR_REQUESTS: f64 = 100.0;
/// File systems that write elsewhere what they overwrite: the metadata of each write goes with it, so more is written than
/// asked without anybody else.
const COPY_ON_WRITE: [&str; 6] = ["btrfs", "zfs", "bcachefs", "f2fs", "nilfs2", "reiser4"];
/// Kernel threads that work for the load itself.
const KERNEL_WORKERS: [&str; 5] = ["kworker", "loop", "jbd2", "xfsaild", "kswapd"];
/// Merged or split: the mean request of the device may differ by this much from the one asked.
const REQUEST_SIZE_TOLERANCE: f64 = 0.10;
/// Fewer requests than this make no mean worth comparing.
const REQUESTS_MIN: u64 = 100;
/// Counters cover some milliseconds before the first request and after the last. In trials shorter than this that is time enough to
/// lower means over it.
const AVERAGED_MIN_MS: f64 = 100.0;
/// A device that held less than this share of the requests outstanding on average did not see the depth asked. At half,
/// a request spent as long outside the device as in it.
const IN_FLIGHT_SHARE_MIN: f64 = 0.5;

/// A trial with what is known of its way to the devices.
pub(super) struct Asked<'a> {
    pub(super) load: &'a LoadFigures,
    pub(super) trial: &'a TrialRecord,
    pub(super) volume: &'a VolumeFacts,
    /// Whether nothing but the devices should have answered.
    pub(super) direct: bool,
    pub(super) reads: Amount,
    pub(super) writes: Amount,
    pub(super) trims: Amount,
    pub(super) flushes: u64,
    /// Bytes of failed requests, at most: they were asked and need not have reached a device.
    pub(super) failed_bytes: f64,
    /// What the devices counted, if there are any.
    pub(super) seen: Option<Seen>,
}

/// Requests and their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amount {
    pub(super) requests: u64,
    pub(super) bytes: f64,
}

/// The sum over the devices.
pub(super) struct Seen {
    pub(super) reads: Amount,
    pub(super) writes: Amount,
    discards: Amount,
    pub(super) names: Vec<String>,
    queue_ms: u64,
}

impl<'a> Asked<'a> {
    pub(super) fn of(load: &'a LoadFigures, trial: &'a TrialRecord, volume: &'a VolumeFacts) -> Self {
        let beside = trial.surroundings.beside.as_ref();
        let asked = |operation| {
            let (requests, bytes) = trial.surroundings.asked.get(&operation).copied().unwrap_or_default();
            // The devices count what all loads ask of them.
            let (more, of_more) = beside.and_then(|of| of.asked.get(&operation)).copied().unwrap_or_default();
            Amount { requests: requests + more, bytes: (bytes + of_more) as f64 }
        };
        // What of a load in the page cache reaches them, and when, is not known.
        let real = volume.kind != TargetKind::Null && !beside.is_some_and(|of| of.buffered);
        Self {
            load,
            trial,
            volume,
            direct: volume.direct && !load.buffered && real,
            reads: asked(Operation::Read),
            writes: asked(Operation::Write),
            trims: asked(Operation::Trim),
            flushes: asked(Operation::Flush).requests,
            failed_bytes: trial.errors_total() as f64 * load.block_bytes as f64,
            seen: real.then(|| Seen::of(&trial.surroundings.devices)).flatten(),
        }
    }
    /// Whether a file system lies between the load and the devices.
    pub(super) fn on_file_system(&self) -> bool {
        matches!(self.volume.kind, TargetKind::TestFile | TargetKind::File)
    }
    fn elapsed_s(&self) -> f64 {
        self.trial.surroundings.elapsed_ns as f64 / 1e9
    }
}

impl Seen {
    fn of(devices: &[DeviceCounters]) -> Option<Self> {
        let amount = |of: fn(&DeviceCounters) -> (u64, u64)| {
            let (requests, bytes) = devices.iter().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            Amount { requests, bytes: bytes as f64 }
        };
        (!devices.is_empty()).then(|| Self {
            reads: amount(|d| (d.reads, d.read_bytes)),
            writes: amount(|d| (d.writes, d.write_bytes)),
            discards: amount(|d| (d.discards, d.discard_bytes)),
            names: devices.iter().map(|d| d.name.clone()).collect(),
            queue_ms: devices.iter().map(|d| d.queue_ms).sum(),
        })
    }
}

/// What else used the devices.
pub(super) fn other_load(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    let Some(seen) = asked.seen.as_ref().filter(|_| asked.direct) else {
        return other_processes(asked);
    };
    let metadata = if asked.on_file_system() {
        asked.elapsed_s() * METADATA_BYTES_PER_S + asked.flushes as f64 * METADATA_BYTES_PER_FLUSH
    } else {
        0.0
    };
    let floor_bytes = OTHER_LOAD_FLOOR_BYTES + metadata;
    let all_bytes = asked.reads.bytes + asked.writes.bytes + asked.trims.bytes;
    // Trims that did not come as discards may have come as zeros, or as what a file system notes of its holes.
    let as_writes = Amount {
        requests: asked.trims.requests.saturating_sub(seen.discards.requests),
        bytes: (asked.trims.bytes - seen.discards.bytes).max(0.0),
    };
    let mut excess = Vec::new();
    for (operation, wanted, got) in in_directions(asked, seen) {
        let is_write = operation == Operation::Write;
        if is_write && copies_on_write(asked) {
            continue;
        }
        let own = if is_write { as_writes } else { Amount::default() };
        let bytes = got.bytes - wanted.bytes - own.bytes;
        let requests = got.requests as f64 - (wanted.requests + own.requests) as f64 * parts(asked);
        let metadata_requests = if asked.on_file_system() {
            asked.elapsed_s() * METADATA_REQUESTS_PER_S + asked.flushes as f64 * METADATA_REQUESTS_PER_FLUSH
        } else {
            0.0
        };
        let all_requests = (asked.reads.requests + asked.writes.requests + asked.trims.requests) as f64 * parts(asked);
        let more_requests = requests > all_requests * OTHER_LOAD_SHARE + OTHER_LOAD_FLOOR_REQUESTS + metadata_requests;
        let too_many_bytes = bytes > all_bytes * OTHER_LOAD_SHARE + floor_bytes;
        if too_many_bytes || (more_requests && bytes >= requests * SECTOR.get() as f64) {
            let requests = (!too_many_bytes).then_some(requests);
            excess.push(Excess { operation, bytes: bytes as u64, requests });
        }
    }
    (!excess.is_empty()).then(|| DoubtEvidence::MovedMore {
        devices: seen.names.clone(),
        excess,
        busiest: others(asked).next().cloned(),
    })
}

/// Reads and writes: what was asked, and what the devices had.
fn in_directions(asked: &Asked<'_>, seen: &Seen) -> [(Operation, Amount, Amount); 2] {
    [(Operation::Read, asked.reads, seen.reads), (Operation::Write, asked.writes, seen.writes)]
}

/// Other processes, the busiest first, without those that work for the load.
fn others<'a>(asked: &Asked<'a>) -> impl Iterator<Item = &'a OtherLoad> {
    asked.trial.surroundings.others.iter().filter(|other| !works_for_the_load(other))
}

/// What others asked of the devices in a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Foreign {
    /// Their requests per second.
    pub(crate) requests_per_s: f64,
    /// Their share of what the devices did: of requests or of bytes, whichever is more.
    pub(crate) share: f64,
    /// The other process that read and wrote most.
    pub(crate) by: Option<String>,
}

/// What others asked of the devices, if that is enough to be a doubt.
pub(crate) fn foreign(load: &LoadFigures, trial: &TrialRecord, volume: &VolumeFacts) -> Option<Foreign> {
    let asked = Asked::of(load, trial, volume);
    let seen = asked.seen.as_ref().filter(|_| asked.direct && asked.flushes == 0)?;
    other_load(&asked)?;
    let excess = |got: f64, wanted: f64| (got - wanted).max(0.0);
    let parts = parts(&asked);
    let requests = excess(seen.reads.requests as f64, asked.reads.requests as f64 * parts)
        + excess(seen.writes.requests as f64, asked.writes.requests as f64 * parts);
    let bytes = excess(seen.reads.bytes, asked.reads.bytes) + excess(seen.writes.bytes, asked.writes.bytes);
    let all = ((seen.reads.requests + seen.writes.requests) as f64, seen.reads.bytes + seen.writes.bytes);
    let share = (requests / all.0.max(1.0)).max(bytes / all.1.max(1.0));
    let by = others(&asked).next().map(|other| other.name.clone());
    Some(Foreign { requests_per_s: requests / asked.elapsed_s().max(1e-9), share, by })
}

/// Without counters to compare, what other processes moved must do, on whichever device.
fn other_processes(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    // What an export's server moves is the load itself, and which process it is cannot be told.
    if matches!(asked.volume.kind, TargetKind::Null | TargetKind::Nbd) {
        return None;
    }
    let moved: f64 = others(asked).map(|o| o.read_bytes as f64 + o.write_bytes as f64).sum();
    let all = asked.reads.bytes + asked.writes.bytes;
    let floor = OTHER_LOAD_FLOOR_BYTES + asked.elapsed_s() * METADATA_BYTES_PER_S;
    (moved > all * OTHER_LOAD_SHARE + floor)
        .then(|| DoubtEvidence::OthersMoved { bytes: moved as u64, busiest: others(asked).next().cloned() })
}

fn works_for_the_load(other: &OtherLoad) -> bool {
    KERNEL_WORKERS.iter().any(|worker| other.name.starts_with(worker))
}

fn copies_on_write(asked: &Asked<'_>) -> bool {
    asked.volume.file_system.as_ref().is_some_and(|fs| COPY_ON_WRITE.contains(&fs.kind.as_str()))
}

/// Into how many requests the devices' queues cut one of the load, at most.
fn parts(asked: &Asked<'_>) -> f64 {
    let limit = facts(asked).filter_map(|d| d.request_bytes_max).filter(|max| *max > 0).min();
    limit.map_or(1.0, |max| asked.load.block_bytes.div_ceil(max).max(1) as f64)
}

/// The facts of the devices whose counters are used.
fn facts<'a>(asked: &'a Asked<'_>) -> impl Iterator<Item = &'a DeviceFacts> {
    let names = asked.seen.as_ref().map_or(&[][..], |seen| &seen.names);
    asked.volume.devices.iter().filter(move |d| names.contains(&d.name))
}

/// Of the requests that were to be outstanding the tool had handed over fewer than this share.
const HANDED_OVER_MIN: f64 = 0.9;

/// Whether the device saw other requests, or fewer at once, than were asked.
pub(super) fn depth_not_reached(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    if !asked.direct {
        return None;
    }
    let seen = asked.seen.as_ref()?;
    let mut recut = Vec::new();
    for (operation, wanted, got) in in_directions(asked, seen) {
        let is_write = operation == Operation::Write;
        // A flushed or copied write drags journal and metadata blocks along, which say nothing about the load's own.
        let flushes = asked.flushes + durable_writes(asked);
        if is_write && asked.on_file_system() && (flushes > 0 || copies_on_write(asked)) {
            continue;
        }
        // Some drivers count a flush as a write of nothing.
        let flushes = if is_write { flushes.min(got.requests.saturating_sub(wanted.requests)) } else { 0 };
        let got = Amount { requests: got.requests - flushes, ..got };
        recut.extend(recut_of(asked, operation, wanted, got));
    }
    let in_flight = in_flight_of(asked).filter(|(share, _)| *share < IN_FLIGHT_SHARE_MIN);
    let in_flight = in_flight.map(|(share, outstanding)| InFlight {
        devices: seen.names.clone(),
        outstanding,
        on_devices: share * outstanding,
        others: where_the_others_were(asked, outstanding),
    });
    let is_any = in_flight.is_some() || !recut.is_empty();
    is_any.then(|| DoubtEvidence::OtherRequests { recut, in_flight, queues: queues(asked) })
}

/// Writes that were to be durable each by itself (FUA): a device that cannot do that gets a flush behind each.
fn durable_writes(asked: &Asked<'_>) -> u64 {
    let every = asked.load.flush_every.filter(|every| *every > 0 && asked.flushes == 0);
    every.map_or(0, |every| asked.writes.requests / every)
}

/// Where requests were that the devices did not have, of so many that were to be outstanding.
fn where_the_others_were(asked: &Asked<'_>, outstanding: f64) -> OthersWaited {
    let wanted = asked.reads.bytes + asked.writes.bytes;
    let missing = [shortage(asked, asked.reads, |s| s.reads), shortage(asked, asked.writes, |s| s.writes)]
        .into_iter()
        .zip([asked.reads.bytes, asked.writes.bytes])
        .map(|(share, bytes)| share.unwrap_or(0.0) * bytes)
        .sum::<f64>();
    if missing > wanted * IN_FLIGHT_SHARE_MIN {
        return OthersWaited::NeverCame;
    }
    if let Some(HeldBy { device, devices, limit }) = throttle_reached(asked) {
        return OthersWaited::Throttle { device, devices, limit };
    }
    if is_busy(asked.trial) {
        return OthersWaited::ToolBusy;
    }
    let in_kernel = handed_over(asked.trial).filter(|handed| *handed < outstanding * HANDED_OVER_MIN);
    in_kernel.map_or(OthersWaited::Unknown, |in_kernel| OthersWaited::NotHandedOver { in_kernel })
}

/// The kernel's throttle on one of the devices that is reached: requests wait there first, whatever else may hold them up.
fn throttle_reached(asked: &Asked<'_>) -> Option<HeldBy> {
    facts(asked).find_map(|device| {
        let counters = asked.trial.surroundings.devices.iter().find(|counters| counters.name == device.name)?;
        let reached = |limit: &&KernelThrottle| {
            counted_by(limit, counters) as f64 / asked.elapsed_s().max(1e-9)
                >= in_slices(limit) as f64 * THROTTLE_REACHED
        };
        let limit = device.throttles.iter().find(reached)?;
        Some(HeldBy::on(&asked.volume.devices, device, limit))
    })
}

/// Requests that the tool had handed over and were not answered, on average.
fn handed_over(trial: &TrialRecord) -> Option<f64> {
    let seconds = &trial.series.seconds;
    let sum: f64 = seconds.iter().map(|second| second.outstanding).sum();
    (!seconds.is_empty()).then(|| sum / seconds.len() as f64)
}

/// Merged or split: as many bytes in fewer, or in more, requests. Where the bytes do not agree either, a cache or a stranger
/// took part, and the counts say nothing of the load's own requests.
fn recut_of(asked: &Asked<'_>, operation: Operation, wanted: Amount, got: Amount) -> Option<Recut> {
    if wanted.requests < REQUESTS_MIN || got.requests < REQUESTS_MIN {
        return None;
    }
    let (from, to) = (wanted.bytes / wanted.requests as f64, got.bytes / got.requests as f64);
    let more_requests = got.requests as f64 - wanted.requests as f64;
    let more_bytes = got.bytes - wanted.bytes;
    if more_bytes.abs() > wanted.bytes * REQUEST_SIZE_TOLERANCE {
        return None;
    }
    let split_by = match to / from {
        growth if growth > 1.0 + REQUEST_SIZE_TOLERANCE => None,
        // Requests in excess that bring bytes of their own are a stranger's.
        growth if growth < 1.0 - REQUEST_SIZE_TOLERANCE && more_bytes < more_requests * SECTOR.get() as f64 => {
            facts(asked).find_map(|device| split_requests::split_by(device, from, to))
        }
        _ => return None,
    };
    Some(Recut {
        operation,
        asked_requests: wanted.requests,
        device_requests: got.requests,
        bytes: asked_and_moved(wanted, got),
        split_by,
    })
}

/// The share of a closed loop's outstanding requests that the devices held on average over the trial, and how many were
/// outstanding. `None` where that cannot be told: no counters, no direct I/O, an open or paced loop, or a depth of 1, where the time
/// between requests alone lowers the mean.
fn in_flight_of(asked: &Asked<'_>) -> Option<(f64, f64)> {
    let depth = asked.load.queue_depth.filter(|_| asked.direct)?;
    let outstanding = f64::from(depth) * f64::from(asked.load.threads);
    let paced = asked.load.rate_iops.is_some() || asked.trial.operations.values().any(|o| o.waiting.is_some());
    let elapsed_ms = asked.trial.surroundings.elapsed_ns as f64 / 1e6;
    if outstanding < 2.0 || paced || elapsed_ms < AVERAGED_MIN_MS {
        return None;
    }
    let seen = asked.seen.as_ref()?;
    // Without a single request at the device there is no depth to speak of: the reads came from elsewhere.
    let any = seen.reads.requests + seen.writes.requests > 0;
    any.then(|| (seen.queue_ms as f64 / elapsed_ms * merged(asked, seen) / outstanding, outstanding))
}

/// How many of the load's requests one of the devices' stands for, where they were merged; 1 where they were not, or where that cannot
/// be told since others asked for much as well.
fn merged(asked: &Asked<'_>, seen: &Seen) -> f64 {
    let bytes = |reads: Amount, writes: Amount| reads.bytes + writes.bytes;
    let (wanted, got) = (bytes(asked.reads, asked.writes), bytes(seen.reads, seen.writes));
    if (got - wanted).abs() > wanted * REQUEST_SIZE_TOLERANCE {
        return 1.0;
    }
    let requests = |reads: Amount, writes: Amount| (reads.requests + writes.requests) as f64;
    (requests(asked.reads, asked.writes) / requests(seen.reads, seen.writes)).max(1.0)
}

/// Requests that waited before the devices.
pub(crate) struct HeldBack {
    /// Requests outstanding in the load.
    pub(crate) outstanding: f64,
    /// How many of them the devices had on average.
    pub(crate) at_devices: f64,
    /// The devices.
    pub(crate) devices: Vec<String>,
}

/// What was held back, where the devices had fewer than half of the requests outstanding; `None` where they had more, or where that
/// cannot be told.
pub(crate) fn held_back(load: &LoadFigures, trial: &TrialRecord, volume: &VolumeFacts) -> Option<HeldBack> {
    let asked = Asked::of(load, trial, volume);
    let (share, outstanding) = in_flight_of(&asked).filter(|(share, _)| *share < IN_FLIGHT_SHARE_MIN)?;
    let devices = asked.seen?.names;
    Some(HeldBack { outstanding, at_devices: share * outstanding, devices })
}

/// The queues of the devices, as far as they are known.
fn queues(asked: &Asked<'_>) -> Vec<QueueFacts> {
    facts(asked)
        .filter(|device| device.queue_requests.is_some() || device.scheduler.is_some())
        .map(|device| QueueFacts {
            device: device.name.clone(),
            requests: device.queue_requests,
            scheduler: device.scheduler.clone(),
        })
        .collect()
}

/// By how much the devices moved less than was asked, as a share of it; `None` where nothing was asked or nothing can be
/// told. Failed requests do not count as missing.
pub(super) fn shortage(asked: &Asked<'_>, wanted: Amount, of: fn(&Seen) -> Amount) -> Option<f64> {
    let seen = asked.seen.as_ref().filter(|_| asked.direct)?;
    let missing = wanted.bytes - of(seen).bytes - asked.failed_bytes;
    (wanted.bytes > 0.0).then(|| (missing / wanted.bytes).max(0.0))
}

/// Bytes asked, and bytes that the devices moved.
pub(super) fn asked_and_moved(wanted: Amount, got: Amount) -> AskedAndMoved {
    AskedAndMoved { asked_bytes: wanted.bytes as u64, moved_bytes: got.bytes as u64 }
}
