//! Where prices are from: the regions that a need asks for, and what is sold in each.

use crate::advice::{Candidate, Cheapest, RegionPrice, machine_words};
use crate::described::set_words;
use crate::disk_sets::DiskSet;
use crate::judging::ByLimits;
use crate::machines::Machines;
use crate::need::{EVERY_REGION, Need};
use crate::search::{Pair, Search};
use loadline_catalog::{Catalog, Currency, UsedList};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A provider with the region of its prices.
pub(crate) struct PriceRegion {
    pub(crate) provider: String,
    pub(crate) region: String,
}

/// Why there is no advice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdviseError {
    /// Nothing is asked.
    #[error("the need asks for no requests: give a rate of requests or of bytes above 0")]
    NothingAsked,
    /// No prices.
    #[error("the catalog has no prices of {provider}; it has those of {}", .known.join(", "))]
    NoPrices {
        /// The provider, or "any provider".
        provider: String,
        /// Providers that there are prices of.
        known: Vec<String>,
    },
    /// Prices in two currencies.
    #[error(
        "prices of {one} are in {first} and those of {other} in {second}, and two currencies are not ranked together"
    )]
    TwoCurrencies {
        /// A provider and its region.
        one: String,
        /// Its currency.
        first: Currency,
        /// Another, or the same with more prices.
        other: String,
        /// The currency of that.
        second: Currency,
    },
    /// No prices of a region.
    #[error("the catalog has no prices of {provider} in {region:?}{}", meant(.near.as_deref(), .known))]
    NoRegion {
        /// The provider, or "any provider".
        provider: String,
        /// The region, as it was asked for.
        region: String,
        /// The nearest that there are prices of.
        near: Option<String>,
        /// All that there are prices of.
        known: Vec<String>,
    },
}

/// The region that was meant, perhaps, or some that there are.
fn meant(near: Option<&str>, known: &[String]) -> String {
    match (near, known) {
        (Some(near), _) => format!(": did you mean {near}?"),
        (None, [first, second, rest @ ..]) if !rest.is_empty() => {
            format!("; it has those of {first}, {second} and {} others", rest.len())
        }
        (None, some) => format!("; it has those of {}", some.join(", ")),
    }
}

/// One provider's region, with everything in it that was looked at.
pub(crate) struct Market {
    pub(crate) provider: String,
    pub(crate) region: String,
    pub(crate) sets: Vec<DiskSet>,
    pub(crate) machines: Rc<Machines>,
}

/// The providers to look at, each with the region of its prices.
pub(crate) fn places(need: &Need, catalog: &Catalog) -> Result<Vec<PriceRegion>, AdviseError> {
    let wanted = &need.wanted;
    let providers = if wanted.providers.is_empty() { catalog.providers() } else { wanted.providers.clone() };
    let all = wanted.regions.iter().any(|region| region == EVERY_REGION);
    let mut found: Vec<PriceRegion> = Vec::new();
    let mut add = |provider: &str, region: String| {
        if !found.iter().any(|known| known.provider == provider && known.region == region) {
            found.push(PriceRegion { provider: provider.to_owned(), region });
        }
    };
    for provider in &providers {
        let known = catalog.price_regions(provider).into_iter();
        let most = if all { usize::MAX } else { usize::from(wanted.regions.is_empty()) };
        known.take(most).for_each(|region| add(provider, region));
    }
    let asked = || match wanted.providers.as_slice() {
        [] => "any provider".to_owned(),
        some => some.join(", "),
    };
    for typed in wanted.regions.iter().filter(|typed| *typed != EVERY_REGION) {
        let mut is_known = false;
        for provider in &providers {
            if let Some(region) = catalog.region_meant(provider, typed) {
                is_known = true;
                add(provider, region);
            }
        }
        if !is_known {
            let near = providers.iter().find_map(|provider| catalog.region_near(provider, typed));
            let known = providers.iter().flat_map(|provider| catalog.price_regions(provider)).collect();
            return Err(AdviseError::NoRegion { provider: asked(), region: typed.clone(), near, known });
        }
    }
    if found.is_empty() {
        let known = catalog.providers().into_iter().filter(|provider| !catalog.price_regions(provider).is_empty());
        return Err(AdviseError::NoPrices { provider: asked(), known: known.collect() });
    }
    Ok(found)
}

impl Market {
    fn shown(&self, pair: Pair) -> Cheapest {
        let (set, machine) = (&self.sets[pair.set], &self.machines.priced[pair.machine]);
        Cheapest {
            amount: Some(pair.price as f64 / 1e9),
            estimated: set.is_estimated || machine.is_estimated,
            choice: Some(format!("{} with {}", machine_words(&machine.name, machine.architecture, ""), set_words(set))),
        }
    }
}

/// The cheapest by limits of those that cost no less than `least`.
pub(crate) fn cheapest(markets: &[Market], judge: &ByLimits<'_>, least: Option<f64>) -> Cheapest {
    let mut best: Option<(Pair, &Market)> = None;
    let costs_enough = |pair: &Pair| least.is_none_or(|least| pair.price as f64 >= least * 1e9 * (1.0 - 1e-9));
    for market in markets {
        let first = Search::new(&market.sets, &market.machines.priced, judge).find(costs_enough);
        if let Some(pair) = first.filter(|pair| best.is_none_or(|(best, _)| pair.price < best.price)) {
            best = Some((pair, market));
        }
    }
    best.map(|(pair, market)| market.shown(pair)).unwrap_or_default()
}

/// The cheapest of each market, if a provider has several.
pub(crate) fn region_prices(markets: &[Market], cheapest: Vec<Option<Pair>>) -> Vec<RegionPrice> {
    let are_several = markets.windows(2).any(|pair| pair[0].provider == pair[1].provider);
    let mut found: Vec<(u128, RegionPrice)> = Vec::new();
    for (market, pair) in markets.iter().zip(cheapest).filter(|_| are_several) {
        let (provider, region) = (market.provider.clone(), market.region.clone());
        let cheapest = pair.map(|pair| market.shown(pair)).unwrap_or_default();
        found.push((pair.map_or(u128::MAX, |pair| pair.price), RegionPrice { provider, region, cheapest }));
    }
    found.sort_by_key(|(price, _)| *price);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The price lists behind these choices, each once.
pub(crate) fn lists<'c>(rows: impl Iterator<Item = &'c Candidate>, catalog: &Catalog) -> Vec<UsedList> {
    let items = rows.flat_map(|row| row.price_month.items.iter().map(|item| (item, row.region.as_str())));
    let found: BTreeSet<UsedList> = items
        .filter(|(item, _)| item.off.is_none() && item.amount.is_some())
        .filter_map(|(item, region)| catalog.list_of(&item.name, region))
        .collect();
    found.into_iter().collect()
}

/// That all prices are in one currency: others cannot be ranked with them.
pub(crate) fn one_currency(markets: &[Market]) -> Result<(), AdviseError> {
    let mut found: BTreeMap<Currency, String> = BTreeMap::new();
    for market in markets {
        let of_sets = market.sets.iter().filter_map(|set| set.price);
        let machines = market.machines.priced.iter().chain(&market.machines.unpriced);
        for money in of_sets.chain(machines.filter_map(|machine| machine.price)) {
            found.entry(money.currency()).or_insert_with(|| format!("{} in {}", market.provider, market.region));
        }
    }
    let found: Vec<(String, Currency)> = found.into_iter().map(|(currency, place)| (place, currency)).collect();
    match found.as_slice() {
        [] | [_] => Ok(()),
        [(one, first), (other, second), ..] => {
            Err(AdviseError::TwoCurrencies { one: one.clone(), first: *first, other: other.clone(), second: *second })
        }
    }
}
