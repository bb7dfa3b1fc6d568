//! The ceilings of a load: every limit on its way, as requests per second of that load.
//!
//! This is arithmetic over the specifications alone: the units of a request at each limit, the shares of disks in a
//! layout, and the budgets of a cached read. Only the hit rate of a cache comes from the simulation.

use crate::demand::{Demand, PartKind, Spread};
use crate::latency::turn_ns;
use crate::models::Model;
use crate::volumes::{VolumeUnknown, find};
use loadline_block::Operation;
use loadline_disk::{
    Directions, DiskSpec, HostCache, IopsBudget, Limit as Budget, Place, ThroughputBudget, VolumeSpec,
};
use loadline_record::{
    Budget as Source, BudgetCredits, BudgetOwner, BudgetRate, BudgetRates, Ceiling, CeilingSource, Limit, Stage,
    ThrottledRequests,
};
use loadline_units::Bytes;
use loadline_workload::{Arrival, Distribution, LoadSpec, Pattern};

/// The largest write-back request of a host's cache (`pure/storage/disk`).
const WRITE_BACK_MAX: u64 = 256 << 10;
/// Blocks of a host's cache.
const CACHE_BLOCK: u64 = 4096;

/// Which of a limit's two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Requests,
    Bytes,
}

/// The phase of a burst in which a ceiling applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no burst.
    Always,
    /// While credits last.
    Burst,
    /// Once they are spent.
    Spent,
}

#[derive(Debug, Clone)]
struct Found {
    ceiling: Ceiling,
    /// The place at which requests wait for it.
    at: Option<(Stage, Resource)>,
    phase: Phase,
    /// Of a rate without credits: the bank that exceeds it for a time.
    bank: Option<Bank>,
}

/// Saved-up credits of one limit, in requests of the load.
#[derive(Debug, Clone)]
pub(crate) struct Bank {
    /// The most that is saved.
    pub(crate) credits: f64,
    /// The ceiling while they last.
    pub(crate) burst: Ceiling,
}

/// A ceiling that lasts, with the credits that exceed it for a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lasting<'a> {
    pub(crate) ceiling: &'a Ceiling,
    pub(crate) stage: Option<Stage>,
    pub(crate) bank: Option<&'a Bank>,
}

/// The ceilings of a load on a volume.
#[derive(Debug, Clone)]
pub struct Ceilings {
    found: Vec<Found>,
}

impl Ceilings {
    /// All of them, lowest first.
    #[must_use]
    pub fn list(&self) -> Vec<Ceiling> {
        self.found.iter().map(|found| found.ceiling.clone()).collect()
    }

    /// Those that last, lowest first.
    pub(crate) fn lasting(&self) -> impl Iterator<Item = Lasting<'_>> {
        self.found.iter().filter(|found| found.phase != Phase::Burst).map(|found| Lasting {
            ceiling: &found.ceiling,
            stage: found.at.map(|(stage, _)| stage),
            bank: found.bank.as_ref(),
        })
    }

    /// The one for which requests wait at a stage, with credits or without.
    pub(crate) fn at(&self, stage: Stage, resource: Resource, spent: bool) -> Option<&Ceiling> {
        let unwanted = if spent { Phase::Burst } else { Phase::Spent };
        self.found
            .iter()
            .find(|found| found.at == Some((stage, resource)) && found.phase != unwanted)
            .map(|found| &found.ceiling)
    }

    /// All but those of this name.
    pub(crate) fn without(mut self, limit: Limit) -> Self {
        self.found.retain(|found| found.ceiling.limit != limit);
        self
    }

    /// The one of this name; of several the lowest.
    #[must_use]
    pub fn named(&self, limit: Limit) -> Option<&Ceiling> {
        self.found.iter().map(|found| &found.ceiling).find(|ceiling| ceiling.limit == limit)
    }
}

/// Every ceiling of `load` on a volume, when the host's cache answers the share `hits` (0.0 to 1.0) of its reads.
///
/// The sums are exact with three exceptions. Offsets count as evenly spread over a stripe. `latency` is the mean of the
/// distribution of service times, and is missing for a spinning disk with a queue. A full read-write cache is assumed
/// to write no block twice, unless requests are spread evenly: then the share that hits dirty blocks is known.
///
/// # Errors
/// [`VolumeUnknown`].
pub fn ceilings(model: &Model, volume: &str, load: &LoadSpec, hits: f64) -> Result<Ceilings, VolumeUnknown> {
    let spec = find(&model.spec, volume)?;
    let published = find(&model.published, volume)?;
    let spread = Spread::of(spec.layout);
    let way = Way { model, spec: &spec, load, hits, spread, parts: spread.parts(load) };
    let mut found = Vec::new();
    way.machine(&mut found);
    way.shared(&mut found);
    way.disks(&published, &mut found);
    way.write_back(&mut found);
    way.service(&mut found);
    way.latency(&mut found);
    way.arrival(&mut found);
    found.sort_by(|a, b| a.ceiling.iops.total_cmp(&b.ceiling.iops));
    Ok(Ceilings { found })
}

/// A load on its way to the disks of a volume.
struct Way<'a> {
    model: &'a Model,
    spec: &'a VolumeSpec,
    load: &'a LoadSpec,
    hits: f64,
    spread: Spread,
    parts: Vec<PartKind>,
}

/// The budget that a part of a request passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passes {
    Cached,
    Uncached,
    Disk,
}

impl Way<'_> {
    fn is_cached(&self, disk: &DiskSpec) -> bool {
        self.spec.host_cache.mode != HostCache::None && disk.place == Place::Network
    }

    /// The share of a disk's parts of this operation that pass there before they are answered.
    fn share(&self, disk: &DiskSpec, operation: Operation, passes: Passes) -> f64 {
        let cached = self.is_cached(disk);
        let estimated = self.model.spec.vm.as_ref().is_some_and(|vm| vm.cached_estimated);
        let beyond = match operation {
            Operation::Read if cached => 1.0 - self.hits,
            Operation::Write if cached && self.spec.host_cache.mode == HostCache::ReadWrite => 0.0,
            _ => 1.0,
        };
        match (passes, disk.place) {
            // An estimate covers answers of the cache; disks in the host have their own limits.
            (Passes::Cached, Place::Local) => f64::from(u8::from(!estimated)),
            (Passes::Cached, Place::Network) if cached && estimated => 1.0 - beyond,
            (Passes::Cached, Place::Network) => f64::from(u8::from(cached)),
            (Passes::Uncached, Place::Local) => 0.0,
            (Passes::Uncached, Place::Network) | (Passes::Disk, _) => beyond,
        }
    }

    /// The units of a limit that one request of the load takes, through some of the volume's disks.
    fn demand(&self, limit: &Budget, passes: Passes, disks: impl Fn(usize) -> bool) -> Demand {
        let mut demand = Demand::default();
        for (_, disk) in self.spec.disks.iter().enumerate().filter(|(number, _)| disks(*number)) {
            for part in &self.parts {
                let share = self.share(disk, part.operation, passes) * self.spread.share_of_disk(part.operation);
                demand.add(limit, self.load, part, part.count * share);
            }
        }
        demand
    }

    fn machine(&self, found: &mut Vec<Found>) {
        let Some(vm) = &self.model.spec.vm else { return };
        let published = self.model.published.vm.as_ref();
        let budgets = [
            (Stage::VmCached, Passes::Cached, vm.cached.as_ref(), published.and_then(|vm| vm.cached.as_ref())),
            (Stage::VmUncached, Passes::Uncached, vm.uncached.as_ref(), published.and_then(|vm| vm.uncached.as_ref())),
        ];
        for (stage, passes, limit, published) in budgets {
            let Some((limit, published)) = limit.zip(published) else { continue };
            let owner = BudgetOwner::Machine { name: vm.name.clone(), cached: stage == Stage::VmCached };
            let demand = self.demand(limit, passes, |_| true);
            add(found, stage, &owner, self.load, &demand, (limit, published));
        }
    }

    fn shared(&self, found: &mut Vec<Found>) {
        let pools = self.model.spec.pools.iter().zip(&self.model.published.pools);
        for (pool, published) in pools {
            let of_pool = |number: usize| self.spec.disks[number].pool.as_ref() == Some(&pool.name);
            let demand = self.demand(&pool.limit, Passes::Disk, of_pool);
            let owner = BudgetOwner::Pool { name: pool.name.clone() };
            add(found, Stage::Shared, &owner, self.load, &demand, (&pool.limit, &published.limit));
            let allowed = |number: usize| self.spec.disks[number].allowance.as_ref() == Some(&pool.name);
            let demand = self.demand(&pool.limit, Passes::Disk, allowed);
            let owner = BudgetOwner::Allowance { name: pool.name.clone() };
            add(found, Stage::VmUncached, &owner, self.load, &demand, (&pool.limit, &published.limit));
        }
    }

    /// The disk with the lowest limit stands for all: a striped request is done with its last part.
    fn disks(&self, published: &VolumeSpec, found: &mut Vec<Found>) {
        let mut lowest: Vec<Found> = Vec::new();
        for (number, (disk, published)) in self.spec.disks.iter().zip(&published.disks).enumerate() {
            let demand = self.demand(&disk.limit, Passes::Disk, |other| other == number);
            let alike = self.spec.disks.iter().filter(|other| other.name == disk.name).count() as u64;
            let owner = BudgetOwner::Disk { name: disk.name.clone(), alike };
            let mut own = Vec::new();
            add(&mut own, Stage::Disk, &owner, self.load, &demand, (&disk.limit, &published.limit));
            for one in own {
                match lowest.iter_mut().find(|known| known.at == one.at && known.phase == one.phase) {
                    Some(known) if known.ceiling.iops <= one.ceiling.iops => {}
                    Some(known) => *known = one,
                    None => lowest.push(one),
                }
            }
        }
        found.append(&mut lowest);
    }

    /// The rate of a read-write cache full of dirty blocks: that of its disks.
    fn write_back(&self, found: &mut Vec<Found>) {
        let writes: f64 = self.parts.iter().filter(|p| p.operation == Operation::Write).map(|p| p.count).sum();
        let takes = self.spec.host_cache.mode == HostCache::ReadWrite && writes > 0.0;
        let held = self.held_dirty();
        if !takes || held >= 1.0 {
            return;
        }
        let evenly = matches!(self.load.pattern, Pattern::Random(Distribution::Uniform));
        let held = if evenly { held } else { 0.0 };
        let sequential = matches!(self.load.pattern, Pattern::Sequential { .. });
        let carried: Vec<PartKind> = (self.parts.iter())
            .map(|part| match part.operation {
                Operation::Write if sequential => {
                    let count = part.count * part.length as f64 / WRITE_BACK_MAX as f64;
                    PartKind { length: WRITE_BACK_MAX, count, ..*part }
                }
                Operation::Write => {
                    let (length, count) = (part.length.next_multiple_of(CACHE_BLOCK), part.count * (1.0 - held));
                    PartKind { length, count, ..*part }
                }
                Operation::Read | Operation::Trim | Operation::Flush => *part,
            })
            .collect();
        let mut spec = self.spec.clone();
        spec.host_cache.mode = HostCache::ReadOnly;
        let through = Way { spec: &spec, parts: carried, ..*self };
        let mut behind = Vec::new();
        through.disks(&spec, &mut behind);
        through.shared(&mut behind);
        through.machine(&mut behind);
        behind.retain(|one| one.at.is_some_and(|(stage, _)| stage != Stage::VmCached) && one.phase != Phase::Burst);
        let least = behind.into_iter().min_by(|a, b| a.ceiling.iops.total_cmp(&b.ceiling.iops));
        if let Some(Found { ceiling, .. }) = least {
            let again_share = Some(held).filter(|held| *held > 0.0);
            let source = CeilingSource::WriteBack { again_share, behind: Box::new(ceiling.source) };
            found.push(Found {
                ceiling: Ceiling { limit: Limit::Cache, iops: ceiling.iops, source },
                at: Some((Stage::Cache, Resource::Requests)),
                phase: Phase::Always,
                bank: None,
            });
        }
    }

    /// The share of the load's blocks that may be dirty in the caches; 1.0 or more if all may.
    fn held_dirty(&self) -> f64 {
        let cache = &self.spec.host_cache;
        let capacity = match cache.capacity {
            Some(each) => Some(each.get() * self.spec.disks.len() as u64),
            None => self.model.spec.vm.as_ref().and_then(|vm| vm.cache_size).map(Bytes::get),
        };
        let size = self.load.size.or_else(|| self.spec.size()).map(Bytes::get);
        match (capacity, size) {
            (None, _) => 1.0,
            (Some(_), None) => 0.0,
            (Some(capacity), Some(size)) => cache.dirty_max.of(capacity) as f64 / size.max(1) as f64,
        }
    }

    /// The transfer rate of the disks themselves.
    fn service(&self, found: &mut Vec<Found>) {
        let pipes = self.spec.disks.iter().enumerate().flat_map(|(number, disk)| {
            let bytes: f64 = self.demand(&Budget::default(), Passes::Disk, |other| other == number).bytes.iter().sum();
            let together = disk.parallelism.throughput.map(|rate| (rate, true));
            let under_the_head = disk.spinning.map(|spinning| (spinning.transfer, false));
            let rates = [together, under_the_head].into_iter().flatten().filter(move |_| bytes > 0.0);
            rates.map(move |(rate, together)| (rate.get() as f64 / bytes, rate, together, disk))
        });
        if let Some((iops, rate, together, disk)) = pipes.min_by(|a, b| a.0.total_cmp(&b.0)) {
            let (disk, bytes_per_s) = (disk.name.clone(), rate.get());
            let source = if together {
                CeilingSource::InService { disk, bytes_per_s }
            } else {
                CeilingSource::UnderHead { disk, bytes_per_s }
            };
            found.push(Found {
                ceiling: Ceiling { limit: Limit::DiskThroughput, iops, source },
                at: together.then_some((Stage::Service, Resource::Bytes)),
                phase: Phase::Always,
                bank: None,
            });
        }
    }

    /// Requests outstanding over the mean time of one (Little's law).
    fn latency(&self, found: &mut Vec<Found>) {
        let Some(outstanding) = self.load.outstanding() else { return };
        let Some(turn) = turn_ns(self.spec, self.load, self.hits).filter(|turn| *turn > 0.0) else { return };
        let places = self.places();
        let at_once = places.map_or(outstanding as f64, |places| places.min(outstanding as f64));
        let limited = places.is_some_and(|places| places < outstanding as f64);
        let source = CeilingSource::ModelledLatency {
            at_once,
            of_depth: limited.then_some(outstanding),
            latency_ns: turn,
            hit_share: Some(self.hits).filter(|hits| *hits > 0.0),
        };
        found.push(Found {
            ceiling: Ceiling { limit: Limit::Latency, iops: at_once * 1e9 / turn, source },
            at: limited.then_some((Stage::Service, Resource::Requests)),
            phase: Phase::Always,
            bank: None,
        });
    }

    /// Requests that the disks have in service at once, at most.
    fn places(&self) -> Option<f64> {
        let each = self.spec.disks.iter().map(|disk| disk.parallelism.requests).min().flatten()?;
        let parts: f64 = self.parts.iter().map(|p| p.count * self.spread.copies_of(p.operation) as f64).sum();
        Some(f64::from(each) * self.spec.disks.len() as f64 / parts.max(1.0))
    }

    fn arrival(&self, found: &mut Vec<Found>) {
        let (rate, source) = match self.load.arrival {
            Arrival::Closed { rate_max: Some(rate), .. } => (rate, CeilingSource::OwnCeiling),
            Arrival::Closed { rate_max: None, .. } => return,
            Arrival::Constant { rate } | Arrival::Poisson { rate } => (rate, CeilingSource::Offered),
        };
        found.push(Found {
            ceiling: Ceiling { limit: Limit::Arrival, iops: rate.get() as f64, source },
            at: None,
            phase: Phase::Always,
            bank: None,
        });
    }
}

/// A budget of either kind.
trait Figure: Copy {
    fn steady(&self) -> u64;
    fn burst(&self) -> Option<u64>;
    /// The most that is saved, in counted requests or bytes.
    fn credits(&self) -> Option<u64>;
    /// A rate of this kind.
    fn rate(rate: u64) -> BudgetRate;
}

impl Figure for IopsBudget {
    fn steady(&self) -> u64 {
        self.rate.get()
    }
    fn burst(&self) -> Option<u64> {
        self.burst.map(|burst| burst.rate.get())
    }
    fn credits(&self) -> Option<u64> {
        self.burst.map(|burst| burst.credits)
    }
    fn rate(rate: u64) -> BudgetRate {
        BudgetRate::RateIops(rate)
    }
}

impl Figure for ThroughputBudget {
    fn steady(&self) -> u64 {
        self.rate.get()
    }
    fn burst(&self) -> Option<u64> {
        self.burst.map(|burst| burst.rate.get())
    }
    fn credits(&self) -> Option<u64> {
        self.burst.map(|burst| burst.credits.get())
    }
    fn rate(rate: u64) -> BudgetRate {
        BudgetRate::BytesPerS(rate)
    }
}

fn rate_in<T: Figure>(budget: &T, phase: Phase) -> u64 {
    if phase == Phase::Burst { budget.burst().unwrap_or(budget.steady()).max(budget.steady()) } else { budget.steady() }
}

fn bursts<T: Figure>(found: Directions<T>) -> bool {
    match found {
        Directions::Together(both) => both.burst().is_some(),
        Directions::Apart { read, write } => [read, write].into_iter().flatten().any(|budget| budget.burst().is_some()),
        Directions::Traded { .. } => false,
    }
}

/// The credits of a budget in requests of the load; of two that are apart those that are spent first.
fn credits<T: Figure>(found: Directions<T>, demand: [f64; 2]) -> Option<f64> {
    let [reads, writes] = demand;
    let one = |budget: T, demand: f64| {
        let credits = budget.credits().filter(|_| demand > 0.0)?;
        Some(credits as f64 / demand)
    };
    match found {
        Directions::Together(both) => one(both, reads + writes),
        Directions::Apart { read, write } => {
            let both = [read.and_then(|budget| one(budget, reads)), write.and_then(|budget| one(budget, writes))];
            both.into_iter().flatten().min_by(f64::total_cmp)
        }
        Directions::Traded { .. } => None,
    }
}

/// The rate for good; of two that for reads.
fn first<T: Figure>(found: Directions<T>) -> u64 {
    match found {
        Directions::Together(both) => both.steady(),
        Directions::Apart { read, write } => read.or(write).map_or(0, |budget| budget.steady()),
        Directions::Traded { read, .. } => read.steady(),
    }
}

/// Requests of the load per second under a budget, from the units of each by direction, and the rates that allow them.
fn allowed<T: Figure>(found: Directions<T>, demand: [f64; 2], phase: Phase) -> Option<(f64, BudgetRates)> {
    let [reads, writes] = demand;
    let rate = |budget: &T| T::rate(rate_in(budget, phase));
    match found {
        Directions::Together(both) => {
            let rates = BudgetRates::Together { rate: rate(&both) };
            (reads + writes > 0.0).then(|| (rate_in(&both, phase) as f64 / (reads + writes), rates))
        }
        Directions::Apart { read, write } => {
            let one = |budget: Option<T>, demand: f64, direction| {
                let budget = budget.filter(|_| demand > 0.0)?;
                let rates = BudgetRates::One { direction, rate: rate(&budget) };
                Some((rate_in(&budget, phase) as f64 / demand, rates))
            };
            let both = [one(read, reads, ThrottledRequests::Reads), one(write, writes, ThrottledRequests::Writes)];
            both.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))
        }
        Directions::Traded { read, write } => {
            let seconds = reads / read.steady() as f64 + writes / write.steady() as f64;
            let rates = BudgetRates::Traded { read: rate(&read), write: rate(&write) };
            (seconds > 0.0).then(|| (1.0 / seconds, rates))
        }
    }
}

/// The names of a stage's two kinds of limit.
const fn names(stage: Stage) -> (Limit, Limit) {
    match stage {
        Stage::VmCached => (Limit::VmCachedIops, Limit::VmCachedThroughput),
        Stage::VmUncached => (Limit::VmUncachedIops, Limit::VmUncachedThroughput),
        Stage::Cache | Stage::Shared | Stage::Disk | Stage::Service => (Limit::DiskIops, Limit::DiskThroughput),
    }
}

/// Adds the limits on requests and on bytes. `limits` are the enforced one and the published one.
fn add(
    found: &mut Vec<Found>,
    stage: Stage,
    owner: &BudgetOwner,
    load: &LoadSpec,
    demand: &Demand,
    limits: (&Budget, &Budget),
) {
    let (requests, bytes) = names(stage);
    let (enforced, published) = limits;
    let total: f64 = demand.requests.iter().sum();
    let counted = Some(total).filter(|total| (total - 1.0).abs() > 1e-6);
    let budgets = (enforced.iops, published.iops);
    add_kind(found, (stage, Resource::Requests), requests, (owner, counted, None), demand.requests, budgets);
    let total: f64 = demand.bytes.iter().sum();
    let differs = (total / load.block_mean().get().max(1) as f64 - 1.0).abs() > 1e-3;
    let bytes_each = differs.then(|| total.round() as u64);
    let budgets = (enforced.throughput, published.throughput);
    add_kind(found, (stage, Resource::Bytes), bytes, (owner, None, bytes_each), demand.bytes, budgets);
}

fn add_kind<T: Figure>(
    found: &mut Vec<Found>,
    at: (Stage, Resource),
    limit: Limit,
    (owner, counted_requests, bytes_each): (&BudgetOwner, Option<f64>, Option<u64>),
    demand: [f64; 2],
    (enforced, published): (Option<Directions<T>>, Option<Directions<T>>),
) {
    let Some(enforced) = enforced else { return };
    let phases: &[(Phase, Limit, Option<BudgetCredits>)] = if bursts(enforced) {
        &[
            (Phase::Burst, limit, Some(BudgetCredits::Lasting)),
            (Phase::Spent, Limit::BurstExhausted, Some(BudgetCredits::Spent)),
        ]
    } else {
        &[(Phase::Always, limit, None)]
    };
    let steady_per_s = first(published.unwrap_or(enforced));
    let rates = enforced;
    let mut burst: Option<Ceiling> = None;
    for (phase, limit, credits_of) in phases {
        let Some((iops, enforced)) = allowed(enforced, demand, *phase) else { continue };
        let published = published.and_then(|found| allowed(found, demand, *phase)).map(|(_, rates)| rates);
        let source = CeilingSource::Budget(Source {
            owner: owner.clone(),
            allowed: enforced,
            published: published.filter(|published| *published != enforced),
            steady_per_s,
            credits: *credits_of,
            counted_requests,
            bytes_each,
        });
        let ceiling = Ceiling { limit: *limit, iops, source };
        let bank = match phase {
            Phase::Burst => {
                burst = Some(ceiling.clone());
                None
            }
            Phase::Spent => credits(rates, demand).zip(burst.take()).map(|(credits, burst)| Bank { credits, burst }),
            Phase::Always => None,
        };
        found.push(Found { ceiling, at: Some(at), phase: *phase, bank });
    }
}

/// For tests and documents: an environment that is known exactly.
#[cfg(test)]
pub(crate) fn exactly(spec: loadline_disk::EnvironmentSpec) -> Model {
    Model {
        number: 0,
        draw: loadline_catalog::Draw::PUBLISHED,
        published: spec.clone(),
        spec,
        uncapped: Vec::new(),
        deviations: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
