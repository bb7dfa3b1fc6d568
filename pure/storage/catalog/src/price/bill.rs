//! The monthly bill of an environment.

use super::{CostError, Money};
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
    Monthly(Money),
    /// A disk of the machine's host, without its own price.
    WithMachine,
    /// It is given in full and not sold.
    NotSold,
    /// The catalog has no price.
    Unknown(CostError),
}

impl Item {
    /// The total cost of all of them; `None` if unknown.
    #[must_use]
    pub fn monthly(&self) -> Option<Money> {
        match &self.each {
            ItemCost::Monthly(each) => Some(each.times(self.count)),
            ItemCost::WithMachine | ItemCost::NotSold | ItemCost::Unknown(_) => None,
        }
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
            let each = match catalog.monthly_cost(&vm.name, &crate::Provisioned::default(), region) {
                Ok(money) => ItemCost::Monthly(money),
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
                let each = match name.as_ref().map(|name| catalog.monthly_cost(name, &disk.wanted, region)) {
                    None => ItemCost::NotSold,
                    Some(Ok(money)) => ItemCost::Monthly(money),
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
