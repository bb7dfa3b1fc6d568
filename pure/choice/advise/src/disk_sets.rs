//! The sets of disks that hold a need: each disk as sold, in each number, provisioned with the least that carries its part.

use crate::flow::{Cached, Flow, Station, disk_stations};
use crate::stock::Stock;
use loadline_catalog::{
    Catalog, Choice, Cost, DiskEntry, Draw, Environment, EnvironmentVolume, Figure, HostCacheFigures, Money,
    Provisioned, PurchasePart, SizeRule,
};
use loadline_disk::{EnvironmentSpec, HostCache, Layout, NORMAL_P99, VolumeSpec, normal_quantile};
use loadline_units::{ByteRate, Bytes, Iops, Ratio};
use loadline_workload::Objective;
use std::sync::Arc;

/// Pieces of a stripe.
pub(crate) const INTERLEAVE: Bytes = Bytes::kib(256);
/// How much more than the need a provisioned disk is tried with: queues need room for a latency to be kept.
pub(crate) const MARGINS: [f64; 5] = [1.0, 1.1, 1.25, 1.5, 2.0];
/// Below the highest rate of a recorded need credits may carry it, or a little time short is allowed.
const MARGINS_BELOW: [f64; 3] = [0.25, 0.5, 0.75];
/// Sizes to choose from are whole GiB.
const SIZE_STEP: u64 = 1 << 30;
/// The name of the volume.
pub(crate) const VOLUME: &str = "data";

/// Equal disks with a layout and a cache setting. A copy shares what does not depend on prices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DiskSet {
    pub(crate) sku: String,
    pub(crate) family: String,
    pub(crate) wanted: Provisioned,
    pub(crate) count: u32,
    pub(crate) layout: Layout,
    pub(crate) host_cache: HostCache,
    /// The hosts' answer times, if they cache.
    pub(crate) cache_figures: HostCacheFigures,
    /// A month of all of them with their requests; `None`: without a price.
    pub(crate) price: Option<Money>,
    /// The disks' part of it, and that of the requests, if they are charged for.
    pub(crate) disks_price: Option<Money>,
    pub(crate) requests: Option<Cost>,
    /// Whether a part of the price is an estimate.
    pub(crate) is_estimated: bool,
    /// Why there is no price.
    pub(crate) unpriced: Option<String>,
    /// The limits of the disks, under the reference draw, if all reads that may hit do.
    pub(crate) stations: Arc<[Station]>,
    /// Whether its service times alone could keep the objective.
    pub(crate) is_fast_enough: bool,
    /// Whether its figures fall on machines whose device queues serve in order.
    pub(crate) falls_in_order: bool,
}

impl DiskSet {
    /// The same at the prices of a region. `requests_per_month` are for those that are charged for.
    pub(crate) fn priced(&self, catalog: &Catalog, region: &str, requests_per_month: u64) -> Self {
        let mut set = self.clone();
        match catalog.cost(&self.sku, &self.wanted, region) {
            Ok(each) => (set.disks_price, set.is_estimated) = (Some(each.month.times(self.count)), each.is_estimated()),
            Err(error) => set.unpriced = Some(error.to_string()),
        }
        set.requests = catalog.requests_cost(&self.sku, region, requests_per_month);
        set.price = match (set.disks_price, &set.requests) {
            (Some(disks), Some(requests)) => disks.plus(requests.month),
            (disks, _) => disks,
        };
        set
    }
}

/// What sets are made for.
pub(crate) struct SetsFor<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) draw: Draw,
    pub(crate) stock: &'a Stock,
    /// The demand, at which provisioned figures are chosen.
    pub(crate) flow_of: &'a dyn Fn(Layout) -> Flow,
    pub(crate) size: Bytes,
    pub(crate) disks_max: u32,
    /// The best share of reads that a host's cache may answer; `None`: caches are not looked at.
    pub(crate) hits_at_best: Option<f64>,
    /// Whether the need never changes: then no credits carry it.
    pub(crate) is_steady: bool,
    /// The latency to keep.
    pub(crate) objective: Option<Objective>,
    /// The place of latencies in their intervals at which it must be kept, to be kept in as many scenarios as asked.
    pub(crate) latency_place: Ratio,
}

/// How much more often than allowed a service time may exceed the objective before a set is left out: a simulation of few
/// requests is no sharper.
const EXCEEDS_TOLERANCE: f64 = 1.5;

impl SetsFor<'_> {
    /// Every set of a disk product that could hold the need, in each number and under each cache setting; without prices.
    pub(crate) fn of(&self, entry: &DiskEntry) -> Vec<DiskSet> {
        let mut sets = Vec::new();
        let mechanism = &self.catalog.disk_family(entry).mechanism;
        let mut caches = vec![HostCache::None];
        let provider = entry.name.split_once('/').map_or("", |(provider, _)| provider);
        let hit_latency = self.catalog.host_cache(provider).map(|cache| cache.latency);
        if self.hits_at_best.is_some() && mechanism.host_cached && hit_latency.is_some() {
            caches.push(HostCache::ReadOnly);
        }
        for count in 1..=self.disks_max {
            let layout =
                if count == 1 { Layout::Single } else { Layout::Stripe { columns: count, interleave: INTERLEAVE } };
            let each = Bytes::new(self.size.get().div_ceil(u64::from(count)).next_multiple_of(SIZE_STEP));
            for cache in &caches {
                let latency = hit_latency.filter(|_| *cache != HostCache::None);
                let figures = HostCacheFigures { mode: *cache, latency, ..HostCacheFigures::default() };
                let alike = EqualDisks { sets: self, entry, count, layout, figures };
                for wanted in alike.purchases(each) {
                    let below = mechanism.host_cache_below;
                    let is_too_large = below.zip(size_of(entry, &wanted)).is_some_and(|(below, size)| size >= below);
                    if *cache != HostCache::None && is_too_large {
                        continue;
                    }
                    sets.extend(alike.set(wanted));
                }
            }
        }
        sets
    }

    /// Whether service times alone keep the objective. Waiting and the parts of a stripe only add to them.
    fn is_fast_enough(&self, entry: &DiskEntry, layout: Layout, host_cache: HostCache) -> bool {
        let (Some(objective), Some(latency)) = (self.objective, self.catalog.disk_family(entry).latency) else {
            return true;
        };
        if host_cache != HostCache::None || entry.spinning.is_some() {
            return true;
        }
        let rates = (self.flow_of)(layout).rates;
        let all = rates.requests_per_s();
        let limit_ns = objective.limit.as_ns() as f64;
        let kinds =
            [(rates.reads_per_s, rates.read_size, latency.read), (rates.writes_per_s, rates.write_size, latency.write)];
        let parts = f64::from(if let Layout::Stripe { columns, .. } = layout { columns } else { 1 });
        let mut mean = 0.0;
        for (rate, size, times) in kinds {
            let share = rate / all.max(1e-9);
            if share <= 0.0 {
                continue;
            }
            let at = |interval: loadline_catalog::Interval<loadline_units::Duration>| {
                interval.at(self.latency_place).as_ns() as f64
            };
            // A large request in parts is as long as its longest: at least its size over all disks.
            let fixed = at(times.per_kib) * (size / 1024.0) / parts;
            let (median, p99) = (at(times.median), at(times.p99));
            let sigma = (p99 / median.max(1.0)).max(1.0).ln() / NORMAL_P99;
            mean += share * (median * (sigma * sigma / 2.0).exp() + fixed);
            if let Some(kept) = objective.of.share() {
                let allowed = EXCEEDS_TOLERANCE * (1.0 - kept) / share;
                if allowed < 1.0 && median * (sigma * normal_quantile(1.0 - allowed)).exp() + fixed > limit_ns {
                    return false;
                }
            }
        }
        objective.of.share().is_some() || mean <= EXCEEDS_TOLERANCE * limit_ns
    }
}

/// So many of one disk, under one layout and cache setting.
pub(crate) struct EqualDisks<'a> {
    sets: &'a SetsFor<'a>,
    entry: &'a DiskEntry,
    count: u32,
    layout: Layout,
    figures: HostCacheFigures,
}

impl EqualDisks<'_> {
    /// What tells these from others of the same need.
    pub(crate) fn key(&self) -> (String, u32, bool) {
        (self.entry.name.clone(), self.count, self.figures.mode != HostCache::None)
    }

    pub(crate) fn cached(&self) -> Cached {
        Cached { mode: self.figures.mode, hits: self.sets.hits_at_best.unwrap_or(0.0) }
    }

    /// The disks as a volume for the model, without a machine.
    pub(crate) fn volume_spec(&self, wanted: &Provisioned) -> Option<(EnvironmentSpec, VolumeSpec)> {
        let SetsFor { catalog, draw, .. } = self.sets;
        let disk = catalog.disk_figures(&self.entry.name, wanted).ok()?;
        let volume = EnvironmentVolume {
            name: VOLUME.to_owned(),
            disks: vec![disk; self.count as usize],
            layout: self.layout,
            host_cache: self.figures,
            path: None,
        };
        let mut spec = Environment::assembled("disks", None, vec![volume], catalog).spec(draw);
        let volume = spec.volumes.remove(0);
        Some((spec, volume))
    }

    fn set(&self, wanted: Provisioned) -> Option<DiskSet> {
        let Self { sets, entry, count, layout, figures } = *self;
        let stations = sets.stock.limits(self, &wanted)?;
        Some(DiskSet {
            sku: entry.name.clone(),
            family: sets.catalog.disk_family(entry).name.clone(),
            wanted,
            count,
            layout,
            host_cache: figures.mode,
            cache_figures: figures,
            price: None,
            disks_price: None,
            requests: None,
            is_estimated: false,
            unpriced: None,
            stations,
            is_fast_enough: sets.is_fast_enough(entry, layout, figures.mode),
            falls_in_order: entry.in_order_most.is_some(),
        })
    }

    /// The ways to buy a disk that could carry its part.
    fn purchases(&self, each: Bytes) -> Vec<Provisioned> {
        let Self { sets, entry, layout, .. } = *self;
        let (least, most) = match entry.size {
            SizeRule::Fixed(size) => {
                return if size >= each { vec![Provisioned::default()] } else { Vec::new() };
            }
            SizeRule::Chosen { least, most } => (least, most),
            SizeRule::Unknown => return Vec::new(),
        };
        let size = each.max(least);
        if size > most {
            return Vec::new();
        }
        let mut all: Vec<Provisioned> = Vec::new();
        let below: &[f64] = if sets.is_steady { &[] } else { &MARGINS_BELOW };
        // More of the need takes no smaller disk.
        let mut from = size;
        for margin in below.iter().chain(&MARGINS) {
            let flow = (sets.flow_of)(layout);
            let flow = flow.at(&flow.rates.times(*margin));
            let wanted = if is_provisioned(entry) {
                self.least_provisioned(size, most, &flow)
            } else {
                self.least_size(from, most, &flow)
            };
            from = from
                .max(wanted.as_ref().filter(|_| !is_provisioned(entry)).and_then(|wanted| wanted.size).unwrap_or(from));
            if let Some(wanted) = wanted.filter(|wanted| !all.contains(wanted)) {
                all.push(wanted);
            }
        }
        // What comes with the size alone, for needs whose rates credits carry.
        let plain = Provisioned { size: Some(size), ..Provisioned::default() };
        if !all.contains(&plain) && sets.catalog.disk_figures(&entry.name, &plain).is_ok() {
            all.push(plain);
        }
        all
    }

    /// The smallest size that carries a flow, if figures follow from the size.
    fn least_size(&self, least: Bytes, most: Bytes, flow: &Flow) -> Option<Provisioned> {
        let size_of = |steps: u64| Bytes::new(steps * SIZE_STEP).max(least).min(most);
        let of = |size: Bytes| Provisioned { size: Some(size), ..Provisioned::default() };
        let carries = |steps: u64| {
            let stations = self.sets.stock.limits(self, &of(size_of(steps)));
            stations.is_some_and(|stations| stations.iter().all(|one| one.share(flow) <= 1.0))
        };
        let (from, to) = (least.get().div_ceil(SIZE_STEP), most.get() / SIZE_STEP);
        first_from(from, to, carries).map(|steps| of(size_of(steps)))
    }

    /// The least figures that carry a flow, and the least size at which they may be chosen.
    fn least_provisioned(&self, size: Bytes, most: Bytes, flow: &Flow) -> Option<Provisioned> {
        let entry = self.entry;
        let [iops, bytes] = self.asked_of_each(flow)?;
        let (mut iops, throughput) = (chosen(entry.iops.as_ref(), iops), chosen(entry.throughput.as_ref(), bytes));
        let mut size = size;
        // Each figure may need a larger other one. Each round raises one of them, so few are needed.
        for _ in 0..8 {
            let wanted = Provisioned {
                size: Some(size),
                iops: iops.and_then(Iops::per_second),
                throughput: throughput.and_then(ByteRate::per_second),
                option: None,
            };
            let allowed = |wanted: &Provisioned| match self.sets.catalog.disk_figures(&entry.name, wanted) {
                Ok(_) => None,
                Err(error) => Some(error.part()),
            };
            match allowed(&wanted) {
                None => return Some(wanted),
                Some(PurchasePart::Throughput) => {
                    let at = |iops: u64| Provisioned { iops: Iops::per_second(iops), ..wanted.clone() };
                    let from = iops.or_else(|| default_of(entry.iops.as_ref())).unwrap_or(1);
                    let fits = |iops: u64| allowed(&at(iops)) != Some(PurchasePart::Throughput);
                    let more = first_from(from, 10_000_000, fits)?;
                    if iops == Some(more) {
                        return None;
                    }
                    iops = Some(more);
                }
                Some(PurchasePart::Iops) => {
                    let at = |steps: u64| Provisioned {
                        size: Some(Bytes::new(steps * SIZE_STEP).min(most)),
                        ..wanted.clone()
                    };
                    let fits = |steps: u64| allowed(&at(steps)) != Some(PurchasePart::Iops);
                    let larger = first_from(size.get().div_ceil(SIZE_STEP), most.get() / SIZE_STEP, fits)?;
                    if Bytes::new(larger * SIZE_STEP) == size {
                        return None;
                    }
                    size = Bytes::new(larger * SIZE_STEP);
                }
                Some(_) => return None,
            }
        }
        None
    }

    /// The published requests and bytes per second that each disk must have, so that what is delivered carries its part.
    fn asked_of_each(&self, flow: &Flow) -> Option<[u64; 2]> {
        let Self { sets, entry, count, layout, .. } = *self;
        let mechanism = &sets.catalog.disk_family(entry).mechanism;
        let delivered = entry.delivered.unwrap_or(mechanism.delivered);
        // A limit of one unit per second: its use is what each disk is asked.
        let probe = loadline_disk::Limit {
            iops: Some(loadline_disk::Directions::Together(loadline_disk::IopsBudget::steady(Iops::per_second(1)?))),
            throughput: Some(loadline_disk::Directions::Together(loadline_disk::ThroughputBudget::steady(
                ByteRate::per_second(1)?,
            ))),
            counted_size: mechanism.counted_size,
            merge: mechanism.merge,
            least_charge: mechanism.least_charge,
            ..loadline_disk::Limit::default()
        };
        let spec =
            loadline_disk::DiskSpec { name: entry.name.clone(), limit: probe, ..loadline_disk::DiskSpec::default() };
        let volume =
            VolumeSpec { name: VOLUME.to_owned(), disks: vec![spec; count as usize], layout, ..VolumeSpec::default() };
        let stations = disk_stations(&EnvironmentSpec::default(), &volume, self.cached());
        let [requests, bytes] = stations.first()?.units(flow);
        let place = sets.draw.delivered;
        let of = |asked: f64, factor: loadline_catalog::Interval<loadline_catalog::Factor>| -> u64 {
            let delivered = |published: u64| {
                place.map_or(published, |place| {
                    factor.at(place).times(Iops::per_second(published.max(1)).expect("not zero")).get()
                })
            };
            let mut published = asked.ceil().max(1.0) as u64;
            // Rounding moves it by a unit or two; the delivered share by some percent.
            let full = delivered(1_000_000) as f64 / 1_000_000.0;
            published = ((published as f64 / full).floor() as u64).max(1);
            while (delivered(published) as f64) < asked {
                published += 1;
            }
            published
        };
        let writes_too = delivered.write_iops.map_or(0, |factor| of(requests.iter().sum(), factor));
        Some([of(requests.iter().sum(), delivered.iops).max(writes_too), of(bytes.iter().sum(), delivered.throughput)])
    }
}

/// The size of a disk, as bought.
fn size_of(entry: &DiskEntry, wanted: &Provisioned) -> Option<Bytes> {
    match entry.size {
        SizeRule::Fixed(size) => Some(size),
        SizeRule::Chosen { .. } | SizeRule::Unknown => wanted.size,
    }
}

/// Whether any figure is chosen when the disk is made.
fn is_provisioned(entry: &DiskEntry) -> bool {
    fn is<T>(figure: Option<&Figure<T>>) -> bool {
        matches!(figure, Some(Figure::Together(found)) if matches!(found.choice, Choice::Provisioned { .. }))
    }
    is(entry.iops.as_ref()) || is(entry.throughput.as_ref())
}

/// The figure to choose: nothing within the default, and not below the least.
fn chosen<T: loadline_catalog::Scalar>(figure: Option<&Figure<T>>, asked: u64) -> Option<u64> {
    let Some(Figure::Together(found)) = figure else { return None };
    let Choice::Provisioned { default, least } = found.choice else { return None };
    if default.is_some_and(|default| asked <= default.get()) {
        return None;
    }
    Some(least.map_or(asked, |least| asked.max(least.get())))
}

fn default_of<T: loadline_catalog::Scalar>(figure: Option<&Figure<T>>) -> Option<u64> {
    let Some(Figure::Together(found)) = figure else { return None };
    match found.choice {
        Choice::Provisioned { default, .. } => default.map(loadline_catalog::Scalar::get),
        Choice::None => None,
    }
}

/// The first number of a range that passes a test which all after it pass, too. It is looked for near the range's begin first.
fn first_from(from: u64, to: u64, mut passes: impl FnMut(u64) -> bool) -> Option<u64> {
    // None below `low` passes, `high` does.
    let (mut low, mut high, mut step) = (from, from, 1);
    loop {
        if high > to {
            return None;
        }
        if passes(high) {
            break;
        }
        if high == to {
            return None;
        }
        low = high + 1;
        high = high.saturating_add(step).min(to);
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}
