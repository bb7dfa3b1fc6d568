//! What a list must be before it may count: whole, in one currency, and without the mistakes that public lists have had.

use super::PriceList;
use crate::catalog::Catalog;
use crate::price::rules::is_above_sibling;
use crate::price::{Basis, Charge, Currency, Money, Span};
use std::collections::BTreeSet;

/// A list must have so many of the names that were known, in percent.
const COVERAGE_PERCENT: usize = 95;
/// What a machine costs an hour at most, in billionths.
const HOUR_MOST: u128 = 10_000 * 1_000_000_000;

/// What is expected of a list of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRules {
    /// The currency that was asked for.
    pub currency: Currency,
    /// A whole list has one of these names. Empty: nothing is known that it must have.
    pub anchors: Vec<String>,
    /// Of the names known before, those that the answer can have; `None`: all.
    pub possible: Option<BTreeSet<String>>,
    /// The day of the update.
    pub today: String,
}

/// Why a list does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListRefusal {
    /// Names are missing that were known.
    TooFew {
        /// Known names that it has.
        found: usize,
        /// Known names.
        known: usize,
        /// One that is missing.
        missing: String,
    },
    /// It has none of the names that every whole list has.
    NoAnchor {
        /// Any of these would do.
        any_of: Vec<String>,
    },
    /// A name that had a price has only prices of 0.
    Zero {
        /// The name.
        name: String,
    },
    /// A machine costs more than any does.
    TooHigh {
        /// The name.
        name: String,
        /// What it costs.
        price: Charge,
    },
    /// Two prices for one name.
    TwoPrices {
        /// The name.
        name: String,
        /// As read first.
        first: Charge,
        /// As read later.
        other: Charge,
    },
    /// A price in another currency than asked for.
    OtherCurrency {
        /// As read.
        found: String,
        /// As asked for.
        wanted: Currency,
    },
    /// A component is off its rule.
    ComponentOff {
        /// The disk.
        name: String,
        /// The component's charge.
        charge: Charge,
        /// What it would be by the rule.
        expected: Money,
    },
    /// A bare machine costs more than its sibling.
    BareAbove {
        /// The bare machine.
        name: String,
        /// What it costs.
        price: Charge,
        /// The size with as many processors.
        sibling: String,
        /// What that costs.
        sibling_price: Charge,
    },
    /// Its date is yet to come.
    FromTheFuture {
        /// The list's date.
        date: String,
    },
    /// Newer prices count already: of a list that was stored, or of all its names.
    OlderThan {
        /// The date of these.
        newer: String,
    },
    /// It has the date of no day.
    NoDate,
    /// A price has no currency that could be one.
    NoCurrency {
        /// The name.
        name: String,
        /// What is written in its place.
        found: String,
    },
    /// Every page of the answer names a next one.
    Unfinished,
    /// A disk has no charge for something that it had one for.
    PartMissing {
        /// The disk.
        name: String,
        /// The charge that counted so far.
        before: Charge,
    },
}

impl ListRefusal {
    /// A stable word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::TooFew { .. } => "too-few",
            Self::NoAnchor { .. } => "no-anchor",
            Self::Zero { .. } => "zero",
            Self::TooHigh { .. } => "too-high",
            Self::TwoPrices { .. } => "two-prices",
            Self::OtherCurrency { .. } => "other-currency",
            Self::ComponentOff { .. } => "component-off",
            Self::BareAbove { .. } => "bare-above",
            Self::FromTheFuture { .. } => "from-the-future",
            Self::OlderThan { .. } => "older-than",
            Self::NoDate => "no-date",
            Self::NoCurrency { .. } => "no-currency",
            Self::Unfinished => "unfinished",
            Self::PartMissing { .. } => "part-missing",
        }
    }
}

impl PriceList {
    /// Everything that speaks against this list; `before` is the catalog with the prices that count so far, and `zeros` are names
    /// that the answer has with prices of 0 alone.
    #[must_use]
    pub fn refusals(&self, rules: &GuardRules, before: &Catalog, zeros: &BTreeSet<String>) -> Vec<ListRefusal> {
        let mut found = Vec::new();
        if loadline_units::Date::of_text(&self.origin.date).is_none() {
            found.push(ListRefusal::NoDate);
        } else if self.origin.date > rules.today {
            found.push(ListRefusal::FromTheFuture { date: self.origin.date.clone() });
        }
        found.extend(self.older_than(before));
        let is_there = |name: &String| self.prices.contains_key(name);
        if !rules.anchors.is_empty() && !rules.anchors.iter().any(is_there) {
            found.push(ListRefusal::NoAnchor { any_of: rules.anchors.clone() });
        }
        found.extend(self.coverage(rules, before, zeros));
        found.extend(self.part_missing(before));
        found.extend(self.amounts(rules));
        found.extend(self.parts_apart(before));
        found.extend(self.bare_above(before));
        found
    }

    fn older_than(&self, before: &Catalog) -> Option<ListRefusal> {
        let known = before.listed(&self.provider, &self.region, self.kind);
        let dates =
            || known.iter().filter_map(|(name, price)| Some((name, price.date.clone()?, price.fetched.is_some())));
        let is_newer = |date: &String| *date > self.origin.date;
        let updated = dates().filter(|(_, date, is_updated)| *is_updated && is_newer(date)).map(|(_, date, _)| date);
        let oldest = dates().filter(|(name, ..)| self.prices.contains_key(*name)).map(|(_, date, _)| date).min();
        let newer = updated.max().or_else(|| oldest.filter(is_newer))?;
        Some(ListRefusal::OlderThan { newer })
    }

    fn coverage(&self, rules: &GuardRules, before: &Catalog, zeros: &BTreeSet<String>) -> Vec<ListRefusal> {
        let known = before.listed(&self.provider, &self.region, self.kind);
        let possible = |name: &str| rules.possible.as_ref().is_none_or(|names| names.contains(name));
        let known: Vec<&str> = known.keys().map(String::as_str).filter(|name| possible(name)).collect();
        let missing: Vec<&str> = known.iter().copied().filter(|name| !self.prices.contains_key(*name)).collect();
        let zero = missing.iter().find(|name| zeros.contains(**name));
        let mut found: Vec<ListRefusal> =
            zero.map(|name| ListRefusal::Zero { name: (*name).to_owned() }).into_iter().collect();
        let there = known.len() - missing.len();
        if let Some(missing) = missing.first().filter(|_| there * 100 < known.len() * COVERAGE_PERCENT) {
            found.push(ListRefusal::TooFew { found: there, known: known.len(), missing: (*missing).to_owned() });
        }
        found
    }

    /// Pages that lose rows lose parts of prices, too.
    fn part_missing(&self, before: &Catalog) -> Option<ListRefusal> {
        let known = before.listed(&self.provider, &self.region, self.kind);
        let kind = |charge: &Charge| std::mem::discriminant(&charge.basis);
        self.prices.iter().find_map(|(name, charges)| {
            let is_there = |old: &&Charge| charges.iter().any(|charge| kind(charge) == kind(old));
            let missing = known.get(name.as_str())?.charges.iter().find(|old| !is_there(old))?;
            Some(ListRefusal::PartMissing { name: name.clone(), before: missing.clone() })
        })
    }

    fn amounts(&self, rules: &GuardRules) -> Option<ListRefusal> {
        self.prices.iter().find_map(|(name, charges)| {
            charges.iter().find_map(|charge| {
                let is_high = matches!(charge.basis, Basis::Whole(Span::Hour)) && charge.money.billionths > HOUR_MOST;
                if charge.money.currency != rules.currency {
                    let (found, wanted) = (charge.money.currency.to_string(), rules.currency);
                    return Some(ListRefusal::OtherCurrency { found, wanted });
                }
                if charge.money.billionths == 0 {
                    return Some(ListRefusal::Zero { name: name.clone() });
                }
                is_high.then(|| ListRefusal::TooHigh { name: name.clone(), price: charge.clone() })
            })
        })
    }

    fn parts_apart(&self, before: &Catalog) -> Vec<ListRefusal> {
        let mut found = Vec::new();
        for (name, charges) in &self.prices {
            let disk = before.known_disk(&self.full(name));
            let Some(shares) = disk.and_then(|disk| disk.price_shares.as_ref()) else { continue };
            found.extend(shares.apart(charges).into_iter().map(|(charge, expected)| {
                let expected = Money { billionths: (expected * 1e9).round() as u128, ..charge.money };
                ListRefusal::ComponentOff { name: name.clone(), charge: charge.clone(), expected }
            }));
        }
        found
    }

    fn bare_above(&self, before: &Catalog) -> Vec<ListRefusal> {
        let above = |(name, charges): (&String, &Vec<Charge>)| {
            let price = charges.first()?;
            let siblings = before.siblings(&self.full(name))?;
            let plain = siblings.iter().filter_map(|sibling| sibling.split_once('/').map(|(_, plain)| plain));
            let priced = plain.filter_map(|plain| Some((plain, self.prices.get(plain)?.first()?)));
            let (sibling, sibling_price) = priced.min_by_key(|(_, price)| price.money.billionths)?;
            is_above_sibling(price.money, sibling_price.money).then(|| ListRefusal::BareAbove {
                name: name.clone(),
                price: price.clone(),
                sibling: sibling.to_owned(),
                sibling_price: sibling_price.clone(),
            })
        };
        self.prices.iter().filter_map(above).collect()
    }

    fn full(&self, name: &str) -> String {
        format!("{}/{name}", self.provider)
    }
}
