//! Price lists of many regions: a row for each name, a column for each region.

use super::{Charge, Currency, Price, Priced};
use crate::entry::Family;
use std::collections::BTreeMap;

/// The name, the region and the currency.
pub(super) type PriceKey = (String, String, Currency);

/// In place of a price where the name is not sold.
const NOT_SOLD: &str = "-";
/// Before an amount that is an estimate.
const ESTIMATED: char = '~';

/// The prices of one list. Invariant: each row has as many cells as there are regions, each a price or [`NOT_SOLD`].
#[derive(Debug, Clone)]
pub(crate) struct PriceColumns {
    /// The index in the catalog of the file that contains it.
    pub(crate) family: usize,
    provider: String,
    source: String,
    date: Option<String>,
    terms: Option<String>,
    /// What an amount is of: "USD per hour".
    unit: String,
    /// A column each, with the number of prices in it.
    regions: Vec<(String, usize)>,
    /// Regions in which less than half of the names is sold, and rightly so.
    small: Vec<String>,
    /// By the name without its provider.
    rows: BTreeMap<String, Row>,
}

#[derive(Debug, Clone)]
struct Row {
    line: usize,
    cells: String,
}

/// Why a row is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RowError {
    /// Too few or too many cells.
    #[error("has {found} prices for {wanted} regions: write one for each, and - where it is not sold")]
    Count {
        /// In the row.
        found: usize,
        /// Columns.
        wanted: usize,
    },
    /// A cell that is no amount.
    #[error("has {cell:?} for {region}, which is no amount: write a number, ~ before an estimate, or -")]
    Amount {
        /// As written.
        cell: String,
        /// Its column.
        region: String,
    },
}

impl PriceColumns {
    /// A list without rows. `unit` is what each amount is of.
    pub(crate) fn new(
        family: &Family,
        index: usize,
        terms: Option<String>,
        unit: String,
        regions: Vec<String>,
        small: Vec<String>,
    ) -> Self {
        Self {
            family: index,
            provider: family.provider.clone(),
            source: family.source.clone(),
            date: family.date.clone(),
            terms,
            unit,
            regions: regions.into_iter().map(|region| (region, 0)).collect(),
            small,
            rows: BTreeMap::new(),
        }
    }

    /// Adds the row of a name.
    pub(crate) fn add(&mut self, name: &str, line: usize, cells: &str) -> Result<(), RowError> {
        let found = cells.split_ascii_whitespace().count();
        if found != self.regions.len() {
            return Err(RowError::Count { found, wanted: self.regions.len() });
        }
        for (cell, (region, count)) in cells.split_ascii_whitespace().zip(&mut self.regions) {
            if cell == NOT_SOLD {
                continue;
            }
            let amount = cell.strip_prefix(ESTIMATED).unwrap_or(cell);
            if crate::figure::decimal(amount).is_none_or(|(mantissa, _, rest)| mantissa == 0 || !rest.is_empty()) {
                return Err(RowError::Amount { cell: cell.to_owned(), region: region.clone() });
            }
            *count += 1;
        }
        self.rows.insert(name.to_owned(), Row { line, cells: cells.to_owned() });
        Ok(())
    }

    /// Of all its amounts.
    pub(crate) fn currency(&self) -> Option<Currency> {
        self.unit.split(' ').next().and_then(Currency::parse)
    }

    /// The regions, each with the number of its prices.
    pub(crate) fn regions(&self) -> impl Iterator<Item = (&str, usize)> {
        self.regions.iter().map(|(region, count)| (region.as_str(), *count))
    }
    /// Leaves out what a newer list has, and of that list what is older than this one.
    pub(crate) fn give_way(&mut self, newest: &mut BTreeMap<PriceKey, Priced>) {
        newest.retain(|(name, region, currency), newer| {
            let here = self.price_in(name, region).filter(|price| price.currency() == *currency);
            let Some(price) = here else { return true };
            let is_newer = day(&price) <= day(&newer.price);
            if is_newer {
                self.leave_out(name, region);
            }
            is_newer
        });
    }

    fn leave_out(&mut self, name: &str, region: &str) {
        let Some(column) = self.regions.iter().position(|(known, _)| known == region) else { return };
        let plain = name.split_once('/').map_or(name, |(_, plain)| plain);
        let Some(row) = self.rows.get_mut(plain) else { return };
        let cells = row.cells.split_ascii_whitespace().enumerate();
        let cells: Vec<&str> = cells.map(|(at, cell)| if at == column { NOT_SOLD } else { cell }).collect();
        row.cells = cells.join(" ");
        self.regions[column].1 -= 1;
    }

    /// Whether a region is known to sell little.
    pub(crate) fn is_small(&self, region: &str) -> bool {
        self.small.iter().any(|small| small == region)
    }
    /// Of whom.
    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }
    /// Full names with their lines.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, usize)> {
        self.rows.iter().map(|(name, row)| (format!("{}/{name}", self.provider), row.line))
    }

    /// The prices of a full name, by region in the order of the columns.
    pub(crate) fn prices(&self, name: &str) -> impl Iterator<Item = Price> {
        let cells = self.row(name).map_or("", |row| &row.cells);
        cells.split_ascii_whitespace().zip(&self.regions).filter_map(|(cell, (region, _))| self.price(cell, region))
    }
    /// The price of a full name in a region.
    pub(crate) fn price_in(&self, name: &str, region: &str) -> Option<Price> {
        let row = self.row(name)?;
        let column = self.regions.iter().position(|(known, _)| known == region)?;
        self.price(row.cells.split_ascii_whitespace().nth(column)?, region)
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.rows.get(name.strip_prefix(&self.provider)?.strip_prefix('/')?)
    }

    fn price(&self, cell: &str, region: &str) -> Option<Price> {
        let (about, amount) = cell.strip_prefix(ESTIMATED).map_or(("", cell), |amount| ("about ", amount));
        let charge: Charge = format!("{about}{amount} {}", self.unit).parse().ok()?;
        Some(Price {
            charges: vec![charge],
            region: Some(region.to_owned()),
            date: self.date.clone(),
            terms: self.terms.clone(),
            source: self.source.clone(),
            fetched: None,
        })
    }
}

/// The day of a price for comparison; what is no day is older than any.
pub(super) fn day(price: &Price) -> &str {
    price.date.as_deref().filter(|date| date.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("")
}
