//! What a provider sells today, by name: machines and network disks; and which of the disks does what was measured.

use crate::catalog::Catalog;
use crate::entry::{DiskEntry, VmEntry};
use crate::figure::{Factor, Interval};
use crate::resolve::Provisioned;
use loadline_disk::{Directions, Place};
use loadline_units::{ByteRate, Bytes, Iops};
use std::collections::{BTreeMap, BTreeSet};

/// Measured levels scatter by so much around what a disk delivers.
const SCATTER: f64 = 0.01;
/// Disks that are as near as this to the nearest are as good an answer.
const AS_NEAR: f64 = 0.005;

/// A disk that delivers what was measured, with the limits that it is sold with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoldDisk {
    /// Its name, as the catalog has it.
    pub name: String,
    /// Requests per second.
    pub iops: Iops,
    /// Bytes per second.
    pub throughput: ByteRate,
}

/// Names with a year are past limits of what is sold today.
fn is_dated(name: &str) -> bool {
    name.contains('@')
}

impl Catalog {
    /// The providers, in alphabetical order.
    #[must_use]
    pub fn providers(&self) -> Vec<String> {
        let all: BTreeSet<&str> = self.families.iter().map(|family| family.provider.as_str()).collect();
        all.into_iter().map(str::to_owned).collect()
    }

    /// A provider's machines as sold today, each once: those with an entry and those that a pattern stands for. Retired ones are not.
    #[must_use]
    pub fn machines_sold(&self, provider: &str) -> Vec<String> {
        let is_sold = |vm: &&VmEntry| self.vm_family(vm).retired.is_none();
        let exact = self.vms.iter().filter(is_sold).map(|vm| vm.name.clone());
        let by_pattern = self.families.iter().flat_map(|family| {
            family.sold_names().map(|machine| format!("{}/{machine}", family.provider)).collect::<Vec<String>>()
        });
        let all: BTreeSet<String> =
            exact.chain(by_pattern).filter(|name| provider_of(name) == provider && !is_dated(name)).collect();
        all.into_iter().collect()
    }

    /// The memory of a machine, if it is recorded.
    #[must_use]
    pub fn memory(&self, machine: &str) -> Option<Bytes> {
        let plain = machine.split_once('@').map_or(machine, |(plain, _)| plain);
        self.memories.get(plain).copied()
    }

    /// Whether a machine's processors run on credits: its rate of work is not for good.
    #[must_use]
    pub fn has_cpu_credits(&self, machine: &str) -> bool {
        let (provider, name) = machine.split_once('/').unwrap_or(("", machine));
        let begins =
            |family: &&crate::entry::Family| family.cpu_credits.iter().any(|begin| name.starts_with(begin.as_str()));
        self.families.iter().filter(|family| family.provider == provider).any(|family| begins(&family))
    }

    /// A provider's network disks as sold today, each once. Of several entries of a name the one added last counts.
    #[must_use]
    pub fn network_disks_sold(&self, provider: &str) -> Vec<&DiskEntry> {
        let mut by_name: BTreeMap<&str, &DiskEntry> = BTreeMap::new();
        for disk in self.disks.iter().filter(|disk| provider_of(&disk.name) == provider && !is_dated(&disk.name)) {
            let family = self.disk_family(disk);
            if family.mechanism.place == Place::Network && family.retired.is_none() {
                by_name.insert(&disk.name, disk);
            }
        }
        by_name.into_values().collect()
    }

    /// The disks sold today, without anything provisioned, whose limits are both of these levels of requests and bytes a second: as good an
    /// answer each. None where no disk has both.
    #[must_use]
    pub fn disks_of_levels(&self, iops: f64, bytes_per_s: f64) -> Vec<SoldDisk> {
        let sold = self.providers().into_iter().flat_map(|provider| self.network_disks_sold(&provider));
        let current = sold.filter(|disk| self.superseded_by(disk).is_none());
        let mut near: Vec<(f64, SoldDisk)> =
            current.filter_map(|disk| self.distance(disk, iops, bytes_per_s)).collect();
        near.sort_by(|(a, one), (b, other)| a.total_cmp(b).then_with(|| one.name.cmp(&other.name)));
        let nearest = near.first().map_or(0.0, |(distance, _)| *distance);
        near.into_iter().take_while(|(distance, _)| *distance <= nearest + AS_NEAR).map(|(_, disk)| disk).collect()
    }

    /// How far levels are from what a disk delivers; `None` where it does not.
    fn distance(&self, disk: &DiskEntry, iops: f64, bytes_per_s: f64) -> Option<(f64, SoldDisk)> {
        let figures = self.disk_figures(&disk.name, &Provisioned::default()).ok()?;
        let (limit, delivered) = (figures.limits.limit, figures.limits.mechanism.delivered);
        let sold_iops = sole(limit.iops?, |budget| budget.rate.get())?;
        let sold_bytes = sole(limit.throughput?, |budget| budget.rate.get())?;
        let of_requests = apart(iops / sold_iops as f64, &delivered.iops)?;
        let of_bytes = apart(bytes_per_s / sold_bytes as f64, &delivered.throughput)?;
        let (iops, throughput) = (Iops::per_second(sold_iops)?, ByteRate::per_second(sold_bytes)?);
        Some((of_requests.max(of_bytes), SoldDisk { name: disk.name.clone(), iops, throughput }))
    }

    /// What the provider recommends in place of a disk, in words: "gp3". `None` if it recommends nothing else.
    #[must_use]
    pub fn superseded_by(&self, disk: &DiskEntry) -> Option<&str> {
        self.disk_family(disk).superseded_by.as_deref()
    }
}

/// The rate of both directions; `None` where they differ.
fn sole<T>(limit: Directions<T>, rate: impl Fn(T) -> u64) -> Option<u64> {
    match limit {
        Directions::Together(both) => Some(rate(both)),
        Directions::Apart { read: Some(read), write: Some(write) } | Directions::Traded { read, write } => {
            let (read, write) = (rate(read), rate(write));
            (read == write).then_some(read)
        }
        Directions::Apart { .. } => None,
    }
}

/// How far a measured share of a published limit is from the share that is delivered; `None` where it is not delivered.
fn apart(share: f64, delivered: &Interval<Factor>) -> Option<f64> {
    let of = |factor: Factor| factor.of_count(1_000_000) as f64 / 1e6;
    let is_delivered = share >= of(delivered.low) * (1.0 - SCATTER) && share <= of(delivered.high) * (1.0 + SCATTER);
    is_delivered.then(|| (share / of(delivered.mid) - 1.0).abs())
}

fn provider_of(name: &str) -> &str {
    name.split_once('/').map_or("", |(provider, _)| provider)
}
