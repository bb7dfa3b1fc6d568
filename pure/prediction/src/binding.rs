//! Names the limit of a predicted trial, by where its requests waited (`docs/how-limits-are-named.md`).

use crate::bursts::{FirstEnd, budgets};
use crate::ceilings::{Ceilings, Resource};
use loadline_block::Operation;
use loadline_disk::{VolumeSpec, WaitTimes, Waits};
use loadline_record::{Binding, Histogram, Limit, OperationRecord, Stage, StageWait, TrialRecord};
use loadline_units::Duration;
use loadline_units::words::{number, percent, span};
use loadline_workload::{Arrival, LoadSpec};

/// An open loop, or a rate ceiling, is met within this; as in the analysis of measurements.
const MET_TOLERANCE: f64 = 0.01;
/// If requests waited at limits for this share of their time, the limit with most waiting is the name.
const WAITED_MOST: f64 = 0.5;
/// The evidence also names another limit with this share of all waiting.
const TOLD_BESIDE: f64 = 0.1;
/// Waiting counts as before or after a moment if this share of it was.
const MOSTLY: f64 = 0.9;
/// A rate this near to a limit's ceiling, with any waiting at it, makes the limit the name.
const AT_CEILING: f64 = 0.95;

/// Waiting by stage, without stages that had none.
pub(crate) fn stage_waits(waits: &Waits) -> Vec<StageWait> {
    let of = |(stage, waited): (Stage, WaitTimes)| StageWait {
        stage,
        requests_ns: waited.iops.as_ns(),
        bytes_ns: waited.throughput.as_ns(),
        credits_ns: waited.credits.as_ns(),
    };
    let cache = StageWait { stage: Stage::Cache, requests_ns: waits.cache.as_ns(), bytes_ns: 0, credits_ns: 0 };
    let service = of((Stage::Service, waits.service));
    let all = std::iter::once(cache).chain(budgets(waits).map(of)).chain([service]);
    all.filter(|wait| wait.total_ns() > 0).collect()
}

/// A limit at which requests waited, and its unit.
struct Found {
    stage: Stage,
    resource: Resource,
    /// Because credits were spent.
    spent: bool,
    ns: u64,
}

/// Each waiting that there was, the longest first.
fn by_length(waits: &[StageWait]) -> Vec<Found> {
    let kinds = waits.iter().flat_map(|wait| {
        [(wait.requests_ns, Resource::Requests), (wait.bytes_ns, Resource::Bytes)].map(|(ns, resource)| Found {
            stage: wait.stage,
            resource,
            spent: wait.credits_ns * 2 > wait.total_ns(),
            ns,
        })
    });
    let mut all: Vec<Found> = kinds.filter(|found| found.ns > 0).collect();
    all.sort_by_key(|found| std::cmp::Reverse(found.ns));
    all
}

/// The limit of the trial; `None` if nothing was measured.
pub(crate) fn binding(
    volume: &VolumeSpec,
    load: &LoadSpec,
    record: &TrialRecord,
    waits: &[StageWait],
    ceilings: &Ceilings,
    burst_end: Option<&FirstEnd>,
) -> Option<Binding> {
    let rate = record.iops().filter(|rate| *rate > 0.0)?;
    let sum_ns = |figure: fn(&OperationRecord) -> &Histogram| -> f64 {
        let of = record.operations.iter().filter(|(operation, _)| **operation != Operation::Flush);
        of.map(|(_, of)| figure(of)).map(|taken| taken.mean_ns().unwrap_or(0.0) * taken.count() as f64).sum()
    };
    // Before they were issued, requests waited at no limit, except these.
    let spent_ns = sum_ns(|of| of.service.as_ref().unwrap_or(&of.latency));
    let each_ns = sum_ns(|of| &of.latency) / record.count().max(1) as f64;
    let waited_ns: u64 = waits.iter().map(StageWait::total_ns).sum();
    let mut all = by_length(waits);
    // Waiting for a place is waiting for the limit that occupies it.
    let is_at = |found: &Found, resource| found.stage == Stage::Service && found.resource == resource;
    let reached = |found: &Found| {
        ceilings.at(found.stage, found.resource, found.spent).is_some_and(|ceiling| rate >= AT_CEILING * ceiling.iops)
    };
    if all.first().is_some_and(|first| is_at(first, Resource::Requests))
        && let Some(transfer) = all.iter().position(|found| is_at(found, Resource::Bytes) && reached(found))
    {
        all[..=transfer].rotate_right(1);
    }
    if let [first, second, ..] = &all[..]
        && lies_below(ceilings, second, first)
        && second.ns as f64 >= TOLD_BESIDE * waited_ns as f64
    {
        all.swap(0, 1);
    }
    if let Some(met) = met(load, record, rate) {
        // The offer exceeds the limit, and the excess waits: the queue only grows slowly.
        let asked = met.ceiling_iops.unwrap_or(0.0);
        let is_short = all.first().and_then(|found| ceilings.at(found.stage, found.resource, found.spent));
        let is_short = is_short.is_some_and(|ceiling| ceiling.iops < asked);
        if !is_short || (waited_ns as f64) < spent_ns * WAITED_MOST {
            return Some(met);
        }
    }
    if let [found, others @ ..] = &all[..] {
        let ceiling = ceilings.at(found.stage, found.resource, found.spent);
        let near = ceiling.is_some_and(|ceiling| rate >= AT_CEILING * ceiling.iops);
        if waited_ns as f64 / spent_ns.max(1.0) >= WAITED_MOST || near {
            let (limit, what) = name(found);
            // Waiting is known when a request's turn comes. For requests whose turn comes after the end, nothing else
            // is known.
            let waited_each_ns = found.ns as f64 / record.count().max(1) as f64;
            let measured_s = record.measured_ns as f64 / 1e9;
            let cut_off = load
                .outstanding()
                .map(|outstanding| outstanding as f64)
                .filter(|outstanding| waited_each_ns > each_ns && outstanding / rate >= measured_s);
            let each = if let Some(outstanding) = cut_off {
                format!(
                    "most of it by requests that were not answered before the end: the run is shorter than its queue takes ({} \
                     outstanding at {} a second)",
                    number(outstanding),
                    number(rate)
                )
            } else {
                let waited = span(waited_each_ns.min(each_ns));
                format!("{waited} for each request, which takes {} in all", span(each_ns))
            };
            let evidence = format!(
                "Requests waited {what}{}: {} of all waiting at limits, {each}{}.{}",
                moment(found, burst_end),
                percent(found.ns as f64 / waited_ns as f64),
                ceiling.map_or_else(String::new, |ceiling| format!(" ({})", ceiling.source)),
                beside(others, waited_ns, burst_end),
            );
            let ceiling_iops = ceiling.map(|ceiling| ceiling.iops);
            // The mean of a burst and the time after it is above the lasting rate.
            let utilization = ceiling_iops.map(|ceiling| rate / ceiling).filter(|share| !found.spent || *share <= 1.0);
            return Some(Binding {
                limit,
                ceiling_iops,
                utilization,
                seen: evidence.into(),
                inferred: false,
                presumed: false,
                amplification: None,
            });
        }
    }
    let spins = volume.disks.iter().any(|disk| disk.spinning.is_some());
    if let Some(transfer) = ceilings.named(Limit::DiskThroughput).filter(|_| spins)
        && rate >= AT_CEILING * transfer.iops
    {
        let evidence =
            format!("Its requests follow on each other, and take no longer than they pass by ({}).", transfer.source);
        return Some(Binding {
            limit: Limit::DiskThroughput,
            ceiling_iops: Some(transfer.iops),
            utilization: Some(rate / transfer.iops),
            seen: evidence.into(),
            inferred: false,
            presumed: false,
            amplification: None,
        });
    }
    let ceiling = ceilings.named(Limit::Latency).map(|ceiling| ceiling.iops);
    let waited = if spins && load.outstanding().is_none_or(|outstanding| outstanding > 1) {
        "no limit held them, but the mechanics of a spinning disk, which serves one at a time".to_owned()
    } else if waited_ns == 0 {
        "no request waited at a limit".to_owned()
    } else {
        format!("{} of that time was waiting at limits", percent((waited_ns as f64 / spent_ns.max(1.0)).min(1.0)))
    };
    let outstanding =
        load.outstanding().map_or_else(String::new, |depth| format!("{} outstanding at ", number(depth as f64)));
    Some(Binding {
        limit: Limit::Latency,
        ceiling_iops: ceiling,
        utilization: ceiling.map(|ceiling| rate / ceiling),
        seen: format!("{outstanding}{} each make {} IOPS; {waited}.", span(each_ns), number(rate)).into(),
        inferred: false,
        presumed: false,
        amplification: None,
    })
}

/// Whether the ceiling of one is below that of another at the same place. Parts of a request that arrive together wait
/// as requests first, and for bytes only as long as they have not waited yet. So the longer waiting does not show which
/// limit is lower.
fn lies_below(ceilings: &Ceilings, one: &Found, other: &Found) -> bool {
    let of = |found: &Found| ceilings.at(found.stage, found.resource, found.spent).map(|ceiling| ceiling.iops);
    let same = one.stage == other.stage && one.stage != Stage::Service && one.spent == other.spent;
    same && of(one).zip(of(other)).is_some_and(|(one, other)| one < other)
}

/// The limit of the trial, with the other volumes that waited for the same budget of the machine.
pub(crate) fn shared(binding: Binding, beside: &[(String, Waits)]) -> Binding {
    let at = |waits: &Waits| match binding.limit {
        Limit::VmCachedIops | Limit::VmCachedThroughput => waits.vm_cached,
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => waits.vm_uncached + waits.allowances,
        _ => WaitTimes::default(),
    };
    let waited = |waits: &Waits| at(waits).iops + at(waits).throughput > Duration::ZERO;
    let names: Vec<&str> = beside.iter().filter(|(_, waits)| waited(waits)).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return binding;
    }
    let beside = format!("{}, loaded at the same time, waited for it too.", names.join(", "));
    Binding { seen: binding.seen.clone().and(beside), ..binding }
}

/// The other limits at which requests waited, with their share of all waiting.
fn beside(others: &[Found], waited_ns: u64, burst_end: Option<&FirstEnd>) -> String {
    let told: Vec<String> = (others.iter())
        .map(|found| (found, found.ns as f64 / waited_ns as f64))
        .filter(|(_, share)| *share >= TOLD_BESIDE)
        .map(|(found, share)| format!("{} of it was {}{}", percent(share), name(found).1, moment(found, burst_end)))
        .collect();
    if told.is_empty() { String::new() } else { format!(" Besides, {}.", told.join(", ")) }
}

/// The side of a burst's end with nearly all of the waiting, if there is one.
fn moment(found: &Found, burst_end: Option<&FirstEnd>) -> String {
    let bytes = found.resource == Resource::Bytes;
    let Some((end, before)) = burst_end.and_then(|end| Some((end, end.share_before(found.stage, bytes)?))) else {
        return String::new();
    };
    let at = end.at.clock();
    match before {
        before if before >= MOSTLY => format!(" in the first {at}"),
        before if before <= 1.0 - MOSTLY => format!(" after the first {at}"),
        _ => String::new(),
    }
}

/// The load met its own rate. If arrivals were never issued, so many wait that there is no place for more.
fn met(load: &LoadSpec, record: &TrialRecord, rate: f64) -> Option<Binding> {
    if record.missed > 0 {
        return None;
    }
    let (asked, what) = match load.arrival {
        Arrival::Closed { rate_max, .. } => (rate_max?.get() as f64, "allowed by the load's own ceiling"),
        Arrival::Constant { .. } | Arrival::Poisson { .. } => (record.offered_iops?, "offered"),
    };
    let utilization = rate / asked;
    ((utilization - 1.0).abs() <= MET_TOLERANCE).then(|| Binding {
        limit: Limit::Arrival,
        ceiling_iops: Some(asked),
        utilization: Some(utilization),
        seen: format!("Of {} requests a second {what}, {} were completed.", number(asked), number(rate)).into(),
        inferred: false,
        presumed: false,
        amplification: None,
    })
}

/// The limit's name, and its unit.
fn name(found: &Found) -> (Limit, &'static str) {
    let bytes = found.resource == Resource::Bytes;
    let (limit, what) = match (found.stage, bytes) {
        (Stage::Cache, _) => (Limit::Cache, "for room in the host's cache, which was full of writes"),
        (Stage::VmCached, false) => (Limit::VmCachedIops, "for the VM's cached requests per second"),
        (Stage::VmCached, true) => (Limit::VmCachedThroughput, "for the VM's cached bytes per second"),
        (Stage::VmUncached, false) => (Limit::VmUncachedIops, "for the VM's uncached requests per second"),
        (Stage::VmUncached, true) => (Limit::VmUncachedThroughput, "for the VM's uncached bytes per second"),
        (Stage::Shared, false) => (Limit::DiskIops, "for the requests per second that disks of the type share"),
        (Stage::Shared, true) => (Limit::DiskThroughput, "for the bytes per second that disks of the type share"),
        (Stage::Disk, false) => (Limit::DiskIops, "for the disk's requests per second"),
        (Stage::Disk, true) => (Limit::DiskThroughput, "for the disk's bytes per second"),
        (Stage::Service, false) => (Limit::Latency, "for a place in the disk, which serves only so many at once"),
        (Stage::Service, true) => (Limit::DiskThroughput, "for what the disk itself transfers"),
    };
    match (found.spent, found.stage, bytes) {
        (false, _, _) => (limit, what),
        (true, Stage::VmCached | Stage::VmUncached, false) => {
            (Limit::BurstExhausted, "for the VM's requests per second, its burst credits being spent")
        }
        (true, Stage::VmCached | Stage::VmUncached, true) => {
            (Limit::BurstExhausted, "for the VM's bytes per second, its burst credits being spent")
        }
        (true, _, false) => {
            (Limit::BurstExhausted, "for the disk's requests per second, its burst credits being spent")
        }
        (true, _, true) => (Limit::BurstExhausted, "for the disk's bytes per second, its burst credits being spent"),
    }
}
