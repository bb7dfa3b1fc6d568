//! The machines of a provider, by price with their system's disk.

use crate::advice::NotLookedAt;
use crate::disk_sets::DiskSet;
use crate::flow::{Cached, Station, allowance, disk_stations, machine_stations};
use crate::need::Wanted;
use loadline_catalog::{
    Architecture, Catalog, Draw, Environment, EnvironmentVolume, Money, Provisioned, SizeRule, VmFigures,
};
use loadline_disk::{HostCache, Limit, VmSpec};
use loadline_units::{Bytes, Duration};
use std::sync::Arc;

/// Disks with a median read above this are no system's disk: they spin.
const OS_DISK_READ_MAX: Duration = Duration::from_ms(5);

/// A machine that may be bought. A copy shares what does not depend on prices.
#[derive(Debug, Clone)]
pub(crate) struct MachineOffer {
    pub(crate) name: String,
    pub(crate) architecture: Option<Architecture>,
    pub(crate) figures: Arc<VmFigures>,
    /// Under the reference draw, for any disks and for those of its special families alone.
    pub(crate) spec: Arc<VmSpec>,
    pub(crate) special: Option<Arc<VmSpec>>,
    /// What it allows each type of disks, under the reference draw.
    pub(crate) caps: Arc<Vec<(String, Limit)>>,
    /// A month of it; `None`: without a price.
    pub(crate) price: Option<Money>,
    /// The system's disk.
    pub(crate) os_disk: Option<OsDisk>,
    /// Both.
    pub(crate) total: Option<Money>,
    /// Whether a part of that is an estimate.
    pub(crate) is_estimated: bool,
}

/// A disk for the system.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OsDisk {
    pub(crate) sku: String,
    pub(crate) family: String,
    pub(crate) wanted: Provisioned,
    pub(crate) price: Money,
    pub(crate) is_estimated: bool,
}

/// A provider's machines that keep to what is wanted, without prices, and what was left out and why.
pub(crate) struct MachinesSold {
    all: Vec<MachineOffer>,
    notes: Vec<NotLookedAt>,
}

impl MachinesSold {
    /// Whether none is left.
    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The same at the prices of a region.
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
        let Ok(cost) = catalog.cost(&entry.name, &wanted, region) else { continue };
        let (price, is_estimated) = (cost.month, cost.is_estimated());
        found.push(OsDisk { sku: entry.name.clone(), family: family.name.clone(), wanted, price, is_estimated });
    }
    found.sort_by(|a, b| a.price.billionths().cmp(&b.price.billionths()).then(a.sku.cmp(&b.sku)));
    found
}

/// The machines of a provider.
pub(crate) fn machines_sold(catalog: &Catalog, provider: &str, wanted: &Wanted, draw: &Draw) -> MachinesSold {
    let mut all: Vec<MachineOffer> = Vec::new();
    let (mut without_memory, mut without_vcpus, mut without_limits) = (0_u32, 0_u32, 0_u32);
    for name in catalog.machines_sold(provider) {
        if !is_named(&name, &wanted.machines) {
            continue;
        }
        let architecture = catalog.architecture(&name);
        let is_other = |wanted| architecture.is_some_and(|own| own != wanted);
        if wanted.architecture.is_some_and(is_other) {
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
        all.push(MachineOffer {
            spec: Arc::new(figures.spec(draw, false)),
            special: figures.uncached_for.is_some().then(|| Arc::new(figures.spec(draw, true))),
            caps: Arc::new(figures.caps.iter().map(|(name, cap)| (name.clone(), cap.enforced(draw))).collect()),
            name,
            architecture,
            figures: Arc::new(figures),
            price: None,
            os_disk: None,
            total: None,
            is_estimated: false,
        });
    }
    let provider = || provider.to_owned();
    let notes = [
        (without_memory, NotLookedAt::MachinesWithoutMemory { provider: provider(), count: without_memory }),
        (without_vcpus, NotLookedAt::MachinesWithoutVcpus { provider: provider(), count: without_vcpus }),
        (without_limits, NotLookedAt::MachinesWithoutLimit { provider: provider(), count: without_limits }),
    ];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note).collect();
    MachinesSold { all, notes }
}

impl MachinesSold {
    /// These at the prices of a region, each with the cheapest disk that its system may have.
    pub(crate) fn priced(&self, catalog: &Catalog, provider: &str, region: &str, os_disk: Option<Bytes>) -> Machines {
        let os_disks = os_disk.map(|size| os_disks(catalog, provider, region, size));
        let offers = self.all.iter().filter_map(|sold| sold.priced(catalog, region, os_disks.as_deref()));
        let (mut priced, unpriced): (Vec<MachineOffer>, Vec<MachineOffer>) =
            offers.partition(|offer| offer.total.is_some());
        priced.sort_by(|a, b| cost(a.total).cmp(&cost(b.total)).then(a.name.cmp(&b.name)));
        Machines { priced, unpriced, notes: self.notes.clone() }
    }
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
    /// The same at the prices of a region. A machine whose system has no disk to buy is none that one could use.
    fn priced(&self, catalog: &Catalog, region: &str, os_disks: Option<&[OsDisk]>) -> Option<Self> {
        // A machine that limits each type apart takes those that it has a limit for.
        let is_taken = |disk: &&OsDisk| {
            let by_type = self.figures.uncached.is_none() && self.figures.uncached_for.is_none();
            let is_known = self.figures.caps.iter().any(|(name, _)| *name == disk.sku);
            !self.figures.takes_no.contains(&disk.family) && (!by_type || is_known)
        };
        let os_disk = os_disks.and_then(|disks| disks.iter().find(is_taken).cloned());
        if os_disks.is_some() && os_disk.is_none() {
            return None;
        }
        let cost = catalog.cost(&self.name, &Provisioned::default(), region).ok();
        let price = cost.as_ref().map(|cost| cost.month);
        let total = match (price, &os_disk) {
            (Some(price), Some(disk)) => price.plus(disk.price),
            (price, _) => price,
        };
        let is_estimated =
            cost.is_some_and(|cost| cost.is_estimated()) || os_disk.as_ref().is_some_and(|disk| disk.is_estimated);
        Some(Self { price, os_disk, total, is_estimated, ..self.clone() })
    }

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

    /// What it allows disks of the set's type, if it limits types apart: without the disks, so that a pair is soon judged.
    pub(crate) fn allowance(&self, set: &DiskSet) -> Option<Station> {
        let (_, budget) = self.caps.iter().find(|(name, _)| *name == set.sku)?;
        (set.host_cache == HostCache::None).then(|| allowance(budget, set.layout, set.count))
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
