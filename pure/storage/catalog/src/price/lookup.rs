//! Look-up of prices by name and region, and which regions there are.

use super::{Currency, Price, PriceColumns, Priced};
use crate::catalog::{Catalog, FilterUnknown};
use std::collections::{BTreeMap, BTreeSet};

/// Prices of entries and of lists by region, found by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prices {
    /// In the order of the files: of several for the same, the last counts.
    pub(crate) each: Vec<Priced>,
    /// Their places by name.
    by_name: BTreeMap<String, Vec<usize>>,
    /// Lists of many regions, in the order of the files.
    pub(crate) columns: Vec<PriceColumns>,
}

/// A price list by its file, as it was when a price of it was used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct UsedList {
    /// The file's name.
    pub file: String,
    /// For people.
    pub title: String,
    /// Where its prices are from.
    pub source: String,
    /// Their date.
    pub date: Option<String>,
    /// SHA-256 of the file.
    pub sha256: Option<String>,
}

/// A price, and the index of the file that contains it.
type InFile = (usize, Price);

impl Prices {
    /// Of these each, in the place of all that there were.
    pub(crate) fn replace(&mut self, each: Vec<Priced>) {
        self.by_name.clear();
        self.each.clear();
        self.extend(each, None);
    }

    pub(crate) fn extend(&mut self, each: Vec<Priced>, columns: Option<PriceColumns>) {
        for priced in each {
            self.by_name.entry(priced.name.clone()).or_default().push(self.each.len());
            self.each.push(priced);
        }
        self.columns.extend(columns);
    }

    /// Full names with a price in a region.
    pub(crate) fn names_in(&self, region: &str) -> BTreeSet<String> {
        let own = self.each.iter().filter(|priced| priced.price.region.as_deref() == Some(region));
        let listed = self.columns.iter().flat_map(PriceColumns::names).map(|(name, _)| name);
        own.map(|priced| priced.name.clone())
            .chain(listed.filter(|name| !self.in_region(name, region).is_empty()))
            .collect()
    }

    fn own_of(&self, name: &str) -> impl Iterator<Item = &Priced> {
        self.by_name.get(name).into_iter().flatten().map(|index| &self.each[*index])
    }

    /// In the order of the files.
    fn of(&self, name: &str) -> Vec<InFile> {
        let own = self.own_of(name).map(|priced| (priced.family, priced.price.clone()));
        let listed = self.columns.iter().flat_map(|list| list.prices(name).map(|price| (list.family, price)));
        in_order(own.chain(listed).collect())
    }

    fn in_region(&self, name: &str, region: &str) -> Vec<InFile> {
        let here = |priced: &&Priced| priced.price.region.as_deref() == Some(region);
        let own = self.own_of(name).filter(here).map(|priced| (priced.family, priced.price.clone()));
        let listed =
            self.columns.iter().filter_map(|list| list.price_in(name, region).map(|price| (list.family, price)));
        in_order(own.chain(listed).collect())
    }

    /// How many prices there are of each region, of one provider or of all.
    fn counts(&self, provider: Option<&str>) -> BTreeMap<&str, usize> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let is_of = |name: &str| provider.is_none_or(|provider| name == provider);
        for priced in self.each.iter().filter(|priced| is_of(priced.name.split('/').next().unwrap_or_default())) {
            if let Some(region) = priced.price.region.as_deref() {
                *counts.entry(region).or_default() += 1;
            }
        }
        for list in self.columns.iter().filter(|list| is_of(list.provider())) {
            for (region, count) in list.regions() {
                *counts.entry(region).or_default() += count;
            }
        }
        counts
    }
}

fn in_order(mut found: Vec<InFile>) -> Vec<InFile> {
    found.sort_by_key(|(family, _)| *family);
    found
}

/// The regions with most prices first.
fn most_first(counts: BTreeMap<&str, usize>) -> Vec<String> {
    let mut regions: Vec<(&str, usize)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    regions.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    regions.into_iter().map(|(region, _)| region.to_owned()).collect()
}

impl Catalog {
    /// The prices of this name, one for each region and terms: those of the region with most prices first. Of several for the same
    /// key the one added last counts, and a user's price replaces all built-in ones. A name with `@` has the prices of the name
    /// without, and a size with fewer processors those of the whole, unless it has its own.
    #[must_use]
    pub fn prices(&self, name: &str) -> Vec<Price> {
        let own = self.that_count(self.prices.of(name));
        let other = if own.is_empty() { self.priced_as(name) } else { None };
        let found = other.map_or(own, |other| self.that_count(self.prices.of(other)));
        let mut found: Vec<Price> = found.into_iter().map(|(_, price)| price).collect();
        if found.len() > 1 {
            let provider = name.split('/').next().unwrap_or_default();
            let usual = self.price_regions(provider).into_iter().next();
            found.sort_by_key(|price| price.region != usual);
        }
        found
    }

    /// The price of this name in a region, as [`Catalog::prices`] chooses among several: the first of those with different terms.
    #[must_use]
    pub fn price_in(&self, name: &str, region: &str) -> Option<Price> {
        self.counting_in(name, region).map(|(_, price)| price)
    }

    /// The list that the price of this name in a region is from.
    #[must_use]
    pub fn list_of(&self, name: &str, region: &str) -> Option<UsedList> {
        let (family, _) = self.counting_in(name, region)?;
        let of = &self.families[family];
        Some(UsedList {
            file: of.file.clone(),
            title: of.title.clone(),
            source: of.source.clone(),
            date: of.date.clone(),
            sha256: of.digest.clone(),
        })
    }

    fn counting_in(&self, name: &str, region: &str) -> Option<InFile> {
        let first = |name: &str| self.that_count(self.prices.in_region(name, region)).into_iter().next();
        first(name).or_else(|| {
            let other = self.priced_as(name)?;
            if self.prices.of(name).is_empty() { first(other) } else { None }
        })
    }

    /// This catalog with prices in one currency alone.
    #[must_use]
    pub fn in_currency(mut self, currency: Currency) -> Self {
        let mut each = std::mem::take(&mut self.prices.each);
        each.retain(|priced| priced.price.currency() == currency);
        self.prices.columns.retain(|list| list.currency() == Some(currency));
        self.prices.replace(each);
        self
    }

    /// The name whose price counts for this one if it has none: that without a year, or of the whole size.
    fn priced_as<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        let plain = name.split_once('@').map(|(plain, _)| plain);
        plain.or_else(|| self.whole_size(name).map(|whole| whole.name.as_str()))
    }

    /// Of several for one region and terms the last, and of a region with a user's price no built-in one.
    fn that_count(&self, all: Vec<InFile>) -> Vec<InFile> {
        let mut found: Vec<InFile> = Vec::new();
        for (family, price) in all {
            let is_own = family >= self.builtin_families;
            found.retain(|(of_other, other)| {
                let is_other_own = *of_other >= self.builtin_families;
                other.region != price.region || (other.terms != price.terms && is_other_own == is_own)
            });
            found.push((family, price));
        }
        found
    }

    /// The regions with prices of a provider's machines and disks: those with most prices first.
    #[must_use]
    pub fn price_regions(&self, provider: &str) -> Vec<String> {
        most_first(self.prices.counts(Some(provider)))
    }

    /// The regions of all providers that there are prices of: those with most prices first.
    #[must_use]
    pub fn regions(&self) -> Vec<String> {
        most_first(self.prices.counts(None))
    }

    /// The currencies of all prices, by their letters.
    #[must_use]
    pub fn currencies(&self) -> BTreeSet<Currency> {
        let each = self.prices.each.iter().map(|priced| priced.price.currency());
        each.chain(self.prices.columns.iter().filter_map(PriceColumns::currency)).collect()
    }

    /// That there are prices of a region.
    ///
    /// # Errors
    /// [`FilterUnknown`], which names the nearest.
    pub fn check_region(&self, region: &str) -> Result<(), FilterUnknown> {
        FilterUnknown::check_region(region, &self.regions())
    }
}
