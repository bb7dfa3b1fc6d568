//! What a new list changes.

use super::PriceList;
use crate::catalog::Catalog;
use crate::price::Charge;
use std::collections::BTreeMap;

const MILLION: u128 = 1_000_000;

/// A price that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceChange {
    /// The name without the provider.
    pub name: String,
    /// The new amount in parts of a million of the old one, of the charge that changed most.
    pub millionths: u64,
}

/// What a list changes of the prices that counted before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListChanges {
    /// Prices that are not what they were, those that changed most first.
    pub changed: Vec<PriceChange>,
    /// Names that had no price in this region.
    pub added: Vec<String>,
    /// Names whose price is only in the older list; it counts on.
    pub gone: Vec<String>,
}

impl ListChanges {
    /// Against what `before` has.
    #[must_use]
    pub fn between(before: &Catalog, list: &PriceList) -> Self {
        let known = before.listed(&list.provider, &list.region, list.kind);
        let mut found = Self {
            gone: known.keys().filter(|name| !list.prices.contains_key(*name)).map(|name| (*name).clone()).collect(),
            ..Self::default()
        };
        for (name, charges) in &list.prices {
            match known.get(name.as_str()) {
                None => found.added.push(name.clone()),
                Some(old) => {
                    let (old, new) = (amounts(&old.charges), amounts(charges));
                    if old != new {
                        found.changed.push(PriceChange { name: name.clone(), millionths: most(&old, &new) });
                    }
                }
            }
        }
        found
            .changed
            .sort_by_key(|change| (std::cmp::Reverse(change.millionths.abs_diff(MILLION as u64)), change.name.clone()));
        found
    }
}

/// Monthly amounts by what they are for, whatever the writing and the time for which one pays.
fn amounts(charges: &[Charge]) -> BTreeMap<String, u128> {
    let of = |charge: &Charge| {
        let (what, times, divided) = charge.basis.apart();
        (format!("{what}:{}:{:?}", charge.above, charge.up_to), charge.money.billionths.saturating_mul(times) / divided)
    };
    charges.iter().map(of).collect()
}

/// The largest change of a charge that both have, in parts of a million.
fn most(old: &BTreeMap<String, u128>, new: &BTreeMap<String, u128>) -> u64 {
    let of = |(key, amount): (&String, &u128)| {
        let before = *old.get(key)?;
        (before > 0).then(|| u64::try_from(amount.saturating_mul(MILLION) / before).unwrap_or(u64::MAX))
    };
    new.iter().filter_map(of).max_by_key(|ratio| ratio.abs_diff(MILLION as u64)).unwrap_or(MILLION as u64)
}
