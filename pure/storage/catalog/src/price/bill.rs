//! The monthly bill of an environment.

use super::{Cost, CostError, Money, Reduction};
use crate::catalog::Catalog;
use crate::environment::Environment;
use crate::resolve::DiskFigures;
use loadline_disk::Place;

/// One thing that is paid for.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The volume that it is of; `None` of the machine.
    pub volume: Option<String>,
    /// Its name in the catalog; `None` if it is given in full.
    pub name: Option<String>,
    /// How many of it.
    pub count: u32,
    /// The monthly cost of one.
    pub each: ItemCost,
}

/// The cost of an item, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemCost {
    /// In a month.
    Monthly(Cost),
    /// A disk of the machine's host, without its own price.
    WithMachine,
    /// It is given in full and not sold.
    NotSold,
    /// The catalog has no price.
    Unknown(CostError),
}

impl Item {
    /// What is paid for all of them; `None` if unknown.
    #[must_use]
    pub fn monthly(&self) -> Option<Money> {
        match &self.each {
            ItemCost::Monthly(each) => Some(each.month.times(self.count)),
            ItemCost::WithMachine | ItemCost::NotSold | ItemCost::Unknown(_) => None,
        }
    }

    /// What is taken off the list prices of all of them.
    #[must_use]
    pub fn reductions(&self) -> Vec<Reduction> {
        let of = |found: &Reduction| Reduction { why: found.why.clone(), amount: found.amount.times(self.count) };
        match &self.each {
            ItemCost::Monthly(each) => each.reductions.iter().map(of).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a part of its cost is an estimate.
    #[must_use]
    pub const fn is_estimated(&self) -> bool {
        matches!(&self.each, ItemCost::Monthly(cost) if cost.is_estimated())
    }
}

impl Environment {
    /// The items of the bill in a region: the machine first, then disks in the order of their volumes. Equal disks are
    /// one item.
    #[must_use]
    pub fn bill(&self, catalog: &Catalog, region: &str) -> Vec<Item> {
        let mut items = Vec::new();
        let machine = self.vm.as_ref().filter(|vm| !vm.name.is_empty());
        if let Some(vm) = machine {
            let each = match catalog.cost(&vm.name, &crate::Provisioned::default(), region) {
                Ok(cost) => ItemCost::Monthly(cost),
                Err(error) => ItemCost::Unknown(error),
            };
            items.push(Item { volume: None, name: Some(vm.name.clone()), count: 1, each });
        }
        for volume in &self.volumes {
            let mut alike: Vec<(&DiskFigures, u32)> = Vec::new();
            for disk in &volume.disks {
                match alike.iter_mut().find(|(other, _)| (&other.name, &other.wanted) == (&disk.name, &disk.wanted)) {
                    Some((_, count)) => *count += 1,
                    None => alike.push((disk, 1)),
                }
            }
            for (disk, count) in alike {
                let name = (!disk.name.is_empty()).then(|| disk.name.clone());
                let comes_along = disk.limits.mechanism.place == Place::Local && machine.is_some();
                let each = match name.as_ref().map(|name| catalog.cost(name, &disk.wanted, region)) {
                    None => ItemCost::NotSold,
                    Some(Ok(cost)) => ItemCost::Monthly(cost),
                    Some(Err(CostError::NoPrice { known, .. })) if comes_along && known.is_empty() => {
                        ItemCost::WithMachine
                    }
                    Some(Err(error)) => ItemCost::Unknown(error),
                };
                items.push(Item { volume: Some(volume.name.clone()), name, count, each });
            }
        }
        items
    }
}
