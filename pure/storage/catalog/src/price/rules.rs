//! Prices against one another: a whole host against the size of its kind, the parts of a disk's price, two lists of one price, and a
//! region that most of a list lacks.

use super::{Backing, Basis, Charge, Money, Price};
use crate::catalog::Catalog;
use crate::entry::{PriceShares, VmEntry};
use loadline_units::Ratio;
use std::collections::BTreeMap;

/// A price that cannot be right beside another, or a list that cannot be whole.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceProblem {
    /// The file and line.
    pub place: String,
    /// The entry's name, or the list's.
    pub name: String,
    /// In which region.
    pub region: String,
    /// What is wrong.
    pub cause: PriceCause,
}

/// What is wrong with a price or a list.
#[derive(Debug, Clone, PartialEq)]
pub enum PriceCause {
    /// A whole host costs more than the size of its kind with as many processors: it may be the price of another tenancy.
    AboveSibling {
        /// A month of it.
        month: Money,
        /// The size.
        sibling: String,
        /// A month of that.
        sibling_month: Money,
    },
    /// A part of a disk's price is not what it is of another part elsewhere.
    PartsApart {
        /// The charge.
        charge: String,
        /// In the currency: what it would be.
        expected: f64,
    },
    /// Two lists differ on it.
    ListsDiffer {
        /// The amount here.
        amount: String,
        /// The file and line of the other.
        other: String,
        /// The amount there.
        other_amount: String,
    },
    /// A list has much fewer names there than elsewhere.
    FewNames {
        /// So many.
        names: usize,
        /// The region with most.
        largest: String,
        /// So many there.
        of: usize,
    },
}

impl PriceCause {
    /// A stable word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AboveSibling { .. } => "above-sibling",
            Self::PartsApart { .. } => "parts-apart",
            Self::ListsDiffer { .. } => "lists-differ",
            Self::FewNames { .. } => "few-names",
        }
    }
}

/// The key of a price: a name, its region and terms, and whether it is the user's.
type Sold = (String, Option<String>, Option<String>, bool);

/// A whole host costs no more than this, in parts of what the size of its kind with as many processors does.
const SIBLING_MOST: f64 = 1.02;
/// How far a part of a price may be from its share of another, beside the rounding of its last digit.
const SHARE_TOLERANCE: f64 = 0.05;
/// How far two lists may differ: each rounds.
const LISTS_TOLERANCE: f64 = 0.001;

impl Catalog {
    /// Every price that cannot be right beside another, and every list that cannot be whole; in the order of the files.
    #[must_use]
    pub fn price_problems(&self) -> Vec<PriceProblem> {
        let mut found = self.above_siblings();
        found.extend(self.parts_apart());
        found.extend(self.lists_differ());
        found.extend(self.few_names());
        found.sort_by(|a, b| (&a.place, &a.name, &a.region).cmp(&(&b.place, &b.name, &b.region)));
        found
    }

    /// The machines of the same kind as a whole host, with as many processors, or as much memory if its processors are not
    /// recorded: `None` if it is no whole host.
    #[must_use]
    pub fn siblings(&self, machine: &str) -> Option<Vec<&str>> {
        let entry = self.vm_entry(machine)?;
        let marker = self.vm_family(entry).bare_metal.as_deref()?;
        let (kind, _) = machine.split_once(marker)?;
        let kind = format!("{kind}{}", &marker[..1]);
        let is_as_large = |vm: &VmEntry| match entry.vcpus {
            Some(_) => vm.vcpus == entry.vcpus,
            None => self.memory(&entry.name).is_some_and(|memory| self.memory(&vm.name) == Some(memory)),
        };
        let alike = |vm: &&VmEntry| vm.name.starts_with(&kind) && !vm.name.contains(marker) && is_as_large(vm);
        Some(self.vms.iter().filter(alike).map(|vm| vm.name.as_str()).filter(|name| !name.contains('@')).collect())
    }

    fn above_siblings(&self) -> Vec<PriceProblem> {
        let mut found = Vec::new();
        let mut hosts: BTreeMap<String, Option<Vec<&str>>> = BTreeMap::new();
        for (place, name, price) in self.every_price() {
            let Some(siblings) = hosts.entry(name.clone()).or_insert_with(|| self.siblings(&name)) else { continue };
            let region = price.region.clone().unwrap_or_default();
            let month = price.monthly(&super::Bought::default());
            let months = siblings.iter().filter_map(|sibling| {
                let price = self.price_in(sibling, &region)?;
                Some((*sibling, price.monthly(&super::Bought::default())))
            });
            let Some((sibling, sibling_month)) = months.min_by_key(|(_, month)| month.billionths()) else { continue };
            if is_above_sibling(month, sibling_month) {
                let sibling = sibling.to_owned();
                let cause = PriceCause::AboveSibling { month, sibling, sibling_month };
                found.push(PriceProblem { place, name, region, cause });
            }
        }
        found
    }

    /// Every price of a list or an entry that counts, with its place.
    fn every_price(&self) -> Vec<(String, String, Price)> {
        let each =
            self.prices.each.iter().map(|priced| {
                (self.families[priced.family].at(priced.line), priced.name.clone(), priced.price.clone())
            });
        let columns = self.prices.columns.iter().flat_map(|list| {
            list.names().flat_map(move |(name, line)| {
                let place = self.families[list.family].at(line);
                let all: Vec<Price> = list.prices(&name).collect();
                all.into_iter().map(move |price| (place.clone(), name.clone(), price)).collect::<Vec<_>>()
            })
        });
        each.chain(columns).collect()
    }

    fn parts_apart(&self) -> Vec<PriceProblem> {
        let mut found = Vec::new();
        for priced in &self.prices.each {
            let Ok(disk) = self.disk_entry(&priced.name) else { continue };
            let Some(shares) = &disk.price_shares else { continue };
            for (charge, expected) in shares.apart(&priced.price.charges) {
                found.push(PriceProblem {
                    place: self.families[priced.family].at(priced.line),
                    name: priced.name.clone(),
                    region: priced.price.region.clone().unwrap_or_default(),
                    cause: PriceCause::PartsApart { charge: charge.to_string(), expected },
                });
            }
        }
        found
    }

    fn lists_differ(&self) -> Vec<PriceProblem> {
        let mut seen: BTreeMap<Sold, (String, Price)> = BTreeMap::new();
        let mut found = Vec::new();
        let is_own = |place: &str| {
            let builtin = &self.families[..self.builtin_families];
            !builtin.iter().any(|family| place.strip_prefix(&family.file).is_some_and(|rest| rest.starts_with(':')))
        };
        for (place, name, price) in self.every_price() {
            let key = (name.clone(), price.region.clone(), price.terms.clone(), is_own(&place));
            let Some((other, before)) = seen.insert(key, (place.clone(), price.clone())) else { continue };
            let sums =
                [&before, &price].map(|price| price.charges.iter().map(|charge| charge.money.amount()).sum::<f64>());
            if (sums[0] - sums[1]).abs() > LISTS_TOLERANCE * sums[0].max(sums[1]) {
                let cause = PriceCause::ListsDiffer { amount: price.amount(), other, other_amount: before.amount() };
                found.push(PriceProblem { place, name, region: price.region.unwrap_or_default(), cause });
            }
        }
        found
    }

    fn few_names(&self) -> Vec<PriceProblem> {
        let mut found = Vec::new();
        for list in &self.prices.columns {
            let Some((largest, of)) = list.regions().max_by_key(|(_, count)| *count) else { continue };
            for (region, names) in list.regions().filter(|(region, names)| names * 2 < of && !list.is_small(region)) {
                found.push(PriceProblem {
                    place: self.families[list.family].file.clone(),
                    name: format!("{}/{}", list.provider(), self.families[list.family].name),
                    region: region.to_owned(),
                    cause: PriceCause::FewNames { names, largest: largest.to_owned(), of },
                });
            }
        }
        found
    }
}

/// Whether a whole host costs more than a size of its kind with as many processors ever does.
pub(super) fn is_above_sibling(host: Money, sibling: Money) -> bool {
    host.amount() > sibling.amount() * SIBLING_MOST
}

impl PriceShares {
    /// The parts of a price that are not the share of another that they are elsewhere, each with what it would be.
    pub(super) fn apart<'c>(&self, charges: &'c [Charge]) -> Vec<(&'c Charge, f64)> {
        let size = charges.iter().find(|charge| matches!(charge.basis, Basis::Size(..)));
        let iops: Vec<&Charge> = charges.iter().filter(|charge| matches!(charge.basis, Basis::Iops(_))).collect();
        let rate = charges.iter().find(|charge| matches!(charge.basis, Basis::Throughput(..)));
        let of_size = |share: Option<Ratio>| share.zip(size).map(|(share, size)| share.as_f64() * size.money.amount());
        let mut pairs: Vec<(&Charge, f64)> = Vec::new();
        pairs.extend(iops.first().copied().zip(of_size(self.iops)));
        pairs.extend(rate.zip(of_size(self.throughput)));
        let first = iops.first().map(|first| first.money.amount());
        let tiers = iops.iter().skip(1).zip(&self.iops_tiers);
        pairs.extend(tiers.filter_map(|(charge, share)| Some((*charge, share.as_f64() * first?))));
        pairs.retain(|(charge, expected)| {
            let off = (charge.money.amount() - expected).abs();
            charge.backing != Backing::Estimate && off > expected * SHARE_TOLERANCE + charge.rounding()
        });
        pairs
    }
}

impl Charge {
    /// Half a unit of the last digit in which it is written.
    fn rounding(&self) -> f64 {
        let amount =
            self.text.split(' ').find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default();
        let places = amount.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        0.5 / 10.0_f64.powi(i32::try_from(places).unwrap_or(9))
    }
}
