//! The machines of a provider, by price with their system's disk.

use crate::advice::NotLookedAt;
use crate::disk_sets::DiskSet;
use crate::flow::{Cached, Station, disk_stations, machine_stations};
use crate::need::Wanted;
use loadline_catalog::{Catalog, Draw, Environment, EnvironmentVolume, Money, Provisioned, SizeRule, VmFigures};
use loadline_disk::{HostCache, VmSpec};
use loadline_units::{Bytes, Duration};

/// Disks with a median read above this are no system's disk: they spin.
const OS_DISK_READ_MAX: Duration = Duration::from_ms(5);

/// A machine that may be bought.
#[derive(Debug, Clone)]
pub(crate) struct MachineOffer {
    pub(crate) name: String,
    pub(crate) figures: VmFigures,
    /// Under the reference draw, for any disks and for those of its special families alone.
    pub(crate) spec: VmSpec,
    pub(crate) special: Option<VmSpec>,
    /// A month of it; `None`: without a price.
    pub(crate) price: Option<Money>,
    /// The system's disk.
    pub(crate) os_disk: Option<OsDisk>,
    /// Both.
    pub(crate) total: Option<Money>,
}

/// A disk for the system.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OsDisk {
    pub(crate) sku: String,
    pub(crate) family: String,
    pub(crate) wanted: Provisioned,
    pub(crate) price: Money,
}

/// A provider's machines that keep to what is wanted, and what was left out and why.
pub(crate) struct Machines {
    /// With a price, the cheapest first.
    pub(crate) priced: Vec<MachineOffer>,
    /// Without a price, by name.
    pub(crate) unpriced: Vec<MachineOffer>,
    pub(crate) notes: Vec<NotLookedAt>,
}

/// The system's disks by price: network disks that do not spin, large enough.
pub(crate) fn os_disks(catalog: &Catalog, provider: &str, region: &str, size: Bytes) -> Vec<OsDisk> {
    let mut found: Vec<OsDisk> = Vec::new();
    for entry in catalog.network_disks_sold(provider) {
        let family = catalog.disk_family(entry);
        if family.superseded_by.is_some()
            || entry.spinning.is_some()
            || family.latency.is_none_or(|latency| latency.read.median.mid > OS_DISK_READ_MAX)
        {
            continue;
        }
        let wanted = match entry.size {
            SizeRule::Fixed(own) if own >= size => Provisioned::default(),
            SizeRule::Chosen { least, most } if size <= most => {
                Provisioned { size: Some(size.max(least)), ..Provisioned::default() }
            }
            _ => continue,
        };
        let Ok(price) = catalog.monthly_cost(&entry.name, &wanted, region) else { continue };
        found.push(OsDisk { sku: entry.name.clone(), family: family.name.clone(), wanted, price });
    }
    found.sort_by(|a, b| a.price.billionths().cmp(&b.price.billionths()).then(a.sku.cmp(&b.sku)));
    found
}

/// The machines of a provider in a region.
pub(crate) fn machines(catalog: &Catalog, provider: &str, region: &str, wanted: &Wanted, draw: &Draw) -> Machines {
    let os_disks = wanted.os_disk.map(|size| os_disks(catalog, provider, region, size));
    let mut priced: Vec<MachineOffer> = Vec::new();
    let mut unpriced: Vec<MachineOffer> = Vec::new();
    let (mut without_memory, mut without_vcpus, mut without_limits) = (0_u32, 0_u32, 0_u32);
    for name in catalog.machines_sold(provider) {
        if !is_named(&name, &wanted.machines) {
            continue;
        }
        if !wanted.cpu_credits && catalog.has_cpu_credits(&name) {
            continue;
        }
        let Ok(figures) = catalog.vm_figures(&name) else { continue };
        if let Some(least) = wanted.vcpus {
            match figures.vcpus {
                None => {
                    without_vcpus += 1;
                    continue;
                }
                Some(vcpus) if vcpus < least => continue,
                Some(_) => {}
            }
        }
        if let Some(least) = wanted.memory {
            match catalog.memory(&name) {
                None => {
                    without_memory += 1;
                    continue;
                }
                Some(memory) if memory < least => continue,
                Some(_) => {}
            }
        }
        if figures.uncached.is_none() && figures.caps.is_empty() && figures.uncached_for.is_none() {
            without_limits += 1;
            continue;
        }
        let price = catalog.monthly_cost(&name, &Provisioned::default(), region).ok();
        // A machine that limits each type apart takes those that it has a limit for.
        let is_taken = |disk: &&OsDisk| {
            let by_type = figures.uncached.is_none() && figures.uncached_for.is_none();
            let is_known = figures.caps.iter().any(|(name, _)| *name == disk.sku);
            !figures.takes_no.contains(&disk.family) && (!by_type || is_known)
        };
        let os_disk = os_disks.as_ref().and_then(|disks| disks.iter().find(is_taken).cloned());
        // A machine whose system has no disk to buy is none that one could use.
        if os_disks.is_some() && os_disk.is_none() {
            continue;
        }
        let total = match (price, &os_disk) {
            (Some(price), Some(disk)) => price.plus(disk.price),
            (price, _) => price,
        };
        let special = figures.uncached_for.is_some().then(|| figures.spec(draw, true));
        let offer = MachineOffer { spec: figures.spec(draw, false), special, name, figures, price, os_disk, total };
        if total.is_some() {
            priced.push(offer);
        } else {
            unpriced.push(offer);
        }
    }
    priced.sort_by(|a, b| cost(a.total).cmp(&cost(b.total)).then(a.name.cmp(&b.name)));
    let provider = || provider.to_owned();
    let without_price = unpriced.len() as u32;
    let notes = [
        (without_memory, NotLookedAt::MachinesWithoutMemory { provider: provider(), count: without_memory }),
        (without_vcpus, NotLookedAt::MachinesWithoutVcpus { provider: provider(), count: without_vcpus }),
        (without_limits, NotLookedAt::MachinesWithoutLimit { provider: provider(), count: without_limits }),
        (
            without_price,
            NotLookedAt::MachinesWithoutPrice { provider: provider(), region: region.to_owned(), count: without_price },
        ),
    ];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note).collect();
    Machines { priced, unpriced, notes }
}

/// Whether a name is one of those wanted: one with a provider is whole, another a part.
pub(crate) fn is_named(name: &str, wanted: &[String]) -> bool {
    wanted.is_empty()
        || wanted.iter().any(|part| if part.contains('/') { name == part } else { name.contains(part.as_str()) })
}

/// Billionths, to compare.
pub(crate) fn cost(money: Option<Money>) -> u128 {
    money.map_or(u128::MAX, Money::billionths)
}

impl MachineOffer {
    /// Whether these disks can be attached to it, and its host caches them if that is wanted.
    pub(crate) fn takes(&self, set: &DiskSet) -> bool {
        let count = self.figures.disks_max.is_none_or(|most| set.count <= most);
        let cached = set.host_cache == HostCache::None
            || (!self.figures.caches_none && self.figures.cache_size.is_some() && self.spec.cached.is_some());
        // Without a row for the type, the machine's limit for it is not known.
        let capped = self.figures.uncached.is_some()
            || self.figures.uncached_for.is_some()
            || self.figures.caps.iter().any(|(name, _)| *name == set.sku);
        count && cached && capped && !self.figures.takes_no.contains(&set.family)
    }

    /// The share of reads that its host's cache answers, of those on the hot part.
    pub(crate) fn hits(&self, set: &DiskSet, hot: Option<Bytes>) -> f64 {
        if set.host_cache == HostCache::None {
            return 0.0;
        }
        match (hot, self.figures.cache_size) {
            (Some(hot), Some(cache)) if hot > Bytes::ZERO => (cache.get() as f64 / hot.get() as f64).min(1.0),
            _ => 0.0,
        }
    }

    /// The limits of the machine for a set.
    pub(crate) fn stations(&self, set: &DiskSet, hot: Option<Bytes>, catalog: &Catalog, draw: &Draw) -> Vec<Station> {
        let cached = Cached { mode: set.host_cache, hits: self.hits(set, hot) };
        let is_special = self.figures.uncached_for.as_ref().is_some_and(|(families, _)| families.contains(&set.family));
        let spec = match &self.special {
            Some(special) if is_special => special,
            _ => &self.spec,
        };
        let mut stations = machine_stations(spec, set.layout, cached);
        let has_cap = self.figures.caps.iter().any(|(name, _)| *name == set.sku);
        let slows = set.falls_in_order && self.figures.queues_in_order;
        if has_cap || slows || cached.mode != HostCache::None {
            // These depend on the disks, too: the limits of both together.
            if let Some(environment) = environment(catalog, &self.figures, set) {
                let spec = environment.spec(draw);
                if let Some(volume) = spec.volumes.first() {
                    stations.extend(disk_stations(&spec, volume, cached));
                }
            }
        }
        stations
    }
}

/// The environment of a machine with a set of disks.
pub(crate) fn environment(catalog: &Catalog, vm: &VmFigures, set: &DiskSet) -> Option<Environment> {
    let disk = catalog.disk_figures(&set.sku, &set.wanted).ok()?;
    let volume = EnvironmentVolume {
        name: crate::disk_sets::VOLUME.to_owned(),
        disks: vec![disk; set.count as usize],
        layout: set.layout,
        host_cache: set.cache_figures,
        path: None,
    };
    Some(Environment::assembled(&vm.name, Some(vm.clone()), vec![volume], catalog))
}
