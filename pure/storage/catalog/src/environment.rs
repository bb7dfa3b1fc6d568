//! Environment files: a virtual machine and its volumes, by their names in the catalog or given in full.

mod read;
#[cfg(test)]
mod tests;

use crate::builtin::ENVIRONMENTS;
use crate::catalog::Catalog;
use crate::deviation::Deviation;
use crate::entry::LatencyInterval;
use crate::resolve::{DiskFigures, Draw, LimitFigures, VmFigures};
use loadline_disk::{
    DiskSpec, EnvironmentSpec, HostCache, HostCacheSpec, LatencySpec, Layout, Limit, Place, PoolSpec, VolumeSpec,
};
use loadline_document::{DocumentError, nearest, text_hash};
use loadline_units::{Bytes, Ratio};

/// The version of the environment format that is read here.
pub const ENVIRONMENT_SCHEMA: u64 = 1;
/// Disks of an environment at most.
pub const DISKS_MAX: usize = 1_000;

/// A virtual machine and its volumes, with the figures of the catalog as published.
///
/// Invariants, checked by [`Environment::parse`]: at least one volume; every volume has the disks that its layout
/// needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// Its name.
    pub name: String,
    /// Its purpose, in one line.
    pub description: Option<String>,
    /// The text that it was read from.
    pub text: String,
    /// The virtual machine; `None`: the disks have no common limit.
    pub vm: Option<VmFigures>,
    /// In the order of the text.
    pub volumes: Vec<EnvironmentVolume>,
    /// Budgets that disks of a type share.
    pools: Vec<Pool>,
}

/// One volume of an environment.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvironmentVolume {
    /// Its name.
    pub name: String,
    /// Its disks, in the layout's order.
    pub disks: Vec<DiskFigures>,
    /// How data lies on them.
    pub layout: Layout,
    /// How the host caches it.
    pub host_cache: HostCacheFigures,
    /// Its path on this machine, for `run` and `crawl`.
    pub path: Option<String>,
}

/// A host's cache, with its uncertainty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCacheFigures {
    /// The cached operations.
    pub mode: HostCache,
    /// For each disk; `None`: the disks share the machine's.
    pub capacity: Option<Bytes>,
    /// Of a hit; `None` without a cache.
    pub latency: Option<LatencyInterval>,
    /// Share that writes may fill; `None`: the model's own.
    pub dirty_max: Option<Ratio>,
    /// Share at which stalled writes go on; `None`: the model's own.
    pub resume_at: Option<Ratio>,
}

/// A budget of all disks of one name.
#[derive(Debug, Clone, PartialEq)]
struct Pool {
    name: String,
    /// The disks' name.
    disks: String,
    limits: LimitFigures,
    /// Whether it is the machine's total for them. Otherwise it follows from their total size, and those behind a
    /// network have no other limits.
    is_allowance: bool,
}

impl Environment {
    /// Reads an environment from TOML; `source` names the text in errors. The format is in
    /// `docs/formats/environment.md`.
    ///
    /// # Errors
    /// Every problem of the text, with its line, column and key. The text may be no TOML. Keys may be unknown; the
    /// nearest known one is named. Names may be missing in `catalog`, disks may not exist in this form, and layouts may
    /// not fit their disks.
    pub fn parse(text: &str, source: &str, catalog: &Catalog) -> Result<Self, DocumentError> {
        read::environment(text, source, catalog)
    }

    /// An environment of parts that a program chose, with the budgets that its disks share. Its text is empty. Unlike
    /// [`Environment::parse`] it checks nothing: whether the machine takes the disks is the caller's to know.
    #[must_use]
    pub fn assembled(
        name: &str,
        vm: Option<VmFigures>,
        mut volumes: Vec<EnvironmentVolume>,
        catalog: &Catalog,
    ) -> Self {
        for volume in &mut volumes {
            volume.disks.iter_mut().for_each(|disk| disk.hold_on(vm.as_ref()));
        }
        let pools = read::pools(catalog, vm.as_ref(), &volumes);
        Self { name: name.to_owned(), description: None, text: String::new(), vm, volumes, pools }
    }

    /// The environment for the disk model, under `draw`.
    #[must_use]
    pub fn spec(&self, draw: &Draw) -> EnvironmentSpec {
        let pools_of = |disk: &DiskFigures| {
            self.pools.iter().filter(|pool| !disk.name.is_empty() && pool.disks == disk.name).collect::<Vec<_>>()
        };
        let disk = |figures: &DiskFigures| {
            let mut disk = figures.spec(draw);
            disk.device_queues = figures.device_queues(draw, self.vm.as_ref());
            for pool in pools_of(figures) {
                if pool.is_allowance {
                    disk.allowance = Some(pool.name.clone());
                } else if !figures.is_by_iops {
                    disk.pool = Some(pool.name.clone());
                    // A disk in the host is a separate device, independent of the others' total.
                    if disk.place == Place::Network {
                        disk.limit = Limit::default();
                    }
                }
            }
            disk
        };
        // Most volumes have many equal disks, and a search makes thousands of volumes.
        let disks = |all: &[DiskFigures]| {
            let mut specs: Vec<DiskSpec> = Vec::with_capacity(all.len());
            for (place, figures) in all.iter().enumerate() {
                let alike = place.checked_sub(1).filter(|before| all[*before] == *figures);
                let spec = alike.map_or_else(|| disk(figures), |before| specs[before].clone());
                specs.push(spec);
            }
            specs
        };
        let volume = |volume: &EnvironmentVolume| VolumeSpec {
            name: volume.name.clone(),
            disks: disks(&volume.disks),
            layout: volume.layout,
            host_cache: volume.host_cache.spec(draw),
        };
        let pool = |pool: &Pool| PoolSpec { name: pool.name.clone(), limit: pool.limits.enforced(draw) };
        EnvironmentSpec {
            name: self.name.clone(),
            vm: self.vm.as_ref().map(|vm| vm.spec(draw, self.is_only_for(vm))),
            pools: self.pools.iter().map(pool).collect(),
            volumes: self.volumes.iter().map(volume).collect(),
        }
    }

    /// Whether every network disk is of a family with a separate limit of the machine.
    fn is_only_for(&self, vm: &VmFigures) -> bool {
        let Some((families, _)) = &vm.uncached_for else { return false };
        let disks = self.volumes.iter().flat_map(|volume| &volume.disks);
        let mut network = disks.filter(|disk| disk.limits.mechanism.place == Place::Network).peekable();
        network.peek().is_some() && network.all(|disk| families.contains(&disk.family))
    }

    /// The network disks for which the catalog has no limit of the machine, if it is one that limits each type of disk
    /// separately.
    #[must_use]
    pub fn uncapped(&self) -> Vec<String> {
        let Some(vm) = self.vm.as_ref().filter(|vm| vm.uncached.is_none() && !vm.caps.is_empty()) else {
            return Vec::new();
        };
        let disks = self.volumes.iter().flat_map(|volume| &volume.disks);
        let network = disks.filter(|disk| disk.limits.mechanism.place == Place::Network && !disk.name.is_empty());
        let mut names: Vec<String> = network
            .filter(|disk| vm.caps.iter().all(|(of, _)| *of != disk.name))
            .map(|disk| disk.name.clone())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Measurements that the model is known to miss, of disks like those of this volume and of its layout, each with its
    /// disk's name.
    #[must_use]
    pub fn deviations(&self, volume: &str) -> Vec<(String, Deviation)> {
        let Some(volume) = self.volumes.iter().find(|found| found.name == volume) else { return Vec::new() };
        let striped = matches!(volume.layout, Layout::Stripe { .. });
        let of = |disk: &DiskFigures| {
            let fits = |found: &&Deviation| found.striped.is_none_or(|wanted| wanted == striped);
            let name = disk.name.clone();
            disk.deviations.iter().filter(fits).map(|found| (name.clone(), found.clone())).collect::<Vec<_>>()
        };
        let mut found: Vec<(String, Deviation)> = volume.disks.iter().flat_map(of).collect();
        let mut seen = Vec::new();
        found.retain(|one| {
            let is_new = !seen.contains(one);
            seen.push(one.clone());
            is_new
        });
        found
    }

    /// The fingerprint of its text.
    #[must_use]
    pub fn hash(&self) -> String {
        text_hash(&self.text)
    }
}

impl HostCacheFigures {
    fn spec(&self, draw: &Draw) -> HostCacheSpec {
        let default = HostCacheSpec::default();
        HostCacheSpec {
            mode: self.mode,
            capacity: self.capacity,
            latency: self.latency.map_or(default.latency, |found| LatencySpec {
                median: found.median.at(draw.latency),
                p99: found.p99.at(draw.latency),
                per_kib: found.per_kib.at(draw.latency),
            }),
            dirty_max: self.dirty_max.unwrap_or(default.dirty_max),
            resume_at: self.resume_at.unwrap_or(default.resume_at),
        }
    }
}

/// The environments that come with loadline: name and text.
#[must_use]
pub const fn environments() -> &'static [(&'static str, &'static str)] {
    ENVIRONMENTS
}

/// The text of the environment of this name that comes with loadline.
#[must_use]
pub fn environment_text(name: &str) -> Option<&'static str> {
    ENVIRONMENTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The name of an environment that was most probably meant, if any is near.
#[must_use]
pub fn nearest_environment(name: &str) -> Option<&'static str> {
    nearest(name, ENVIRONMENTS.iter().map(|(known, _)| *known))
}
