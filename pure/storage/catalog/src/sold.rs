//! What a provider sells today, by name: machines and network disks.

use crate::catalog::Catalog;
use crate::entry::{DiskEntry, VmEntry};
use loadline_disk::Place;
use loadline_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

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

    /// What the provider recommends in place of a disk, in words: "gp3". `None` if it recommends nothing else.
    #[must_use]
    pub fn superseded_by(&self, disk: &DiskEntry) -> Option<&str> {
        self.disk_family(disk).superseded_by.as_deref()
    }
}

fn provider_of(name: &str) -> &str {
    name.split_once('/').map_or("", |(provider, _)| provider)
}
