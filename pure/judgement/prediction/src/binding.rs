//! Names the limit of a predicted trial, by where its requests waited (`docs/inside/how-limits-are-named.md`).

use crate::bursts::{FirstEnd, budgets};
use crate::ceilings::{Ceilings, Resource};
use loadline_block::Operation;
use loadline_disk::{VolumeSpec, WaitTimes, Waits};
use loadline_record::{
    Asked, Binding, BurstSide, Histogram, Limit, LoadFact, ModelFact, OperationRecord, Stage, StageWait,
    ThrottledQuantity, TrialRecord, WaitPlace, WaitedBeside, WaitedEach, WaitedShare,
};
use loadline_units::Duration;
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
            let limit = name(found);
            // Waiting is known when a request's turn comes. For requests whose turn comes after the end, nothing else
            // is known.
            let waited_each_ns = found.ns as f64 / record.count().max(1) as f64;
            let measured_s = record.measured_ns as f64 / 1e9;
            let cut_off = load
                .outstanding()
                .filter(|outstanding| waited_each_ns > each_ns && *outstanding as f64 / rate >= measured_s);
            let each = cut_off.map_or_else(
                || WaitedEach::Of { waited_ns: waited_each_ns.min(each_ns), latency_ns: each_ns },
                |depth| WaitedEach::BeyondTheEnd { depth, rate_iops: rate },
            );
            let share = |found: &Found| waited_share(found, waited_ns, burst_end);
            let evidence = ModelFact::Waited {
                most: share(found),
                each,
                source: ceiling.map(|ceiling| ceiling.source.clone()),
                beside: others.iter().map(share).filter(|other| other.share >= TOLD_BESIDE).collect(),
            };
            let ceiling_iops = ceiling.map(|ceiling| ceiling.iops);
            // The mean of a burst and the time after it is above the lasting rate.
            let utilization = ceiling_iops.map(|ceiling| rate / ceiling).filter(|share| !found.spent || *share <= 1.0);
            return Some(Binding::known(limit, ceiling_iops, utilization, evidence.into()));
        }
    }
    let spins = volume.disks.iter().any(|disk| disk.spinning.is_some());
    if let Some(transfer) = ceilings.named(Limit::DiskThroughput).filter(|_| spins)
        && rate >= AT_CEILING * transfer.iops
    {
        let evidence = ModelFact::PassesByHead { source: transfer.source.clone() };
        let utilization = Some(rate / transfer.iops);
        return Some(Binding::known(Limit::DiskThroughput, Some(transfer.iops), utilization, evidence.into()));
    }
    let ceiling = ceilings.named(Limit::Latency).map(|ceiling| ceiling.iops);
    let waited = if spins && load.outstanding().is_none_or(|outstanding| outstanding > 1) {
        WaitedBeside::Mechanics
    } else if waited_ns == 0 {
        WaitedBeside::Nothing
    } else {
        WaitedBeside::Share((waited_ns as f64 / spent_ns.max(1.0)).min(1.0))
    };
    let own = ModelFact::ModelledLatency { depth: load.outstanding(), latency_ns: each_ns, rate_iops: rate, waited };
    Some(Binding::known(Limit::Latency, ceiling, ceiling.map(|ceiling| rate / ceiling), own.into()))
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
    let volumes: Vec<String> = beside.iter().filter(|(_, waits)| waited(waits)).map(|(name, _)| name.clone()).collect();
    if volumes.is_empty() {
        return binding;
    }
    Binding { seen: binding.seen.clone().and(ModelFact::VolumesWaited { volumes }), ..binding }
}

/// A limit at which requests waited, with its share of all waiting.
fn waited_share(found: &Found, waited_ns: u64, burst_end: Option<&FirstEnd>) -> WaitedShare {
    let counted = match found.resource {
        Resource::Requests => ThrottledQuantity::Requests,
        Resource::Bytes => ThrottledQuantity::Bytes,
    };
    let at = WaitPlace { stage: found.stage, counted, credits_spent: found.spent };
    WaitedShare { at, share: found.ns as f64 / waited_ns as f64, burst: moment(found, burst_end) }
}

/// The side of a burst's end with nearly all of the waiting, if there is one.
fn moment(found: &Found, burst_end: Option<&FirstEnd>) -> Option<BurstSide> {
    let bytes = found.resource == Resource::Bytes;
    let (end, before) = burst_end.and_then(|end| Some((end, end.share_before(found.stage, bytes)?)))?;
    let at = end.at.as_ns();
    match before {
        before if before >= MOSTLY => Some(BurstSide::BeforeNs(at)),
        before if before <= 1.0 - MOSTLY => Some(BurstSide::AfterNs(at)),
        _ => None,
    }
}

/// The load met its own rate. If arrivals were never issued, so many wait that there is no place for more.
fn met(load: &LoadSpec, record: &TrialRecord, rate: f64) -> Option<Binding> {
    if record.missed > 0 {
        return None;
    }
    let (asked, fact): (_, fn(Asked) -> LoadFact) = match load.arrival {
        Arrival::Closed { rate_max, .. } => (rate_max?.get() as f64, LoadFact::OwnCeiling),
        Arrival::Constant { .. } | Arrival::Poisson { .. } => (record.offered_iops?, LoadFact::Offered),
    };
    let utilization = rate / asked;
    ((utilization - 1.0).abs() <= MET_TOLERANCE).then(|| {
        let met = fact(Asked { asked_iops: asked, completed_iops: rate });
        Binding::known(Limit::Arrival, Some(asked), Some(utilization), met.into())
    })
}

/// The limit's name.
fn name(found: &Found) -> Limit {
    if found.spent {
        return Limit::BurstExhausted;
    }
    match (found.stage, found.resource) {
        (Stage::Cache, _) => Limit::Cache,
        (Stage::VmCached, Resource::Requests) => Limit::VmCachedIops,
        (Stage::VmCached, Resource::Bytes) => Limit::VmCachedThroughput,
        (Stage::VmUncached, Resource::Requests) => Limit::VmUncachedIops,
        (Stage::VmUncached, Resource::Bytes) => Limit::VmUncachedThroughput,
        (Stage::Service, Resource::Requests) => Limit::Latency,
        (Stage::Shared | Stage::Disk, Resource::Requests) => Limit::DiskIops,
        (Stage::Shared | Stage::Disk | Stage::Service, Resource::Bytes) => Limit::DiskThroughput,
    }
}
